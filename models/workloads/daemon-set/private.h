/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "models/workloads/daemon-set/nodes.h"
#include "models/workloads/owner-controller.h"
#include "models/workloads/pod-orders.h"
#include "models/workloads/pods.h"
#include "models/workloads/revisions.h"
#include "models/workloads/status-write.h"

/* The parts of the DaemonSet controller, Kubernetes' pkg/controller/daemon: daemon-set.c (handlers,
 * state, the sync), nodes.c (which nodes), manage.c (pods on nodes), update.c (rolling updates),
 * orders.c (creations and deletions), history.c (revisions), status.c. */

/* DS-8: failedPodsBackoff: the shortest and longest time between two deletions of a node's failed
 * pods */
#define FAILED_BACKOFF_MIN SIM_SECOND
#define FAILED_BACKOFF_MAX (15 * SIM_MINUTE)

typedef struct {
    SimTime at, delay;
    int32_t generation; /* status.observedGeneration of the set: a new one resets the back-off */
} DaemonFailure;

/* What the controller remembers of a set between syncs. */
typedef struct {
    OwnerState base;
    GHashTable *failures; /* node name -> DaemonFailure; NULL: none yet */
} DaemonState;

typedef struct {
    OwnerController head; /* with DaemonStates */
    Informer *nodes;
    Revisions revisions;
} DaemonSetController;

typedef enum {
    DAEMON_ORDERED = POD_ORDERS_CHANGES_END, /* @number: creations; @pointer: GPtrArray of
                                                ObjectKey: deletions */
    DAEMON_FAILED, /* @text: the node whose failed pod is deleted now; @number:
                      status.observedGeneration */
} DaemonChange;

typedef struct {
    int32_t observed, current, misscheduled, desired, ready, available, unavailable, updated;
} DaemonStatus;

/* One sync: the notes of its plan. */
typedef struct {
    StatusWrite write;
    const DaemonSet *set; /* (owned): as it was at the beginning of the sync */
    Claimed claimed;
    GHashTable *on_node; /* node name -> GPtrArray of const Pod (borrowed from @claimed), the oldest
                            first */
    Tolerations *tolerations;
    GPtrArray *wanting;  /* names of the nodes that get a pod */
    GPtrArray *deletes;  /* ObjectKeys of pods */
    const char *hash;    /* the template's, interned */
    ObjectKey *revision; /* the template's */
    const char *error;   /* interned: the error of a pod's creation or deletion; NULL: none */
    PlanDecide next;     /* called once the pods are ordered */
    const char *rule;    /* the rule that they follow; static */
    PodOrders orders;
    gboolean is_held; /* it waits for earlier orders, so no generation is observed */
    DaemonStatus status;
} DaemonSync;

/* ---- daemon-set.c ---- */

/* Finds the set's pods, and sorts them by the node that they are bound to or made for. */
void daemon_look(const DaemonSetController *self, DaemonSync *sync);
/* DS-32: whether the pod has the set's template. */
gboolean daemon_pod_is_updated(const DaemonSync *sync, const Pod *pod);

/* ---- One sync, in this order; each function goes on with the next ---- */

/* Finds the revision of the set's template, or the name of a new one. */
void daemon_find_revision(const DaemonSetController *self, DaemonSync *sync);
void daemon_plan_revision(const DaemonSetController *self, Plan *plan, const DaemonSync *sync);
void daemon_decide_nodes(const void *self, Plan *plan);
void daemon_decide_update(const void *self, Plan *plan);
extern const RuleTable daemon_pod_rules;    /* DS-4..8 */
extern const RuleTable daemon_update_rules; /* DS-20, DS-21 */
void daemon_plan_history(const DaemonSetController *self, Plan *plan, const DaemonSync *sync);
void daemon_decide_status(const void *self, Plan *plan);

/* ---- orders.c ---- */

/* CGO-8: nodes come in any order, and so do their pods. @names: interned; @pods: of ObjectKey */
void daemon_shuffle_nodes(const DaemonSetController *self, GPtrArray *names);
void daemon_shuffle_pods(const DaemonSetController *self, GPtrArray *pods);
/* Empties @sync's lists of nodes that get a pod and of pods to be deleted. */
void daemon_begin_pods(DaemonSync *sync);
/* Orders the pods of these lists by @rule: at most 250 creations by slow start, then, even after an
 * error, at most 250 deletions at once. Then goes on with @next. */
void daemon_plan_pods(const DaemonSetController *self,
                      Plan *plan,
                      DaemonSync *sync,
                      const char *rule,
                      PlanDecide next);
