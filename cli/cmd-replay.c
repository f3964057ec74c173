/* SPDX-License-Identifier: GPL-3.0-or-later */
/* kvolsim replay: runs an imported recording again and compares the stages with those recorded,
 * with a fit of flags on request; or plays the journal of a driver to the model and compares the
 * calls. Several replications run at once, so progress has a lock. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "cli/common/gnuplot.h"
#include "cli/common/paint.h"
#include "cli/common/progress.h"
#include "commands.h"
#include "models/api/fields.h"
#include "run/import/replay/replay-fit.h"
#include "run/measure/calls-replay.h"

typedef struct {
    /* As given. */
    char *seed, *out, *format, *fit_out, *profile;
    char **set;
    int replications, jobs;
    double tolerance;
    gboolean is_json, has_plot, fits;
    const char *folder;
    /* While it runs. */
    Progress *progress;
    GMutex lock; /* of the progress */
} ReplayCommand;

/* Called from several threads. */
static gboolean
cmd_replay_go_on(void *data, SimTime now, uint64_t n_events)
{
    ReplayCommand *self = data;
    char buffer[SIM_TIME_BUFFER];

    (void)n_events;
    g_mutex_lock(&self->lock);
    gboolean goes_on = !progress_is_interrupted(self->progress);
    if (progress_is_due(self->progress))
        progress_show(self->progress, "%s of virtual time, %.1f s",
                      sim_time_format(now / SIM_SECOND * SIM_SECOND, buffer),
                      progress_seconds(self->progress));
    g_mutex_unlock(&self->lock);
    return goes_on;
}

static ExitCode
cmd_replay_draw(const ReplayCommand *self, const Replay *replay)
{
    static const char *const pictures[] = {"timeline", "quantiles"};
    const char *terminal = gnuplot_format("png")->terminal;
    g_autofree char *data = replay_plot_data(replay);
    g_autofree char *title = g_path_get_basename(self->folder);
    ExitCode code = EXIT_DONE;

    for (unsigned i = 0; code == EXIT_DONE && i < G_N_ELEMENTS(pictures); i++) {
        g_autofree char *name = g_strdup_printf("replay-%s.png", pictures[i]);
        g_autofree char *output = g_build_filename(self->out, name, NULL);
        g_autofree char *settings =
            g_strdup_printf("what = '%s'; tolerance = %g", pictures[i], self->tolerance);
        code = gnuplot_draw_text("replay", data, title, terminal, settings, output);
    }
    return code;
}

static ExitCode
write_files(const ReplayCommand *self, const Replay *replay)
{
    g_autoptr(GError) error = NULL;
    json_auto_t *json = replay_json(replay);

    if (self->out == NULL)
        return EXIT_DONE;
    if (!cli_make_folder(self->out) || !cli_write_json(self->out, "replay.json", json))
        return EXIT_ERROR;
    if (!replay_write_csv(replay, self->out, &error))
        return cli_fail("%s", error->message);
    return self->has_plot ? cmd_replay_draw(self, replay) : EXIT_DONE;
}

/* @fit: NULL: not asked for */
static void
print_replay(const ReplayCommand *self, const Replay *replay, const ReplayFit *fit)
{
    if (self->is_json) {
        json_auto_t *json = replay_json(replay);
        if (fit != NULL)
            json_object_set_new(json, "fit", replay_fit_json(fit));
        cli_print_json(json);
        return;
    }
    g_autofree char *fitted = fit == NULL ? NULL : replay_fit_table(fit);
    g_autofree char *table = replay_table(replay);
    if (fitted != NULL)
        paint_print(stdout, fitted);
    paint_print(stdout, table);
}

static ExitCode
cmd_replay_fail(ReplayCommand *self, const char *file, const GError *error)
{
    progress_hide(self->progress);
    if (g_error_matches(error, RUN_ERROR, RUN_ERROR_INTERRUPTED))
        return EXIT_INTERRUPTED;
    return cli_bad_input("%s: %s", file, error->message);
}

