/* SPDX-License-Identifier: GPL-3.0-or-later */
/* DefaultPreemption: whether other pods have to leave a node for a pod that fits nowhere, and
 * which. A rule table refuses first; then nodes whose refusal could change are tried, from a random
 * one on, until there are enough candidates. On a node all less important pods are taken away, and
 * as many as possible let back in; the others are its victims.
 *
 * The best candidate costs the least important pods (SCH-113); a draw decides among equals, where
 * Kubernetes walks a map. Invariant: after a try the cache is as it was before. */
#include "preemption.h"

#include "cycle.h"
#include "sim/order.h"

#define MIN_CANDIDATES 100 /* SCH-111 */
#define MIN_CANDIDATES_PERCENTAGE 10
#define PREEMPTED "PreemptionByScheduler"

/* A node that the pod would fit on without some of the others. */
typedef struct {
    NodeInfo *node;
    GPtrArray *victims; /* of Pod (owned), the most important first */
} PreemptionCandidate;

static void
candidate_clear(void *data)
{
    PreemptionCandidate *self = data;

    g_ptr_array_unref(self->victims);
}

void
preemption_clear(Preemption *self)
{
    g_clear_pointer(&self->victims, g_ptr_array_unref);
    g_clear_pointer(&self->message, g_free);
}

static int32_t
priority_of(const Pod *pod)
{
    return pod->spec->priority;
}

/* A pod that has not started yet counts as started now, that is: last. */
static SimTime
start_of(const Pod *pod)
{
    return pod->started_at == TIME_UNSET ? SIM_TIME_MAX : pod->started_at;
}

/* SCH-112: higher priority first, then earlier start. */
static gint
compare_importance(gconstpointer a, gconstpointer b)
{
    const Pod *first = *(const Pod *const *)a, *second = *(const Pod *const *)b;

    return ORDER(priority_of(second), priority_of(first))
           ?: ORDER(start_of(first), start_of(second))
           ?: g_strcmp0(first->meta.key->text, second->meta.key->text);
}

/* ---- One node ---- */

/* Pods of lower priority on the node. (owned) */
static GPtrArray *
less_important_pods(const Cycle *self, const NodeInfo *node)
{
    GPtrArray *pods = g_ptr_array_new_with_free_func((GDestroyNotify)object_unref);

    for (const CachedPod *cached = node->pods; cached != NULL; cached = cached->next_on_node) {
        if (priority_of(cached->pod) < priority_of(self->pod))
            g_ptr_array_add(pods, (void *)object_ref(&cached->pod->meta));
    }
    g_ptr_array_sort(pods, compare_importance);
    return pods;
}

/* A pod that is taken off its node for a moment. */
typedef struct {
    const Pod *pod;
    void *attempt; /* of CachedPod */
} Removed;

static Removed
take_away(const Cycle *self, const Pod *pod)
{
    SchedulerCache *cache = self->view->cache;
    CachedPod *cached = scheduler_cache_find_pod(cache, pod->meta.key, pod->meta.uid);
    Removed removed = {pod, cached->attempt};

    scheduler_cache_remove_pod(cache, cached);
    return removed;
}

static void
put_back(const Cycle *self, const Removed *removed, const NodeInfo *node)
{
    scheduler_cache_add_pod(self->view->cache, removed->pod, node->key->name, removed->attempt);
}

/* Whether the pod would fit now; keeps no reasons. */
static gboolean
preemption_fits(Cycle *self, const Filters *active, NodeInfo *node)
{
    GArray *reasons = self->reasons;

    self->reasons = g_array_new(FALSE, TRUE, sizeof(Reason));
    gboolean result = cycle_ask_with_nominated(self, active, node) == VERDICT_OK;
    g_array_unref(self->reasons);
    self->reasons = reasons;
    return result;
}

/* SCH-112: if the pod fits without all victims, lets as many of them as possible back in. @removed:
 * of Removed. Returns: (owned): the victims */
