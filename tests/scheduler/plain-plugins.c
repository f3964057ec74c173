/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "plain-private.h"

#include <string.h>

/* ---- Labels and selectors ---- */

const char *
plain_label(const StringMap *labels, const char *key)
{
    for (unsigned i = 0; labels != NULL && i < labels->n_pairs; i++) {
        if (strcmp(labels->pairs[i].key, key) == 0)
            return labels->pairs[i].value;
    }
    return NULL;
}

static gboolean
plain_plugins_list_has(const StringList *list, const char *text)
{
    for (unsigned i = 0; list != NULL && i < list->n_items; i++) {
        if (strcmp(list->items[i], text) == 0)
            return TRUE;
    }
    return FALSE;
}

static gboolean
requirement_holds(const SelectRequirement *requirement, const StringMap *labels)
{
    const char *value = plain_label(labels, requirement->key);

    switch (requirement->operator) {
    case SELECT_IN:
        return value != NULL && plain_plugins_list_has(requirement->values, value);
    case SELECT_NOT_IN:
        return value == NULL || !plain_plugins_list_has(requirement->values, value);
    case SELECT_EXISTS:
        return value != NULL;
    case SELECT_DOES_NOT_EXIST:
        return value == NULL;
    case SELECT_GT:
    case SELECT_LT:
        break; /* none of the clusters compared has such */
    }
    g_assert_not_reached();
}

gboolean
plain_selects(const LabelSelector *selector, const StringMap *labels)
{
    for (unsigned i = 0; selector != NULL && i < selector->n_requirements; i++) {
        if (!requirement_holds(&selector->requirements[i], labels))
            return FALSE;
    }
    return selector != NULL;
}

/* VB-30, VF-47 */
gboolean
plain_selects_node(const NodeSelector *selector, const StringMap *labels, const char *node_name)
{
    for (unsigned i = 0; selector != NULL && i < selector->n_terms; i++) {
        const NodeSelectorTerm *term = &selector->terms[i];
        gboolean says_something =
            term->field_name != NULL ||
            (term->expressions != NULL && term->expressions->n_requirements > 0);
        if (says_something &&
            (term->field_name == NULL ||
             (node_name != NULL && strcmp(term->field_name, node_name) == 0)) &&
            (term->expressions == NULL || plain_selects(term->expressions, labels)))
            return TRUE;
    }
    return selector == NULL;
}

const StringMap *
plain_node_labels(const Asked *asked)
{
    return asked->node->meta.labels;
}

/* ---- Verdicts ---- */

gboolean
plain_reject(Asked *asked, gboolean unhelpable, const char *text)
{
    g_ptr_array_add(asked->reasons, g_strdup(text));
    asked->unhelpable = unhelpable;
    return FALSE;
}

/* ---- The filters ---- */

static gboolean
tolerates(const Pod *pod, const char *key, const char *value, TaintEffect effect)
{
    const Tolerations *tolerations = pod->spec->tolerations;

    for (unsigned i = 0; tolerations != NULL && i < tolerations->n_items; i++) {
        const Toleration *toleration = &tolerations->items[i];
        gboolean any_key = toleration->exists && plain_text_or_empty(toleration->key)[0] == '\0';
        if ((toleration->effect == -1 || toleration->effect == (int)effect) &&
            (any_key || strcmp(toleration->key, key) == 0) &&
            (toleration->exists || strcmp(plain_text_or_empty(toleration->value), value) == 0))
            return TRUE;
    }
    return FALSE;
}

/* VF-40 */
gboolean
plain_node_unschedulable(Asked *asked)
{
    if (!asked->node->unschedulable ||
        tolerates(asked->pod, "node.kubernetes.io/unschedulable", "", TAINT_NO_SCHEDULE))
        return TRUE;
    return plain_reject(asked, TRUE, "node(s) were unschedulable");
}

/* VF-42 */
gboolean
plain_taint_toleration(Asked *asked)
{
    const Taints *taints = asked->node->taints;

    for (unsigned i = 0; taints != NULL && i < taints->n_items; i++) {
        const Taint *taint = &taints->items[i];
        const char *value = plain_text_or_empty(taint->value);
        if (taint->effect == TAINT_PREFER_NO_SCHEDULE ||
            tolerates(asked->pod, taint->key, value, taint->effect))
            continue;
        g_autofree char *text =
            g_strdup_printf("node(s) had untolerated taint {%s: %s}", taint->key, value);
        return plain_reject(asked, TRUE, text);
    }
    return TRUE;
}

