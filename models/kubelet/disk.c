/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "disk.h"

/* What the disk of a node keeps across restarts of its kubelet: the directories of volumes, and
 * images. */

static void
volume_directory_free(void *data)
{
    VolumeDirectory *self = data;

    object_unref(self->pod);
    object_unref(self->pv);
    string_map_unref(self->data);
    g_free(self);
}

KubeletDisk *
kubelet_disk(const Kubelet *self)
{
    KubeletDisk *disk = *self->base.disk;

    if (disk == NULL) {
        disk = *self->base.disk = g_new0(KubeletDisk, 1);
        disk->directories = g_ptr_array_new_with_free_func(volume_directory_free);
        disk->images = g_array_new(FALSE, FALSE, sizeof(PulledImage));
    }
    return disk;
}

void
kubelet_free_disk(void *data)
{
    KubeletDisk *disk = data;

    g_ptr_array_unref(disk->directories);
    g_array_unref(disk->images);
    g_free(disk);
}
