/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "attach-limits.h"

/* Desired state: the registrars' sockets that exist. Actual state: the sockets that are registered.
 * pkg/kubelet/pluginmanager. A watcher notes sockets as they come and go; a loop of 1 s registers
 * and unregisters, one operation for each socket at a time. Each driver has one socket. The
 * operations are in plugin-registration.c.
 *
 * This file also restarts a registrar's container that has exited (REG-4). */

#define PASS_PERIOD SIM_SECOND       /* REG-12 */
#define BACKOFF_FIRST (500 * SIM_MS) /* OP-8, REG-13 */
#define BACKOFF_MAX (122 * SIM_SECOND)
#define RESTART_FIRST (10 * SIM_SECOND) /* REG-4 */
#define RESTART_MAX (300 * SIM_SECOND)
#define RAN_WELL (10 * SIM_MINUTE)
#define SYNC_BACKOFF (10 * SIM_SECOND) /* KVM-8, + U[0,0.5] of it */

static gboolean plugin_pass(void *kubelet);

static Sim *
sim_of(const NodePlugin *self)
{
    return self->kubelet->base.sim;
}

static void
wake_loop(Kubelet *self)
{
    if (self->plugin_loop == NULL)
        self->plugin_loop = kubelet_make_loop(self, "kubelet/plugin manager", LOOP_PLUGINS,
                                              PASS_PERIOD, plugin_pass);
    sim_ticker_wake(self->plugin_loop);
}

/* ---- Operations: REG-12 to REG-14 ---- */

static void
plugin_manager_operation_done(void *data, Plan *plan, PlanEnd end, const char *message)
{
    Kubelet *self = data;
    NodePlugin *plugin = plan_done_operation(plan);

    (void)message;
    plugin->running = FALSE;
    plugin->plan = NULL;
    if (end == PLAN_DONE) {
        plugin->backoff = 0;
    } else {
        plugin->failed_at = sim_now(self->base.sim);
        plugin->backoff =
            plugin->backoff == 0 ? BACKOFF_FIRST : MIN(2 * plugin->backoff, BACKOFF_MAX);
    }
    if (plugin->actual != plugin->desired)
        wake_loop(self);
}

static void
start_operation(NodePlugin *self, PlanDecide decide)
{
    Kubelet *kubelet = self->kubelet;
    PlanStart start = {
        .component = &kubelet->base,
        .decide = decide,
        .key = kubelet->node_key,
        .operation = self,
        .done = plugin_manager_operation_done,
    };

    self->running = TRUE;
    self->n_tries = 0;
    self->plan = plan_start(&start); /* NULL: it is over */
}

/* REG-14: the end of a registration is an operation of its own. */
static void
reconcile(NodePlugin *self)
{
    SimTime passed = sim_now(sim_of(self)) - self->failed_at;
    gboolean is_held_back = self->backoff > 0 && passed <= self->backoff; /* REG-13 */

    if (self->actual == self->desired || self->running || is_held_back)
        return;
    start_operation(self, self->actual != 0 ? plugin_registration_decide_unregister
                                            : plugin_registration_decide_register);
}

static uint64_t
plugin_place(const void *plugin, SimStream stream, uint64_t walk)
{
    return sim_random_bits(stream, ((const NodePlugin *)plugin)->driver, walk);
}

/* REG-12: GetPluginsToRegister() walks a map of sockets. */
static gboolean
plugin_pass(void *data)
{
    Kubelet *self = data;
    g_autofree void **plugins = g_new(void *, self->n_plugins);
    uint64_t walk = sim_hash_combine(self->node_key->hash, (uint64_t)sim_now(self->base.sim));
    gboolean more = FALSE;

    for (unsigned i = 0; i < self->n_plugins; i++)
        plugins[i] = &self->plugins[i];
    sim_shuffle(plugins, self->n_plugins, plugin_place,
                sim_stream(self->base.sim, "kubelet/registration order"), walk);
    for (unsigned i = 0; i < self->n_plugins; i++) {
        NodePlugin *plugin = plugins[i];
        reconcile(plugin);
        more |= !plugin->running && plugin->actual != plugin->desired;
    }
    return more; /* an operation's end wakes the loop as well */
}

/* ---- The watcher: REG-8, REG-9, REG-10, REG-11 ---- */

static NodePluginPod
plugin_manager_pod_of(const NodePlugin *self)
{
    const Kubelet *kubelet = self->kubelet;

    return cluster_plugin_pod(kubelet->base.cluster, self->driver, kubelet->base.node_name);
}

/* Returns: whether there is a socket */
static gboolean
look_for_socket(NodePlugin *self)
{
    NodePluginPod pod = plugin_manager_pod_of(self);
    unsigned before = self->desired;

    self->desired = pod.registrar == REGISTRAR_GONE ? 0 : pod.socket;
    if (self->desired != 0 && self->desired != before && !self->registered)
        startup_taint_begin(self);
    return self->desired != 0;
}

/* ---- The registrar's container: REG-4 ---- */

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

static void
restart_registrar(NodePlugin *self)
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

void
plugin_manager_changed(Kubelet *self, unsigned driver)
{
    for (unsigned i = 0; i < self->n_plugins; i++) {
        NodePlugin *plugin = &self->plugins[i];
        if (plugin->driver != driver || plugin->event != 0) /* it has not begun yet */
            continue;
        look_for_socket(plugin);
        if (plugin_manager_pod_of(plugin).registrar == REGISTRAR_DEAD)
            restart_registrar(plugin);
        if (plugin->plan != NULL)
            plan_wake(plugin->plan); /* it may wait for the registrar (REG-15) */
        wake_loop(self);
    }
}

/* ---- Start ---- */

/* REG-29: after a restart the kubelet finds the sockets and walks them at once (TIM-94). Else the
 * registrar makes its socket, and the next pass finds it. */
static void
kubelet_plugin_manager_begin(Sim *sim, void *data)
{
    NodePlugin *self = data;
    Kubelet *kubelet = self->kubelet;

    (void)sim;
    self->event = 0;
    if (plugin_manager_pod_of(self).registrar == REGISTRAR_DEAD)
        restart_registrar(self);
    if (!look_for_socket(self))
        return;
    if (kubelet->base.started_late && !kubelet->base.joined)
        reconcile(self);
    else
        wake_loop(kubelet);
}

static const SimEventType begin_event = {
    .name = "kubelet/plugin registers",
    .fire = kubelet_plugin_manager_begin,
};

void
plugin_manager_begin(NodePlugin *self, SimTime delay)
{
    self->registrar_container.started_at = sim_now(sim_of(self));
    self->event = sim_after(sim_of(self), delay, &begin_event, self, WAIT_STARTUP);
}

void
plugin_manager_is_registered(NodePlugin *self)
{
    self->registered = TRUE;
    look_for_socket(self);
    self->actual = self->desired;
    attach_limits_sync(self, TRUE);
}

void
plugin_manager_clear(Kubelet *self)
{
    for (unsigned i = 0; i < self->n_plugins; i++) {
        sim_cancel(self->base.sim, self->plugins[i].event);
        sim_cancel(self->base.sim, self->plugins[i].restart);
        sim_cancel(self->base.sim, self->plugins[i].probe);
        sim_cancel(self->base.sim, self->plugins[i].limit_update);
    }
    sim_ticker_free(self->plugin_loop);
}
