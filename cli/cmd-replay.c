/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "cli/common/gnuplot.h"
#include "cli/common/paint.h"
#include "cli/common/progress.h"
#include "commands.h"
#include "run/import/replay/replay-fit.h"

typedef struct {
    /* As given. */
    char *seed, *out, *format, *fit_out;
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
go_on(void *data, SimTime now, uint64_t n_events)
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
draw(const ReplayCommand *self, const Replay *replay)
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
    return self->has_plot ? draw(self, replay) : EXIT_DONE;
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
fail(ReplayCommand *self, const char *file, const GError *error)
{
    progress_hide(self->progress);
    if (g_error_matches(error, RUN_ERROR, RUN_ERROR_INTERRUPTED))
        return EXIT_INTERRUPTED;
    return cli_bad_input("%s: %s", file, error->message);
}

static ExitCode
finish(ReplayCommand *self, const Replay *replay, const ReplayFit *fit)
{
    progress_hide(self->progress);
    ExitCode code = write_files(self, replay);
    if (code != EXIT_DONE)
        return code;
    print_replay(self, replay, fit);
    return replay_is_good(replay) ? EXIT_DONE : EXIT_NOT_MET;
}

static ExitCode
compare(ReplayCommand *self, const char *path, const ReplayOptions *options)
{
    g_autoptr(GError) error = NULL;
    Recorded *recorded = recorded_read(path, &error);

    if (recorded == NULL)
        return cli_bad_input("%s", error->message);
    g_autoptr(Replay) replay = replay_new(recorded, options, &error);
    return replay == NULL ? fail(self, options->file, error) : finish(self, replay, NULL);
}

static ExitCode
fit(ReplayCommand *self, const char *path, const ReplayOptions *options)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(ReplayFit) fit = replay_fit_new(path, options, &error);

    if (fit == NULL)
        return fail(self, options->file, error);
    if (self->fit_out != NULL) {
        g_autofree char *text = replay_fit_scenario(fit, &error);
        if (text == NULL)
            return cli_fail("%s", error->message);
        if (!cli_write_file(self->folder, self->fit_out, text))
            return EXIT_ERROR;
    }
    return finish(self, replay_fit_replay(fit), fit);
}

static ExitCode
replay_folder(ReplayCommand *self, const char *folder)
{
    g_autofree char *file = g_build_filename(folder, "scenario.yaml", NULL);
    g_autofree char *path = g_build_filename(folder, "recorded.json", NULL);
    g_autofree char *data_dir = cli_data_dir();
    uint64_t seed;

    self->folder = folder;
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
                                   .progress = go_on,
                                   .progress_data = self};
    return self->fits ? fit(self, path, &options) : compare(self, path, &options);
}

static gboolean
arguments_are_good(ReplayCommand *self, int argc)
{
    if (!cli_has_one("replay", argc, "folder") ||
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
            &argc, &argv, entries, "FOLDER",
            "Compare a recording of a real cluster with simulations of the same minutes: "
            "FOLDER is one that kvolsim import wrote with --audit.",
            "A stage differs if p50 or p90 of its recorded times are farther than the "
            "tolerance from the range of the simulations and from what chance makes of so few "
            "objects.\n"
            "Exit status: 0 done, 1 I/O error, 2 bad input, 3 a stage differs, 130 "
            "interrupted.") &&
        arguments_are_good(&self, argc)) {
        self.fits = self.fits || self.fit_out != NULL;
        self.progress = progress_new();
        g_mutex_init(&self.lock);
        code = replay_folder(&self, argv[1]);
        g_mutex_clear(&self.lock);
    }
    progress_free(self.progress);
    cli_free_values(entries);
    return code;
}
