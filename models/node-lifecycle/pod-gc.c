/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The pod garbage collector: gc_controller.go, pods whose kubelet will never finish them. Every 20
 * s a rule table judges each pod: an orphan whose node has been missing for 40 s (and is asked for
 * once more), a pod being deleted without a node, and one on a node that is out of service. Beyond
 * --terminated-pod-gc-threshold the oldest finished pods go, evicted ones first (NL-70). The loop
 * sleeps while no pod has work. */
#include <string.h>

#include "models/cluster/cluster.h"
#include "models/cluster/kube-controller-manager.h"
#include "models/metrics/metrics.h"
#include "models/plan/plan.h"
#include "models/plan/rules.h"
#include "node-lifecycle.h"
#include "node-taints.h"
#include "sim/order.h"
#include "sim/ticker.h"

#define PERIOD (20 * SIM_SECOND)     /* NL-15 */
#define QUARANTINE (40 * SIM_SECOND) /* NL-72: an informer that lags, or a node that comes back */

enum {
    POD_SCHEDULED = 1 << 0,
    POD_DELETED = 1 << 1,
    POD_HAS_NODE = 1 << 2, /* the Node that it names is there */
    NODE_IS_READY = 1 << 3,
    NODE_IS_RETIRED = 1 << 4, /* it has the taint out-of-service */
    NODE_LONG_GONE = 1 << 5,  /* it has been missing for 40 s */
    POD_FACTS_END = 1 << 6,
};

typedef enum {
    POD_KEEP,
    POD_QUARANTINE, /* notes since when its node has been missing */
    POD_ASK_NODE,   /* once more, before it is deleted */
    POD_FAIL,       /* and delete */
    POD_DELETE,
} PodGcPodAction;

/* gcOrphaned(), gcTerminating() and gcUnscheduledTerminating(). */
/* clang-format off */
static const Rule pod_table[] = {
    {"NL-73", POD_DELETED,                                                  POD_SCHEDULED,                   POD_DELETE},
    {"NL-73", 0,                                                            POD_SCHEDULED | POD_DELETED,     POD_KEEP},
    {"NL-72", POD_SCHEDULED,                                                POD_HAS_NODE | NODE_LONG_GONE,   POD_QUARANTINE},
    {"NL-72", POD_SCHEDULED | NODE_LONG_GONE,                               POD_HAS_NODE,                    POD_ASK_NODE},
    {"NL-71", POD_SCHEDULED | POD_HAS_NODE,                                 POD_DELETED,                     POD_KEEP},
    {"NL-71", POD_SCHEDULED | POD_HAS_NODE | POD_DELETED | NODE_IS_READY,   0,                               POD_KEEP},
    {"NL-71", POD_SCHEDULED | POD_HAS_NODE | POD_DELETED,                   NODE_IS_READY | NODE_IS_RETIRED, POD_KEEP},
    {"NL-71", POD_SCHEDULED | POD_HAS_NODE | POD_DELETED | NODE_IS_RETIRED, NODE_IS_READY,                   POD_FAIL},
};
/* clang-format on */

static const RuleTable pod_rules =
    RULE_TABLE("pods that nobody finishes", POD_FACTS_END, pod_table);

/* NL-70 goes by the number of pods that have ended, not by facts of one pod. */
static const Rule oldest_rule = {"NL-70", 0, 0, POD_DELETE};

typedef struct {
    Component base;
    Informer *nodes, *pods;
    GHashTable *over;    /* ObjectKeys of pods that are */
    GHashTable *missing; /* interned node name -> SimTime *: since when */
    SimTicker *loop;
} PodGc;

/* ---- Deleting ---- */

static gboolean
edit_failed(Object *object, const void *arg)
{
    const PodCondition *condition = arg;
    Pod *pod = POD(object);

    if (pod_is_terminal(pod))
        return FALSE;
    pod->phase = POD_FAILED;
    if (condition->reason != NULL)
        pod_set_disruption(pod, condition);
    return TRUE;
}

static void
add_failed(const PodGc *self, Plan *plan, const Object *pod, gboolean is_orphan)
{
    PodCondition *condition = plan_new_arg(plan, PodCondition);
    Strings *strings = self->base.strings;

    if (is_orphan)
        *condition = (PodCondition){
            .reason = strings_intern(strings, "DeletionByPodGC"),
            .message = strings_intern(strings, "PodGC: node no longer exists"),
            .changed_at = plan_now(plan),
            .status = CONDITION_TRUE,
        };
    if (!pod_is_terminal(POD_CONST(pod)))
        plan_patch_status(plan, pod->key, edit_failed, condition, PLAN_STOP);
}

