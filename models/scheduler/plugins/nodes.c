/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Plugins that look at a node's own spec, labels and taints: NodeUnschedulable, NodeName,
 * TaintToleration, NodeAffinity. The cache counts cordoned and tainted nodes: while there are none,
 * the filter is not asked. NodeAffinity narrows the nodes by the label index; if each of its terms
 * names a node, as for pods of a DaemonSet, only these nodes belong to the cycle (VF-47). */
#include "plugins.h"

static gboolean
pod_tolerates_unschedulable(const Pod *pod)
{
    const Taint taint = {.key = "node.kubernetes.io/unschedulable",
                         .value = "",
                         .effect = TAINT_NO_SCHEDULE,
                         .added_at = TIME_UNSET};

    return tolerations_find(pod->spec->tolerations, &taint) != NULL;
}

/* Without such nodes the filter has nothing to do. */
Verdict
node_unschedulable_pre_filter(Cycle *cycle)
{
    return scheduler_cache_node_counts(cycle->view->cache)->n_unschedulable == 0 ? VERDICT_ANY_NODE
                                                                                 : VERDICT_OK;
}

/* VF-40 */
Verdict
node_unschedulable_filter(Cycle *cycle, const NodeInfo *node)
{
    if (!node->node->unschedulable || pod_tolerates_unschedulable(cycle->pod))
        return VERDICT_OK;
    cycle_reason(cycle, "node(s) were unschedulable");
    return VERDICT_UNRESOLVABLE;
}

/* VF-41 */
Verdict
node_name_pre_filter(Cycle *cycle)
{
    return cycle->pod->node_name == NULL ? VERDICT_SKIP : VERDICT_OK;
}

Verdict
node_name_filter(Cycle *cycle, const NodeInfo *node)
{
    if (cycle->pod->node_name == node->key->name)
        return VERDICT_OK;
    cycle_reason(cycle, "node(s) didn't match the requested node name");
    return VERDICT_UNRESOLVABLE;
}

/* VF-48 */
const Taint *
pod_untolerated_taint(const Pod *pod, const Node *node)
{
    for (unsigned i = 0; node->taints != NULL && i < node->taints->n_items; i++) {
        const Taint *taint = &node->taints->items[i];
        if (taint->effect != TAINT_PREFER_NO_SCHEDULE &&
            tolerations_find(pod->spec->tolerations, taint) == NULL)
            return taint;
    }
    return NULL;
}

Verdict
taint_toleration_pre_filter(Cycle *cycle)
{
    return scheduler_cache_node_counts(cycle->view->cache)->n_tainted == 0 ? VERDICT_ANY_NODE
                                                                           : VERDICT_OK;
}

/* VF-42 */
Verdict
taint_toleration_filter(Cycle *cycle, const NodeInfo *node)
{
    if (node->node->taints == NULL)
        return VERDICT_OK;
    const Taint *taint = pod_untolerated_taint(cycle->pod, node->node);
    if (taint == NULL)
        return VERDICT_OK;
    cycle_reason_taint(cycle, taint);
    return VERDICT_UNRESOLVABLE;
}

/* VF-82. Kubernetes never skips it; without such a taint all nodes get the same 100, which decides
 * nothing. */
gboolean
taint_toleration_pre_score(Cycle *cycle)
{
    return scheduler_cache_node_counts(cycle->view->cache)->n_soft_tainted > 0;
}

/* Tolerations of other effects do not count here. */
static gboolean
pod_tolerates_softly(const Pod *pod, const Taint *taint)
{
    const Tolerations *tolerations = pod->spec->tolerations;

    for (unsigned i = 0; tolerations != NULL && i < tolerations->n_items; i++) {
        const Toleration *toleration = &tolerations->items[i];
        if ((toleration->effect < 0 || toleration->effect == TAINT_PREFER_NO_SCHEDULE) &&
            toleration_tolerates(toleration, taint))
            return TRUE;
    }
    return FALSE;
}

