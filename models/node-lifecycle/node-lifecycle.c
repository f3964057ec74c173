/* SPDX-License-Identifier: GPL-3.0-or-later */
/* pkg/controller/nodelifecycle/node_lifecycle_controller.go. After the grace period the conditions
 * of a silent node are Unknown, and it takes no more pods; a pass later its pods have to leave it,
 * at a rate that depends on the share of bad nodes in its zone. */
#include "node-lifecycle.h"

#include "models/cluster/cluster.h"
#include "models/cluster/kube-controller-manager.h"
#include "models/plan/plan.h"
#include "node-taints.h"
#include "rules.h"
#include "sim/ticker.h"
#include "sim/token-bucket.h"

#define TAINT_LOOP (100 * SIM_MS)      /* NL-11 */
#define MANY_UNHEALTHY 2               /* NL-34: more than these */
#define GRACE_OF_OLD (40 * SIM_SECOND) /* NL-5: the flag's default before 1.32 */
#define GRACE_OF_NEW (50 * SIM_SECOND) /* ... and since */
#define LABEL_EXCLUDED "node.kubernetes.io/exclude-disruption" /* NL-34 */

typedef struct {
    unsigned n_ready, n_not_ready; /* nodes with LABEL_EXCLUDED do not count */
    ZoneState state;
    double rate;
    gboolean has_new_rate; /* in this pass */
    SimTokenBucket bucket;
} NodeLifecycleZone;

typedef struct NodeLifecycle NodeLifecycle;

/* A node that is silent, not ready or tainted. */
typedef struct {
    NodeLifecycle *owner;
    ObjectKey *key;
    SimTime probed_at;  /* TIME_UNSET: its heartbeats come */
    gboolean is_marked; /* a plan for it is under way */
    SimEventId taint;   /* when the zone's queue reaches it; 0: it is not queued */
} NodeHealth;

struct NodeLifecycle {
    Component base;
    Informer *nodes, *pods;
    InformerIndex *pods_by_node;
    GHashTable *health; /* ObjectKey of a node -> NodeHealth */
    GHashTable *zones;  /* interned name -> Zone */
    Workers *taint_workers;
    SimTicker *monitor;
    SimTime phase;       /* the first pass */
    SimTime taint_phase; /* the first pass of the tainting loop */
    unsigned n_of_pass;  /* plans that the present pass waits for */
    gboolean pass_is_long;
    gboolean all_full;
    GHashTable *registered; /* ObjectKeys of nodes with an Event that they registered */
    GPtrArray *gone;        /* of Object (owned): nodes that went since the last pass */
};

/* ---- What is known of a node ---- */

/* NL-21: the pass that saw the last renewal: this one, or an idle one before it. */
static SimTime
probe_of(const NodeLifecycle *self, const char *node)
{
    SimTime now = sim_now(self->base.sim);
    SimTime passed = now - cluster_last_renewal(self->base.cluster, node);
    SimTime step = sim_ticker_step(self->monitor);

    return MAX(now - passed / step * step, self->phase);
}

static gboolean
is_silent(const NodeLifecycle *self, const ObjectKey *key)
{
    return cluster_last_renewal(self->base.cluster, key->name) < sim_now(self->base.sim);
}

static gboolean
node_is_bad(const Node *node)
{
    return node->ready.status == CONDITION_FALSE || node->ready.status == CONDITION_UNKNOWN;
}

static gboolean
has_no_execute(const Node *node)
{
    return taints_find(node->taints, TAINT_NOT_READY, TAINT_NO_EXECUTE) != NULL ||
           taints_find(node->taints, TAINT_UNREACHABLE, TAINT_NO_EXECUTE) != NULL;
}

