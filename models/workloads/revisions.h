/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "models/api/workload.h"
#include "models/plan/plan.h"

/* ControllerRevisions: the history of the templates of a StatefulSet or DaemonSet; the newest has
 * the highest number. */

/* Of a pod: the revision that it was made of. Of a DaemonSet's revision: its hash. */
#define LABEL_REVISION "controller-revision-hash"
#define LABEL_STATEFUL_HASH "controller.kubernetes.io/hash" /* of a StatefulSet's revision */

/* A controller's view of revisions. */
typedef struct {
    Informer *informer;
    InformerIndex *by_owner;
} Revisions;

/* ... as a part of it. */
#define HAS_REVISIONS(member)                                                                      \
    HAS_INFORMER(member.informer, KIND_CONTROLLER_REVISION,                                        \
                 WITH_INDEX(member.by_owner, index_by_controller))

/* The revisions of @owner. */
const Object *const *revisions_of(const Revisions *self, const ObjectKey *owner, unsigned *n);
/* The newest revision of @owner with this template; NULL: none. */
const Object *
revisions_find(const Revisions *self, const Object *owner, const PodTemplate *template);
/* The name of the revision of @template: it has the template's hash. */
ObjectKey *revision_key(Objects *objects, const ObjectKey *owner, const PodTemplate *template);
/* Returns: (owned): the revision @key of @owner, named after the owner and the template's hash.
 * @template: NULL: unknown */
Object *revision_new(Objects *objects,
                     const Object *owner,
                     const PodTemplate *template,
                     ObjectKey *key,
                     int64_t number);
/* Steps that make @key, the revision of @template, the newest of @owner. Returns: whether there are
 * any */
gboolean revisions_plan_newest(const Revisions *self,
                               Objects *objects,
                               Plan *plan,
                               const Object *owner,
                               const PodTemplate *template,
                               ObjectKey *key);
/* Whether one of @n objects has this LABEL_REVISION. */
gboolean revision_is_used(const char *revision, const Object *const *pods, unsigned n);
/* Steps that delete the @n lowest of @revisions (of const Object); they are removed from the array.
 * */
void revisions_plan_deletions(Plan *plan, GPtrArray *revisions, int64_t n);
