/* SPDX-License-Identifier: GPL-3.0-or-later */
/* How full volumes are. There are no files: bytes are counted for an answer, and before
 * the pace or the room changes. Writes to a full volume fail and are lost (CSI-93). */
#include "modelled-private.h"

static const VolumeFilling *
usage_of(const CsiModelledDriver *self, const BackendVolume *volume)
{
    return volume->has_own_usage ? &volume->usage : &self->options.usage;
}

static int64_t
total_inodes(const BackendVolume *volume)
{
    return volume->filesystem_bytes / BYTES_PER_INODE;
}

/* Files need an inode each, so a volume can be full before its bytes are. */
static int64_t
room_for_data(const BackendVolume *volume, const VolumeFilling *usage)
{
    int64_t n_files = MAX(total_inodes(volume) - INODES_RESERVED, 0);

    if (usage->file_bytes == 0 || n_files > volume->filesystem_bytes / usage->file_bytes)
        return volume->filesystem_bytes;
    return n_files * usage->file_bytes;
}

int64_t
modelled_used_bytes(const CsiModelledDriver *self, const BackendVolume *volume)
{
    const VolumeFilling *usage = usage_of(self, volume);
    int64_t room = MAX(room_for_data(volume, usage) - volume->used_bytes, 0);

    if (volume->filled_at == NOT_MOUNTED || usage->step_bytes == 0)
        return MIN(volume->used_bytes, volume->filesystem_bytes);
    int64_t n_steps = (sim_now(self->base.sim) - volume->filled_at) / usage->every;
    return volume->used_bytes +
           (n_steps > room / usage->step_bytes ? room : n_steps * usage->step_bytes);
}

gboolean
modelled_is_full(const CsiModelledDriver *self, const BackendVolume *volume)
{
    int64_t used = modelled_used_bytes(self, volume);

    return used > 0 && used >= room_for_data(volume, usage_of(self, volume));
}

int64_t
modelled_used_inodes(const CsiModelledDriver *self, const BackendVolume *volume)
{
    int64_t file_bytes = usage_of(self, volume)->file_bytes;
    int64_t n_files =
        file_bytes == 0 ? 0 : (modelled_used_bytes(self, volume) + file_bytes - 1) / file_bytes;

    return MIN(n_files + INODES_RESERVED, total_inodes(volume));
}

static gboolean
is_mounted(const BackendVolume *volume)
{
    for (const VolumeNode *on = volume->nodes; on != NULL; on = on->next)
        if (on->targets != NULL)
            return TRUE;
    return FALSE;
}

void
modelled_usage_settle(const CsiModelledDriver *self, BackendVolume *volume)
{
    const VolumeFilling *usage = usage_of(self, volume);
    SimTime now = sim_now(self->base.sim);
    gboolean writes = is_mounted(volume);

    volume->used_bytes = modelled_used_bytes(self, volume);
    if (!writes)
        volume->filled_at = NOT_MOUNTED;
    else if (volume->filled_at == NOT_MOUNTED)
        volume->filled_at = now;
    else if (usage->step_bytes > 0) /* a step that has begun goes on */
        volume->filled_at = now - (now - volume->filled_at) % usage->every;
    if (writes && !volume->has_data) {
        volume->has_data = TRUE;
        volume->used_bytes = MIN(usage->start_bytes, room_for_data(volume, usage));
    }
}

static int64_t
bytes_of_source(CsiModelledDriver *self, const BackendVolume *volume)
{
    if (volume->source_kind == CSI_SOURCE_SNAPSHOT) {
        const Snapshot *snapshot = modelled_find_snapshot(self, volume->source_id);
        return snapshot == NULL ? 0 : snapshot->used_bytes;
    }
    const BackendVolume *source = modelled_find_volume(self, volume->source_id);
    return source == NULL ? 0 : modelled_used_bytes(self, source);
}

void
modelled_usage_begin(CsiModelledDriver *self, BackendVolume *volume)
{
    volume->filled_at = NOT_MOUNTED;
    volume->has_own_usage = FALSE;
    volume->has_data = volume->source_kind != CSI_SOURCE_NONE;
    volume->used_bytes = volume->has_data ? bytes_of_source(self, volume) : 0;
}

gboolean
csi_modelled_driver_set_usage(CsiModelledDriver *self,
                              const char *volume_id,
                              const VolumeFilling *usage)
{
    BackendVolume *volume = modelled_find_volume(self, volume_id);

    if (volume == NULL)
        return FALSE;
    modelled_usage_settle(self, volume);
    volume->has_own_usage = usage != NULL;
    if (usage != NULL)
        volume->usage = *usage;
    return TRUE;
}
