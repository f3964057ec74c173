/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Checks the names within manifests: classes, drivers, nodes, volumes, claims. A table has the
 * check of each kind. An object with a uid was printed by a cluster, which may have dangling names:
 * it has fewer checks, and gets warnings where an object of a user gets faults. Each fault is at
 * the field with the name, so paths are those of the manifest. */
#include "check-private.h"
#include "models/api/fields.h"
#include "models/api/migration/migration.h"
#include "models/api/release.h"
#include "models/api/workload.h"
#include "models/external-resizer/external-resizer.h"

static void
check_class(Checker *self, const ManifestInfo *info, const char *class_name, const char *path)
{
    if (class_name == NULL || *class_name == '\0' ||
        checker_find(self, KIND_STORAGE_CLASS, NULL, class_name) != NULL ||
        g_hash_table_contains(self->class_names, class_name))
        return;
    g_autofree char *nearest = checker_nearest(self, KIND_STORAGE_CLASS, class_name);
    checker_fault(self, info, path, nearest != NULL ? nearest : "add its manifest",
                  "there is no StorageClass \"%s\"", class_name);
}

/* The back end of a driver also serves the in-tree plugin that the driver takes over. */
static gboolean
knows_driver(const Checker *self, const char *name)
{
    const InTreePlugin *plugin = in_tree_plugin_find(name);

    return g_hash_table_contains(self->driver_names, name) || g_str_equal(name, PROVISIONER_NONE) ||
           (plugin != NULL &&
            g_hash_table_contains(self->driver_names, in_tree_plugin_driver(plugin)));
}

/* An object that a cluster printed may be of a driver that nobody asks about. Returns: whether the
 * driver is known */
static gboolean
check_driver(Checker *self, const ManifestInfo *info, const char *driver, const char *path)
{
    static const char message[] = "there is no driver \"%s\"", advice[] = "add it to spec.drivers";

    if (driver == NULL || knows_driver(self, driver))
        return TRUE;
    if (object_uid_is_set(info->object->uid) || object_kind(info->object) == KIND_CSI_NODE) {
        loader_warn(self->loader, &info->at, info->path, advice, message, driver);
        return FALSE;
    }
    g_autofree char *hint = loader_driver_hint(self->loader, driver);
    checker_fault(self, info, path, hint != NULL ? hint : advice, message, driver);
    return FALSE;
}

static void
check_node(Checker *self, const ManifestInfo *info, const char *node, const char *path)
{
    if (node != NULL && *node != '\0' && !g_hash_table_contains(self->node_names, node))
        checker_fault(self, info, path, "nodes are made by spec.nodes, or are manifests",
                      "there is no node \"%s\"", node);
}

/* The path of a pod's volume in its manifest. Returns: (owned) */
static char *
volume_path(const ManifestInfo *info, const char *spec, const char *volume)
{
    const json_t *value = info->json;
    g_auto(GStrv) keys = g_strsplit(spec, ".", -1);

    for (unsigned i = 0; keys[i] != NULL; i++)
        value = json_object_get(value, keys[i]);
    value = json_object_get(value, "volumes");
    for (gsize i = 0; i < json_array_size(value); i++)
        if (g_strcmp0(json_path_string(json_array_get(value, i), "name"), volume) == 0)
            return g_strdup_printf("%s.volumes[%zu].persistentVolumeClaim.claimName", spec, i);
    return g_strdup_printf("%s.volumes", spec);
}

/* WL-22: a claim of the template replaces the volume of its name. */
static gboolean
is_replaced(const PodVolume *volume, const ClaimTemplates *templates)
{
    for (unsigned i = 0; templates != NULL && i < templates->n_items; i++)
        if (g_str_equal(templates->items[i]->meta.key->name, volume->name))
            return TRUE;
    return FALSE;
}

/* @templates: (nullable): of the set whose pods have these volumes */
static void
check_pod_volumes(Checker *self,
                  const ManifestInfo *info,
                  const PodVolumes *volumes,
                  const ClaimTemplates *templates,
                  const char *spec)
{
    const char *namespace = info->object->key->namespace;

    for (unsigned i = 0; volumes != NULL && i < volumes->n_items; i++) {
        const PodVolume *volume = &volumes->items[i];
        if (volume->ephemeral || volume->claim_name == NULL || is_replaced(volume, templates) ||
            checker_has(self, KIND_CLAIM, namespace, volume->claim_name, info))
            continue;
        g_autofree char *path = volume_path(info, spec, volume->name);
        g_autofree char *nearest = checker_hint(self, KIND_CLAIM, namespace, volume->claim_name);
        checker_fault(self, info, path, nearest,
                      "there is no PersistentVolumeClaim \"%s\" in namespace %s",
                      volume->claim_name, namespace);
    }
}

