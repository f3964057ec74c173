/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>

/* All rows of all tables of a result file as text, in the order of their keys, and with what the
 * file says of itself. (owned) */
char *all_rows(const char *file);
/* A new folder for a test's files. (owned) */
char *scratch_folder(void);
/* With all files in it, which has no folders. */
void scratch_remove(const char *folder);
/* "tests/run/study/small.yaml" in the source tree. (owned) */
char *source_file(const char *path);
