/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <errno.h>
#include <fcntl.h>
#include <glib/gstdio.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "cli/common/progress.h"
#include "commands.h"
#include "run/results/results.h"

typedef struct {
    /* As given. */
    char *seed, *out, *format;
    int replications;
    gboolean is_json, no_attribution;
    char **set;
    /* While it runs. */
    Progress *progress;
    unsigned replication;
} RunCommand;

#define REPLICATION "replication-" /* each has a folder with its number */

static gboolean
go_on(void *data, SimTime now, uint64_t n_events)
{
    RunCommand *self = data;
    char buffer[SIM_TIME_BUFFER], number[48] = "";

    if (progress_is_due(self->progress)) {
        if (self->replications > 1)
            g_snprintf(number, sizeof number, "replication %u of %d, ", self->replication + 1,
                       self->replications);
        progress_show(self->progress, "%s%s of virtual time, %" PRIu64 " events, %.1f s", number,
                      sim_time_format(now / SIM_SECOND * SIM_SECOND, buffer), n_events,
                      progress_seconds(self->progress));
    }
    return !progress_is_interrupted(self->progress);
}

/* A single replication writes into the run's own folder. (owned) */
static char *
replication_folder(const RunCommand *self, const char *folder, unsigned replication)
{
    g_autofree char *name = g_strdup_printf(REPLICATION "%u", replication);

    return self->replications == 1 ? g_strdup(folder) : g_build_filename(folder, name, NULL);
}

static ExitCode
write_run(RunCommand *self, const Run *run, const Stages *stages, const char *partial)
{
    g_autofree char *folder = replication_folder(self, partial, self->replication);
    g_autoptr(GError) error = NULL;

    if (!cli_make_folder(folder))
        return EXIT_ERROR;
    gboolean good = results_write_run(run, stages, folder, &error);
    progress_hide(self->progress);
    if (good)
        return EXIT_DONE;
    if (g_error_matches(error, G_FILE_ERROR, G_FILE_ERROR_INTR))
        return EXIT_INTERRUPTED;
    return cli_fail("%s", error->message);
}

static ExitCode
run_once(RunCommand *self,
         const Scenario *scenario,
         uint64_t seed,
         Results *results,
         const char *partial)
{
    const RunOptions options = {.seed = seed,
                                .replication = self->replication,
                                .untraced = self->no_attribution,
                                .measured = partial != NULL, /* they go into files only */
                                .progress = go_on,
                                .progress_data = self};
    g_autoptr(GError) error = NULL;
    g_autoptr(Run) run = run_new(scenario, &options, &error);

    if (g_error_matches(error, RUN_ERROR, RUN_ERROR_INTERRUPTED)) {
        progress_hide(self->progress);
        return EXIT_INTERRUPTED;
    }
    if (run == NULL)
        return cli_bad_input("%s: %s", scenario->file, error->message);
    RunEnd end = run_execute(run);
    progress_hide(self->progress);
    if (end == RUN_INTERRUPTED || progress_is_interrupted(self->progress))
        return EXIT_INTERRUPTED;

    g_autoptr(Stages) stages = stages_new(run);
    results_add(results, run, stages);
    return partial == NULL ? EXIT_DONE : write_run(self, run, stages, partial);
}

static void
remove_tree(const char *path)
{
    g_autoptr(GDir) folder = g_dir_open(path, 0, NULL);
    const char *name;

    while (folder != NULL && (name = g_dir_read_name(folder)) != NULL) {
        g_autofree char *child = g_build_filename(path, name, NULL);
        remove_tree(child);
    }
    g_remove(path);
}

/* "replication-12" */
static gboolean
is_replication(const char *name)
{
    const char *number = name + strlen(REPLICATION);

    return g_str_has_prefix(name, REPLICATION) && *number != '\0' &&
           strspn(number, "0123456789") == strlen(number);
}

/* The earlier run may have had more files or more replications. What is left of them would pass for
 * results of the new run. */
static void
remove_earlier_results(const char *path)
{
    g_autoptr(GDir) folder = g_dir_open(path, 0, NULL);
    const char *name;

    results_remove_run(path);
    while (folder != NULL && (name = g_dir_read_name(folder)) != NULL) {
        g_autofree char *child = g_build_filename(path, name, NULL);
        if (is_replication(name))
            remove_tree(child);
    }
}

static ExitCode
move_each(const char *partial, const char *folder)
{
    g_autoptr(GDir) from = g_dir_open(partial, 0, NULL);
    const char *name;

    while (from != NULL && (name = g_dir_read_name(from)) != NULL) {
        g_autofree char *source = g_build_filename(partial, name, NULL);
        g_autofree char *target = g_build_filename(folder, name, NULL);
        if (g_rename(source, target) != 0)
            return cli_fail("%s: %s", target, g_strerror(errno));
    }
    return EXIT_DONE;
}

