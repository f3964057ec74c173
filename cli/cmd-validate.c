/* SPDX-License-Identifier: GPL-3.0-or-later */
/* kvolsim validate: runs a scenario against real loop devices or drivers behind sockets and against
 * the model, and tells whether they agree. Virtual time of the real run follows the monotonic
 * clock; a run whose events were too late proves nothing. While no call is under way, the machine
 * is compared with the run's state. A journal of the real run can be played back. */
#include "config.h"

#include <stdio.h>

#include "cli/common/gnuplot.h"
#include "cli/common/loop-folder.h"
#include "cli/common/out-folder.h"
#include "cli/common/paint.h"
#include "cli/common/progress.h"
#include "commands.h"
#include "models/csi/loop/loop-driver.h"
#include "run/measure/real-devices.h"
#include "run/measure/validation.h"
#include "run/results/results.h"
#include "sim/append.h"
#ifdef WITH_CSI
#include "serve/csi/remote-driver.h"
#endif

#define LOOK_EVERY_US G_USEC_PER_SEC /* at the machine, while no call is under way */
#define LOOK_TAKES_US 20000          /* and only if no event is due sooner */
#define NAP_US (G_USEC_PER_SEC / 10) /* Ctrl-C waits no longer */

typedef struct Validate Validate;

/* The real side: loop devices, or drivers behind sockets. */
typedef struct {
    /* @data: a Validate; RunOptions.open_driver */
    CsiDriver *(*open)(void *data,
                       Sim *sim,
                       Strings *strings,
                       const ScenarioDriver *driver,
                       const CsiWaits *waits);
    gboolean (*collect)(const Validate *self);
    void (*wait)(const Validate *self, gint64 until_us);
    LoopPace (*pace)(const Validate *self);
} RealSide;

struct Validate {
    /* As given. */
    char *state_dir, *profile, *out, *replay, *seed, *noise, *format;
    gboolean is_json;
    char **set, **endpoints;
    int repeat, replications, workers, samples_min, lag_max_ms;
    double median, ks;
    OutFolder *folder; /* NULL: no --out */
    /* The present run. */
    Progress *progress;
    const RealSide *real;
    CsiDriver *driver;
    LoopBackend *backend; /* of loop devices, with the next two; else NULL */
    LoopDriver *devices;
    struct RemoteDriver *remote; /* of sockets */
    CallLog *log;
    ValidationData *data;
    gint64 start_us, looked_us;
    SimSample lags; /* the delay of each event */
    unsigned n_looks, peak;
    char *fault; /* the first */
    SimTime end_lag_max;
    unsigned round;
    GArray *calibrations[2]; /* of CalibrationSample; NULL: none */
    const CallLog *journal;  /* being played back */
    CsiDriver *replaying;
};

/* ---- The real run ---- */

static SimTime
work_of_devices(void *data)
{
    return loop_driver_work(((Validate *)data)->devices);
}

static CsiDriver *
open_devices(
    void *data, Sim *sim, Strings *strings, const ScenarioDriver *driver, const CsiWaits *waits)
{
    Validate *self = data;
    const LoopDriverOptions options = {.name = driver->name,
                                       .waits = *waits,
                                       .workers = (unsigned)self->workers,
                                       .published = validation_data_visit,
                                       .published_data = self->data};

    self->devices = loop_driver_new(sim, strings, self->backend, &options);
    self->driver = loop_driver_base(self->devices);
    /* Watch now: the sidecars send their first calls while the world is built. */
    call_log_watch(self->log, self->driver, work_of_devices, self);
    return self->driver;
}

static gboolean
collect_from_devices(const Validate *self)
{
    return loop_driver_collect(self->devices, self->start_us);
}

static void
wait_for_devices(const Validate *self, gint64 until_us)
{
    loop_driver_wait(self->devices, until_us);
}

static LoopPace
pace_of_devices(const Validate *self)
{
    return loop_driver_pace(self->devices);
}

