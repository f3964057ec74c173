/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "models/cluster/model.h"

/* Three controllers of kube-controller-manager that protect what is in use: a claim loses its
 * finalizer when no pod uses it, a volume when it is not Bound, a VolumeAttributesClass when no
 * volume and no claim names it (only with the gate VolumeAttributesClass). Rules: docs/rules/
 * pvc-pv-protection.md */
extern const ModelClass pvc_protection_class;
extern const ModelClass pv_protection_class;
extern const ModelClass vac_protection_class;

/* ---- Between them ---- */

/* Facts about a claim or a volume, and what becomes of its finalizer. */
enum {
    SEEN = 1 << 0,    /* the informer has it */
    GOING = 1 << 1,   /* ... with a deletionTimestamp */
    GUARDED = 1 << 2, /* it has the finalizer */
    USED = 1 << 3,    /* a volume: it is Bound; a claim: a pod of the informer uses it; a class: it
                         is named */
    VOLUME_FACTS_END = 1 << 4,
    LISTED = 1 << 4,      /* its batch has a list of the pods from the API server */
    LISTED_USED = 1 << 5, /* ... in which one uses the claim */
    CLAIM_FACTS_END = 1 << 6,
    DELETED = SEEN | GOING,
};

typedef enum {
    FINALIZER_STAYS,
    FINALIZER_ADD,
    FINALIZER_REMOVE,
    FINALIZER_LIST_PODS, /* to find out */
} FinalizerAction;

/* The head of the three. */
typedef struct {
    Component base;
    const char *finalizer; /* interned */
} Protection;

/* All bits apart from USED. @object NULL: no bit */
uint32_t protection_facts(const Protection *self, const Object *object);
/* PROT-10, PROT-20: it is deleted and has the finalizer still, or it is not and lacks it.
 * @protection: its Protection, as in WAKES_IF() */
gboolean protection_has_work(const void *protection, const Object *object);
/* Adds or removes the finalizer of @object, as @rules say. */
void protection_plan(const Protection *self,
                     Plan *plan,
                     const Object *object,
                     gboolean is_used,
                     const RuleTable *rules);
