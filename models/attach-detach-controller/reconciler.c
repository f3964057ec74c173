/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The loop that compares desired with actual state (ADC-39 to ADC-49): detaches first, then
 * attaches, then the reports in Nodes. Two rule tables judge a pair of volume and node; a detach
 * also asks whether the node still uses the volume, for how long it has been wanted, and whether
 * the node is healthy or out of service. A pass looks only at pairs that have changed, in the drawn
 * order of Kubernetes' maps (ADC-71); with polling it looks at all, and tests compare both.
 *
 * Invariant: a volume for one node is attached elsewhere only after it is surely detached. */
#include "attach-detach-controller.h"
#include "controller.h"
#include "models/cluster/cluster.h"

#include "models/attach-detach-controller/attach-detach-test.h"
#include "sim/random.h"

#include <string.h>

#define MAX_WAIT_FOR_UNMOUNT (6 * SIM_MINUTE) /* ADC-1 */
#define TAINT_OUT_OF_SERVICE "node.kubernetes.io/out-of-service"

/* ---- Detach ---- */

static void decide_detaches(const void *data, Plan *plan);

/* ADC-45, ADC-46: the patch of the node has succeeded, or failed. */
static void
decide_after_report(const void *data, Plan *plan)
{
    const AttachDetachController *self = data;
    const AttachPass *pass = &self->pass;
    ApiCode code = plan_code(plan, plan_last_step(plan));

    if (code == API_OK || code == API_NOT_FOUND) {
        adc_plan_detach_operation(self, plan, pass->pair, pass->reason);
    } else {
        plan_because(plan, "ADC-45");
        plan_change(plan, &(PlanChange){.what = CHANGE_NODE_OUTDATED, .pointer = pass->pair->node});
        plan_change(plan, &(PlanChange){.what = CHANGE_REPORT_AGAIN, .pointer = pass->pair});
    }
    plan_then_anew(plan, decide_detaches);
}

gboolean
node_is_out_of_service(const AttachDetachController *self, const Node *node)
{
    return taints_find(node->taints, TAINT_OUT_OF_SERVICE, -1) != NULL &&
           release_has_gate(cluster_release(self->base.cluster), "NodeOutOfServiceVolumeDetach");
}

/* The detach loop: a pair that is not wanted, and attached or uncertain. */
enum {
    BUSY = 1 << 0,    /* an operation runs, or a detach is in its back-off (ADC-40) */
    USED = 1 << 1,    /* the Node says so, or has not said anything yet */
    RUNS = 1 << 2,    /* the six minutes are not over (ADC-42) */
    FORCED = 1 << 3,  /* they are over, and a flag lets that force a detach (ADC-2) */
    HEALTHY = 1 << 4, /* the Node is there and ready */
    RETIRED = 1 << 5, /* it has the taint out-of-service */
    DETACH_FACTS_END = 1 << 6,
};

typedef enum {
    DETACH_NOT_NOW,
    DETACH_LEAVE,  /* until something changes */
    DETACH_WAIT,   /* until the six minutes are over */
    DETACH_ASKING, /* the Node is asked once more: DETACH_IF_SAFE */
    DETACH_LATE,   /* not asked: DETACH_TIMED_OUT */
    DETACH_GONE,   /* not asked: DETACH_OUT_OF_SERVICE */
} DetachAction;

/* The detach half of reconcile() in Kubernetes' reconciler.go. On a healthy node the six minutes
 * force no detach of a volume in use. But once they are over and the volume is no longer in use, it
 * is detached without a last look at the Node (ADC-46.2). Columns: rule, all of these hold, none of
 * these, then. */
static const Rule detach_table[] = {
    {"ADC-40",   BUSY,                              0,                              DETACH_NOT_NOW},
    {"ADC-46.1", 0,                                 BUSY | USED | FORCED | RETIRED, DETACH_ASKING },
    {"ADC-46.2", FORCED,                            BUSY | USED,                    DETACH_LATE   },
    {"ADC-43.1", USED | FORCED,                     BUSY | HEALTHY,                 DETACH_LATE   },
    {"ADC-43.2", USED | FORCED | HEALTHY | RETIRED, BUSY,                           DETACH_LATE   },
    {"ADC-43.3", RETIRED,                           BUSY | FORCED,                  DETACH_GONE   },
    {"ADC-44.1", USED | RUNS,                       BUSY | RETIRED,                 DETACH_WAIT   },
    {"ADC-44.2", USED,                              BUSY | RETIRED | RUNS | FORCED, DETACH_LEAVE  },
    {"ADC-44.3", USED | FORCED | HEALTHY,           BUSY | RETIRED,                 DETACH_LEAVE  },
};

