/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Volumes, snapshots and groups from before the simulation. Nothing takes time, and the rules that
 * hold back calls are not asked: it has happened. */
#include "modelled-private.h"

void
csi_modelled_driver_add_volume(CsiModelledDriver *self, const CsiModelledVolume *past)
{
    BackendVolume *volume = modelled_volume_by_id(self, past->id);

    if (volume->exists)
        return;
    volume->capacity_bytes = past->capacity_bytes;
    volume->modes = volume->types = 0;
    volume->source_kind = past->source_kind;
    volume->source_id = past->source_id;
    volume->n_topologies = past->n_topologies;
    volume->topologies = past->n_topologies == 0 ? NULL : g_new0(StringMap *, past->n_topologies);
    for (unsigned i = 0; i < past->n_topologies; i++)
        volume->topologies[i] = string_map_ref(past->topologies[i]);
    modelled_volume_begin(self, volume, past->id);
    if (past->filesystem_bytes > 0)
        volume->filesystem_bytes = past->filesystem_bytes;
    volume->is_formatted = TRUE; /* it may have data */
    if (past->n_files > 0)
        volume->n_files = past->n_files;
    modelled_files_fill(volume);
}

void
csi_modelled_driver_add_snapshot(CsiModelledDriver *self, const CsiModelledSnapshot *past)
{
    Snapshot *snapshot = modelled_snapshot_by_id(self, past->id);

    if (snapshot->exists)
        return;
    snapshot->source = past->source_id == NULL ? NULL : modelled_find_volume(self, past->source_id);
    snapshot->source_id = past->source_id;
    snapshot->size_bytes = past->size_bytes == 0 && snapshot->source != NULL
                               ? snapshot->source->capacity_bytes
                               : past->size_bytes;
    snapshot->ready_at = past->created_at;
    if (!past->is_ready)
        snapshot->ready_at =
            sim_time_add(past->created_at, modelled_snapshot_takes(self, snapshot));
    modelled_snapshot_begin(self, snapshot, past->id);
    snapshot->created_at = past->created_at;
    if (past->name != NULL && !g_hash_table_contains(self->snapshots_by_name, past->name))
        g_hash_table_insert(self->snapshots_by_name, (void *)past->name, snapshot);
}

void
csi_modelled_driver_add_group(CsiModelledDriver *self,
                              const char *id,
                              const char *name,
                              const char *const *members,
                              unsigned n_members)
{
    BackendGroup *group = modelled_group(self, name != NULL ? name : id);

    if (group->exists || modelled_group(self, id)->exists)
        return;
    modelled_group_begin(self, group, id);
    for (unsigned i = 0; i < n_members; i++)
        modelled_group_add(group, modelled_snapshot_by_id(self, members[i]));
}

gboolean
modelled_adopt(CsiDriver *base, const CsiRequest *request)
{
    CsiModelledDriver *self = (CsiModelledDriver *)base;
    const MethodClass *method = modelled_method(request->method);
    gboolean is_inline =
        request->method == CSI_NODE_PUBLISH_VOLUME && modelled_is_ephemeral(request);
    ModelledCall call = {
        .base = {.driver = base, .request = request},
        .node = request->served_by != NULL ? modelled_node_by_name(self, request->served_by)
                                           : modelled_node_by_id(self, request->node_id),
        .volume = modelled_volume_by_id(self, request->volume_id),
    };

    if (call.node == NULL || (!is_inline && !modelled_volume_is_there(&call)))
        return FALSE;
    call.volume_node = modelled_volume_node(call.volume, call.node);
    if (method->check(self, &call) == VERDICT_REPEAT)
        return TRUE;
    method->apply(self, &call);
    call.volume_node->is_adopted = call.volume_node->is_published;
    return TRUE;
}
