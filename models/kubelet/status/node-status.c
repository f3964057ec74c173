/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The node status loop: every 10 s the kubelet works out its Node's status and patches the Node if
 * it differs (KVM-7, KVM-30). Storage needs volumesInUse, so the loop sleeps while the Node has the
 * right list and the kubelet knows it. Heartbeats are left out (the patch every
 * nodeStatusReportFrequency, the lease every 10 s): they only say that the kubelet lives, and the
 * model knows that. A heartbeat that is left out uses no resource version, whether the loop sleeps
 * or polls. */
#include "node-status.h"

#include "models/kubelet/eviction/pressure.h"
#include "models/kubelet/shutdown.h"
#include "models/kubelet/volume-manager/volume-manager.h"

#define JITTER 0.04
#define SHUTTING_DOWN "node is shutting down"

void
node_status_apply(Kubelet *self, const PlanChange *change)
{
    volume_manager_mark_in_use(self, change->pointer);
    g_clear_pointer(&self->told_in_use, string_list_unref);
}

/* The node controller marks the Node of a silent kubelet (NL-22), and a kubelet marks the Node of a
 * machine that shuts down (NL-91). The next heartbeat takes both back (NL-S6). */
static gboolean
is_ready_told_wrong(const Kubelet *self, const Node *node)
{
    if (self->shutdown->shutting_down)
        return node->ready.status != CONDITION_FALSE;
    return node->ready.status == CONDITION_UNKNOWN ||
           (node->ready.status == CONDITION_FALSE &&
            g_strcmp0(node->ready.message, SHUTTING_DOWN) == 0);
}

static gboolean
is_told_wrong(const Kubelet *self, const Node *node)
{
    return is_ready_told_wrong(self, node) || pressure_is_told_wrong(self, node);
}

typedef struct {
    const Kubelet *kubelet;
    const StringList *volumes_in_use;
    PodCondition ready, pressures[N_NODE_PRESSURES];
} Heartbeat;

static gboolean
set_heartbeat(Object *object, const void *arg)
{
    Node *node = NODE(object);
    const Heartbeat *heartbeat = arg;
    gboolean was_wrong = is_ready_told_wrong(heartbeat->kubelet, node);

    if (was_wrong)
        node->ready = heartbeat->ready;
    was_wrong |= pressure_set_conditions(heartbeat->kubelet, node, heartbeat->pressures);
    if (string_list_equal(node->volumes_in_use, heartbeat->volumes_in_use))
        return was_wrong;
    string_list_unref(node->volumes_in_use);
    node->volumes_in_use =
        heartbeat->volumes_in_use == NULL ? NULL : string_list_ref(heartbeat->volumes_in_use);
    return TRUE;
}

static void
decide_report(const void *data, Plan *plan)
{
    const Kubelet *self = data;
    const StringList *list = plan_operation(plan);
    const Object *node = informer_get(self->nodes, self->node_key);
    gboolean is_pressed = node != NULL && pressure_is_told_wrong(self, (const Node *)node);
    gboolean is_ready = !self->shutdown->shutting_down;
    Strings *strings = self->base.strings;
    Heartbeat *heartbeat = plan_new_arg(plan, Heartbeat);

    heartbeat->kubelet = self;
    heartbeat->volumes_in_use = list;
    heartbeat->ready = (PodCondition){
        .reason = strings_intern(strings, is_ready ? "KubeletReady" : "KubeletNotReady"),
        .message =
            strings_intern(strings, is_ready ? "kubelet is posting ready status" : SHUTTING_DOWN),
        .changed_at = plan_now(plan),
        .status = is_ready ? CONDITION_TRUE : CONDITION_FALSE,
    };
    plan_because(plan, !is_ready ? "NL-91" : is_pressed ? "NL-25" : "KVM-30");
    pressure_plan(self, plan, node, heartbeat->pressures);
    plan_patch_status(plan, self->node_key, set_heartbeat, heartbeat, PLAN_STOP);
    kubelet_add_change(plan, CHANGE_REPORTED_IN_USE, list, 0);
}

static void
report_done(void *data, Plan *plan, PlanEnd end, const char *message)
{
    Kubelet *self = data;

    (void)plan;
    (void)message;
    self->node_status->reporting = FALSE;
    if (end == PLAN_FAILED) /* the next round tries again */
        sim_ticker_wake(self->status_loop);
}

static void
list_free(void *list)
{
    string_list_unref(list);
}

static void
node_status_report(Kubelet *self, StringList *list)
{
    PlanStart start = {
        .component = &self->base,
        .decide = decide_report,
        .key = self->node_key,
        .operation = list,
        .free_operation = list_free,
        .done = report_done,
    };

    if (self->node_status->heartbeats == NULL)
        self->node_status->heartbeats =
            api_client_new(self->base.process, "kubelet-heartbeat", API_CLIENT_UNLIMITED, 0);
    start.client = self->node_status->heartbeats;
    self->node_status->reporting = TRUE;
    plan_start(&start);
}