int64_t
taint_toleration_score(Cycle *cycle, const NodeInfo *node)
{
    const Taints *taints = node->node->taints;
    int64_t n = 0;

    for (unsigned i = 0; node->has_soft_taints && i < taints->n_items; i++) {
        if (taints->items[i].effect == TAINT_PREFER_NO_SCHEDULE &&
            !pod_tolerates_softly(cycle->pod, &taints->items[i]))
            n++;
    }
    return n;
}

void
taint_toleration_normalise(const Cycle *cycle, int64_t *scores, unsigned n)
{
    (void)cycle;
    normalise_by_max(scores, n, TRUE);
}

gboolean
pod_wants_node(const Pod *pod, const Node *node)
{
    if (pod->spec->node_selector != NULL &&
        !string_map_contains(node->meta.labels, pod->spec->node_selector))
        return FALSE;
    return node_selector_matches(pod->spec->required_nodes, node->meta.labels,
                                 node->meta.key->name);
}

#define UNWANTED "node(s) didn't match Pod's node affinity/selector"

static void
narrow_to_wanted(Cycle *cycle)
{
    const PodSpec *spec = cycle->pod->spec;
    LabelIndex *labels = scheduler_cache_labels(cycle->view->cache);
    NodeSet *wanted = cycle_narrow(cycle, PLUGIN_NODE_AFFINITY, UNWANTED);

    if (wanted == NULL)
        return;
    node_set_subtract(wanted, wanted);
    if (!label_index_add(labels, spec->required_nodes, wanted)) {
        cycle_widen(cycle, PLUGIN_NODE_AFFINITY);
        return;
    }
    label_index_keep(labels, spec->node_selector, wanted);
    cycle_narrow_exactly(cycle, PLUGIN_NODE_AFFINITY);
}

static void
name_node(Cycle *cycle, const char *name)
{
    const ObjectKey *key = objects_find_key(cycle->view->objects, KIND_NODE, NULL, name);
    const NodeInfo *node = key == NULL ? NULL : scheduler_cache_find_node(cycle->view->cache, key);

    if (node != NULL && node->place != NO_PLACE)
        node_set_add(&cycle->named, node->place);
}

/* VF-47: if each term names a node, as for pods of a DaemonSet, only those are looked at. */
static void
find_named_nodes(Cycle *cycle)
{
    const NodeSelector *required = cycle->pod->spec->required_nodes;
    unsigned n;

    for (unsigned i = 0; required != NULL && i < required->n_terms; i++) {
        if (required->terms[i].field_name == NULL)
            return;
    }
    if (required == NULL || required->n_terms == 0)
        return;
    scheduler_cache_nodes(cycle->view->cache, &n);
    node_set_init(&cycle->named, n);
    for (unsigned i = 0; i < required->n_terms; i++)
        name_node(cycle, required->terms[i].field_name);
    cycle->has_names = TRUE;
}

/* VF-43 */
Verdict
node_affinity_pre_filter(Cycle *cycle)
{
    const PodSpec *spec = cycle->pod->spec;

    if (spec->node_selector == NULL && spec->required_nodes == NULL)
        return VERDICT_SKIP;
    narrow_to_wanted(cycle);
    find_named_nodes(cycle);
    return VERDICT_OK;
}

Verdict
node_affinity_filter(Cycle *cycle, const NodeInfo *node)
{
    if (pod_wants_node(cycle->pod, node->node))
        return VERDICT_OK;
    cycle_reason(cycle, UNWANTED);
    return VERDICT_UNRESOLVABLE;
}

/* VF-83 */
gboolean
node_affinity_pre_score(Cycle *cycle)
{
    return cycle->pod->spec->preferred_nodes != NULL;
}

int64_t
node_affinity_score(Cycle *cycle, const NodeInfo *node)
{
    const NodeSelector *preferred = cycle->pod->spec->preferred_nodes;
    int64_t sum = 0;

    for (unsigned i = 0; i < preferred->n_terms; i++) {
        const NodeSelectorTerm *term = &preferred->terms[i];
        if (term->weight != 0 &&
            node_selector_term_matches(term, node->node->meta.labels, node->key->name))
            sum += term->weight;
    }
    return sum;
}

void
node_affinity_normalise(const Cycle *cycle, int64_t *scores, unsigned n)
{
    (void)cycle;
    normalise_by_max(scores, n, FALSE);
}
