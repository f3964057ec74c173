/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "pod-worker.h"

#include "models/kubelet/status/pod-status.h"
#include "models/kubelet/volume-manager/volume-manager.h"

/* A pod in a crowd waits for its volumes for hours: each sync times out after 2 min 3 s, fails
 * without a word, backs off, and the next one waits again (KVM-19 to KVM-21). So the plan of a sync
 * that timed out is put aside and waits once more; only what a sync does before its wait is done
 * again: the status, and the read of the volumes.
 *
 * Invariant: a worker with PodWorker.aside is in the back-off of a sync that failed so. If
 * something has changed as the back-off ends, the plan is dropped, and the sync begins as usual.
 * Where plans are to be whole (plans_are_whole()), none is put aside. */

gboolean
pod_wait_timed_out(void *data, Plan *plan)
{
    Kubelet *self = data;
    PodWorker *worker = plan_timed_out_operation(plan);

    if (worker->step != WORKER_SYNC || worker->wants_step || !pod_sync_must_wait(worker) ||
        !pod_sync_fails_silently(self))
        return FALSE;
    plan_put_aside(plan);
    worker->aside = plan;
    pod_worker_fail(worker);
    return TRUE;
}

gboolean
pod_wait_again(PodWorker *worker)
{
    Plan *plan = g_steal_pointer(&worker->aside);

    if (plan == NULL)
        return FALSE;
    if (worker->step != WORKER_SYNC || !pod_sync_must_wait(worker) ||
        plans_are_whole(&worker->kubelet->base)) {
        plan_drop_aside(plan);
        return FALSE;
    }
    pod_status_changed(worker);
    worker->waits = TRUE;
    volume_manager_reprocess(worker);
    worker->plan = plan;
    plan_poll_again(plan);
    return TRUE;
}
