/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "run/scenario/scenario-private.h"
#include "sweep-statistics.h"
#include "tune.h"

/* Shared by tune.c, which searches, and tune-report.c, which reports. */

/* The result of a setting for one slo. */
typedef struct {
    uint64_t below,
        arrived;   /* objects of all runs: below the slo's limit; through the stage at all */
    Estimate time; /* the quantile, s: of single runs */
} TuneGoal;

typedef struct {
    int *levels;             /* (owned): the step of each flag; NULL: the scenario as it is */
    TuneGoal *goals;         /* (owned): of each slo; NULL: not tried */
    Estimate requests, peak; /* requests to the API server: total, and in the busiest second */
} TuneTrial;

struct Tune {
    const TuneOptions *options;
    Scenario *scenario;
    GPtrArray *knobs;  /* of Knob (owned) */
    GPtrArray *flags;  /* of Knob: the knobs to tune */
    GPtrArray *trials; /* of TuneTrial (owned), in the order of trying */
    uint64_t *arrived; /* (owned): of each slo: the most that went through the stage at any of the
                          first steps */
    const TuneTrial *now, *answer; /* NULL: not known, or none */
};

/* The value of a level. */
double tune_step(int level);
gboolean tune_goal_is_met(const Tune *self, const TuneTrial *trial, unsigned i);
gboolean tune_is_met(const Tune *self, const TuneTrial *trial);
/* NULL: flag @i has its smallest value */
const TuneTrial *tune_trial_below(const Tune *self, unsigned i);