static GPtrArray *
choose_victims(Cycle *self, const Filters *active, NodeInfo *node, GArray *removed)
{
    GPtrArray *victims = g_ptr_array_new_with_free_func((GDestroyNotify)object_unref);

    for (unsigned i = 0; i < removed->len; i++) {
        Removed *pod = &g_array_index(removed, Removed, i);
        put_back(self, pod, node);
        if (preemption_fits(self, active, node))
            continue;
        take_away(self, pod->pod);
        g_ptr_array_add(victims, (void *)object_ref(&pod->pod->meta));
    }
    return victims;
}

static gboolean
is_among(const GPtrArray *victims, const Pod *pod)
{
    return g_ptr_array_find((GPtrArray *)victims, pod, NULL);
}

/* Counts in self->reasons. Returns: (owned): the victims; NULL: the node does not do */
static GPtrArray *
try_node(Cycle *self, const Filters *active, NodeInfo *node)
{
    g_autoptr(GPtrArray) pods = less_important_pods(self, node);
    g_autoptr(GArray) removed = g_array_new(FALSE, FALSE, sizeof(Removed));
    GPtrArray *victims = NULL;

    if (pods->len == 0) {
        cycle_reason(self, "No preemption victims found for incoming pod");
        return NULL;
    }
    for (unsigned i = 0; i < pods->len; i++) {
        Removed away = take_away(self, pods->pdata[i]);
        g_array_append_val(removed, away);
    }
    if (cycle_ask_with_nominated(self, active, node) == VERDICT_OK)
        victims = choose_victims(self, active, node, removed);
    for (unsigned i = 0; i < removed->len; i++) {
        const Removed *pod = &g_array_index(removed, Removed, i);
        if (victims == NULL || is_among(victims, pod->pod))
            put_back(self, pod, node);
    }
    cycle_refresh(self, active);
    return victims;
}

/* ---- Which node ---- */

/* The sum of the priorities, each lifted so that it is not negative: more pods weigh more. */
static int64_t
sum_of_priorities(const PreemptionCandidate *candidate)
{
    int64_t sum = 0;

    for (unsigned i = 0; i < candidate->victims->len; i++)
        sum += (int64_t)priority_of(candidate->victims->pdata[i]) + (INT64_C(1) << 31);
    return sum;
}

/* The start of the most important victim. */
static SimTime
first_start(const PreemptionCandidate *candidate)
{
    return start_of(candidate->victims->pdata[0]);
}

/* SCH-113: by fewer and less important victims, then by the shorter life. */
static gboolean
is_better(const PreemptionCandidate *candidate, const PreemptionCandidate *best)
{
    int32_t highest = priority_of(candidate->victims->pdata[0]);
    int32_t highest_of_best = priority_of(best->victims->pdata[0]);
    int64_t sum = sum_of_priorities(candidate), sum_of_best = sum_of_priorities(best);

    if (highest != highest_of_best)
        return highest < highest_of_best;
    if (sum != sum_of_best)
        return sum < sum_of_best;
    if (candidate->victims->len != best->victims->len)
        return candidate->victims->len < best->victims->len;
    return first_start(candidate) > first_start(best);
}

static uint64_t
candidate_place(const void *candidate, SimStream stream, uint64_t walk)
{
    return object_key_place(((const PreemptionCandidate *)candidate)->node->key, stream, walk);
}

/* SCH-113: among equals the first of a map, which has no order. */
static const PreemptionCandidate *
choose_candidate(const Cycle *self, const GArray *candidates)
{
    g_autoptr(GPtrArray) order = g_ptr_array_new();
    const ObjectKey *key = self->pod->meta.key;
    uint64_t walk = sim_hash_combine(sim_hash_combine(key->hash, key->incarnation), self->attempts);

    for (unsigned i = 0; i < candidates->len; i++)
        g_ptr_array_add(order, &g_array_index(candidates, PreemptionCandidate, i));
    sim_shuffle(order->pdata, order->len, candidate_place, self->view->preemption_order, walk);
    const PreemptionCandidate *best = order->pdata[0];
    for (unsigned i = 1; i < order->len; i++)
        if (is_better(order->pdata[i], best))
            best = order->pdata[i];
    return best;
}

