/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Points of the sweep: 0 is the unchanged scenario; then half and double of each knob, if the
 * scenario takes them. Measures: 0 is the requested one; 1 is the number of objects that arrived: a
 * run in which slow objects never arrive looks fast. */
#include "whatif.h"

#include <math.h>
#include <string.h>

#include "run/files/rows.h"
#include "run/results/results.h"
#include "run/study/study-test.h"
#include "sim/order.h"

#define MEASURED 0
#define ARRIVED 1
#define NO_POINT UINT_MAX

typedef struct {
    unsigned halved, doubled; /* points; NO_POINT: left out */
} KnobPoints;

struct Whatif {
    Scenario *scenario;
    GPtrArray *knobs; /* of Knob */
    KnobPoints *points;
    Sweep *sweep;
    const char *measure; /* (owned by the sweep): "pod-start p99" */
};

void
whatif_free(Whatif *self)
{
    if (self == NULL)
        return;
    sweep_free(self->sweep);
    g_clear_pointer(&self->knobs, g_ptr_array_unref);
    g_free(self->points);
    scenario_free(self->scenario);
    g_free(self);
}

const Sweep *
whatif_sweep(const Whatif *self)
{
    return self->sweep;
}

/* Returns: the point; NO_POINT if the scenario does not take the value */
static unsigned
add_point(Whatif *self, const WhatifOptions *options, const Knob *knob, double factor)
{
    g_autoptr(GPtrArray) set = g_ptr_array_new_with_free_func(g_free);
    g_autoptr(GPtrArray) faults = NULL;
    g_autofree char *value = knob == NULL ? NULL : knob_value_text(knob, knob->number * factor);
    const char *const labels[] = {knob == NULL ? "as it is" : knob->name, knob == NULL ? "" : value,
                                  NULL};

    if (knob != NULL && (value == NULL || g_str_equal(value, knob->text)))
        return NO_POINT;
    for (unsigned i = 0; options->set != NULL && options->set[i] != NULL; i++)
        g_ptr_array_add(set, g_strdup(options->set[i]));
    if (knob != NULL)
        knob_add_settings(knob, value, set);
    g_ptr_array_add(set, NULL);
    const ScenarioOptions changed = {.data_dir = options->data_dir,
                                     .set = (const char *const *)set->pdata};
    g_autoptr(Scenario) scenario = scenario_load(self->scenario->file, &changed, &faults);
    if (scenario == NULL)
        return NO_POINT;
    return sweep_add_point(self->sweep, (const char *const *)set->pdata, labels);
}

static void
add_points(Whatif *self, const WhatifOptions *options)
{
    static const char *const nothing[] = {NULL};

    sweep_add_parameter(self->sweep, "flag", nothing);
    sweep_add_parameter(self->sweep, "value", nothing);
    self->sweep->baseline = (int)add_point(self, options, NULL, 1);
    for (unsigned i = 0; i < self->knobs->len; i++) {
        self->points[i].halved = add_point(self, options, self->knobs->pdata[i], 0.5);
        self->points[i].doubled = add_point(self, options, self->knobs->pdata[i], 2);
    }
}

Whatif *
whatif_new(const char *file, const WhatifOptions *options, GPtrArray **faults)
{
    g_autoptr(Whatif) self = g_new0(Whatif, 1);
    const ScenarioOptions as_is = {.data_dir = options->data_dir, .set = options->set};

    self->scenario = scenario_load(file, &as_is, faults);
    if (self->scenario == NULL)
        return NULL;
    g_autofree char *name = g_strdup_printf("%s-whatif", self->scenario->name);
    g_autofree char *measure =
        options->value != NULL
            ? g_strdup(options->value)
            : g_strdup_printf("%s %s", stage_name(options->stage), options->statistic);
    self->knobs = knobs_of(self->scenario);
    self->points = g_new0(KnobPoints, MAX(self->knobs->len, 1));
    self->sweep = sweep_new(name, file);
    self->sweep->seed = self->scenario->seed;
    self->sweep->replications = (SweepReplications){
        .count = options->replications, .max = options->replications, .measure = -1};
    SweepValueKind value;
    if (sweep_value_find(options->value, &value))
        sweep_add_value(self->sweep, measure, value);
    else
        sweep_add_stage(self->sweep, measure, options->stage, options->statistic);
    sweep_add_stage(self->sweep, "arrived", options->stage, "count");
    self->measure = self->sweep->measures[MEASURED].name;
    add_points(self, options);
    if (!sweep_finish(self->sweep, options->data_dir, *faults))
        return NULL;
    return g_steal_pointer(&self);
}

