/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "rows.h"

#include <stdio.h>

/* All rows of a result file as text, for scripts to compare: print-rows FILE */
int
main(int argc, char **argv)
{
    if (argc != 2)
        return 2;
    g_autofree char *rows = all_rows(argv[1]);
    fputs(rows, stdout);
    return 0;
}
