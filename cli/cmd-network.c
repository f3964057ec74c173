/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <errno.h>
#include <unistd.h>

#include "cli/common/cli.h"
#include "commands.h"

/* The libraries for HTTP and gRPC are some sixty, and loading them takes two thirds of the start of
 * a program. So the commands that need them are a second program, and this process becomes that. */
int
cmd_network(int argc, char **argv)
{
    g_autofree char *folder = cli_programs_dir();
    g_autofree char *path = g_build_filename(folder, "kvolsim-network", NULL);
    g_autofree char **words = g_new0(char *, argc + 2);
    char name[] = "kvolsim";

    words[0] = name;
    for (int i = 0; i < argc; i++)
        words[i + 1] = argv[i];
    execv(path, words);
    cli_error("%s: %s (reinstall kvolsim)", path, g_strerror(errno));
    return EXIT_ERROR;
}