static const RuleBound detach_bounds[] = {
    {.given = FORCED, .none = RUNS},
};

const RuleTable adc_detach_rules =
    RULE_TABLE("detach", DETACH_FACTS_END, detach_table, RULE_BOUNDS(detach_bounds));

/* @asked_at: when the detach was first wanted. */
static uint32_t
detach_facts(const AttachDetachController *self,
             const AttachPair *pair,
             SimTime asked_at,
             SimTime now)
{
    const KubeControllerManagerOptions *options = self->base.options;
    uint32_t facts = 0;

    if (operations_may_start(self->operations, adc_detach_key(pair), adc_detach_kind) !=
        OPERATION_STARTED)
        return BUSY;
    const Node *node = NODE(informer_get(
        self->nodes, objects_key(self->base.objects, KIND_NODE, NULL, pair->node->name)));
    facts |= adc_is_in_use(pair) ? USED : 0;
    if (now - asked_at <= MAX_WAIT_FOR_UNMOUNT)
        facts |= RUNS;
    else if (!options->disable_force_detach_on_timeout)
        facts |= FORCED;
    facts |= node != NULL && node->ready.status == CONDITION_TRUE ? HEALTHY : 0;
    facts |= node != NULL && node_is_out_of_service(self, node) ? RETIRED : 0;
    return facts;
}

/* ADC-45: takes the volume off the list of attached volumes in the Node's status, then detaches it.
 * Returns: as plan_pair_detach() */
static gboolean
plan_told_detach(const AttachDetachController *self,
                 Plan *plan,
                 AttachPair *pair,
                 DetachReason reason)
{
    if (!string_list_has_interned(pair->node->report, pair->volume->name) &&
        !pair->node->needs_update) {
        adc_plan_detach_operation(self, plan, pair, reason);
        if (pair->volume->pairs->next == NULL) /* no other node waits for it */
            return FALSE;
        plan_change(plan, &(PlanChange){.what = CHANGE_LOOKED_AT, .pointer = pair});
        plan_then_anew(plan, decide_detaches);
        return TRUE;
    }
    plan_because(plan, "ADC-45");
    plan_change(plan,
                &(PlanChange){.what = CHANGE_TELL_NODE, .pointer = pair, .number = (int)reason});
    adc_plan_volume_leaves(self, plan, pair);
    plan_then(plan, decide_after_report);
    return TRUE;
}

/* Plans the detach of one pair, if it may happen now. Returns: whether the loop stops here and goes
 * on by plan_then(): the Node's status is written first, or other nodes have the same volume */
static gboolean
plan_pair_detach(const AttachDetachController *self, Plan *plan, AttachPair *pair)
{
    SimTime now = plan_now(plan);
    SimTime asked_at = pair->detach_requested_at == TIME_UNSET ? now : pair->detach_requested_at;
    const Rule *rule = rules_find(&adc_detach_rules, detach_facts(self, pair, asked_at, now), NULL);

    if (rule->then == DETACH_NOT_NOW)
        return FALSE;
    plan_because(plan, "ADC-42");
    if (pair->detach_requested_at == TIME_UNSET)
        plan_change(plan, &(PlanChange){.what = CHANGE_REQUEST_DETACH, .pointer = pair});
    switch ((DetachAction)rule->then) {
    case DETACH_NOT_NOW:
    case DETACH_LEAVE:
        return FALSE;
    case DETACH_WAIT:
        plan_because(plan, rule->id);
        plan_change(plan, &(PlanChange){.what = CHANGE_RETRY_AT,
                                        .pointer = pair,
                                        .number = asked_at + MAX_WAIT_FOR_UNMOUNT + 1});
        return FALSE;
    case DETACH_ASKING:
        return plan_told_detach(self, plan, pair, DETACH_IF_SAFE);
    case DETACH_LATE:
        return plan_told_detach(self, plan, pair, DETACH_TIMED_OUT);
    case DETACH_GONE:
        return plan_told_detach(self, plan, pair, DETACH_OUT_OF_SERVICE);
    }
    g_assert_not_reached();
}