/* ---- What it says ---- */

static WhatifChange
change_at(const Whatif *self, const SweepTable *table, unsigned point)
{
    unsigned baseline = (unsigned)self->sweep->baseline;
    WhatifChange change = {0};

    if (point == NO_POINT)
        return change;
    change.text = (char *)self->sweep->points[point].labels[1];
    change.measured = sweep_table_estimate(table, point, MEASURED);
    change.change = sweep_table_pairs(table, baseline, point, MEASURED);
    change.arrived = sweep_table_pairs(table, baseline, point, ARRIVED).difference.mean;
    return change;
}

/* An interval of this confidence leaves out zero only by chance: of @n intervals one in twenty
 * times. */
static gboolean
is_sure(const WhatifChange *change, unsigned n, double confidence)
{
    const Estimate *found = &change->change.difference;
    double sure = 1 - (1 - confidence) / MAX(n, 1);

    if (change->text == NULL || found->n < 2 || found->mean == 0)
        return FALSE;
    double half = found->deviation > 0
                      ? student_quantile(sure, found->n - 1) * found->deviation / sqrt(found->n)
                      : 0;
    return fabs(found->mean) > half;
}

static gboolean
has_effect(const WhatifChange *change)
{
    const Estimate *found = &change->change.difference;

    return change->text != NULL &&
           (found->mean != 0 || found->deviation != 0 || change->arrived != 0);
}

static int
whatif_compare_rows(const void *a, const void *b)
{
    const WhatifRow *one = a, *other = b;

    return ORDER(other->has_effect, one->has_effect) ?: ORDER(other->most, one->most);
}

GArray *
whatif_rows(const Whatif *self, const SweepTable *table)
{
    GArray *rows = g_array_new(FALSE, TRUE, sizeof(WhatifRow));
    unsigned n = self->sweep->n_points - 1;

    for (unsigned i = 0; i < self->knobs->len; i++) {
        WhatifRow row = {.knob = self->knobs->pdata[i],
                         .halved = change_at(self, table, self->points[i].halved),
                         .doubled = change_at(self, table, self->points[i].doubled)};
        row.most =
            MAX(fabs(row.halved.change.difference.mean), fabs(row.doubled.change.difference.mean));
        row.has_effect = has_effect(&row.halved) || has_effect(&row.doubled);
        row.is_sure = is_sure(&row.halved, n, table->confidence) ||
                      is_sure(&row.doubled, n, table->confidence);
        g_array_append_val(rows, row);
    }
    g_array_sort(rows, whatif_compare_rows); /* stable: equal rows keep their order */
    return rows;
}

/* ---- For people ---- */

/* Three digits: the intervals are mostly wider than the rest. */
static char *
short_number(double value, gboolean with_sign)
{
    char buffer[G_ASCII_DTOSTR_BUF_SIZE];
    double size = fabs(value);
    const char *format = size >= 100 ? "%.0f" : size >= 10 ? "%.1f" : size >= 1 ? "%.2f" : "%.3f";

    return g_strdup_printf("%s%s", with_sign && value >= 0 ? "+" : "",
                           g_ascii_formatd(buffer, sizeof buffer, format, value));
}

static char *
change_text(const WhatifChange *change)
{
    if (change->text == NULL)
        return g_strdup("-");
    if (change->change.difference.n == 0)
        return g_strdup_printf("%s: none arrives", change->text);
    g_autofree char *mean = short_number(change->change.difference.mean, TRUE);
    g_autofree char *half = short_number(change->change.difference.half, FALSE);
    g_autofree char *arrived =
        change->arrived == 0 ? g_strdup("") : g_strdup_printf(" (%+.3g arrive)", change->arrived);
    if (change->change.difference.n == 1)
        return g_strdup_printf("%s: %s%s", change->text, mean, arrived);
    return g_strdup_printf("%s: %s ±%s%s", change->text, mean, half, arrived);
}