/* plan_operation(): the Rule that it follows. */
static void
pod_gc_decide_delete(const void *data, Plan *plan)
{
    const PodGc *self = data;
    const Object *pod = informer_get(self->pods, plan_key(plan));
    const Rule *rule = plan_operation(plan);

    if (pod == NULL)
        return;
    plan_because(plan, rule->id);
    if (rule->then != POD_DELETE &&
        release_has_gate(cluster_release(self->base.cluster), "PodDisruptionConditions"))
        add_failed(self, plan, pod, rule->then == POD_ASK_NODE);
    plan_delete(plan, pod->key, (ObjectUid){0}, 0, PLAN_GONE_IS_FINE);
}

static void
decide_orphan_checked(const void *data, Plan *plan)
{
    if (plan_code(plan, plan_last_step(plan)) == API_NOT_FOUND)
        pod_gc_decide_delete(data, plan);
}

static void
decide_orphan(const void *data, Plan *plan)
{
    const PodGc *self = data;
    const Object *pod = informer_get(self->pods, plan_key(plan));

    if (pod == NULL)
        return;
    plan_because(plan, "NL-72");
    plan_get(plan, objects_key(self->base.objects, KIND_NODE, NULL, POD_CONST(pod)->node_name),
             PLAN_GO_ON);
    plan_then(plan, decide_orphan_checked);
}

/* MET-115: counts each pod that it sets out to delete; an orphan's node is asked for once more
 * first. */
static void
start_deletion(PodGc *self, const Object *pod, const Rule *rule, const char *reason)
{
    sim_series_add(metric_series(sim_metrics(self->base.sim), METRIC_POD_GC,
                                 process_job(self->base.process), pod->key->namespace, reason),
                   1);
    plan_start(&(PlanStart){
        .component = &self->base,
        .decide = rule->then == POD_ASK_NODE ? decide_orphan : pod_gc_decide_delete,
        .key = (ObjectKey *)pod->key,
        .operation = (void *)rule,
    });
}

/* ---- Pods that are over: beyond a number the oldest go, those that were evicted first ---- */

static int
compare_age(const void *a, const void *b)
{
    const Pod *first = *(const Pod *const *)a, *second = *(const Pod *const *)b;
    gboolean first_evicted = g_strcmp0(first->reason, "Evicted") == 0;
    gboolean second_evicted = g_strcmp0(second->reason, "Evicted") == 0;

    return ORDER(second_evicted, first_evicted)
           ?: ORDER(first->meta.created_at, second->meta.created_at)
           ?: strcmp(first->meta.key->text, second->meta.key->text);
}

static gboolean
has_too_many(const PodGc *self)
{
    const KubeControllerManagerOptions *options = self->base.options;
    int32_t threshold = options->terminated_pod_gc_threshold;

    return threshold > 0 && g_hash_table_size(self->over) > (unsigned)threshold;
}

static void
delete_oldest(PodGc *self)
{
    const KubeControllerManagerOptions *options = self->base.options;
    g_autoptr(GPtrArray) over = g_ptr_array_new();
    InformerIter pods;
    const Object *pod;

    informer_iter_init(&pods, self->pods);
    while ((pod = informer_iter_next(&pods)) != NULL)
        if (pod_is_terminal(POD_CONST(pod)) && !object_is_deleted(pod))
            g_ptr_array_add(over, (void *)pod); /* only looked at */
    g_ptr_array_sort(over, compare_age);
    for (unsigned i = 0; i + (unsigned)options->terminated_pod_gc_threshold < over->len; i++)
        start_deletion(self, over->pdata[i], &oldest_rule, "terminated");
}

/* ---- Judging ---- */

/* Somebody says that the machine is off, and NodeOutOfServiceVolumeDetach is on. */
static gboolean
is_retired(const PodGc *self, const Node *node)
{
    return taints_find(node->taints, TAINT_OUT_OF_SERVICE, -1) != NULL &&
           release_has_gate(cluster_release(self->base.cluster), "NodeOutOfServiceVolumeDetach");
}

static uint32_t
node_facts(const PodGc *self, const char *name)
{
    const Node *node = (const Node *)informer_find(self->nodes, NULL, name);
    uint32_t facts = 0;

    if (node == NULL) {
        const SimTime *since = g_hash_table_lookup(self->missing, name);
        return since != NULL && sim_now(self->base.sim) - *since >= QUARANTINE ? NODE_LONG_GONE : 0;
    }
    facts |= POD_HAS_NODE;
    facts |= node->ready.status == CONDITION_TRUE ? NODE_IS_READY : 0;
    facts |= is_retired(self, node) ? NODE_IS_RETIRED : 0;
    return facts;
}

