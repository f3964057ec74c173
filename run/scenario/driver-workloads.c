/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Finds the workloads among the manifests that run a driver (DP-1), and the sidecars in them. A
 * workload belongs to the driver that its annotation names, else to the one that its images and
 * names tell most of; the longest common name wins. A workload that no driver claims is told in a
 * warning, because its sidecars do not run. */
#include "driver-workloads.h"

#include <string.h>

#include "models/api/fields.h"
#include "process-args.h"
#include "scenario-private.h"

#define ANNOTATION_DRIVER "kvolsim.io/driver"
#define NAMED 1000u /* more than any number of letters */

/* ---- Containers ---- */

const ProcessClass *
workload_sidecar(const json_t *container)
{
    const ProcessClass *class = process_of_container(container);

    return class == NULL || class->scope != PER_DRIVER ? NULL : class;
}

/* Vendors build it as "csi-node-driver-registrar" and "ose-csi-node-driver-registrar". */
static gboolean
is_called(const json_t *container, const char *program)
{
    const char *image = json_path_string(container, "image");
    const char *name = json_path_string(container, "name");

    return (image != NULL && strstr(image, program) != NULL) ||
           (name != NULL && strstr(name, program) != NULL);
}

/* Whether the container is node-driver-registrar. */
static gboolean
workload_is_registrar(const json_t *container)
{
    return is_called(container, "driver-registrar");
}

static gboolean
is_driver(const json_t *container)
{
    return workload_sidecar(container) == NULL && !workload_is_registrar(container) &&
           !is_called(container, "liveness");
}

/* ---- Whose it is ---- */

static gboolean
is_name_character(char c)
{
    return g_ascii_isalnum(c) || c == '.' || c == '-';
}

/* Whether @name stands alone in @text: not within a longer name. */
static gboolean
has_name(const char *text, const char *name)
{
    for (const char *at = text; (at = strstr(at, name)) != NULL; at++)
        if ((at == text || !is_name_character(at[-1])) && !is_name_character(at[strlen(name)]))
            return TRUE;
    return FALSE;
}

/* The workload's name, and the images of containers that are no sidecars. (owned) */
static char *
driver_workloads_words_of(const json_t *template, const char *name)
{
    GString *words = g_string_new(name);
    const json_t *container;
    gsize i;

    json_array_foreach(json_object_get(template, "containers"), i, container) {
        const char *image = json_path_string(container, "image");
        if (is_driver(container) && image != NULL)
            g_string_append_printf(words, " %s", image);
    }
    return g_string_free(words, FALSE);
}

/* Words that most drivers have in their names do not count. */
unsigned
workload_likeness(const json_t *template, const char *name, const char *driver)
{
    static const char *const common[] = {"csi", "com",     "io",     "org",   "net",     "k8s",
                                         "dev", "storage", "driver", "local", "example", NULL};
    g_autofree char *text = json_dumps(template, JSON_COMPACT);
    g_autofree char *words = driver_workloads_words_of(template, name);
    g_auto(GStrv) parts = g_strsplit_set(driver, ".-", -1);
    unsigned sum = 0;

    if (text != NULL && has_name(text, driver))
        return NAMED;
    for (unsigned i = 0; parts[i] != NULL; i++)
        if (strlen(parts[i]) > 1 && !g_strv_contains(common, parts[i]) &&
            strstr(words, parts[i]) != NULL)
            sum += (unsigned)strlen(parts[i]);
    return sum;
}

/* ---- The workloads of a scenario's drivers ---- */

static const json_t *
template_of(const ManifestInfo *info)
{
    const char *kind = json_path_string(info->json, "kind");
    const json_t *spec = json_object_get(info->json, "spec");
    static const char *const kinds[] = {"DaemonSet", "Deployment", "StatefulSet", NULL};

    return kind != NULL && g_strv_contains(kinds, kind) ? json_object_get(spec, "template") : NULL;
}

static const char *
annotated(const json_t *object)
{
    const json_t *annotations = json_object_get(json_object_get(object, "metadata"), "annotations");

    return json_string_value(json_object_get(annotations, ANNOTATION_DRIVER));
}

/* How sure it is that the workload is this driver's. A workload that fits nobody is the only
 * driver's, unless the manifests have a CSIDriver that the scenario does not simulate. */
