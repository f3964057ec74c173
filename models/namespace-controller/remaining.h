/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "models/api/namespace.h"

/* What is left in a namespace, as the conditions of its status tell it:
 * pkg/controller/namespace/deletion/status_condition_utils.go. */

typedef struct {
    const Objects *objects; /* (borrowed) */
    unsigned n_objects[N_KINDS];
    GArray *others;     /* of unsigned: of KIND_OTHER, by the number of the resource */
    GArray *finalizers; /* each with the number of objects that have it */
    GPtrArray *faults;  /* of char *: kinds that should be empty */
    SimTime estimate;   /* until it is worth to look again */
} Remaining;

void remaining_init(Remaining *self, const Objects *objects);
void remaining_clear(void *self);
/* Counts one object that is still there. */
void remaining_add(Remaining *self, const Object *object);
gboolean remaining_is_empty(const Remaining *self);
/* NSC-6. The conditions that the status gets; times of unchanged ones stay. @strings: of the run.
 * Returns: whether one has changed */
gboolean remaining_conditions(const Remaining *self,
                              Strings *strings,
                              SimTime now,
                              WorkloadCondition *conditions);
