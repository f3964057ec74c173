/* SPDX-License-Identifier: GPL-3.0-or-later */
/* outside the model: the loop driver works on the real machine */
/* Snapshots of the loop driver: a copy of the volume's file, taken while its file system is frozen
 * (LOOP-12) or, for a block volume, after its device was flushed. One freeze is enough for all
 * mounts of a volume. A snapshot in use is not deleted; a second request of the same name finds the
 * first, or ABORTED while it is being made. */
#include "loop-private.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

/* Returns: (nullable) (owned): a mount point for writing; one freeze is enough for all mounts of
 * the volume */
static char *
staged_at(const LoopVolume *volume)
{
    for (unsigned i = 0; i < volume->places->len; i++) {
        const LoopPlace *place = volume->places->pdata[i];
        if (place->staging_path != NULL && place->staged.type == CSI_ACCESS_MOUNT)
            return loop_node_path(place->node, place->staging_path);
    }
    return NULL;
}

/* Data written to a block volume may still be in the device's cache. */
static gboolean
flush_device(LoopBackend *self, const char *path, GError **error)
{
    g_autofree char *full = loop_ledger_path(self->ledger, path);
    int number = loop_device_of(full);

    if (number < 0)
        return TRUE;
    g_autofree char *device = loop_device_path(self->ledger, number, error);
    int file = device == NULL ? -1 : open(device, O_RDWR | O_CLOEXEC);
    gboolean done = file != -1 && fsync(file) == 0;
    if (file != -1)
        close(file);
    return done || loop_refuse(error, CSI_INTERNAL, "loop%d cannot be flushed", number);
}

gboolean
loop_volume_copy(
    LoopBackend *self, const LoopVolume *source, const char *path, int64_t bytes, GError **error)
{
    g_autofree char *from = loop_volume_file(source->id);
    g_autofree char *mount_point = staged_at(source);

    if (mount_point != NULL && !loop_freeze(self->ledger, mount_point, error)) /* LOOP-12 */
        return FALSE;
    gboolean done = (mount_point != NULL || flush_device(self, from, error)) &&
                    loop_file_copy(self->ledger, from, path, bytes, NULL, error);
    if (mount_point != NULL)
        loop_thaw(self->ledger, mount_point);
    return done;
}

static void
answer_snapshot(LoopCall *call, const LoopSnapshot *snapshot)
{
    CsiResponse *response = &call->answer->response;

    response->snapshot_id = loop_answer_keep(call->answer, snapshot->id);
    response->volume_id = loop_answer_keep(call->answer, snapshot->source_id);
    response->size_bytes = snapshot->size_bytes;
    response->creation_time = snapshot->created_at;
    response->ready_to_use = TRUE;
}

/* Returns: (borrowed): a new record, locked by its n_users; NULL with @error */
static LoopSnapshot *
begin_snapshot(LoopBackend *self,
               const CsiRequest *request,
               LoopSnapshot **existing,
               GError **error)
{
    LoopSnapshot *snapshot;

    g_mutex_lock(&self->lock);
    *existing = loop_snapshot_find_name(self, request->name);
    snapshot = *existing == NULL ? loop_snapshot_add(self, request->name) : NULL;
    gboolean is_other =
        *existing != NULL && g_strcmp0((*existing)->source_id, request->volume_id) != 0;
    gboolean is_pending = *existing != NULL && !(*existing)->is_there;
    if (snapshot != NULL) {
        snapshot->source_id = g_strdup(request->volume_id);
        snapshot->n_users = 1;
    }
    g_mutex_unlock(&self->lock);
    if (is_pending)
        loop_refuse(error, CSI_ABORTED, "an operation is pending for snapshot %s", request->name);
    else if (is_other) /* CSI-55 */
        loop_refuse(error, CSI_ALREADY_EXISTS, "snapshot %s is of another volume", request->name);
    return snapshot;
}

static void
end_snapshot(LoopBackend *self, LoopSnapshot *snapshot, gboolean is_good)
{
    g_mutex_lock(&self->lock);
    snapshot->n_users--;
    snapshot->is_there = is_good;
    if (!is_good)
        loop_snapshot_drop(self, snapshot);
    g_mutex_unlock(&self->lock);
}

