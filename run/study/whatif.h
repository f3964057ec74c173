/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "knobs.h"
#include "sweep-report.h"

/* Asks what happens if one flag or limit is halved or doubled: a sweep with one change at a time
 * and common random numbers, and its report. */
typedef struct Whatif Whatif;

typedef struct {
    const char *data_dir;
    const char *const *set; /* as in ScenarioOptions: changes of all points; NULL: none */
    Stage stage;
    const char *statistic; /* of the stage's times: as in sweep_statistic_parse() */
    const char *value;     /* instead of both: the name of a value in seconds; NULL: not used */
    unsigned replications;
} WhatifOptions;

/**
 * whatif_new:
 * @faults: (out): of FileFault: all there are; empty on success
 * Returns: (owned): %NULL if there are faults. Values that the scenario does not take are left out.
 */
Whatif *whatif_new(const char *file, const WhatifOptions *options, GPtrArray **faults);
void whatif_free(Whatif *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Whatif, whatif_free)
const Sweep *whatif_sweep(const Whatif *self);

/* The effect of one change: over the runs, the difference from the unchanged scenario. */
typedef struct {
    char *text;        /* the value; NULL: the scenario does not take it */
    Estimate measured; /* the measure itself */
    PairedEstimate change;
    double arrived; /* more objects that finish the stage, mean of the runs */
} WhatifChange;

typedef struct {
    const Knob *knob;
    WhatifChange halved, doubled;
    double most;         /* the larger change of the two, without its sign */
    gboolean is_sure;    /* significant among all intervals (Bonferroni's correction) */
    gboolean has_effect; /* something changed in some run */
} WhatifRow;

/* For people; each (owned). @table: of the sweep's store, all runs made */
char *whatif_text(const Whatif *self, const SweepTable *table);
extern const ResultTable whatif_table;
/* For programs: docs/results.md has their fields. */
char *whatif_csv(const Whatif *self, const SweepTable *table);
json_t *whatif_json(const Whatif *self, const SweepTable *table);
