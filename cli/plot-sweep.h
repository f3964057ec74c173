/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "cli.h"
#include "run/study/sweep-plot.h"

/* Pictures of a sweep's result file: what the user says of them. */
typedef struct {
    char *along, *by, *measure, *against; /* as in SweepPlotNames */
    char **only;
} PlotSweep;

void plot_sweep_clear(PlotSweep *self);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(PlotSweep, plot_sweep_clear)

/* For --help: a line for each. (owned) */
char *plot_sweep_names(const char *separator);

/**
 * plot_sweep_draw:
 * @kind: %NULL: all that can be drawn
 * @suffix: of the files beside @db, whose names are printed; %NULL: onto the standard output
 * @terminal: gnuplot's
 */
ExitCode plot_sweep_draw(const PlotSweep *self,
                         const char *db,
                         const char *kind,
                         const char *suffix,
                         const char *terminal);
