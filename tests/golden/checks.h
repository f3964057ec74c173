/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "moments.h"
#include "stalls.h"

/* What one recorded run tells, each thing with the range of the simulated runs seen so far. */
typedef struct Checks Checks;

/* @recorded: borrowed, outlives the checks. Returns: (owned) */
Checks *checks_new(const Moments *recorded);
void checks_free(Checks *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Checks, checks_free)
/* Widens the ranges by one run. */
void checks_see(Checks *self, const Moments *simulated);
/* From now on, later runs are for missed checks only. Returns: their number */
unsigned checks_settle(Checks *self);
unsigned checks_count(const Checks *self);
/* TIM-62: call it when all runs were seen. Returns: the number of missed values that stalls of the
 * recording machine explain */
unsigned checks_explain(Checks *self, const Stalls *stalls);
/* How much the explanation explains wrongly: moves each value that agrees by @by seconds, to either
 * side. Adds to @n_missed those that are missed then, and to @n_noise those of them that stalls
 * would explain. */
void checks_shift(
    const Checks *self, double by, const Stalls *stalls, unsigned *n_missed, unsigned *n_noise);
/* A line for each miss: MISS, recording, run, kind of the check, what, of what, recorded,
 * simulated, with tabs between. NOISE in front, and the worst stall at the end, if stalls explain
 * it; RARE and the seed if it was met after the first checks_settle(). @is_verbose: a line for each
 * match, too, with OK in front */
void checks_print(const Checks *self, const char *recording, const char *run, gboolean is_verbose);