static void
check_manifests_check_stateful_set(Checker *self, const ManifestInfo *info)
{
    const StatefulSet *set = STATEFUL_SET(info->object);

    for (unsigned i = 0; set->claim_templates != NULL && i < set->claim_templates->n_items; i++) {
        g_autofree char *path =
            g_strdup_printf("spec.volumeClaimTemplates[%u].spec.storageClassName", i);
        check_class(self, info, set->claim_templates->items[i]->class_name, path);
    }
    if (set->template != NULL && set->replicas > 0)
        check_pod_volumes(self, info, set->template->volumes, set->claim_templates,
                          "spec.template.spec");
}

static void
check_template(Checker *self, const ManifestInfo *info)
{
    const PodTemplate *template = workload_template(info->object);

    if (template != NULL)
        check_pod_volumes(self, info, template->volumes, NULL,
                          object_kind(info->object) == KIND_CRON_JOB
                              ? "spec.jobTemplate.spec.template.spec"
                              : "spec.template.spec");
}

static void
check_manifests_check_claim(Checker *self, const ManifestInfo *info)
{
    const Claim *claim = CLAIM_CONST(info->object);
    const char *volume = claim_volume_name(claim);
    g_autoptr(GPtrArray) warnings = g_ptr_array_new_with_free_func(g_free);

    claim_warnings(info->object->manifest, warnings);
    for (unsigned i = 0; i < warnings->len; i++)
        loader_warn(self->loader, &info->at, info->path, NULL, "%s",
                    (const char *)warnings->pdata[i]);
    check_class(self, info, claim->class_name, "spec.storageClassName");
    if (*volume == '\0' || claim->phase == CLAIM_LOST ||
        checker_find(self, KIND_VOLUME, NULL, volume) != NULL)
        return;
    g_autofree char *nearest = checker_nearest(self, KIND_VOLUME, volume);
    checker_fault(self, info, "spec.volumeName", nearest, "there is no PersistentVolume \"%s\"",
                  volume);
}

static void
check_manifests_check_volume(Checker *self, const ManifestInfo *info)
{
    const Volume *volume = VOLUME_CONST(info->object);

    if (volume->source != NULL)
        check_driver(self, info, volume->source->driver, "spec.csi.driver");
}

static void
check_manifests_check_attachment(Checker *self, const ManifestInfo *info)
{
    const Attachment *attachment = ATTACHMENT(info->object);

    check_driver(self, info, attachment->attacher, "spec.attacher");
    check_node(self, info, attachment->node_name, "spec.nodeName");
    if (attachment->volume_name != NULL &&
        checker_find(self, KIND_VOLUME, NULL, attachment->volume_name) == NULL)
        checker_fault(self, info, "spec.source.persistentVolumeName", NULL,
                      "there is no PersistentVolume \"%s\"", attachment->volume_name);
}

static void
check_manifests_check_pod(Checker *self, const ManifestInfo *info)
{
    check_pod_volumes(self, info, POD_CONST(info->object)->volumes, NULL, "spec");
    check_node(self, info, POD_CONST(info->object)->node_name, "spec.nodeName");
}

static void
check_storage_class(Checker *self, const ManifestInfo *info)
{
    check_driver(self, info, STORAGE_CLASS(info->object)->provisioner, "provisioner");
}

static void
check_csi_node_drivers(Checker *self, const ManifestInfo *info)
{
    const CsiNodeDrivers *drivers = ((const CsiNode *)info->object)->drivers;

    for (unsigned i = 0; drivers != NULL && i < drivers->n_items; i++)
        check_driver(self, info, drivers->items[i].name, "spec.drivers");
}

static void
check_csi_node(Checker *self, const ManifestInfo *info)
{
    check_node(self, info, object_name(info->object), "metadata.name");
    check_csi_node_drivers(self, info);
}

