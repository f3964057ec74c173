/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The content of a picture of a sweep: its axes, curves and measures, by name or by a choice that
 * suits the table: the parameter with the most values on the axis, the next one as curves, all
 * others held at one value, which the picture tells. Values of parameters are numbers or durations
 * if all of them are. */
#include "sweep-plot.h"

#include <string.h>

G_DEFINE_QUARK(kvolsim - sweep - plot - error, sweep_plot_error)

void
sweep_plot_free(SweepPlot *self)
{
    if (self == NULL)
        return;
    g_free(self->held);
    g_free(self);
}

static const char *
label_at(const SweepTable *table, unsigned point, unsigned parameter)
{
    return table->labels->pdata[point * table->parameters->len + parameter];
}

static const StoredMeasure *
measure_at(const SweepTable *table, unsigned measure)
{
    return &g_array_index(table->measures, StoredMeasure, measure);
}

/* ---- Values of parameters ---- */

static gboolean
study_sweep_plot_is_number(const char *text)
{
    char *end;

    g_ascii_strtod(text, &end);
    return end != text && *end == '\0';
}

/* Whether all values are durations and at least one has a unit. */
static gboolean
is_time(const SweepTable *table, unsigned parameter)
{
    gboolean is_all = TRUE, has_unit = FALSE;
    SimTime time;

    for (unsigned i = 0; i < table->n_points; i++) {
        const char *label = label_at(table, i, parameter);
        is_all &= sim_time_parse(label, &time, NULL);
        has_unit |= !study_sweep_plot_is_number(label);
    }
    return is_all && has_unit;
}

gboolean
sweep_plot_is_number(const SweepTable *table, int parameter)
{
    if (parameter < 0)
        return FALSE;
    for (unsigned i = 0; i < table->n_points; i++)
        if (!study_sweep_plot_is_number(label_at(table, i, (unsigned)parameter)))
            return is_time(table, (unsigned)parameter);
    return TRUE;
}

/* The number of different values of a parameter. */
static unsigned
n_values(const SweepTable *table, unsigned parameter)
{
    g_autoptr(GHashTable) seen = g_hash_table_new(g_str_hash, g_str_equal);

    for (unsigned i = 0; i < table->n_points; i++)
        g_hash_table_add(seen, (void *)label_at(table, i, parameter));
    return g_hash_table_size(seen);
}

/* Whether the points are no grid: a grid of as many points would have fewer values. */
static gboolean
is_sample(const SweepTable *table)
{
    double size = 1;

    for (unsigned i = 0; i < table->parameters->len; i++)
        size *= n_values(table, i);
    return table->parameters->len > 0 && size > table->n_points + 0.5;
}

/* ---- Names ---- */

static char *
known_parameters(const SweepTable *table)
{
    GString *names = g_string_new(NULL);

    for (unsigned i = 0; i < table->parameters->len; i++)
        g_string_append_printf(names, "%s%s", i > 0 ? ", " : "",
                               (const char *)table->parameters->pdata[i]);
    return g_string_free(names, FALSE);
}

static int
find_parameter(const SweepTable *table, const char *name, GError **error)
{
    for (unsigned i = 0; i < table->parameters->len; i++)
        if (g_str_equal(table->parameters->pdata[i], name))
            return (int)i;
    g_autofree char *known = known_parameters(table);
    g_set_error(error, SWEEP_PLOT_ERROR, SWEEP_PLOT_ERROR_INVALID,
                "the sweep has no parameter \"%s\" (known: %s)", name, known);
    return -1;
}

static int
find_measure(const SweepTable *table, const char *name, GError **error)
{
    g_autoptr(GString) known = g_string_new(NULL);

    for (unsigned i = 0; i < table->measures->len; i++) {
        if (g_str_equal(measure_at(table, i)->name, name))
            return (int)i;
        g_string_append_printf(known, "%s%s", i > 0 ? ", " : "", measure_at(table, i)->name);
    }
    g_set_error(error, SWEEP_PLOT_ERROR, SWEEP_PLOT_ERROR_INVALID,
                "the sweep has no measure \"%s\" (known: %s)", name, known->str);
    return -1;
}

/* ---- Choosing ---- */

/* The parameter with the most values, except @other and held ones; the first of several. -1: none
 * varies */
static int
longest(const SweepPlot *self, const SweepTable *table, int other)
{
    int best = -1;
    unsigned most = 1;

    for (unsigned i = 0; i < table->parameters->len; i++)
        if ((int)i != other && self->held[i] == NULL && n_values(table, i) > most) {
            most = n_values(table, i);
            best = (int)i;
        }
    return best;
}

