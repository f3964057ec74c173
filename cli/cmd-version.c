/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <stdio.h>

#include "cli/common/cli.h"
#include "commands.h"
#include "run/results/results.h"

int
cmd_version(int argc, char **argv)
{
    const GOptionEntry entries[] = {
        G_OPTION_ENTRY_NULL,
    };

    if (!cli_parse(&argc, &argv, entries, NULL, "Print the version.", NULL))
        return EXIT_BAD_INPUT;
    printf("kvolsim %s\n", results_version());
    return EXIT_DONE;
}
