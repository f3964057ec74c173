/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <stdio.h>
#include <string.h>

#include "cli/common/cli.h"
#include "commands.h"
#include "run/files/list.h"
#include "run/measure/calibration.h"
#include "run/results/attribution.h"
#include "run/results/availability.h"
#include "run/results/event-list.h"
#include "run/results/plot-data.h"
#include "run/results/results.h"
#include "run/world/call-log.h"

#ifdef WITH_IMPORT
#include "run/import/replay/replay.h"
#endif
#ifdef WITH_STUDY
#include "run/study/sweep.h"
#include "run/study/tune.h"
#include "run/study/whatif.h"
#endif

/* Each kind of files that users write, and its descriptions. */
static const struct {
    const char *name;
    json_t *(*schema)(void);  /* (owned) */
    char *(*reference)(void); /* (owned) */
} kinds[] = {
    {"scenario", scenario_schema, scenario_reference},
#ifdef WITH_STUDY
    {"sweep",    sweep_schema,    sweep_reference   },
#endif
};

/* Result files of rows or lines. The schemas of all result files are in schemas/. */
static const ResultTable *const tables[] = {
    &objects_table,         &milestones_table,
    &events_table,          &availability_table,
    &attribution_table,     &chains_table,
    &requests_table,        &availability_over_time_table,
    &waits_table,           &over_time_table,
    &node_volumes_table,    &client_rates_table,
    &journal_table,         &calibration_table,
    &event_list_table,
#ifdef WITH_STUDY
    &whatif_table,          &tune_table,
#endif
#ifdef WITH_IMPORT
    &replay_stages_table,   &replay_objects_table,
    &replay_requests_table,
#endif
};

#define SUFFIX ".schema.json"

static ExitCode
tell_kinds(const char *folder)
{
    g_autoptr(GPtrArray) files = list_files(folder, SUFFIX, NULL);
    g_autoptr(GString) names = g_string_new(NULL);

    for (unsigned i = 0; i < G_N_ELEMENTS(kinds); i++)
        g_string_append_printf(names, "%s%s", i > 0 ? ", " : "", kinds[i].name);
    for (unsigned i = 0; files != NULL && i < files->len; i++)
        g_string_append_printf(names, ", %s", (const char *)files->pdata[i]);
    return cli_bad_input("schema: there is no such kind of file (%s)", names->str);
}

static ExitCode
print_table(const ResultTable *table, gboolean is_reference)
{
    g_autofree char *text =
        is_reference ? result_table_reference(table) : result_table_schema(table);

    fputs(text, stdout);
    return EXIT_DONE;
}

/* @name: of a result file without a table, such as summary.json */
static ExitCode
print_of_result(const char *name)
{
    g_autofree char *data_dir = cli_data_dir();
    g_autofree char *folder = g_build_filename(data_dir, "schemas", NULL);
    g_autofree char *path = g_strconcat(folder, G_DIR_SEPARATOR_S, name, SUFFIX, NULL);
    g_autofree char *text = NULL;

    if (strchr(name, G_DIR_SEPARATOR) != NULL || !g_file_get_contents(path, &text, NULL, NULL))
        return tell_kinds(folder);
    fputs(text, stdout);
    return EXIT_DONE;
}

static ExitCode
print_kind(unsigned kind, gboolean is_reference)
{
    if (is_reference) {
        g_autofree char *reference = kinds[kind].reference();
        fputs(reference, stdout);
        return EXIT_DONE;
    }
    json_auto_t *schema = kinds[kind].schema();
    cli_print_json(schema);
    return EXIT_DONE;
}

int
cmd_schema(int argc, char **argv)
{
    gboolean is_reference = FALSE;
    const GOptionEntry entries[] = {
        CLI_OPTION(
            "reference", NONE, &is_reference,
            "Print the fields, or the columns of a result file, as tables in Markdown instead",
            NULL),
        G_OPTION_ENTRY_NULL,
    };

    if (!cli_parse(&argc, &argv, entries, "[scenario|sweep|RESULT]",
                   "Print the JSON Schema of scenario or sweep files, so that editors can complete "
                   "and check them,\nor of a result file, such as summary.json.",
                   NULL))
        return EXIT_BAD_INPUT;
    if (argc > 2)
        return cli_bad_usage("schema", "more than one kind given");
    for (unsigned kind = 0; kind < G_N_ELEMENTS(kinds); kind++)
        if (argc == 1 || strcmp(argv[1], kinds[kind].name) == 0)
            return print_kind(kind, is_reference);
    for (unsigned i = 0; i < G_N_ELEMENTS(tables); i++)
        if (strcmp(argv[1], tables[i]->file) == 0)
            return print_table(tables[i], is_reference);
    return is_reference
               ? cli_bad_usage("schema",
                               "--reference is of scenario or sweep, or of a file with columns")
               : print_of_result(argv[1]);
}
