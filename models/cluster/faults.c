/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a scenario does to processes, the API server and machines: crash, hang, slow, cut off, lose
 * leadership. Each fault tells the processes that it strikes, at its instant; what follows from it
 * is decided by the models. A single replica skips the leader election until a fault makes it
 * matter. */
#include "cluster-private.h"
#include "models/csi/modelled/modelled-driver.h"
#include "models/plan/plan.h"

#define RENEW_INTERVAL (10 * SIM_SECOND) /* NL-2: of a kubelet's lease */
#define RENEW_DEADLINE (10 * SIM_SECOND) /* CGO-62: --leader-elect-renew-deadline */

static Instance *
instance_at(const Cluster *self, unsigned i)
{
    return self->instances->pdata[i];
}

/* ---- Processes ---- */

static gboolean
set_state(Cluster *self, const char *process, const char *instance, ProcessState state)
{
    Instance *found = cluster_instance(self, process, instance);

    if (found == NULL)
        return FALSE;
    if (found->process == NULL)
        return TRUE;
    if (state != PROCESS_RUNS)
        instance_fall_silent(found);
    process_set_state(found->process, state);
    if (state == PROCESS_RUNS)
        instance_speak_again(found, 0);
    return TRUE;
}

gboolean
cluster_hang(Cluster *self, const char *process, const char *instance)
{
    return set_state(self, process, instance, PROCESS_STOPPED);
}

gboolean
cluster_wake(Cluster *self, const char *process, const char *instance)
{
    return set_state(self, process, instance, PROCESS_RUNS);
}

gboolean
cluster_slow(Cluster *self, const char *process, const char *instance, double factor)
{
    const Instance *found = cluster_instance(self, process, instance);

    if (found != NULL && found->process != NULL)
        process_set_slowness(found->process, factor);
    return found != NULL;
}

gboolean
cluster_lose_leadership(Cluster *self, const char *process, const char *instance)
{
    Instance *found = cluster_instance(self, process, instance);
    LeaderElector *elector = found == NULL ? NULL : found->elector;

    for (unsigned i = 0; found != NULL && elector == NULL && i < found->models->len; i++)
        elector = ((const Component *)found->models->pdata[i])->elector;
    if (elector == NULL || !leader_elector_leads(elector))
        return FALSE;
    instance_exit(found);
    return TRUE;
}

/* ---- The API server ---- */

/* Processes that always elect a leader in real clusters. Here a single replica skips the election
 * until a fault. */
static gboolean
lives_by_lease(const Instance *self)
{
    return self->class->scope == PER_CLUSTER && self->class->election != NULL &&
           self->class->election->always && !instance_elects(self);
}

static void
lease_is_lost(Sim *sim, void *data)
{
    Cluster *self = data;

    if (!api_server_is_down(self->api) || sim_now(sim) - self->api_down_since < RENEW_DEADLINE)
        return;
    for (unsigned i = 0; i < self->instances->len; i++) {
        Instance *instance = instance_at(self, i);
        if (lives_by_lease(instance) && instance->process != NULL) {
            instance_kill(instance);
            instance->waits_for_api = TRUE;
        }
    }
}

static const SimEventType lease_lost_event = {.name = "cluster/lone leaders end",
                                              .fire = lease_is_lost};

/* A kubelet tries to renew every 10 s (NL-2). */
static SimTime
first_renewal(const Cluster *self, const Instance *kubelet)
{
    SimStream stream = sim_stream(self->options.sim, "kubelet/lease after an outage");

    return (SimTime)sim_random_below(stream, sim_hash_string(kubelet->name),
                                     (uint64_t)sim_now(self->options.sim), RENEW_INTERVAL);
}

void
cluster_set_api_down(Cluster *self, gboolean is_down)
{
    if (is_down == api_server_is_down(self->api))
        return;
    api_server_set_down(self->api, is_down);
    if (is_down) {
        self->api_down_since = sim_now(self->options.sim);
        sim_after(self->options.sim, RENEW_DEADLINE, &lease_lost_event, self, WAIT_STARTUP);
    }
    for (unsigned i = 0; i < self->instances->len; i++) {
        Instance *instance = instance_at(self, i);
        if (is_down && instance->class->renews_lease)
            instance_fall_silent(instance);
        else if (!is_down && instance->waits_for_api && !instance->is_off)
            instance_start_again(instance);
        else if (!is_down && instance->class->renews_lease)
            instance_speak_again(instance, first_renewal(self, instance));
        if (!is_down)
            instance->waits_for_api = FALSE;
    }
}