static gboolean
cut(LoopBackend *self, const LoopVolume *volume, LoopSnapshot *snapshot, GError **error)
{
    g_autofree char *path = loop_snapshot_file(snapshot->id);
    int64_t bytes = volume->capacity_bytes;

    if (!loop_room_take(self, bytes, TRUE, error))
        return FALSE;
    gboolean done = loop_volume_copy(self, volume, path, bytes, error);
    g_mutex_lock(&self->lock);
    self->promised_bytes -= bytes;
    snapshot->size_bytes = done ? bytes : 0;
    snapshot->created_at = g_get_real_time() * SIM_US;
    g_mutex_unlock(&self->lock);
    if (done && !loop_snapshot_save(self, snapshot, error)) {
        loop_file_remove(self->ledger, path, NULL);
        done = FALSE;
    }
    return done;
}

gboolean
loop_create_snapshot(LoopBackend *self, LoopCall *call, GError **error)
{
    LoopSnapshot *existing;

    if (call->volume == NULL || !call->volume->is_there)
        return loop_refuse_unknown(error, call->request->volume_id);
    LoopSnapshot *snapshot = begin_snapshot(self, call->request, &existing, error);
    if (snapshot == NULL) {
        if (*error == NULL)
            answer_snapshot(call, existing);
        return *error == NULL;
    }
    gboolean done = cut(self, call->volume, snapshot, error);
    if (done)
        answer_snapshot(call, snapshot);
    end_snapshot(self, snapshot, done);
    return done;
}

gboolean
loop_delete_snapshot(LoopBackend *self, LoopCall *call, GError **error)
{
    g_mutex_lock(&self->lock);
    LoopSnapshot *snapshot = loop_snapshot_find(self, call->request->snapshot_id);
    gboolean is_used = snapshot != NULL && snapshot->n_users > 0;
    if (snapshot != NULL && !is_used) {
        snapshot->is_there = FALSE;
        snapshot->n_users++;
    }
    g_mutex_unlock(&self->lock);
    if (snapshot == NULL) /* CSI-26 */
        return TRUE;
    if (is_used) /* CSI-55 */
        return loop_refuse(error, CSI_FAILED_PRECONDITION, "snapshot %s is in use",
                           call->request->snapshot_id);
    g_autofree char *path = loop_snapshot_file(snapshot->id);
    gboolean done = loop_file_remove(self->ledger, path, error);
    if (done)
        loop_record_remove(self, path);
    end_snapshot(self, snapshot, !done);
    return done;
}

/* With the lock held. */
static void
add_snapshot_entry(LoopAnswer *answer, const LoopSnapshot *snapshot, unsigned max)
{
    const CsiEntry entry = {.volume_id = snapshot->source_id,
                            .capacity_bytes = snapshot->size_bytes,
                            .snapshot_id = snapshot->id,
                            .creation_time = snapshot->created_at,
                            .ready_to_use = TRUE};

    loop_answer_add(answer, &entry, NULL, snapshot->sequence, max);
}

/* CSI-27 */
gboolean
loop_list_snapshots(LoopBackend *self, LoopCall *call, GError **error)
{
    const CsiRequest *request = call->request;
    int64_t from;

    if (!loop_page_starts(request, &from, error))
        return FALSE;
    g_mutex_lock(&self->lock);
    for (unsigned i = 0; i < self->snapshots->len; i++) {
        const LoopSnapshot *snapshot = self->snapshots->pdata[i];
        if (snapshot->is_there && snapshot->sequence >= from &&
            (request->snapshot_id == NULL || strcmp(request->snapshot_id, snapshot->id) == 0) &&
            (request->volume_id == NULL || strcmp(request->volume_id, snapshot->source_id) == 0))
            add_snapshot_entry(call->answer, snapshot, request->max_entries);
    }
    g_mutex_unlock(&self->lock);
    return TRUE;
}

gboolean
loop_get_snapshot(LoopBackend *self, LoopCall *call, GError **error)
{
    g_mutex_lock(&self->lock);
    const LoopSnapshot *snapshot = loop_snapshot_find(self, call->request->snapshot_id);
    gboolean found = snapshot != NULL && snapshot->is_there;
    if (found)
        add_snapshot_entry(call->answer, snapshot, 0);
    g_mutex_unlock(&self->lock);
    return found ||
           loop_refuse(error, CSI_NOT_FOUND, "snapshot %s not found", call->request->snapshot_id);
}
