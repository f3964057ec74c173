/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <stdio.h>
#include <string.h>

#include "cli/common/sweep-tools.h"
#include "commands.h"
#include "run/study/sweep-report.h"

static const char *const tables[] = {
    [SWEEP_CSV_POINTS] = "points",
    [SWEEP_CSV_RUNS] = "runs",
    [SWEEP_CSV_PAIRS] = "pairs",
};

static gboolean
find_table(const char *name, SweepCsv *kind)
{
    for (unsigned i = 0; i < G_N_ELEMENTS(tables); i++)
        if (strcmp(tables[i], name) == 0) {
            *kind = (SweepCsv)i;
            return TRUE;
        }
    cli_error("export: --table: \"%s\" is none of points, runs, pairs", name);
    return FALSE;
}

static ExitCode export(const char *file, SweepCsv kind, const char *out)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(SweepStore) store = sweep_store_open(file, &error);
    g_autoptr(SweepTable) table = store == NULL ? NULL : sweep_store_table(store, &error);

    if (table == NULL)
        return cli_store_error(error);
    g_autofree char *text = sweep_table_csv(table, kind);
    if (text == NULL)
        return cli_bad_input("export: %s: the sweep has no baseline, so there are no pairs", file);
    if (out == NULL) {
        fputs(text, stdout);
    } else if (!g_file_set_contents(out, text, -1, &error))
        return cli_fail("%s", error->message);
    return EXIT_DONE;
}

int
cmd_export(int argc, char **argv)
{
    g_autofree char *table = NULL;
    g_autofree char *out = NULL;
    SweepCsv kind = SWEEP_CSV_POINTS;
    const GOptionEntry entries[] = {
        CLI_OPTION("table", STRING, &table,
                   "points (default): means and intervals; runs: every run; pairs: differences "
                   "from the baseline",
                   "TABLE"),
        CLI_OPTION("out", FILENAME, &out, "Write into this file, not to the screen", "FILE"),
        G_OPTION_ENTRY_NULL,
    };

    if (!cli_parse(&argc, &argv, entries, "DB", "Print the results of a sweep as CSV.",
                   "Times are in seconds. The first line is a comment that names the sweep."))
        return EXIT_BAD_INPUT;
    if (!cli_has_one("export", argc, "result file"))
        return EXIT_BAD_INPUT;
    if (table != NULL && !find_table(table, &kind))
        return EXIT_BAD_INPUT;
    return export(argv[1], kind, out);
}
