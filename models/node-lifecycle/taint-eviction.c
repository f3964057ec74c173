/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Taint-based eviction: taint_eviction.go. A NoExecute taint evicts a pod at once, never, or after
 * the shortest of its tolerations, with a timer for each pod. A rule table decides at each event of
 * a pod or of a node's taints; a timer that runs goes on, even if the pod tolerates the taint by
 * now (NL-41). A deletion is tried five times (NL-17). Pods of the start state have waited since
 * their node's first taint, so their timers run on. */
#include "models/cluster/cluster.h"
#include "models/cluster/kube-controller-manager.h"
#include "models/plan/plan.h"
#include "models/plan/rules.h"
#include "node-lifecycle.h"
#include "node-taints.h"

#define FOR_EVER SIM_TIME_MAX
#define TRIES_MAX 5             /* NL-17: retries of taint_eviction.go, the first one counted; */
#define TRY_DELAY (10 * SIM_MS) /* so long apart */

typedef struct TaintEviction TaintEviction;

/* A pod that tolerates its node's taints for a while. */
typedef struct {
    TaintEviction *owner;
    ObjectKey *pod;
    SimEventId event;
} EvictionTimer;

struct TaintEviction {
    Component base;
    Informer *nodes, *pods;
    InformerIndex *pods_by_node;
    /* ObjectKey of a pod -> EvictionTimer; NULL: its time is over, and it is or was evicted. */
    GHashTable *timers;
    GHashTable *failed; /* ObjectKey of a pod that is being evicted -> how many tries have failed */
    Workers *workers;
};

#define CHANGE_FAILED 0 /* a try, of the change's key */

/* ---- How long a pod may stay: NL-41 ---- */

/* How long the pod tolerates @taint: 0: not at all. */
static SimTime
taint_toleration(const Pod *pod, const Taint *taint)
{
    const Toleration *toleration = tolerations_find(pod->spec->tolerations, taint);

    if (toleration == NULL)
        return 0;
    return toleration->seconds < 0 ? FOR_EVER : toleration->seconds * SIM_SECOND;
}

/* The shortest toleration of all NoExecute taints; FOR_EVER: nothing evicts the pod. */
static SimTime
pod_toleration(const Pod *pod, const Node *node)
{
    SimTime shortest = FOR_EVER;

    for (unsigned i = 0; node->taints != NULL && i < node->taints->n_items; i++)
        if (node->taints->items[i].effect == TAINT_NO_EXECUTE)
            shortest = MIN(shortest, taint_toleration(pod, &node->taints->items[i]));
    return shortest;
}

/* ---- Evicting: NL-42 ---- */

static gboolean
taint_eviction_edit_disrupted(Object *object, const void *arg)
{
    return pod_set_disruption(POD(object), arg);
}

static void decide_try_again(const void *data, Plan *plan);

/* NL-17: after five failures in a row the pod is left alone until its node or its tolerations
 * change. */
static void
decide_tried(const void *data, Plan *plan)
{
    const TaintEviction *self = data;
    unsigned n_failed = GPOINTER_TO_UINT(g_hash_table_lookup(self->failed, plan_key(plan)));

    if (!plan_has_failed(plan))
        return;
    plan_because(plan, "NL-17");
    if (n_failed + 1 == TRIES_MAX) {
        plan_fail(plan, "%s", plan_last_message(plan));
        return;
    }
    plan_change(plan, &(PlanChange){.what = CHANGE_FAILED, .key = plan_key(plan)});
    plan_wait(plan, TRY_DELAY, WAIT_BACKOFF);
    plan_then(plan, decide_try_again);
}

static void
decide_evict_read(const void *data, Plan *plan)
{
    const TaintEviction *self = data;
    const Object *pod = plan_object(plan, plan_last_step(plan));

    if (pod == NULL) {
        decide_tried(data, plan);
        return;
    }
    PodCondition *condition = plan_new_arg(plan, PodCondition);
    *condition = (PodCondition){
        .reason = strings_intern(self->base.strings, "DeletionByTaintManager"),
        .message =
            strings_intern(self->base.strings, "Taint manager: deleting due to NoExecute taint"),
        .changed_at = plan_now(plan),
        .status = CONDITION_TRUE,
    };
    if (pod_disruption_differs(POD_CONST(pod), condition))
        plan_patch_status(plan, pod->key, taint_eviction_edit_disrupted, condition, PLAN_DECIDE);
    plan_delete(plan, pod->key, (ObjectUid){0}, -1, PLAN_DECIDE);
    plan_then(plan, decide_tried);
}

static void
decide_try_again(const void *data, Plan *plan)
{
    const TaintEviction *self = data;

    if (release_has_gate(cluster_release(self->base.cluster), "PodDisruptionConditions")) {
        plan_get(plan, plan_key(plan), PLAN_GO_ON);
        plan_then(plan, decide_evict_read);
    } else {
        plan_delete(plan, plan_key(plan), (ObjectUid){0}, -1, PLAN_DECIDE);
        plan_then(plan, decide_tried);
    }
}

