/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "knobs.h"
#include "sweep-report.h"

/* What if one flag or limit were half as large, or twice? A sweep of one change at a time, under
 * the same luck, and what it says. */
typedef struct Whatif Whatif;

typedef struct {
    const char *data_dir;
    const char *const *set; /* as in ScenarioOptions: changes of all points; NULL: none */
    Stage stage;
    const char *statistic; /* of the stage's times: as in sweep_statistic_parse() */
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

/* What became of one change: over the runs, the difference from the scenario as it is. */
typedef struct {
    char *text;        /* the value; NULL: none such that the scenario takes */
    Estimate measured; /* the measure itself */
    PairedEstimate change;
    double arrived; /* how many more objects came to the end of the stage, mean of the runs */
} WhatifChange;

typedef struct {
    const Knob *knob;
    WhatifChange halved, doubled;
    double most;         /* the larger change of the two, without its sign */
    gboolean is_sure;    /* even among so many intervals this one is not beside zero by chance
                            (Bonferroni's correction) */
    gboolean has_effect; /* something changed in some run */
} WhatifRow;

/* Returns: (owned): of WhatifRow: those that move most first; rows alike in the order of the knobs
 */
GArray *whatif_rows(const Whatif *self, const SweepTable *table);

/* For people; each (owned). @table: of the sweep's store, all runs made */
char *whatif_text(const Whatif *self, const SweepTable *table);
/* For programs: docs/results.md has their fields. */
char *whatif_csv(const Whatif *self, const SweepTable *table);
json_t *whatif_json(const Whatif *self, const SweepTable *table);