static void
append_row(GString *text, const WhatifRow *row, unsigned name_width)
{
    g_autofree char *halved = change_text(&row->halved);
    g_autofree char *doubled = change_text(&row->doubled);

    append_padded(text, row->knob->name, name_width + 2);
    append_padded(text, row->knob->text, 8);
    append_padded(text, halved, 26);
    append_padded(text, doubled, row->is_sure ? 0 : 26);
    g_string_append(text, row->is_sure ? "\n" : "?\n");
}

static void
append_without_effect(const GArray *rows, GString *text)
{
    gsize width = 0;
    unsigned n = 0;

    for (unsigned i = 0; i < rows->len; i++)
        n += !g_array_index(rows, WhatifRow, i).has_effect;
    if (n == 0)
        return;
    g_string_append_printf(text, "\n%u change nothing in any run:", n);
    for (unsigned i = 0; i < rows->len; i++) {
        const WhatifRow *row = &g_array_index(rows, WhatifRow, i);
        if (row->has_effect)
            continue;
        width = width > 0 && width + strlen(row->knob->name) < 110 ? width : 0;
        g_string_append_printf(text, "%s%s%s", width == 0 ? "\n  " : " ", row->knob->name,
                               --n > 0 ? "," : "");
        width += strlen(row->knob->name) + 2;
    }
    g_string_append_c(text, '\n');
}

char *
whatif_text(const Whatif *self, const SweepTable *table)
{
    g_autoptr(GArray) rows = whatif_rows(self, table);
    GString *text = g_string_new(NULL);
    Estimate now = sweep_table_estimate(table, (unsigned)self->sweep->baseline, MEASURED);
    unsigned width = strlen("FLAG OR LIMIT"), n_unsure = 0, n_effects = 0;

    for (unsigned i = 0; i < rows->len; i++)
        n_effects += g_array_index(rows, WhatifRow, i).has_effect;
    if (now.n == 0 && n_effects == 0) {
        g_string_append_printf(text,
                               "%s: nothing to compare: no run has a %s. Give the scenario a "
                               "workload, or name another --stage.\n",
                               self->scenario->name, self->measure);
        return g_string_free(text, FALSE);
    }
    g_autofree char *mean = now.n > 0 ? short_number(now.mean, FALSE) : g_strdup("-");
    g_autofree char *half = now.n > 1 ? short_number(now.half, FALSE) : g_strdup("-");
    g_string_append_printf(
        text,
        "%s: %s is %s s ±%s (mean of %u runs). How much it changes, s, run by run under the "
        "same luck, with %g %% intervals:\n\n",
        self->scenario->name, self->measure, mean, half, now.n, table->confidence * 100);
    for (unsigned i = 0; i < rows->len; i++) {
        const WhatifRow *row = &g_array_index(rows, WhatifRow, i);
        if (row->has_effect)
            width = MAX(width, (unsigned)strlen(row->knob->name));
    }
    append_padded(text, "FLAG OR LIMIT", width + 2);
    g_string_append(text, "NOW     HALVED                    DOUBLED\n");
    for (unsigned i = 0; i < rows->len; i++) {
        const WhatifRow *row = &g_array_index(rows, WhatifRow, i);
        if (!row->has_effect)
            continue;
        append_row(text, row, width);
        n_unsure += !row->is_sure;
    }
    if (n_unsure > 0)
        g_string_append_printf(text,
                               "\n?: among %u intervals one like this comes by chance; more "
                               "--replications would tell.\n",
                               self->sweep->n_points - 1);
    append_without_effect(rows, text);
    return g_string_free(text, FALSE);
}

/* ---- For programs ---- */

/* A number about the difference from the unchanged runs: its mean, or an end of its interval. NAN:
 * there is none */
static double
difference(const WhatifChange *change, int side)
{
    const Estimate *found = &change->change.difference;

    if (change->text == NULL || found->n == 0)
        return (double)NAN;
    return side == 0 ? found->mean : found->mean + side * found->half; /* it may be infinite */
}