static void
decide_evict(const void *data, Plan *plan)
{
    const TaintEviction *self = data;
    const Object *pod = informer_get(self->pods, plan_key(plan));

    if (pod == NULL)
        return;
    plan_because(plan, "NL-42");
    plan_event(plan, pod, "Normal", "TaintManagerEviction", "Marking for deletion Pod %s/%s",
               pod->key->namespace, object_name(pod));
    decide_try_again(data, plan);
}

static void
taint_eviction_apply_change(void *data, const PlanChange *change)
{
    TaintEviction *self = data;
    unsigned n = GPOINTER_TO_UINT(g_hash_table_lookup(self->failed, change->key));

    g_hash_table_insert(self->failed, (void *)change->key, GUINT_TO_POINTER(n + 1));
}

/* NL-46. */
static void
eviction_over(void *data, ObjectKey *key, PlanEnd end, const char *message)
{
    TaintEviction *self = data;

    (void)message;
    g_hash_table_remove(self->failed, key);
    if (end == PLAN_DONE)
        g_hash_table_insert(self->timers, key, NULL);
    else
        g_hash_table_remove(self->timers, key);
}

/* ---- Timers ---- */

static void
timer_free(void *data)
{
    EvictionTimer *timer = data;

    if (timer != NULL)
        sim_cancel(timer->owner->base.sim, timer->event);
    g_free(timer);
}

static void
evict(TaintEviction *self, const ObjectKey *pod)
{
    g_hash_table_insert(self->timers, (void *)pod, NULL);
    workers_add(self->workers, pod);
}

static void
timer_fire(Sim *sim, void *data)
{
    EvictionTimer *timer = data;

    (void)sim;
    timer->event = 0;
    evict(timer->owner, timer->pod);
}

static const SimEventType timer_event = {.name = "taint-eviction/timer", .fire = timer_fire};

/* NL-43, NL-46. */
static void
cancel_timer(TaintEviction *self, const Object *pod)
{
    gboolean was_running = g_hash_table_lookup(self->timers, pod->key) != NULL;

    g_hash_table_remove(self->timers, pod->key);
    if (!was_running)
        return;
    event_recorder_record(self->base.events, pod, "Normal", "TaintManagerEviction",
                          strings_internf(self->base.strings, "Cancelling deletion of Pod %s/%s",
                                          pod->key->namespace, object_name(pod)));
}

static void
start_timer(TaintEviction *self, const Object *pod, SimTime toleration)
{
    EvictionTimer *timer = g_new(EvictionTimer, 1);

    *timer = (EvictionTimer){self, (ObjectKey *)pod->key, 0};
    timer->event = sim_after(self->base.sim, toleration, &timer_event, timer, WAIT_POLL);
    g_hash_table_insert(self->timers, timer->pod, timer);
}

enum {
    POD_TOLERATES = 1 << 0, /* for a while, at least */
    POD_FOR_EVER = 1 << 1,  /* ... or for ever, or there is nothing to tolerate */
    POD_IS_KNOWN = 1 << 2,  /* its timer runs or has run out (NL-46) */
    POD_FACTS_END = 1 << 3,
};

typedef enum {
    POD_STAYS,
    POD_GOES_NOW,
    POD_GOES_LATER,
    POD_KEEPS_TIMER, /* one that runs goes on, whatever the pod tolerates by now */
} TaintEvictionPodAction;

/* processPodOnNode(). */
static const Rule pod_table[] = {
    {"NL-42",   0,                            POD_TOLERATES,               POD_GOES_NOW   },
    {"NL-44",   POD_TOLERATES | POD_FOR_EVER, 0,                           POD_STAYS      },
    {"NL-41.1", POD_TOLERATES,                POD_FOR_EVER | POD_IS_KNOWN, POD_GOES_LATER },
    {"NL-41.2", POD_TOLERATES | POD_IS_KNOWN, POD_FOR_EVER,                POD_KEEPS_TIMER},
};

static const RuleBound pod_bounds[] = {
    {.given = POD_FOR_EVER, .all = POD_TOLERATES},
};

static const RuleTable pod_rules =
    RULE_TABLE("pods on a tainted node", POD_FACTS_END, pod_table, RULE_BOUNDS(pod_bounds));

/* How long a pod of the start state had waited before the run: its timer runs on. The controller
 * of a real cluster began it with the first taint, or when the pod came to the node. */
static SimTime
waited_before(const TaintEviction *self, const Pod *pod, const Node *node)
{
    SimTime since = 0;

    if (self->base.started_late)
        return 0; /* a restarted controller knows of no earlier time */
    for (unsigned i = 0; node->taints != NULL && i < node->taints->n_items; i++)
        if (node->taints->items[i].effect == TAINT_NO_EXECUTE &&
            node->taints->items[i].added_at != TIME_UNSET)
            since = MIN(since, node->taints->items[i].added_at);
    return -MAX(since, MIN(pod->scheduled.changed_at, 0));
}