static const RealSide devices = {open_devices, collect_from_devices, wait_for_devices,
                                 pace_of_devices};

#ifdef WITH_CSI
static SimTime
work_behind_sockets(void *data)
{
    return remote_driver_work(((Validate *)data)->remote);
}

static CsiDriver *
open_sockets(
    void *data, Sim *sim, Strings *strings, const ScenarioDriver *driver, const CsiWaits *waits)
{
    Validate *self = data;

    self->remote = remote_driver_new(sim, strings, driver->name, waits, self->endpoints);
    self->driver = remote_driver_base(self->remote);
    call_log_watch(self->log, self->driver, work_behind_sockets, self);
    return self->driver;
}

static gboolean
collect_from_sockets(const Validate *self)
{
    return remote_driver_collect(self->remote, self->start_us);
}

static void
wait_for_sockets(const Validate *self, gint64 until_us)
{
    remote_driver_wait(self->remote, until_us);
}

static LoopPace
pace_of_sockets(const Validate *self)
{
    return remote_driver_pace(self->remote);
}

static const RealSide sockets = {open_sockets, collect_from_sockets, wait_for_sockets,
                                 pace_of_sockets};
#endif

static void
look_at_machine(Validate *self, gint64 now, gint64 due)
{
    if (self->backend == NULL || self->fault != NULL || csi_driver_in_flight(self->driver) > 0 ||
        now - self->looked_us < LOOK_EVERY_US || due - now < LOOK_TAKES_US)
        return;
    self->fault = validation_check_machine(self->log, self->backend);
    self->looked_us = now;
    self->n_looks++;
}

/* From the first event on, virtual time follows the monotonic clock. */
static RunPace
pace(void *data, SimTime next)
{
    Validate *self = data;
    char buffer[SIM_TIME_BUFFER];

    if (self->start_us == 0)
        self->start_us = g_get_monotonic_time();
    gint64 due = self->start_us + (next + SIM_US - 1) / SIM_US;
    for (;;) {
        if (self->real->collect(self))
            return RUN_PACE_AGAIN;
        gint64 now = g_get_monotonic_time();
        if (now >= due) {
            sim_sample_add(&self->lags, (now - due) * SIM_US);
            return RUN_PACE_DUE;
        }
        if (progress_is_interrupted(self->progress))
            return RUN_PACE_STOP;
        if (progress_is_due(self->progress))
            progress_show(self->progress, "real run %u of %d: %s", self->round + 1, self->repeat,
                          sim_time_format(next / SIM_SECOND * SIM_SECOND, buffer));
        look_at_machine(self, now, due);
        self->real->wait(self, MIN(due, now + NAP_US));
    }
}

static ExitCode
write_run(const Validate *self, Run *run, const Stages *stages, const CallLog *log)
{
    g_autofree char *folder =
        out_folder_of_replication(self->folder, self->round, (unsigned)self->repeat);
    const Scenario *scenario = run_scenario(run);
    g_autoptr(GError) error = NULL;
    json_auto_t *head = json_pack("{s:s,s:s,s:s,s:I,s:b}", "kvolsim", results_version(), "scenario",
                                  scenario->name, "hash", scenario->hash, "seed",
                                  (json_int_t)run_options(run)->seed, "realDevices", TRUE);

    if (folder == NULL)
        return EXIT_ERROR;
    g_autofree char *journal = g_build_filename(folder, "journal.jsonl", NULL);
    if (!results_write_run(run, stages, folder, &error) ||
        (log != NULL && !call_log_write(log, journal, head, &error)))
        return cli_fail("%s", error->message);
    return EXIT_DONE;
}

/* All runs are written. */
static ExitCode
finish_folder(const Validate *self, Results *results)
{
    g_autoptr(GError) error = NULL;

    if (self->folder == NULL)
        return EXIT_DONE;
    if (!results_write_summary(results, out_folder_partial(self->folder), &error))
        return cli_fail("%s", error->message);
    return out_folder_finish(self->folder);
}

