/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "models/api/workload.h"
#include "models/plan/plan.h"

/* Shared by the controllers of workloads: pods from templates, active and available pods, adoption.
 * */

/* Returns: the number in an annotation; @otherwise: there is none, or it is below @min */
int64_t
annotated_number(const Object *object, const char *annotation, int64_t min, int64_t otherwise);

/* Index: objects by the key of their controller. */
void index_by_controller(InformerIndex *index, const Object *object, Objects *objects);
/* Index: objects with labels and without a controller, by namespace. They may be adopted. */
void index_orphans(InformerIndex *index, const Object *object, Objects *objects);

/* The key of the controller of @object. NULL: it has none, or one of another kind */
const ObjectKey *controller_of_kind(const Object *object, ObjectKind kind);

/* The @n-th name that the server makes of generateName "<owner>-" for this owner (WL-7, API-60). */
ObjectKey *generated_pod_key(const Component *component, const Object *owner, uint64_t n);
/* The same for another generateName. */
ObjectKey *
generated_pod_key_of(const Component *component, const Object *owner, const char *base, uint64_t n);
/* Returns: (owned): a pod of the template, ready to be created */
Object *template_pod_new(Objects *objects,
                         const PodTemplate *template,
                         ObjectKey *key,
                         const Object *owner);

/* WL-75: neither over nor being deleted. */
gboolean pod_is_active(const Pod *pod);
/* Ready for at least @min_ready_s. */
gboolean pod_is_available(const Pod *pod, int32_t min_ready_s, SimTime now);
/* Rounds down to whole seconds, as times in the API are. */
SimTime whole_seconds(SimTime time);

/* The objects of an owner, and the adoptions and releases that its selector asks for. */
typedef struct {
    GPtrArray *owned;      /* of const Object (with references): objects that it keeps or adopts */
    GPtrArray *adopt;      /* of const Object (borrowed from @owned): objects that it adopts */
    GPtrArray *release;    /* of const Object (with references): objects that no longer match */
    const char *finalizer; /* interned: adopted objects get it, released ones lose it; NULL: none */
} Claimed;

typedef struct {
    const Object *owner;
    const LabelSelector *selector;
    const InformerIndex *by_controller, *orphans;
    const char *finalizer; /* interned: adopted objects get it, released ones lose it; NULL: none */
    gboolean (*is_member)(const Object *owner,
                          const Object *object); /* ignores all others; NULL: none */
} ClaimOptions;

void claimed_look(Claimed *self, const ClaimOptions *options);
void claimed_clear(Claimed *self);
void claimed_free(void *self); /* also frees @self */
static inline gboolean
claimed_is_settled(const Claimed *self)
{
    return self->adopt->len == 0 && self->release->len == 0;
}
/* Steps that release and adopt. Before it adopts, the owner reads itself to be sure that it is
 * there. An object that is gone by now is fine. */
void claimed_plan(const Claimed *self, Plan *plan, const Object *owner);
