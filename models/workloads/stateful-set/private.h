/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "models/cluster/kube-controller-manager.h"
#include "models/plan/plan.h"
#include "models/workloads/owner-controller.h"
#include "models/workloads/pods.h"
#include "models/workloads/revisions.h"
#include "models/workloads/stateful-set/objects.h"

/* The parts of the StatefulSet controller: stateful-set.c (handlers, the sync, the status), view.c
 * (the set's pods), replicas.c (which pods are made and deleted), pod.c (one pod and its claims),
 * claims.c (owners of claims), revisions.c (the history), objects.c (new objects). */

/* The counts at the beginning of a sync. They are written to the set's status at its end. */
typedef struct {
    int32_t generation, replicas, ready, available, current, updated;
    const char *current_revision, *update_revision;
} SetStatus;

/* What the controller remembers of a set between syncs. */
typedef struct {
    const PodTemplate *template; /* (owned): the template of @revision */
    ObjectKey *revision;         /* the name that a new revision of the template gets */
    GPtrArray *pods;             /* of ObjectKey, by ordinal - start: the names of all replicas */
    int32_t start;
    SetStatus status;   /* of the sync under way */
    unsigned n_refused; /* writes of its status that met a conflict */
    uint64_t n_draws;
} SetState;

typedef struct {
    OwnerController head; /* with SetStates */
    Informer *claims;
    Revisions revisions;
} StatefulSetController;

/* The pods of a set in one sync. Lives as long as its plan. */
typedef struct {
    const StatefulSet *set; /* (owned) */
    const SetState *state;
    ObjectKey *update_revision; /* of the template */
    const char *current_revision;
    const PodTemplate *current_template; /* (owned) */
    const Pod **replicas;                /* by ordinal - start; NULL: not there */
    int32_t n_replicas;
    GArray *condemned;          /* of const Pod *: pods out of range, the highest ordinal first */
    const Pod *first_unhealthy; /* WL-40, step 4: the lowest condemned pod that is not healthy */
} SetView;

/* ---- view.c ---- */

const SetView *stateful_look(const StatefulSetController *self, Plan *plan, const StatefulSet *set);
/* Finds the pods to adopt and to release. @claimed: zeroed; to be cleared by the caller */
void stateful_claim(const StatefulSetController *self, const StatefulSet *set, Claimed *claimed);
gboolean stateful_is_running_and_ready(const Pod *pod);
gboolean stateful_is_healthy(const Pod *pod);
gboolean stateful_is_available(const StatefulSet *set, const Pod *pod, SimTime now);
/* The pod's position in the set's range. Negative, or at least spec.replicas: out of range */
int64_t stateful_position(const StatefulSet *set, const ObjectKey *pod);

/* ---- replicas.c ---- */

/* Steps that make, update and delete pods. Returns: whether there are any */
gboolean stateful_plan_pods(const StatefulSetController *self,
                            Plan *plan,
                            const SetView *view,
                            SetStatus *status);
extern const RuleTable stateful_replica_rules;   /* WL-41 */
extern const RuleTable stateful_condemned_rules; /* WL-42 */
extern const RuleTable stateful_roll_rules;      /* WL-50 */

/* ---- pod.c: each pod has a plan of its own, since the pods of a batch go side by side ---- */

typedef enum {
    ITEM_CREATE, /* the missing claims, then the pod, then the owners of the claims */
    ITEM_CLAIMS, /* the missing claims, and the owners of the claims */
    ITEM_UPDATE, /* the pod's labels and volumes, and the owners of its claims */
    ITEM_OWNERS, /* only the owners of its claims */
    ITEM_DELETE,
    ITEM_NONE, /* no plan */
} ItemAction;

/* @new_pod: (taken): the pod that ITEM_CREATE creates; else NULL */
PlanStart stateful_item_start(const StatefulSetController *self,
                              const StatefulSet *set,
                              ItemAction action,
                              ObjectKey *pod,
                              Object *new_pod);
/* ITEM_CREATE of the pod at @position. */
PlanStart
stateful_creation_start(const StatefulSetController *self, const SetView *view, int32_t position);
gboolean stateful_lacks_claims(const StatefulSetController *self,
                               const StatefulSet *set,
                               const ObjectKey *pod);
/* WL-60: whether all its claims that the cache knows have the right owners. */
gboolean stateful_claims_are_right(const StatefulSetController *self,
                                   const StatefulSet *set,
                                   const Pod *pod);
/* Whether its labels, its volumes, or the owners of its claims are wrong. */
gboolean
stateful_needs_update(const StatefulSetController *self, const StatefulSet *set, const Pod *pod);

/* ---- claims.c: WL-60 ---- */

typedef struct {
    const StatefulSet *set;
    const Object *pod;  /* NULL: it is not there */
    ObjectKey *pod_key; /* the name of the pod */
    gboolean is_in_range;
} ClaimOwners;

typedef enum {
    CLAIM_OWNER_NONE, /* neither the set nor the pod */
    CLAIM_OWNER_SET,
    CLAIM_OWNER_POD,
    CLAIM_OWNER_KEPT,  /* its owners stay as they are (WL-68) */
    CLAIM_OWNER_LATER, /* the cache does not know the claim yet */
} ClaimOwner;

/* An object as a reference to it has it. */
typedef struct {
    const char *api_version, *kind, *name;
    ObjectUid uid; /* {0}: it is not created yet */
} OwnerName;

/* WL-63: whether the policy may delete claims, and the claim has a controller beside these. */
gboolean claim_has_other_controller(const Object *claim, const ClaimOwners *owners);
extern const RuleTable stateful_claim_rules; /* WL-60 */
gboolean claim_owners_are_right(const Object *claim, const ClaimOwners *owners);
/* ObjectEdit: @owners is a ClaimOwners. */
gboolean claim_edit_owners(Object *claim, const void *owners);
/* WL-44: it still belongs to an older pod of this name. */
gboolean claim_is_stale(const Object *claim, const ClaimOwners *owners);

/* ---- revisions.c ---- */

/* The revision of the set's template. */
ObjectKey *stateful_update_revision(const StatefulSetController *self,
                                    const StatefulSet *set,
                                    const SetState *state);
/* The revision of the pods below the partition. */
const char *stateful_current_revision(const StatefulSetController *self,
                                      const StatefulSet *set,
                                      const ObjectKey *update);
/* Steps that make the template's revision the newest. Returns: whether there are any */
gboolean stateful_plan_revision(const StatefulSetController *self,
                                Plan *plan,
                                const StatefulSet *set,
                                const SetState *state);
/* Steps that trim the history. */
void stateful_plan_truncation(const StatefulSetController *self,
                              Plan *plan,
                              const StatefulSet *set,
                              const SetStatus *status);