/* ---- Attach ---- */

/* ADC-53, ADC-24: the volume is attached elsewhere and can't be shared. */
static gboolean
is_held_elsewhere(const AttachPair *pair)
{
    const GSList *link = pair->volume->is_exclusive ? pair->volume->pairs : NULL;

    for (; link != NULL; link = link->next) {
        const AttachPair *other = link->data;
        if (other != pair && other->state == ADC_ATTACHED)
            return TRUE;
    }
    return FALSE;
}

static void
append_name(GString *names, const char *name)
{
    g_string_append_printf(names, "%s%s", names->len == 0 ? "" : ", ", name);
}

/* ADC-54. */
static const char *
multi_attach_text(const AttachDetachController *self,
                  Plan *plan,
                  const AttachPair *pair,
                  const Object *pod)
{
    g_autoptr(GString) names = g_string_new(NULL);
    unsigned n_foreign = 0;

    for (const GSList *link = pair->volume->pairs; link != NULL; link = link->next) {
        const AttachPair *other = link->data;
        if (other == pair || other->state != ADC_ATTACHED)
            continue;
        g_autoptr(GPtrArray) pods = adc_pods_of(self, other);
        for (unsigned i = 0; i < pods->len; i++) {
            const ObjectKey *user = pods->pdata[i];
            if (user->namespace == pod->key->namespace)
                append_name(names, user->name);
            else
                n_foreign++;
        }
    }
    if (names->len == 0 && n_foreign == 0)
        return "Volume is already exclusively attached to one node and can't be attached to "
               "another";
    if (names->len == 0)
        return plan_internf(plan, "Volume is already used by %u pod(s) in different namespaces",
                            n_foreign);
    if (n_foreign == 0)
        return plan_internf(plan, "Volume is already used by pod(s) %s", names->str);
    return plan_internf(plan,
                        "Volume is already used by pod(s) %s and %u pod(s) in different namespaces",
                        names->str, n_foreign);
}

void
adc_plan_multi_attach_error(const AttachDetachController *self, Plan *plan, AttachPair *pair)
{
    if (pair->multi_attach_reported) /* ADC-55 */
        return;
    g_autoptr(GPtrArray) pods = adc_pods_of(self, pair);
    plan_because(plan, "ADC-54");
    for (unsigned i = 0; i < pods->len; i++) {
        const Object *pod = informer_get(self->pods, pods->pdata[i]);
        if (pod != NULL)
            plan_event(plan, pod, "Warning", "FailedAttachVolume",
                       "Multi-Attach error for volume \"%s\" %s", pair->volume->spec->name,
                       multi_attach_text(self, plan, pair, pod));
    }
    plan_change(plan, &(PlanChange){.what = CHANGE_MULTI_ATTACH_TOLD, .pointer = pair});
}

/* The attach loop: a pair that is wanted. */
enum {
    RUNNING = 1 << 0, /* an operation of its key runs */
    DONE = 1 << 1,    /* it is surely attached */
    CLOCK = 1 << 2,   /* a detach was wanted before */
    HELD = 1 << 3,    /* for one node only, and surely attached elsewhere (ADC-53) */
    BACKOFF = 1 << 4,
    ATTACH_FACTS_END = 1 << 5,
};

typedef enum {
    ATTACH_LEAVE,
    ATTACH_STOP_CLOCK,
    ATTACH_TELL_PODS, /* of the multi-attach error, once */
    ATTACH_LATER,     /* when the back-off is over */
    ATTACH_NOW,
} AttachAction;

/* attachDesiredVolumes(). */
static const Rule attach_table[] = {
    {"ADC-49.1", RUNNING,      0,                               ATTACH_LEAVE     },
    {"ADC-49.2", DONE | CLOCK, RUNNING,                         ATTACH_STOP_CLOCK},
    {"ADC-49.2", DONE,         RUNNING | CLOCK,                 ATTACH_LEAVE     },
    {"ADC-49.3", HELD,         RUNNING | DONE,                  ATTACH_TELL_PODS },
    {"ADC-49.4", BACKOFF,      RUNNING | DONE | HELD,           ATTACH_LATER     },
    {"ADC-49.4", 0,            RUNNING | DONE | HELD | BACKOFF, ATTACH_NOW       },
};

const RuleTable adc_attach_rules = RULE_TABLE("attach", ATTACH_FACTS_END, attach_table);