static WantedTaints
wanted_taints(const NodeLifecycle *self, const Node *node, TaintEffect effect)
{
    WantedTaints wanted = {
        .effect = effect, .now = sim_now(self->base.sim), .strings = self->base.strings};

    if (node->ready.status == CONDITION_FALSE)
        wanted.keys |= MANAGED_NOT_READY;
    if (node->ready.status == CONDITION_UNKNOWN)
        wanted.keys |= MANAGED_UNREACHABLE;
    if (effect == TAINT_NO_EXECUTE)
        return wanted;
    for (unsigned i = 0; i < N_NODE_TROUBLES; i++)
        if (node->troubles[i].status == CONDITION_TRUE)
            wanted.keys |= MANAGED_TROUBLE << i;
    if (node->unschedulable)
        wanted.keys |= MANAGED_UNSCHEDULABLE;
    return wanted;
}

/* ---- Plans ---- */

typedef struct {
    const char *reason, *message;
    SimTime now;
} Edit;

static Edit *
new_edit(const NodeLifecycle *self, Plan *plan, const char *reason, const char *message)
{
    Edit *edit = plan_new_arg(plan, Edit);

    *edit = (Edit){strings_intern(self->base.strings, reason),
                   strings_intern(self->base.strings, message), plan_now(plan)};
    return edit;
}

/* Ready and the other conditions that the kubelet reports. A node that never posted them gets all
 * of them now. */
static gboolean
edit_unknown(Object *object, const void *arg)
{
    const Edit *edit = arg;
    Node *node = NODE(object);
    gboolean never_posted = node->ready.status == CONDITION_ABSENT;
    const PodCondition unknown = {
        .reason = edit->reason,
        .message = edit->message,
        .changed_at = edit->now,
        .status = CONDITION_UNKNOWN,
    };

    node->ready = unknown;
    for (unsigned i = 0; i < N_NODE_PRESSURES; i++)
        if (never_posted || node->troubles[i].status != CONDITION_ABSENT)
            node->troubles[i] = unknown;
    return TRUE;
}

static gboolean
edit_pod_not_ready(Object *object, const void *arg)
{
    const Edit *edit = arg;
    Pod *pod = POD(object);

    if (pod->ready.status != CONDITION_TRUE)
        return FALSE;
    pod->ready.status = CONDITION_FALSE;
    pod->ready.changed_at = edit->now;
    return TRUE;
}

static void
add_pods_not_ready(const NodeLifecycle *self, Plan *plan, const char *node_name)
{
    unsigned n;
    const Object *const *pods = informer_index_get(self->pods_by_node, node_name, &n);
    g_autofree const Object **order = g_memdup2(pods, n * sizeof pods[0]);
    const Edit *edit = new_edit(self, plan, "", "");

    plan_because(plan, "NL-23");
    sim_shuffle((void **)order, n, object_place,
                sim_stream(self->base.sim, "node-lifecycle/order of pods"),
                (uint64_t)plan_now(plan)); /* CGO-8 */
    for (unsigned i = 0; i < n; i++) {
        if (!pod_is_ready(POD_CONST(order[i])))
            continue;
        plan_update_status(plan, order[i], edit_pod_not_ready, edit, PLAN_GO_ON);
        plan_event(plan, order[i], "Warning", "NodeNotReady", "Node is not ready");
    }
}

/* NL-22, NL-23. */
static void
decide_unknown(const void *data, Plan *plan)
{
    const NodeLifecycle *self = data;
    const Object *node = informer_get(self->nodes, plan_key(plan));

    if (node == NULL)
        return;
    plan_because(plan, "NL-22");
    if (((const Node *)node)->ready.status == CONDITION_ABSENT) { /* NL-6 */
        plan_update_status(
            plan, node, edit_unknown,
            new_edit(self, plan, "NodeStatusNeverUpdated", "Kubelet never posted node status."),
            PLAN_STOP);
        return;
    }
    plan_update_status(
        plan, node, edit_unknown,
        new_edit(self, plan, "NodeStatusUnknown", "Kubelet stopped posting node status."),
        PLAN_STOP);
    plan_event(plan, node, "Normal", "NodeNotReady", "Node %s status is now: NodeNotReady",
               object_name(node));
    add_pods_not_ready(self, plan, object_name(node));
}