static ExitCode
finish_real(Validate *self, Run *run, Results *results, Validation *validation)
{
    g_autoptr(Stages) stages = stages_new(run);
    LoopPace calls = self->real->pace(self);

    results_add(results, run, stages);
    validation_add(validation, SIDE_REAL, self->log, stages);
    self->peak = MAX(self->peak, calls.peak);
    self->end_lag_max = MAX(self->end_lag_max, calls.lag_max);
    if (self->backend != NULL && self->fault == NULL && csi_driver_in_flight(self->driver) == 0)
        self->fault = validation_check_machine(self->log, self->backend);
    return self->folder == NULL ? EXIT_DONE : write_run(self, run, stages, self->log);
}

static ExitCode
run_real(Validate *self,
         const Scenario *scenario,
         uint64_t seed,
         Results *results,
         Validation *validation)
{
    const RunOptions options = {.seed = seed + self->round,
                                .measured = self->folder != NULL,
                                .open_driver = self->real->open,
                                .pace = pace,
                                .hook_data = self};
    g_autoptr(GError) error = NULL;
    g_autoptr(CallLog) log = call_log_new();

    self->log = log;
    self->start_us = 0;
    g_autoptr(Run) run = run_new(scenario, &options, &error);
    if (run == NULL)
        return cli_bad_input("%s: %s", scenario->file, error->message);
    return run_execute(run) == RUN_INTERRUPTED ? EXIT_INTERRUPTED
                                               : finish_real(self, run, results, validation);
}

/* ---- The model ---- */

static ExitCode
run_model(Validate *self, const Scenario *scenario, uint64_t seed, Validation *validation)
{
    for (unsigned i = 0; i < (unsigned)self->replications; i++) {
        const RunOptions options = {.seed = seed, .replication = i, .untraced = TRUE};
        g_autoptr(GError) error = NULL;
        g_autoptr(CallLog) log = call_log_new();
        g_autoptr(Run) run = run_new(scenario, &options, &error);
        if (run == NULL)
            return cli_bad_input("%s: %s", scenario->file, error->message);
        call_log_watch(log, cluster_driver(run_cluster(run), 0), NULL, NULL);
        run_execute(run);
        g_autoptr(Stages) stages = stages_new(run);
        validation_add(validation, SIDE_MODEL, log, stages);
    }
    return EXIT_DONE;
}

/* ---- The report ---- */

static const char *
word_for(const ValidationRow *row)
{
    if (!row->is_judged)
        return "too few to judge";
    return row->is_good ? "agrees" : row->is_near ? "as two calibrations" : "DIFFERS";
}

/* How many rows were judged, how many of these are near but not good, and how many are neither. */
typedef struct ValidateTally {
    unsigned judged, near, apart;
} ValidateTally;

static ValidateTally
count_rows(const GArray *rows)
{
    ValidateTally tally = {0};

    for (unsigned i = 0; i < rows->len; i++) {
        const ValidationRow *row = &g_array_index(rows, ValidationRow, i);
        if (row->is_stage)
            continue;
        tally.judged += row->is_judged ? 1 : 0;
        tally.near += row->is_judged && !row->is_good && row->is_near ? 1 : 0;
        tally.apart += row->is_judged && !row->is_good && !row->is_near ? 1 : 0;
    }
    return tally;
}

static void
print_rows(const GArray *rows, gboolean are_stages)
{
    printf("\n%-26s %5s %6s %9s %9s %6s %9s %9s %6s %6s\n",
           are_stages ? "STAGE (ms)" : "OPERATION (ms)", "REAL", "MODEL", "P50 REAL", "P50 MODEL",
           "RATIO", "P90 REAL", "P90 MODEL", "KS", "P");
    for (unsigned i = 0; i < rows->len; i++) {
        const ValidationRow *row = &g_array_index(rows, ValidationRow, i);
        if (row->is_stage != are_stages)
            continue;
        printf("%-26s %5u %6u %9.3f %9.3f %6.2f %9.3f %9.3f %6.3f %6.2g  %s", row->name, row->n[0],
               row->n[1], row->p50[0] * 1e3, row->p50[1] * 1e3, row->p50[0] / row->p50[1],
               row->p90[0] * 1e3, row->p90[1] * 1e3, row->ks, row->ks_p, word_for(row));
        if (row->is_judged && !row->is_good && row->noise.ratio > 0)
            printf(" (noise: x%.2f, KS %.3f)", row->noise.ratio, row->noise.ks);
        putchar('\n');
    }
}

