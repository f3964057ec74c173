/* SPDX-License-Identifier: GPL-3.0-or-later */
/* kvolsim whatif: changes one flag after the other and tells which of them matter. The variants are
 * points of a sweep, so runs can be resumed and are made by several threads, with common random
 * numbers. The table is sorted by the effect on the chosen stage or value. */
#include <stdio.h>
#include <string.h>

#include "cli/common/gnuplot.h"
#include "cli/common/paint.h"
#include "cli/common/sweep-tools.h"
#include "commands.h"
#include "run/study/whatif.h"

typedef struct {
    int jobs, replications;
    char *out, *stage, *statistic, *value, *format;
    char **set;
    gboolean resume, is_json;
    Stage stage_number;
} WhatifCommand;

static gboolean
cmd_whatif_arguments_are_good(WhatifCommand *self, int argc)
{
    SweepMeasure parsed;
    SweepValueKind value;

    if (!cli_has_one("whatif", argc, "scenario") ||
        !cli_is_between("whatif", "-j", self->jobs, 0, 1024) ||
        !cli_is_between("whatif", "--replications", self->replications, 2, 100000) ||
        !cli_parse_format("whatif", self->format, &self->is_json))
        return FALSE;
    if (!stage_find(self->stage, &self->stage_number))
        cli_error("whatif: --stage: \"%s\" is no stage (such as pod-start)", self->stage);
    else if (!sweep_statistic_parse(self->statistic, &parsed) || *parsed.unit == '\0')
        cli_error("whatif: --statistic: \"%s\" is not mean, min, max or a quantile such as p99",
                  self->statistic);
    else if (self->value != NULL &&
             (!sweep_value_find(self->value, &value) || strcmp(sweep_value_unit(value), "s") != 0))
        cli_error("whatif: --value: \"%s\" is not time-to-all-ready or not-ready-seconds",
                  self->value);
    else if (self->resume && self->out == NULL)
        cli_error("whatif: --resume: needs --out, the folder to go on with");
    else
        return TRUE;
    return FALSE;
}

static ExitCode
write_files(const WhatifCommand *self, const Whatif *whatif, const SweepTable *table, json_t *json)
{
    g_autofree char *csv = whatif_csv(whatif, table);

    if (!cli_write_file(self->out, "whatif.csv", csv) ||
        !cli_write_index(self->out, "whatif.json", json, "whatif.csv"))
        return EXIT_ERROR;
    return EXIT_DONE;
}

static ExitCode
cmd_whatif_tell(const WhatifCommand *self, const Whatif *whatif, SweepStore *store)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(SweepTable) table = sweep_store_table(store, &error);
    ExitCode code = EXIT_DONE;

    if (table == NULL)
        return cli_store_error(error);
    json_auto_t *json = whatif_json(whatif, table);
    if (self->is_json) {
        cli_print_json(json);
    } else {
        g_autofree char *text = whatif_text(whatif, table);
        paint_print(stdout, text);
    }
    if (self->out != NULL)
        code = write_files(self, whatif, table, json);
    if (code != EXIT_DONE || self->out == NULL)
        return code;
    if (self->is_json)
        return EXIT_DONE;
    printf("\nResults: %s\n", self->out);
    fflush(stdout);
    return gnuplot_draw_results(self->out, "tornado", "whatif.csv", gnuplot_format("png"), "");
}

static ExitCode
whatif(const WhatifCommand *self, const char *file)
{
    g_autofree char *data_dir = cli_data_dir();
    const WhatifOptions options = {.data_dir = data_dir,
                                   .set = (const char *const *)self->set,
                                   .stage = self->stage_number,
                                   .statistic = self->statistic,
                                   .value = self->value,
                                   .replications = (unsigned)self->replications};
    g_autoptr(GPtrArray) faults = NULL;
    g_autoptr(GError) error = NULL;
    g_autoptr(Whatif) study = whatif_new(file, &options, &faults);

    cli_print_faults(faults);
    if (study == NULL)
        return EXIT_BAD_INPUT;
    if (self->out != NULL && !cli_make_folder(self->out))
        return EXIT_ERROR;
    g_autofree char *db = self->out == NULL ? g_strdup(":memory:")
                                            : g_build_filename(self->out, "whatif.sqlite", NULL);
    g_autoptr(Progress) progress = progress_new();
    g_autoptr(SweepStore) store = sweep_store_create(db, whatif_sweep(study), self->resume, &error);
    if (g_error_matches(error, SWEEP_STORE_ERROR, SWEEP_STORE_ERROR_EXISTS))
        return cli_bad_input(
            "whatif: %s is there already (--resume goes on with it, --out names another folder)",
            db);
    if (store == NULL)
        return cli_store_error(error);
    ExitCode code = cli_run_sweep(progress, whatif_sweep(study), store, self->jobs, 0, 1);
    if (code == EXIT_INTERRUPTED)
        cli_error("whatif: interrupted%s",
                  self->out == NULL ? "" : "; what is finished is kept, --resume goes on");
    return code == EXIT_DONE ? cmd_whatif_tell(self, study, store) : code;
}

int
cmd_whatif(int argc, char **argv)
{
    WhatifCommand self = {.replications = 10};
    const GOptionEntry entries[] = {
        CLI_OPTION("set", STRING_ARRAY, &self.set, "Change the scenario first", "PATH=VALUE"),
        CLI_OPTION("stage", STRING, &self.stage,
                   "Compare the times of this stage; default: pod-start", "STAGE"),
        CLI_OPTION("statistic", STRING, &self.statistic,
                   "mean, min, max or a quantile such as p99 (default)", "WORD"),
        CLI_OPTION("value", STRING, &self.value,
                   "Compare not-ready-seconds or time-to-all-ready instead of a stage", "VALUE"),
        CLI_OPTION("replications", INT, &self.replications,
                   "Make N runs of each change; default: 10", "N"),
        CLI_JOBS_OPTION(&self.jobs),
        CLI_OPTION(
            "out", FILENAME, &self.out,
            "Write whatif.csv, whatif.json, whatif.sqlite and a tornado picture into this folder",
            "DIR"),
        CLI_OPTION("resume", NONE, &self.resume,
                   "Make only the runs that the folder does not have yet", NULL),
        CLI_FORMAT_OPTION(&self.format),
        G_OPTION_ENTRY_NULL,
    };
    ExitCode code = EXIT_BAD_INPUT;

    if (cli_parse(
            &argc, &argv, entries, "SCENARIO",
            "Find the flag or limit that moves the start of pods most: each is halved and doubled.",
            "Exit status: 0 done, 1 I/O error, 2 bad input, 130 interrupted.")) {
        self.stage = self.stage != NULL ? self.stage : g_strdup("pod-start");
        self.statistic = self.statistic != NULL ? self.statistic : g_strdup("p99");
        if (cmd_whatif_arguments_are_good(&self, argc))
            code = whatif(&self, argv[1]);
    }
    cli_free_values(entries);
    return code;
}