/* ---- Machines ---- */

static gboolean
is_on_node(const Instance *self, const char *node)
{
    return g_strcmp0(self->node, node) == 0 || g_strcmp0(self->pod_node, node) == 0 ||
           (self->class->scope == PER_NODE && g_strcmp0(self->instance, node) == 0);
}

/* Calls @act for each process on the node. Returns: whether there is one */
static gboolean
each_on_node(Cluster *self, const char *node, void (*act)(Instance *instance))
{
    gboolean found = FALSE;

    for (unsigned i = 0; i < self->instances->len; i++) {
        if (!is_on_node(instance_at(self, i), node))
            continue;
        act(instance_at(self, i));
        found = TRUE;
    }
    return found;
}

static void
cut_power(Instance *self)
{
    instance_kill(self);
    self->is_off = self->rebooted = TRUE;
}

static void
restore_power(Instance *self)
{
    if (!self->is_off)
        return;
    self->is_off = FALSE;
    instance_start_again(self);
}

gboolean
cluster_power_off(Cluster *self, const char *node)
{
    driver_pods_lose_power(self, node);
    gboolean found = each_on_node(self, node, cut_power);

    for (unsigned i = 0; found && i < cluster_n_drivers(self); i++) {
        if (!cluster_plugin_pod(self, i, node).in_pod)
            cluster_set_registrar(self, i, node, REGISTRAR_DEAD); /* its socket stays on the disk */
        CsiModelledDriver *driver = csi_modelled_driver_cast(cluster_driver(self, i));
        if (driver == NULL)
            continue;
        csi_modelled_driver_cut_calls(driver, node);
        csi_modelled_driver_reboot_node(driver, node);
    }
    return found;
}

gboolean
cluster_power_on(Cluster *self, const char *node)
{
    return each_on_node(self, node, restore_power);
}

gboolean
cluster_shut_down(Cluster *self, const char *node)
{
    const Instance *agent = cluster_node_agent(self, node);

    if (agent != NULL &&
        instance_tell_machine_event(agent, &(MachineEvent){.what = MACHINE_SHUTS_DOWN}))
        return TRUE;
    return cluster_power_off(self, node);
}

typedef struct {
    Cluster *cluster;
    const char *node;
} FaultsMachine;

/* Deferred: the kubelet's own code is still running. */
static void
machine_stops(Sim *sim, void *data)
{
    const FaultsMachine *machine = data;

    (void)sim;
    cluster_power_off(machine->cluster, machine->node);
    g_free(data);
}

static const SimEventType stop_event = {
    .name = "cluster/machine stops", .fire = machine_stops, .free_data = g_free};

void
cluster_machine_may_stop(Cluster *self, const char *node)
{
    FaultsMachine *machine = g_new(FaultsMachine, 1);

    *machine = (FaultsMachine){self, node};
    sim_after(self->options.sim, 0, &stop_event, machine, WAIT_RUNTIME);
}

void
cluster_set_pressure(Cluster *self, const char *node, NodeTrouble what, gboolean is_short)
{
    Instance *agent = cluster_node_agent(self, node);

    if (agent == NULL)
        return;
    if (is_short)
        agent->pressures |= 1u << what;
    else
        agent->pressures &= ~(1u << what);
    instance_tell_machine_event(agent, &(MachineEvent){.what = MACHINE_PRESSURE_CHANGED});
}

unsigned
cluster_pressures(const Cluster *self, const char *node)
{
    const Instance *agent = cluster_node_agent(self, node);

    return agent == NULL ? 0 : agent->pressures;
}

static void
cut_network(Instance *self)
{
    if (self->process == NULL)
        return;
    instance_fall_silent(self);
    process_set_state(self->process, PROCESS_CUT);
}

static void
mend_network(Instance *self)
{
    if (self->process == NULL)
        return;
    process_set_state(self->process, PROCESS_RUNS);
    instance_speak_again(self, self->class->renews_lease ? first_renewal(self->cluster, self) : 0);
}

gboolean
cluster_cut_off(Cluster *self, const char *node)
{
    return each_on_node(self, node, cut_network);
}

gboolean
cluster_reconnect(Cluster *self, const char *node)
{
    return each_on_node(self, node, mend_network);
}
