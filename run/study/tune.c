/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Searches the smallest flags with which a scenario meets its slos. Flags take steps of about 1.4.
 * First all flags go up together until the slo is met; then each is tried at its smallest step, and
 * the others are lowered by one step in turn, so that none falls far at the cost of the others. The
 * answer is tested: one step less of any flag misses the slo. Trials are points of a sweep with
 * common random numbers, and none is made twice. */
#include "tune-private.h"

#include <math.h>
#include <string.h>

#include "run/study/study-test.h"
#include "sweep-report.h"

/* Steps of about 1.4, which include the usual defaults. */
static const double steps[] = {1,  2,  3,   5,   7,   10,  15,  20,  30,
                               50, 70, 100, 150, 200, 300, 500, 700, 1000};
#define N_STEPS G_N_ELEMENTS(steps)

double
tune_step(int level)
{
    return steps[level];
}

static void
trial_free(void *data)
{
    TuneTrial *trial = data;

    g_free(trial->levels);
    g_free(trial->goals);
    g_free(trial);
}

void
tune_free(Tune *self)
{
    if (self == NULL)
        return;
    g_clear_pointer(&self->knobs, g_ptr_array_unref);
    g_clear_pointer(&self->flags, g_ptr_array_unref);
    g_clear_pointer(&self->trials, g_ptr_array_unref);
    g_free(self->arrived);
    scenario_free(self->scenario);
    g_free(self);
}

/* ---- Which flags ---- */

static gboolean
tune_is_wanted(const TuneOptions *options, const Knob *knob)
{
    if (options->flags == NULL)
        /* Flags of nodes are left alone: nobody tunes each node for one burst. */
        return knob->is_capacity && !g_str_has_prefix(knob->name, "kubelet");
    for (unsigned i = 0; options->flags[i] != NULL; i++)
        if (g_pattern_match_simple(options->flags[i], knob->name))
            return knob->type == FLAG_INT || knob->type == FLAG_NUMBER;
    return FALSE;
}

static void
fault(Tune *self, GPtrArray *faults, const char *path, const char *message, const char *hint)
{
    const YamlPosition at = {self->scenario->file, 0, 0};

    file_faults_add(faults, &at, path, message, hint);
}

static gboolean
check(Tune *self, GPtrArray *faults)
{
    if (self->scenario->n_slos == 0)
        fault(self, faults, "spec.slo", "there is none: what should be met?",
              "such as slo: [{stage: pod-start, quantile: 0.99, below: 60s}]");
    for (unsigned i = 0; i < self->scenario->n_slos; i++)
        if (self->scenario->slos[i].stage == NULL)
            fault(self, faults, "spec.slo", "tune takes promises about stages only",
                  "leave out availability");
    if (self->flags->len == 0)
        fault(self, faults, "", "there is no flag of these names to tune",
              "kvolsim whatif tells the names");
    return faults->len == 0;
}

Tune *
tune_new(const char *file, const TuneOptions *options, GPtrArray **faults)
{
    g_autoptr(Tune) self = g_new0(Tune, 1);
    const ScenarioOptions as_is = {.data_dir = options->data_dir, .set = options->set};

    self->options = options;
    self->scenario = scenario_load(file, &as_is, faults);
    if (self->scenario == NULL)
        return NULL;
    self->knobs = knobs_of(self->scenario);
    self->flags = g_ptr_array_new();
    self->trials = g_ptr_array_new_with_free_func(trial_free);
    for (unsigned i = 0; i < self->knobs->len; i++)
        if (tune_is_wanted(options, self->knobs->pdata[i]))
            g_ptr_array_add(self->flags, self->knobs->pdata[i]);
    self->arrived = g_new0(uint64_t, MAX(self->scenario->n_slos, 1));
    return check(self, *faults) ? g_steal_pointer(&self) : NULL;
}

/* ---- Trying settings ---- */

static char *
level_text(const Tune *self, unsigned flag, int level)
{
    return knob_value_text(self->flags->pdata[flag], steps[level]);
}

/* @levels: of each flag; NULL: the scenario as it is. Returns: (owned): of strings (owned), ends
 * with NULL */
static GPtrArray *
settings_of(const Tune *self, const int *levels)
{
    GPtrArray *set = g_ptr_array_new_with_free_func(g_free);

    for (unsigned i = 0; self->options->set != NULL && self->options->set[i] != NULL; i++)
        g_ptr_array_add(set, g_strdup(self->options->set[i]));
    for (unsigned i = 0; levels != NULL && i < self->flags->len; i++) {
        g_autofree char *text = level_text(self, i, levels[i]);
        knob_add_settings(self->flags->pdata[i], text, set);
    }
    g_ptr_array_add(set, NULL);
    return set;
}