static gboolean
plain_plugins_is_wanted(const Pod *pod, const Node *node)
{
    const StringMap *wanted = pod->spec->node_selector;

    for (unsigned i = 0; wanted != NULL && i < wanted->n_pairs; i++) {
        if (g_strcmp0(plain_label(node->meta.labels, wanted->pairs[i].key),
                      wanted->pairs[i].value) != 0)
            return FALSE;
    }
    return plain_selects_node(pod->spec->required_nodes, node->meta.labels, node->meta.key->name);
}

/* VF-43 */
gboolean
plain_node_affinity(Asked *asked)
{
    if (plain_plugins_is_wanted(asked->pod, asked->node))
        return TRUE;
    return plain_reject(asked, TRUE, "node(s) didn't match Pod's node affinity/selector");
}

/* VF-50 */
gboolean
plain_resources_fit(Asked *asked)
{
    const PodSpec *asks = asked->pod->spec;
    NodeResources free = asked->node->allocatable;
    gboolean fits = TRUE;

    for (unsigned i = 0; i < asked->cluster->pods->len; i++) {
        const Pod *other = asked->cluster->pods->pdata[i];
        if (strcmp(other->node_name, asked->node->meta.key->name) != 0)
            continue;
        free.pods--;
        free.cpu_milli -= other->spec->cpu_milli;
        free.memory_bytes -= other->spec->memory_bytes;
    }
    if (free.pods < 1)
        fits = plain_reject(asked, FALSE, "Too many pods");
    if (asks->cpu_milli > 0 && asks->cpu_milli > free.cpu_milli)
        fits = plain_reject(asked, FALSE, "Insufficient cpu");
    if (asks->memory_bytes > 0 && asks->memory_bytes > free.memory_bytes)
        fits = plain_reject(asked, FALSE, "Insufficient memory");
    return fits;
}

/* ---- PodTopologySpread ---- */

static const Node *
plain_plugins_node_of(const PlainCluster *cluster, const Pod *pod)
{
    return (const Node *)plain_find(cluster->nodes, NULL, pod->node_name);
}

/* VF-64 */
static gboolean
is_eligible(const Pod *pod, const Node *node)
{
    for (unsigned i = 0; i < pod->spec->n_spread; i++) {
        if (pod->spec->spread[i].do_not_schedule &&
            plain_label(node->meta.labels, pod->spec->spread[i].topology_key) == NULL)
            return FALSE;
    }
    return plain_plugins_is_wanted(pod, node);
}

/* Pods that count, on eligible nodes of this domain. */
static int
count_in_domain(const Asked *asked, const SpreadConstraint *constraint, const char *domain)
{
    int n = 0;

    for (unsigned i = 0; i < asked->cluster->pods->len; i++) {
        const Pod *other = asked->cluster->pods->pdata[i];
        const Node *node = plain_plugins_node_of(asked->cluster, other);
        if (node != NULL && is_eligible(asked->pod, node) &&
            strcmp(plain_label(node->meta.labels, constraint->topology_key), domain) == 0 &&
            strcmp(other->meta.key->namespace, asked->pod->meta.key->namespace) == 0 &&
            other->meta.deleted_at == TIME_UNSET &&
            plain_selects(constraint->selector, other->meta.labels))
            n++;
    }
    return n;
}

/* VF-63 */
static int
smallest_count(const Asked *asked, const SpreadConstraint *constraint)
{
    g_autoptr(GHashTable) domains = g_hash_table_new(g_str_hash, g_str_equal);
    int min = INT32_MAX;

    for (unsigned i = 0; i < asked->cluster->nodes->len; i++) {
        const Node *node = asked->cluster->nodes->pdata[i];
        if (!is_eligible(asked->pod, node))
            continue;
        const char *domain = plain_label(node->meta.labels, constraint->topology_key);
        g_hash_table_add(domains, (void *)domain);
        min = MIN(min, count_in_domain(asked, constraint, domain));
    }
    return (int)g_hash_table_size(domains) < MAX(constraint->min_domains, 1) ? 0 : min;
}

