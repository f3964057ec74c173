/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <stdio.h>
#include <string.h>

#include "cli/common/cli.h"
#include "commands.h"
#include "run/study/sweep.h"

/* Each kind of files, and its descriptions. */
static const struct {
    const char *name;
    json_t *(*schema)(void);  /* (owned) */
    char *(*reference)(void); /* (owned) */
} kinds[] = {
    {"scenario", scenario_schema, scenario_reference},
    {"sweep",    sweep_schema,    sweep_reference   },
};

int
cmd_schema(int argc, char **argv)
{
    gboolean is_reference = FALSE;
    const GOptionEntry entries[] = {
        CLI_OPTION("reference", NONE, &is_reference,
                   "Print the fields as tables in Markdown instead", NULL),
        G_OPTION_ENTRY_NULL,
    };

    if (!cli_parse(
            &argc, &argv, entries, "[scenario|sweep]",
            "Print the JSON Schema of scenario or sweep files, so that editors can complete and "
            "check them.",
            NULL))
        return EXIT_BAD_INPUT;
    unsigned kind = 0;
    while (argc == 2 && kind < G_N_ELEMENTS(kinds) && strcmp(argv[1], kinds[kind].name) != 0)
        kind++;
    if (argc > 2 || kind == G_N_ELEMENTS(kinds))
        return cli_bad_input("schema: %s (scenario or sweep)",
                             argc > 2 ? "more than one kind given"
                                      : "there is no such kind of file");
    if (is_reference) {
        g_autofree char *reference = kinds[kind].reference();
        fputs(reference, stdout);
        return EXIT_DONE;
    }
    json_auto_t *schema = kinds[kind].schema();
    cli_print_json(schema);
    return EXIT_DONE;
}
