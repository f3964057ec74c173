/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <stdio.h>

#include "cli.h"
#include "run/results.h"

int
cmd_version(int argc, char **argv)
{
    (void)argc, (void)argv;
    printf("kvolsim %s\n", results_version());
    return EXIT_DONE;
}
