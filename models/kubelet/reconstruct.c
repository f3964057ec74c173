/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "node-status.h"
#include "pod-worker.h"

/* A kubelet that starts finds the directories that the one before left on the node, and rebuilds
 * its state from them: pkg/kubelet/volumemanager/reconciler/reconstruct.go.
 *
 * It only looks at the directories of pods. So it forgets a volume that was staged and in no pod at
 * that moment. Unless a pod wants it again, such a volume stays staged for good, and is detached
 * all the same: kubernetes/kubernetes#85476 and #121937, open. */

/* K/pods/<uid>/volumes/<plugin>/<name>, with its vol_data.json. The kubelet reads only names from
 * there; here the objects stand for the names. */
typedef struct {
    const Object *pod;   /* (owned) */
    const Object *pv;    /* (owned) */
    const char *volume;  /* its name in the pod; interned */
    gboolean unreadable; /* vol_data.json is missing or broken */
} VolumeDirectory;

static void
volume_directory_free(void *data)
{
    VolumeDirectory *self = data;

    object_unref(self->pod);
    object_unref(self->pv);
    g_free(self);
}

void
reconstruct_free_disk(void *disk)
{
    g_ptr_array_unref(disk);
}

static GPtrArray *
disk_of(const Kubelet *self)
{
    if (*self->base.disk == NULL)
        *self->base.disk = g_ptr_array_new_with_free_func(volume_directory_free);
    return *self->base.disk;
}

static gboolean
is_of_mount(const VolumeDirectory *directory, const PodMount *mount)
{
    return strings_same(directory->volume, mount->spec->name) &&
           object_uid_equal(directory->pod->uid, mount->worker->uid);
}

void
reconstruct_remove_directory(Kubelet *self, const PodMount *mount)
{
    GPtrArray *disk = disk_of(self);

    for (unsigned i = 0; i < disk->len; i++) {
        if (is_of_mount(disk->pdata[i], mount)) {
            g_ptr_array_remove_index(disk, i);
            return;
        }
    }
}

void
reconstruct_add_directory(Kubelet *self, const PodMount *mount)
{
    VolumeDirectory *directory = g_new0(VolumeDirectory, 1);

    reconstruct_remove_directory(self, mount); /* a second try finds it there */
    directory->pod = object_ref(mount->worker->pod);
    directory->pv = object_ref(mount->volume->pv);
    directory->volume = mount->spec->name;
    g_ptr_array_add(disk_of(self), directory);
}

void
reconstruct_spoil(void *data)
{
    GPtrArray *disk = data;

    for (unsigned i = 0; disk != NULL && i < disk->len; i++)
        ((VolumeDirectory *)disk->pdata[i])->unreadable = TRUE;
}

/* ---- Before the loops: KVM-60, KVM-61 ---- */

static void
rebuild_mount(Kubelet *self, const VolumeDirectory *directory)
{
    PodWorker *worker = pod_worker_find(self, directory->pod);

    if (worker == NULL)
        worker = pod_worker_rebuild(self, directory->pod);
    for (unsigned i = 0; i < worker->n_mounts; i++) {
        PodMount *mount = &worker->mounts[i];
        if (is_of_mount(directory, mount))
            volume_manager_rebuild(mount, directory->pv);
    }
}

void
reconstruct_volumes(Kubelet *self)
{
    const GPtrArray *disk = *self->base.disk;

    if (disk == NULL || disk->len == 0)
        return;
    self->awaits_node = self->awaits_populator = TRUE;
    for (unsigned i = 0; i < disk->len; i++) {
        const VolumeDirectory *directory = disk->pdata[i];
        kubelet_count(self, METRIC_KUBELET_RECONSTRUCTED); /* MET-65 */
        if (directory->unreadable) {
            self->has_unreadable = TRUE;
            kubelet_count(self, METRIC_KUBELET_RECONSTRUCT_ERRORS);
        } else {
            rebuild_mount(self, directory);
        }
    }
    kubelet_ensure_loops(self);
    sim_ticker_wake(self->reconciler); /* to read the Node, even if nothing could be rebuilt */
}

