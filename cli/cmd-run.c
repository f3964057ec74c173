/* SPDX-License-Identifier: GPL-3.0-or-later */
/* kvolsim run: executes a scenario, with replications, and prints or writes its results. Files go
 * into a folder that takes its name when all are written. The log of causes is kept unless
 * --no-attribution is given; metrics are measured only if files are written, as they go nowhere
 * else. The status tells whether expectations and slos are met. */
#include <inttypes.h>
#include <stdio.h>

#include "cli/common/out-folder.h"
#include "cli/common/paint.h"
#include "cli/common/progress.h"
#include "commands.h"
#include "run/results/results.h"
#include "run/why/findings.h"

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

static gboolean
cmd_run_go_on(void *data, SimTime now, uint64_t n_events)
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

static ExitCode
write_run(RunCommand *self, const Run *run, const Stages *stages, const OutFolder *out)
{
    g_autofree char *folder =
        out_folder_of_replication(out, self->replication, (unsigned)self->replications);
    g_autoptr(GError) error = NULL;

    if (folder == NULL)
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
         const OutFolder *out)
{
    const RunOptions options = {.seed = seed,
                                .replication = self->replication,
                                .untraced = self->no_attribution,
                                .measured = out != NULL, /* they go into files only */
                                .progress = cmd_run_go_on,
                                .progress_data = self};
    g_autoptr(GError) error = NULL;
    g_autoptr(Run) run = run_new(scenario, &options, &error);

    if (g_error_matches(error, RUN_ERROR, RUN_ERROR_INTERRUPTED)) {
        progress_hide(self->progress);
        return EXIT_INTERRUPTED;
    }
    if (run == NULL)
        return cli_bad_input("%s: %s", scenario->file, error->message);

    g_autoptr(WhyCalls) calls = self->replication == 0 ? why_calls_new(run) : NULL;
    RunEnd end = run_execute(run);
    progress_hide(self->progress);
    if (end == RUN_INTERRUPTED || progress_is_interrupted(self->progress))
        return EXIT_INTERRUPTED;

    g_autoptr(Stages) stages = stages_new(run);
    results_add(results, run, stages);
    if (calls != NULL)
        results_set_findings(results, why_findings(&(WhyView){.run = run, .calls = calls}));
    return out == NULL ? EXIT_DONE : write_run(self, run, stages, out);
}

static ExitCode
run_all(RunCommand *self, const Scenario *scenario, uint64_t seed, Results *results, OutFolder *out)
{
    for (self->replication = 0; self->replication < (unsigned)self->replications;
         self->replication++) {
        ExitCode code = run_once(self, scenario, seed, results, out);
        if (code != EXIT_DONE)
            return code;
    }
    if (out == NULL)
        return EXIT_DONE;

    g_autoptr(GError) error = NULL;
    if (!results_write_summary(results, out_folder_partial(out), &error))
        return cli_fail("%s", error->message);
    return out_folder_finish(out);
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
    paint_print(stdout, table);
}

static ExitCode
run_scenario_file(RunCommand *self, const char *file)
{
    g_autoptr(Scenario) scenario = cli_load_scenario(file, self->set);
    uint64_t seed;

    if (scenario == NULL || !cli_parse_seed(self->seed, scenario, &seed))
        return EXIT_BAD_INPUT;

    g_autoptr(Results) results = results_new(scenario, seed);
    g_autoptr(OutFolder) out = self->out == NULL ? NULL : out_folder_new(self->out);
    if (self->out != NULL && out == NULL)
        return EXIT_ERROR;
    ExitCode code = run_all(self, scenario, seed, results, out);
    if (code == EXIT_INTERRUPTED)
        cli_error("interrupted; nothing was written");
    if (code != EXIT_DONE)
        return code;
    print_results(self, results);
    return results_are_good(results) ? EXIT_DONE : EXIT_NOT_MET;
}

static gboolean
cmd_run_arguments_are_good(RunCommand *self, int argc)
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
        cmd_run_arguments_are_good(&self, argc)) {
        self.progress = progress_new();
        code = run_scenario_file(&self, argv[1]);
    }
    progress_free(self.progress);
    cli_free_values(entries);
    return code;
}