/* If too little was measured, the run neither agrees with the model nor differs from it. */
static void
print_verdict(const Validate *self, const ValidateTally *tally)
{
    if (tally->judged == 0) {
        printf("Verdict: none: no operation was measured %d times, in the real run and in the "
               "model (--samples judges fewer).\n",
               self->samples_min);
        return;
    }
    printf("Verdict: operations %s: medians within %.0f %%, KS at most %.2f, of %d samples or "
           "more%s.\n",
           tally->apart == 0 ? "agree" : "DIFFER", self->median * 100, self->ks, self->samples_min,
           tally->near > 0 ? ", or as near as two calibrations are to each other" : "");
    if (tally->near > 0)
        printf("%u %s only near: no farther apart than 95 of 100 equally large samples of one "
               "calibration are from the other.\n",
               tally->near, tally->near == 1 ? "is" : "are");
}

/* Findings about the machine and about the data in its volumes. */
typedef struct {
    SimTime lag;      /* of events, p99 */
    gboolean in_time; /* within --lag */
    unsigned n_checked, n_written;
    char *data_fault; /* (owned); NULL: none */
} Conditions;

static gboolean
are_sound(const Validate *self, const Conditions *conditions)
{
    return conditions->in_time && self->fault == NULL && conditions->data_fault == NULL;
}

static void
print_machine(Validate *self, const Conditions *conditions)
{
    char p50[SIM_TIME_BUFFER], p99[SIM_TIME_BUFFER], max[SIM_TIME_BUFFER], late[SIM_TIME_BUFFER];

    printf("\nPace: %u events late by %s (median), %s (p99), %s (most): %s the %d ms allowed for "
           "p99; ends of calls by %s at most; "
           "up to %u calls at once.\n",
           sim_sample_count(&self->lags),
           sim_time_format(sim_sample_quantile(&self->lags, 0.5), p50),
           sim_time_format(conditions->lag, p99), sim_time_format(sim_sample_max(&self->lags), max),
           conditions->in_time ? "within" : "BEYOND", self->lag_max_ms,
           sim_time_format(self->end_lag_max, late), self->peak);
    if (self->backend == NULL)
        return;
    printf("Machine: mounts and loop devices compared %u times with the state of the run: %s\n",
           self->n_looks, self->fault == NULL ? "no difference" : self->fault);
    printf("Data: written %u times, read back %u times: %s\n", conditions->n_written,
           conditions->n_checked,
           conditions->data_fault == NULL ? "as it was written" : conditions->data_fault);
}

static double
to_seconds(SimTime time)
{
    return (double)time / (double)SIM_SECOND;
}

/* (owned); @stages: of stages, else of operations */
static json_t *
rows_json(const GArray *rows, gboolean stages)
{
    json_t *list = json_array();

    for (unsigned i = 0; i < rows->len; i++) {
        const ValidationRow *row = &g_array_index(rows, ValidationRow, i);
        if (row->is_stage != stages)
            continue;
        json_array_append_new(
            list, json_pack("{s:s, s:{s:i, s:f, s:f}, s:{s:i, s:f, s:f}, s:f, s:f, s:s}", "name",
                            row->name, "real", "count", (int)row->n[SIDE_REAL], "p50",
                            row->p50[SIDE_REAL], "p90", row->p90[SIDE_REAL], "model", "count",
                            (int)row->n[SIDE_MODEL], "p50", row->p50[SIDE_MODEL], "p90",
                            row->p90[SIDE_MODEL], "ks", row->ks, "ksP", row->ks_p, "verdict",
                            word_for(row)));
    }
    return list;
}

