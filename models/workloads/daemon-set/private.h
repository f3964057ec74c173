/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "models/workloads/daemon-set/nodes.h"
#include "models/workloads/pod-events.h"
#include "models/workloads/pod-orders.h"
#include "models/workloads/pods.h"
#include "models/workloads/revisions.h"

/* The DaemonSet controller's parts: daemon-set.c (what it hears and remembers, the sync),
 * nodes.c (which nodes: pure), manage.c (pods on nodes), update.c (rolling
 * updates), orders.c (making and deleting), history.c (revisions), status.c.
 * Kubernetes' pkg/controller/daemon. */

/* DS-8: failedPodsBackoff, how soon a node's failed pod is deleted again */
#define FAILED_BACKOFF_MIN SIM_SECOND
#define FAILED_BACKOFF_MAX (15 * SIM_MINUTE)

typedef struct {
    SimTime at, delay;
    int32_t generation; /* of the set, as its status told it: a new one begins afresh */
} DaemonFailure;

/* What the controller remembers of a set between syncs. */
typedef struct {
    Expectations expected;
    GHashTable *failures; /* node name -> DaemonFailure */
    uint64_t n_names;     /* that were made up for its pods */
} DaemonState;

typedef struct {
    Component base;
    Informer *sets, *pods, *nodes, *revisions;
    InformerIndex *pods_by_controller, *orphans, *revisions_by_controller;
    Workers *workers;
    GHashTable *states; /* ObjectKey of a set -> DaemonState */
    PodOwners owners;
} DaemonSetController;

typedef enum {
    DAEMON_ORDERED =
        POD_ORDERS_CHANGES_END, /* @number creations; @pointer: GPtrArray of ObjectKey, deletions */
    DAEMON_FAILED, /* @text: the node whose failed pod is deleted now; @number: the generation of
                      the set's status */
} DaemonChange;

typedef struct {
    int32_t observed, current, misscheduled, desired, ready, available, unavailable, updated;
} DaemonStatus;

/* One sync. */
typedef struct {
    const DaemonSet *set; /* (owned): as it was when the sync began */
    Claimed claimed;
    GHashTable *on_node; /* node name -> GPtrArray of const Pod (borrowed from @claimed), the oldest
                            first */
    Tolerations *tolerations;
    GPtrArray *wanting; /* names of nodes that get a pod */
    GPtrArray *deletes; /* ObjectKeys of pods; a plan owns it */
    const char *hash;   /* the template's, interned */
    const char *error;  /* interned: what went wrong with the pods; NULL: nothing */
    PlanDecide next;    /* once the pods are ordered */
    const char *rule;   /* why they are; static */
    PodOrders orders;
    gboolean is_held; /* it waits for what it ordered: no generation is observed */
    DaemonStatus status;
} DaemonSync;

/* ---- daemon-set.c ---- */

/* Finds the set's pods, and which node each is on or made for. */
void daemon_look(const DaemonSetController *self, DaemonSync *sync);
gboolean daemon_pod_is_updated(const DaemonSync *sync, const Pod *pod);

/* ---- One sync, in this order; each goes on with the next ---- */

void daemon_plan_revision(const DaemonSetController *self, Plan *plan, const DaemonSync *sync);
void daemon_decide_nodes(const void *self, Plan *plan);
void daemon_decide_update(const void *self, Plan *plan);
extern const RuleTable daemon_pod_rules;    /* DS-4..8 */
extern const RuleTable daemon_update_rules; /* DS-20, DS-21 */
void daemon_plan_history(const DaemonSetController *self, Plan *plan, const DaemonSync *sync);
void daemon_decide_status(const void *self, Plan *plan);

/* ---- orders.c ---- */

/* Empties @sync's lists of what is wanting and to be deleted. */
void daemon_begin_pods(DaemonSync *sync);
/* Orders what they say by now because of @rule, 250 each way at most: creations by slow start, then
 * deletions side by side, also after an error. Then goes on with @next. */
void daemon_plan_pods(const DaemonSetController *self,
                      Plan *plan,
                      DaemonSync *sync,
                      const char *rule,
                      PlanDecide next);