static ExitCode
cmd_replay_finish(ReplayCommand *self, const Replay *replay, const ReplayFit *fit)
{
    progress_hide(self->progress);
    ExitCode code = write_files(self, replay);
    if (code != EXIT_DONE)
        return code;
    print_replay(self, replay, fit);
    return replay_is_good(replay) ? EXIT_DONE : EXIT_NOT_MET;
}

static ExitCode
cmd_replay_compare(ReplayCommand *self, const char *path, const ReplayOptions *options)
{
    g_autoptr(GError) error = NULL;
    Recorded *recorded = recorded_read(path, &error);

    if (recorded == NULL)
        return cli_bad_input("%s", error->message);
    g_autoptr(Replay) replay = replay_new(recorded, options, &error);
    return replay == NULL ? cmd_replay_fail(self, options->file, error)
                          : cmd_replay_finish(self, replay, NULL);
}

static ExitCode
fit(ReplayCommand *self, const char *path, const ReplayOptions *options)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(ReplayFit) fit = replay_fit_new(path, options, &error);

    if (fit == NULL)
        return cmd_replay_fail(self, options->file, error);
    if (self->fit_out != NULL) {
        g_autofree char *text = replay_fit_scenario(fit, &error);
        if (text == NULL)
            return cli_fail("%s", error->message);
        if (!cli_write_file(self->folder, self->fit_out, text))
            return EXIT_ERROR;
    }
    return cmd_replay_finish(self, replay_fit_replay(fit), fit);
}

static ExitCode
replay_folder(ReplayCommand *self, const char *folder)
{
    g_autofree char *file = g_build_filename(folder, "scenario.yaml", NULL);
    g_autofree char *path = g_build_filename(folder, "recorded.json", NULL);
    g_autofree char *data_dir = cli_data_dir();
    uint64_t seed;

    self->folder = folder;
    if (g_file_test(folder, G_FILE_TEST_IS_REGULAR))
        return cli_bad_input("replay: %s: is neither a folder that kvolsim import wrote nor a "
                             "journal of kvolsim csi (its name ends in .jsonl)",
                             folder);
    if (!g_file_test(path, G_FILE_TEST_EXISTS))
        return cli_bad_input("replay: %s: there is no such file; kvolsim import --audit writes it",
                             path);
    g_autoptr(Scenario) scenario = cli_load_scenario(file, self->set);
    if (scenario == NULL || !cli_parse_seed(self->seed, scenario, &seed))
        return EXIT_BAD_INPUT;
    const ReplayOptions options = {.file = file,
                                   .data_dir = data_dir,
                                   .set = (const char *const *)self->set,
                                   .seed = seed,
                                   .replications = (unsigned)self->replications,
                                   .jobs = self->jobs > 0 ? (unsigned)self->jobs
                                                          : g_get_num_processors(),
                                   .tolerance = self->tolerance,
                                   .progress = cmd_replay_go_on,
                                   .progress_data = self};
    return self->fits ? fit(self, path, &options) : cmd_replay_compare(self, path, &options);
}

/* ---- The journal of a driver ---- */

static json_t *
calls_json(const ReplayCommand *self, const GArray *rows, unsigned n_left_out, gboolean agrees)
{
    json_t *list = json_array();

    for (unsigned i = 0; i < rows->len; i++) {
        const ValidationRow *row = &g_array_index(rows, ValidationRow, i);
        json_array_append_new(
            list, json_pack("{s:s, s:{s:i, s:f, s:f}, s:{s:i, s:f, s:f}, s:f, s:f, s:s}", "call",
                            row->name, "recorded", "count", (int)row->n[SIDE_REAL], "p50",
                            row->p50[SIDE_REAL], "p90", row->p90[SIDE_REAL], "simulated", "count",
                            (int)row->n[SIDE_MODEL], "p50", row->p50[SIDE_MODEL], "p90",
                            row->p90[SIDE_MODEL], "ks", row->ks, "ksP", row->ks_p, "verdict",
                            replay_verdict_word(replay_judge_call(row, self->tolerance))));
    }
    return json_pack("{s:b, s:i, s:o}", "agrees", agrees, "leftOut", (int)n_left_out, "calls",
                     list);
}