static gboolean
choose_parameter(const SweepPlot *self,
                 const SweepTable *table,
                 const char *name,
                 int other,
                 int *parameter,
                 GError **error)
{
    *parameter = name != NULL ? find_parameter(table, name, error) : longest(self, table, other);
    return name == NULL || *parameter >= 0;
}

/* The first measure with this unit, and with @word in its name; NULL: with any name. */
static int
first_measure(const SweepTable *table, const char *unit, const char *word)
{
    for (unsigned i = 0; i < table->measures->len; i++)
        if (g_str_equal(measure_at(table, i)->unit, unit) &&
            (word == NULL || strstr(measure_at(table, i)->name, word) != NULL))
            return (int)i;
    return -1;
}

static gboolean
choose_measures(SweepPlot *self,
                const SweepTable *table,
                SweepPlotKind kind,
                const SweepPlotNames *names,
                GError **error)
{
    int measure = names->measure != NULL ? find_measure(table, names->measure, error) : 0;

    if (measure < 0)
        return FALSE;
    self->measure = (unsigned)measure;
    self->against = -1;
    if (kind != SWEEP_PLOT_PARETO)
        return TRUE;
    if (names->measure == NULL) {
        measure = first_measure(table, "s", "p99");
        self->measure = (unsigned)MAX(measure >= 0 ? measure : first_measure(table, "s", NULL), 0);
    }
    if (names->against != NULL) {
        self->against = find_measure(table, names->against, error);
        return self->against >= 0;
    }
    self->against = first_measure(table, "requests/s", NULL);
    if (self->against < 0) /* a file of before 0.2 */
        self->against = first_measure(table, "", "peak");
    if (self->against < 0)
        self->against = first_measure(table, "", "requests");
    if (self->against >= 0)
        return TRUE;
    g_set_error(error, SWEEP_PLOT_ERROR, SWEEP_PLOT_ERROR_INVALID,
                "which measure is the price? None is called peak or requests: --against");
    return FALSE;
}

/* "driver=fast" */
static gboolean
hold(SweepPlot *self, const SweepTable *table, const char *text, GError **error)
{
    const char *equals = strchr(text, '=');

    if (equals == NULL) {
        g_set_error(error, SWEEP_PLOT_ERROR, SWEEP_PLOT_ERROR_INVALID,
                    "\"%s\" is not such as driver=fast", text);
        return FALSE;
    }
    g_autofree char *name = g_strndup(text, (gsize)(equals - text));
    int parameter = find_parameter(table, name, error);
    if (parameter < 0)
        return FALSE;
    for (unsigned i = 0; i < table->n_points; i++)
        if (g_str_equal(label_at(table, i, (unsigned)parameter), equals + 1)) {
            self->held[parameter] = label_at(table, i, (unsigned)parameter);
            return TRUE;
        }
    g_set_error(error, SWEEP_PLOT_ERROR, SWEEP_PLOT_ERROR_INVALID,
                "the sweep's parameter %s has no value \"%s\"", name, equals + 1);
    return FALSE;
}

/* Holds each parameter that is on no axis at one value. */
static void
hold_rest(SweepPlot *self, const SweepTable *table)
{
    unsigned point = table->baseline >= 0 && (unsigned)table->baseline < table->n_points
                         ? (unsigned)table->baseline
                         : 0;

    for (unsigned i = 0; i < table->parameters->len; i++)
        if ((int)i != self->along && (int)i != self->by && self->held[i] == NULL &&
            n_values(table, i) > 1)
            self->held[i] = label_at(table, point, i);
}

static gboolean
choose_axes(SweepPlot *self,
            const SweepTable *table,
            SweepPlotKind kind,
            const SweepPlotNames *names,
            GError **error)
{
    int named_by = names->by != NULL ? find_parameter(table, names->by, error) : -1;

    if (names->by != NULL && named_by < 0)
        return FALSE;
    if (!choose_parameter(self, table, names->along, named_by, &self->along, error))
        return FALSE;
    self->by = named_by;
    if (self->by < 0 && !(self->is_scatter && kind == SWEEP_PLOT_CURVES))
        self->by = longest(self, table, self->along);
    if (self->along < 0 || (kind == SWEEP_PLOT_HEAT_MAP && self->by < 0)) {
        g_set_error(error, SWEEP_PLOT_ERROR, SWEEP_PLOT_ERROR_INVALID,
                    "%s with several values to draw over",
                    self->along < 0 ? "the sweep has no parameter"
                                    : "a heat map needs two parameters");
        return FALSE;
    }
    if (self->along == self->by) {
        g_set_error(error, SWEEP_PLOT_ERROR, SWEEP_PLOT_ERROR_INVALID,
                    "--along and --by are the same parameter");
        return FALSE;
    }
    return TRUE;
}

