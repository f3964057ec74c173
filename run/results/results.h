/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "run/files/columns.h"
#include "stages.h"

/* The results of a run: plain files in its folder. Each begins with a line that tells how to repeat
 * the run (docs/results.md). */

extern const ResultTable objects_table, milestones_table;

/* Returns: (static): the version of the program */
const char *results_version(void);

/* The sum of several replications of one scenario. */
typedef struct Results Results;

Results *results_new(const Scenario *scenario, uint64_t seed);
void results_free(Results *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Results, results_free)
/* Adds a finished run; @run may be freed afterwards. */
void results_add(Results *self, const Run *run, const Stages *stages);

/* @findings: (owned): of why_findings() for the first run: they become a part of the summary */
void results_set_findings(Results *self, json_t *findings);
/* The last lines of a run, ten at most: what is stuck, what failed, which limit pods waited for,
 * what is not modelled. @summary: of results_summary(). Appends nothing if all is well. */
void results_append_notices(const json_t *summary, GString *text);

SimSample *results_stage(Results *self, Stage stage);
/* Whether all runs met all SLOs and expectations. */
gboolean results_are_good(Results *self);
/* summary.json. (owned) */
json_t *results_summary(Results *self);
/* The same for people: tables of stages, SLOs and expectations. (owned) */
char *results_table(Results *self);

/**
 * results_write_run:
 * Writes objects.csv, milestones.jsonl and the other files of @run into @folder, which exists. Each
 * file is written whole or not at all. Calls the run's progress() now and then, and stops writing
 * once it returns %FALSE.
 * @error: %G_FILE_ERROR: with the file's name; %G_FILE_ERROR_INTR: progress() said so
 */
gboolean
results_write_run(const Run *run, const Stages *stages, const char *folder, GError **error);
/* Appends the first line of a file, which tells how to repeat @run, between @before and @after. */
void results_append_header(GString *text, const Run *run, const char *before, const char *after);
/* Removes these files of an earlier run. */
void results_remove_run(const char *folder);
/* Writes summary.json into @folder, with the sizes and digests of all files that are in it. */
gboolean results_write_summary(Results *self, const char *folder, GError **error);
