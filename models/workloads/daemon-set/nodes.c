/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/workloads/daemon-set/nodes.h"

/* DS-2: AddOrUpdateDaemonPodTolerations() in Kubernetes' daemonset_util.go. The toleration for pods
 * in the host's network is left out. */
static const struct {
    const char *key;
    TaintEffect effect;
} daemon_taints[] = {
    {"node.kubernetes.io/not-ready",       TAINT_NO_EXECUTE },
    {"node.kubernetes.io/unreachable",     TAINT_NO_EXECUTE },
    {"node.kubernetes.io/disk-pressure",   TAINT_NO_SCHEDULE},
    {"node.kubernetes.io/memory-pressure", TAINT_NO_SCHEDULE},
    {"node.kubernetes.io/pid-pressure",    TAINT_NO_SCHEDULE},
    {"node.kubernetes.io/unschedulable",   TAINT_NO_SCHEDULE},
};

/* A toleration of the template with the same key, value, operator and effect is replaced by one
 * without an end. */
static gboolean
is_replaced(const Toleration *given, Strings *strings)
{
    for (unsigned i = 0; i < G_N_ELEMENTS(daemon_taints); i++)
        if (given->exists && given->key == strings_intern(strings, daemon_taints[i].key) &&
            given->effect == (int)daemon_taints[i].effect)
            return TRUE;
    return FALSE;
}

Tolerations *
daemon_tolerations(const DaemonSet *set, Strings *strings)
{
    const Tolerations *given = set->template->spec->tolerations;
    unsigned n_given = given == NULL ? 0 : given->n_items, n = 0;
    g_autofree Toleration *items = g_new0(Toleration, n_given + G_N_ELEMENTS(daemon_taints));

    for (unsigned i = 0; i < n_given; i++)
        if (!is_replaced(&given->items[i], strings))
            items[n++] = given->items[i];
    for (unsigned i = 0; i < G_N_ELEMENTS(daemon_taints); i++)
        items[n++] = (Toleration){
            .key = strings_intern(strings, daemon_taints[i].key),
            .value = strings_intern(strings, ""),
            .exists = TRUE,
            .effect = (int)daemon_taints[i].effect,
            .seconds = -1,
        };
    return tolerations_new(items, n);
}

enum {
    SELECTED = 1 << 0, /* the template's node selector and required affinity allow it */
    REPELLED = 1 << 1, /* a taint NoSchedule that the pods do not tolerate */
    EXPELLED = 1 << 2, /* a taint NoExecute that they do not tolerate */
    FIT_FACTS_END = 1 << 3,
};

static const Rule fit_table[] = {
    {"DS-1", 0,                   SELECTED,            DAEMON_UNFIT},
    {"DS-1", SELECTED | EXPELLED, 0,                   DAEMON_UNFIT},
    {"DS-1", SELECTED | REPELLED, EXPELLED,            DAEMON_STAYS},
    {"DS-1", SELECTED,            REPELLED | EXPELLED, DAEMON_RUNS },
};

const RuleTable daemon_fit_rules = RULE_TABLE("nodes of DaemonSets", FIT_FACTS_END, fit_table);

DaemonFit
daemon_fit(const DaemonSet *set, const Tolerations *tolerations, const Node *node)
{
    const PodSpec *spec = set->template->spec;
    unsigned facts = 0;

    if ((spec->node_selector == NULL ||
         string_map_contains(node->meta.labels, spec->node_selector)) &&
        node_selector_matches(spec->required_nodes, node->meta.labels, node->meta.key->name))
        facts |= SELECTED;
    for (unsigned i = 0; node->taints != NULL && i < node->taints->n_items; i++) {
        const Taint *taint = &node->taints->items[i];
        if (taint->effect != TAINT_PREFER_NO_SCHEDULE &&
            tolerations_find(tolerations, taint) == NULL)
            facts |= taint->effect == TAINT_NO_EXECUTE ? EXPELLED : REPELLED;
    }
    return (DaemonFit)rules_find(&daemon_fit_rules, facts, NULL)->then;
}

/* DS-3 */
PodSpec *
daemon_pod_spec(const DaemonSet *set, const Tolerations *tolerations, const char *node)
{
    const NodeSelectorTerm term = {.field_name = node};
    NodeSelector *only = node_selector_new(&term, 1);
    PodSpec *spec = pod_spec_for_nodes(set->template->spec, tolerations, only);

    node_selector_unref(only);
    return spec;
}

const char *
daemon_pod_node(const Pod *pod)
{
    const NodeSelector *required = pod->spec->required_nodes;

    if (pod->node_name != NULL)
        return pod->node_name;
    for (unsigned i = 0; required != NULL && i < required->n_terms; i++)
        if (required->terms[i].field_name != NULL)
            return required->terms[i].field_name;
    return NULL;
}
