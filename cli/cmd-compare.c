/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <stdio.h>

#include "cli/common/cli.h"
#include "cli/common/paint.h"
#include "commands.h"
#include "run/results/compare.h"
#include "run/scenario/scenario.h"

static ExitCode
cmd_compare_compare(char **folders, gboolean is_json)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(Comparison) comparison = comparison_new((const char *const *)folders, &error);

    if (comparison == NULL)
        return cli_bad_input("compare: %s", error->message);
    if (is_json) {
        json_auto_t *json = comparison_json(comparison);
        cli_print_json(json);
    } else {
        g_autofree char *text = comparison_table(comparison);
        paint_print(stdout, text);
    }
    return EXIT_DONE;
}

#ifdef WITH_TEACH

#include "run/teach/releases.h"

/* "1.22,1.28" */
static gboolean
read_releases(const char *text, int minors[2])
{
    g_auto(GStrv) parts = g_strsplit(text, ",", -1);

    if (g_strv_length(parts) == 2 && scenario_parse_version(parts[0], &minors[0]) &&
        scenario_parse_version(parts[1], &minors[1]))
        return TRUE;
    cli_error("compare: --releases: \"%s\" is not two versions, each " SCENARIO_VERSIONS, text);
    return FALSE;
}

static ExitCode
compare_releases(const char *file, const char *releases, char *const *set, gboolean is_json)
{
    g_autofree char *data_dir = cli_data_dir();
    g_autoptr(GPtrArray) faults = NULL;
    g_autoptr(GError) error = NULL;
    int minors[2];

    if (!read_releases(releases, minors))
        return EXIT_BAD_INPUT;
    g_autoptr(ReleaseComparison) comparison =
        release_comparison_new(file, data_dir, minors, (const char *const *)set, &faults, &error);
    if (comparison == NULL && error != NULL)
        return cli_bad_input("compare: %s: %s", file, error->message);
    if (comparison == NULL) {
        cli_print_faults(faults);
        return EXIT_BAD_INPUT;
    }
    if (is_json) {
        json_auto_t *json = release_comparison_json(comparison);
        cli_print_json(json);
    } else {
        g_autofree char *text = release_comparison_text(comparison);
        paint_print(stdout, text);
    }
    return EXIT_DONE;
}

#else

static ExitCode
compare_releases(const char *file, const char *releases, char *const *set, gboolean is_json)
{
    (void)file, (void)releases, (void)set, (void)is_json;
    cli_error("compare: --releases: this program was built without it: --without-teach");
    return EXIT_NOT_PERMITTED;
}

#endif

int
cmd_compare(int argc, char **argv)
{
    g_autofree char *format = NULL, *releases = NULL;
    g_auto(GStrv) set = NULL;
    gboolean is_json;
    const GOptionEntry entries[] = {
        CLI_FORMAT_OPTION(&format),
        {"releases", 0, 0, G_OPTION_ARG_STRING,       &releases,
                   "Run one scenario under two releases of Kubernetes, e.g. 1.22,1.28", "A,B"       },
        {"set",      0, 0, G_OPTION_ARG_STRING_ARRAY, &set,
                   "With --releases: change a value of the scenario",                   "PATH=VALUE"},
        G_OPTION_ENTRY_NULL,
    };

    if (!cli_parse(
            &argc, &argv, entries, "RUN RUN… | --releases=A,B SCENARIO",
            "Show runs side by side: --out folders of kvolsim run; the first, A, is the base. "
            "Or run a scenario "
            "under two releases of Kubernetes, and tell what changed and by which rows of "
            "docs/rules/releases.md.",
            "Objects are paired by name. With the same seed both draw the same random numbers, so "
            "their difference comes from the scenarios alone.") ||
        !cli_parse_format("compare", format, &is_json))
        return EXIT_BAD_INPUT;
    if (releases != NULL)
        return cli_has_one("compare", argc, "scenario")
                   ? (int)compare_releases(argv[1], releases, set, is_json)
                   : EXIT_BAD_INPUT;
    if (argc < 3 || argc > COMPARISON_MAX + 1)
        return cli_bad_usage("compare", "give the folders of two runs or more, 26 at most");
    return cmd_compare_compare(argv + 1, is_json);
}
