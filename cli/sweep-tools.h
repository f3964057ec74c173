/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <jansson.h>

#include "cli.h"
#include "run/study/sweep-runner.h"

/* What the commands that make many runs share. */

/* Prints faults to stderr, a line each. */
void cli_print_faults(const GPtrArray *faults);

/* A bar with rate and time left, on a terminal only, and an eye on SIGINT, SIGTERM and SIGHUP,
 * which are blocked from now on. Made before the result file, so that whoever sees the file can
 * interrupt; and before the workers, so that none of them is. */
typedef struct CliProgress CliProgress;
CliProgress *cli_progress_new(void);
void cli_progress_free(CliProgress *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(CliProgress, cli_progress_free)
/* Of a whole sweep. @jobs: 0: as many as there are processors. The others are borrowed. */
SweepRunOptions cli_sweep_options(CliProgress *progress, const char *data_dir, int jobs);
/* Prints @error of sweep_run(). Returns: the exit code it means */
ExitCode cli_sweep_error(const char *file, const GError *error);

/**
 * cli_run_sweep:
 * Makes the missing runs with a progress bar (on a terminal only) until done or interrupted:
 * SIGINT, SIGTERM, SIGHUP. Prints what went wrong.
 * @jobs: 0: as many as there are processors
 */
ExitCode cli_run_sweep(CliProgress *progress,
                       const Sweep *sweep,
                       SweepStore *store,
                       int jobs,
                       unsigned shard,
                       unsigned n_shards);
/* Prints @error of a store. Returns: the exit code it means */
ExitCode cli_store_error(const GError *error);

/* ---- Results of commands that print a table or JSON, and may write into a folder. Each prints
 * what went wrong. ---- */

/* Returns: whether it is "table" or "json" */
gboolean cli_format_is_good(const char *command, const char *format);
gboolean cli_make_folder(const char *folder);
gboolean cli_write_file(const char *folder, const char *name, const char *text);
gboolean cli_write_json(const char *folder, const char *name, const json_t *json);
void cli_print_json(const json_t *json);
