/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "models/api/storage.h"
#include "models/plan/plan.h"

#include "topology.h"

/* The capacity controller: one CSIStorageCapacity for each pair of a segment of the cluster and a
 * class of the driver. external-provisioner's pkg/capacity/capacity.go. A part of the provisioner
 * with a queue and a client of its own. */
typedef struct Capacity Capacity;

extern const RuleTable capacity_rules; /* CAP-2, CAP-4 */

typedef struct {
    Component *component;    /* the provisioner; all borrowed */
    const char *namespace;   /* of the objects */
    const char *managed_by;  /* CAP-3: the label's value; interned */
    OwnerReferences *owners; /* of the objects; NULL: none */
    gboolean for_immediate;  /* --capacity-for-immediate-binding */
    unsigned n_workers;      /* --capacity-threads */
    SimTime poll_interval;
    SimTime timeout; /* of GetCapacity */
    RateLimit limit; /* of retries */
    ApiClient *client;
    gboolean has_topology;         /* else all nodes are one segment */
    gboolean on_node;              /* node deployment: only the own node's segment */
    const StringMap *node_segment; /* ...; NULL: it has none */
} CapacityOptions;

/* Returns: (owned): works from now on: subscribes, and polls at once (CAP-5). @options is copied.
 */
Capacity *capacity_new(const CapacityOptions *options);
void capacity_free(Capacity *self);

/* CAP-6: all items of a class; those in the places of a volume, or all of its class if it may be
 * anywhere. */
void capacity_refresh_class(Capacity *self, const char *class_name);
void capacity_refresh_volume(Capacity *self, const Volume *volume);
/* ... of segments that a term of @affinity names. */
void capacity_refresh_affinity(Capacity *self, const NodeSelector *affinity);
/* Returns: (owned) (nullable): a term as a segment; FALSE: it is none */
gboolean capacity_term_segment(const NodeSelectorTerm *term, StringMap **segment);

/* Of a plan: a name was drawn for the item of this key. */
void capacity_named(Capacity *self, const ObjectKey *key);

/* For tests and metrics, in order of appearance. Returns: FALSE: it is wanted no more */
typedef struct {
    const ObjectKey *key; /* in the queue */
    const char *class_name;
    const StringMap *segment;
    const ObjectKey *object; /* NULL: none is known */
} CapacityItemView;
unsigned capacity_n_items(const Capacity *self);
gboolean capacity_item(const Capacity *self, unsigned i, CapacityItemView *view);
/* CAP-7: objects that are to go. */
unsigned capacity_n_obsolete(const Capacity *self);
/* Segments of the cluster, in order. */
const TopologyTerms *capacity_segments(const Capacity *self);
/* Works no more: what is queued stays there. */
void capacity_hold(Capacity *self);
WorkQueue *capacity_queue(const Capacity *self);
