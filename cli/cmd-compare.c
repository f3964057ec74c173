/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <stdio.h>

#include "cli/common/cli.h"
#include "commands.h"
#include "run/results/compare.h"

static ExitCode
compare(const char *one, const char *other, gboolean is_json)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(Comparison) comparison = comparison_new(one, other, &error);

    if (comparison == NULL)
        return cli_bad_input("compare: %s", error->message);
    if (is_json) {
        json_auto_t *json = comparison_json(comparison);
        cli_print_json(json);
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
    gboolean is_json;
    const GOptionEntry entries[] = {
        CLI_FORMAT_OPTION(&format),
        G_OPTION_ENTRY_NULL,
    };

    if (!cli_parse(
            &argc, &argv, entries, "RUN RUN",
            "Show two runs side by side: A and B are --out folders of kvolsim run.",
            "Objects are paired by name. With the same seed both draw the same random numbers, so "
            "their difference comes from the scenarios alone.") ||
        !cli_parse_format("compare", format, &is_json))
        return EXIT_BAD_INPUT;
    if (argc != 3)
        return cli_bad_usage("compare", "give the folders of two runs");
    return compare(argv[1], argv[2], is_json);
}
