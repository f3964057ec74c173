/* SPDX-License-Identifier: GPL-3.0-or-later */
/* PodTopologySpread: the pod's own constraints; without any, two soft default ones if Services, a
 * StatefulSet or a ReplicaSet select the pod (VF-61, VF-62). Counters have the pods of each domain;
 * pods on nodes that do not count (VF-64) are subtracted, which are few. The minimum of a hard
 * constraint goes over the domains of eligible nodes, and is 0 if these are too few (VF-63). */
#include "models/api/workload.h"
#include "plugins.h"
#include "sim/portable-math.h"

static void
add_constraint(Cycle *cycle,
               const LabelSelector *selector,
               const char *key,
               int32_t max_skew,
               int32_t min_domains,
               gboolean do_not_schedule)
{
    PodCounts *counts = scheduler_cache_pod_counts(cycle->view->cache);
    unsigned topology = pod_counts_topology(counts, key);
    SpreadState state = {
        .counter = pod_counts_matching(counts, cycle->pod->meta.key->namespace, NULL, selector,
                                       topology, TRUE),
        .topology = topology,
        .max_skew = max_skew,
        .min_domains = MAX(min_domains, 1),
        .do_not_schedule = do_not_schedule,
        .is_hostname = key == cycle->view->hostname_label,
        .matches_itself = label_selector_matches(selector, cycle->pod->meta.labels),
    };

    g_array_append_val(cycle->spread, state);
}

static const LabelSelector *
selector_of_owner(const Cycle *cycle)
{
    const OwnerReference *owner = object_controller(&cycle->pod->meta);
    const Object *set =
        owner == NULL || owner->key == NULL || cycle->view->owners[owner->key->kind] == NULL
            ? NULL
            : informer_get(cycle->view->owners[owner->key->kind], owner->key);

    return set == NULL ? NULL : workload_selector(set);
}

/* Returns: (nullable) (owned): the selectors of the pod's Services merged into one. The pod's
 * labels have all of their pairs, so two selectors never want different values. */
static StringMap *
select_by_services(const Cycle *cycle)
{
    const Object *pod = &cycle->pod->meta;
    unsigned n;
    const Object *const *services =
        informer_index_get(cycle->view->services_by_namespace, pod->key->namespace, &n);
    StringMap *pairs = NULL;

    for (unsigned i = 0; i < n; i++) {
        const StringMap *selector = SERVICE_CONST(services[i])->selector;
        if (!string_map_contains(pod->labels, selector))
            continue;
        for (unsigned k = 0; k < selector->n_pairs; k++) {
            g_autoptr(StringMap) before = pairs;
            pairs = string_map_with(before, selector->pairs[k].key, selector->pairs[k].value);
        }
    }
    return pairs;
}

/* VF-62: what the pod's Services and its owner select, together.
 * Returns: (nullable) (owned): %NULL: nobody selects it */
static LabelSelector *
default_selector(const Cycle *cycle)
{
    const LabelSelector *of_owner = selector_of_owner(cycle);
    g_autoptr(StringMap) of_services = select_by_services(cycle);

    if (of_services != NULL)
        return label_selector_with_pairs(of_owner, of_services);
    return of_owner == NULL ? NULL : label_selector_ref(of_owner);
}

static void
find_constraints(Cycle *cycle)
{
    const PodSpec *spec = cycle->pod->spec;

    g_array_set_size(cycle->spread, 0);
    g_array_set_size(cycle->outside, 0);
    for (unsigned i = 0; i < spec->n_spread; i++)
        add_constraint(cycle, spec->spread[i].selector, spec->spread[i].topology_key,
                       spec->spread[i].max_skew,
                       cycle->view->min_domains ? spec->spread[i].min_domains : 1,
                       spec->spread[i].do_not_schedule);
    g_autoptr(LabelSelector) selector = spec->n_spread > 0 ? NULL : default_selector(cycle);
    if (selector == NULL)
        return;
    add_constraint(cycle, selector, cycle->view->hostname_label, 3, 1, FALSE);
    add_constraint(cycle, selector, cycle->view->zone_label, 5, 1, FALSE);
}

