/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reports of tune: for people, as CSV and as JSON: the answer beside the scenario as it is, the
 * flags that matter, the cost of the answer at the API server, and the command that sets it.
 * Without an answer the trial that comes nearest is shown. Shares are rounded away from the target:
 * 98.96 % must not look like 99 %. */
#include <math.h>
#include <string.h>

#include "run/files/rows.h"
#include "run/results/results.h"
#include "tune-private.h"

/* ---- Pieces ---- */

/* "99 % of pod-start below 60s" */
static char *
slo_text(const ScenarioSlo *slo)
{
    char number[G_ASCII_DTOSTR_BUF_SIZE], time[SIM_TIME_BUFFER];

    return g_strdup_printf("%s %% of %s below %s",
                           g_ascii_formatd(number, sizeof number, "%.10g", slo->quantile * 100),
                           slo->stage, sim_time_format(slo->below, time));
}

static double
percent(const TuneGoal *goal)
{
    return goal->arrived == 0 ? 0 : 100.0 * (double)goal->below / (double)goal->arrived;
}

/* Rounds away from the target: 98.96 % must not look like 99 %. */
static char *
percent_text(const TuneGoal *goal)
{
    char number[G_ASCII_DTOSTR_BUF_SIZE];
    double value = floor(percent(goal) * 100) / 100;

    return g_strdup_printf("%s %%", g_ascii_formatd(number, sizeof number, "%.4g", value));
}

/* ---- For people ---- */

/* The first slo that @trial misses, and its result. (owned) */
static char *
missed_text(const Tune *self, const TuneTrial *trial)
{
    for (unsigned i = 0; i < self->scenario->n_slos; i++) {
        const TuneGoal *goal = &trial->goals[i];
        if (tune_goal_is_met(self, trial, i))
            continue;
        if (goal->arrived < self->arrived[i])
            return g_strdup_printf("%" G_GUINT64_FORMAT " do not arrive",
                                   self->arrived[i] - goal->arrived);
        g_autofree char *share = percent_text(goal);
        char time[SIM_TIME_BUFFER];
        return g_strdup_printf("only %s of %s below %s", share, self->scenario->slos[i].stage,
                               sim_time_format(self->scenario->slos[i].below, time));
    }
    return g_strdup("");
}

static void
append_flags(const Tune *self, GString *text)
{
    unsigned width = strlen("FLAG");

    for (unsigned i = 0; i < self->flags->len; i++)
        width = MAX(width, (unsigned)strlen(tune_flag(self, i)->name));
    append_padded(text, "FLAG", width + 2);
    g_string_append(text, "NOW     LEAST   ONE STEP LESS\n");
    for (unsigned i = 0; i < self->flags->len; i++) {
        const TuneTrial *below = tune_trial_below(self, i);
        g_autofree char *value = tune_value(self, i);
        g_autofree char *less = tune_value_below(self, i);
        g_autofree char *missed = below == NULL ? NULL : missed_text(self, below);
        if (below == NULL)
            continue;
        append_padded(text, tune_flag(self, i)->name, width + 2);
        append_padded(text, tune_flag(self, i)->text, 8);
        append_padded(text, value, 8);
        g_string_append_printf(text, "%s: %s\n", less, missed);
    }
}

/* Lists the flags for which the smallest step is enough. */
static void
append_least(const Tune *self, GString *text)
{
    gsize width = 0;
    unsigned n = 0;

    for (unsigned i = 0; i < self->flags->len; i++) {
        const char *name = tune_flag(self, i)->name;
        if (tune_trial_below(self, i) != NULL)
            continue;
        if (n == 0)
            g_string_append(text, "\n1 is enough here for:");
        width = width > 0 && width + strlen(name) < 110 ? width : 0;
        g_string_append_printf(text, "%s%s%s", n++ == 0 ? "" : ",", width == 0 ? "\n  " : " ",
                               name);
        width += strlen(name) + 2;
    }
    g_string_append(text, n > 0 ? "\n" : "");
}

static void
tune_report_append_line(GString *text, const char *what, char *now, char *then)
{
    g_string_append(text, "  ");
    append_padded(text, what, 36);
    append_padded(text, now, 24);
    g_string_append_printf(text, "%s\n", then);
    g_free(now);
    g_free(then);
}

static char *
goal_text(const TuneGoal *goal)
{
    g_autofree char *share = percent_text(goal);
    g_autofree char *time = estimate_text(&goal->time, " s");

    return g_strdup_printf("%s (%s)", share, time);
}