static void
node_done(void *data, Plan *plan, PlanEnd end, const char *message)
{
    NodeLifecycle *self = data;
    NodeHealth *health = g_hash_table_lookup(self->health, plan_key(plan));

    (void)end, (void)message;
    if (health != NULL)
        health->is_marked = FALSE;
    sim_ticker_wake(self->monitor); /* what failed is tried again in the next pass */
    if (plan_done_operation(plan) != NULL && --self->n_of_pass == 0 && self->pass_is_long) {
        self->pass_is_long = FALSE;
        sim_ticker_end_pass(self->monitor, TRUE);
    }
}

/* NL-31, NL-32. */
static void
decide_no_execute(const void *data, Plan *plan)
{
    const NodeLifecycle *self = data;
    const Object *object = informer_get(self->nodes, plan_key(plan));
    const Node *node = (const Node *)object;

    if (object == NULL)
        return;
    WantedTaints *wanted = plan_new_arg(plan, WantedTaints);
    *wanted = wanted_taints(self, node, TAINT_NO_EXECUTE);
    plan_because(plan, node_is_bad(node) ? "NL-31" : "NL-32");
    if (!node_has_wanted_taints(node, wanted))
        plan_patch(plan, plan_key(plan), node_set_wanted_taints, wanted, PLAN_STOP);
}

/* NL-34: all zones are dead; more likely the control plane is cut off. */
static void
decide_no_taints(const void *data, Plan *plan)
{
    const NodeLifecycle *self = data;
    WantedTaints *wanted = plan_new_arg(plan, WantedTaints);

    plan_because(plan, "NL-35");
    *wanted = (WantedTaints){
        .effect = TAINT_NO_EXECUTE, .now = plan_now(plan), .strings = self->base.strings};
    plan_patch(plan, plan_key(plan), node_set_wanted_taints, wanted, PLAN_STOP);
}

/* NL-25: at once, by watch. */
static void
decide_no_schedule(const void *data, Plan *plan)
{
    const NodeLifecycle *self = data;
    const Object *object = informer_get(self->nodes, plan_key(plan));

    if (object == NULL || object_is_deleted(object))
        return;
    WantedTaints *wanted = plan_new_arg(plan, WantedTaints);
    *wanted = wanted_taints(self, (const Node *)object, TAINT_NO_SCHEDULE);
    plan_because(plan, "NL-25");
    if (!node_has_wanted_taints((const Node *)object, wanted))
        plan_patch(plan, plan_key(plan), node_set_wanted_taints, wanted, PLAN_STOP);
}

/* ---- Zones: NL-33 to NL-35 ---- */

static NodeLifecycleZone *
zone_of(const NodeLifecycle *self, const Object *node)
{
    const char *region = object_label(node, "topology.kubernetes.io/region");
    const char *zone = object_label(node, "topology.kubernetes.io/zone");
    const char *name = strings_internf(self->base.strings, "%s:%s", region == NULL ? "" : region,
                                       zone == NULL ? "" : zone);
    const KubeControllerManagerOptions *options = self->base.options;
    NodeLifecycleZone *found = g_hash_table_lookup(self->zones, name);

    if (found == NULL) {
        found = g_new0(NodeLifecycleZone, 1);
        found->rate = options->node_eviction_rate;
        sim_token_bucket_init(&found->bucket, found->rate, 1);
        g_hash_table_insert(self->zones, (void *)name, found);
    }
    return found;
}

static ZoneState
zone_state(const KubeControllerManagerOptions *options, const NodeLifecycleZone *zone)
{
    unsigned n = zone->n_ready + zone->n_not_ready;
    uint32_t facts = 0;

    facts |= zone->n_ready > 0 ? ZONE_HAS_READY : 0;
    facts |= zone->n_not_ready > 0 ? ZONE_HAS_BAD : 0;
    facts |= zone->n_not_ready > MANY_UNHEALTHY ? ZONE_HAS_MANY_BAD : 0;
    if ((double)zone->n_not_ready >= (double)n * options->unhealthy_zone_threshold)
        facts |= ZONE_IS_OVER;
    return (ZoneState)rules_find(&node_zone_rules, facts, NULL)->then;
}