static void
print_calls(const ReplayCommand *self, const GArray *rows, unsigned n_left_out, gboolean agrees)
{
    printf("%-28s %8s %9s %10s %9s %10s %9s %6s  %s\n", "CALL (ms)", "RECORDED", "SIMULATED",
           "P50 REC.", "P50 SIM.", "P90 REC.", "P90 SIM.", "KS", "VERDICT");
    for (unsigned i = 0; i < rows->len; i++) {
        const ValidationRow *row = &g_array_index(rows, ValidationRow, i);
        printf("%-28s %8u %9u %10.3f %9.3f %10.3f %9.3f %6.3f  %s\n", row->name, row->n[SIDE_REAL],
               row->n[SIDE_MODEL], row->p50[SIDE_REAL] * 1e3, row->p50[SIDE_MODEL] * 1e3,
               row->p90[SIDE_REAL] * 1e3, row->p90[SIDE_MODEL] * 1e3, row->ks,
               replay_verdict_word(replay_judge_call(row, self->tolerance)));
    }
    printf("%sCalls of the journal that are left out, as they failed or had no end: %u\n",
           rows->len > 0 ? "\n" : "", n_left_out);
    printf("Verdict: the calls %s: p50 and p90 within %g times, or as near as chance.\n",
           agrees ? "agree" : "DIFFER", self->tolerance);
}

static ExitCode
compare_calls(const ReplayCommand *self, const CallLog *journal, Validation *validation)
{
    const ValidationTolerance tolerance = {
        self->tolerance - 1, 1, REPLAY_SAMPLES_MIN, {NULL, NULL}
    };
    g_autoptr(GArray) rows = validation_rows(validation, &tolerance);
    unsigned n_left_out = calls_replay_left_out(journal);
    gboolean agrees = TRUE;

    for (unsigned i = 0; i < rows->len; i++)
        agrees = agrees && replay_judge_call(&g_array_index(rows, ValidationRow, i),
                                             self->tolerance) != REPLAY_DIFFERS;
    json_auto_t *json = calls_json(self, rows, n_left_out, agrees);
    if (self->out != NULL &&
        (!cli_make_folder(self->out) || !cli_write_json(self->out, "replay.json", json)))
        return EXIT_ERROR;
    if (self->is_json)
        cli_print_json(json);
    else
        print_calls(self, rows, n_left_out, agrees);
    return agrees ? EXIT_DONE : EXIT_NOT_MET;
}

/* The profile that the option names, otherwise the one that made the journal. Returns: (owned):
 * %NULL: the fault is printed */
static Scenario *
driver_of_journal(const ReplayCommand *self, const json_t *head)
{
    const char *profile = json_path_string(head, "profile");
    const char *name = json_path_string(head, "driver");

    if (self->profile != NULL)
        profile = self->profile;
    return cli_load_profile(profile != NULL ? profile : "generic",
                            name != NULL ? name : "csi.kvolsim.io", self->set);
}

static ExitCode
replay_journal(ReplayCommand *self, const char *file)
{
    json_auto_t *head = NULL;
    g_autoptr(GError) error = NULL;
    g_autoptr(CallLog) journal = call_log_read(file, &head, &error);
    g_autoptr(Validation) validation = validation_new();
    uint64_t seed;

    if (journal == NULL)
        return cli_bad_input("replay: %s", error->message);
    g_autoptr(Scenario) scenario = driver_of_journal(self, head);
    if (scenario == NULL || !cli_parse_seed(self->seed, scenario, &seed))
        return EXIT_BAD_INPUT;
    validation_add(validation, SIDE_REAL, journal, NULL);
    for (int i = 0; i < self->replications; i++) {
        g_autoptr(CallLog) log =
            calls_replay(journal, &scenario->drivers[0].model, seed, (unsigned)i, &error);
        if (log == NULL)
            return cmd_replay_fail(self, file, error);
        validation_add(validation, SIDE_MODEL, log, NULL);
    }
    return compare_calls(self, journal, validation);
}

/* ---- Arguments ---- */

static gboolean
is_journal(const char *path)
{
    return g_str_has_suffix(path, ".jsonl");
}

