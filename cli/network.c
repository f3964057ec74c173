/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cli/common/cli.h"
#include "commands.h"

/* kvolsim-network: the commands that kvolsim leaves to it, see main.c. */
int
main(int argc, char **argv)
{
    static const struct {
        const char *name;
        int (*run)(int argc, char **argv);
    } commands[] = {
        {"calibrate",  cmd_calibrate },
        {"completion", cmd_completion},
        {"csi",        cmd_csi       },
        {"loop",       cmd_loop      },
        {"replay",     cmd_replay    },
        {"report",     cmd_report    },
        {"serve",      cmd_serve     },
        {"step",       cmd_step      },
        {"teach",      cmd_teach     },
        {"validate",   cmd_validate  },
    };

    cli_begin(argc, argv);
    for (unsigned i = 0; argc > 1 && i < G_N_ELEMENTS(commands); i++)
        if (strcmp(argv[1], commands[i].name) == 0)
            return cli_end(commands[i].run(argc - 1, argv + 1));
    cli_error("this program is started by kvolsim alone (see kvolsim --help)");
    return EXIT_BAD_INPUT;
}
