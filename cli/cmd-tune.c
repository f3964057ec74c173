/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <stdio.h>

#include "cli/common/gnuplot.h"
#include "cli/common/paint.h"
#include "cli/common/sweep-tools.h"
#include "commands.h"
#include "run/study/tune.h"

typedef struct {
    int jobs, replications;
    char *out, *format;
    char **set, **flags;
    gboolean is_json;
} TuneCommand;

static gboolean
cmd_tune_arguments_are_good(TuneCommand *self, int argc)
{
    return cli_has_one("tune", argc, "scenario") &&
           cli_is_between("tune", "-j", self->jobs, 0, 1024) &&
           cli_is_between("tune", "--replications", self->replications, 1, 100000) &&
           cli_parse_format("tune", self->format, &self->is_json);
}

static ExitCode
write_files(const TuneCommand *self, const Tune *tune, json_t *json)
{
    g_autofree char *csv = tune_csv(tune);

    if (!cli_make_folder(self->out) || !cli_write_file(self->out, "tune.csv", csv) ||
        !cli_write_index(self->out, "tune.json", json, "tune.csv"))
        return EXIT_ERROR;
    if (self->is_json)
        return EXIT_DONE;
    printf("\nResults: %s\n", self->out);
    fflush(stdout);
    return gnuplot_draw_results(self->out, "pareto", "tune.csv", gnuplot_format("png"), "");
}

static ExitCode
cmd_tune_tell(const TuneCommand *self, const Tune *tune, ExitCode code)
{
    json_auto_t *json = tune_json(tune);

    if (self->is_json) {
        cli_print_json(json);
    } else {
        g_autofree char *text = tune_text(tune);
        paint_print(stdout, text);
    }
    ExitCode written = self->out == NULL ? EXIT_DONE : write_files(self, tune, json);
    return written != EXIT_DONE ? written : code;
}

static ExitCode
tune(const TuneCommand *self, const char *file)
{
    g_autofree char *data_dir = cli_data_dir();
    g_autoptr(GPtrArray) faults = NULL;
    g_autoptr(GError) error = NULL;
    TuneOptions options = {.data_dir = data_dir,
                           .set = (const char *const *)self->set,
                           .flags = (const char *const *)self->flags,
                           .replications = (unsigned)self->replications};
    g_autoptr(Tune) study = tune_new(file, &options, &faults);

    cli_print_faults(faults);
    if (study == NULL)
        return EXIT_BAD_INPUT;
    Progress *progress = progress_new();
    options.run = cli_sweep_options(progress, data_dir, self->jobs);
    TuneEnd end = tune_run(study, &error);
    progress_free(progress);
    switch (end) {
    case TUNE_FOUND:
        return cmd_tune_tell(self, study, EXIT_DONE);
    case TUNE_NOT_MET:
        return cmd_tune_tell(self, study, EXIT_NOT_MET);
    case TUNE_INTERRUPTED:
        cli_error("tune: interrupted");
        return EXIT_INTERRUPTED;
    case TUNE_FAILED:
        break;
    }
    return cli_sweep_error(file, error);
}

int
cmd_tune(int argc, char **argv)
{
    TuneCommand self = {.replications = 10};
    const GOptionEntry entries[] = {
        CLI_OPTION("set", STRING_ARRAY, &self.set, "Change the scenario first", "PATH=VALUE"),
        CLI_OPTION("flag", STRING_ARRAY, &self.flags,
                   "Tune only flags of this name (with * and ?); may be repeated; default: worker "
                   "threads, requests a second and bursts of sidecars and control plane",
                   "NAME"),
        CLI_OPTION("replications", INT, &self.replications,
                   "Make N runs of each setting; default: 10", "N"),
        CLI_JOBS_OPTION(&self.jobs),
        CLI_OPTION(
            "out", FILENAME, &self.out,
            "Write tune.csv, tune.json and a picture of API load against time into this folder",
            "DIR"),
        CLI_FORMAT_OPTION(&self.format),
        G_OPTION_ENTRY_NULL,
    };
    ExitCode code = EXIT_BAD_INPUT;

    if (cli_parse(&argc, &argv, entries, "SCENARIO",
                  "Find the smallest flags that meet the scenario's slo, and the load on the API "
                  "server with them.\nWith one step less of any flag the slo is missed.",
                  "Flags take the steps 1, 2, 3, 5, 7, 10, 15, 20, 30, ... 1000.\n"
                  "Exit status: 0 found, 1 I/O error, 2 bad input, 3 no flags meet the slo, 130 "
                  "interrupted.") &&
        cmd_tune_arguments_are_good(&self, argc))
        code = tune(&self, argv[1]);
    cli_free_values(entries);
    return code;
}
