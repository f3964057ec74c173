/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Tables of a sweep: means with confidence intervals, differences of pairs against the baseline,
 * and CSV files (RFC 4180) with all rows. Pairs have the same replication, hence the same luck, so
 * differences are much narrower than the means. Numbers have four digits, since intervals are
 * mostly wider than the rest. */
#include "sweep-report.h"

#include <math.h>
#include <string.h>

static const GArray *
values_at(const SweepTable *self, GArray *const *arrays, unsigned point, unsigned measure)
{
    return arrays[point * self->measures->len + measure];
}

static const char *
label_at(const SweepTable *self, unsigned point, unsigned parameter)
{
    return self->labels->pdata[point * self->parameters->len + parameter];
}

Estimate
sweep_table_estimate(const SweepTable *self, unsigned point, unsigned measure)
{
    const GArray *batches = values_at(self, self->batches, point, measure);
    const GArray *values =
        batches->len > 0 ? batches : values_at(self, self->values, point, measure);

    return estimate((const double *)values->data, values->len, self->confidence);
}

PairedEstimate
sweep_table_pairs(const SweepTable *self, unsigned baseline, unsigned point, unsigned measure)
{
    const GArray *first = values_at(self, self->values, baseline, measure);
    const GArray *second = values_at(self, self->values, point, measure);
    const unsigned *first_at =
        (const unsigned *)values_at(self, self->replications, baseline, measure)->data;
    const unsigned *second_at =
        (const unsigned *)values_at(self, self->replications, point, measure)->data;
    g_autofree double *a = g_new(double, MAX(first->len, 1));
    g_autofree double *b = g_new(double, MAX(first->len, 1));
    unsigned n = 0;

    for (unsigned i = 0, k = 0; i < first->len; i++) {
        while (k < second->len && second_at[k] < first_at[i])
            k++;
        if (k == second->len || second_at[k] != first_at[i])
            continue;
        a[n] = g_array_index(first, double, i);
        b[n++] = g_array_index(second, double, k);
    }
    return estimate_pairs(a, b, n, self->confidence);
}

/* ---- For people ---- */

/* Columns as wide as their widest cell; text to the left, numbers to the right. */
typedef struct {
    GPtrArray *cells; /* of char * (owned): row by row */
    unsigned n_columns, n_left;
} Grid;

static void
grid_add(Grid *self, char *cell)
{
    g_ptr_array_add(self->cells, cell);
}

static void
grid_append(const Grid *self, GString *text)
{
    unsigned n_rows = self->cells->len / self->n_columns;
    g_autofree unsigned *widths = g_new0(unsigned, self->n_columns);

    for (unsigned i = 0; i < self->cells->len; i++) {
        unsigned *width = &widths[i % self->n_columns];
        *width = MAX(*width, (unsigned)g_utf8_strlen(self->cells->pdata[i], -1));
    }
    for (unsigned row = 0; row < n_rows; row++) {
        for (unsigned column = 0; column < self->n_columns; column++) {
            const char *cell = self->cells->pdata[row * self->n_columns + column];
            int room = (int)widths[column] - (int)g_utf8_strlen(cell, -1);
            gboolean is_left = column < self->n_left, is_last = column + 1 == self->n_columns;
            g_string_append_printf(text, "%*s%s%*s%s", is_left ? 0 : room, "", cell,
                                   is_left && !is_last ? room : 0, "", is_last ? "\n" : "  ");
        }
    }
}

static char *
heading(const StoredMeasure *measure)
{
    g_autofree char *upper = g_ascii_strup(measure->name, -1);

    return *measure->unit == '\0' ? g_steal_pointer(&upper)
                                  : g_strdup_printf("%s (%s)", upper, measure->unit);
}

static void
add_headings(const SweepTable *self, Grid *grid)
{
    for (unsigned i = 0; i < self->parameters->len; i++)
        grid_add(grid, g_ascii_strup(self->parameters->pdata[i], -1));
    grid_add(grid, g_strdup("RUNS"));
    for (unsigned i = 0; i < self->measures->len; i++)
        grid_add(grid, heading(&g_array_index(self->measures, StoredMeasure, i)));
}

