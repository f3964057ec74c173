/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "plot-sweep.h"

#include "run/study/sweep-plot.h"

#include <string.h>

#include "sweep-tools.h"

static const struct {
    const char *name, *script, *meaning;
} pictures[] = {
    [SWEEP_PLOT_CURVES] = {"curves",   "sweep-curves",
                           "a measure along a parameter, with confidence bands"           },
    [SWEEP_PLOT_HEAT_MAP] = {"heat-map", "heat-map",     "a measure over two parameters"    },
    [SWEEP_PLOT_PARETO] = {"pareto",   "pareto",
                           "the Pareto front of requests to the API server against a time"},
};

char *
plot_sweep_names(const char *separator)
{
    GString *text = g_string_new(NULL);

    for (unsigned i = 0; i < G_N_ELEMENTS(pictures); i++)
        g_string_append_printf(text, "%s%s%*s%s", i == 0 ? "" : separator, pictures[i].name,
                               11 - (int)strlen(pictures[i].name), "", pictures[i].meaning);
    return g_string_free(text, FALSE);
}

static void
set_variable(GString *settings, const char *name, const char *value)
{
    g_autofree char *plain = sweep_plot_plain(value); /* as in the heads of columns */
    g_autofree char *quoted = gnuplot_quote(plain);

    g_string_append_printf(settings, "%s = %s; ", name, quoted);
}

static const char *
parameter_name(const SweepTable *table, int i)
{
    return i < 0 ? "" : table->parameters->pdata[i];
}

static const char *
measure_name(const SweepTable *table, int i)
{
    return i < 0 ? "" : g_array_index(table->measures, StoredMeasure, i).name;
}

/* The variables that the scripts read: names are heads of columns, labels are for the axes. */
static char *
settings_of(const SweepPlot *plot, const SweepTable *table)
{
    GString *settings = g_string_new(NULL);
    g_autofree char *along = sweep_plot_parameter_label(table, plot->along);
    g_autofree char *by = sweep_plot_parameter_label(table, plot->by);
    g_autofree char *measure = sweep_plot_measure_label(table, (int)plot->measure);
    g_autofree char *against = sweep_plot_measure_label(table, plot->against);
    g_autofree char *held = sweep_plot_held(plot, table);
    g_autofree char *varied = sweep_plot_varied(plot, table);
    g_autofree char *quoted_varied = gnuplot_quote(varied);

    set_variable(settings, "along", parameter_name(table, plot->along));
    set_variable(settings, "by", parameter_name(table, plot->by));
    set_variable(settings, "measure", measure_name(table, (int)plot->measure));
    set_variable(settings, "against", measure_name(table, plot->against));
    set_variable(settings, "along_label", along);
    set_variable(settings, "by_label", by);
    set_variable(settings, "measure_label", measure);
    set_variable(settings, "against_label", against);
    set_variable(settings, "held", held);
    g_string_append_printf(settings, "varied = %s; ", quoted_varied);
    g_string_append_printf(settings,
                           "scatter = %d; along_is_number = %d; by_is_number = %d; "
                           "confidence = %d",
                           plot->is_scatter, sweep_plot_is_number(table, plot->along),
                           sweep_plot_is_number(table, plot->by),
                           (int)(table->confidence * 100 + 0.5));
    return g_string_free(settings, FALSE);
}

/* "results.sqlite" and "curves" give "results-curves.png". Returns: (owned): NULL: the picture is
 * printed in the terminal */
static char *
output_name(const char *db, const char *picture, const char *suffix)
{
    gsize length = strlen(db);

    if (suffix == NULL)
        return NULL;
    if (g_str_has_suffix(db, ".sqlite"))
        length -= strlen(".sqlite");
    return g_strdup_printf("%.*s-%s.%s", (int)length, db, picture, suffix);
}

static ExitCode
draw_table(const SweepPlot *plot,
           const SweepTable *table,
           const char *db,
           unsigned picture,
           const GnuplotFormat *format)
{
    g_autofree char *text = sweep_plot_csv(plot, table);
    g_autofree char *output = output_name(db, pictures[picture].name, format->suffix);
    g_autofree char *settings = settings_of(plot, table);

    return gnuplot_draw_text(pictures[picture].script, text, table->name, format->terminal,
                             settings, output);
}

ExitCode
plot_sweep_draw(const PlotSweep *self,
                const char *db,
                const char *kind,
                const GnuplotFormat *format)
{
    const SweepPlotNames names = {self->along, self->by, self->measure, self->against,
                                  (const char *const *)self->only};
    g_autoptr(GError) error = NULL;
    g_autoptr(SweepStore) store = sweep_store_open(db, &error);
    g_autoptr(SweepTable) table = store == NULL ? NULL : sweep_store_table(store, &error);
    ExitCode code = EXIT_DONE;
    gboolean is_known = kind == NULL;

    if (table == NULL)
        return cli_store_error(error);
    for (unsigned i = 0; i < G_N_ELEMENTS(pictures) && code == EXIT_DONE; i++) {
        if (kind != NULL && strcmp(kind, pictures[i].name) != 0)
            continue;
        is_known = TRUE;
        g_clear_error(&error);
        g_autoptr(SweepPlot) plot = sweep_plot_new(table, (SweepPlotKind)i, &names, &error);
        if (plot != NULL) {
            code = draw_table(plot, table, db, i, format);
        } else if (kind != NULL || i == SWEEP_PLOT_CURVES) { /* the others may not be possible */
            cli_error("plot: %s: %s", db, error->message);
            code = EXIT_BAD_INPUT;
        }
    }
    if (is_known)
        return code;
    return cli_bad_input(
        "plot: no such picture of a sweep: \"%s\" (known: curves, heat-map, pareto)", kind);
}
