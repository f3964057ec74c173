/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The eviction manager (pkg/kubelet/eviction/eviction_manager.go): every 10 s it looks at memory,
 * disk and process ids. A shortage lasts until evictionPressureTransitionPeriod after the last look
 * that saw it. The next round of Node status reports it (NL-25). The model looks only when a look
 * could change something. It evicts pods only where a scenario tells what uses what (EVM-1). */
#include "pressure.h"

#include "eviction.h"

#define LOOK_PERIOD (10 * SIM_SECOND) /* monitoringInterval */

static const SimEventType look_event;

static SimTime
look_step(const Kubelet *self)
{
    return LOOK_PERIOD + process_timing(self->base.process)->loop_pass;
}

/* The last look at @now or before. Before the first look: one period before it. */
static SimTime
last_look(const Kubelet *self, SimTime now)
{
    SimTime phase =
        self->base.started_late ? 0 : kubelet_draw_phase(self, LOOP_EVICTION, LOOK_PERIOD);
    SimTime origin = eviction_origin(self), step = look_step(self);
    SimTime first = origin == TIME_UNSET ? self->born_at + phase : origin;

    return now < first ? first - step : first + (now - first) / step * step;
}

static void
pressure_look_at(Kubelet *self, SimTime at)
{
    sim_cancel(self->base.sim, self->pressure->event);
    self->pressure->event = sim_at(self->base.sim, at, &look_event, self, WAIT_POLL);
}

static void
kubelet_pressure_look(Sim *sim, void *data)
{
    Kubelet *self = data;
    SimTime now = sim_now(sim), next = SIM_TIME_MAX;
    unsigned before = self->pressure->pressures, measured = eviction_look(self);

    self->pressure->event = 0;
    self->pressure->pressures = self->pressure->shortages | measured;
    for (unsigned i = 0; i < N_NODE_PRESSURES; i++) {
        unsigned bit = 1u << i;
        if ((measured & bit) != 0)
            self->pressure->short_until[i] = now;
        SimTime ends_at =
            self->pressure->short_until[i] + self->options->eviction_pressure_transition_period;
        if ((before & ~(self->pressure->shortages | measured) & bit) == 0 || ends_at <= now)
            continue;
        self->pressure->pressures |= bit;
        next = MIN(next, ends_at);
    }
    next = MIN(next, eviction_next(self));
    if (next != SIM_TIME_MAX) /* the first look not before that */
        pressure_look_at(self, last_look(self, next - 1) + look_step(self));
    if (self->pressure->pressures != before)
        kubelet_status_changed(self);
    eviction_act(self);
}

static const SimEventType look_event = {.name = "kubelet/looks at what is left",
                                        .fire = kubelet_pressure_look};

void
pressure_changed(Kubelet *self)
{
    SimTime now = sim_now(self->base.sim), last = last_look(self, now);
    unsigned shortages = cluster_pressures(self->base.cluster, self->base.node_name);

    for (unsigned i = 0; i < N_NODE_PRESSURES; i++)
        if ((self->pressure->shortages & ~shortages & 1u << i) != 0)
            self->pressure->short_until[i] = last;
    self->pressure->shortages = shortages;
    pressure_look(self);
}

void
pressure_look(Kubelet *self)
{
    SimTime now = sim_now(self->base.sim), last = last_look(self, now);

    if (!eviction_is_busy(self))
        pressure_look_at(self, last == now ? now : last + look_step(self));
}

void
pressure_init(Kubelet *self)
{
    self->pressure = g_new0(NodePressure, 1);
}

void
pressure_begin(Kubelet *self)
{
    if (cluster_pressures(self->base.cluster, self->base.node_name) != 0)
        pressure_changed(self);
}

void
pressure_clear(Kubelet *self)
{
    sim_cancel(self->base.sim, self->pressure->event);
    g_free(self->pressure);
}

void
pressure_imported(Kubelet *self, const Node *node)
{
    for (unsigned i = 0; i < N_NODE_PRESSURES; i++) {
        if (node->troubles[i].status != CONDITION_TRUE)
            continue;
        self->pressure->pressures |= 1u << i;
        cluster_set_pressure(self->base.cluster, self->base.node_name, (NodeTrouble)i, TRUE);
    }
}

/* ---- What the Node says of it ---- */

typedef struct {
    const char *reason, *message, *event;
} PressureWords;

/* pkg/kubelet/nodestatus/setters.go; [1]: while it lasts */
static const PressureWords words[N_NODE_PRESSURES][2] = {
    [NODE_MEMORY_PRESSURE] =
        {
                                {"KubeletHasSufficientMemory", "kubelet has sufficient memory available",
             "NodeHasSufficientMemory"},
                                {"KubeletHasInsufficientMemory", "kubelet has insufficient memory available",
             "NodeHasInsufficientMemory"},
                                },
    [NODE_DISK_PRESSURE] =
        {
                                {"KubeletHasNoDiskPressure", "kubelet has no disk pressure", "NodeHasNoDiskPressure"},
                                {"KubeletHasDiskPressure", "kubelet has disk pressure", "NodeHasDiskPressure"},
                                },
    [NODE_PID_PRESSURE] =
        {
                                {"KubeletHasSufficientPID", "kubelet has sufficient PID available",
             "NodeHasSufficientPID"},
                                {"KubeletHasInsufficientPID", "kubelet has insufficient PID available",
             "NodeHasInsufficientPID"},
                                },
};

/* A condition that the Node does not have is not added while all is well. */
static gboolean
is_told_wrong(const Kubelet *self, const Node *node, unsigned which)
{
    uint8_t status = node->troubles[which].status;

    return (self->pressure->pressures & 1u << which) != 0
               ? status != CONDITION_TRUE
               : status == CONDITION_TRUE || status == CONDITION_UNKNOWN;
}

gboolean
pressure_is_told_wrong(const Kubelet *self, const Node *node)
{
    for (unsigned i = 0; i < N_NODE_PRESSURES; i++)
        if (is_told_wrong(self, node, i))
            return TRUE;
    return FALSE;
}

gboolean
pressure_set_conditions(const Kubelet *self, Node *node, const PodCondition *conditions)
{
    gboolean changed = FALSE;

    for (unsigned i = 0; i < N_NODE_PRESSURES; i++) {
        if (!is_told_wrong(self, node, i))
            continue;
        node->troubles[i] = conditions[i];
        changed = TRUE;
    }
    return changed;
}

void
pressure_plan(const Kubelet *self, Plan *plan, const Object *node, PodCondition *conditions)
{
    for (unsigned i = 0; i < N_NODE_PRESSURES; i++) {
        gboolean is_short = (self->pressure->pressures & 1u << i) != 0;
        const PressureWords *told = &words[i][is_short];
        conditions[i] = (PodCondition){.reason = strings_intern(self->base.strings, told->reason),
                                       .message = strings_intern(self->base.strings, told->message),
                                       .changed_at = plan_now(plan),
                                       .status = is_short ? CONDITION_TRUE : CONDITION_FALSE};
        if (node != NULL && is_told_wrong(self, (const Node *)node, i))
            plan_event(plan, node, "Normal", told->event, "Node %s status is now: %s",
                       object_name(node), told->event);
    }
}
