/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <stdio.h>
#include <stdlib.h>

#include "cli.h"
#include "run/scenario.h"

int
cmd_schema(int argc, char **argv)
{
    gboolean is_reference = FALSE;
    const GOptionEntry entries[] = {
        {"reference", 0, 0, G_OPTION_ARG_NONE, &is_reference,
         "Print the fields as tables in Markdown instead", NULL},
        G_OPTION_ENTRY_NULL,
    };

    if (!cli_parse(
            &argc, &argv, entries, NULL,
            "Print the JSON Schema of scenario files, so that editors can complete and check them.",
            NULL))
        return EXIT_BAD_INPUT;
    if (is_reference) {
        g_autofree char *reference = scenario_reference();
        fputs(reference, stdout);
        return EXIT_DONE;
    }
    json_t *schema = scenario_schema();
    char *text = json_dumps(schema, JSON_INDENT(2));
    puts(text);
    free(text);
    json_decref(schema);
    return EXIT_DONE;
}