static TuneTrial *
find_trial(const Tune *self, const int *levels)
{
    for (unsigned i = 0; i < self->trials->len; i++) {
        TuneTrial *trial = self->trials->pdata[i];
        if (levels == NULL
                ? trial->levels == NULL
                : trial->levels != NULL &&
                      memcmp(trial->levels, levels, self->flags->len * sizeof *levels) == 0)
            return trial;
    }
    return NULL;
}

/* Three measures for each slo, then two for the API server. */
static unsigned
share_of(unsigned slo)
{
    return 3 * slo;
}
static unsigned
arrived_of(unsigned slo)
{
    return 3 * slo + 1;
}
static unsigned
tune_time_of(unsigned slo)
{
    return 3 * slo + 2;
}

static void
add_measures(const Tune *self, Sweep *sweep)
{
    for (unsigned i = 0; i < self->scenario->n_slos; i++) {
        const ScenarioSlo *slo = &self->scenario->slos[i];
        char buffer[SIM_TIME_BUFFER], number[G_ASCII_DTOSTR_BUF_SIZE];
        Stage stage = STAGE_POD_START;
        g_autofree char *share = g_strconcat("<", sim_time_format(slo->below, buffer), NULL);
        g_autofree char *quantile = g_strconcat(
            "p", g_ascii_formatd(number, sizeof number, "%.10g", slo->quantile * 100), NULL);
        if (!stage_find(slo->stage, &stage))
            g_assert_not_reached(); /* the loader checked it */
        sweep_add_stage(sweep, "share", stage, share);
        sweep_add_stage(sweep, "arrived", stage, "count");
        sweep_add_stage(sweep, "time", stage, slo->quantile > 0 ? quantile : "min");
    }
    sweep_add_value(sweep, "requests", SWEEP_API_REQUESTS);
    sweep_add_value(sweep, "peak", SWEEP_API_PEAK);
}

/* Makes a sweep of the missing trials. Returns: (owned) */
static Sweep *
sweep_of(const Tune *self, const GPtrArray *trials)
{
    static const char *const nothing[] = {NULL};
    unsigned n = self->options->replications;
    Sweep *sweep = sweep_new("tune", self->scenario->file);

    sweep->seed = self->scenario->seed;
    sweep->replications = (SweepReplications){.count = n, .max = n, .measure = -1};
    sweep_add_parameter(sweep, "trial", nothing);
    add_measures(self, sweep);
    for (unsigned i = 0; i < trials->len; i++) {
        const TuneTrial *trial = trials->pdata[i];
        g_autoptr(GPtrArray) set = settings_of(self, trial->levels);
        g_autofree char *number = g_strdup_printf("%u", i);
        const char *const labels[] = {number, NULL};
        sweep_add_point(sweep, (const char *const *)set->pdata, labels);
    }
    return sweep;
}

/* Counts over the objects of all runs: below the time, and all. */
static void
sum_goal(const SweepTable *table, unsigned point, unsigned slo, TuneGoal *goal)
{
    unsigned n = table->measures->len;
    const GArray *shares = table->values[point * n + share_of(slo)];
    const GArray *counts = table->values[point * n + arrived_of(slo)];
    const unsigned *share_at =
        (const unsigned *)(void *)table->replications[point * n + share_of(slo)]->data;

    for (unsigned i = 0, k = 0; i < counts->len; i++) {
        double count = g_array_index(counts, double, i);
        goal->arrived += (uint64_t)count;
        /* Without arrivals a run has no share. */
        if (k < shares->len &&
            share_at[k] ==
                g_array_index(table->replications[point * n + arrived_of(slo)], unsigned, i))
            goal->below += (uint64_t)floor(g_array_index(shares, double, k++) * count + 0.5);
    }
    goal->time = sweep_table_estimate(table, point, tune_time_of(slo));
}

static void
read_trial(const Tune *self, const SweepTable *table, unsigned point, TuneTrial *trial)
{
    unsigned n = 3 * self->scenario->n_slos;

    trial->goals = g_new0(TuneGoal, self->scenario->n_slos);
    for (unsigned i = 0; i < self->scenario->n_slos; i++)
        sum_goal(table, point, i, &trial->goals[i]);
    trial->requests = sweep_table_estimate(table, point, n);
    trial->peak = sweep_table_estimate(table, point, n + 1);
}

