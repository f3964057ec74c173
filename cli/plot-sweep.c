/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <errno.h>
#include <glib/gstdio.h>
#include <stdio.h>
#include <string.h>

#include "plot-sweep.h"
#include "sweep-tools.h"

/* Pictures of a sweep: a table of what is to be drawn goes into a folder of its own for the moment,
 * gnuplot reads it there. */

static const struct {
    const char *name, *script, *meaning;
} pictures[] = {
    [SWEEP_PLOT_CURVES] = {"curves",   "sweep-curves",
                           "a measure along a parameter, with confidence bands"       },
    [SWEEP_PLOT_HEAT_MAP] = {"heat-map", "heat-map",     "a measure over two parameters"},
    [SWEEP_PLOT_PARETO] = {"pareto",   "pareto",
                           "requests to the API server against a time: its front"     },
};

void
plot_sweep_clear(PlotSweep *self)
{
    g_free(self->along);
    g_free(self->by);
    g_free(self->measure);
    g_free(self->against);
    g_strfreev(self->only);
}

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
    g_autofree char *plain = sweep_plot_plain(value); /* as the heads of columns are */
    g_autofree char *quoted = cli_gnuplot_quote(plain);

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

/* What the scripts want to know: names are heads of columns, labels stand at the axes. */
static char *
settings_of(const SweepPlot *plot, const SweepTable *table)
{
    GString *settings = g_string_new(NULL);
    g_autofree char *along = sweep_plot_parameter_label(table, plot->along);
    g_autofree char *by = sweep_plot_parameter_label(table, plot->by);
    g_autofree char *measure = sweep_plot_measure_label(table, (int)plot->measure);
    g_autofree char *against = sweep_plot_measure_label(table, plot->against);
    g_autofree char *held = sweep_plot_held(plot, table);

    set_variable(settings, "along", parameter_name(table, plot->along));
    set_variable(settings, "by", parameter_name(table, plot->by));
    set_variable(settings, "measure", measure_name(table, (int)plot->measure));
    set_variable(settings, "against", measure_name(table, plot->against));
    set_variable(settings, "along_label", along);
    set_variable(settings, "by_label", by);
    set_variable(settings, "measure_label", measure);
    set_variable(settings, "against_label", against);
    set_variable(settings, "held", held);
    g_string_append_printf(settings,
                           "scatter = %d; along_is_number = %d; by_is_number = %d; "
                           "confidence = %d",
                           plot->is_scatter, sweep_plot_is_number(table, plot->along),
                           sweep_plot_is_number(table, plot->by),
                           (int)(table->confidence * 100 + 0.5));
    return g_string_free(settings, FALSE);
}

/* "results.sqlite" and "curves" give "results-curves.png". Returns: (owned): NULL: drawn in the
 * terminal */
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
           const char *suffix,
           const char *terminal)
{
    g_autoptr(GError) error = NULL;
    g_autofree char *folder = g_dir_make_tmp("kvolsim-plot-XXXXXX", &error);
    g_autofree char *text = sweep_plot_csv(plot, table);
    g_autofree char *output = output_name(db, pictures[picture].name, suffix);
    g_autofree char *settings = settings_of(plot, table);
    ExitCode code = EXIT_ERROR;

    if (folder == NULL) {
        cli_error("plot: %s", error->message);
        return EXIT_ERROR;
    }
    g_autofree char *input = g_build_filename(folder, "points.csv", NULL);
    if (cli_write_file(folder, "points.csv", text))
        code =
            cli_gnuplot(pictures[picture].script, input, table->name, terminal, settings, output);
    g_unlink(input);
    g_rmdir(folder);
    return code;
}

ExitCode
plot_sweep_draw(const PlotSweep *self,
                const char *db,
                const char *kind,
                const char *suffix,
                const char *terminal)
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
            code = draw_table(plot, table, db, i, suffix, terminal);
        } else if (kind != NULL || i == SWEEP_PLOT_CURVES) { /* others are drawn if they can be */
            cli_error("plot: %s: %s", db, error->message);
            code = EXIT_BAD_INPUT;
        }
    }
    if (is_known)
        return code;
    cli_error("plot: no such picture of a sweep: \"%s\" (known: curves, heat-map, pareto)", kind);
    return EXIT_BAD_INPUT;
}
