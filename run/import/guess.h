/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "dump.h"
#include "writes.h"

/* Guesses the content of a request in an audit log without bodies, from the dumps before and after
 * it and from the reactions of the controllers. */

typedef struct {
    const Writes *writes;
    const GPtrArray *dumps; /* of Dump, the oldest first */
    ImportReport *report;
    GPtrArray *scalings; /* (owned): of RecordedWrite (borrowed): from outside, by time */
} Guess;

/* Clear it with guess_clear(). */
void guess_init(Guess *self, const Writes *writes, const GPtrArray *dumps, ImportReport *report);
void guess_clear(Guess *self);

/* The object that a request created. Returns: (owned): NULL: no dump knows it or one like it */
json_t *guess_object(const Guess *self, const RecordedWrite *write);
/* Whether a dump has the very object that a request created. */
gboolean guess_was_dumped(const RecordedWrite *write, const Dump *dump);
/* The replicas that a workload was scaled to. Returns: -1: nothing tells */
int guess_replicas(const Guess *self, const RecordedWrite *write);
/* The merge patch that a request was. Returns: (owned): NULL: nothing tells */
json_t *guess_patch(const Guess *self, const RecordedWrite *write);
