/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "models/api/pod.h"

/* How many pods of a kind there are in each domain of a topology (all nodes with the same value of
 * a label): what PodTopologySpread and InterPodAffinity ask for each pod and node. Counted as pods
 * come and go, so that asking costs the same however many pods there are. A counter is made when it
 * is first asked for and stays. */
typedef struct PodCounts PodCounts;
typedef struct PodCounter PodCounter;

PodCounts *pod_counts_new(void);
void pod_counts_free(PodCounts *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(PodCounts, pod_counts_free)

/* A node's domains, by topology; kept by the owner of the node. */
typedef struct {
    GArray *indexes; /* of int32_t, -1: the node has no such label; NULL: none known */
} NodeDomains;

void node_domains_clear(NodeDomains *self);
/* -1: none */
static inline int32_t
node_domain(const NodeDomains *self, unsigned topology)
{
    if (self->indexes == NULL || topology >= self->indexes->len)
        return -1;
    return g_array_index(self->indexes, int32_t, topology);
}

/* How the counts reach nodes and pods that exist already when something new is counted. */
typedef struct {
    void (*each_node)(void *data,
                      void (*visit)(PodCounts *self, NodeDomains *domains, const StringMap *labels),
                      PodCounts *self);
    void (*each_pod)(void *data,
                     void (*visit)(PodCounter *counter, const Pod *pod, const NodeDomains *domains),
                     PodCounter *counter);
    void *data;
} PodCountsWorld;
void pod_counts_set_world(PodCounts *self, const PodCountsWorld *world);

/* The number of the topology of this label. */
unsigned pod_counts_topology(PodCounts *self, const char *label);
gboolean pod_counts_is_used(const PodCounts *self);
/* The node has these labels now (@gone: it has none for us, and @labels is NULL). Its pods must be
 * out of the counts meanwhile. */
void
pod_counts_set_node(PodCounts *self, NodeDomains *domains, const StringMap *labels, gboolean gone);
/* A pod is on a node, or no longer (@change -1). */
void pod_counts_add_pod(PodCounts *self, const Pod *pod, const NodeDomains *domains, int change);

/**
 * pod_counts_matching:
 * Pods that @selector matches in @namespaces, or in @namespace if that is NULL.
 * @living: do not count pods that are being deleted (VF-64)
 */
PodCounter *pod_counts_matching(PodCounts *self,
                                const char *namespace,
                                const StringList *namespaces,
                                const LabelSelector *selector,
                                unsigned topology,
                                gboolean living);

/* A term of pods on nodes; equal terms are one entry. Its counter counts the pods with the term. */
typedef struct {
    const char *namespace; /* of the pods that have it */
    PodAffinityTerm term;  /* references (owned) */
    PodCounter *counter;
} CountedTerm;
unsigned pod_counts_n_terms(const PodCounts *self);
const CountedTerm *pod_counts_term(const PodCounts *self, unsigned i);
/* Whether a term of a pod in @namespace is about @pod. */
gboolean pod_term_matches(const PodAffinityTerm *term, const char *namespace, const Pod *pod);

/* Whether it counts this pod, wherever that is. */
gboolean pod_counter_counts_pod(const PodCounter *self, const Pod *pod);
unsigned pod_counter_topology(const PodCounter *self);
int32_t pod_counter_get(const PodCounter *self, int32_t domain); /* 0 for -1 */
const GArray *
pod_counter_counts(const PodCounter *self);        /* of int32_t, by domain; those beyond are 0 */
int32_t pod_counter_total(const PodCounter *self); /* on nodes that have the label */