SweepPlot *
sweep_plot_new(const SweepTable *table,
               SweepPlotKind kind,
               const SweepPlotNames *names,
               GError **error)
{
    g_autoptr(SweepPlot) self = g_new0(SweepPlot, 1);

    self->held = g_new0(const char *, MAX(table->parameters->len, 1));
    self->along = self->by = -1;
    self->is_scatter = is_sample(table);
    for (unsigned i = 0; names->only != NULL && names->only[i] != NULL; i++)
        if (!hold(self, table, names->only[i], error))
            return NULL;
    if (!choose_measures(self, table, kind, names, error))
        return NULL;
    if (kind != SWEEP_PLOT_PARETO) {
        if (!choose_axes(self, table, kind, names, error))
            return NULL;
        if (!self->is_scatter)
            hold_rest(self, table);
    }
    return g_steal_pointer(&self);
}

/* ---- What is drawn ---- */

static gboolean
sweep_plot_is_drawn(const SweepPlot *self, const SweepTable *table, unsigned point)
{
    for (unsigned i = 0; i < table->parameters->len; i++)
        if (self->held[i] != NULL && !g_str_equal(label_at(table, point, i), self->held[i]))
            return FALSE;
    return TRUE;
}

char *
sweep_plot_plain(const char *text)
{
    return g_strdelimit(g_strdup(text), "\"'|\\", ' ');
}

static void
append_text(GString *text, const char *cell)
{
    g_autofree char *plain = sweep_plot_plain(cell);

    g_string_append_printf(text, ",\"%s\"", plain);
}

static void
append_label(GString *text, const SweepTable *table, unsigned point, unsigned parameter)
{
    const char *label = label_at(table, point, parameter);
    SimTime time;

    if (is_time(table, parameter) && sim_time_parse(label, &time, NULL))
        csv_append_number(text, (double)time / (double)SIM_SECOND);
    else
        append_text(text, label);
}

static void
append_heads(GString *text, const SweepTable *table)
{
    static const char *const suffixes[] = {"", " low", " high"};

    g_string_append(text, "point");
    for (unsigned i = 0; i < table->parameters->len; i++)
        append_text(text, table->parameters->pdata[i]);
    for (unsigned i = 0; i < table->measures->len; i++)
        for (unsigned k = 0; k < G_N_ELEMENTS(suffixes); k++) {
            g_autofree char *head = g_strconcat(measure_at(table, i)->name, suffixes[k], NULL);
            append_text(text, head);
        }
    g_string_append_c(text, '\n');
}

char *
sweep_plot_csv(const SweepPlot *self, const SweepTable *table)
{
    GString *text = g_string_new(NULL);

    g_string_append_printf(text, "# kvolsim sweep %s, identity %s, confidence %g\n", table->name,
                           table->hash, table->confidence);
    append_heads(text, table);
    for (unsigned point = 0; point < table->n_points; point++) {
        if (!sweep_plot_is_drawn(self, table, point))
            continue;
        g_string_append_printf(text, "%u", point);
        for (unsigned i = 0; i < table->parameters->len; i++)
            append_label(text, table, point, i);
        for (unsigned i = 0; i < table->measures->len; i++) {
            Estimate found = sweep_table_estimate(table, point, i);
            csv_append_estimate(text, &found);
        }
        g_string_append_c(text, '\n');
    }
    return g_string_free(text, FALSE);
}

char *
sweep_plot_held(const SweepPlot *self, const SweepTable *table)
{
    GString *text = g_string_new(NULL);

    for (unsigned i = 0; i < table->parameters->len; i++)
        if (self->held[i] != NULL)
            g_string_append_printf(text, "%s%s = %s", text->len > 0 ? ", " : "",
                                   (const char *)table->parameters->pdata[i], self->held[i]);
    return g_string_free(text, FALSE);
}

char *
sweep_plot_varied(const SweepPlot *self, const SweepTable *table)
{
    GString *text = g_string_new("|");

    for (unsigned i = 0; i < table->parameters->len; i++)
        if (self->held[i] == NULL && n_values(table, i) > 1)
            g_string_append_printf(text, "%s|", (const char *)table->parameters->pdata[i]);
    return g_string_free(text, FALSE);
}

char *
sweep_plot_parameter_label(const SweepTable *table, int parameter)
{
    if (parameter < 0)
        return g_strdup("");
    const char *name = table->parameters->pdata[parameter];
    return is_time(table, (unsigned)parameter) ? g_strdup_printf("%s (s)", name) : g_strdup(name);
}

char *
sweep_plot_measure_label(const SweepTable *table, int measure)
{
    if (measure < 0)
        return g_strdup("");
    const StoredMeasure *found = measure_at(table, (unsigned)measure);
    return *found->unit != '\0' ? g_strdup_printf("%s (%s)", found->name, found->unit)
                                : g_strdup(found->name);
}