static uint32_t
attach_facts(const AttachDetachController *self, const AttachPair *pair)
{
    OperationAnswer answer =
        operations_may_start(self->operations, adc_attach_key(pair), adc_attach_kind);
    uint32_t facts = 0;

    if (answer == OPERATION_RUNNING)
        return RUNNING;
    facts |= pair->state == ADC_ATTACHED ? DONE : 0;
    facts |= pair->detach_requested_at != TIME_UNSET ? CLOCK : 0;
    facts |= is_held_elsewhere(pair) ? HELD : 0;
    facts |= answer == OPERATION_BACKOFF ? BACKOFF : 0;
    return facts;
}

static void
plan_pair_attach(const AttachDetachController *self, Plan *plan, AttachPair *pair)
{
    if (adc_plan_retry(self, plan, pair))
        return;
    const Rule *rule = rules_find(&adc_attach_rules, attach_facts(self, pair), NULL);

    plan_because(plan, rule->id);
    switch ((AttachAction)rule->then) {
    case ATTACH_LEAVE:
        return;
    case ATTACH_STOP_CLOCK:
        plan_change(plan, &(PlanChange){.what = CHANGE_RESET_REQUEST, .pointer = pair});
        return;
    case ATTACH_TELL_PODS:
        adc_plan_multi_attach_error(self, plan, pair);
        return;
    case ATTACH_LATER:
        plan_change(plan, &(PlanChange){.what = CHANGE_RETRY_AT,
                                        .pointer = pair,
                                        .number = operations_backoff_until(self->operations,
                                                                           adc_attach_key(pair)) +
                                                  1});
        return;
    case ATTACH_NOW:
        adc_plan_attach_operation(self, plan, pair);
        return;
    }
    g_assert_not_reached();
}

/* ---- A pass ---- */

/* Walks the pairs of a pass by place: the pairs queued when the pass began, and the pairs queued
 * since then, because a pass may take time. */
typedef struct {
    const GPtrArray *begun, *changed;
    unsigned next_begun, next_changed;
} PassIter;

static void
pass_iter_init(PassIter *iter, const AttachDetachController *self, uint64_t from)
{
    *iter = (PassIter){
        .begun = self->looking_at,
        .changed = self->queued,
        .next_begun = attach_pairs_from(self->looking_at, from),
        .next_changed = attach_pairs_from(self->queued, from),
    };
}

/* Returns: NULL: that was all */
static AttachPair *
pass_iter_next(PassIter *iter)
{
    AttachPair *begun =
        iter->next_begun < iter->begun->len ? iter->begun->pdata[iter->next_begun] : NULL;
    AttachPair *changed =
        iter->next_changed < iter->changed->len ? iter->changed->pdata[iter->next_changed] : NULL;
    gboolean is_begun = begun != NULL && (changed == NULL || begun->place <= changed->place);

    iter->next_begun += is_begun;
    iter->next_changed += changed != NULL && (!is_begun || changed == begun);
    return is_begun ? begun : changed;
}

/* ADC-71: GetVolumesToAttach() walks a map of nodes, each with a map of its volumes. */
static uint64_t
attach_place(const void *item, SimStream stream, uint64_t walk)
{
    const AttachPair *pair = item;

    return sim_map_place(stream, walk, pair->node_hash, pair->volume_hash);
}

/* ADC-39: the attaches of a pass, then the updates of Nodes. */
static void
plan_attaches(const AttachDetachController *self, Plan *plan)
{
    SimStream stream = sim_stream(self->base.sim, "attach-detach-controller/attach order");
    g_autoptr(GPtrArray) wanted = g_ptr_array_new();
    AttachPair *pair;
    PassIter iter;

    pass_iter_init(&iter, self, 0);
    while ((pair = pass_iter_next(&iter)) != NULL)
        if (attach_pair_is_wanted(pair))
            g_ptr_array_add(wanted, pair);
    sim_shuffle(wanted->pdata, wanted->len, attach_place, stream, (uint64_t)plan_now(plan));
    for (unsigned i = 0; i < wanted->len; i++)
        plan_pair_attach(self, plan, wanted->pdata[i]);
    adc_plan_reports(self, plan);
}

/* ADC-39, ADC-41: the detaches of a pass, then the rest. Goes on after the pair at which it
 * stopped. */
