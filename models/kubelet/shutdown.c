/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Graceful shutdown of a machine: pkg/kubelet/nodeshutdown/nodeshutdown_manager_linux.go. First the
 * ordinary pods end, then the critical ones. Each group has its time, and the unmounting of its
 * volumes counts (NL-92). Pods that are not done by then die with the machine. */
#include "shutdown.h"

#include "measure.h"

static gboolean
is_critical(const PodWorker *worker)
{
    return pod_worker_is_critical(worker->pod);
}

/* Whether the group of pods that ends just now is gone, with its volumes. */
static gboolean
group_has_ended(const Kubelet *self)
{
    for (unsigned i = 0; i < self->workers->len; i++) {
        const PodWorker *worker = self->workers->pdata[i];
        if (is_critical(worker) && !self->shutdown->only_critical_left)
            continue;
        if (worker->step != WORKER_FINISHED || worker->report_queued || worker->reporting ||
            pod_worker_has_mount(worker, MOUNT_UNCERTAIN))
            return FALSE;
    }
    return TRUE;
}

static void group_ends(Sim *sim, void *data);

static const SimEventType group_event = {.name = "kubelet/pods had their time", .fire = group_ends};

static void
begin_group(Kubelet *self, SimTime grace)
{
    for (unsigned i = 0; i < self->workers->len; i++) {
        PodWorker *worker = self->workers->pdata[i];
        if (is_critical(worker) == self->shutdown->only_critical_left)
            worker->kubelet->pod_calls->shut_down(worker);
    }
    self->shutdown->event = sim_after(self->base.sim, group_has_ended(self) ? 0 : grace,
                                      &group_event, self, WAIT_RUNTIME);
}

static void
group_ends(Sim *sim, void *data)
{
    Kubelet *self = data;

    (void)sim;
    self->shutdown->event = 0;
    if (self->shutdown->only_critical_left) {
        kubelet_measure_shutdown(self, METRIC_KUBELET_SHUTDOWN_END);
        cluster_machine_may_stop(self->base.cluster, self->base.node_name);
        return;
    }
    self->shutdown->only_critical_left = TRUE;
    begin_group(self, self->options->shutdown_grace_period_critical_pods);
}

/* NL-91. */
void
shutdown_begin(Kubelet *self)
{
    const KubeletOptions *options = self->options;

    if (self->shutdown->shutting_down)
        return;
    if (options->shutdown_grace_period == 0 ||
        !release_has_gate(kubelet_release(self), "GracefulNodeShutdown")) { /* NL-90 */
        cluster_machine_may_stop(self->base.cluster, self->base.node_name);
        return;
    }
    self->shutdown->shutting_down = TRUE;
    kubelet_measure_shutdown(self, METRIC_KUBELET_SHUTDOWN_START);
    kubelet_status_changed(self);
    begin_group(
        self,
        MAX(options->shutdown_grace_period - options->shutdown_grace_period_critical_pods, 0));
}

void
shutdown_progressed(Kubelet *self)
{
    if (self->shutdown->event == 0 || !group_has_ended(self))
        return;
    sim_cancel(self->base.sim, self->shutdown->event);
    self->shutdown->event = sim_after(self->base.sim, 0, &group_event, self, WAIT_RUNTIME);
}

void
shutdown_init(Kubelet *self)
{
    self->shutdown = g_new0(NodeShutdown, 1);
}

void
shutdown_clear(Kubelet *self)
{
    sim_cancel(self->base.sim, self->shutdown->event);
    g_free(self->shutdown);
}