static void
add_labels(const SweepTable *self, Grid *grid, unsigned point)
{
    for (unsigned i = 0; i < self->parameters->len; i++)
        grid_add(grid, g_strdup(label_at(self, point, i)));
    grid_add(grid, g_strdup_printf("%u", self->n_runs[point]));
}

static void
grid_init(Grid *grid, const SweepTable *table)
{
    grid->cells = g_ptr_array_new_with_free_func(g_free);
    grid->n_left = table->parameters->len;
    grid->n_columns = table->parameters->len + 1 + table->measures->len;
    add_headings(table, grid);
}

static void
append_means(const SweepTable *self, GString *text)
{
    Grid grid;
    double worst = 0;

    grid_init(&grid, self);
    for (unsigned point = 0; point < self->n_points; point++) {
        add_labels(self, &grid, point);
        for (unsigned i = 0; i < self->measures->len; i++) {
            Estimate found = sweep_table_estimate(self, point, i);
            grid_add(&grid, estimate_text(&found, ""));
            if (self->n_batches > 0)
                worst = MAX(worst, found.correlation);
        }
    }
    grid_append(&grid, text);
    g_ptr_array_unref(grid.cells);
    if (worst > 0.2)
        g_string_append_printf(text,
                               "Neighbouring batches are alike (correlation up to %.2f): the "
                               "intervals are too narrow; "
                               "take fewer batches or longer runs.\n",
                               worst);
}

static void
append_pairs(const SweepTable *self, GString *text)
{
    Grid grid;

    g_string_append(text, "\nDifference from the baseline, run by run (the variance of the "
                          "difference is so many times "
                          "smaller than with independent runs):\n");
    grid_init(&grid, self);
    for (unsigned point = 0; point < self->n_points; point++) {
        if ((int)point == self->baseline)
            continue;
        add_labels(self, &grid, point);
        for (unsigned i = 0; i < self->measures->len; i++) {
            PairedEstimate pair = sweep_table_pairs(self, (unsigned)self->baseline, point, i);
            g_autofree char *difference = estimate_text(&pair.difference, "");
            g_autofree char *gain =
                estimate_text(&(Estimate){.n = 1, .mean = round(pair.gain * 10) / 10}, "");
            grid_add(&grid, pair.gain > 0 ? g_strdup_printf("%s (%sx)", difference, gain)
                                          : g_strdup(difference));
        }
    }
    grid_append(&grid, text);
    g_ptr_array_unref(grid.cells);
}

char *
sweep_table_text(const SweepTable *self)
{
    GString *text = g_string_new(NULL);

    g_string_append_printf(text, "%s: means with %g %% confidence intervals\n", self->name,
                           self->confidence * 100);
    append_means(self, text);
    if (self->baseline >= 0 && (unsigned)self->baseline < self->n_points)
        append_pairs(self, text);
    return g_string_free(text, FALSE);
}

/* ---- CSV (RFC 4180) ---- */

static void
sweep_report_append_cell(GString *text, const char *cell)
{
    if (strpbrk(cell, ",\"\n\r") == NULL) {
        g_string_append(text, cell);
        return;
    }
    g_auto(GStrv) parts = g_strsplit(cell, "\"", -1);
    g_autofree char *doubled = g_strjoinv("\"\"", parts);
    g_string_append_printf(text, "\"%s\"", doubled);
}

static void
append_settings(const SweepTable *self, GString *text, unsigned point)
{
    g_string_append_printf(text, "%u", point);
    for (unsigned i = 0; i < self->parameters->len; i++) {
        g_string_append_c(text, ',');
        sweep_report_append_cell(text, label_at(self, point, i));
    }
}

