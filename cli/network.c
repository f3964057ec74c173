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
        const char *why_not;
    } commands[] = {
        {"calibrate",  OF_LOOP(cmd_calibrate)},
        {"completion", cmd_completion        },
        {"csi",        OF_CSI(cmd_csi)       },
        {"loop",       OF_LOOP(cmd_loop)     },
        {"replay",     OF_IMPORT(cmd_replay) },
        {"report",     cmd_report            },
        {"serve",      OF_SERVE(cmd_serve)   },
        {"step",       OF_TEACH(cmd_step)    },
        {"teach",      OF_TEACH(cmd_teach)   },
        {"validate",   OF_LOOP(cmd_validate) },
    };

    cli_begin(argc, argv);
    for (unsigned i = 0; argc > 1 && i < G_N_ELEMENTS(commands); i++)
        if (strcmp(argv[1], commands[i].name) == 0 && commands[i].run != NULL)
            return cli_end(commands[i].run(argc - 1, argv + 1));
    cli_error("this program is started by kvolsim alone (see kvolsim --help)");
    return EXIT_BAD_INPUT;
}
