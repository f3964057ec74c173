/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <archive.h>
#include <archive_entry.h>
#include <glib.h>

/* libarchive, loaded when the first packed file is read or written, and never unloaded. With the
 * libraries that it brings (libxml2, ICU, C++) it doubles the instructions until main(), and most
 * runs meet no packed file. The program is not linked with it. */

/* All functions that we call. */
#define LIBARCHIVE_FUNCTIONS(X)                                                                    \
    X(archive_entry_filetype)                                                                      \
    X(archive_entry_free)                                                                          \
    X(archive_entry_mtime)                                                                         \
    X(archive_entry_new)                                                                           \
    X(archive_entry_pathname)                                                                      \
    X(archive_entry_set_filetype)                                                                  \
    X(archive_errno)                                                                               \
    X(archive_error_string)                                                                        \
    X(archive_format)                                                                              \
    X(archive_read_data)                                                                           \
    X(archive_read_data_block)                                                                     \
    X(archive_read_free)                                                                           \
    X(archive_read_new)                                                                            \
    X(archive_read_next_header)                                                                    \
    X(archive_read_open_fd)                                                                        \
    X(archive_read_open_filename)                                                                  \
    X(archive_read_support_filter_gzip)                                                            \
    X(archive_read_support_filter_xz)                                                              \
    X(archive_read_support_filter_zstd)                                                            \
    X(archive_read_support_format_empty)                                                           \
    X(archive_read_support_format_raw)                                                             \
    X(archive_read_support_format_tar)                                                             \
    X(archive_set_error)                                                                           \
    X(archive_write_add_filter_xz)                                                                 \
    X(archive_write_close)                                                                         \
    X(archive_write_data)                                                                          \
    X(archive_write_free)                                                                          \
    X(archive_write_header)                                                                        \
    X(archive_write_new)                                                                           \
    X(archive_write_open)                                                                          \
    X(archive_write_set_bytes_in_last_block)                                                       \
    X(archive_write_set_format_raw)                                                                \
    X(archive_write_set_options)

typedef struct {
#define LIBARCHIVE_FIELD(name) __typeof__(name) *name;
    LIBARCHIVE_FUNCTIONS(LIBARCHIVE_FIELD)
#undef LIBARCHIVE_FIELD
} Libarchive;

/**
 * libarchive_load:
 * @self: (out)
 * @path: the packed file, for the error
 * @error: %G_FILE_ERROR: this machine has no libarchive
 */
gboolean libarchive_load(Libarchive *self, const char *path, GError **error);