static void
print_all_json(Validate *self,
               Results *results,
               const GArray *rows,
               const Conditions *conditions,
               const ValidateTally *tally)
{
    json_auto_t *json = json_pack(
        "{s:s, s:o, s:o, s:{s:i, s:f, s:f, s:f, s:b, s:f, s:i}, s:{s:i, s:s?}, "
        "s:{s:i, s:i, s:s?}, s:o}",
        "verdict",
        tally->judged == 0 ? "none"
        : tally->apart > 0 ? "differ"
                           : "agree",
        "operations", rows_json(rows, FALSE), "stages", rows_json(rows, TRUE), "pace", "events",
        (int)sim_sample_count(&self->lags), "lateP50",
        to_seconds(sim_sample_quantile(&self->lags, 0.5)), "lateP99", to_seconds(conditions->lag),
        "lateMax", to_seconds(sim_sample_max(&self->lags)), "inTime", conditions->in_time,
        "callsLateMax", to_seconds(self->end_lag_max), "callsAtOnce", (int)self->peak, "machine",
        "looks", (int)self->n_looks, "fault", self->fault, "data", "written",
        (int)conditions->n_written, "readBack", (int)conditions->n_checked, "fault",
        conditions->data_fault, "summary", results_summary(results));

    cli_print_json(json);
}

static void
print_all(Validate *self,
          Results *results,
          const GArray *rows,
          const Conditions *conditions,
          const ValidateTally *tally)
{
    g_autofree char *table = results_table(results);

    printf("With %s (never the same twice):\n",
           self->backend != NULL ? "real loop devices" : "the drivers behind the sockets");
    paint_print(stdout, table);
    print_rows(rows, FALSE);
    print_rows(rows, TRUE);
    print_machine(self, conditions);
    print_verdict(self, tally);
}

/* The picture comes last: it needs the files in their place. None with --format json, as its name
 * would be printed. */
static ExitCode
write_quantiles(const Validate *self, Results *results, Validation *validation)
{
    g_autofree char *text = validation_quantiles(validation);

    if (!cli_write_file(out_folder_partial(self->folder), "qq.dat", text))
        return EXIT_ERROR;
    ExitCode code = finish_folder(self, results);
    return code != EXIT_DONE || self->is_json
               ? code
               : gnuplot_draw_results(self->out, "qq", "qq.dat", gnuplot_format("png"), "");
}

static ExitCode
cmd_validate_report(Validate *self, Results *results, Validation *validation)
{
    const ValidationTolerance tolerance = {
        self->median,
        self->ks,
        (unsigned)self->samples_min,
        {self->calibrations[0], self->calibrations[1]}
    };
    g_autoptr(GArray) rows = validation_rows(validation, &tolerance);
    const ValidateTally tally = count_rows(rows);
    Conditions conditions = {.lag = sim_sample_quantile(&self->lags, 0.99)};

    conditions.data_fault =
        validation_data_result(self->data, &conditions.n_checked, &conditions.n_written);
    conditions.in_time = conditions.lag <= self->lag_max_ms * SIM_MS;
    (self->is_json ? print_all_json : print_all)(self, results, rows, &conditions, &tally);
    gboolean machine = are_sound(self, &conditions);
    g_free(conditions.data_fault);
    ExitCode code = self->folder == NULL ? EXIT_DONE : write_quantiles(self, results, validation);
    if (code != EXIT_DONE)
        return code;
    gboolean agrees = tally.judged > 0 && tally.apart == 0;
    return machine && agrees && results_are_good(results) ? EXIT_DONE : EXIT_NOT_MET;
}

