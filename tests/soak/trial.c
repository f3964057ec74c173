/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "trial.h"

#include <glib/gstdio.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "invariants.h"
#include "models/plan/plan.h"
#include "run/results/results.h"

#define POLLED_UNTIL (2 * SIM_MINUTE) /* polling costs until the end of time */
#define REST_AT_MOST (24 * SIM_HOUR)  /* a cluster without changes is at rest by then */
#define HANGS_AFTER_S 900 /* of real time: a world takes much less, also on a busy machine */

typedef struct {
    const TrialWorld *world;
    const Scenario *scenario;
    const char *folder;
    Trial *trial;
    gboolean is_writing;  /* results */
    gboolean never_rests; /* the end comes at a round of the progress, which is no fixed time */
} TrialSoak;

static const char *const result_files[] = {"objects.csv", "milestones.jsonl", "events.jsonl",
                                           "summary.json"};
static const char scenario_file[] = "soak.yaml", faults_file[] = "faults", kind_file[] = "kind";

TrialWorld *
world_new(const char *text)
{
    static const char begin[] = "# soak:", deletes[] = " deletes-at=";
    TrialWorld *self = g_new0(TrialWorld, 1);
    const char *line = g_str_has_prefix(text, begin) ? text : strstr(text, "\n# soak:");

    self->text = g_strdup(text);
    if (line == NULL)
        return self;
    const char *words = strstr(line, begin) + strlen(begin);
    g_autofree char *comment = g_strndup(words, strcspn(words, "\n"));
    const char *at = strstr(comment, deletes);
    self->is_easy = strstr(comment, " easy") != NULL;
    self->is_small = strstr(comment, " small") != NULL;
    self->delete_at_s = at == NULL ? 0 : g_ascii_strtoll(at + strlen(deletes), NULL, 10);
    return self;
}

void
world_free(TrialWorld *self)
{
    if (self == NULL)
        return;
    g_free(self->text);
    g_free(self);
}

static Trial *
trial_new(void)
{
    Trial *self = g_new0(Trial, 1);

    self->faults = g_string_new(NULL);
    return self;
}

void
trial_free(Trial *self)
{
    if (self == NULL)
        return;
    g_string_free(self->faults, TRUE);
    g_free(self->kind);
    g_free(self);
}

static void G_GNUC_PRINTF(3, 4) add_fault(Trial *self, const char *kind, const char *format, ...)
{
    va_list args;

    if (self->kind == NULL)
        self->kind = g_strdup(kind);
    va_start(args, format);
    g_string_append_vprintf(self->faults, format, args);
    va_end(args);
}

static Scenario *
soak_trial_load(TrialSoak *self)
{
    g_autofree char *file = g_build_filename(self->folder, scenario_file, NULL);
    const ScenarioOptions options = {.data_dir = KVOLSIM_SRCDIR};
    g_autoptr(GPtrArray) faults = NULL;

    if (!g_file_set_contents(file, self->world->text, -1, NULL))
        g_error("%s cannot be written", file);
    Scenario *scenario = scenario_load(file, &options, &faults);
    for (unsigned i = 0; i < faults->len; i++) {
        g_autofree char *text = file_fault_text(faults->pdata[i]);
        add_fault(self->trial, "it is refused", "  %s\n", text);
    }
    return scenario;
}

static gboolean
is_not_too_late(void *data, SimTime now, uint64_t n_events)
{
    const TrialSoak *self = data;

    (void)n_events;
    return self->is_writing || now < REST_AT_MOST;
}

static Run *
soak_trial_start(TrialSoak *self, gboolean polling)
{
    const RunOptions options = {.seed = self->scenario->seed,
                                .polling = polling,
                                .progress = is_not_too_late,
                                .progress_data = self};
    g_autoptr(GError) error = NULL;
    Run *run = run_new(self->scenario, &options, &error);

    if (run == NULL)
        add_fault(self->trial, "it is refused", "  %s\n", error->message);
    return run;
}