static gboolean
cmd_replay_arguments_are_good(ReplayCommand *self, int argc, const char *path)
{
    if (!cli_has_one("replay", argc, "folder or journal") ||
        !cli_is_between("replay", "--replications", self->replications, 1, 10000) ||
        !cli_is_between("replay", "--jobs", self->jobs, 0, 1024) ||
        !cli_parse_format("replay", self->format, &self->is_json))
        return FALSE;
    if (!(self->tolerance >= 1 && self->tolerance <= 1000))
        cli_error("replay: --tolerance: must be a ratio from 1 to 1000");
    else if (self->has_plot && self->out == NULL)
        cli_error("replay: --plot: needs --out, the folder of the pictures");
    else if (self->has_plot && self->is_json)
        cli_error("replay: --plot: not with --format json");
    else if (self->fit_out != NULL &&
             (self->fit_out[0] == '\0' || strchr(self->fit_out, '/') != NULL))
        cli_error("replay: --fit-out: must be the name of a file in the folder");
    else if (is_journal(path) && (self->has_plot || self->fits || self->fit_out != NULL))
        cli_error(
            "replay: %s: a journal has no --plot and no --fit; kvolsim fit makes a profile of it",
            path);
    else if (!is_journal(path) && self->profile != NULL)
        cli_error("replay: --profile: is for a journal of calls; for a folder use --set");
    else
        return TRUE;
    return FALSE;
}

int
cmd_replay(int argc, char **argv)
{
    ReplayCommand self = {.replications = 20, .tolerance = REPLAY_TOLERANCE};
    const GOptionEntry entries[] = {
        CLI_OPTION("replications", INT, &self.replications,
                   "Simulate N times, each with other random numbers; default: 20", "N"),
        CLI_OPTION("tolerance", DOUBLE, &self.tolerance,
                   "The ratio of a quantile, either way, that is no difference; default: 1.3",
                   "RATIO"),
        CLI_OPTION("seed", STRING, &self.seed, "Use this seed instead of the scenario's", "N"),
        CLI_OPTION("set", STRING_ARRAY, &self.set,
                   "Change a value of the scenario, e.g. spec.nodes[0].count=5", "PATH=VALUE"),
        CLI_JOBS_OPTION(&self.jobs),
        CLI_OPTION("profile", FILENAME, &self.profile,
                   "Of a journal: make its calls to a driver with this profile; default: the one "
                   "that served them, else generic",
                   "NAME|FILE"),
        CLI_OPTION("out", FILENAME, &self.out,
                   "Write replay.json and tables of stages, objects and requests into this folder",
                   "DIR"),
        CLI_OPTION("fit", NONE, &self.fits,
                   "Fit the latencies of the drivers to one half of the objects first", NULL),
        CLI_OPTION("fit-out", STRING, &self.fit_out,
                   "Write the scenario with these latencies into the file NAME of FOLDER", "NAME"),
        CLI_OPTION("plot", NONE, &self.has_plot, "Draw pictures into the folder of --out", NULL),
        CLI_FORMAT_OPTION(&self.format),
        G_OPTION_ENTRY_NULL,
    };
    ExitCode code = EXIT_BAD_INPUT;

    if (cli_parse(
            &argc, &argv, entries, "FOLDER|JOURNAL",
            "Compare a recording of a real cluster with simulations of the same minutes: "
            "FOLDER is one that kvolsim import wrote with --audit.\n"
            "JOURNAL, a .jsonl of kvolsim csi or validate, has the calls to a driver: they are "
            "made "
            "again to a simulated one.",
            "A stage differs if p50 or p90 of its recorded times are farther than the "
            "tolerance from the range of the simulations and from what chance makes of so few "
            "objects.\n"
            "Exit status: 0 done, 1 I/O error, 2 bad input, 3 a stage differs, 130 "
            "interrupted.") &&
        cmd_replay_arguments_are_good(&self, argc, argv[1])) {
        self.fits = self.fits || self.fit_out != NULL;
        self.progress = progress_new();
        g_mutex_init(&self.lock);
        code = is_journal(argv[1]) ? replay_journal(&self, argv[1]) : replay_folder(&self, argv[1]);
        g_mutex_clear(&self.lock);
    }
    progress_free(self.progress);
    cli_free_values(entries);
    return code;
}
