/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "stages.h"

/* What a run leaves behind: plain files in its folder, each beginning with what repeats the run
 * (docs/results.md). */

/* The version of the program; static. */
const char *results_version(void);

typedef struct {
    const ScenarioSlo *slo;
    SimTime value;   /* the quantile that was found */
    unsigned count;  /* of the stage's values */
    gboolean is_met; /* FALSE also if there is no value to judge by */
} SloResult;

/* Adds up what several replications of one scenario gave. */
typedef struct Results Results;

Results *results_new(const Scenario *scenario, uint64_t seed);
void results_free(Results *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Results, results_free)
/* Takes in a finished run; @run may be freed afterwards. */
void results_add(Results *self, const Run *run, const Stages *stages);

SimSample *results_stage(Results *self, Stage stage);
/* Whether all slos and expectations of all runs were met. */
gboolean results_are_good(Results *self);
/* summary.json. (owned) */
json_t *results_summary(Results *self);
/* The same for people: tables of stages, slos and expectations. (owned) */
char *results_table(Results *self);

/**
 * results_write_run:
 * objects.csv, milestones.jsonl and the other files of @run, into @folder, which exists. Every file
 * is written whole or not at all. The run's progress() is called now and then; once it returns
 * %FALSE, no more is written.
 * @error: %G_FILE_ERROR: with the file's name; %G_FILE_ERROR_INTR: progress() said so
 */
gboolean
results_write_run(const Run *run, const Stages *stages, const char *folder, GError **error);
/* A line that tells what repeats @run, between @before and @after: the first of each file. */
void results_append_header(GString *text, const Run *run, const char *before, const char *after);
/* Those files of an earlier run, as far as they are there. */
void results_remove_run(const char *folder);
gboolean results_write_summary(Results *self, const char *folder, GError **error);