/* clang-format off */
#define CHANGE_COLUMNS(X, name, change) \
    X(name,            maybe_setting, NULL,      "the value that was tried; empty: the scenario refuses it", (change)->text) \
    X(name " change",  maybe_number,  "seconds", "change of the measure: the mean of the differences between runs", difference(change, 0)) \
    X(name " low",     maybe_number,  "seconds", "its interval begins here", difference(change, -1)) \
    X(name " high",    maybe_number,  "seconds", "its interval ends here", difference(change, 1)) \
    X(name " arrived", maybe_number,  "objects", "that arrived at the end of the stage in addition", (change)->text != NULL ? (change)->arrived : (double)NAN)
#define FLAG_COLUMNS(X) \
    X("flag",          quoted,        NULL,      "the flag or limit; the largest change comes first", row->knob->name) \
    X("now",           setting,       NULL,      "its value in the scenario", row->knob->text) \
    X("sure",          yes_no,        NULL,      "1: significant even among so many intervals", row->is_sure) \
    CHANGE_COLUMNS(X, "halved", &row->halved) \
    CHANGE_COLUMNS(X, "doubled", &row->doubled)
const ResultTable whatif_table = RESULT_TABLE("whatif.csv", "kvolsim whatif: a row for each flag", NULL, FLAG_COLUMNS(COLUMN));
/* clang-format on */

char *
whatif_csv(const Whatif *self, const SweepTable *table)
{
    g_autoptr(GArray) rows = whatif_rows(self, table);
    Estimate now = sweep_table_estimate(table, (unsigned)self->sweep->baseline, MEASURED);
    g_autoptr(ResultFile) file = result_file_new_in_memory();
    char mean[G_ASCII_DTOSTR_BUF_SIZE];

    g_string_append_printf(file->text,
                           "# kvolsim %s scenario %s hash %s seed %" G_GUINT64_FORMAT
                           " replication 0 to %u, %s now %s\n",
                           results_version(), self->scenario->name, self->scenario->hash,
                           self->sweep->seed, self->sweep->replications.count - 1, self->measure,
                           now.n > 0 ? g_ascii_formatd(mean, sizeof mean, "%.9g", now.mean) : "");
    row_header(file, &whatif_table);
    for (unsigned i = 0; i < rows->len; i++) {
        const WhatifRow *row = &g_array_index(rows, WhatifRow, i);
        FLAG_COLUMNS(CSV_CELL);
        row_end(file);
    }
    return g_strdup(file->text->str);
}

static json_t *
json_number(double value)
{
    return isfinite(value) ? json_real(value) : json_null();
}

static json_t *
json_change(const WhatifChange *change)
{
    const Estimate *found = &change->change.difference;

    if (change->text == NULL)
        return json_null();
    return json_pack("{s:s, s:o, s:o, s:o, s:o, s:i, s:o}", "value", change->text, "mean",
                     found->n > 0 ? json_number(change->measured.mean) : json_null(), "change",
                     found->n > 0 ? json_number(found->mean) : json_null(), "low",
                     found->n > 1 ? json_number(found->mean - found->half) : json_null(), "high",
                     found->n > 1 ? json_number(found->mean + found->half) : json_null(), "runs",
                     (int)found->n, "arrived", json_number(change->arrived));
}

json_t *
whatif_json(const Whatif *self, const SweepTable *table)
{
    g_autoptr(GArray) rows = whatif_rows(self, table);
    Estimate now = sweep_table_estimate(table, (unsigned)self->sweep->baseline, MEASURED);
    json_t *list = json_array();

    for (unsigned i = 0; i < rows->len; i++) {
        const WhatifRow *row = &g_array_index(rows, WhatifRow, i);
        json_array_append_new(list,
                              json_pack("{s:s, s:o, s:s, s:b, s:o, s:o}", "flag", row->knob->name,
                                        "paths", knob_paths(row->knob), "now", row->knob->text,
                                        "sure", row->is_sure, "halved", json_change(&row->halved),
                                        "doubled", json_change(&row->doubled)));
    }
    return json_pack("{s:s, s:s, s:s, s:I, s:s, s:i, s:f, s:o, s:o}", "version", results_version(),
                     "scenario", self->scenario->name, "scenarioHash", self->scenario->hash, "seed",
                     (json_int_t)self->sweep->seed, "measure", self->measure, "replications",
                     (int)self->sweep->replications.count, "confidence", table->confidence, "now",
                     now.n > 0 ? json_number(now.mean) : json_null(), "flags", list);
}
