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

/* The struct of such a controller begins with it. */
typedef struct {
    Component base;
    ObjectKind kind; /* of the owners */
    Informer *owners, *pods;
    InformerIndex *pods_by_controller, *orphans;
    Workers *workers;
    GHashTable *states; /* ObjectKey of an owner -> its state */
    size_t state_size;  /* for owner_changed() */
} OwnerController;

/* Makes everything but the workers. */
void owner_controller_init(OwnerController *self,
                           ObjectKind kind,
                           size_t state_size,
                           GDestroyNotify state_free);
/* A ModelClass.clear */
void owner_controller_clear(void *controller);

/* A failed sync is tried again. @n: from a flag, positive */
Workers *
owner_workers_new(Component *component, const char *name, int n, RateLimit limit, PlanDecide sync);

/* Returns: (borrowed): the next workload or budget whose selector matches @object, in its
 * namespace; NULL: no more */
const Object *next_selecting(InformerIter *iter, const Object *object);
/* WL-30: wakes an owner with minReadySeconds when a pod that becomes ready now has been ready for
 * so long; or a pod of the start state, which became ready before. @before: NULL: the pod is new */
void wake_when_available(Workers *workers,
                         const ObjectKey *owner,
                         int32_t min_ready_s,
                         const Object *before,
                         const Object *pod,
                         SimTime now);

/* A handler of an informer: wakes the object. */
void wake_object(void *workers, const Object *before, const Object *after);

/* ---- Handlers of informers, of ReplicaSets and DaemonSets ---- */

/* Wakes the owner; makes or frees its state. */
void owner_changed(void *controller, const Object *before, const Object *after);
/* Wakes the owners of a pod, and the owners that would adopt it. A pod counts as gone as soon as
 * it is being deleted (WL-76). */
void owned_pod_changed(void *controller, const Object *before, const Object *after);