static gboolean
lacks_label(const Cycle *cycle, const NodeInfo *node, gboolean do_not_schedule)
{
    for (unsigned i = 0; i < cycle->spread->len; i++) {
        const SpreadState *state = &g_array_index(cycle->spread, SpreadState, i);
        if (state->do_not_schedule == do_not_schedule &&
            node_domain(&node->domains, state->topology) < 0)
            return TRUE;
    }
    return FALSE;
}

/* VF-64: a node counts if it has all labels of the hard constraints (of the soft ones when it comes
 * to scores, unless they are the default ones: VF-67) and the pod's own affinity admits it. */
static gboolean
is_eligible(const Cycle *cycle, const NodeInfo *node, gboolean do_not_schedule)
{
    if ((do_not_schedule || cycle->pod->spec->n_spread > 0) &&
        lacks_label(cycle, node, do_not_schedule))
        return FALSE;
    return pod_wants_node(cycle->pod, node->node);
}

static int32_t
count_on_node(const SpreadState *state, const NodeInfo *node)
{
    int32_t n = 0;

    for (const CachedPod *pod = node->pods; pod != NULL; pod = pod->next_on_node)
        n += pod_counter_counts_pod(state->counter, pod->pod) ? 1 : 0;
    return n;
}

/* The counters have all pods of a domain; subtracts pods on nodes that do not count, usually none.
 */
static void
count_outside(Cycle *cycle, SpreadState *state)
{
    const GArray *counts = pod_counter_counts(state->counter);
    unsigned n;
    NodeInfo *const *nodes = scheduler_cache_nodes(cycle->view->cache, &n);

    state->first_outside = cycle->outside->len;
    state->n_outside = counts->len;
    g_array_set_size(cycle->outside, cycle->outside->len + counts->len);
    int32_t *outside = &g_array_index(cycle->outside, int32_t, state->first_outside);
    for (unsigned i = 0; pod_counter_total(state->counter) > 0 && i < n; i++) {
        int32_t domain = node_domain(&nodes[i]->domains, state->topology);
        if (pod_counter_get(state->counter, domain) > 0 &&
            !is_eligible(cycle, nodes[i], state->do_not_schedule))
            outside[domain] += count_on_node(state, nodes[i]);
    }
}

/* Pods of the constraint in a domain, on nodes that count. */
static int32_t
count_in_domain(const Cycle *cycle, const SpreadState *state, int32_t domain)
{
    int32_t count = pod_counter_get(state->counter, domain);

    if (domain >= 0 && (unsigned)domain < state->n_outside)
        count -= g_array_index(cycle->outside, int32_t, state->first_outside + (unsigned)domain);
    return count;
}

/* Counting different domains: a new count, and whether a domain is new in it. */
static void
begin_marks(Cycle *cycle)
{
    cycle->n_marks++;
}

static gboolean
pod_topology_spread_mark(Cycle *cycle, int32_t domain)
{
    if (cycle->marks->len <= (unsigned)domain)
        g_array_set_size(cycle->marks, (unsigned)domain + 1);
    unsigned *at = &g_array_index(cycle->marks, unsigned, domain);
    gboolean is_new = *at != cycle->n_marks;
    *at = cycle->n_marks;
    return is_new;
}

/* VF-63: the smallest count among the domains of eligible nodes; 0 if there are too few domains. */
static void
find_minimum(Cycle *cycle, SpreadState *state)
{
    int32_t n_domains = 0;
    unsigned n;
    NodeInfo *const *nodes = scheduler_cache_nodes(cycle->view->cache, &n);

    begin_marks(cycle);
    state->min_count = INT32_MAX;
    for (unsigned i = 0; i < n; i++) {
        if (!is_eligible(cycle, nodes[i], TRUE))
            continue;
        int32_t domain = node_domain(&nodes[i]->domains, state->topology);
        n_domains += pod_topology_spread_mark(cycle, domain) ? 1 : 0;
        state->min_count = MIN(state->min_count, count_in_domain(cycle, state, domain));
    }
    if (n_domains < state->min_domains)
        state->min_count = 0;
}

Verdict
topology_spread_pre_filter(Cycle *cycle)
{
    gboolean any = FALSE;

    find_constraints(cycle);
    for (unsigned i = 0; i < cycle->spread->len; i++) {
        SpreadState *state = &g_array_index(cycle->spread, SpreadState, i);
        if (!state->do_not_schedule)
            continue;
        count_outside(cycle, state);
        find_minimum(cycle, state);
        any = TRUE;
    }
    return any ? VERDICT_OK : VERDICT_SKIP;
}

