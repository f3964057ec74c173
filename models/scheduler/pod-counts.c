/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Counts of pods by domain (a value of a node label), for affinity between pods and for spreading.
 * A counter is made when a selector or a term first asks for it: all pods are walked once, later
 * changes add or subtract. Equal selectors share a counter. Without any topology in use nothing is
 * counted. */
#include "pod-counts.h"

typedef struct {
    const char *label;
    GHashTable *domain_of; /* value of the label -> index + 1 */
} PodCountsTopology;

struct PodCounter {
    /* The counted pods: by their labels, or, without a selector here, pods that have a
     * CountedTerm. */
    const char *namespace;
    StringList *namespaces;
    LabelSelector *selector;
    gboolean living;
    unsigned topology;
    GArray *counts; /* of int32_t, by domain */
    int32_t total;
};

struct PodCounts {
    GArray *topologies;  /* of Topology */
    GPtrArray *counters; /* of PodCounter: the counters by labels */
    GPtrArray *terms;    /* of CountedTerm */
    PodCountsWorld world;
};

static void
counter_free(PodCounter *self)
{
    string_list_unref(self->namespaces);
    label_selector_unref(self->selector);
    g_array_unref(self->counts);
    g_free(self);
}

static void
counted_term_free(CountedTerm *self)
{
    label_selector_unref(self->term.selector);
    string_list_unref(self->term.namespaces);
    counter_free(self->counter);
    g_free(self);
}

static void
topology_clear(PodCountsTopology *self)
{
    g_hash_table_unref(self->domain_of);
}

PodCounts *
pod_counts_new(void)
{
    PodCounts *self = g_new0(PodCounts, 1);

    self->topologies = g_array_new(FALSE, TRUE, sizeof(PodCountsTopology));
    g_array_set_clear_func(self->topologies, (GDestroyNotify)topology_clear);
    self->counters = g_ptr_array_new_with_free_func((GDestroyNotify)counter_free);
    self->terms = g_ptr_array_new_with_free_func((GDestroyNotify)counted_term_free);
    return self;
}

void
pod_counts_free(PodCounts *self)
{
    if (self == NULL)
        return;
    g_ptr_array_unref(self->terms);
    g_ptr_array_unref(self->counters);
    g_array_unref(self->topologies);
    g_free(self);
}

void
pod_counts_set_world(PodCounts *self, const PodCountsWorld *world)
{
    self->world = *world;
}

gboolean
pod_counts_is_used(const PodCounts *self)
{
    return self->topologies->len > 0;
}

/* ---- Domains ---- */

void
node_domains_clear(NodeDomains *self)
{
    if (self->indexes != NULL)
        g_array_unref(g_steal_pointer(&self->indexes));
}

static int32_t
domain_of_labels(PodCountsTopology *topology, const StringMap *labels)
{
    const char *value = string_map_get(labels, topology->label);

    if (value == NULL)
        return -1;
    unsigned found = GPOINTER_TO_UINT(g_hash_table_lookup(topology->domain_of, value));
    if (found == 0) {
        found = g_hash_table_size(topology->domain_of) + 1;
        g_hash_table_insert(topology->domain_of, (char *)value, GUINT_TO_POINTER(found));
    }
    return (int32_t)found - 1;
}

void
pod_counts_set_node(PodCounts *self, NodeDomains *domains, const StringMap *labels, gboolean gone)
{
    if (domains->indexes == NULL)
        domains->indexes = g_array_new(FALSE, TRUE, sizeof(int32_t));
    g_array_set_size(domains->indexes, self->topologies->len);
    for (unsigned i = 0; i < self->topologies->len; i++)
        g_array_index(domains->indexes, int32_t, i) =
            gone ? -1
                 : domain_of_labels(&g_array_index(self->topologies, PodCountsTopology, i), labels);
}

static void
visit_node(PodCounts *self, NodeDomains *domains, const StringMap *labels)
{
    pod_counts_set_node(self, domains, labels, FALSE);
}

unsigned
pod_counts_topology(PodCounts *self, const char *label)
{
    for (unsigned i = 0; i < self->topologies->len; i++) {
        if (g_array_index(self->topologies, PodCountsTopology, i).label == label)
            return i;
    }
    PodCountsTopology topology = {label, g_hash_table_new(g_direct_hash, g_direct_equal)};
    g_array_append_val(self->topologies, topology);
    self->world.each_node(self->world.data, visit_node, self);
    return self->topologies->len - 1;
}

/* ---- Counters ---- */

static gboolean
namespaces_have(const StringList *namespaces, const char *own, const char *namespace)
{
    return namespaces == NULL ? own == namespace : string_list_has(namespaces, namespace);
}