/* Returns: (owned): the run's results, file after file */
static char *
result_text(TrialSoak *self, const Run *run)
{
    g_autoptr(Results) results = results_new(self->scenario, self->scenario->seed);
    g_autoptr(Stages) stages = stages_new(run);
    g_autoptr(GError) error = NULL;
    GString *text = g_string_new(NULL);

    self->is_writing = TRUE;
    results_add(results, run, stages);
    if (!results_write_run(run, stages, self->folder, &error) ||
        !results_write_summary(results, self->folder, &error))
        g_error("%s cannot be written to: %s", self->folder, error->message);
    self->is_writing = FALSE;
    for (unsigned i = 0; i < G_N_ELEMENTS(result_files); i++) {
        g_autofree char *file = g_build_filename(self->folder, result_files[i], NULL);
        g_autofree char *contents = NULL;
        if (g_file_get_contents(file, &contents, NULL, NULL))
            g_string_append_printf(text, "%s\n%s", result_files[i], contents);
    }
    return g_string_free(text, FALSE);
}

/* Tells the first line that differs. */
static void
trial_compare(TrialSoak *self, const char *what, const char *one, const char *other)
{
    g_auto(GStrv) lines = g_strsplit(one, "\n", -1);
    g_auto(GStrv) others = g_strsplit(other, "\n", -1);
    unsigned i = 0;

    if (strcmp(one, other) == 0)
        return;
    while (lines[i] != NULL && others[i] != NULL && strcmp(lines[i], others[i]) == 0)
        i++;
    add_fault(self->trial, what, "  %s differ, line %u:\n    %s\n    %s\n", what, i,
              lines[i] == NULL ? "(end)" : lines[i], others[i] == NULL ? "(end)" : others[i]);
}

/* Runs to the end, with all invariants. */
static void
watch(TrialSoak *self, Run *run)
{
    g_autoptr(Invariants) invariants = invariants_new(run);

    if (self->world->delete_at_s > 0) {
        SimTime end = self->world->delete_at_s * SIM_SECOND - 1;
        for (SimTime at = INVARIANTS_LOOK_PERIOD; at < end; at += INVARIANTS_LOOK_PERIOD) {
            sim_run_until(run_sim(run), at);
            invariants_look(invariants);
        }
        sim_run_until(run_sim(run), end);
        invariants_check_settled(invariants);
        if (self->world->is_easy)
            invariants_check_ready(invariants);
    }
    self->never_rests = run_execute(run) == RUN_INTERRUPTED;
    if (self->never_rests && !invariants_tries_forgotten(invariants))
        add_fault(self->trial, "no rest", "  it does not come to rest\n");
    else if (self->world->delete_at_s > 0)
        invariants_check_empty(invariants);
    const char *faults = invariants_faults(invariants);
    if (faults[0] != '\0')
        add_fault(self->trial, invariants_first_kind(invariants), "%s", faults);
}

static void
check_repeats(TrialSoak *self, const char *results)
{
    g_autoptr(Run) run = soak_trial_start(self, FALSE);

    run_execute(run);
    g_autofree char *repeated = result_text(self, run);
    trial_compare(self, "two runs of a seed", results, repeated);
}

static void
check_polling(TrialSoak *self)
{
    g_autoptr(Run) sleeping = soak_trial_start(self, FALSE);
    g_autoptr(Run) polling = soak_trial_start(self, TRUE);

    sim_run_until(run_sim(sleeping), POLLED_UNTIL);
    sim_run_until(run_sim(polling), POLLED_UNTIL);
    g_autofree char *one = result_text(self, sleeping);
    g_autofree char *other = result_text(self, polling);
    char *end = strstr(one, "summary.json"), *other_end = strstr(other, "summary.json");
    if (end != NULL && other_end != NULL)
        *end = *other_end = '\0'; /* it counts events, including ticks */
    trial_compare(self, "sleeping and polling", one, other);
}

/* A run that ends anywhere frees everything: the sanitizer build looks for leaks. */
static void
check_cut(TrialSoak *self)
{
    g_autoptr(Run) run = soak_trial_start(self, FALSE);
    uint64_t seed = self->scenario->seed;

    sim_run_until(run_sim(run), (SimTime)(seed * 7919 % 120) * SIM_SECOND +
                                    (SimTime)(seed * 104729 % 1000) * SIM_MS);
}

Trial *
trial_run(const TrialWorld *world, TrialChecks checks, const char *folder)
{
    g_autoptr(Trial) trial = trial_new();
    TrialSoak self = {.world = world, .folder = folder, .trial = trial};
    g_autoptr(Scenario) scenario = soak_trial_load(&self);
    self.scenario = scenario;
    g_autoptr(Run) run = scenario == NULL ? NULL : soak_trial_start(&self, FALSE);

    if (run == NULL)
        return g_steal_pointer(&trial);
    watch(&self, run);
    if ((checks & TRIAL_REPEATS) != 0 && !self.never_rests) {
        g_autofree char *results = result_text(&self, run);
        check_repeats(&self, results);
    }
    if ((checks & TRIAL_CUT) != 0)
        check_cut(&self);
    if ((checks & TRIAL_POLLS) != 0 && world->is_small)
        check_polling(&self);
    return g_steal_pointer(&trial);
}

