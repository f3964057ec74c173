/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "sim-time.h"

/* Exact quantiles of durations: keeps every value. Sums are integers. */
typedef struct {
    GArray *values; /* of SimTime */
    gboolean sorted;
} SimSample;

void sim_sample_init(SimSample *self);
void sim_sample_clear(SimSample *self);
void sim_sample_add(SimSample *self, SimTime value);
unsigned sim_sample_count(const SimSample *self);
/* The smallest value that at least q of all values do not exceed (nearest rank); 0 if empty. 0 <= q
 * <= 1. */
SimTime sim_sample_quantile(SimSample *self, double q);
SimTime sim_sample_mean(const SimSample *self); /* rounded down; 0 if empty */
SimTime sim_sample_max(const SimSample *self);
SimTime sim_sample_min(const SimSample *self);
