/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <glib/gstdio.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "invariants.h"
#include "models/plan/plan.h"
#include "random-scenario.h"
#include "run/results/results.h"

/* Random clusters, workloads and faults, one per seed, with what must hold in all of them:
 *
 *   soak [SEEDS [FIRST]]        SEEDS random scenarios, of seeds FIRST (1), FIRST + 1, ...
 *   soak --print SEED           the scenario of a seed: `soak --print 7 > 7.yaml; kvolsim
 * run 7.yaml` soak --log SEED [--polling] what every component and driver does, a line each: with
 * `diff` against --polling the first line shows where a ticker that sleeps goes astray */

#define SEEDS_OF_CHECK 20
#define POLLED_UNTIL (2 * SIM_MINUTE) /* polling costs until the end of time */
#define REST_AT_MOST (24 * SIM_HOUR)  /* a cluster without changes is at rest by then */

typedef struct {
    uint64_t seed;
    RandomScenario *random;
    Scenario *scenario;
    char *folder; /* for files */
    GString *faults;
} Soak;

static const char *const result_files[] = {"objects.csv", "milestones.jsonl", "events.jsonl",
                                           "summary.json"};

static Scenario *
load(Soak *self)
{
    g_autofree char *file = g_build_filename(self->folder, "soak.yaml", NULL);
    const ScenarioOptions options = {.data_dir = KVOLSIM_SRCDIR};
    g_autoptr(GPtrArray) faults = NULL;

    if (!g_file_set_contents(file, self->random->text, -1, NULL))
        g_error("%s cannot be written", file);
    Scenario *scenario = scenario_load(file, &options, &faults);
    for (unsigned i = 0; i < faults->len; i++) {
        g_autofree char *text = file_fault_text(faults->pdata[i]);
        g_string_append_printf(self->faults, "  %s\n", text);
    }
    return scenario;
}

static gboolean
is_not_too_late(void *data, SimTime now, uint64_t n_events)
{
    (void)data, (void)n_events;
    return now < REST_AT_MOST;
}

static Run *
start(Soak *self, gboolean polling)
{
    const RunOptions options = {
        .seed = self->seed, .polling = polling, .progress = is_not_too_late};
    g_autoptr(GError) error = NULL;
    Run *run = run_new(self->scenario, &options, &error);

    if (run == NULL)
        g_string_append_printf(self->faults, "  %s\n", error->message);
    return run;
}

/* Returns: (owned): the run's results, file after file */
static char *
result_text(Soak *self, const Run *run)
{
    g_autoptr(Results) results = results_new(self->scenario, self->seed);
    g_autoptr(Stages) stages = stages_new(run);
    GString *text = g_string_new(NULL);

    results_add(results, run, stages);
    if (!results_write_run(run, stages, self->folder, NULL) ||
        !results_write_summary(results, self->folder, NULL))
        g_error("%s cannot be written to", self->folder);
    for (unsigned i = 0; i < G_N_ELEMENTS(result_files); i++) {
        g_autofree char *file = g_build_filename(self->folder, result_files[i], NULL);
        g_autofree char *contents = NULL;
        if (g_file_get_contents(file, &contents, NULL, NULL))
            g_string_append_printf(text, "%s\n%s", result_files[i], contents);
    }
    return g_string_free(text, FALSE);
}

/* Prints the first line that differs. */
static void
compare(Soak *self, const char *what, const char *one, const char *other)
{
    g_auto(GStrv) lines = g_strsplit(one, "\n", -1);
    g_auto(GStrv) others = g_strsplit(other, "\n", -1);
    unsigned i = 0;

    if (strcmp(one, other) == 0)
        return;
    while (lines[i] != NULL && others[i] != NULL && strcmp(lines[i], others[i]) == 0)
        i++;
    g_string_append_printf(self->faults, "  %s differ, line %u:\n    %s\n    %s\n", what, i,
                           lines[i] == NULL ? "(end)" : lines[i],
                           others[i] == NULL ? "(end)" : others[i]);
}

/* Runs to the end, with all invariants. Returns: (owned): the results; NULL after a fault */
static char *
run_watched(Soak *self)
{
    g_autoptr(Run) run = start(self, FALSE);
    if (run == NULL)
        return NULL;

    g_autoptr(Invariants) invariants = invariants_new(run);
    sim_run_until(run_sim(run), self->random->delete_at_s * SIM_SECOND - 1);
    invariants_check_settled(invariants);
    if (self->random->is_easy)
        invariants_check_ready(invariants);
    if (run_execute(run) == RUN_INTERRUPTED)
        g_string_append(self->faults, "  it does not come to rest\n");
    else
        invariants_check_empty(invariants);
    g_string_append(self->faults, invariants_faults(invariants));
    return result_text(self, run);
}

static void
check_repeats(Soak *self, const char *results)
{
    g_autoptr(Run) run = start(self, FALSE);

    run_execute(run);
    g_autofree char *repeated = result_text(self, run);
    compare(self, "two runs of a seed", results, repeated);
}

static void
check_polling(Soak *self)
{
    g_autoptr(Run) sleeping = start(self, FALSE);
    g_autoptr(Run) polling = start(self, TRUE);

    sim_run_until(run_sim(sleeping), POLLED_UNTIL);
    sim_run_until(run_sim(polling), POLLED_UNTIL);
    g_autofree char *one = result_text(self, sleeping);
    g_autofree char *other = result_text(self, polling);
    char *end = strstr(one, "summary.json"), *other_end = strstr(other, "summary.json");
    if (end != NULL && other_end != NULL)
        *end = *other_end = '\0'; /* it counts events, including ticks */
    compare(self, "sleeping and polling", one, other);
}

