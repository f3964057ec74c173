/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Containers of a driver's pod that exit and start again after their back-off (REG-4): the
 * registrar's and the driver's. */
#include "plugin-manager.h"

#define RESTART_FIRST (10 * SIM_SECOND) /* REG-4 */
#define RESTART_MAX (300 * SIM_SECOND)
#define RAN_WELL (10 * SIM_MINUTE)
#define SYNC_BACKOFF (10 * SIM_SECOND) /* KVM-8, + U[0,0.5] of it */

static Sim *
sim_of(const NodePlugin *self)
{
    return self->kubelet->base.sim;
}

NodePluginPod
plugin_manager_pod_of(const NodePlugin *self)
{
    const Kubelet *kubelet = self->kubelet;

    return cluster_plugin_pod(kubelet->base.cluster, self->driver, kubelet->base.node_name);
}

static void
restart_fired(Sim *sim, void *data)
{
    NodePlugin *self = data;
    Kubelet *kubelet = self->kubelet;

    self->restart = 0;
    if (plugin_manager_pod_of(self).lacks_pod)
        return;
    self->registrar_container.started_at = sim_now(sim);
    cluster_set_registrar(kubelet->base.cluster, self->driver, kubelet->base.node_name,
                          REGISTRAR_LISTENS);
}

static const SimEventType restart_event = {
    .name = "kubelet/registrar starts again",
    .fire = restart_fired,
};

static SimTime
plugin_manager_draw(NodePlugin *self, SimTime below)
{
    SimStream stream = sim_stream(sim_of(self), "kubelet/registrar");
    uint64_t entity = sim_hash_combine(self->kubelet->node_key->hash, self->driver);

    return (SimTime)sim_random_below(stream, entity, self->n_draws++, (uint64_t)below);
}

/* The first relist sees the exit and makes a sync. The sync starts the container if the back-off
 * allows. If not, the sync has failed, and the next one comes 10 to 15 s later. */
SimTime
container_restart_delay(NodePlugin *self, PluginContainer *container)
{
    if (sim_now(sim_of(self)) - container->started_at > RAN_WELL)
        container->n_exits = 0;
    SimTime backoff = container->n_exits == 0
                          ? 0
                          : MIN(RESTART_FIRST << MIN(container->n_exits - 1, 8), RESTART_MAX);
    SimTime now = sim_now(sim_of(self)), at = now + plugin_manager_draw(self, SIM_SECOND);
    while (at - now < backoff)
        at = kubelet_sync_tick(self->kubelet,
                               at + SYNC_BACKOFF + plugin_manager_draw(self, SYNC_BACKOFF / 2));
    container->n_exits++;
    return at - now;
}

void
plugin_container_restart_registrar(NodePlugin *self)
{
    if (self->restart == 0 &&
        !plugin_manager_pod_of(self).lacks_pod) /* else it comes with its pod (DP-3) */
        self->restart =
            sim_after(sim_of(self), container_restart_delay(self, &self->registrar_container),
                      &restart_event, self, WAIT_BACKOFF);
}

void
plugin_manager_registrar_exits(NodePlugin *self)
{
    const Kubelet *kubelet = self->kubelet;

    cluster_set_registrar(kubelet->base.cluster, self->driver, kubelet->base.node_name,
                          REGISTRAR_DEAD);
}
