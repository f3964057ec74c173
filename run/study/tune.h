/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "knobs.h"
#include "sweep-runner.h"

/* The smallest flags that meet a scenario's slo, and what they ask of the API server.
 *
 * Each flag takes the steps 1, 2, 3, 5, 7, 10, 15, ... 1000. First all take the same step, the
 * least with which the slo is met; from there each in turn goes down by one, as long as it is met.
 * In the end one step less of any flag misses it: that is tried for each, so the answer does not
 * rest on more being better. An answer is minimal, not the only one: a higher rate may make up for
 * a smaller burst.
 *
 * The slo is met as `kvolsim run --replications` finds it: over the objects of all runs. And no
 * fewer of them may come to the end of the stage than with the best step, for what never arrives is
 * in no quantile. */
typedef struct Tune Tune;

typedef struct {
    const char *data_dir;
    const char *const *set;   /* as in ScenarioOptions; NULL: none */
    const char *const *flags; /* NULL-terminated patterns of names ("*worker-threads"): only these;
                                 NULL: all of capacity */
    unsigned replications;
    SweepRunOptions run; /* jobs and progress; each step of the search is a sweep */
} TuneOptions;

typedef enum {
    TUNE_FOUND,
    TUNE_NOT_MET, /* at no step */
    TUNE_INTERRUPTED,
    TUNE_FAILED,
} TuneEnd;

/**
 * tune_new:
 * @options: (borrowed), outlives the result
 * @faults: (out): of FileFault: all there are; empty on success
 * Returns: (owned): %NULL if there are faults: of the scenario, or that it has no slo, or none of
 * @flags
 */
Tune *tune_new(const char *file, const TuneOptions *options, GPtrArray **faults);
void tune_free(Tune *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Tune, tune_free)

/* Returns: %TUNE_FAILED with @error: a %SWEEP_STORE_ERROR or a %RUN_ERROR */
TuneEnd tune_run(Tune *self, GError **error);

/* ---- After tune_run() found something, or nothing ---- */

const Knob *tune_flag(const Tune *self, unsigned i);
/* The answer's value as a user writes it. */
char *tune_value(const Tune *self, unsigned i);
/* One step less. (owned): %NULL: there is none */
char *tune_value_below(const Tune *self, unsigned i);
/* The answer as values of --set, after the caller's; with one step less for flag @less, unless it
 * is -1. Returns: (owned): NULL-terminated */
char **tune_settings(const Tune *self, int less);

/* Reports for people and for programs; docs/results.md has the fields. Each (owned). */
char *tune_text(const Tune *self);
extern const ResultTable tune_table;
char *tune_csv(const Tune *self);
json_t *tune_json(const Tune *self);
