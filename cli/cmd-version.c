/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include <stdio.h>

#include "cli/common/cli.h"
#include "commands.h"
#include "run/results/results.h"

#ifdef WITH_SERVE
#define HAS_SERVE "yes"
#else
#define HAS_SERVE "no"
#endif
#ifdef WITH_CSI
#define HAS_CSI "yes"
#else
#define HAS_CSI "no"
#endif

int
cmd_version(int argc, char **argv)
{
    gboolean build = FALSE;
    const GOptionEntry entries[] = {
        CLI_OPTION("build", NONE, &build, "Add the compiler, its options and the libraries", NULL),
        G_OPTION_ENTRY_NULL,
    };

    if (!cli_parse(&argc, &argv, entries, NULL, "Print the version.", NULL))
        return EXIT_BAD_INPUT;
    if (argc > 1)
        return cli_bad_usage("version", "takes no argument");
    printf("kvolsim %s\n", results_version());
    if (build)
        printf("compiler:   %s\noptions:    %s\nlibraries:  %s\nserve:      %s\ncsi:        %s\n",
               BUILD_COMPILER, BUILD_OPTIONS, BUILD_LIBRARIES, HAS_SERVE, HAS_CSI);
    if (build && LEFT_OUT[0] != '\0')
        printf("left out:  %s\n", LEFT_OUT);
    return EXIT_DONE;
}
