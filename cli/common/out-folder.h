/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "cli.h"

/* The --out folder of a run. Results are written into a folder beside it, and moved into it at the
 * end, file by file. So an interrupted run leaves nothing behind, and an earlier run's results stay
 * until the new ones are complete. */
typedef struct OutFolder OutFolder;

/* Returns: (owned): %NULL with the fault printed */
OutFolder *out_folder_new(const char *path);
/* Unless it is finished, removes all that was written. */
void out_folder_free(OutFolder *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(OutFolder, out_folder_free)

/* Where to write until the end. (borrowed) */
const char *out_folder_partial(const OutFolder *self);
/* The folder of one of @n replications, which exists then. Returns: (owned): %NULL with the fault
 * printed */
char *out_folder_of_replication(const OutFolder *self, unsigned replication, unsigned n);
/* Everything is written: replaces the results of an earlier run. To be called once. */
ExitCode out_folder_finish(OutFolder *self);