static ExitCode
run_all(Validate *self, const Scenario *scenario, uint64_t seed)
{
    g_autoptr(Results) results = results_new(scenario, seed);
    g_autoptr(Validation) validation = validation_new();
    ExitCode code = EXIT_DONE;

    for (self->round = 0; code == EXIT_DONE && self->round < (unsigned)self->repeat; self->round++)
        code = run_real(self, scenario, seed, results, validation);
    progress_hide(self->progress);
    if (code == EXIT_INTERRUPTED)
        cli_error("interrupted");
    if (code == EXIT_DONE)
        code = run_model(self, scenario, seed, validation);
    return code == EXIT_DONE ? cmd_validate_report(self, results, validation) : code;
}

static ExitCode
close_backend(Validate *self, ExitCode code)
{
    unsigned left = loop_backend_n_volumes(self->backend);

    if (code == EXIT_DONE && left > 0)
        fprintf(self->is_json ? stderr : stdout, "Left by the scenario, and removed: %u volume%s\n",
                left, plural(left));
    return !loop_folder_close(self->backend) && code == EXIT_DONE ? EXIT_ERROR : code;
}

static ExitCode
validate_devices(Validate *self, const Scenario *scenario, uint64_t seed)
{
    g_autofree char *folder = g_canonicalize_filename(self->state_dir, NULL);
    const LoopOptions options = {.state_dir = folder,
                                 .attach_limit = scenario->drivers[0].model.attach_limit};
    g_autoptr(GError) error = NULL;

    self->backend = loop_folder_open(&options, &error);
    if (self->backend == NULL)
        return loop_folder_fail("validate", error);
    self->real = &devices;
    return close_backend(self, run_all(self, scenario, seed));
}

static ExitCode
validate_sockets(Validate *self, const Scenario *scenario, uint64_t seed)
{
#ifdef WITH_CSI
    self->real = &sockets;
    return run_all(self, scenario, seed);
#else
    (void)self, (void)scenario, (void)seed;
    cli_error("validate: --endpoint: this program was built without csi");
    return EXIT_NOT_PERMITTED;
#endif
}

static ExitCode
validate(Validate *self, const Scenario *scenario, uint64_t seed)
{
    g_autoptr(Progress) progress = self->progress = progress_new();
    g_autoptr(ValidationData) data = self->data = validation_data_new();

    sim_sample_init(&self->lags);
    ExitCode code = self->endpoints != NULL ? validate_sockets(self, scenario, seed)
                                            : validate_devices(self, scenario, seed);
    sim_sample_clear(&self->lags);
    g_free(self->fault);
    return code;
}

/* ---- Playing a journal back ---- */

static CsiDriver *
open_replay(
    void *data, Sim *sim, Strings *strings, const ScenarioDriver *driver, const CsiWaits *waits)
{
    Validate *self = data;

    self->replaying = call_log_replay(self->journal, sim, strings, driver->name, waits);
    return self->replaying;
}

static ExitCode
replay_run(Validate *self, const Scenario *scenario, uint64_t seed)
{
    const RunOptions options = {.seed = seed,
                                .measured = self->folder != NULL,
                                .open_driver = open_replay,
                                .hook_data = self};
    g_autoptr(Results) results = results_new(scenario, seed);
    g_autoptr(GError) error = NULL;
    g_autoptr(Run) run = run_new(scenario, &options, &error);

    if (run == NULL)
        return cli_bad_input("%s: %s", scenario->file, error->message);
    run_execute(run);
    g_autoptr(Stages) stages = stages_new(run);
    results_add(results, run, stages);
    const char *difference = call_log_difference(self->replaying);
    if (difference != NULL)
        return cli_bad_input("validate: the journal is of another run: %s", difference);
    if (self->is_json) {
        json_auto_t *summary = results_summary(results);
        cli_print_json(summary);
    } else {
        g_autofree char *table = results_table(results);
        paint_print(stdout, table);
    }
    ExitCode code = self->folder == NULL ? EXIT_DONE : write_run(self, run, stages, NULL);
    return code == EXIT_DONE ? finish_folder(self, results) : code;
}

