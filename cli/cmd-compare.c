/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"
#include "run/results/compare.h"

static ExitCode
compare(const char *one, const char *other, gboolean as_json)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(Comparison) comparison = comparison_new(one, other, &error);

    if (comparison == NULL) {
        cli_error("compare: %s", error->message);
        return EXIT_BAD_INPUT;
    }
    if (as_json) {
        json_t *json = comparison_json(comparison);
        char *text = json_dumps(json, JSON_INDENT(2) | JSON_REAL_PRECISION(15));
        puts(text);
        free(text);
        json_decref(json);
    } else {
        g_autofree char *text = comparison_table(comparison);
        fputs(text, stdout);
    }
    return EXIT_DONE;
}

int
cmd_compare(int argc, char **argv)
{
    g_autofree char *format = NULL;
    const GOptionEntry entries[] = {
        {"format", 0, 0, G_OPTION_ARG_STRING, &format, "table (default) or json", "FORMAT"},
        G_OPTION_ENTRY_NULL,
    };

    if (!cli_parse(
            &argc, &argv, entries, "RUN RUN",
            "Two runs side by side: A and B are --out folders of kvolsim run.",
            "Objects are paired by name. With the same seed a pair has drawn the same luck, so "
            "its difference is that of the scenarios alone."))
        return EXIT_BAD_INPUT;
    gboolean as_json = g_strcmp0(format, "json") == 0;
    if (format != NULL && !as_json && strcmp(format, "table") != 0) {
        cli_error("compare: --format: \"%s\" is neither table nor json", format);
        return EXIT_BAD_INPUT;
    }
    if (argc != 3) {
        cli_error("compare: give the folders of two runs (see kvolsim compare --help)");
        return EXIT_BAD_INPUT;
    }
    return compare(argv[1], argv[2], as_json);
}
