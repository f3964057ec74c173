/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "models/timing/timing.h"

/* When the machine stalled that made a recording, from how long the components' own requests took
 * (TIM-62). */
typedef struct Stalls Stalls;

/* @run: a folder with api.jsonl. Returns: (owned): NULL with an error if it can't be read */
Stalls *stalls_read(const char *run, const Timing *timing, GError **error);
void stalls_free(Stalls *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Stalls, stalls_free)
/* In seconds. Judges the components' requests under way between @from and @until. Returns: how much
 * longer than usual ones those took that were too slow for chance, all together or one alone; what
 * passes at the same time counts once. @worst: (out, nullable) (owned): the evidence in words, only
 * set if there is any */
double stalls_between(const Stalls *self, double from, double until, char **worst);
