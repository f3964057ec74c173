/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The directories of volumes in those of their pods, on the node's disk: from before a volume is
 * published until after it has been unpublished. A kubelet that restarts finds them. Paths are as
 * getVolumesFromPodDir() reads them, relative to the folder of all pods. */
#include "models/kubelet/csi-plugin/csi-plugin.h"
#include "models/kubelet/kubelet-test.h"
#include "volume-manager.h"

gboolean
volume_directory_is_of(const VolumeDirectory *directory, const PodMount *mount)
{
    return strings_same(directory->volume, mount->spec->name) &&
           object_uid_equal(directory->pod->uid, mount->worker->uid);
}

void
volume_directory_remove(Kubelet *self, const PodMount *mount)
{
    GPtrArray *disk = kubelet_disk(self)->directories;

    for (unsigned i = 0; i < disk->len; i++) {
        if (volume_directory_is_of(disk->pdata[i], mount)) {
            g_ptr_array_remove_index(disk, i);
            return;
        }
    }
}

static const char *
make_path(Kubelet *self, const PodMount *mount)
{
    const Volume *pv = VOLUME_CONST(mount->volume->pv);
    g_auto(GStrv) plugin = g_strsplit(mount->volume->plugin->name, "/", -1);
    g_autofree char *escaped = g_strjoinv("~", plugin);
    char uid[OBJECT_UID_BUFFER];

    return strings_internf(
        self->base.strings, "%s/%s/%s/%s", object_uid_format(mount->worker->uid, uid),
        pv->volume_mode == VOLUME_BLOCK ? "volumeDevices" : "volumes", escaped, pv->meta.key->name);
}

gboolean
volume_directory_parse(VolumeDirectory *self, Strings *strings)
{
    g_auto(GStrv) parts = g_strsplit(self->path, "/", 5);

    if (g_strv_length(parts) < 4)
        return FALSE;
    g_auto(GStrv) plugin = g_strsplit(parts[2], "~", -1);
    g_autofree char *name = g_strjoinv("/", plugin);
    self->is_block = g_str_equal(parts[1], "volumeDevices");
    self->plugin = strings_intern(strings, name);
    self->name = strings_intern(strings, parts[3]);
    return self->is_block || g_str_equal(parts[1], "volumes");
}

void
volume_directory_add(Kubelet *self, const PodMount *mount)
{
    VolumeDirectory *directory = g_new0(VolumeDirectory, 1);

    volume_directory_remove(self, mount); /* a second try finds it there */
    directory->pod = object_ref(mount->worker->pod);
    directory->volume = mount->spec->name;
    directory->path = make_path(self, mount);
    if (volume_plugin_is_csi(mount->volume->plugin))
        directory->data = csi_saved_data(self->base.strings, mount->volume, self->base.node_name);
    else
        directory->pv = object_ref(mount->volume->pv);
    g_ptr_array_add(kubelet_disk(self)->directories, directory);
}

void
volume_directories_spoil(void *data)
{
    const KubeletDisk *disk = data;

    for (unsigned i = 0; disk != NULL && i < disk->directories->len; i++)
        ((VolumeDirectory *)disk->directories->pdata[i])->is_spoilt = TRUE;
}
