/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "cli.h"
#include "config.h"
#include "gnuplot.h"

/* The options for pictures of a sweep's result file. */
typedef struct {
    char *along, *by, *measure, *against; /* as in SweepPlotNames */
    char **only;
} PlotSweep;

#ifdef WITH_STUDY

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

#else

#define plot_sweep_names(separator) g_strdup("")
#define plot_sweep_draw(self, db, kind, format)                                                    \
    cli_bad_input("plot: %s: pictures of sweeps are not built: --without-study", db)

#endif