static GError *
fault_error(const GPtrArray *faults)
{
    g_autofree char *text = file_fault_text(faults->pdata[0]);

    return g_error_new(RUN_ERROR, RUN_ERROR_INVALID, "%s", text);
}

static SweepEnd
make_trials(Tune *self, const GPtrArray *trials, GError **error)
{
    g_autoptr(GPtrArray) faults = file_faults_new();
    g_autoptr(Sweep) sweep = sweep_of(self, trials);

    if (!sweep_finish(sweep, self->options->data_dir, faults)) {
        g_propagate_error(error, fault_error(faults));
        return SWEEP_FAILED;
    }
    g_autoptr(SweepStore) store = sweep_store_create(":memory:", sweep, FALSE, error);
    if (store == NULL)
        return SWEEP_FAILED;
    SweepEnd end = sweep_run(sweep, store, &self->options->run, error);
    if (end != SWEEP_DONE)
        return end;
    g_autoptr(SweepTable) table = sweep_store_table(store, error);
    if (table == NULL)
        return SWEEP_FAILED;
    for (unsigned i = 0; i < trials->len; i++)
        read_trial(self, table, i, trials->pdata[i]);
    return SWEEP_DONE;
}

/* Makes the runs of the @n settings that were not tried before, at once. @all: levels, one after
 * the other; NULL: the scenario as it is */
static SweepEnd
try_all(Tune *self, const int *all, unsigned n, GError **error)
{
    g_autoptr(GPtrArray) fresh = g_ptr_array_new();
    unsigned n_flags = self->flags->len;

    for (unsigned i = 0; i < n; i++) {
        const int *levels = all == NULL ? NULL : all + i * n_flags;
        if (find_trial(self, levels) != NULL)
            continue;
        TuneTrial *trial = g_new0(TuneTrial, 1);
        trial->levels = levels == NULL ? NULL : g_memdup2(levels, n_flags * sizeof *levels);
        g_ptr_array_add(self->trials, trial);
        g_ptr_array_add(fresh, trial);
    }
    return fresh->len == 0 ? SWEEP_DONE : make_trials(self, fresh, error);
}

/* ---- The slo ---- */

gboolean
tune_goal_is_met(const Tune *self, const TuneTrial *trial, unsigned i)
{
    const TuneGoal *goal = &trial->goals[i];

    if (goal->below == 0 || goal->arrived < self->arrived[i])
        return FALSE;
    /* The quantile is the value of the least rank k of n with k / n >= q (sim_sample_quantile()),
     * so that many must be below. */
    return (double)goal->below / (double)goal->arrived >= self->scenario->slos[i].quantile;
}

gboolean
tune_is_met(const Tune *self, const TuneTrial *trial)
{
    for (unsigned i = 0; i < self->scenario->n_slos; i++)
        if (!tune_goal_is_met(self, trial, i))
            return FALSE;
    return TRUE;
}

/* ---- The search ---- */

/* All flags at the same step, each step. Returns: in @levels the least that meets the slo, and
 * whether there is one */
static SweepEnd
tune_start(Tune *self, int *levels, gboolean *is_met, GError **error)
{
    unsigned n = self->flags->len;
    g_autofree int *all = g_new(int, N_STEPS *n);

    for (unsigned step = 0; step < N_STEPS; step++)
        for (unsigned i = 0; i < n; i++)
            all[step * n + i] = (int)step;
    SweepEnd end = try_all(self, all, N_STEPS, error);
    if (end != SWEEP_DONE)
        return end;
    for (unsigned step = 0; step < N_STEPS; step++)
        for (unsigned i = 0; i < self->scenario->n_slos; i++)
            self->arrived[i] =
                MAX(self->arrived[i], find_trial(self, all + step * n)->goals[i].arrived);
    *is_met = FALSE;
    for (unsigned step = 0; step < N_STEPS && !*is_met; step++) {
        memcpy(levels, all + step * n, n * sizeof *levels);
        *is_met = tune_is_met(self, find_trial(self, levels));
    }
    return SWEEP_DONE;
}

/* Tries flag @i at @level, and keeps it if the slo is met. */
static SweepEnd
try_level(Tune *self, int *levels, unsigned i, int level, gboolean *is_met, GError **error)
{
    int before = levels[i];

    levels[i] = level;
    SweepEnd end = try_all(self, levels, 1, error);
    *is_met = end == SWEEP_DONE && tune_is_met(self, find_trial(self, levels));
    if (!*is_met)
        levels[i] = before;
    return end;
}

