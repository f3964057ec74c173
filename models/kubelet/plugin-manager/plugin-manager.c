/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Desired state: the registrars' sockets that exist. Actual state: the sockets that are
 * registered. pkg/kubelet/pluginmanager. A watcher notes sockets as they come and go; a loop of 1
 * s registers and unregisters, one operation for each socket at a time, with the back-off of a
 * failed one. Each driver has one socket. Operations are in plugin-registration.c, restarts of
 * containers in plugin-container.c.
 *
 * Invariant: an operation runs only if actual and desired differ, and its end wakes the loop if
 * they still do. The loop sleeps otherwise. With the cluster's start drivers are registered
 * already, without any call; a driver with registersAfter begins like one on a running node. */
#include "attach-limits.h"
#include "models/kubelet/measure.h"

#define SOCKETS "/var/lib/kubelet/plugins_registry/"
#define PASS_PERIOD SIM_SECOND       /* REG-12 */
#define BACKOFF_FIRST (500 * SIM_MS) /* OP-8, REG-13 */
#define BACKOFF_MAX (122 * SIM_SECOND)

static const char actual_state[] = "actual_state_of_world",
                  desired_state[] = "desired_state_of_world";

static gboolean plugin_pass(void *kubelet);

static void
wake_loop(Kubelet *self)
{
    if (self->plugin_manager->loop == NULL)
        self->plugin_manager->loop = kubelet_make_loop(self, "kubelet/plugin manager", LOOP_PLUGINS,
                                                       PASS_PERIOD, plugin_pass);
    sim_ticker_wake(self->plugin_manager->loop);
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

/* REG-14: the end of a registration is a separate operation. */
static void
reconcile(NodePlugin *self)
{
    SimTime passed = sim_now(self->kubelet->base.sim) - self->failed_at;
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
    g_autofree void **plugins = g_new(void *, self->plugin_manager->n_plugins);
    uint64_t walk = sim_hash_combine(self->node_key->hash, (uint64_t)sim_now(self->base.sim));
    gboolean more = FALSE;

    for (unsigned i = 0; i < self->plugin_manager->n_plugins; i++)
        plugins[i] = &self->plugin_manager->plugins[i];
    sim_shuffle(plugins, self->plugin_manager->n_plugins, plugin_place,
                sim_stream(self->base.sim, "kubelet/registration order"), walk);
    for (unsigned i = 0; i < self->plugin_manager->n_plugins; i++) {
        NodePlugin *plugin = plugins[i];
        reconcile(plugin);
        more |= !plugin->running && plugin->actual != plugin->desired;
    }
    return more; /* the end of an operation wakes the loop, too */
}

/* ---- The watcher: REG-8, REG-9, REG-10, REG-11 ---- */

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

void
plugin_manager_changed(Kubelet *self, unsigned driver)
{
    for (unsigned i = 0; i < self->plugin_manager->n_plugins; i++) {
        NodePlugin *plugin = &self->plugin_manager->plugins[i];
        if (plugin->driver != driver || plugin->event != 0) /* it has not begun yet */
            continue;
        look_for_socket(plugin);
        if (plugin_manager_pod_of(plugin).registrar == REGISTRAR_DEAD)
            plugin_container_restart_registrar(plugin);
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
        plugin_container_restart_registrar(self);
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

static void
plugin_manager_begin(NodePlugin *self, SimTime delay)
{
    self->registrar_container.started_at = sim_now(self->kubelet->base.sim);
    self->event = sim_after(self->kubelet->base.sim, delay, &begin_event, self, WAIT_STARTUP);
}

static void
plugin_manager_is_registered(NodePlugin *self)
{
    self->registered = TRUE;
    look_for_socket(self);
    self->actual = self->desired;
    attach_limits_sync(self, TRUE);
}

/* The time until the kubelet finds its socket. REG-29: at once after a restart (TIM-94). */
static SimTime
socket_delay(const Kubelet *self, const NodePlugin *plugin, const NodePluginOptions *options)
{
    uint64_t entity =
        sim_hash_combine(self->node_key->hash, sim_hash_string(plugin_name(self, plugin)));
    SimStream stream = sim_stream(self->base.sim, "kubelet/registration");

    /* In a Pod the time runs from the start of its container (DP-2). */
    if ((self->base.started_late && !self->base.joined) || options->registers_after == NULL ||
        cluster_plugin_pod(self->base.cluster, plugin->driver, self->base.node_name).in_pod)
        return 0;
    return MAX(sim_dist_draw(options->registers_after, stream, entity, 0), 0);
}

static void
plugin_begin_later(Kubelet *self, NodePlugin *plugin)
{
    plugin_manager_begin(
        plugin,
        socket_delay(self, plugin, cluster_node_plugin(self->base.cluster, plugin->driver)));
}

static void
registered_at_once(void *data, Plan *plan, PlanEnd end, const char *message)
{
    NodePlugin *plugin = plan_done_operation(plan);

    (void)message;
    if (end == PLAN_DONE)
        plugin_manager_is_registered(plugin);
    else
        plugin_begin_later(data, plugin);
}

static void
start_plan(Kubelet *self, PlanDecide decide, NodePlugin *plugin, gboolean at_once)
{
    plan_start(&(PlanStart){.component = &self->base,
                            .decide = decide,
                            .key = self->node_key,
                            .operation = plugin,
                            .at_once = at_once,
                            .done = plugin == NULL ? NULL : registered_at_once});
}

static void
plugin_start(Kubelet *self, NodePlugin *plugin)
{
    const NodePluginOptions *options = cluster_node_plugin(self->base.cluster, plugin->driver);
    NodePluginPod pod =
        cluster_plugin_pod(self->base.cluster, plugin->driver, self->base.node_name);

    if (self->base.started_late || pod.lacks_pod ||
        (options->registers_after != NULL && !pod.in_pod))
        plugin_begin_later(self, plugin);
    else if (options->preregistered)
        plugin_manager_is_registered(plugin);
    else
        start_plan(self, plugin_registration_decide_at_once, plugin, TRUE);
}

void
plugin_manager_init(Kubelet *self)
{
    unsigned n = cluster_n_drivers(self->base.cluster);

    self->plugin_manager = g_new0(PluginManager, 1);
    if (self->base.started_late)
        start_plan(self, plugin_registration_decide_look_for_csi_node, NULL, FALSE);
    self->plugin_manager->plugins = g_new0(NodePlugin, n);
    attach_limits_init(self);
    for (unsigned i = 0; i < n; i++) {
        if (!cluster_plugin_runs_on(self->base.cluster, i, self->base.node_name))
            continue;
        NodePlugin *plugin = &self->plugin_manager->plugins[self->plugin_manager->n_plugins++];
        plugin->kubelet = self;
        plugin->driver = i;
        plugin_liveness_begin(plugin);
        plugin_start(self, plugin);
    }
    if (!self->base.started_late)
        start_plan(self, plugin_registration_decide_first_csi_node, NULL, TRUE);
}

void
plugin_manager_clear(Kubelet *self)
{
    for (unsigned i = 0; i < self->plugin_manager->n_plugins; i++) {
        sim_cancel(self->base.sim, self->plugin_manager->plugins[i].event);
        sim_cancel(self->base.sim, self->plugin_manager->plugins[i].restart);
        sim_cancel(self->base.sim, self->plugin_manager->plugins[i].probe);
        sim_cancel(self->base.sim, self->plugin_manager->plugins[i].limit_update);
    }
    sim_ticker_free(self->plugin_manager->loop);
    g_free(self->plugin_manager->plugins);
    g_free(self->plugin_manager);
}

/* ---- Metrics ---- */

static void
count_plugin(const Kubelet *self, NodePlugin *plugin)
{
    SimMetrics *metrics = sim_metrics(self->base.sim);
    const char *job = process_job(self->base.process);

    if (plugin->desired_count == NULL) {
        g_autofree char *socket = g_strconcat(
            SOCKETS, cluster_driver_name(self->base.cluster, plugin->driver), "-reg.sock", NULL);
        plugin->desired_count =
            metric_series(metrics, METRIC_KUBELET_PLUGINS, job, socket, desired_state);
        plugin->actual_count =
            metric_series(metrics, METRIC_KUBELET_PLUGINS, job, socket, actual_state);
    }
    sim_series_add(plugin->desired_count, plugin->desired != 0);
    sim_series_add(plugin->actual_count, plugin->actual != 0);
}

/* MET-98: before a scrape. */
void
plugin_manager_measure(const Kubelet *self)
{
    for (unsigned i = 0; i < self->plugin_manager->n_plugins; i++)
        count_plugin(self, &self->plugin_manager->plugins[i]);
}