static ExitCode
cmd_validate_replay(Validate *self, const Scenario *scenario)
{
    json_auto_t *head = NULL;
    g_autoptr(GError) error = NULL;
    g_autoptr(CallLog) log = call_log_read(self->replay, &head, &error);

    if (log == NULL)
        return cli_bad_input("validate: %s", error->message);
    uint64_t seed = (uint64_t)json_integer_value(json_object_get(head, "seed"));
    const char *hash = json_string_value(json_object_get(head, "hash"));
    if (g_strcmp0(hash, scenario->hash) != 0)
        cli_error(
            "validate: %s is of another version of the scenario (or of other --set, --profile)",
            self->replay);
    self->journal = log;
    self->repeat = 1;
    return replay_run(self, scenario, seed);
}

/* ---- Arguments ---- */

/* With --profile as the first value of --set, so that the others win. */
static Scenario *
cmd_validate_load(const Validate *self, const char *file)
{
    g_autoptr(GPtrArray) set = g_ptr_array_new();
    g_autofree char *profile = NULL;

    if (self->profile != NULL) { /* a path starts at the user's folder, not at the scenario's */
        g_autofree char *path = g_file_test(self->profile, G_FILE_TEST_EXISTS)
                                    ? g_canonicalize_filename(self->profile, NULL)
                                    : g_strdup(self->profile);
        profile = g_strdup_printf("spec.drivers[0].profile=%s", path);
        g_ptr_array_add(set, profile);
    }
    for (char **value = self->set; value != NULL && *value != NULL; value++)
        g_ptr_array_add(set, *value);
    g_ptr_array_add(set, NULL);
    return cli_load_scenario(file, (char *const *)set->pdata);
}

/* The model can make drivers and machines fail; real devices cannot. */
static gboolean
can_be_real(const Scenario *scenario)
{
    if (scenario->n_drivers != 1) {
        cli_error("validate: %s has %u drivers; real devices stand for exactly one", scenario->file,
                  scenario->n_drivers);
        return FALSE;
    }
    for (unsigned i = 0; i < scenario->n_actions; i++) {
        ActionType type = scenario->actions[i].type;
        if (type != ACTION_DRAIN && type != ACTION_SET_DRIVER && type != ACTION_FAULT)
            continue;
        cli_error("validate: %s:%u: drain, setDriver and faults cannot be done with real devices",
                  scenario->file, scenario->actions[i].line);
        return FALSE;
    }
    return TRUE;
}

static gboolean
cmd_validate_arguments_are_good(const Validate *self, int argc)
{
    if (!cli_has_one("validate", argc, "scenario"))
        return FALSE;
    if (self->repeat < 1 || self->replications < 1 || self->workers < 1 || self->workers > 1024)
        cli_error("validate: --repeat, --replications and --workers must be at least 1");
    else if (self->median <= 0 || self->ks <= 0 || self->lag_max_ms < 1)
        cli_error("validate: tolerances must be above 0");
    else
        return TRUE;
    return FALSE;
}

/* "FIRST.csv,SECOND.csv" */
static gboolean
read_noise(Validate *self)
{
    g_auto(GStrv) files = g_strsplit(self->noise, ",", -1);

    if (g_strv_length(files) != 2) {
        cli_error("validate: --noise takes two calibrations: FIRST.csv,SECOND.csv");
        return FALSE;
    }
    for (unsigned i = 0; i < 2; i++) {
        g_autoptr(GError) error = NULL;
        self->calibrations[i] = calibration_read(files[i], &error);
        if (self->calibrations[i] != NULL)
            continue;
        cli_error("validate: --noise: %s", error->message);
        return FALSE;
    }
    return TRUE;
}