static void
decide_detaches(const void *data, Plan *plan)
{
    const AttachDetachController *self = data;
    AttachPair *pair;
    PassIter iter;

    pass_iter_init(&iter, self, self->pass.pair == NULL ? 0 : self->pass.pair->place + 1);
    while ((pair = pass_iter_next(&iter)) != NULL)
        if (!attach_pair_is_wanted(pair) && pair->state != ADC_DETACHED &&
            plan_pair_detach(self, plan, pair))
            return;
    plan_attaches(self, plan);
}

/* Two nodes want the same exclusive volume: the second start was refused (OP-3). Forgets it; the
 * end of the first operation queues the pair again. */
static void
forget_refused(AttachDetachController *self, AttachPair *pair)
{
    const Plan *plan = pair->is_steady ? NULL : adc_plan(self, pair);

    if (plan != NULL && plan_operation(plan) != pair) {
        pair->is_under_way = FALSE;
        g_clear_slist(&pair->told, (GDestroyNotify)object_unref);
    }
}

static void
pass_ended(void *data, Plan *plan, PlanEnd end, const char *message)
{
    AttachDetachController *self = data;
    g_autoptr(GPtrArray) looked_at = g_steal_pointer(&self->looking_at);

    (void)plan, (void)end, (void)message;
    for (unsigned i = 0; i < looked_at->len; i++) {
        forget_refused(self, looked_at->pdata[i]);
        adc_settle(self, looked_at->pdata[i]);
    }
    for (unsigned i = 0; i < self->queued->len; i++)
        forget_refused(self, self->queued->pdata[i]);
    adc_verification_pass_ended(self);
    sim_ticker_end_pass(self->reconciler, self->queued->len > 0 || self->nodes_to_update->len > 0);
    adc_verification_pass_is_over(self);
}

/* A pass looks only at pairs that have changed since the last one: it would do nothing for the
 * others. */
static gboolean
reconcile(void *data)
{
    AttachDetachController *self = data;

    adc_verification_pass_begins(self);
    if (sim_is_polling(self->base.sim))
        adc_queue_all(self); /* tests compare this with passes that look at changed pairs only */
    adc_begin_walk(self);
    self->pass = (AttachPass){0};
    g_array_set_size(self->reports, 0);
    sim_ticker_begin_long_pass(self->reconciler);
    if (self->pass_key == NULL)
        self->pass_key = objects_key(self->base.objects, KIND_NODE, NULL, "*");
    plan_start(&(PlanStart){
        .component = &self->base,
        .decide = decide_detaches,
        .key = self->pass_key,
        .done = pass_ended,
    });
    return FALSE;
}

/* When a run begins, the loop is already running, at a drawn phase (TIM-40). A controller that
 * starts later makes its first pass at once. */
void
adc_reconciler_start(AttachDetachController *self)
{
    Sim *sim = self->base.sim;
    SimStream phases = sim_stream(sim, "attach-detach-controller/phase");
    SimTime phase =
        self->base.started_late ? 0 : (SimTime)sim_random_below(phases, 0, 0, RECONCILE_PERIOD);

    self->label = sim_label(sim, "attach-detach reconciler");
    self->reconciler =
        sim_ticker_new(sim, &(SimTickerOptions){
                                .name = "attach-detach reconciler",
                                .period = RECONCILE_PERIOD,
                                .cost = process_timing(self->base.process)->attach_detach_pass,
                                .phase = phase,
                                .order = self->base.order,
                                .wait = WAIT_POLL,
                                .pass = reconcile,
                                .self = self,
                            });
}

SimTime
attach_detach_forced_at(const Cluster *cluster, const char *volume, const char *node_name)
{
    const AttachDetachController *self =
        cluster_model(cluster, &attach_detach_controller_class, NULL);
    const KubeControllerManagerOptions *options = self == NULL ? NULL : self->base.options;
    const AttachNode *node = self == NULL ? NULL : adc_find_node(self, node_name);

    if (node == NULL || options->disable_force_detach_on_timeout)
        return SIM_TIME_MAX;
    for (unsigned i = 0; i < node->pairs->len; i++) {
        const AttachPair *pair = node->pairs->pdata[i];
        if (strcmp(pair->volume->name, volume) == 0)
            return pair->detach_requested_at == TIME_UNSET
                       ? SIM_TIME_MAX
                       : pair->detach_requested_at + MAX_WAIT_FOR_UNMOUNT;
    }
    return SIM_TIME_MAX;
}
