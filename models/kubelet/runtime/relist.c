/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "runtime.h"

/* When a kubelet lists its runtime's containers (PLEG), and the pods whose next step waits for it:
 * podWorkerLoop() in pkg/kubelet/pod_workers.go, pkg/kubelet/pleg/generic.go. */

/* KVM-105: after a sync, not after the containers were stopped. */
static gboolean
relists_on_demand(const PodWorker *self)
{
    return (self->step == WORKER_SYNC || self->step == WORKER_TERMINATING) &&
           release_has_gate(kubelet_release(self->kubelet), "PLEGOnDemandRelist");
}

static SimTime
relist_time(const Kubelet *self)
{
    return process_timing(self->base.process)->relist_pass;
}

/* KVM-84: whether a relist has been since the last step ended. */
gboolean
relist_is_newer(const PodWorker *self)
{
    const Kubelet *kubelet = self->kubelet;

    return self->synced_at == TIME_UNSET ||
           sim_ticker_next(kubelet->pod_runtime->relist) -
                   sim_ticker_step(kubelet->pod_runtime->relist) >
               self->synced_at ||
           (relists_on_demand(self) &&
            sim_now(kubelet->base.sim) > self->synced_at + relist_time(kubelet));
}

/* The loop's pass: all waiting pods go on. Returns: FALSE: no pod waits any longer */
static gboolean
relist_pass(void *data)
{
    Kubelet *self = data;
    g_autoptr(GPtrArray) awaiting = g_steal_pointer(&self->pod_runtime->awaiting);
    SimCauseId cause = sim_cause(self->base.sim);

    self->pod_runtime->awaiting = g_ptr_array_new();
    for (unsigned i = 0; i < awaiting->len; i++) {
        PodWorker *worker = awaiting->pdata[i];
        worker->awaits_relist = FALSE;
        sim_resume(self->base.sim, worker->awaits_by, WAIT_RUNTIME,
                   self->pod_runtime->relist_label);
        self->pod_calls->start(worker);
    }
    sim_set_cause(self->base.sim, cause);
    return FALSE;
}

static void
relisted(Sim *sim, void *data)
{
    Kubelet *self = data;

    (void)sim;
    self->pod_runtime->relist_soon = 0;
    relist_pass(self);
}

static const SimEventType relist_event = {.name = "kubelet/PLEG relist on demand",
                                          .fire = relisted};

static void
relist_soon(Kubelet *self)
{
    if (self->pod_runtime->relist_soon == 0)
        self->pod_runtime->relist_soon =
            sim_after(self->base.sim, relist_time(self), &relist_event, self, WAIT_RUNTIME);
}

void
relist_await(PodWorker *self, gboolean on_demand)
{
    Kubelet *kubelet = self->kubelet;

    self->awaits_relist = TRUE;
    self->awaits_by = sim_cause(kubelet->base.sim);
    g_ptr_array_add(kubelet->pod_runtime->awaiting, self);
    sim_ticker_wake(kubelet->pod_runtime->relist);
    if (on_demand && relists_on_demand(self))
        relist_soon(kubelet);
}

void
pod_runtime_ensure(Kubelet *self)
{
    if (self->pod_runtime != NULL)
        return;
    self->pod_runtime = g_new0(PodRuntime, 1);
    self->pod_runtime->awaiting = g_ptr_array_new();
    self->pod_runtime->relist = kubelet_make_loop(self, "kubelet/PLEG relist", LOOP_RELIST,
                                                  SIM_SECOND, relist_pass); /* KVM-84 */
    self->pod_runtime->relist_label = sim_label(self->base.sim, "kubelet/PLEG relist");
}

void
pod_runtime_free(Kubelet *self)
{
    PodRuntime *runtime = self->pod_runtime;

    if (runtime == NULL)
        return;
    sim_cancel(self->base.sim, runtime->relist_soon);
    sim_ticker_free(runtime->relist);
    g_ptr_array_unref(runtime->awaiting);
    g_clear_pointer(&runtime->images, g_ptr_array_unref);
    g_free(runtime);
}
