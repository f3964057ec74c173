/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "models/plan/plan.h"
#include "models/workloads/expectations.h"

/* Workers for the keys of owners, and the handlers of pods that wake them. */

/* With the default rate limit; a failed sync is tried again. @n: from a flag, positive */
Workers *owner_workers_new(Component *component, const char *name, int n, PlanDecide sync);

typedef void (*WakeOwner)(void *self, const ObjectKey *owner);
typedef const LabelSelector *(*SelectorOf)(const Object *owner);

/* Calls @wake for each owner of the pod's namespace that selects @pod, which belongs to nobody: it
 * would adopt it. */
void wake_adopters(
    Informer *owners, SelectorOf selector_of, const Object *pod, WakeOwner wake, void *self);
/* WL-30: wakes an owner with minReadySeconds when a pod that becomes ready now has been ready for
 * so long. @before: NULL: the pod is new */
void wake_when_available(Workers *workers,
                         const ObjectKey *owner,
                         int32_t min_ready_s,
                         const Object *before,
                         const Object *pod);

/* A controller with Expectations (WL-4) that treats a pod as gone as soon as it is being deleted
 * (WL-76). */
typedef struct {
    ObjectKind kind;
    Informer *owners;
    SelectorOf selector_of;
    int32_t (*min_ready_s)(const Object *owner);
    Workers *workers;
    GHashTable *states; /* ObjectKey of an owner -> a struct that begins with Expectations */
} PodOwners;

/* @before: NULL: the pod is new. @after: NULL: it is gone */
void pod_owners_changed(const PodOwners *self, const Object *before, const Object *after);