static void
look_at_pod(TaintEviction *self, const Object *object, const Node *node)
{
    SimTime toleration = pod_toleration(POD_CONST(object), node);
    SimTime waited = waited_before(self, POD_CONST(object), node);
    uint32_t facts = 0;

    facts |= toleration > 0 ? POD_TOLERATES : 0;
    facts |= toleration == FOR_EVER ? POD_FOR_EVER : 0;
    facts |= g_hash_table_contains(self->timers, object->key) ? POD_IS_KNOWN : 0;
    switch ((TaintEvictionPodAction)rules_find(&pod_rules, facts, NULL)->then) {
    case POD_STAYS:
        cancel_timer(self, object);
        return;
    case POD_GOES_NOW:
        cancel_timer(self, object);
        evict(self, object->key);
        return;
    case POD_GOES_LATER:
        if (waited >= toleration && object_is_deleted(object))
            g_hash_table_insert(self->timers, (void *)object->key, NULL); /* it was evicted */
        else
            start_timer(self, object, MAX(toleration - waited, 0));
        return;
    case POD_KEEPS_TIMER:
        return;
    }
    g_assert_not_reached();
}

/* ---- Events: NL-40 ---- */

/* The next NoExecute taint from @i on. Returns: NULL: there is none */
static const Taint *
next_no_execute(const Taints *taints, unsigned *i)
{
    for (; taints != NULL && *i < taints->n_items; ++*i)
        if (taints->items[*i].effect == TAINT_NO_EXECUTE)
            return &taints->items[(*i)++];
    return NULL;
}

static gboolean
taint_eviction_is_same(const Taint *a, const Taint *b)
{
    return a == b || (a != NULL && b != NULL && a->added_at == b->added_at &&
                      g_str_equal(a->key, b->key) && g_str_equal(a->value, b->value));
}

/* Taints of other effects do not matter. */
static gboolean
no_execute_changed(const Object *before, const Object *after)
{
    const Taint *old, *new;
    unsigned i = 0, k = 0;

    if (before == NULL)
        return TRUE;
    do {
        old = next_no_execute(((const Node *)before)->taints, &i);
        new = next_no_execute(((const Node *)after)->taints, &k);
    } while (old != NULL && new != NULL && taint_eviction_is_same(old, new));
    return !taint_eviction_is_same(old, new);
}

static void
node_event(void *data, const Object *before, const Object *after)
{
    TaintEviction *self = data;
    unsigned n;

    if (after == NULL || !no_execute_changed(before, after))
        return;
    const Object *const *pods = informer_index_get(self->pods_by_node, object_name(after), &n);
    g_autofree const Object **order = g_memdup2(pods, n * sizeof pods[0]);
    sim_shuffle((void **)order, n, object_place, sim_stream(self->base.sim, "taint-eviction/order"),
                (uint64_t)sim_now(self->base.sim)); /* CGO-8 */
    for (unsigned i = 0; i < n; i++)
        look_at_pod(self, order[i], (const Node *)after);
}

static void
taint_eviction_pod_event(void *data, const Object *before, const Object *after)
{
    TaintEviction *self = data;
    const Pod *pod = POD_CONST(after);

    if (after == NULL) {
        cancel_timer(self, before);
        return;
    }
    if (pod->node_name == NULL ||
        (before != NULL && POD_CONST(before)->node_name != NULL &&
         (POD_CONST(before)->spec == pod->spec ||
          tolerations_equal(POD_CONST(before)->spec->tolerations, pod->spec->tolerations))))
        return;
    const Node *node = (const Node *)informer_find(self->nodes, NULL, pod->node_name);
    if (node != NULL && node->taints != NULL)
        look_at_pod(self, after, node);
}

#define SELF TaintEviction
static const ComponentPart parts[] = {
    HAS_TABLE(failed, NULL),
    HAS_TABLE(timers, timer_free),
    HAS_INFORMER(nodes, KIND_NODE, .changed = node_event),
    HAS_INFORMER(pods,
                 KIND_POD,
                 WITH_INDEX(pods_by_node, index_pods_by_node),
                 .changed = taint_eviction_pod_event),
    /* In Kubernetes eight workers decide (NL-40), which takes no time; each deletion then runs in a
     * goroutine. */
    HAS_WORKERS_ONCE(
        workers, "noexec_taint_pod", decide_evict, .n_workers = G_MAXUINT, .done = eviction_over),
};

const ModelClass taint_eviction_class = {
    KCM_MODEL("taint-eviction-controller"),
    .event_source = "taint-eviction-controller",
    .event_style = EVENTS_CORE,
    .rule_tables = RULE_TABLES(&pod_rules),
    PARTS(parts),
    .apply_change = taint_eviction_apply_change,
};