gboolean
pod_term_matches(const PodAffinityTerm *term, const char *namespace, const Pod *pod)
{
    return namespaces_have(term->namespaces, namespace, pod->meta.key->namespace) &&
           label_selector_matches(term->selector, pod->meta.labels);
}

static void
counter_add(PodCounter *self, int32_t domain, int change)
{
    if (domain < 0)
        return;
    if (self->counts->len <= (unsigned)domain)
        g_array_set_size(self->counts, (unsigned)domain + 1);
    g_array_index(self->counts, int32_t, domain) += change;
    self->total += change;
}

gboolean
pod_counter_counts_pod(const PodCounter *self, const Pod *pod)
{
    return namespaces_have(self->namespaces, self->namespace, pod->meta.key->namespace) &&
           !(self->living && object_is_deleted(&pod->meta)) &&
           label_selector_matches(self->selector, pod->meta.labels);
}

static PodCounter *
counter_new(unsigned topology)
{
    PodCounter *self = g_new0(PodCounter, 1);

    self->topology = topology;
    self->counts = g_array_new(FALSE, TRUE, sizeof(int32_t));
    return self;
}

static void
visit_pod(PodCounter *counter, const Pod *pod, const NodeDomains *domains)
{
    if (pod_counter_counts_pod(counter, pod))
        counter_add(counter, node_domain(domains, counter->topology), 1);
}

PodCounter *
pod_counts_matching(PodCounts *self,
                    const char *namespace,
                    const StringList *namespaces,
                    const LabelSelector *selector,
                    unsigned topology,
                    gboolean living)
{
    for (unsigned i = 0; i < self->counters->len; i++) {
        PodCounter *counter = self->counters->pdata[i];
        if (counter->topology == topology && counter->living == living &&
            counter->namespace == namespace && string_list_equal(counter->namespaces, namespaces) &&
            label_selector_equal(counter->selector, selector))
            return counter;
    }
    PodCounter *counter = counter_new(topology);
    counter->namespace = namespace;
    counter->namespaces = namespaces == NULL ? NULL : string_list_ref(namespaces);
    counter->selector = selector == NULL ? NULL : label_selector_ref(selector);
    counter->living = living;
    g_ptr_array_add(self->counters, counter);
    self->world.each_pod(self->world.data, visit_pod, counter);
    return counter;
}

static gboolean
same_term(const CountedTerm *known, const PodAffinityTerm *term, const char *namespace)
{
    return known->namespace == namespace && known->term.topology_key == term->topology_key &&
           known->term.weight == term->weight && known->term.anti == term->anti &&
           string_list_equal(known->term.namespaces, term->namespaces) &&
           label_selector_equal(known->term.selector, term->selector);
}

static CountedTerm *
counted_term(PodCounts *self, const PodAffinityTerm *term, const char *namespace)
{
    for (unsigned i = 0; i < self->terms->len; i++) {
        CountedTerm *known = self->terms->pdata[i];
        if (same_term(known, term, namespace))
            return known;
    }
    CountedTerm *counted = g_new0(CountedTerm, 1);
    counted->namespace = namespace;
    counted->term = *term;
    counted->term.selector = term->selector == NULL ? NULL : label_selector_ref(term->selector);
    counted->term.namespaces = term->namespaces == NULL ? NULL : string_list_ref(term->namespaces);
    counted->counter = counter_new(pod_counts_topology(self, term->topology_key));
    g_ptr_array_add(self->terms, counted);
    return counted;
}

void
pod_counts_add_pod(PodCounts *self, const Pod *pod, const NodeDomains *domains, int change)
{
    for (unsigned i = 0; i < self->counters->len; i++) {
        PodCounter *counter = self->counters->pdata[i];
        if (pod_counter_counts_pod(counter, pod))
            counter_add(counter, node_domain(domains, counter->topology), change);
    }
    for (unsigned i = 0; i < pod->spec->n_pod_terms; i++) {
        PodCounter *counter =
            counted_term(self, &pod->spec->pod_terms[i], pod->meta.key->namespace)->counter;
        counter_add(counter, node_domain(domains, counter->topology), change);
    }
}

unsigned
pod_counts_n_terms(const PodCounts *self)
{
    return self->terms->len;
}

const CountedTerm *
pod_counts_term(const PodCounts *self, unsigned i)
{
    return self->terms->pdata[i];
}

unsigned
pod_counter_topology(const PodCounter *self)
{
    return self->topology;
}

int32_t
pod_counter_get(const PodCounter *self, int32_t domain)
{
    if (domain < 0 || (unsigned)domain >= self->counts->len)
        return 0;
    return g_array_index(self->counts, int32_t, domain);
}

int32_t
pod_counter_total(const PodCounter *self)
{
    return self->total;
}

const GArray *
pod_counter_counts(const PodCounter *self)
{
    return self->counts;
}
