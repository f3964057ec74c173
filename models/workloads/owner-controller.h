/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "models/plan/plan.h"
#include "models/workloads/expectations.h"

/* The common part of controllers that own pods: informers, a queue of owners, the state of each
 * owner, and the handlers that wake owners. */

/* The state of one owner between syncs. A controller that needs more begins its own struct with
 * this one. */
typedef struct {
    Expectations expected;
    uint64_t n_names; /* generated names used so far for its pods */
} OwnerState;

void owner_state_free(void *state);

/* The struct of such a controller begins with it, as its head. */
typedef struct {
    Component base;
    Informer *owners, *pods;
    InformerIndex *pods_by_controller, *orphans;
    Workers *workers;
    GHashTable *states; /* ObjectKey of an owner -> its state */
} OwnerController;

/* Its parts, but for the workers: several rows of one part of a component. */
#define HAS_OWNERS(kind, owner_handler, free_state)                                                \
    HAS_TABLE(head.states, free_state), HAS_INFORMER(head.owners, kind, .changed = owner_handler)
#define HAS_OWNED_PODS(handler)                                                                    \
    HAS_INFORMER(head.pods, KIND_POD, WITH_INDEX(head.pods_by_controller, index_by_controller)),   \
        HAS_INFORMER(head.pods, KIND_POD, WITH_INDEX(head.orphans, index_orphans),                 \
                     .changed = handler)

/* Returns: (borrowed): the next workload or budget of @object's namespace whose selector matches
 * it; NULL: the end */
const Object *next_selecting(InformerIter *iter, const Object *object);
/* Wakes all workloads in @owners, after @delay. */
void wake_selecting(Workers *workers, const Informer *owners, const Object *object, SimTime delay);
/* WL-30: wakes an owner with minReadySeconds when a pod that becomes ready now has been ready for
 * so long; or a pod of the start state, which became ready before. @before: NULL: the pod is new */
void wake_when_available(Workers *workers,
                         const ObjectKey *owner,
                         int32_t min_ready_s,
                         const Object *before,
                         const Object *pod,
                         SimTime now);

/* ---- Handlers of informers, of ReplicaSets and DaemonSets ---- */

/* Wakes the owner; makes an OwnerState of zeros, or frees its state. */
void owner_changed(void *controller, const Object *before, const Object *after);
/* Wakes the owners of a pod, and the owners that would adopt it. A pod counts as gone as soon as
 * it is being deleted (WL-76). */
void owned_pod_changed(void *controller, const Object *before, const Object *after);
