/* SPDX-License-Identifier: GPL-3.0-or-later */
/* InterPodAffinity: pods that want, or do not want, to share a domain with others, and pods on
 * nodes that refuse or like the new one. Pods on nodes are never walked: each distinct term has a
 * counter by domain (pod-counts.h), so a filter costs the terms of the pod and not the pods of the
 * cluster. Several required terms count only pods that all of them match (VF-71). */
#include "plugins.h"

/* VF-73: hardPodAffinityWeight, of others' required affinity to this pod. */
#define HARD_POD_AFFINITY_WEIGHT 1

static void
add_term(Cycle *cycle, TermKind kind, PodCounter *counter, int64_t weight)
{
    TermState state = {kind, counter, weight};

    g_array_append_val(cycle->terms, state);
}

static PodCounter *
counter_of_term(const Cycle *cycle, const PodAffinityTerm *term)
{
    PodCounts *counts = scheduler_cache_pod_counts(cycle->view->cache);

    return pod_counts_matching(counts, cycle->pod->meta.key->namespace, term->namespaces,
                               term->selector, pod_counts_topology(counts, term->topology_key),
                               FALSE);
}

static gboolean
is_required(const PodAffinityTerm *term)
{
    return term->weight == 0 && !term->anti;
}

static unsigned
count_required(const PodSpec *spec)
{
    unsigned n = 0;

    for (unsigned i = 0; i < spec->n_pod_terms; i++)
        n += is_required(&spec->pod_terms[i]) ? 1 : 0;
    return n;
}

static LabelSelector *
join_selectors(const PodSpec *spec)
{
    g_autoptr(GArray) all = g_array_new(FALSE, FALSE, sizeof(SelectRequirement));

    for (unsigned i = 0; i < spec->n_pod_terms; i++) {
        const LabelSelector *selector = spec->pod_terms[i].selector;
        if (!is_required(&spec->pod_terms[i]))
            continue;
        if (selector == NULL) /* it matches nothing, so no pod matches all */
            return NULL;
        for (unsigned k = 0; k < selector->n_requirements; k++) {
            SelectRequirement requirement = selector->requirements[k];
            if (requirement.values != NULL)
                requirement.values = string_list_ref(requirement.values);
            g_array_append_val(all, requirement);
        }
    }
    return label_selector_new((const SelectRequirement *)(void *)all->data, all->len);
}

static gboolean
all_are_about(const Pod *pod, const char *namespace)
{
    for (unsigned i = 0; i < pod->spec->n_pod_terms; i++) {
        const PodAffinityTerm *term = &pod->spec->pod_terms[i];
        if (is_required(term) &&
            (term->namespaces == NULL ? pod->meta.key->namespace != namespace
                                      : !string_list_has(term->namespaces, namespace)))
            return FALSE;
    }
    return TRUE;
}

/* The namespaces of @term that are in all required terms; if there are none, an empty name, which
 * is no pod's namespace. */
static StringList *
join_namespaces(const Pod *pod, const PodAffinityTerm *term)
{
    g_autoptr(GPtrArray) shared = g_ptr_array_new();
    unsigned n = term->namespaces == NULL ? 1 : term->namespaces->n_items;

    for (unsigned i = 0; i < n; i++) {
        const char *namespace =
            term->namespaces == NULL ? pod->meta.key->namespace : term->namespaces->items[i];
        if (all_are_about(pod, namespace))
            g_ptr_array_add(shared, (void *)namespace);
    }
    if (shared->len == 0)
        g_ptr_array_add(shared, (void *)"");
    return string_list_new((const char *const *)shared->pdata, shared->len);
}

/* VF-71: counts only pods that all the required terms match. */
static PodCounter *
counter_of_required(const Cycle *cycle, const PodAffinityTerm *term)
{
    const Pod *pod = cycle->pod;
    PodAffinityTerm joined = {.topology_key = term->topology_key};

    if (count_required(pod->spec) == 1)
        return counter_of_term(cycle, term);
    joined.selector = join_selectors(pod->spec);
    joined.namespaces = join_namespaces(pod, term);
    PodCounter *counter = counter_of_term(cycle, &joined);
    label_selector_unref(joined.selector);
    string_list_unref(joined.namespaces);
    return counter;
}

static void
find_own_terms(Cycle *cycle)
{
    const Pod *pod = cycle->pod;

    cycle->self_affine = TRUE;
    for (unsigned i = 0; i < pod->spec->n_pod_terms; i++) {
        const PodAffinityTerm *term = &pod->spec->pod_terms[i];
        PodCounter *counter =
            is_required(term) ? counter_of_required(cycle, term) : counter_of_term(cycle, term);
        if (term->weight != 0) {
            add_term(cycle, TERM_SCORED, counter, term->anti ? -term->weight : term->weight);
        } else if (term->anti) {
            add_term(cycle, TERM_FORBIDDEN, counter, 0);
        } else {
            add_term(cycle, TERM_REQUIRED, counter, 0);
            cycle->self_affine =
                cycle->self_affine && pod_term_matches(term, pod->meta.key->namespace, pod);
        }
    }
}