/* Tries the smallest value of every flag first, which many scenarios hardly need; then lowers the
 * others by one step in turn, so that none falls far at the cost of the others. */
static SweepEnd
descend(Tune *self, int *levels, GError **error)
{
    unsigned n = self->flags->len, n_open = n;
    g_autofree gboolean *is_closed = g_new0(gboolean, n);
    SweepEnd end = SWEEP_DONE;
    gboolean is_met;

    for (unsigned i = 0; i < n && end == SWEEP_DONE; i++)
        if (levels[i] > 0)
            end = try_level(self, levels, i, 0, &is_met, error);
    while (n_open > 0 && end == SWEEP_DONE)
        for (unsigned i = 0; i < n && end == SWEEP_DONE; i++) {
            if (is_closed[i])
                continue;
            is_met = FALSE;
            if (levels[i] > 0)
                end = try_level(self, levels, i, levels[i] - 1, &is_met, error);
            is_closed[i] = !is_met;
            n_open -= is_closed[i];
        }
    return end;
}

/* Tries one step less for each flag, all in one sweep. @less: (out): a flag that can still go down;
 * -1: none */
static SweepEnd
look_below(Tune *self, const int *levels, int *less, GError **error)
{
    unsigned n = self->flags->len;
    g_autoptr(GArray) all = g_array_new(FALSE, FALSE, sizeof(int));

    *less = -1;
    for (unsigned i = 0; i < n; i++) {
        if (levels[i] == 0)
            continue;
        g_array_append_vals(all, levels, n);
        g_array_index(all, int, all->len - n + i)--;
    }
    SweepEnd end = try_all(self, (const int *)(void *)all->data, all->len / n, error);
    for (unsigned i = 0, k = 0; i < n && end == SWEEP_DONE; i++)
        if (levels[i] > 0 &&
            tune_is_met(self, find_trial(self, &g_array_index(all, int, n *k++))) && *less < 0)
            *less = (int)i;
    return end;
}

static SweepEnd
search(Tune *self, int *levels, gboolean *is_met, GError **error)
{
    SweepEnd end = try_all(self, NULL, 1, error);
    int less = -1;

    if (end == SWEEP_DONE)
        end = tune_start(self, levels, is_met, error);
    if (end != SWEEP_DONE || !*is_met)
        return end;
    do { /* ends: each turn goes down */
        if (less >= 0)
            levels[less]--;
        end = descend(self, levels, error);
        if (end == SWEEP_DONE)
            end = look_below(self, levels, &less, error);
    } while (end == SWEEP_DONE && less >= 0);
    return end;
}

TuneEnd
tune_run(Tune *self, GError **error)
{
    g_autofree int *levels = g_new0(int, self->flags->len);
    gboolean is_met = FALSE;

    switch (search(self, levels, &is_met, error)) {
    case SWEEP_INTERRUPTED:
        return TUNE_INTERRUPTED;
    case SWEEP_FAILED:
        return TUNE_FAILED;
    case SWEEP_DONE:
        break;
    }
    self->now = find_trial(self, NULL);
    self->answer = is_met ? find_trial(self, levels) : NULL;
    return is_met ? TUNE_FOUND : TUNE_NOT_MET;
}

/* ---- The answer ---- */

unsigned
tune_n_flags(const Tune *self)
{
    return self->flags->len;
}

const Knob *
tune_flag(const Tune *self, unsigned i)
{
    return self->flags->pdata[i];
}

char *
tune_value(const Tune *self, unsigned i)
{
    return level_text(self, i, self->answer->levels[i]);
}

char *
tune_value_below(const Tune *self, unsigned i)
{
    int level = self->answer->levels[i];

    return level == 0 ? NULL : level_text(self, i, level - 1);
}

const TuneTrial *
tune_trial_below(const Tune *self, unsigned i)
{
    g_autofree int *levels =
        g_memdup2(self->answer->levels, self->flags->len * sizeof *self->answer->levels);

    return levels[i]-- == 0 ? NULL : find_trial(self, levels);
}

char **
tune_settings(const Tune *self, int less)
{
    g_autofree int *levels =
        g_memdup2(self->answer->levels, self->flags->len * sizeof *self->answer->levels);

    if (less >= 0)
        levels[less]--;
    GPtrArray *set = settings_of(self, levels);
    return (char **)g_ptr_array_free(set, FALSE);
}
