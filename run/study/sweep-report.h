/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "sweep-statistics.h"
#include "sweep-store.h"

/* Reports of a result file, for people and as CSV. */

/* The mean of a measure at a point: over the runs, or over the batches of long ones. */
Estimate sweep_table_estimate(const SweepTable *self, unsigned point, unsigned measure);
/* The difference of the measure at @point from @baseline, run by run, over the replications that
 * both have. */
PairedEstimate
sweep_table_pairs(const SweepTable *self, unsigned baseline, unsigned point, unsigned measure);

/* A table with a row for each point, and with the differences from the baseline if there is one.
 * (owned) */
char *sweep_table_text(const SweepTable *self);

typedef enum {
    SWEEP_CSV_POINTS, /* a row for each point: means and intervals */
    SWEEP_CSV_RUNS,   /* a row for each run */
    SWEEP_CSV_PAIRS,  /* a row for each point but the baseline: differences */
} SweepCsv;

/* (owned): %NULL: pairs without a baseline */
char *sweep_table_csv(const SweepTable *self, SweepCsv kind);
