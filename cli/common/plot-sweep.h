/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "gnuplot.h"
#include "run/study/sweep-plot.h"

/* The options for pictures of a sweep's result file. */
typedef struct {
    char *along, *by, *measure, *against; /* as in SweepPlotNames */
    char **only;
} PlotSweep;

/* For --help: a line for each. (owned) */
char *plot_sweep_names(const char *separator);

/**
 * plot_sweep_draw:
 * @kind: %NULL: all that can be drawn
 * @format: the files go beside @db, and their names are printed
 */
ExitCode plot_sweep_draw(const PlotSweep *self,
                         const char *db,
                         const char *kind,
                         const GnuplotFormat *format);
