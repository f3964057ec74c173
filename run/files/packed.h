/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>

/* Reads files that may be packed with gzip, xz or zstd: the contents tell, not the name. The whole
 * file is never in memory. */
typedef struct PackedFile PackedFile;

/**
 * packed_file_open:
 * @path: may be a pipe
 * @error: %G_FILE_ERROR, with the path
 * Returns: (owned)
 */
PackedFile *packed_file_open(const char *path, GError **error);
void packed_file_free(PackedFile *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(PackedFile, packed_file_free)

/**
 * packed_file_next:
 * @data: (out) (borrowed): the next bytes, until the next call
 * @error: %G_FILE_ERROR, with the path: it cannot be read, or is damaged or cut off
 * Returns: their number, at least 1; 0 at the end; -1 with @error
 */
gssize packed_file_next(PackedFile *self, const char **data, GError **error);

/* The same as input_get_contents(). A packed file of more than
 * INPUT_BYTES_MAX is an error. */
gboolean packed_get_contents(const char *path, char **contents, gsize *length, GError **error);
/* Packs @text with xz, at level 1: half the time of level 3, a tenth more bytes. (owned) */
GBytes *packed_xz(const char *text, gsize length, GError **error);
