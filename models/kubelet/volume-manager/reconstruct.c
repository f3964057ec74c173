/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A kubelet that starts finds the directories that the one before left on the node, and rebuilds
 * its state from them: pkg/kubelet/volumemanager/reconciler/reconstruct.go.
 *
 * First restart.c puts what is on the disk into actual state; from then on nothing is unmounted
 * until the Node and all pods have been read, in the passes of the loops.
 *
 * It only looks at the directories of pods. So it forgets a volume that was staged and in no pod at
 * that moment. Unless a pod wants it again, such a volume stays staged for good, and is detached
 * all the same: kubernetes/kubernetes#85476 and #121937, open. */
#include "models/kubelet/measure.h"
#include "volume-manager.h"

/* ---- Before the loops: KVM-60, KVM-61 ---- */

void
reconstruct_begin(Kubelet *self)
{
    self->volume_manager->awaits_node = self->volume_manager->awaits_populator = TRUE;
}

/* The loop is to read the Node, even if nothing could be rebuilt. */
void
reconstruct_end(Kubelet *self, gboolean some_failed)
{
    self->volume_manager->has_unreadable = some_failed;
    sim_ticker_wake(self->volume_manager->reconciler);
}

gboolean
reconstruct_pods_are_known(Kubelet *self)
{
    VolumeManager *volumes = self->volume_manager;

    if (volumes == NULL)
        return FALSE;
    volumes->knows_pods = TRUE;
    if (volumes->awaits_populator)
        sim_ticker_wake(volumes->populator);
    return volumes->awaits_populator;
}

/* ---- With the loops: KVM-33, KVM-64 to KVM-66 ---- */

gboolean
reconstruct_may_unmount(const Kubelet *self)
{
    return !self->volume_manager->awaits_node && !self->volume_manager->awaits_populator;
}

static void
progressed(Kubelet *self)
{
    if (!reconstruct_may_unmount(self))
        return;
    for (unsigned i = 0; i < self->volume_manager->volumes->len; i++)
        volume_manager_due(self->volume_manager->volumes->pdata[i]);
    if (self->volume_manager->has_unreadable)
        sim_ticker_wake(self->volume_manager->reconciler);
}

void
reconstruct_populated(Kubelet *self)
{
    if (!self->volume_manager->awaits_populator ||
        !self->volume_manager->knows_pods) /* KVM-33: passes before that do not count */
        return;
    self->volume_manager->awaits_populator = FALSE;
    progressed(self);
}

/* KVM-64: a volume that the Node does not list is not attached here, unless a pod wants it. */
void
reconstruct_apply(Kubelet *self, const PlanChange *change)
{
    const Node *node = (const Node *)change->object;

    for (unsigned i = 0; i < self->volume_manager->volumes->len; i++) {
        NodeVolume *volume = self->volume_manager->volumes->pdata[i];
        node_volume_resolve_attachability(
            volume, string_list_has_interned(node->volumes_attached, volume->name));
    }
    self->volume_manager->awaits_node = FALSE;
    kubelet_status_changed(self); /* KVM-65: from now on it is reported */
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
    sim_ticker_end_pass(self->volume_manager->reconciler,
                        self->volume_manager->due->len > 0 || self->volume_manager->awaits_node);
}

/* The last step of a pass, which waits for the answer. */
void
reconstruct_read_node(Kubelet *self)
{
    sim_ticker_begin_long_pass(self->volume_manager->reconciler);
    plan_start(&(PlanStart){
        .component = &self->base,
        .decide = decide_read_node,
        .key = self->node_key,
        .done = node_read,
    });
}

/* ---- Broken directories: KVM-62 ---- */

static gboolean
reconstruct_is_wanted(const Kubelet *self, const VolumeDirectory *directory)
{
    const PodWorker *worker = pod_worker_find(self, directory->pod);

    for (unsigned i = 0; worker != NULL && i < worker->n_mounts; i++)
        if (volume_directory_is_of(directory, &worker->mounts[i]) && worker->mounts[i].desired)
            return TRUE;
    return FALSE;
}

/* One UnmountVolume for each. It takes no time, so it needs no plan. A CSI volume's fails: its ids
 * are lost with its file. */
void
reconstruct_clean_up(Kubelet *self)
{
    GPtrArray *disk = kubelet_disk(self)->directories;

    self->volume_manager->has_unreadable = FALSE;
    for (unsigned i = disk->len; i > 0; i--) {
        VolumeDirectory *directory = disk->pdata[i - 1];
        if (!directory->failed)
            continue;
        directory->failed = FALSE; /* one look is enough: a wanted volume is mounted again */
        if (reconstruct_is_wanted(self, directory))
            continue;
        self->volume_manager->n_cleaned_up++;
        kubelet_count(self, METRIC_KUBELET_FORCE_CLEANED);
        if (directory->pv == NULL)
            kubelet_count(self, METRIC_KUBELET_FORCE_CLEAN_ERRORS);
        else
            g_ptr_array_remove_index(disk, i - 1);
    }
}

gboolean
reconstruct_awaits_node(const Kubelet *self)
{
    return self->volume_manager != NULL && self->volume_manager->awaits_node;
}
