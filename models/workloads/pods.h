/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "models/api/workload.h"
#include "models/plan/plan.h"

/* What the controllers of workloads have in common: how a pod is made from a template, which pods
 * count, whose they are. */

/* Index: what a controller owns, by the controller's key. */
void index_by_controller(InformerIndex *index, const Object *object, Objects *objects);
/* Index: what has labels and no controller, by its namespace: may be adopted. */
void index_orphans(InformerIndex *index, const Object *object, Objects *objects);

/* The key of the controller of @object, if it is of this kind; NULL: it is not. */
const ObjectKey *controller_of_kind(const Object *object, ObjectKind kind);

/* The name that the server makes of generateName "<owner>-" (WL-7, API-60): the @n-th of this
 * owner's. */
ObjectKey *generated_pod_key(const Component *component, const Object *owner, uint64_t n);
/* The same of another base than "<owner>-". */
ObjectKey *
generated_pod_key_of(const Component *component, const Object *owner, const char *base, uint64_t n);
/* Returns: (owned): a pod of the template, ready to be created */
Object *template_pod_new(Objects *objects,
                         const PodTemplate *template,
                         ObjectKey *key,
                         const Object *owner);

/* WL-75: neither over nor going. */
gboolean pod_is_active(const Pod *pod);
/* Ready, and for @min_ready_s; conditions have whole seconds. */
gboolean pod_is_available(const Pod *pod, int32_t min_ready_s, SimTime now);
/* Whole seconds, as the API has them. */
SimTime whole_seconds(SimTime time);

/* What belongs to an owner, once it has adopted and released what its selector says. */
typedef struct {
    GPtrArray *owned; /* of const Object (with references): its own that it keeps, and those to be
                         adopted */
    GPtrArray
        *adopt; /* of const Object (borrowed from @owned): those that have no controller yet */
    GPtrArray *release;    /* of const Object (with references): its own that no longer match */
    const char *finalizer; /* interned: what is adopted gets it; NULL: none */
} Claimed;

typedef struct {
    const Object *owner;
    const LabelSelector *selector;
    const InformerIndex *by_controller, *orphans;
    const char
        *finalizer; /* interned: what is adopted gets it, what is released loses it; NULL: none */
    gboolean (*is_member)(const Object *owner,
                          const Object *object); /* whom to look at at all; NULL: all */
} ClaimOptions;

void claimed_look(Claimed *self, const ClaimOptions *options);
void claimed_clear(Claimed *self);
void claimed_free(void *self); /* the same of one on the heap */
static inline gboolean
claimed_is_settled(const Claimed *self)
{
    return self->adopt->len == 0 && self->release->len == 0;
}
/* Steps that make it so: whoever adopts first makes sure that it is not going itself. What is gone
 * meanwhile is fine. */
void claimed_plan(const Claimed *self, Plan *plan, const Object *owner);
