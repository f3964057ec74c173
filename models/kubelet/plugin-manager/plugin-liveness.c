/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "plugin-manager.h"

/* The liveness probe of a driver's container: the kubelet asks livenessprobe's /healthz, which
 * calls Probe (REG-31 to REG-33). After five failures in a row the container is killed and started
 * again; that is not a restart of its registrar (REG-34). */

#define PROBE_TIMEOUT (3 * SIM_SECOND) /* REG-31, and of the pod's own probe (REG-33) */
#define FAILURES_MAX 5u                /* REG-33: failureThreshold */

static void probe_later(NodePlugin *self);

static void
probe_over(void *data, Plan *plan, PlanEnd end, const char *message)
{
    (void)data, (void)end, (void)message;
    probe_later(plan_done_operation(plan));
}

/* REG-32: an error, no answer in time, or "not ready" are all the same. */
static void
decide_probed(const void *data, Plan *plan)
{
    const CsiResponse *response = plan_response(plan, plan_last_step(plan));

    (void)data;
    plan_because(plan, "REG-32");
    plan_change(plan, &(PlanChange){.what = CHANGE_PROBED,
                                    .pointer = plan_operation(plan),
                                    .number = response->code == CSI_OK && response->ready});
}

static void
decide_probe(const void *data, Plan *plan)
{
    const Kubelet *self = data;
    const NodePlugin *plugin = plan_operation(plan);
    CsiRequest request = {
        .method = CSI_PROBE,
        .served_by = self->base.node_name,
        .timeout_ns = PROBE_TIMEOUT,
    };

    plan_because(plan, "REG-31");
    plan_call(plan, cluster_driver(self->base.cluster, plugin->driver), &request, PLAN_DECIDE);
    plan_then(plan, decide_probed);
}

static void
probe(Sim *sim, void *data)
{
    NodePlugin *self = data;
    Kubelet *kubelet = self->kubelet;

    (void)sim;
    self->probe = 0;
    if (cluster_plugin_pod(kubelet->base.cluster, self->driver, kubelet->base.node_name)
            .lacks_pod) { /* nothing to probe (DP-3) */
        self->n_failed_probes = 0;
        probe_later(self);
        return;
    }
    plan_start(&(PlanStart){
        .component = &kubelet->base,
        .decide = decide_probe,
        .key = kubelet->node_key,
        .operation = self,
        .done = probe_over,
    });
}

static const SimEventType probe_event = {
    .name = "kubelet/liveness probe",
    .fire = probe,
};

/* On a grid; an instant that comes while a probe is under way is left out. */
static void
probe_later(NodePlugin *self)
{
    const Kubelet *kubelet = self->kubelet;
    Sim *sim = kubelet->base.sim;
    SimTime period = cluster_node_plugin(kubelet->base.cluster, self->driver)->liveness_period;
    SimTime passed = (sim_now(sim) - self->probed_from) % period;

    self->probe = sim_after(sim, period - passed, &probe_event, self, WAIT_POLL);
}

void
plugin_liveness_begin(NodePlugin *self)
{
    const Kubelet *kubelet = self->kubelet;
    Sim *sim = kubelet->base.sim;
    SimTime period = cluster_node_plugin(kubelet->base.cluster, self->driver)->liveness_period;

    if (period <= 0)
        return;
    SimStream stream = sim_stream(sim, "kubelet/liveness");
    uint64_t entity = sim_hash_combine(kubelet->node_key->hash, self->driver);
    self->probed_from =
        sim_now(sim) - (SimTime)sim_random_below(stream, entity, 0, (uint64_t)period);
    probe_later(self);
}

void
plugin_liveness_apply(NodePlugin *self, gboolean is_well)
{
    const Kubelet *kubelet = self->kubelet;

    self->n_failed_probes = is_well ? 0 : self->n_failed_probes + 1;
    if (self->n_failed_probes < FAILURES_MAX)
        return;
    self->n_failed_probes = 0;
    cluster_restart_plugin(kubelet->base.cluster, self->driver, kubelet->base.node_name,
                           container_restart_delay(self, &self->driver_container));
}
