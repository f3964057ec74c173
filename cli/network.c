/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <string.h>

#include "cli/common/cli.h"
#include "commands.h"

/* The program of the commands that speak HTTP or gRPC. kvolsim starts it (cmd-network.c) with its
 * own arguments. */

static const struct {
    const char *name;
    int (*run)(int argc, char **argv);
} commands[] = {
    {"csi",      cmd_csi     },
    {"serve",    cmd_serve   },
    {"teach",    cmd_teach   },
    {"validate", cmd_validate},
};

int
main(int argc, char **argv)
{
    cli_begin(argc, argv);
    for (unsigned i = 0; argc > 1 && i < G_N_ELEMENTS(commands); i++)
        if (strcmp(argv[1], commands[i].name) == 0)
            return cli_end(commands[i].run(argc - 1, argv + 1));
    return cli_bad_input("this program is a part of kvolsim: call kvolsim");
}
