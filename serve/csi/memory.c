/* SPDX-License-Identifier: GPL-3.0-or-later */
/* outside the model: the memory of a driver that real callers use */
#include "models/api/fields.h"
#include "models/csi/modelled/records.h"
#include "plugin-private.h"

#include <string.h>

static const CsiRecordKind record_kinds[CSI_STORE_N_KINDS] = {
    [CSI_STORE_VOLUME] = CSI_RECORD_VOLUME,
    [CSI_STORE_SNAPSHOT] = CSI_RECORD_SNAPSHOT,
    [CSI_STORE_GROUP] = CSI_RECORD_GROUP,
};

void
csi_plugin_changed(CsiPlugin *self, CsiStoreKind kind, const char *name_or_id)
{
    if (self->store != NULL && name_or_id != NULL)
        g_hash_table_add(self->changed, g_strdup_printf("%d %s", kind, name_or_id));
}

static gboolean
is_change(CsiMethod method)
{
    static const uint64_t questions =
        UINT64_C(1) << CSI_GET_PLUGIN_INFO | UINT64_C(1) << CSI_GET_PLUGIN_CAPABILITIES |
        UINT64_C(1) << CSI_PROBE | UINT64_C(1) << CSI_VALIDATE_VOLUME_CAPABILITIES |
        UINT64_C(1) << CSI_LIST_VOLUMES | UINT64_C(1) << CSI_GET_CAPACITY |
        UINT64_C(1) << CSI_CONTROLLER_GET_CAPABILITIES | UINT64_C(1) << CSI_LIST_SNAPSHOTS |
        UINT64_C(1) << CSI_GET_SNAPSHOT | UINT64_C(1) << CSI_CONTROLLER_GET_VOLUME |
        UINT64_C(1) << CSI_NODE_GET_VOLUME_STATS | UINT64_C(1) << CSI_NODE_GET_CAPABILITIES |
        UINT64_C(1) << CSI_NODE_GET_INFO | UINT64_C(1) << CSI_GROUP_CONTROLLER_GET_CAPABILITIES |
        UINT64_C(1) << CSI_GET_VOLUME_GROUP_SNAPSHOT;

    return (questions & UINT64_C(1) << method) == 0;
}

/* A call that failed may have had its effect, and one whose caller is gone, too. */
static void
memory_call_ended(void *data, const CsiCallRecord *record)
{
    CsiPlugin *self = data;
    const CsiRequest *request = record->request;

    if (!is_change(request->method))
        return;
    if (request->method == CSI_CREATE_VOLUME)
        csi_plugin_changed(self, CSI_STORE_VOLUME, request->name);
    else if (request->method == CSI_CREATE_SNAPSHOT)
        csi_plugin_changed(self, CSI_STORE_SNAPSHOT, request->name);
    else if (request->method == CSI_CREATE_VOLUME_GROUP_SNAPSHOT)
        csi_plugin_changed(self, CSI_STORE_GROUP, request->name);
    else
        csi_plugin_changed(self, CSI_STORE_VOLUME, request->volume_id);
    csi_plugin_changed(self, CSI_STORE_SNAPSHOT, request->snapshot_id);
    csi_plugin_changed(self, CSI_STORE_GROUP, request->group_snapshot_id);
    for (unsigned i = 0; request->snapshot_ids != NULL && i < request->snapshot_ids->n_items; i++)
        csi_plugin_changed(self, CSI_STORE_SNAPSHOT, request->snapshot_ids->items[i]);
}

/* ---- Writing ---- */

static gboolean
keep_members(CsiPlugin *self, const json_t *group, GError **error)
{
    json_t *members = json_object_get(group, "members"), *member;
    size_t i;

    json_array_foreach(members, i, member) {
        const char *id = strings_intern(self->strings, json_string_value(member));
        json_auto_t *record =
            csi_modelled_driver_record(self->model, CSI_RECORD_SNAPSHOT, id, self->epoch);
        if (record != NULL && !csi_store_put(self->store, CSI_STORE_SNAPSHOT, id, record, error))
            return FALSE;
    }
    return TRUE;
}

static gboolean
keep_one(CsiPlugin *self, const char *change, GError **error)
{
    CsiStoreKind kind = (CsiStoreKind)(change[0] - '0');
    const char *name = strings_intern(self->strings, change + strlen("0 "));

    if (kind == CSI_STORE_NODE) {
        json_auto_t *node = json_pack("{s:s}", "id", name);
        return csi_store_put(self->store, kind, name, node, error);
    }
    json_auto_t *record =
        csi_modelled_driver_record(self->model, record_kinds[kind], name, self->epoch);
    const char *id = record == NULL ? name : json_path_string(record, "id");
    return csi_store_put(self->store, kind, id, record, error) &&
           (kind != CSI_STORE_GROUP || keep_members(self, record, error));
}

char *
csi_plugin_keep(CsiPlugin *self)
{
    g_autoptr(GError) error = NULL;
    GHashTableIter iter;
    void *change;
    gboolean ok = TRUE;

    if (self->store == NULL)
        return NULL;
    /* In any order: all are written together. */
    g_hash_table_iter_init(&iter, self->changed);
    while (ok && g_hash_table_iter_next(&iter, &change, NULL))
        ok = keep_one(self, change, &error);
    if (!csi_store_commit(self->store, ok ? &error : NULL) ||
        !ok) /* the changes stay for the next turn */
        return g_strdup_printf("the state cannot be written: %s", error->message);
    g_hash_table_remove_all(self->changed);
    return NULL;
}

/* ---- Reading ---- */

static void
remember_one(void *data, CsiStoreKind kind, const json_t *record)
{
    CsiPlugin *self = data;
    const char *id = json_path_string(record, "id");

    if (kind == CSI_STORE_NODE && id != NULL)
        csi_plugin_add_unknown_node(self, strings_intern(self->strings, id), NULL);
    else if (kind < CSI_STORE_N_KINDS && kind != CSI_STORE_NODE)
        csi_modelled_driver_remember(self->model, record_kinds[kind], record, self->epoch);
}

gboolean
csi_plugin_remember(CsiPlugin *self, GError **error)
{
    const CsiObserver observer = {.ended = memory_call_ended, .data = self};

    if (self->options.state_folder == NULL || self->model == NULL)
        return TRUE;
    self->store = csi_store_open(self->options.state_folder, csi_driver_name(self->driver), error);
    if (self->store == NULL || !csi_store_each(self->store, remember_one, self, error))
        return FALSE;
    csi_driver_add_observer(self->driver, &observer);
    return TRUE;
}
