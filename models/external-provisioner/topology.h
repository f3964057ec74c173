/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "models/api/pod.h"
#include "models/client/process.h"
#include "models/plan/rules.h"

/* Where a volume may be: external-provisioner's pkg/controller/topology.go. A segment is a set of
 * key=value pairs, a StringMap. A segment lives as long as its owner, because earlier requests
 * point to it. */

/* ---- A sorted set of segments ---- */

typedef struct {
    StringMap *segment; /* owned */
    unsigned n_nodes;   /* that have it */
} TopologyTerm;

typedef struct {
    TopologyTerm *terms; /* sorted, no two equal */
    unsigned n_terms, room;
    unsigned n_used; /* with nodes */
} TopologyTerms;

/* Returns: (borrowed): the term of @segment; a new term moves the others */
TopologyTerm *topology_terms_add(TopologyTerms *self, const StringMap *segment);
/* Returns: (borrowed): NULL: it is not among them */
void topology_terms_clear(TopologyTerms *self);

/* TOPO-4: a class's allowedTopologies as segments: each term's cross product. */
void topology_terms_flatten(TopologyTerms *self, const NodeSelector *allowed);

/* ---- The cluster: which segments its nodes form ---- */

/* The segments of all nodes that have the labels of one list of topology keys. The driver's
 * CSINodes give the lists. */
typedef struct {
    StringList *keys;     /* sorted */
    unsigned n_csi_nodes; /* that list these keys */
    TopologyTerms terms;
} TopologyPool;

typedef struct {
    const char *driver; /* interned */
    GPtrArray *pools;   /* of TopologyPool, in order of appearance */
} Topology;

void topology_init(Topology *self, const char *driver);
void topology_clear(Topology *self);
/* Informer events: @before and @after as in an informer's handler. @nodes: all known nodes, for new
 * keys; NULL: none. */
void topology_csi_node_changed(Topology *self,
                               const CsiNode *before,
                               const CsiNode *after,
                               InformerIter *nodes);
void topology_node_changed(Topology *self, const Node *before, const Node *after);

/* ---- What a claim asks for ---- */

typedef struct {
    const Topology *cluster;
    const TopologyTerms *allowed; /* of the class; no terms: anywhere */
    const char *claim_name;
    const char *node_name;      /* the selected node; NULL: none */
    const Node *node;           /* with node_name; NULL: not there */
    const CsiNode *csi_node;    /* with node_name; NULL: not there */
    gboolean strict, immediate; /* --strict-topology, --immediate-topology */
    gboolean looks_first;       /* for the CSINode, before all else (SREL-14) */
} TopologyQuery;

typedef struct {
    const char *rule;
    const StringMap **requisite, **preferred; /* from @alloc */
    unsigned n;                               /* of both; 0: no requirements */
    gboolean is_look_up;                      /* the error is that there is no CSINode */
} TopologyRequirement;

extern const RuleTable topology_rules; /* TOPO-1 to TOPO-6 */

typedef void *(*TopologyAlloc)(void *data, size_t size);
/**
 * topology_require:
 * Returns: (owned) (nullable): %NULL: @requirement is filled in; else why there is none, in the
 * provisioner's words
 */
char *topology_require(const TopologyQuery *query,
                       TopologyRequirement *requirement,
                       TopologyAlloc alloc,
                       void *data);
