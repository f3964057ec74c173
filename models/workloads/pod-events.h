/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "models/plan/plan.h"
#include "models/workloads/expectations.h"

/* What a controller does when it hears of a pod. */

typedef void (*WakeOwner)(void *self, const ObjectKey *owner);
typedef const LabelSelector *(*SelectorOf)(const Object *owner);

/* Calls @wake for each owner of the pod's namespace that selects @pod, which belongs to nobody: it
 * would adopt it. */
void wake_adopters(
    Informer *owners, SelectorOf selector_of, const Object *pod, WakeOwner wake, void *self);
/* WL-30: an owner with minReadySeconds looks at a pod that has become ready again when it has been
 * ready so long. @before: NULL: the pod is new. */
void wake_when_available(Workers *workers,
                         const ObjectKey *owner,
                         int32_t min_ready_s,
                         const Object *before,
                         const Object *pod);

/* A controller that waits for what it has ordered (WL-4), and for which a pod that is being deleted
 * is gone (WL-76). */
typedef struct {
    ObjectKind kind;
    Informer *owners;
    SelectorOf selector_of;
    int32_t (*min_ready_s)(const Object *owner);
    Workers *workers;
    GHashTable *states; /* ObjectKey of an owner -> a struct that begins with Expectations */
} PodOwners;

/* An InformerHandler's arguments: NULL: the pod is new, or gone. */
void pod_owners_changed(const PodOwners *self, const Object *before, const Object *after);