/* Compares the unchanged scenario with the answer. */
static void
append_price(const Tune *self, GString *text)
{
    const TuneTrial *now = self->now, *then = self->answer;

    g_string_append(text, "\n  ");
    append_padded(text, "", 36);
    append_padded(text, "NOW", 24);
    g_string_append(text, "THEN\n");
    for (unsigned i = 0; i < self->scenario->n_slos; i++) {
        g_autofree char *what = slo_text(&self->scenario->slos[i]);
        tune_report_append_line(text, what, goal_text(&now->goals[i]), goal_text(&then->goals[i]));
    }
    tune_report_append_line(text, "requests to the API server", estimate_text(&now->requests, ""),
                            estimate_text(&then->requests, ""));
    tune_report_append_line(text, "the most of them in one second", estimate_text(&now->peak, ""),
                            estimate_text(&then->peak, ""));
}

static void
append_command(const Tune *self, GString *text)
{
    g_auto(GStrv) set = tune_settings(self, -1);

    g_string_append_printf(text, "\nkvolsim run %s --replications %u", self->scenario->file,
                           self->options->replications);
    for (unsigned i = 0; set[i] != NULL; i++) {
        g_autofree char *quoted = g_shell_quote(set[i]);
        g_string_append_printf(text, " \\\n  --set %s", quoted);
    }
    g_string_append_c(text, '\n');
}

static char *
all_slos(const Tune *self)
{
    GString *text = g_string_new(NULL);

    for (unsigned i = 0; i < self->scenario->n_slos; i++) {
        g_autofree char *one = slo_text(&self->scenario->slos[i]);
        g_string_append_printf(text, "%s%s", i > 0 ? ", " : "", one);
    }
    return g_string_free(text, FALSE);
}

/* The trial whose worst slo is nearest to its target. */
static const TuneTrial *
nearest(const Tune *self)
{
    const TuneTrial *best = NULL;
    double most = -1;

    for (unsigned k = 0; k < self->trials->len; k++) {
        const TuneTrial *trial = self->trials->pdata[k];
        double worst = 100;
        for (unsigned i = 0; i < self->scenario->n_slos; i++)
            worst = MIN(worst, trial->goals[i].arrived < self->arrived[i]
                                   ? 0
                                   : percent(&trial->goals[i]) / self->scenario->slos[i].quantile);
        if (worst > most) {
            most = worst;
            best = trial;
        }
    }
    return best;
}

static void
append_failure(const Tune *self, GString *text)
{
    const TuneTrial *best = nearest(self);
    g_autofree char *missed = missed_text(self, best);
    g_autofree char *step = best->levels == NULL
                                ? NULL
                                : knob_value_text(tune_flag(self, 0), tune_step(best->levels[0]));

    g_string_append_printf(
        text,
        "No step of the %u flags tried meets it, all at the same: nearest comes %s, %s.\n"
        "What holds it up is something else; kvolsim run and kvolsim whatif tell what.\n",
        self->flags->len, step == NULL ? "the scenario as it is" : step, missed);
}

char *
tune_text(const Tune *self)
{
    GString *text = g_string_new(NULL);
    g_autofree char *wanted = all_slos(self);

    g_string_append_printf(text, "%s: the least flags for %s (%u runs each, %u settings tried)\n\n",
                           self->scenario->name, wanted, self->options->replications,
                           self->trials->len);
    if (self->answer == NULL) {
        append_failure(self, text);
        return g_string_free(text, FALSE);
    }
    append_flags(self, text);
    append_least(self, text);
    append_price(self, text);
    append_command(self, text);
    return g_string_free(text, FALSE);
}

/* ---- For programs ---- */

static const char *
trial_word(const Tune *self, const TuneTrial *trial)
{
    return trial == self->answer ? "answer" : trial == self->now ? "now" : "tried";
}

/* clang-format off */
static const ColumnType column_which = {"{\"enum\": [\"now\", \"tried\", \"answer\"]}", FALSE, "`now`, `tried`, `answer`"};
#define cell_which cell_text

#define ESTIMATE_COLUMNS(X, name, unit, meaning, found) \
    X(name,          maybe_number, unit,      meaning ": mean over the runs", (found)->n > 0 ? (found)->mean : (double)NAN) \
    X(name " low",   maybe_number, unit,      "its interval begins here", (found)->n > 1 ? (found)->mean - (found)->half : (double)NAN) \
    X(name " high",  maybe_number, unit,      "its interval ends here", (found)->n > 1 ? (found)->mean + (found)->half : (double)NAN)
#define TRIAL_COLUMNS(X) \
    X("which",       which,        NULL,      "the scenario as it is, a setting that was tried, or the answer", trial_word(self, trial)) \
    X("met",         yes_no,       NULL,      "whether it meets each slo", tune_is_met(self, trial)) \
    ESTIMATE_COLUMNS(X, "peak", "requests", "to the API server in the busiest second", &trial->peak) \
    ESTIMATE_COLUMNS(X, "requests", "requests", "to the API server in the whole run", &trial->requests) \
    ESTIMATE_COLUMNS(X, "time", "seconds", "the quantile of the first slo", &goal->time) \
    X("share below", maybe_number, NULL,      "the share of all objects below the first slo's limit", goal->arrived > 0 ? percent(goal) / 100 : (double)NAN) \
    X("arrived",     count,        "objects", "that arrived at the end of the stage, in all runs", goal->arrived)
