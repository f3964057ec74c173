/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "models/plan/plan.h"

/* ControllerRevisions: the history of a StatefulSet's or DaemonSet's templates, of which the newest
 * has the highest number. */

/* Of a pod: the revision that it was made of. */
#define LABEL_REVISION "controller-revision-hash"

/* The highest number of @n revisions but the one called @except (nullable); 0: there are none. */
int64_t revisions_highest(const Object *const *revisions, unsigned n, const ObjectKey *except);
/* A step that gives a revision a new number, because its template has come back. */
void revision_plan_number(Plan *plan, const Object *revision, int64_t number);
/* Steps that delete the @n lowest of @revisions (of const Object); they are removed from the array.
 * */
void revisions_plan_deletions(Plan *plan, GPtrArray *revisions, int64_t n);