/* Returns: nodes a second; 0: none */
static double
zone_rate(const KubeControllerManagerOptions *options,
          const NodeLifecycleZone *zone,
          gboolean all_full)
{
    uint32_t facts = all_full ? RATE_ALL_DEAD : 0;

    facts |= zone->state == ZONE_PARTIAL ? RATE_PARTIAL : 0;
    if (zone->n_ready + zone->n_not_ready > (unsigned)options->large_cluster_size_threshold)
        facts |= RATE_LARGE;
    switch ((RateAnswer)rules_find(&node_rate_rules, facts, NULL)->then) {
    case RATE_NONE:
        return 0;
    case RATE_PRIMARY:
        return options->node_eviction_rate;
    case RATE_SECONDARY:
        return options->secondary_node_eviction_rate;
    }
    g_assert_not_reached();
}

static void
zone_set_rate(NodeLifecycleZone *zone, double rate)
{
    if (!(rate > zone->rate) && !(rate < zone->rate))
        return;
    if (rate > 0)
        sim_token_bucket_init(&zone->bucket, rate, 1);
    zone->rate = rate;
    zone->has_new_rate = TRUE;
}

static void
count_zones(NodeLifecycle *self)
{
    InformerIter nodes;
    const Object *node;

    informer_iter_init(&nodes, self->nodes);
    while ((node = informer_iter_next(&nodes)) != NULL) {
        NodeLifecycleZone *zone = zone_of(self, node);
        zone->n_ready = zone->n_not_ready = 0;
        zone->has_new_rate = FALSE;
    }
    informer_iter_init(&nodes, self->nodes);
    while ((node = informer_iter_next(&nodes)) != NULL) {
        NodeLifecycleZone *zone = zone_of(self, node);
        if (object_label(node, LABEL_EXCLUDED) != NULL)
            continue;
        zone->n_not_ready += node_is_bad((const Node *)node);
        zone->n_ready += !node_is_bad((const Node *)node);
    }
}

/* Returns: whether all zones are dead */
static gboolean
judge_zones(NodeLifecycle *self)
{
    InformerIter nodes;
    const Object *node;
    gboolean all_full = informer_count(self->nodes) > 0;

    count_zones(self);
    informer_iter_init(&nodes, self->nodes);
    while ((node = informer_iter_next(&nodes)) != NULL) {
        NodeLifecycleZone *zone = zone_of(self, node);
        zone->state = zone_state(self->base.options, zone);
        all_full = all_full && zone->state == ZONE_FULL;
    }
    informer_iter_init(&nodes, self->nodes);
    while ((node = informer_iter_next(&nodes)) != NULL) {
        NodeLifecycleZone *zone = zone_of(self, node);
        zone_set_rate(zone, zone_rate(self->base.options, zone, all_full));
    }
    return all_full;
}

/* ---- The monitor's pass ---- */

static void
health_free(void *data)
{
    NodeHealth *health = data;

    sim_cancel(health->owner->base.sim, health->taint);
    g_free(health);
}

static NodeHealth *
health_of(NodeLifecycle *self, ObjectKey *key)
{
    NodeHealth *health = g_hash_table_lookup(self->health, key);

    if (health == NULL) {
        health = g_new0(NodeHealth, 1);
        *health = (NodeHealth){.owner = self, .key = key, .probed_at = TIME_UNSET};
        g_hash_table_insert(self->health, key, health);
    }
    return health;
}

/* @pass: the monitor, if its pass waits for the plan; else NULL */
static void
node_lifecycle_mark(NodeLifecycle *self, NodeHealth *health, PlanDecide decide, SimTicker *pass)
{
    health->is_marked = TRUE;
    self->n_of_pass += pass != NULL;
    plan_start(&(PlanStart){
        .component = &self->base,
        .decide = decide,
        .key = health->key,
        .operation = pass,
        .done = node_done,
    });
}

