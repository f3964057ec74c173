/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <stdio.h>

#include "cli/common/paint.h"
#include "cli/common/sweep-tools.h"
#include "commands.h"
#include "run/study/sweep-report.h"

typedef struct {
    int jobs, replications;
    char *out, *shard;
    gboolean resume;
    unsigned shard_number, n_shards; /* from 0 */
} SweepCommand;

/* "3/8" */
static gboolean
parse_shard(SweepCommand *self)
{
    guint64 number, n;

    self->n_shards = 1;
    if (self->shard == NULL)
        return TRUE;
    g_auto(GStrv) parts = g_strsplit(self->shard, "/", 3);
    if (g_strv_length(parts) != 2 ||
        !g_ascii_string_to_unsigned(parts[1], 10, 1, 1000000, &n, NULL) ||
        !g_ascii_string_to_unsigned(parts[0], 10, 1, n, &number, NULL)) {
        cli_error("sweep: --shard: \"%s\" is not like 3/8", self->shard);
        return FALSE;
    }
    self->shard_number = (unsigned)number - 1;
    self->n_shards = (unsigned)n;
    return TRUE;
}

static ExitCode
print_table(SweepStore *store)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(SweepTable) table = sweep_store_table(store, &error);

    if (table == NULL)
        return cli_store_error(error);
    g_autofree char *text = sweep_table_text(table);
    paint_print(stdout, text);
    return EXIT_DONE;
}

static ExitCode
run_sweep(const SweepCommand *self, const Sweep *sweep, const char *out)
{
    g_autoptr(Progress) progress = progress_new();
    g_autoptr(GError) error = NULL;
    g_autoptr(SweepStore) store = sweep_store_create(out, sweep, self->resume, &error);

    if (g_error_matches(error, SWEEP_STORE_ERROR, SWEEP_STORE_ERROR_EXISTS))
        return cli_bad_input(
            "sweep: %s is there already (--resume goes on with it, --out names another file)", out);
    if (store == NULL)
        return cli_store_error(error);
    ExitCode code =
        cli_run_sweep(progress, sweep, store, self->jobs, self->shard_number, self->n_shards);
    if (code == EXIT_INTERRUPTED)
        cli_error("sweep: interrupted; what is finished is in %s, --resume goes on", out);
    if (code != EXIT_DONE)
        return code;
    code = print_table(store);
    printf("\nResults: %s\n", out);
    return code;
}

static ExitCode
sweep_file(const SweepCommand *self, const char *file)
{
    g_autofree char *data_dir = cli_data_dir();
    g_autoptr(GPtrArray) faults = NULL;
    g_autoptr(Sweep) sweep = sweep_load(file, data_dir, &faults);

    cli_print_faults(faults);
    if (sweep == NULL)
        return EXIT_BAD_INPUT;
    if (self->replications > 0) {
        sweep->replications.count = (unsigned)self->replications;
        sweep->replications.max = MAX(sweep->replications.max, (unsigned)self->replications);
    }
    g_autofree char *out =
        self->out != NULL ? g_strdup(self->out) : g_strdup_printf("%s.sqlite", sweep->name);
    return run_sweep(self, sweep, out);
}

static gboolean
cmd_sweep_arguments_are_good(SweepCommand *self, int argc)
{
    return cli_has_one("sweep", argc, "file") &&
           cli_is_between("sweep", "-j", self->jobs, 0, 1024) &&
           cli_is_between("sweep", "--replications", self->replications, 0, 1000000) &&
           parse_shard(self);
}

int
cmd_sweep(int argc, char **argv)
{
    SweepCommand self = {0};
    const GOptionEntry entries[] = {
        CLI_JOBS_OPTION(&self.jobs),
        CLI_OPTION("out", FILENAME, &self.out,
                   "The result file; default: the sweep's name with .sqlite", "DB"),
        CLI_OPTION("resume", NONE, &self.resume,
                   "Make only the runs that the file does not have yet", NULL),
        CLI_OPTION("shard", STRING, &self.shard,
                   "Make only part I of N; kvolsim merge merges the parts", "I/N"),
        CLI_OPTION("replications", INT, &self.replications,
                   "Run each point N times (at least N, if a rule may stop it), instead of what "
                   "the file says",
                   "N"),
        G_OPTION_ENTRY_NULL,
    };
    ExitCode code = EXIT_BAD_INPUT;

    if (cli_parse(&argc, &argv, entries, "FILE",
                  "Run every point of a parameter study and print means with confidence intervals.",
                  "The rows of the result file depend on the sweep alone, not on -j nor on "
                  "interruptions.\n"
                  "Exit status: 0 done, 1 I/O error, 2 bad input, 130 interrupted.") &&
        cmd_sweep_arguments_are_good(&self, argc))
        code = sweep_file(&self, argv[1]);
    cli_free_values(entries);
    return code;
}
