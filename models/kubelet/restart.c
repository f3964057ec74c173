/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A restarted kubelet rebuilds its state from the directories of volumes on the disk, before its
 * loops run and before it hears of its pods: pkg/kubelet/volumemanager/reconciler/reconstruct.go.
 * What follows in the loops is in volume-manager/reconstruct.c. */
#include "restart.h"

#include "models/kubelet/csi-plugin/csi-plugin.h"
#include "models/kubelet/measure.h"
#include "models/kubelet/pod-workers/pod-worker.h"
#include "models/kubelet/volume-manager/volume-manager.h"

static void
rebuild_mount(Kubelet *self, const VolumeDirectory *directory, const Object *pv)
{
    PodWorker *worker = pod_worker_find(self, directory->pod);

    if (worker == NULL)
        worker = pod_worker_rebuild(self, directory->pod);
    for (unsigned i = 0; i < worker->n_mounts; i++) {
        PodMount *mount = &worker->mounts[i];
        if (volume_directory_is_of(directory, mount))
            volume_manager_rebuild(mount, pv);
    }
}

/* CSP-14: a CSI volume is what its file tells. Returns: whether it could be rebuilt */
static gboolean
rebuild(Kubelet *self, VolumeDirectory *directory)
{
    g_autoptr(Object) found = NULL;
    const Object *pv = directory->pv;

    if (directory->is_spoilt || !volume_plugin_exists(directory->plugin))
        return FALSE;
    if (pv == NULL)
        pv = found = csi_saved_data_volume(&self->base, directory->data, directory->is_block);
    if (pv == NULL)
        return FALSE;
    rebuild_mount(self, directory, pv);
    return TRUE;
}

void
reconstruct_volumes(Kubelet *self)
{
    const GPtrArray *disk = kubelet_disk(self)->directories;
    gboolean some_failed = FALSE;

    if (disk->len == 0)
        return;
    volume_manager_ensure(self);
    reconstruct_begin(self);
    for (unsigned i = 0; i < disk->len; i++) {
        VolumeDirectory *directory = disk->pdata[i];
        if (!volume_directory_parse(directory, self->base.strings))
            continue;
        kubelet_count(self, METRIC_KUBELET_RECONSTRUCTED); /* MET-65 */
        directory->failed = !rebuild(self, directory);
        some_failed |= directory->failed;
        if (directory->failed)
            kubelet_count(self, METRIC_KUBELET_RECONSTRUCT_ERRORS);
    }
    reconstruct_end(self, some_failed);
}

/* KVM-23: the first pass reads all pods, even if they are to end. */
void
reconstruct_sources_ready(Kubelet *self)
{
    if (!reconstruct_pods_are_known(self))
        return;
    for (unsigned i = 0; i < self->workers->len; i++) {
        PodWorker *worker = self->workers->pdata[i];
        pod_worker_sources_ready(worker);
        if (!worker->stopped)
            volume_manager_reprocess(worker);
    }
}