static const Rule *
pod_gc_judge(const PodGc *self, const Object *object)
{
    const Pod *pod = POD_CONST(object);
    uint32_t facts = object_is_deleted(object) ? POD_DELETED : 0;

    if (pod->node_name != NULL)
        facts |= POD_SCHEDULED | node_facts(self, pod->node_name);
    return rules_find(&pod_rules, facts, NULL);
}

static void
quarantine(PodGc *self, const char *node_name)
{
    SimTime now = sim_now(self->base.sim);

    if (!g_hash_table_contains(self->missing, node_name))
        g_hash_table_insert(self->missing, (void *)node_name, g_memdup2(&now, sizeof now));
}

/* Returns: whether the next pass has to look at it again */
static gboolean
act(PodGc *self, const Object *pod, const Rule *rule)
{
    switch ((PodGcPodAction)rule->then) {
    case POD_KEEP:
        return FALSE;
    case POD_QUARANTINE:
        quarantine(self, POD_CONST(pod)->node_name);
        return TRUE;
    case POD_ASK_NODE:
        start_deletion(self, pod, rule, "orphaned");
        return TRUE;
    case POD_FAIL:
        start_deletion(self, pod, rule, "out-of-service");
        return TRUE;
    case POD_DELETE:
        start_deletion(self, pod, rule, "unscheduled");
        return TRUE;
    }
    g_assert_not_reached();
}

static gboolean
pod_gc_pass(void *data)
{
    PodGc *self = data;
    g_autoptr(GPtrArray) found = g_ptr_array_new();
    InformerIter pods;
    const Object *pod;
    gboolean again = FALSE;

    if (has_too_many(self)) {
        delete_oldest(self);
        again = TRUE;
    }
    informer_iter_init(&pods, self->pods);
    while ((pod = informer_iter_next(&pods)) != NULL)
        if (pod_gc_judge(self, pod)->then != POD_KEEP)
            g_ptr_array_add(found, (void *)pod);
    sim_shuffle(found->pdata, found->len, object_place, sim_stream(self->base.sim, "pod-gc/order"),
                (uint64_t)sim_now(self->base.sim)); /* CGO-8 */
    for (unsigned i = 0; i < found->len; i++)
        again |= act(self, found->pdata[i], pod_gc_judge(self, found->pdata[i]));
    return again || sim_is_polling(self->base.sim);
}

/* ---- Events ---- */

static void
node_event(void *data, const Object *before, const Object *after)
{
    PodGc *self = data;

    (void)before;
    if (after != NULL)
        g_hash_table_remove(self->missing, object_name(after));
    if (after == NULL || is_retired(self, (const Node *)after))
        sim_ticker_wake(self->loop);
}

static gboolean
was_bound(const Object *before, const Object *after)
{
    return POD_CONST(after)->node_name != NULL &&
           (before == NULL || POD_CONST(before)->node_name == NULL);
}

static void
pod_gc_pod_event(void *data, const Object *before, const Object *after)
{
    PodGc *self = data;

    if (after != NULL && pod_is_terminal(POD_CONST(after)))
        g_hash_table_add(self->over, (void *)after->key);
    else
        g_hash_table_remove(self->over, (after != NULL ? after : before)->key);
    if (has_too_many(self))
        sim_ticker_wake(self->loop);
    if (after == NULL || (!object_is_deleted(after) && !was_bound(before, after)))
        return;
    if (pod_gc_judge(self, after)->then != POD_KEEP)
        sim_ticker_wake(self->loop);
}

/* TIM-56 */
static SimTime
phase(const void *data, const char *name, SimTime period)
{
    const PodGc *self = data;
    SimStream stream = sim_stream(self->base.sim, "pod-gc");

    (void)name;
    return (SimTime)sim_random_below(stream, 0, (uint64_t)sim_now(self->base.sim),
                                     (uint64_t)period);
}

#define SELF PodGc
static const ComponentPart parts[] = {
    HAS_TABLE(over, NULL),
    HAS_TABLE(missing, g_free),
    HAS_INFORMER(nodes, KIND_NODE, .changed = node_event),
    HAS_INFORMER(pods, KIND_POD, .changed = pod_gc_pod_event),
    HAS_TICKER(loop, "pod-gc/pass", pod_gc_pass, .period = PERIOD, .phase = phase),
};

const ModelClass pod_gc_class = {
    KCM_MODEL("pod-garbage-collector"),
    .rule_tables = RULE_TABLES(&pod_rules),
    PARTS(parts),
};