/* A run that ends anywhere frees everything: the sanitizer build looks for leaks. */
static void
check_cut(Soak *self)
{
    g_autoptr(Run) run = start(self, FALSE);

    sim_run_until(run_sim(run), (SimTime)(self->seed * 7919 % 120) * SIM_SECOND +
                                    (SimTime)(self->seed * 104729 % 1000) * SIM_MS);
}

/* Returns: whether there was no fault */
static gboolean
soak(uint64_t seed, const char *folder)
{
    g_autoptr(RandomScenario) random = random_scenario_new(seed);
    g_autoptr(GString) faults = g_string_new(NULL);
    Soak self = {.seed = seed, .random = random, .folder = (char *)folder, .faults = faults};
    g_autoptr(Scenario) scenario = self.scenario = load(&self);

    if (scenario != NULL) {
        g_autofree char *results = run_watched(&self);
        if (results != NULL) {
            check_repeats(&self, results);
            check_cut(&self);
            if (random->is_small)
                check_polling(&self);
        }
    }
    if (faults->len > 0)
        printf("seed %" G_GUINT64_FORMAT "%s%s (to repeat: tests/soak/soak 1 %" G_GUINT64_FORMAT
               "; its scenario: tests/soak/soak --print %" G_GUINT64_FORMAT ")\n%s",
               seed, random->is_easy ? ", easy" : "", random->is_small ? ", small" : "", seed, seed,
               faults->str);
    fflush(stdout);
    return faults->len == 0;
}

/* ---- For looking into a seed ---- */

static void
log_step(
    void *data, const Component *component, const Plan *plan, const char *rule, const char *step)
{
    const ObjectKey *key = plan_key(plan);
    char buffer[SIM_TIME_BUFFER];

    (void)data;
    printf("%s %s%s%s %s: %s %s\n", sim_time_format(sim_now(component->sim), buffer),
           component->class->name, component->node_name == NULL ? "" : "/",
           component->node_name == NULL ? "" : component->node_name, key == NULL ? "-" : key->text,
           rule == NULL ? "-" : rule, step);
}

static void
log_call(void *data, const CsiCallRecord *record)
{
    const CsiRequest *request = record->request;
    char buffer[SIM_TIME_BUFFER];

    printf("%s %s: %s of %s%s%s\n", sim_time_format(sim_now(data), buffer),
           csi_driver_name(record->driver), csi_method_name(request->method),
           request->volume_id != NULL ? request->volume_id : "-",
           request->served_by == NULL ? "" : " on ",
           request->served_by == NULL ? "" : request->served_by);
}

static void
log_run(uint64_t seed, const char *folder, gboolean polling)
{
    g_autoptr(RandomScenario) random = random_scenario_new(seed);
    g_autoptr(GString) faults = g_string_new(NULL);
    Soak self = {.seed = seed, .random = random, .folder = (char *)folder, .faults = faults};
    g_autoptr(Scenario) scenario = self.scenario = load(&self);
    g_autoptr(Run) run = scenario == NULL ? NULL : start(&self, polling);

    fputs(faults->str, stdout);
    if (run == NULL)
        return;
    cluster_observe_plans(run_cluster(run), log_step, NULL);
    for (unsigned i = 0; i < cluster_n_drivers(run_cluster(run)); i++) {
        const CsiObserver observer = {.started = log_call, .data = run_sim(run)};
        csi_driver_add_observer(cluster_driver(run_cluster(run), i), &observer);
    }
    if (polling)
        sim_run_until(run_sim(run), POLLED_UNTIL);
    else
        run_execute(run);
}

static void
remove_folder(const char *folder)
{
    static const char *const scenario_file = "soak.yaml";

    for (unsigned i = 0; i <= G_N_ELEMENTS(result_files); i++) {
        g_autofree char *file = g_build_filename(
            folder, i < G_N_ELEMENTS(result_files) ? result_files[i] : scenario_file, NULL);
        g_remove(file);
    }
    g_rmdir(folder);
}

int
main(int argc, char **argv)
{
    if (argc == 3 && strcmp(argv[1], "--print") == 0) {
        g_autoptr(RandomScenario) random = random_scenario_new(g_ascii_strtoull(argv[2], NULL, 10));
        fputs(random->text, stdout);
        return 0;
    }

    g_autofree char *folder = g_dir_make_tmp("kvolsim-soak-XXXXXX", NULL);
    if (folder == NULL)
        return 1;
    if (argc >= 3 && strcmp(argv[1], "--log") == 0) {
        log_run(g_ascii_strtoull(argv[2], NULL, 10), folder, argc > 3);
        remove_folder(folder);
        return 0;
    }

    uint64_t n = argc > 1 ? g_ascii_strtoull(argv[1], NULL, 10) : SEEDS_OF_CHECK;
    uint64_t first = argc > 2 ? g_ascii_strtoull(argv[2], NULL, 10) : 1;
    unsigned n_passed = 0, n_failed = 0;

    for (uint64_t seed = first; seed < first + n; seed++) {
        gboolean is_good = soak(seed, folder);
        n_passed += is_good;
        n_failed += !is_good;
    }
    remove_folder(folder);
    printf("%u passed, %u failed, 0 skipped\n", n_passed, n_failed);
    return n_failed == 0 ? 0 : 1;
}