/* KVM-23: the first pass reads all pods, even if they are to end. */
void
reconstruct_sources_ready(Kubelet *self)
{
    self->knows_pods = TRUE;
    if (!self->awaits_populator)
        return;
    for (unsigned i = 0; i < self->workers->len; i++) {
        PodWorker *worker = self->workers->pdata[i];
        pod_worker_sources_ready(worker);
        if (!worker->stopped)
            volume_populator_reprocess(worker);
    }
    sim_ticker_wake(self->populator);
}

/* ---- With the loops: KVM-33, KVM-64 to KVM-66 ---- */

gboolean
reconstruct_may_unmount(const Kubelet *self)
{
    return !self->awaits_node && !self->awaits_populator;
}

static void
progressed(Kubelet *self)
{
    if (!reconstruct_may_unmount(self))
        return;
    for (unsigned i = 0; i < self->volumes->len; i++)
        volume_manager_due(self->volumes->pdata[i]);
    if (self->has_unreadable)
        sim_ticker_wake(self->reconciler);
}

void
reconstruct_populated(Kubelet *self)
{
    if (!self->awaits_populator || !self->knows_pods) /* KVM-33: passes before that do not count */
        return;
    self->awaits_populator = FALSE;
    progressed(self);
}

/* KVM-64: a volume that the Node does not list is not attached here, unless a pod wants it. */
void
reconstruct_apply(Kubelet *self, const PlanChange *change)
{
    const Node *node = (const Node *)change->object;

    for (unsigned i = 0; i < self->volumes->len; i++) {
        NodeVolume *volume = self->volumes->pdata[i];
        node_volume_resolve_attachability(volume,
                                          string_list_has(node->volumes_attached, volume->name));
    }
    self->awaits_node = FALSE;
    node_status_changed(self); /* KVM-65: from now on it is reported */
    progressed(self);
}

static void
decide_node_read(const void *self, Plan *plan)
{
    int step = plan_last_step(plan);

    (void)self;
    plan_change(plan, &(PlanChange){.what = CHANGE_NODE_READ, .object = plan_object(plan, step)});
}

static void
decide_read_node(const void *data, Plan *plan)
{
    const Kubelet *self = data;

    plan_because(plan, "KVM-64");
    plan_get(plan, self->node_key, PLAN_STOP);
    plan_then(plan, decide_node_read);
}

static void
node_read(void *data, Plan *plan, PlanEnd end, const char *message)
{
    Kubelet *self = data;

    (void)plan, (void)end, (void)message;
    sim_ticker_end_pass(self->reconciler, self->due->len > 0 || self->awaits_node);
}

/* The last step of a pass, which waits for the answer. */
void
reconstruct_read_node(Kubelet *self)
{
    sim_ticker_begin_long_pass(self->reconciler);
    plan_start(&(PlanStart){
        .component = &self->base,
        .decide = decide_read_node,
        .key = self->node_key,
        .done = node_read,
    });
}

/* ---- Broken directories: KVM-62 ---- */

static gboolean
is_wanted(const Kubelet *self, const VolumeDirectory *directory)
{
    const PodWorker *worker = pod_worker_find(self, directory->pod);

    for (unsigned i = 0; worker != NULL && i < worker->n_mounts; i++)
        if (is_of_mount(directory, &worker->mounts[i]) && worker->mounts[i].desired)
            return TRUE;
    return FALSE;
}

/* One UnmountVolume for each. It takes no time, so it needs no plan. A CSI volume's fails: its ids
 * are lost with its file. */
void
reconstruct_clean_up(Kubelet *self)
{
    GPtrArray *disk = disk_of(self);

    self->has_unreadable = FALSE;
    for (unsigned i = disk->len; i > 0; i--) {
        const VolumeDirectory *directory = disk->pdata[i - 1];
        if (!directory->unreadable || is_wanted(self, directory))
            continue;
        self->n_cleaned_up++;
        kubelet_count(self, METRIC_KUBELET_FORCE_CLEANED);
        if (volume_plugin_is_csi(volume_plugin_find(VOLUME_CONST(directory->pv)->source)))
            kubelet_count(self, METRIC_KUBELET_FORCE_CLEAN_ERRORS);
        else
            g_ptr_array_remove_index(disk, i - 1);
    }
}