/* SCH-111: nodes that would do without some pods, from a random one on, until there are enough
 * candidates. (owned) */
static GArray *
find_candidates(Cycle *self, const Filters *active)
{
    GArray *candidates = g_array_new(FALSE, FALSE, sizeof(PreemptionCandidate));
    const ObjectKey *key = self->pod->meta.key;
    unsigned n_nodes, n = node_set_count(&self->helpable);
    NodeInfo *const *nodes = scheduler_cache_nodes(self->view->cache, &n_nodes);
    unsigned enough = MIN(n, MAX(MIN_CANDIDATES, n * MIN_CANDIDATES_PERCENTAGE / 100));
    unsigned skipped = (unsigned)sim_random_below(self->view->preemption_offset,
                                                  sim_hash_combine(key->hash, key->incarnation),
                                                  self->attempts, n);
    unsigned place = node_set_next(&self->helpable, 0, n_nodes);

    g_array_set_clear_func(candidates, candidate_clear);
    for (; skipped > 0; skipped--)
        place = node_set_next(&self->helpable, place + 1, n_nodes);
    for (; n > 0 && candidates->len < enough; n--) {
        PreemptionCandidate candidate = {nodes[place], try_node(self, active, nodes[place])};
        if (candidate.victims != NULL)
            g_array_append_val(candidates, candidate);
        place = node_set_next(&self->helpable, place + 1, n_nodes);
        if (place == n_nodes)
            place = node_set_next(&self->helpable, 0, n_nodes);
    }
    return candidates;
}

/* ---- What is said, and done ---- */

/* SCH-93. (owned) */
static char *
no_candidates(Cycle *self)
{
    unsigned n_nodes;

    scheduler_cache_nodes(self->view->cache, &n_nodes);
    cycle_reason_of_nodes(self, "Preemption is not helpful for scheduling",
                          n_nodes - node_set_count(&self->helpable));
    g_autofree char *text =
        reasons_format((const Reason *)(void *)self->reasons->data, self->reasons->len);
    return g_strdup_printf("preemption: 0/%u nodes are available: %s.", n_nodes, text);
}

static gboolean
is_leaving_for_another(const CycleView *view, const Pod *pod)
{
    gboolean is_marked = pod->disruption.status == CONDITION_TRUE &&
                         g_strcmp0(pod->disruption.reason, PREEMPTED) == 0;
    gboolean are_marked =
        view->release == NULL || release_has_gate(view->release, "PodDisruptionConditions");

    return object_is_deleted(&pod->meta) && (is_marked || !are_marked);
}

/* Victims of an earlier attempt are still on their way out of the node that the pod is nominated
 * to. */
static gboolean
waits_for_victims(const Cycle *self)
{
    const char *name = self->pod->nominated_node;
    const ObjectKey *key =
        name == NULL ? NULL : objects_find_key(self->view->objects, KIND_NODE, NULL, name);
    const NodeInfo *node = key == NULL ? NULL : scheduler_cache_find_node(self->view->cache, key);

    if (node == NULL || node->place == NO_PLACE || !node_set_has(&self->helpable, node->place))
        return FALSE;
    for (const CachedPod *cached = node->pods; cached != NULL; cached = cached->next_on_node) {
        if (priority_of(cached->pod) < priority_of(self->pod) &&
            is_leaving_for_another(self->view, cached->pod))
            return TRUE;
    }
    return FALSE;
}

static Preemption
not_eligible(const char *why)
{
    return (Preemption){.keeps_nomination = TRUE,
                        .message = g_strdup_printf("preemption: not eligible due to %s.", why)};
}

static Preemption
no_preemption(Cycle *self)
{
    return (Preemption){.message = no_candidates(self)};
}