gboolean
plain_topology_spread(Asked *asked)
{
    for (unsigned i = 0; i < asked->pod->spec->n_spread; i++) {
        const SpreadConstraint *constraint = &asked->pod->spec->spread[i];
        if (!constraint->do_not_schedule)
            continue;
        const char *domain = plain_label(plain_node_labels(asked), constraint->topology_key);
        if (domain == NULL)
            return plain_reject(asked, TRUE,
                                "node(s) didn't match pod topology spread constraints (missing "
                                "required label)");
        int skew = count_in_domain(asked, constraint, domain) +
                   (plain_selects(constraint->selector, asked->pod->meta.labels) ? 1 : 0) -
                   smallest_count(asked, constraint);
        if (skew > constraint->max_skew)
            return plain_reject(asked, FALSE,
                                "node(s) didn't match pod topology spread constraints");
    }
    return TRUE;
}

/* ---- InterPodAffinity ---- */

/* Whether a term of @owner is about @other. */
static gboolean
term_is_about(const PodAffinityTerm *term, const Pod *owner, const Pod *other)
{
    const char *namespace = other->meta.key->namespace;

    return (term->namespaces == NULL ? strcmp(owner->meta.key->namespace, namespace) == 0
                                     : plain_plugins_list_has(term->namespaces, namespace)) &&
           plain_selects(term->selector, other->meta.labels);
}

static gboolean
wants_all_of(const Pod *pod, const Pod *other)
{
    for (unsigned i = 0; i < pod->spec->n_pod_terms; i++) {
        const PodAffinityTerm *term = &pod->spec->pod_terms[i];
        if (term->weight == 0 && !term->anti && !term_is_about(term, pod, other))
            return FALSE;
    }
    return TRUE;
}

static gboolean
shares_domain(const Asked *asked, const Pod *other, const char *key)
{
    const Node *node = plain_plugins_node_of(asked->cluster, other);
    const char *domain = plain_label(plain_node_labels(asked), key);

    return node != NULL && domain != NULL &&
           g_strcmp0(plain_label(node->meta.labels, key), domain) == 0;
}

/* VF-71: is there a pod that all required terms are about in the domain of each? */
static gboolean
has_company(const Asked *asked)
{
    const Pod *pod = asked->pod;
    gboolean all_there = TRUE, any_anywhere = FALSE;

    for (unsigned i = 0; i < pod->spec->n_pod_terms; i++) {
        const PodAffinityTerm *term = &pod->spec->pod_terms[i];
        gboolean is_there = FALSE;
        if (term->weight != 0 || term->anti)
            continue;
        if (plain_label(plain_node_labels(asked), term->topology_key) == NULL)
            return FALSE;
        for (unsigned k = 0; k < asked->cluster->pods->len; k++) {
            const Pod *other = asked->cluster->pods->pdata[k];
            const Node *node = plain_plugins_node_of(asked->cluster, other);
            if (node == NULL || !wants_all_of(pod, other) ||
                plain_label(node->meta.labels, term->topology_key) == NULL)
                continue;
            any_anywhere = TRUE;
            is_there = is_there || shares_domain(asked, other, term->topology_key);
        }
        all_there = all_there && is_there;
    }
    return all_there || (!any_anywhere && wants_all_of(pod, pod));
}

/* VF-72: a required anti-affinity term of @owner, about @other, and the two would be neighbours. */
static gboolean
repels(const Asked *asked, const Pod *owner, const Pod *other, const Pod *neighbour)
{
    for (unsigned i = 0; i < owner->spec->n_pod_terms; i++) {
        const PodAffinityTerm *term = &owner->spec->pod_terms[i];
        if (term->weight == 0 && term->anti && term_is_about(term, owner, other) &&
            shares_domain(asked, neighbour, term->topology_key))
            return TRUE;
    }
    return FALSE;
}

/* VF-70 */
gboolean
plain_pod_affinity(Asked *asked)
{
    const GPtrArray *pods = asked->cluster->pods;

    if (!has_company(asked))
        return plain_reject(asked, TRUE, "node(s) didn't match pod affinity rules");
    for (unsigned i = 0; i < pods->len; i++) {
        if (repels(asked, asked->pod, pods->pdata[i], pods->pdata[i]))
            return plain_reject(asked, FALSE, "node(s) didn't match pod anti-affinity rules");
    }
    for (unsigned i = 0; i < pods->len; i++) {
        if (repels(asked, pods->pdata[i], asked->pod, pods->pdata[i]))
            return plain_reject(asked, FALSE,
                                "node(s) didn't satisfy existing pods anti-affinity rules");
    }
    return TRUE;
}
