/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Edits of Node and CSINode that registration makes and takes back: nodeinfomanager.go (REG-21,
 * REG-23 to REG-25); and the look-up of a registered driver. An edit is a pure function of the
 * object and of NodeGetInfo's answer, and returns FALSE if nothing differs, so no empty write is
 * sent. What an imported CSINode says is kept (only_if_absent). */
#include "models/api/migration/migration.h"
#include "plugin-manager.h"

#include <string.h>

#define ANNOTATION_NODE_ID "csi.volume.kubernetes.io/nodeid"

/* The annotation is a JSON object from driver to node id, its keys sorted. Returns: interned */
static const char *
node_id_annotation(const PluginNodeInfo *info, const char *before)
{
    json_t *ids = before == NULL ? NULL : json_loads(before, 0, NULL);

    if (!json_is_object(ids)) {
        json_decref(ids);
        ids = json_object();
    }
    json_object_set_new(ids, info->driver, json_string(info->node_id));
    char *text = json_dumps(ids, JSON_COMPACT | JSON_SORT_KEYS);
    const char *interned = strings_intern(info->strings, text);
    free(text);
    json_decref(ids);
    return interned;
}

gboolean
node_info_edit_node(Object *node, const void *arg)
{
    const PluginNodeInfo *info = arg;
    gboolean changed = object_set_annotation(
        node, ANNOTATION_NODE_ID,
        node_id_annotation(info, object_annotation(node, ANNOTATION_NODE_ID)));

    for (unsigned i = 0; info->segments != NULL && i < info->segments->n_pairs; i++)
        changed |=
            object_set_label(node, info->segments->pairs[i].key, info->segments->pairs[i].value);
    return changed;
}

static StringList *
segment_keys(const StringMap *segments)
{
    if (segments == NULL)
        return NULL;
    g_autofree const char **keys = g_new(const char *, segments->n_pairs);
    for (unsigned i = 0; i < segments->n_pairs; i++)
        keys[i] = segments->pairs[i].key; /* sorted, as a map is */
    return string_list_new(keys, segments->n_pairs);
}

gboolean
node_info_edit_csi_node(Object *object, const void *arg)
{
    const PluginNodeInfo *info = arg;
    CsiNode *csi_node = CSI_NODE(object);
    CsiNodeDriver entry = {
        .name = info->driver,
        .node_id = info->node_id,
        .allocatable_count = info->count,
    };

    if (info->only_if_absent && csi_node_find_driver(csi_node, info->driver) != NULL)
        return FALSE;
    gboolean changed = node_info_set_migrated(object, info);
    entry.topology_keys = segment_keys(info->segments);
    changed |= csi_node_set_driver(csi_node, info->driver, &entry);
    return changed;
}

const StringPair *
node_info_find_collision(const Object *node, const StringMap *segments)
{
    for (unsigned i = 0; segments != NULL && i < segments->n_pairs; i++) {
        const char *label = object_label(node, segments->pairs[i].key);
        if (label != NULL && strcmp(label, segments->pairs[i].value) != 0)
            return &segments->pairs[i];
    }
    return NULL;
}

ObjectKey *
node_info_csi_node_key(const Kubelet *self)
{
    return objects_key(self->base.objects, KIND_CSI_NODE, NULL, self->base.node_name);
}

Object *
node_info_new_csi_node(const Kubelet *self, const Object *node)
{
    Object *csi_node = object_new(node_info_csi_node_key(self));

    if (node != NULL)
        object_set_owner(csi_node, node, FALSE, FALSE);
    return csi_node;
}

Object *
node_info_first_csi_node(const Kubelet *self, const Object *node)
{
    Object *csi_node = node_info_new_csi_node(self, node);

    node_info_set_migrated(
        csi_node, &(PluginNodeInfo){.strings = self->base.strings,

                                    .migrated = cluster_migrated_plugins(self->base.cluster,
                                                                         self->base.node_name)});
    return csi_node;
}

static gboolean
has_all(const char *list, const char *wanted)
{
    g_auto(GStrv) items = g_strsplit(list, ",", -1), names = g_strsplit(wanted, ",", -1);

    for (unsigned i = 0; names[i] != NULL; i++)
        if (!g_strv_contains((const char *const *)items, names[i]))
            return FALSE;
    return TRUE;
}

/* REG-25: a list in another order is the same. */
gboolean
node_info_set_migrated(Object *object, const void *arg)
{
    const PluginNodeInfo *info = arg;
    const char *old = object_annotation(object, ANNOTATION_MIGRATED_PLUGINS);

    if (old != NULL && has_all(old, info->migrated) && has_all(info->migrated, old))
        return FALSE;
    return object_set_annotation(object, strings_intern(info->strings, ANNOTATION_MIGRATED_PLUGINS),
                                 info->migrated[0] == '\0' ? NULL : info->migrated);
}

/* REG-21: a driver with segments always patches, so a patch may change nothing. */
gboolean
node_info_needs_patch(const Object *node, const PluginNodeInfo *info)
{
    g_autoptr(Object) copy = object_edit(node);

    return (info->segments != NULL && info->segments->n_pairs > 0) ||
           node_info_edit_node(copy, info);
}

gboolean
node_info_withdraw_from_node(Object *node, const void *arg)
{
    const PluginNodeInfo *info = arg;
    const char *before = object_annotation(node, ANNOTATION_NODE_ID);
    json_t *ids = before == NULL ? NULL : json_loads(before, 0, NULL);

    if (json_object_del(ids, info->driver) != 0) { /* it is not there */
        json_decref(ids);
        return FALSE;
    }
    char *text = json_dumps(ids, JSON_COMPACT | JSON_SORT_KEYS);
    gboolean changed = object_set_annotation(
        node, ANNOTATION_NODE_ID,
        json_object_size(ids) == 0 ? NULL : strings_intern(info->strings, text));
    free(text);
    json_decref(ids);
    return changed;
}

gboolean
node_info_withdraw_from_csi_node(Object *object, const void *arg)
{
    const PluginNodeInfo *info = arg;

    return csi_node_set_driver(CSI_NODE(object), info->driver, NULL);
}

/* ---- Drivers, and what they answer ---- */

const char *
plugin_name(const Kubelet *self, const NodePlugin *plugin)
{
    return cluster_driver_name(self->base.cluster, plugin->driver);
}

CsiDriver *
plugin_registration_driver(const Kubelet *self, const char *driver)
{
    for (unsigned i = 0; i < self->plugin_manager->n_plugins; i++) {
        const NodePlugin *plugin = &self->plugin_manager->plugins[i];
        if (plugin->registered && strings_same(plugin_name(self, plugin), driver))
            return cluster_driver(self->base.cluster, plugin->driver);
    }
    return NULL;
}

PluginNodeInfo *
plugin_registration_info(const Kubelet *self, Plan *plan, const char *driver, int call)
{
    const CsiResponse *response = plan_response(plan, call);
    PluginNodeInfo *info = plan_new_arg(plan, PluginNodeInfo);

    info->strings = self->base.strings;
    info->migrated = cluster_migrated_plugins(self->base.cluster, self->base.node_name);
    info->driver = driver;
    info->node_id = response->node_id;
    /* REG-23: 0 leaves it to the cluster. */
    info->count = response->max_volumes_per_node > 0
                      ? (int32_t)MIN(response->max_volumes_per_node, INT32_MAX)
                      : -1;
    info->segments = response->n_accessible_topology > 0 ? response->accessible_topology[0] : NULL;
    return info;
}