/* VF-60, VF-63 */
Verdict
topology_spread_filter(Cycle *cycle, const NodeInfo *node)
{
    for (unsigned i = 0; i < cycle->spread->len; i++) {
        const SpreadState *state = &g_array_index(cycle->spread, SpreadState, i);
        if (!state->do_not_schedule)
            continue;
        int32_t domain = node_domain(&node->domains, state->topology);
        if (domain < 0) {
            cycle_reason(
                cycle,
                "node(s) didn't match pod topology spread constraints (missing required label)");
            return VERDICT_UNRESOLVABLE;
        }
        int32_t skew = count_in_domain(cycle, state, domain) + (state->matches_itself ? 1 : 0) -
                       state->min_count;
        if (skew > state->max_skew) {
            cycle_reason(cycle, "node(s) didn't match pod topology spread constraints");
            return VERDICT_UNSCHEDULABLE;
        }
    }
    return VERDICT_OK;
}

/* ---- Score ---- */

/* VF-66: the pod's own constraints ignore nodes without their labels; the default ones do not
 * (VF-67). */
static gboolean
is_ignored(const Cycle *cycle, const NodeInfo *node)
{
    return cycle->pod->spec->n_spread > 0 && lacks_label(cycle, node, FALSE);
}

/* Whether some node may not count (VF-64). */
static gboolean
is_picky(const Pod *pod)
{
    const PodSpec *spec = pod->spec;

    return spec->n_spread > 0 || spec->node_selector != NULL || spec->required_nodes != NULL;
}

/* VF-65: how many domains the feasible nodes are in; by host names that is how many nodes there
 * are. */
static unsigned
count_domains(Cycle *cycle, const SpreadState *state)
{
    unsigned n_nodes = 0, n_domains = 0;

    begin_marks(cycle);
    for (unsigned i = 0; i < cycle->feasible->len; i++) {
        const NodeInfo *node = cycle->feasible->pdata[i];
        if (is_ignored(cycle, node))
            continue;
        n_nodes++;
        int32_t domain = state->is_hostname ? -1 : node_domain(&node->domains, state->topology);
        if (domain >= 0 && pod_topology_spread_mark(cycle, domain))
            n_domains++;
    }
    return state->is_hostname ? n_nodes : n_domains;
}

gboolean
topology_spread_pre_score(Cycle *cycle)
{
    gboolean any = FALSE;

    for (unsigned i = 0; i < cycle->spread->len; i++) {
        SpreadState *state = &g_array_index(cycle->spread, SpreadState, i);
        if (state->do_not_schedule)
            continue;
        state->weight = pm_log((double)count_domains(cycle, state) + 2);
        if (is_picky(cycle->pod))
            count_outside(cycle, state);
        any = TRUE;
    }
    return any;
}

/* Away from all scores: they are sums of counts and skews, so never negative. */
#define IGNORED_SCORE INT64_C(-1)

int64_t
topology_spread_score(Cycle *cycle, const NodeInfo *node)
{
    const SpreadState *states = (const SpreadState *)(void *)cycle->spread->data;
    double score = 0;

    if (is_ignored(cycle, node))
        return IGNORED_SCORE;
    for (unsigned i = 0; i < cycle->spread->len; i++) {
        const SpreadState *state = &states[i];
        int32_t domain = node_domain(&node->domains, state->topology);
        if (state->do_not_schedule || domain < 0)
            continue;
        score += (double)count_in_domain(cycle, state, domain) * state->weight +
                 (double)(state->max_skew - 1);
    }
    return (int64_t)(score + 0.5);
}

/* VF-66 */
void
topology_spread_normalise(const Cycle *cycle, int64_t *scores, unsigned n)
{
    int64_t min = INT64_MAX, max = 0;

    (void)cycle;
    for (unsigned i = 0; i < n; i++) {
        if (scores[i] == IGNORED_SCORE)
            continue;
        min = MIN(min, scores[i]);
        max = MAX(max, scores[i]);
    }
    for (unsigned i = 0; i < n; i++) {
        if (scores[i] == IGNORED_SCORE)
            scores[i] = 0;
        else if (max == 0)
            scores[i] = MAX_NODE_SCORE;
        else
            scores[i] = MAX_NODE_SCORE * (max + min - scores[i]) / max;
    }
}