static void
taint_fire(Sim *sim, void *data)
{
    NodeHealth *health = data;
    NodeLifecycle *self = health->owner;
    const Object *node = informer_get(self->nodes, health->key);

    (void)sim;
    health->taint = 0;
    if (node != NULL && node_is_bad((const Node *)node) && !health->is_marked)
        node_lifecycle_mark(self, health, decide_no_execute, NULL);
}

static const SimEventType taint_event = {.name = "node-lifecycle/taint", .fire = taint_fire};

/* NL-11. Returns: the first pass of the tainting loop at @from or later */
static SimTime
taint_tick(const NodeLifecycle *self, SimTime from)
{
    SimTime step = TAINT_LOOP + process_timing(self->base.process)->loop_pass;

    return from + (step - 1) - (from - self->taint_phase + step - 1) % step;
}

/* NL-30, NL-31: the loop takes it from the zone's queue when there is a token. */
static void
queue_taint(NodeLifecycle *self, NodeHealth *health, const Object *node)
{
    NodeLifecycleZone *zone = zone_of(self, node);
    SimTime now = sim_now(self->base.sim);

    if (zone->has_new_rate) { /* nodes in the queue wait at the new rate */
        sim_cancel(self->base.sim, health->taint);
        health->taint = 0;
    }
    if (zone->rate <= 0 || health->taint != 0)
        return;
    SimTime taken_at = sim_token_bucket_reserve(&zone->bucket, taint_tick(self, now));
    health->taint =
        sim_at(self->base.sim, taint_tick(self, taken_at), &taint_event, health, WAIT_POLL);
}

static SimTime
grace_of(const NodeLifecycle *self, const Node *node)
{
    const KubeControllerManagerOptions *options = self->base.options;
    uint32_t facts = 0;

    facts |= node->ready.status == CONDITION_ABSENT ? GRACE_NEVER_POSTED : 0;
    facts |= options->node_monitor_grace_period == GRACE_OF_NEW ? GRACE_BY_DEFAULT : 0;
    switch ((GraceAnswer)rules_find(&node_grace_rules, facts, cluster_release(self->base.cluster))
                ->then) {
    case GRACE_OF_STARTUP:
        return options->node_startup_grace_period;
    case GRACE_OF_MONITOR:
        return options->node_monitor_grace_period;
    case GRACE_BEFORE_1_32:
        return GRACE_OF_OLD;
    }
    g_assert_not_reached();
}

/* The facts that the cache shows; health_facts() has the rest, of nodes that are not well only. */
static uint32_t
seen_facts(const NodeLifecycle *self, const Object *object)
{
    const Node *node = (const Node *)object;
    uint32_t facts = self->all_full ? DEAD : 0;

    facts |= is_silent(self, object->key) ? SILENT : 0;
    facts |= node_is_bad(node) ? BAD : 0;
    facts |= has_no_execute(node) ? TAINTED : 0;
    return facts;
}

static void
note_probe(const NodeLifecycle *self, NodeHealth *health, gboolean is_silent_now)
{
    if (!is_silent_now)
        health->probed_at = TIME_UNSET;
    else if (health->probed_at == TIME_UNSET)
        health->probed_at = probe_of(self, health->key->name);
}

static uint32_t
health_facts(const NodeLifecycle *self, const NodeHealth *health, const Node *node)
{
    WantedTaints wanted = wanted_taints(self, node, TAINT_NO_EXECUTE);
    uint32_t facts = 0;

    facts |= !node_has_wanted_taints(node, &wanted) ? UNSUITED : 0;
    if (health->probed_at == TIME_UNSET || node->ready.status == CONDITION_UNKNOWN)
        return facts;
    facts |= COUNTING;
    facts |= sim_now(self->base.sim) > health->probed_at + grace_of(self, node) ? OVERDUE : 0;
    return facts;
}

