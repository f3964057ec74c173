/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "agreement.h"

#include <string.h>

#include "models/api/storage.h"
#include "models/api/volume.h"
#include "models/csi/modelled/modelled-test.h"

/* Both sides as sets of lines: "attached VOLUME NODE", "staged VOLUME NODE", "mounted VOLUME NODE
 * 2". */
typedef struct {
    const Run *run;
    GHashTable *wanted, *found;
    GString *faults;
    const CsiModelledDriver *driver; /* that is being visited */
} Agreement;

typedef void (*See)(Agreement *self, const Object *object);

static void
each(Agreement *self, ObjectKind kind, See see)
{
    Objects *objects = run_objects(self->run);

    for (uint32_t slot = 0; slot < objects_n_keys(objects, kind); slot++) {
        const Object *object = api_server_get(cluster_api(run_cluster(self->run)),
                                              objects_key_at(objects, kind, slot));
        if (object != NULL)
            see(self, object);
    }
}

static const Object *
agreement_find(const Agreement *self, ObjectKind kind, const char *namespace, const char *name)
{
    const ObjectKey *key =
        name == NULL ? NULL : objects_find_key(run_objects(self->run), kind, namespace, name);

    return key == NULL ? NULL : api_server_get(cluster_api(run_cluster(self->run)), key);
}

/* Returns: the volume's source if a modelled driver has it; NULL: another one's */
static const VolumeSource *
source_of(const Agreement *self, const Volume *volume)
{
    const VolumeSource *source = volume == NULL ? NULL : volume->source;

    if (source == NULL || source->driver == NULL ||
        cluster_find_driver(run_cluster(self->run), source->driver) == NULL)
        return NULL;
    return source;
}

static void
agreement_see_attachment(Agreement *self, const Object *object)
{
    const Attachment *attachment = (const Attachment *)object;
    const Volume *volume =
        VOLUME_CONST(agreement_find(self, KIND_VOLUME, NULL, attachment->volume_name));
    const VolumeSource *source = source_of(self, volume);

    if (object_is_deleted(object) || !attachment->attached)
        g_string_append_printf(self->faults, "VolumeAttachment of %s to %s: under way\n",
                               attachment->volume_name, attachment->node_name);
    else if (source != NULL)
        g_hash_table_add(self->wanted,
                         g_strdup_printf("attached %s %s", source->handle, attachment->node_name));
}

static gboolean
stages(const Agreement *self, const char *driver)
{
    const Scenario *scenario = run_scenario(self->run);

    for (unsigned i = 0; i < scenario->n_drivers; i++)
        if (g_str_equal(scenario->drivers[i].name, driver))
            return (scenario->drivers[i].model.node_capabilities & CSI_NODE_STAGE_UNSTAGE_VOLUME) !=
                   0;
    return FALSE;
}

static void
see_mount(Agreement *self, const VolumeSource *source, const char *node)
{
    for (unsigned n = 1;; n++) {
        g_autofree char *line = g_strdup_printf("mounted %s %s %u", source->handle, node, n);
        if (g_hash_table_add(self->wanted, g_steal_pointer(&line)))
            break;
    }
    if (stages(self, source->driver))
        g_hash_table_add(self->wanted, g_strdup_printf("staged %s %s", source->handle, node));
}

static void
agreement_see_pod(Agreement *self, const Object *object)
{
    const Pod *pod = POD_CONST(object);
    unsigned n = pod->volumes == NULL ? 0 : pod->volumes->n_items;

    if (pod_is_terminal(pod))
        return;
    if (!pod_is_ready(pod) || object_is_deleted(object))
        g_string_append_printf(self->faults, "pod %s on %s: %s\n", object->key->text,
                               pod->node_name == NULL ? "no node" : pod->node_name,
                               object_is_deleted(object) ? "being deleted" : "not ready");
    for (unsigned i = 0; i < n; i++) {
        const ObjectKey *key = pod_claim_key(run_objects(self->run), pod, &pod->volumes->items[i]);
        const Claim *claim =
            CLAIM_CONST(agreement_find(self, KIND_CLAIM, key->namespace, key->name));
        const Volume *volume =
            claim == NULL
                ? NULL
                : VOLUME_CONST(agreement_find(self, KIND_VOLUME, NULL, claim_volume_name(claim)));
        const VolumeSource *source = source_of(self, volume);
        if (source != NULL && pod->node_name != NULL && pod->volumes->items[i].mounted)
            see_mount(self, source, pod->node_name);
    }
}