static ExitCode
go(Validate *self, int argc, char **argv)
{
    if (!cmd_validate_arguments_are_good(self, argc) || (self->noise != NULL && !read_noise(self)))
        return EXIT_BAD_INPUT;
    g_autoptr(Scenario) scenario = cmd_validate_load(self, argv[1]);
    if (scenario == NULL || !can_be_real(scenario))
        return EXIT_BAD_INPUT;
    uint64_t seed;
    if (!cli_parse_seed(self->seed, scenario, &seed))
        return EXIT_BAD_INPUT;
    g_autoptr(OutFolder) folder = self->out == NULL ? NULL : out_folder_new(self->out);
    if (self->out != NULL && folder == NULL)
        return EXIT_ERROR;
    self->folder = folder;
    return self->replay != NULL ? cmd_validate_replay(self, scenario)
                                : validate(self, scenario, seed);
}

int
cmd_validate(int argc, char **argv)
{
    Validate self = {.repeat = 1,
                     .replications = 50,
                     .workers = 64,
                     .samples_min = 20,
                     .lag_max_ms = 100,
                     .median = 0.1,
                     .ks = 0.15};
    const GOptionEntry entries[] = {
        CLI_OPTION("profile", FILENAME, &self.profile,
                   "Give the model this profile, from kvolsim calibrate, instead of the scenario's",
                   "FILE"),
        CLI_OPTION("repeat", INT, &self.repeat, "Real runs, with seed, seed + 1, ... (default: 1)",
                   "N"),
        CLI_OPTION("replications", INT, &self.replications, "Runs of the model (default: 50)", "N"),
        CLI_OPTION("median", DOUBLE, &self.median,
                   "The largest difference of medians, as a part of them (default: 0.1)", "PART"),
        CLI_OPTION("ks", DOUBLE, &self.ks,
                   "The largest distance of distribution functions (default: 0.15)", "D"),
        CLI_OPTION(
            "noise", STRING, &self.noise,
            "Two calibrations of this machine: accept differences as large as those between them",
            "CSV,CSV"),
        CLI_OPTION("samples", INT, &self.samples_min,
                   "Do not judge operations with fewer real samples (default: 20)", "N"),
        CLI_OPTION("lag", INT, &self.lag_max_ms, "The largest delay of events, p99 (default: 100)",
                   "MS"),
        CLI_OPTION("workers", INT, &self.workers, "Calls at once; more wait (default: 64)", "N"),
        CLI_OPTION("endpoint", FILENAME_ARRAY, &self.endpoints,
                   "Call the driver on this socket, instead of loop devices; NODE=SOCKET: for the "
                   "calls on a node. Can be repeated",
                   "SOCKET"),
        CLI_OPTION("replay", FILENAME, &self.replay,
                   "Play back a journal.jsonl instead, without devices; the same bytes each time",
                   "FILE"),
        CLI_OPTION("out", FILENAME, &self.out,
                   "Write results, journal and picture into this folder", "DIR"),
        CLI_OPTION("seed", STRING, &self.seed, "Use this seed instead of the scenario's", "N"),
        CLI_OPTION("set", STRING_ARRAY, &self.set, "Change a value of the scenario", "PATH=VALUE"),
        CLI_FORMAT_OPTION(&self.format),
        LOOP_FOLDER_OPTION(&self.state_dir),
        G_OPTION_ENTRY_NULL,
    };
    ExitCode code = EXIT_BAD_INPUT;

    if (cli_parse(
            &argc, &argv, entries, "SCENARIO",
            "Run a scenario in real time with real loop devices or with a CSI driver on a "
            "socket, and compare each operation and stage with the model.",
            "Loop devices need root. It touches the state folder only, and leaves nothing there.\n"
            "Exit status: 0 done, 1 I/O error, 2 bad input, 3 real and model differ, or an "
            "slo or expect was not "
            "met,\n4 not permitted on this machine, 130 interrupted.") &&
        cli_parse_format("validate", self.format, &self.is_json)) {
        self.state_dir = self.state_dir != NULL ? self.state_dir : g_strdup(LOOP_FOLDER_DEFAULT);
        code = go(&self, argc, argv);
    }
    cli_free_values(entries);
    g_clear_pointer(&self.calibrations[0], g_array_unref);
    g_clear_pointer(&self.calibrations[1], g_array_unref);
    return code;
}
