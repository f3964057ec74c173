/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cluster-private.h"

/* Kubelets' heartbeats are not simulated as writes (NL-2). Controllers ask for the last renewal,
 * and are told when a kubelet falls silent or resumes. */

#define RENEW_INTERVAL (10 * SIM_SECOND) /* NL-2, TIM-57, and up to 4 % more */
#define RENEW_JITTER 0.04

static void
instance_tell_kubelet_watchers(const Instance *self)
{
    const GArray *watchers = self->cluster->kubelet_watchers;

    for (unsigned i = 0; self->class->renews_lease && i < watchers->len; i++) {
        const KubeletWatcher *watcher = &g_array_index(watchers, KubeletWatcher, i);
        watcher->changed(watcher->data, self->instance);
    }
}

void
cluster_watch_kubelets(Cluster *self, KubeletWatch changed, void *data)
{
    KubeletWatcher watcher = {changed, data};

    g_array_append_val(self->kubelet_watchers, watcher);
}

void
cluster_unwatch_kubelets(Cluster *self, const void *data)
{
    for (unsigned i = self->kubelet_watchers->len; i-- > 0;)
        if (g_array_index(self->kubelet_watchers, KubeletWatcher, i).data == data)
            g_array_remove_index(self->kubelet_watchers, i);
}

void
instance_fall_silent(Instance *self)
{
    SimTime now = sim_now(self->cluster->options.sim);

    if (self->silent_since == TIME_UNSET || now >= self->silent_until)
        self->silent_since = now;
    self->silent_until = SIM_TIME_MAX;
    instance_tell_kubelet_watchers(self);
}

static void
heard_again(Sim *sim, void *data)
{
    (void)sim;
    instance_tell_kubelet_watchers(data);
}

static const SimEventType heard_event = {.name = "cluster/lease is renewed", .fire = heard_again};

void
instance_speak_again(Instance *self, SimTime delay)
{
    Sim *sim = self->cluster->options.sim;

    if (self->process == NULL || process_state(self->process) != PROCESS_RUNS ||
        api_server_is_down(self->cluster->api))
        return;
    if (self->silent_since != TIME_UNSET && self->silent_until == SIM_TIME_MAX)
        self->silent_until = sim_now(sim) + delay;
    if (delay > 0)
        sim_after(sim, delay, &heard_event, self, WAIT_POLL);
    else
        instance_tell_kubelet_watchers(self);
}

SimTime
cluster_last_renewal(const Cluster *self, const char *node)
{
    const Instance *kubelet = cluster_node_agent(self, node);
    SimTime now = sim_now(self->options.sim);

    if (kubelet == NULL || kubelet->silent_since == TIME_UNSET || now >= kubelet->silent_until)
        return now;
    SimStream stream = sim_stream(self->options.sim, "kubelet/lease");
    double share =
        sim_random_uniform(stream, sim_hash_string(node), (uint64_t)kubelet->silent_since);
    return kubelet->silent_since -
           (SimTime)(share * (1 + RENEW_JITTER / 2) * (double)RENEW_INTERVAL);
}
