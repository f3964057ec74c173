/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "models/cluster/kube-controller-manager.h"
#include "models/plan/plan.h"
#include "models/workloads/pods.h"
#include "models/workloads/revisions.h"
#include "models/workloads/stateful-set/objects.h"

/* Within the StatefulSet controller: view.c looks, pod.c does what is to be done
 * about one pod, claims.c judges who owns claims, revisions.c keeps the history,
 * stateful-set.c decides. */

/* What a sync counted as it began: goes into the set's status when its pods are taken care of. */
typedef struct {
    int32_t generation, replicas, ready, available, current, updated;
    const char *current_revision, *update_revision;
} SetStatus;

/* What the controller remembers of a set between syncs. */
typedef struct {
    const PodTemplate *template; /* (owned): whose revision this is */
    ObjectKey *revision;         /* what a new revision of it would be called */
    GPtrArray *pods; /* of ObjectKey, by ordinal - start: so that no name is made twice */
    int32_t start;
    SetStatus status;   /* of the sync under way */
    unsigned n_refused; /* tries of its status that met a conflict */
    uint64_t n_draws;
} SetState;

typedef struct {
    Component base;
    Informer *sets, *pods, *claims, *revisions;
    InformerIndex *pods_by_owner, *orphans, *revisions_by_owner;
    Workers *workers;
    GHashTable *states; /* ObjectKey of a set -> SetState */
} StatefulSetController;

/* What one sync sees of its set; lives as long as its plan. */
typedef struct {
    const StatefulSet *set; /* (owned) */
    const SetState *state;
    ObjectKey *update_revision; /* of the template */
    const char *current_revision;
    const PodTemplate *current_template; /* (owned) */
    const Pod **replicas;                /* by ordinal - start; NULL: not there */
    int32_t n_replicas;
    GArray *condemned;          /* of const Pod *: out of range, highest ordinal first */
    const Pod *first_unhealthy; /* WL-40, step 4: of the condemned; the replicas wait before those
                                   are looked at */
} SetView;

/* ---- view.c ---- */

const SetView *stateful_look(const StatefulSetController *self, Plan *plan, const StatefulSet *set);
/* Pods of its names that belong to nobody, and its own that it no longer selects. @claimed: zeroed,
 * to be cleared */
void stateful_claim(const StatefulSetController *self, const StatefulSet *set, Claimed *claimed);
gboolean stateful_is_running_and_ready(const Pod *pod);
gboolean stateful_is_healthy(const Pod *pod);
gboolean stateful_is_available(const StatefulSet *set, const Pod *pod, SimTime now);
/* The ordinal's place in the set's range; negative, or replicas and more: out of it. */
int64_t stateful_position(const StatefulSet *set, const ObjectKey *pod);

/* ---- replicas.c ---- */

/* Steps that take care of the pods. Returns: whether there are any */
gboolean stateful_plan_pods(const StatefulSetController *self,
                            Plan *plan,
                            const SetView *view,
                            SetStatus *status);
extern const RuleTable stateful_replica_rules;   /* WL-41 */
extern const RuleTable stateful_condemned_rules; /* WL-42 */
extern const RuleTable stateful_roll_rules;      /* WL-50 */

/* ---- pod.c: plans of their own, for those of a batch go side by side ---- */

typedef enum {
    ITEM_CREATE, /* the claims that are missing, then the pod, then who owns the claims */
    ITEM_CLAIMS, /* only the claims */
    ITEM_UPDATE, /* the pod's labels, and who owns its claims */
    ITEM_DELETE,
    ITEM_NONE, /* no plan */
} ItemAction;

PlanStart stateful_item_start(const StatefulSetController *self,
                              const SetView *view,
                              ItemAction action,
                              ObjectKey *pod);
/* ITEM_CREATE of the pod at @position. */
PlanStart
stateful_creation_start(const StatefulSetController *self, const SetView *view, int32_t position);
gboolean stateful_lacks_claims(const StatefulSetController *self,
                               const StatefulSet *set,
                               const ObjectKey *pod);
/* Its labels, or who owns its claims, are not as they shall be. */
gboolean
stateful_needs_update(const StatefulSetController *self, const StatefulSet *set, const Pod *pod);

/* ---- claims.c: WL-60 ---- */

typedef struct {
    const StatefulSet *set;
    const Object *pod; /* NULL: it is not there */
    ObjectKey *pod_key;
    gboolean is_in_range;
} ClaimOwners;

typedef enum {
    CLAIM_OWNER_NONE,
    CLAIM_OWNER_SET,
    CLAIM_OWNER_POD,
    CLAIM_OWNER_KEPT,  /* somebody else controls the claim (WL-63): its owners stay */
    CLAIM_OWNER_LATER, /* the cache does not know the claim yet */
} ClaimOwner;

/* Who shall own @claim. NULL: it is not known */
ClaimOwner claim_owner(const Object *claim, const ClaimOwners *owners);
extern const RuleTable stateful_claim_rules; /* WL-60 */
gboolean claim_owners_are_right(const Object *claim, const ClaimOwners *owners);
/* ObjectEdit: @owners is a ClaimOwners. */
gboolean claim_edit_owners(Object *claim, const void *owners);
/* WL-44: it still belongs to an older pod of this name. */
gboolean claim_is_stale(const Object *claim, const ClaimOwners *owners);

/* ---- revisions.c ---- */

/* The revision that the set's template is. */
ObjectKey *stateful_update_revision(const StatefulSetController *self,
                                    const StatefulSet *set,
                                    const SetState *state);
/* Which pods below the partition are made of. */
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