/* Returns: whether the next pass has to look again */
static gboolean
look_at_node(NodeLifecycle *self, const Object *object)
{
    uint32_t facts = seen_facts(self, object);
    NodeHealth *health = NULL;

    if (facts & (SILENT | BAD | TAINTED)) {
        health = health_of(self, (ObjectKey *)object->key);
        if (!health->is_marked)
            note_probe(self, health, (facts & SILENT) != 0);
        facts |= health->is_marked ? BUSY : health_facts(self, health, (const Node *)object);
    }
    switch ((NodeAction)rules_find(&node_pass_rules, facts, NULL)->then) {
    case NODE_FORGET:
        g_hash_table_remove(self->health, object->key);
        return FALSE;
    case NODE_REST:
        return FALSE;
    case NODE_LOOK_AGAIN:
        return TRUE;
    case NODE_SET_UNKNOWN:
        node_lifecycle_mark(self, health, decide_unknown, self->monitor);
        return TRUE;
    case NODE_SPARE:
        node_lifecycle_mark(self, health, decide_no_taints, self->monitor);
        return TRUE;
    case NODE_QUEUE_TAINT:
        queue_taint(self, health, object);
        return TRUE;
    case NODE_RETAINT:
        node_lifecycle_mark(self, health, decide_no_execute, self->monitor);
        return TRUE;
    }
    g_assert_not_reached();
}

static void
forget_probes(NodeLifecycle *self)
{
    InformerIter nodes;
    const Object *node;

    informer_iter_init(&nodes, self->nodes);
    while ((node = informer_iter_next(&nodes)) != NULL) {
        NodeHealth *health = g_hash_table_lookup(self->health, node->key);
        if (health != NULL && health->probed_at != TIME_UNSET)
            health->probed_at = sim_now(self->base.sim);
    }
}

/* NL-27: a pass tells of nodes that came and went since the last one. */
static void
node_lifecycle_tell(
    NodeLifecycle *self, const Object *node, const char *reason, const char *what, const char *of)
{
    const char *name = object_name(node);

    event_recorder_record(self->base.events, node, "Normal", reason,
                          strings_internf(self->base.strings,
                                          "Node %s event: %s Node %s %s Controller", name, what,
                                          name, of));
}

/* CGO-8: the lister's store is a map. Returns: (owned): of Node */
static GPtrArray *
nodes_in_order(const NodeLifecycle *self)
{
    SimStream stream = sim_stream(self->base.sim, "node-lifecycle/order of nodes");
    GPtrArray *order = g_ptr_array_new();
    InformerIter nodes;
    const Object *node;

    informer_iter_init(&nodes, self->nodes);
    while ((node = informer_iter_next(&nodes)) != NULL)
        g_ptr_array_add(order, (void *)node);
    sim_shuffle(order->pdata, order->len, object_place, stream, (uint64_t)sim_now(self->base.sim));
    return order;
}

static void
tell_of_nodes(NodeLifecycle *self, const GPtrArray *nodes)
{
    for (unsigned i = 0; i < self->gone->len; i++)
        node_lifecycle_tell(self, self->gone->pdata[i], "RemovingNode", "Removing", "from");
    g_ptr_array_set_size(self->gone, 0);
    if (informer_count(self->nodes) == g_hash_table_size(self->registered))
        return;
    for (unsigned i = 0; i < nodes->len; i++) {
        const Object *node = nodes->pdata[i];
        if (g_hash_table_add(self->registered, (void *)node->key))
            node_lifecycle_tell(self, node, "RegisteredNode", "Registered", "in");
    }
}

/* TIM-55: a pass ends when the nodes that it found bad are marked, and their pods. */
static gboolean
monitor_pass(void *data)
{
    NodeLifecycle *self = data;
    g_autoptr(GPtrArray) nodes = nodes_in_order(self);
    gboolean all_full = judge_zones(self), again = FALSE;

    tell_of_nodes(self, nodes);
    if (self->all_full && !all_full)
        forget_probes(self);
    self->all_full = all_full;
    for (unsigned i = 0; i < nodes->len; i++)
        again |= look_at_node(self, nodes->pdata[i]);
    if (self->n_of_pass > 0) {
        self->pass_is_long = TRUE;
        sim_ticker_begin_long_pass(self->monitor);
    }
    return again || sim_is_polling(self->base.sim);
}

