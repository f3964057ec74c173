/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "sweep-report.h"

/* Chooses the part of a sweep's results for a picture. A picture has two dimensions: parameters
 * that are on no axis are held at one value each. */

typedef enum {
    SWEEP_PLOT_CURVES,   /* a measure along a parameter, a curve for each value of another */
    SWEEP_PLOT_HEAT_MAP, /* a measure over two parameters */
    SWEEP_PLOT_PARETO,   /* a measure against another, a mark for each point */
} SweepPlotKind;

/* Names given by the user; NULL: choose. */
typedef struct {
    const char *along, *by;        /* parameters */
    const char *measure, *against; /* measures */
    const char *const *only;       /* NULL-terminated: "driver=fast" */
} SweepPlotNames;

typedef struct {
    int along, by; /* parameters; -1: none */
    unsigned measure;
    int against; /* the measure along the other axis; -1: none */
    const char **
        held; /* (owned): of each parameter the value (borrowed from the table); NULL: all values */
    gboolean is_scatter; /* no grid: points of a random sample */
} SweepPlot;

#define SWEEP_PLOT_ERROR (sweep_plot_error_quark())
GQuark sweep_plot_error_quark(void);
typedef enum {
    SWEEP_PLOT_ERROR_INVALID,
} SweepPlotError;

/**
 * sweep_plot_new:
 * Chooses axes: parameters with the most values; the first measure; for a Pareto front requests to
 * the API server against a time. Other parameters are held at the baseline's value, else at their
 * first one. Of a random sample nothing is held.
 * @table: (borrowed), outlives the result
 * Returns: (owned): %NULL with a %SWEEP_PLOT_ERROR
 */
SweepPlot *sweep_plot_new(const SweepTable *table,
                          SweepPlotKind kind,
                          const SweepPlotNames *names,
                          GError **error);
void sweep_plot_free(SweepPlot *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(SweepPlot, sweep_plot_free)

/* @text without characters that mean something in gnuplot's strings and in the scripts' lists.
 * (owned) */
char *sweep_plot_plain(const char *text);
/* The rows to draw, in the form of sweep_table_csv()'s points; durations of parameters are seconds.
 * (owned) */
char *sweep_plot_csv(const SweepPlot *self, const SweepTable *table);
/* The held parameters: "driver = fast, zones = 2". (owned) */
char *sweep_plot_held(const SweepPlot *self, const SweepTable *table);
/* The names of the parameters that differ between the drawn points: "|workers|qps|". (owned) */
char *sweep_plot_varied(const SweepPlot *self, const SweepTable *table);
/* Whether all values of a parameter are numbers, or durations. */
gboolean sweep_plot_is_number(const SweepTable *table, int parameter);
/* "create (s)", "start p99 (s)": as on an axis. Each (owned) */
char *sweep_plot_parameter_label(const SweepTable *table, int parameter);
char *sweep_plot_measure_label(const SweepTable *table, int measure);