static Preemption
try_nodes(Cycle *self, const Filters *active)
{
    g_autoptr(GArray) candidates = find_candidates(self, active);

    if (candidates->len == 0)
        return no_preemption(self);
    const PreemptionCandidate *chosen = choose_candidate(self, candidates);
    return (Preemption){
        .node_name = chosen->node->key->name,
        .victims = g_ptr_array_ref(chosen->victims),
    };
}

/* Whether other pods are made to leave a node. */
enum {
    NEVER = 1 << 0,   /* the pod's policy */
    WAITING = 1 << 1, /* victims of an earlier attempt are still leaving */
    NODES = 1 << 2,   /* some node's refusal could change */
    VICTIMS = 1 << 3, /* some pod on a node has a lower priority */
    PREEMPT_FACTS_END = 1 << 4,
};

typedef enum {
    PREEMPT_REFUSE_POLICY,
    PREEMPT_REFUSE_WAITING,
    PREEMPT_FIND_NONE, /* without a look */
    PREEMPT_TRY_NODES,
} PreemptAnswer;

/* PodEligibleToPreemptOthers(), findCandidates(). */
static const Rule preemption_table[] = {
    {"SCH-110.1", NEVER,           0,                         PREEMPT_REFUSE_POLICY },
    {"SCH-110.2", WAITING,         NEVER,                     PREEMPT_REFUSE_WAITING},
    {"SCH-115.1", 0,               NEVER | WAITING | NODES,   PREEMPT_FIND_NONE     },
    {"SCH-115.2", NODES,           NEVER | WAITING | VICTIMS, PREEMPT_FIND_NONE     },
    {"SCH-111",   NODES | VICTIMS, NEVER | WAITING,           PREEMPT_TRY_NODES     },
};

const RuleTable scheduler_preemption_rules =
    RULE_TABLE("preemption", PREEMPT_FACTS_END, preemption_table);

static uint32_t
preempt_facts(const Cycle *self)
{
    uint32_t facts = 0;

    facts |= self->pod->spec->preemption_policy == PREEMPT_NEVER ? NEVER : 0;
    facts |= waits_for_victims(self) ? WAITING : 0;
    facts |= node_set_count(&self->helpable) > 0 ? NODES : 0;
    if (scheduler_cache_lowest_priority(self->view->cache) < priority_of(self->pod))
        facts |= VICTIMS;
    return facts;
}

/* Counts its reasons separately. */
static Preemption
preempt(Cycle *self, const Filters *active)
{
    switch (
        (PreemptAnswer)rules_find(&scheduler_preemption_rules, preempt_facts(self), NULL)->then) {
    case PREEMPT_REFUSE_POLICY:
        return not_eligible("preemptionPolicy=Never");
    case PREEMPT_REFUSE_WAITING:
        return not_eligible("a terminating pod on the nominated node");
    case PREEMPT_FIND_NONE:
        cycle_reason_of_nodes(self, "No preemption victims found for incoming pod",
                              node_set_count(&self->helpable));
        return no_preemption(self);
    case PREEMPT_TRY_NODES:
        return try_nodes(self, active);
    }
    g_assert_not_reached();
}

Preemption
cycle_preempt(Cycle *self, const Filters *active)
{
    GArray *reasons = self->reasons;
    unsigned n_nodes;
    gboolean asks_claims = self->view->release != NULL &&
                           release_has_gate(self->view->release, "DynamicResourceAllocation");

    if (asks_claims && active == NULL) /* SCH-130: its PostFilter misses what its PreFilter knows */
        return (Preemption){.keeps_nomination = TRUE, .message = g_strdup("not found")};

    scheduler_cache_nodes(self->view->cache, &n_nodes);
    if (active == NULL)
        node_set_init(&self->helpable, n_nodes);
    self->reasons = g_array_new(FALSE, TRUE, sizeof(Reason));
    Preemption result = preempt(self, active);
    g_array_unref(self->reasons);
    self->reasons = reasons;
    if (asks_claims && result.message != NULL) {
        g_autofree char *own = g_steal_pointer(&result.message);
        result.message = g_strdup_printf("no new claims to deallocate, %s", own);
    }
    return result;
}