Scenario *
trial_load(const TrialWorld *world, const char *folder, Trial **trial)
{
    TrialSoak self = {.world = world, .folder = folder, .trial = trial_new()};

    *trial = self.trial;
    return soak_trial_load(&self);
}

Trial *
trial_watch(const TrialWorld *world,
            const Scenario *scenario,
            void (*begun)(void *data, Run *run),
            void *data)
{
    g_autoptr(Trial) trial = trial_new();
    TrialSoak self = {.world = world, .scenario = scenario, .trial = trial};
    g_autoptr(Run) run = soak_trial_start(&self, FALSE);

    if (run != NULL) {
        begun(data, run);
        watch(&self, run);
    }
    return g_steal_pointer(&trial);
}

/* ---- For looking into a world ---- */

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

void
trial_log(const TrialWorld *world, const char *folder, gboolean polling)
{
    g_autoptr(Trial) trial = trial_new();
    TrialSoak self = {.world = world, .folder = folder, .trial = trial};
    g_autoptr(Scenario) scenario = soak_trial_load(&self);
    self.scenario = scenario;
    g_autoptr(Run) run = scenario == NULL ? NULL : soak_trial_start(&self, polling);

    fputs(trial->faults->str, stdout);
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

/* ---- In a process of its own ---- */

struct TrialProcess {
    pid_t pid;
    char *folder;
};

static void
trial_write_file(const char *folder, const char *name, const char *text)
{
    g_autofree char *file = g_build_filename(folder, name, NULL);

    if (!g_file_set_contents(file, text, -1, NULL))
        _exit(1);
}

static char *
trial_read_file(const char *folder, const char *name)
{
    g_autofree char *file = g_build_filename(folder, name, NULL);
    char *text = NULL;

    return g_file_get_contents(file, &text, NULL, NULL) ? text : NULL;
}

TrialProcess *
trial_start(const TrialWorld *world, TrialChecks checks)
{
    TrialProcess *self = g_new0(TrialProcess, 1);

    self->folder = g_dir_make_tmp("kvolsim-soak-XXXXXX", NULL);
    if (self->folder == NULL)
        g_error("there is no folder for temporary files");
    fflush(stdout);
    self->pid = fork();
    if (self->pid < 0)
        g_error("no process can be started");
    if (self->pid > 0)
        return self;
    alarm(HANGS_AFTER_S);
    {
        g_autoptr(Trial) trial = trial_run(world, checks, self->folder);
        trial_write_file(self->folder, faults_file, trial->faults->str);
        trial_write_file(self->folder, kind_file, trial->kind == NULL ? "" : trial->kind);
    }
    exit(0); /* so that leaks are looked for */
}

int
trial_pid(const TrialProcess *self)
{
    return self->pid;
}

void
trial_remove_folder(const char *folder)
{
    static const char *const others[] = {scenario_file, faults_file, kind_file};

    for (unsigned i = 0; i < G_N_ELEMENTS(result_files) + G_N_ELEMENTS(others); i++) {
        g_autofree char *file = g_build_filename(
            folder, i < G_N_ELEMENTS(others) ? others[i] : result_files[i - G_N_ELEMENTS(others)],
            NULL);
        g_remove(file);
    }
    g_rmdir(folder);
}

Trial *
trial_finish(TrialProcess *self, const int *status)
{
    Trial *trial = trial_new();
    int end = 0;

    if (status != NULL)
        end = *status;
    else
        waitpid(self->pid, &end, 0);
    g_autofree char *faults = trial_read_file(self->folder, faults_file);
    g_autofree char *kind = trial_read_file(self->folder, kind_file);
    if (faults != NULL && faults[0] != '\0')
        add_fault(trial, kind == NULL ? "" : kind, "%s", faults);
    if (WIFSIGNALED(end))
        add_fault(trial, g_strsignal(WTERMSIG(end)), "  it dies: %s\n", g_strsignal(WTERMSIG(end)));
    else if (end != 0)
        add_fault(trial, "leaks", "  it ends with status %d\n", WEXITSTATUS(end));
    trial_remove_folder(self->folder);
    g_free(self->folder);
    g_free(self);
    return trial;
}