/* Results are written beside the folder, and moved into it at the end, file by file. So an
 * interrupted run leaves nothing behind, and an earlier run's results stay until the new ones are
 * complete. The lock makes two runs into one folder take turns: all files there come from the
 * second. */
static ExitCode
move_results(const char *partial, const char *folder)
{
    if (g_rename(partial, folder) == 0)
        return EXIT_DONE;

    int lock = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (lock == -1 || flock(lock, LOCK_EX) == -1) {
        cli_error("%s: %s", folder, g_strerror(errno));
        if (lock != -1)
            close(lock);
        return EXIT_ERROR;
    }
    remove_earlier_results(folder);
    ExitCode code = move_each(partial, folder);
    close(lock);
    remove_tree(partial);
    return code;
}

static ExitCode
run_all(RunCommand *self,
        const Scenario *scenario,
        uint64_t seed,
        Results *results,
        const char *partial)
{
    for (self->replication = 0; self->replication < (unsigned)self->replications;
         self->replication++) {
        ExitCode code = run_once(self, scenario, seed, results, partial);
        if (code != EXIT_DONE)
            return code;
    }
    if (partial == NULL)
        return EXIT_DONE;

    g_autoptr(GError) error = NULL;
    if (!results_write_summary(results, partial, &error))
        return cli_fail("%s", error->message);
    return move_results(partial, self->out);
}

static void
print_results(const RunCommand *self, Results *results)
{
    if (self->is_json) {
        json_auto_t *summary = results_summary(results);
        cli_print_json(summary);
        return;
    }
    g_autofree char *table = results_table(results);
    fputs(table, stdout);
}

static ExitCode
run_scenario_file(RunCommand *self, const char *file)
{
    g_autoptr(Scenario) scenario = cli_load_scenario(file, self->set);
    uint64_t seed;

    if (scenario == NULL || !cli_parse_seed(self->seed, scenario, &seed))
        return EXIT_BAD_INPUT;

    g_autoptr(Results) results = results_new(scenario, seed);
    g_autofree char *partial =
        self->out == NULL ? NULL : g_strdup_printf("%s.partial-%d", self->out, (int)getpid());
    if (partial != NULL && !cli_make_folder(partial))
        return EXIT_ERROR;
    ExitCode code = run_all(self, scenario, seed, results, partial);
    if (code != EXIT_DONE) {
        if (partial != NULL)
            remove_tree(partial);
        if (code == EXIT_INTERRUPTED)
            cli_error("interrupted; nothing was written");
        return code;
    }
    print_results(self, results);
    return results_are_good(results) ? EXIT_DONE : EXIT_NOT_MET;
}

static gboolean
arguments_are_good(RunCommand *self, int argc)
{
    if (!cli_has_one("run", argc, "scenario") ||
        !cli_is_between("run", "--replications", self->replications, 1, 1000000) ||
        !cli_parse_format("run", self->format, &self->is_json))
        return FALSE;
    if (self->out != NULL && self->out[0] == '\0')
        cli_error("run: --out: no folder given");
    else if (self->out != NULL && g_file_test(self->out, G_FILE_TEST_EXISTS) &&
             !g_file_test(self->out, G_FILE_TEST_IS_DIR))
        cli_error("run: --out: %s is not a folder", self->out);
    else
        return TRUE;
    return FALSE;
}

int
cmd_run(int argc, char **argv)
{
    RunCommand self = {.replications = 1};
    const GOptionEntry entries[] = {
        CLI_OPTION("seed", STRING, &self.seed, "Use this seed instead of the scenario's", "N"),
        CLI_OPTION("set", STRING_ARRAY, &self.set,
                   "Change a value of the scenario, e.g. spec.nodes[0].count=5", "PATH=VALUE"),
        CLI_OPTION("replications", INT, &self.replications,
                   "Run N times, each with other random numbers", "N"),
        CLI_OPTION("out", FILENAME, &self.out, "Write results into this folder", "DIR"),
        CLI_OPTION("format", STRING, &self.format,
                   "How to print the summary: table (default) or json", "FORMAT"),
        CLI_OPTION("no-attribution", NONE, &self.no_attribution,
                   "Do not record causes or report where the time went: for very large runs", NULL),
        G_OPTION_ENTRY_NULL,
    };
    ExitCode code = EXIT_BAD_INPUT;

    if (cli_parse(&argc, &argv, entries, "SCENARIO",
                  "Run a scenario and print how long things took, stage by stage.",
                  "The same scenario and seed give the same results, byte for byte.\n"
                  "Exit status: 0 done, 1 I/O error, 2 bad input, 3 an slo or expect was not met, "
                  "130 interrupted.") &&
        arguments_are_good(&self, argc)) {
        self.progress = progress_new();
        code = run_scenario_file(&self, argv[1]);
    }
    progress_free(self.progress);
    cli_free_values(entries);
    return code;
}
