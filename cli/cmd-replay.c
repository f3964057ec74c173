/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <inttypes.h>
#include <stdio.h>

#include "cli/common/gnuplot.h"
#include "cli/common/progress.h"
#include "commands.h"
#include "run/import/replay.h"

typedef struct {
    /* As given. */
    char *seed, *out, *format;
    char **set;
    int replications, jobs;
    double tolerance;
    gboolean is_json, has_plot;
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

static void
print_replay(const ReplayCommand *self, const Replay *replay)
{
    if (self->is_json) {
        json_auto_t *json = replay_json(replay);
        cli_print_json(json);
        return;
    }
    g_autofree char *table = replay_table(replay);
    fputs(table, stdout);
}

/* @recorded: (owned) */
static ExitCode
compare(ReplayCommand *self, Recorded *recorded, const char *file, uint64_t seed)
{
    g_autofree char *data_dir = cli_data_dir();
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
    g_autoptr(GError) error = NULL;
    g_autoptr(Replay) replay = replay_new(recorded, &options, &error);

    progress_hide(self->progress);
    if (g_error_matches(error, RUN_ERROR, RUN_ERROR_INTERRUPTED))
        return EXIT_INTERRUPTED;
    if (replay == NULL)
        return cli_bad_input("%s: %s", file, error->message);
    ExitCode code = write_files(self, replay);
    if (code != EXIT_DONE)
        return code;
    print_replay(self, replay);
    return replay_is_good(replay) ? EXIT_DONE : EXIT_NOT_MET;
}

static ExitCode
replay_folder(ReplayCommand *self, const char *folder)
{
    g_autofree char *file = g_build_filename(folder, "scenario.yaml", NULL);
    g_autofree char *path = g_build_filename(folder, "recorded.json", NULL);
    g_autoptr(GError) error = NULL;
    uint64_t seed;

    self->folder = folder;
    if (!g_file_test(path, G_FILE_TEST_EXISTS))
        return cli_bad_input("replay: %s: there is no such file; kvolsim import --audit writes it",
                             path);
    g_autoptr(Scenario) scenario = cli_load_scenario(file, self->set);
    if (scenario == NULL || !cli_parse_seed(self->seed, scenario, &seed))
        return EXIT_BAD_INPUT;
    Recorded *recorded = recorded_read(path, &error);
    return recorded == NULL ? cli_bad_input("%s", error->message)
                            : compare(self, recorded, file, seed);
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
        CLI_OPTION("plot", NONE, &self.has_plot, "Draw pictures into the folder of --out", NULL),
        CLI_FORMAT_OPTION(&self.format),
        G_OPTION_ENTRY_NULL,
    };
    ExitCode code = EXIT_BAD_INPUT;

    if (cli_parse(&argc, &argv, entries, "FOLDER",
                  "Compare a recording of a real cluster with simulations of the same minutes: "
                  "FOLDER is one that kvolsim import wrote with --audit.",
                  "A stage differs if p50 or p90 of its recorded times are farther than the "
                  "tolerance from the range of the simulations.\n"
                  "Exit status: 0 done, 1 I/O error, 2 bad input, 3 a stage differs, 130 "
                  "interrupted.") &&
        arguments_are_good(&self, argc)) {
        self.progress = progress_new();
        g_mutex_init(&self.lock);
        code = replay_folder(&self, argv[1]);
        g_mutex_clear(&self.lock);
    }
    progress_free(self.progress);
    cli_free_values(entries);
    return code;
}