static unsigned
claim_on(Loader *self, const ManifestInfo *info, const char *driver)
{
    const json_t *template = template_of(info);
    const char *name = json_path_string(info->json, "metadata.name");
    const char *told = annotated(info->json) != NULL ? annotated(info->json) : annotated(template);
    gboolean is_alone = self->fields.spec.drivers.n == 1;

    if (told != NULL)
        return g_str_equal(told, driver) ? NAMED : 0;
    for (unsigned i = 0; i < self->manifests->len && is_alone; i++) {
        const ManifestInfo *other = &g_array_index(self->manifests, ManifestInfo, i);
        is_alone = other->object == NULL || object_kind(other->object) != KIND_CSI_DRIVER ||
                   g_str_equal(object_name(other->object), driver);
    }
    return MAX(
        workload_likeness(json_object_get(template, "spec"), name != NULL ? name : "", driver),
        is_alone ? 1u : 0u);
}

static gboolean
is_of_driver(Loader *self, const ManifestInfo *info, const char *driver)
{
    const DriverFields *fields = self->fields.spec.drivers.items;
    unsigned ours = claim_on(self, info, driver);

    for (unsigned i = 0; i < self->fields.spec.drivers.n && ours > 0; i++) {
        const char *other = json_path_string(fields[i].source, "name");
        if (other != NULL && !g_str_equal(other, driver) && claim_on(self, info, other) >= ours)
            return FALSE;
    }
    return ours > 0;
}

static json_t *
driver_workloads_labels_of(const ManifestInfo *info)
{
    const json_t *spec = json_object_get(info->json, "spec");
    json_t *labels = json_object_get(json_object_get(spec, "selector"), "matchLabels");

    return labels != NULL
               ? labels
               : json_object_get(json_object_get(template_of(info), "metadata"), "labels");
}

/* Returns: whether something of a driver runs there */
static gboolean
read_workload(Loader *self, const ManifestInfo *info, ScenarioWorkload *workload)
{
    const json_t *spec = json_object_get(template_of(info), "spec");
    const json_t *containers = json_object_get(spec, "containers"), *container;
    gsize i;

    *workload = (ScenarioWorkload){
        .kind = json_path_string(info->json, "kind"),
        .name = schema_intern(&self->reader, object_name(info->object)),
        .namespace = schema_intern(&self->reader, info->object->key->namespace),
        .labels = driver_workloads_labels_of(info),
        .sidecars = schema_alloc(&self->reader,
                                 (json_array_size(containers) + 1) * sizeof *workload->sidecars),
    };
    json_array_foreach(containers, i, container) {
        const ProcessClass *class = workload_sidecar(container);
        workload->has_registrar |= workload_is_registrar(container);
        workload->has_driver |= is_driver(container);
        if (class != NULL)
            workload->sidecars[workload->n_sidecars++] = class;
    }
    return workload->labels != NULL && (workload->has_registrar || workload->n_sidecars > 0);
}

const json_t *
loader_workload_containers(const Loader *self, const ScenarioWorkload *workload)
{
    const ManifestInfo *info = &g_array_index(self->manifests, ManifestInfo, workload->manifest);

    return json_object_get(json_object_get(template_of(info), "spec"), "containers");
}

void
loader_warn_of_workloads(Loader *self)
{
    for (unsigned i = 0; i < self->manifests->len && self->scenario.n_drivers > 0; i++) {
        const ManifestInfo *info = &g_array_index(self->manifests, ManifestInfo, i);
        ScenarioWorkload workload;
        gboolean is_known = info->object == NULL || template_of(info) == NULL ||
                            !read_workload(self, info, &workload);
        for (unsigned k = 0; k < self->scenario.n_drivers && !is_known; k++)
            for (unsigned m = 0; m < self->scenario.drivers[k].n_workloads && !is_known; m++)
                is_known = self->scenario.drivers[k].workloads[m].manifest == i;
        if (!is_known)
            loader_warn(self, &info->at, info->path,
                        "annotate it with " ANNOTATION_DRIVER ": NAME if it is one's",
                        "its containers are a CSI driver's, and fit none of spec.drivers: they do "
                        "nothing");
    }
}

void
loader_build_workloads(Loader *self, ScenarioDriver *driver)
{
    driver->workloads =
        schema_alloc(&self->reader, self->manifests->len * sizeof *driver->workloads);
    for (unsigned i = 0; i < self->manifests->len; i++) {
        const ManifestInfo *info = &g_array_index(self->manifests, ManifestInfo, i);
        ScenarioWorkload *workload = &driver->workloads[driver->n_workloads];
        if (info->object == NULL || template_of(info) == NULL ||
            !read_workload(self, info, workload) || !is_of_driver(self, info, driver->name))
            continue;
        workload->manifest = i;
        driver->n_workloads++;
    }
}