static const ScenarioDriver *
check_manifests_find_driver(const Checker *self, const char *name)
{
    const Scenario *scenario = &self->loader->scenario;

    for (unsigned i = 0; i < scenario->n_drivers; i++)
        if (g_strcmp0(scenario->drivers[i].name, name) == 0)
            return &scenario->drivers[i];
    return NULL;
}

#define GATE_CLASSES "VolumeAttributesClass"

/* Returns: what keeps the driver's volumes from changing their class; NULL: nothing */
static const char *
lack_for_classes(const Scenario *scenario, const ScenarioDriver *driver)
{
    const json_t *gate = json_object_get(scenario->feature_gates, GATE_CLASSES);
    GHashTable *flags =
        driver->sidecars == NULL ? NULL : g_hash_table_lookup(driver->sidecars, "external-resizer");
    const char *gates = flags == NULL ? NULL : g_hash_table_lookup(flags, "feature-gates");

    if (gate != NULL
            ? !json_is_true(gate)
            : !release_has_gate(&(Release){.minor = scenario->minor_version}, GATE_CLASSES))
        return "spec.kubernetes.featureGates does not switch on " GATE_CLASSES;
    if ((driver->model.controller_capabilities & CSI_CONTROLLER_MODIFY_VOLUME_CAPABILITY) == 0)
        return "the driver's controllerCapabilities lack MODIFY_VOLUME";
    if (!process_gate(&external_resizer_process, gates, GATE_CLASSES))
        return "the external-resizer's feature-gates do not switch on " GATE_CLASSES;
    return NULL;
}

static void
check_attributes_class(Checker *self, const ManifestInfo *info)
{
    const char *name = ATTRIBUTES_CLASS_CONST(info->object)->driver;

    if (!check_driver(self, info, name, "driverName"))
        return;
    const ScenarioDriver *driver = check_manifests_find_driver(self, name);
    const char *lack = driver == NULL ? NULL : lack_for_classes(&self->loader->scenario, driver);
    if (lack != NULL)
        loader_warn(self->loader, &info->at, info->path, lack,
                    "no volume of driver \"%s\" gets a VolumeAttributesClass", name);
}

/* A CSIDriver may name a driver that the scenario lacks: real clusters have several drivers. With
 * storageCapacity the scheduler looks for room that the provisioner must publish. */
static void
check_csi_driver(Checker *self, const ManifestInfo *info)
{
    const ScenarioDriver *driver = check_manifests_find_driver(self, object_name(info->object));

    if (driver != NULL && CSI_DRIVER_OBJECT(info->object)->storage_capacity &&
        !scenario_driver_publishes_capacity(driver))
        loader_warn(
            self->loader, &info->at, info->path,
            "sidecars: {external-provisioner: {enable-capacity: true}} in spec.drivers",
            "the scheduler sees no room for driver \"%s\", as its provisioner publishes none",
            driver->name);
}

static void (*const checks[N_KINDS])(Checker *self, const ManifestInfo *info) = {
    [KIND_POD] = check_manifests_check_pod,
    [KIND_CLAIM] = check_manifests_check_claim,
    [KIND_VOLUME] = check_manifests_check_volume,
    [KIND_STATEFUL_SET] = check_manifests_check_stateful_set,
    [KIND_ATTACHMENT] = check_manifests_check_attachment,
    [KIND_STORAGE_CLASS] = check_storage_class,
    [KIND_ATTRIBUTES_CLASS] = check_attributes_class,
    [KIND_CSI_NODE] = check_csi_node,
    [KIND_CSI_DRIVER] = check_csi_driver,
};

/* Objects that a cluster printed. */
static void (*const state_checks[N_KINDS])(Checker *self, const ManifestInfo *info) = {
    [KIND_VOLUME] = check_manifests_check_volume,
    [KIND_STORAGE_CLASS] = check_storage_class,
    [KIND_ATTRIBUTES_CLASS] = check_attributes_class,
    [KIND_CSI_NODE] = check_csi_node_drivers,
    [KIND_CSI_DRIVER] = check_csi_driver,
};

void
checker_check_manifest(Checker *self, const ManifestInfo *info)
{
    /* Objects that a cluster printed are a state and may have dangling names; names that a user
     * writes must exist. */
    void (*check)(Checker * self, const ManifestInfo *info) =
        (object_uid_is_set(info->object->uid) ? state_checks : checks)[object_kind(info->object)];

    if (check != NULL)
        check(self, info);
    else if (!object_uid_is_set(info->object->uid))
        check_template(self, info);
}