/* NL-27. */
static void
tell_whether_schedulable(Kubelet *self, const Object *node)
{
    gboolean is_cordoned = ((const Node *)node)->unschedulable != FALSE;
    const char *reason = is_cordoned ? "NodeNotSchedulable" : "NodeSchedulable";

    if (is_cordoned == self->node_status->told_unschedulable)
        return;
    self->node_status->told_unschedulable = is_cordoned;
    event_recorder_record(self->base.events, node, "Normal", reason,
                          strings_internf(self->base.strings, "Node %s status is now: %s",
                                          object_name(node), reason));
}

/* ---- A round of the loop ---- */

static gboolean
says_all(const Kubelet *self, const Node *node, const StringList *in_use)
{
    return string_list_equal(node->volumes_in_use, in_use) && !is_told_wrong(self, node);
}

/* KVM-30. Returns: whether another round must look again */
static gboolean
status_round(void *data)
{
    Kubelet *self = data;
    const Object *node = informer_get(self->nodes, self->node_key);

    if (reconstruct_awaits_node(self) ||
        node == NULL) /* reading the Node wakes the loop (KVM-65) */
        return FALSE;
    if (self->node_status->reporting)
        return TRUE;
    g_autoptr(StringList) in_use = volume_manager_in_use(self);
    volume_manager_note_round(self, self->node_status->label);
    tell_whether_schedulable(self, node);
    if (says_all(self, (const Node *)node, in_use)) {
        volume_manager_mark_in_use(self, in_use);
        g_clear_pointer(&self->told_in_use, string_list_unref);
        return FALSE;
    }
    node_status_report(self, g_steal_pointer(&in_use));
    return TRUE; /* a cache that is still behind then makes the kubelet report again */
}

/* A watch that was broken brings a list that the kubelet did not see before. */
static gboolean
has_another_list(const Kubelet *self, const Object *before, const Node *node)
{
    if (before == NULL || ((const Node *)before)->volumes_in_use == node->volumes_in_use)
        return FALSE;
    g_autoptr(StringList) in_use = volume_manager_in_use(self);
    return !string_list_equal(node->volumes_in_use, in_use);
}

/* The node controller may take a kubelet for dead just as it comes back. A kubelet that starts with
 * the cluster knows the Node's state. */
static void
node_status_node_changed(void *data, const Object *before, const Object *after)
{
    Kubelet *self = data;
    const Node *node = (const Node *)after;

    if (after == NULL)
        return;
    if (before == NULL && !self->base.started_late && sim_now(self->base.sim) == 0) {
        self->node_status->told_unschedulable = node->unschedulable != FALSE;
        self->told_in_use =
            node->volumes_in_use == NULL ? NULL : string_list_ref(node->volumes_in_use);
        pressure_imported(self, node);
    }
    /* KVM-30: the first round takes out what is no longer in use. */
    if (is_told_wrong(self, node) || self->told_in_use != NULL ||
        (node->unschedulable != FALSE) != self->node_status->told_unschedulable ||
        has_another_list(self, before, node))
        sim_ticker_wake(self->status_loop);
}

void
node_status_init(Kubelet *self)
{
    SimTime frequency = self->options->node_status_update_frequency;
    SimTime cost = process_timing(self->base.process)->status_pass;
    SimTime longest = frequency + frequency / 25 + cost;
    SimTickerOptions options = {
        .name = "kubelet/node status",
        .period = frequency,
        .cost = cost,
        .phase = self->base.started_late ? 0 : kubelet_draw_phase(self, 0, longest),
        .jitter = JITTER,
        .stream = sim_stream(self->base.sim, "kubelet/node status"),
        .entity = self->node_key->hash,
        .order = self->base.order,
        .wait = WAIT_POLL,
        .pass = status_round,
        .self = self,
    };

    self->node_status = g_new0(NodeStatus, 1);
    self->status_loop = sim_ticker_new(self->base.sim, &options);
    self->node_status->label = sim_label(self->base.sim, options.name);
    informer_add_handler(self->nodes, node_status_node_changed, self);
    if (self->base
            .started_late) /* the Node's status comes from the time before the restart (KVM-65) */
        sim_ticker_wake(self->status_loop);
}

void
node_status_clear(Kubelet *self)
{
    sim_ticker_free(self->status_loop);
    api_client_free(self->node_status->heartbeats);
    g_clear_pointer(&self->told_in_use, string_list_unref);
    g_free(self->node_status);
}
