/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>

/* Files of strangers: a scenario may name any path, and a name on the command line may be a
 * mistake. Errors are %G_FILE_ERROR, with the path. */

#define INPUT_BYTES_MAX ((gsize)1 << 30) /* of one file in memory */

/* Opens for reading. Refuses folders and devices except /dev/null; pipes pass. @path:
 * "-" is the standard input. Returns: a descriptor; -1 with @error */
int input_open(const char *path, GError **error);

/* The same as g_file_get_contents(), for files that input_open() opens. More than INPUT_BYTES_MAX
 * is an error. */
gboolean input_get_contents(const char *path, char **contents, gsize *length, GError **error);

/* Whether @path is below @folder ("": the present one), without links that lead out. A file that is
 * not there is judged by its name: nobody learns which files exist elsewhere. */
gboolean input_is_below(const char *path, const char *folder);
/* Where the scenario @name of a file in @folder is: there, or, as on the command line, among those
 * that came with the program, in @data_dir (%NULL: unknown). Returns: (owned): a path that may be
 * outside of both: ask input_is_below() */
char *input_scenario_path(const char *folder, const char *data_dir, const char *name);
/* Returns: %FALSE with @error: @path is there and no regular file */
gboolean input_check_regular(const char *path, GError **error);