/* ---- Events ---- */

static void
kubelet_changed(void *data, const char *node)
{
    NodeLifecycle *self = data;

    (void)node;
    sim_ticker_wake(self->monitor);
}

/* Nodes that exist as the cluster starts were registered long ago. */
static void
node_came(NodeLifecycle *self, const Object *node)
{
    if (!self->base.started_late && sim_now(self->base.sim) == 0)
        g_hash_table_add(self->registered, (void *)node->key);
    else
        sim_ticker_wake(self->monitor);
}

static void
node_event(void *data, const Object *before, const Object *after)
{
    NodeLifecycle *self = data;

    if (after == NULL) {
        g_hash_table_remove(self->health, before->key);
        if (g_hash_table_remove(self->registered, before->key))
            g_ptr_array_add(self->gone, object_ref(before));
        sim_ticker_wake(self->monitor);
        return;
    }
    if (before == NULL)
        node_came(self, after);
    WantedTaints wanted = wanted_taints(self, (const Node *)after, TAINT_NO_SCHEDULE);
    if (!node_has_wanted_taints((const Node *)after, &wanted))
        workers_add(self->taint_workers, after->key);
    if (node_is_bad((const Node *)after) || has_no_execute((const Node *)after))
        sim_ticker_wake(self->monitor);
}

static SimTime
monitor_phase(const void *data, const char *name, SimTime period)
{
    const NodeLifecycle *self = data;
    SimTime now = sim_now(self->base.sim);

    return (SimTime)sim_random_below(sim_stream(self->base.sim, name), 0, (uint64_t)now,
                                     (uint64_t)period);
}

static void
node_lifecycle_filled(void *data)
{
    NodeLifecycle *self = data;
    SimStream stream = sim_stream(self->base.sim, "node-lifecycle/monitor");
    SimTime now = sim_now(self->base.sim);

    self->phase = sim_ticker_next(self->monitor);
    self->taint_phase = now - (SimTime)sim_random_below(stream, 1, (uint64_t)now, TAINT_LOOP);
    cluster_watch_kubelets(self->base.cluster, kubelet_changed, self);
    if (self->base.started_late) /* nodes may have died meanwhile */
        sim_ticker_wake(self->monitor);
}

static void
node_lifecycle_clear(void *data)
{
    NodeLifecycle *self = data;

    cluster_unwatch_kubelets(self->base.cluster, self);
}

#define SELF NodeLifecycle
static const ComponentPart parts[] = {
    HAS_TABLE(health, health_free),
    HAS_TABLE(registered, NULL),
    HAS_TABLE(zones, g_free),
    HAS_ARRAY(gone, object_unref),
    HAS_INFORMER(nodes, KIND_NODE, .changed = node_event),
    HAS_INFORMER(pods, KIND_POD, WITH_INDEX(pods_by_node, index_pods_by_node)),
    HAS_WORKERS(taint_workers,
                "node_lifecycle_controller_node",
                decide_no_schedule,
                .n_workers = 8), /* NL-12 */
    HAS_TICKER(monitor,
               "node-lifecycle/monitor",
               monitor_pass,
               .period_flag = KCM_FLAG(node_monitor_period),
               .phase = monitor_phase),
};

const ModelClass node_lifecycle_class = {
    KCM_MODEL("node-controller"),
    .event_source = "node-controller",
    .event_style = EVENTS_CORE,
    .rule_tables =
        RULE_TABLES(&node_pass_rules, &node_grace_rules, &node_zone_rules, &node_rate_rules),
    PARTS(parts),
    .filled = node_lifecycle_filled,
    .clear = node_lifecycle_clear,
};
