/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "models/plan/plan.h"

/* A status that is written at the end of a sync, and after an error once more on top of the stored
 * version. It is the first member of the notes of its plan. */
typedef struct {
    ObjectEdit edit;
    const void *status;      /* the argument of @edit */
    PlanErrors retry_errors; /* of the second write */
    PlanDecide next;         /* called once it is written */
} StatusWrite;

/* @base: the object as the sync saw it */
void status_write_plan(const StatusWrite *self, Plan *plan, const Object *base);