static const Column trial_flags = {"a column for each flag", &column_setting, NULL, "its value"};
const ResultTable tune_table = RESULT_TABLE("tune.csv", "kvolsim tune: a row for each setting in the order of trial", &trial_flags, TRIAL_COLUMNS(COLUMN));
/* clang-format on */

char *
tune_csv(const Tune *self)
{
    const ScenarioSlo *slo = &self->scenario->slos[0];
    char number[G_ASCII_DTOSTR_BUF_SIZE], below[G_ASCII_DTOSTR_BUF_SIZE];
    g_autoptr(ResultFile) file = result_file_new_in_memory();

    g_string_append_printf(
        file->text,
        "# kvolsim %s scenario %s hash %s seed %" G_GUINT64_FORMAT
        " replication 0 to %u, %s p%s below %s\n",
        results_version(), self->scenario->name, self->scenario->hash, self->scenario->seed,
        self->options->replications - 1, slo->stage,
        g_ascii_formatd(number, sizeof number, "%.10g", slo->quantile * 100),
        g_ascii_formatd(below, sizeof below, "%.9g", (double)slo->below / (double)SIM_SECOND));
    TRIAL_COLUMNS(CSV_NAME);
    for (unsigned i = 0; i < self->flags->len; i++) {
        row_item(file);
        cell_quoted(file->text, tune_flag(self, i)->name);
    }
    row_end(file);
    for (unsigned k = 0; k < self->trials->len; k++) {
        const TuneTrial *trial = self->trials->pdata[k];
        const TuneGoal *goal = &trial->goals[0];
        TRIAL_COLUMNS(CSV_CELL);
        for (unsigned i = 0; i < self->flags->len; i++) {
            g_autofree char *value =
                trial->levels == NULL
                    ? g_strdup(tune_flag(self, i)->text)
                    : knob_value_text(tune_flag(self, i), tune_step(trial->levels[i]));
            row_item(file);
            append_text(file->text, value);
        }
        row_end(file);
    }
    return g_strdup(file->text->str);
}

static json_t *
json_estimate(const Estimate *found)
{
    return json_pack("{s:o, s:o, s:o}", "mean", found->n > 0 ? json_real(found->mean) : json_null(),
                     "low", found->n > 1 ? json_real(found->mean - found->half) : json_null(),
                     "high", found->n > 1 ? json_real(found->mean + found->half) : json_null());
}

static json_t *
json_trial(const Tune *self, const TuneTrial *trial)
{
    json_t *slos = json_array();

    for (unsigned i = 0; i < self->scenario->n_slos; i++) {
        const ScenarioSlo *slo = &self->scenario->slos[i];
        const TuneGoal *goal = &trial->goals[i];
        json_array_append_new(
            slos,
            json_pack("{s:s, s:f, s:f, s:f, s:I, s:o, s:b}", "stage", slo->stage, "quantile",
                      slo->quantile, "below", (double)slo->below / (double)SIM_SECOND, "shareBelow",
                      percent(goal) / 100, "arrived", (json_int_t)goal->arrived, "time",
                      json_estimate(&goal->time), "met", tune_goal_is_met(self, trial, i)));
    }
    return json_pack("{s:o, s:o, s:o}", "slo", slos, "apiRequests", json_estimate(&trial->requests),
                     "mostInASecond", json_estimate(&trial->peak));
}

static json_t *
json_flag(const Tune *self, unsigned i)
{
    const Knob *knob = tune_flag(self, i);
    const TuneTrial *below = tune_trial_below(self, i);
    g_autofree char *value = tune_value(self, i);
    g_autofree char *less = tune_value_below(self, i);

    return json_pack(
        "{s:s, s:o, s:s, s:s, s:o}", "flag", knob->name, "paths", knob_paths(knob), "now",
        knob->text, "value", value, "oneStepLess",
        below == NULL ? json_null()
                      : json_pack("{s:s, s:o}", "value", less, "result", json_trial(self, below)));
}

json_t *
tune_json(const Tune *self)
{
    json_t *flags = json_array();

    for (unsigned i = 0; self->answer != NULL && i < self->flags->len; i++)
        json_array_append_new(flags, json_flag(self, i));
    return json_pack("{s:s, s:s, s:s, s:I, s:i, s:i, s:b, s:o, s:o, s:o}", "version",
                     results_version(), "scenario", self->scenario->name, "scenarioHash",
                     self->scenario->hash, "seed", (json_int_t)self->scenario->seed, "replications",
                     (int)self->options->replications, "tried", (int)self->trials->len, "met",
                     self->answer != NULL, "flags", flags, "now", json_trial(self, self->now),
                     "then", self->answer == NULL ? json_null() : json_trial(self, self->answer));
}
