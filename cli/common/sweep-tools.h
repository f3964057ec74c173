/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "progress.h"
#include "run/study/sweep-runner.h"

/* Tools of the commands on sweeps: sweep, whatif, tune, merge, export, plot. */

/* Options for all runs of a sweep, with a progress bar. @jobs: 0: one for each processor. The other
 * arguments are borrowed. */
SweepRunOptions cli_sweep_options(Progress *progress, const char *data_dir, int jobs);
/* Each prints @error: of sweep_run(), of a store. Returns: the exit code for it */
ExitCode cli_sweep_error(const char *file, const GError *error);
ExitCode cli_store_error(const GError *error);

/**
 * cli_run_sweep:
 * Makes the missing runs, with a progress bar, until they are done or the user interrupts. Prints
 * what went wrong.
 * @jobs: 0: one for each processor
 */
ExitCode cli_run_sweep(Progress *progress,
                       const Sweep *sweep,
                       SweepStore *store,
                       int jobs,
                       unsigned shard,
                       unsigned n_shards);