static void
append_header(const SweepTable *self, GString *text, const char *first, const char *const *suffixes)
{
    g_string_append_printf(text, "# kvolsim sweep %s, identity %s, confidence %g\npoint",
                           self->name, self->hash, self->confidence);
    for (unsigned i = 0; i < self->parameters->len; i++) {
        g_string_append_c(text, ',');
        sweep_report_append_cell(text, self->parameters->pdata[i]);
    }
    g_string_append(text, first);
    for (unsigned i = 0; i < self->measures->len; i++)
        for (unsigned k = 0; suffixes[k] != NULL; k++) {
            g_autofree char *name = g_strconcat(
                g_array_index(self->measures, StoredMeasure, i).name, suffixes[k], NULL);
            g_string_append_c(text, ',');
            sweep_report_append_cell(text, name);
        }
    g_string_append_c(text, '\n');
}

static void
append_points(const SweepTable *self, GString *text)
{
    static const char *const suffixes[] = {"", " low", " high", " deviation", NULL};

    append_header(self, text, ",runs", suffixes);
    for (unsigned point = 0; point < self->n_points; point++) {
        append_settings(self, text, point);
        g_string_append_printf(text, ",%u", self->n_runs[point]);
        for (unsigned i = 0; i < self->measures->len; i++) {
            Estimate found = sweep_table_estimate(self, point, i);
            csv_append_estimate(text, &found);
            csv_append_number(text, found.n > 1 ? found.deviation : (double)NAN);
        }
        g_string_append_c(text, '\n');
    }
}

/* The value of one replication; NAN: it has none. */
static double
sweep_report_value_of(const SweepTable *self,
                      unsigned point,
                      unsigned measure,
                      unsigned replication)
{
    const GArray *at = values_at(self, self->replications, point, measure);

    for (unsigned i = 0; i < at->len; i++)
        if (g_array_index(at, unsigned, i) == replication)
            return g_array_index(values_at(self, self->values, point, measure), double, i);
    return (double)NAN;
}

static void
append_runs(const SweepTable *self, GString *text)
{
    static const char *const suffixes[] = {"", NULL};

    append_header(self, text, ",replication", suffixes);
    for (unsigned point = 0; point < self->n_points; point++) {
        unsigned end = 0;
        for (unsigned i = 0; i < self->measures->len; i++) {
            const GArray *at = values_at(self, self->replications, point, i);
            end = MAX(end, at->len == 0 ? 0 : g_array_index(at, unsigned, at->len - 1) + 1);
        }
        for (unsigned replication = 0; replication < end; replication++) {
            append_settings(self, text, point);
            g_string_append_printf(text, ",%u", replication);
            for (unsigned i = 0; i < self->measures->len; i++)
                csv_append_number(text, sweep_report_value_of(self, point, i, replication));
            g_string_append_c(text, '\n');
        }
    }
}

static void
append_pair_rows(const SweepTable *self, GString *text)
{
    static const char *const suffixes[] = {" difference", " low", " high", " gain", NULL};

    append_header(self, text, ",pairs", suffixes);
    for (unsigned point = 0; point < self->n_points; point++) {
        if ((int)point == self->baseline)
            continue;
        append_settings(self, text, point);
        for (unsigned i = 0; i < self->measures->len; i++) {
            PairedEstimate pair = sweep_table_pairs(self, (unsigned)self->baseline, point, i);
            const Estimate *found = &pair.difference;
            if (i == 0)
                g_string_append_printf(text, ",%u", found->n);
            csv_append_estimate(text, found);
            csv_append_number(text, pair.gain > 0 ? pair.gain : (double)NAN);
        }
        g_string_append_c(text, '\n');
    }
}

char *
sweep_table_csv(const SweepTable *self, SweepCsv kind)
{
    GString *text = g_string_new(NULL);

    switch (kind) {
    case SWEEP_CSV_POINTS:
        append_points(self, text);
        break;
    case SWEEP_CSV_RUNS:
        append_runs(self, text);
        break;
    case SWEEP_CSV_PAIRS:
        if (self->baseline < 0)
            return g_string_free(text, TRUE);
        append_pair_rows(self, text);
        break;
    }
    return g_string_free(text, FALSE);
}
