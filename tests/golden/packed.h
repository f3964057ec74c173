/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>
#include <jansson.h>

/* Files of recordings, plain or compressed. */

/* Returns: (owned): the text of the file @name, or of the compressed file with ".gz" or ".xz" after
 * its name; NULL with an error if there is none or it is damaged */
char *packed_text(const char *folder, const char *name, GError **error);
/* Whether the file exists, plain or compressed. */
gboolean packed_exists(const char *folder, const char *name);
/* Calls @see for each line of a file of JSON values, one a line. @containing: only for lines with
 * this text; NULL: all. Returns: FALSE with an error */
gboolean packed_lines(const char *folder,
                      const char *name,
                      const char *containing,
                      void (*see)(void *data, json_t *line),
                      void *data,
                      GError **error);