static void
find_others_terms(Cycle *cycle)
{
    const PodCounts *counts = scheduler_cache_pod_counts(cycle->view->cache);

    for (unsigned i = 0; i < pod_counts_n_terms(counts); i++) {
        const CountedTerm *counted = pod_counts_term(counts, i);
        const PodAffinityTerm *term = &counted->term;
        if (pod_counter_total(counted->counter) == 0 ||
            !pod_term_matches(term, counted->namespace, cycle->pod))
            continue;
        if (term->weight != 0)
            add_term(cycle, TERM_SCORED, counted->counter,
                     term->anti ? -term->weight : term->weight);
        else if (term->anti)
            add_term(cycle, TERM_FORBIDS, counted->counter, 0);
        else
            add_term(cycle, TERM_SCORED, counted->counter, HARD_POD_AFFINITY_WEIGHT);
    }
}

Verdict
pod_affinity_pre_filter(Cycle *cycle)
{
    g_array_set_size(cycle->terms, 0);
    find_own_terms(cycle);
    find_others_terms(cycle);
    for (unsigned i = 0; i < cycle->terms->len; i++) {
        if (g_array_index(cycle->terms, TermState, i).kind != TERM_SCORED)
            return VERDICT_OK;
    }
    return VERDICT_SKIP;
}

static int32_t
count_at(const TermState *state, const NodeInfo *node)
{
    return pod_counter_get(state->counter,
                           node_domain(&node->domains, pod_counter_topology(state->counter)));
}

static gboolean
any_term_at(const Cycle *cycle, const NodeInfo *node, TermKind kind)
{
    for (unsigned i = 0; i < cycle->terms->len; i++) {
        const TermState *state = &g_array_index(cycle->terms, TermState, i);
        if (state->kind == kind && count_at(state, node) > 0)
            return TRUE;
    }
    return FALSE;
}

/* VF-71. The first pod of a group that wants to be together has no company yet: it may go anywhere
 * its labels allow. */
static gboolean
has_required_company(const Cycle *cycle, const NodeInfo *node)
{
    gboolean all_there = TRUE, nobody_anywhere = TRUE;

    for (unsigned i = 0; i < cycle->terms->len; i++) {
        const TermState *state = &g_array_index(cycle->terms, TermState, i);
        if (state->kind != TERM_REQUIRED)
            continue;
        if (node_domain(&node->domains, pod_counter_topology(state->counter)) < 0)
            return FALSE;
        all_there = all_there && count_at(state, node) > 0;
        nobody_anywhere = nobody_anywhere && pod_counter_total(state->counter) == 0;
    }
    return all_there || (nobody_anywhere && cycle->self_affine);
}

/* VF-70 */
Verdict
pod_affinity_filter(Cycle *cycle, const NodeInfo *node)
{
    if (!has_required_company(cycle, node)) {
        cycle_reason(cycle, "node(s) didn't match pod affinity rules");
        return VERDICT_UNRESOLVABLE;
    }
    if (any_term_at(cycle, node, TERM_FORBIDDEN)) {
        cycle_reason(cycle, "node(s) didn't match pod anti-affinity rules");
        return VERDICT_UNSCHEDULABLE;
    }
    if (any_term_at(cycle, node, TERM_FORBIDS)) {
        cycle_reason(cycle, "node(s) didn't satisfy existing pods anti-affinity rules");
        return VERDICT_UNSCHEDULABLE;
    }
    return VERDICT_OK;
}

/* VF-73 */
gboolean
pod_affinity_pre_score(Cycle *cycle)
{
    for (unsigned i = 0; i < cycle->terms->len; i++) {
        const TermState *state = &g_array_index(cycle->terms, TermState, i);
        if (state->kind == TERM_SCORED && pod_counter_total(state->counter) > 0)
            return TRUE;
    }
    return FALSE;
}

int64_t
pod_affinity_score(Cycle *cycle, const NodeInfo *node)
{
    int64_t sum = 0;

    for (unsigned i = 0; i < cycle->terms->len; i++) {
        const TermState *state = &g_array_index(cycle->terms, TermState, i);
        if (state->kind == TERM_SCORED)
            sum += state->weight * count_at(state, node);
    }
    return sum;
}

void
pod_affinity_normalise(const Cycle *cycle, int64_t *scores, unsigned n)
{
    int64_t min = INT64_MAX, max = INT64_MIN;

    (void)cycle;
    for (unsigned i = 0; i < n; i++) {
        min = MIN(min, scores[i]);
        max = MAX(max, scores[i]);
    }
    for (unsigned i = 0; i < n; i++)
        scores[i] = max == min ? 0
                               : (int64_t)((double)MAX_NODE_SCORE *
                                           ((double)(scores[i] - min) / (double)(max - min)));
}