static void
see_volume_of_driver(void *data, const CsiModelledVolume *volume)
{
    Agreement *self = data;
    Objects *objects = run_objects(self->run);
    StringList *nodes = csi_modelled_driver_published_nodes(self->driver, volume->id);

    for (unsigned i = 0; nodes != NULL && i < nodes->n_items; i++)
        g_hash_table_add(self->found,
                         g_strdup_printf("attached %s %s", volume->id, nodes->items[i]));
    string_list_unref(nodes);
    for (uint32_t i = 0; i < objects_n_keys(objects, KIND_NODE); i++) {
        const char *node = objects_key_at(objects, KIND_NODE, i)->name;
        unsigned n = csi_modelled_driver_n_targets(self->driver, volume->id, node);
        if (csi_modelled_driver_is_staged(self->driver, volume->id, node))
            g_hash_table_add(self->found, g_strdup_printf("staged %s %s", volume->id, node));
        for (unsigned k = 1; k <= n; k++)
            g_hash_table_add(self->found, g_strdup_printf("mounted %s %s %u", volume->id, node, k));
    }
}

/* A volume of one node is attached to one node. */
static void
agreement_see_volume(Agreement *self, const Object *object)
{
    const Volume *volume = VOLUME_CONST(object);
    const VolumeSource *source = source_of(self, volume);
    CsiModelledVolume known;

    if (source == NULL)
        return;
    const CsiModelledDriver *driver =
        csi_modelled_driver_cast(cluster_find_driver(run_cluster(self->run), source->driver));
    if (!csi_modelled_driver_get_volume(driver, source->handle, &known))
        g_string_append_printf(self->faults, "volume %s: not in the driver\n", object_name(object));
    else if (known.capacity_bytes < volume->capacity_bytes)
        g_string_append_printf(self->faults, "volume %s: smaller in the driver\n",
                               object_name(object));
    else if (known.n_published > 1 && (volume->access_modes & (ACCESS_RWX | ACCESS_ROX)) == 0)
        g_string_append_printf(self->faults, "volume %s: attached to %u nodes\n",
                               object_name(object), known.n_published);
}

static void
add_missing(const Agreement *self, GHashTable *these, GHashTable *others, const char *text)
{
    g_autoptr(GList) lines = g_list_sort(g_hash_table_get_keys(these), (GCompareFunc)strcmp);

    for (GList *i = lines; i != NULL; i = i->next)
        if (!g_hash_table_contains(others, i->data))
            g_string_append_printf(self->faults, "%s: %s\n", (char *)i->data, text);
}

char *
agreement_faults(const Run *run)
{
    g_autoptr(GHashTable) wanted = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    g_autoptr(GHashTable) found = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    Agreement self = {run, wanted, found, g_string_new(NULL), NULL};

    each(&self, KIND_ATTACHMENT, agreement_see_attachment);
    each(&self, KIND_POD, agreement_see_pod);
    each(&self, KIND_VOLUME, agreement_see_volume);
    for (unsigned i = 0; i < cluster_n_drivers(run_cluster(run)); i++) {
        self.driver = csi_modelled_driver_cast(cluster_driver(run_cluster(run), i));
        csi_modelled_driver_each_volume(self.driver, see_volume_of_driver, &self);
    }
    add_missing(&self, wanted, found, "the driver does not know");
    add_missing(&self, found, wanted, "only the driver knows");
    return g_string_free(self.faults, FALSE);
}
