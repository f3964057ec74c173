/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>

/* A result file while it is written. Rows are appended to its text; full buffers go to a temporary
 * file beside it, which gets the file's name at the end, so the whole file is never in memory. A
 * file without contents is not made. */
typedef struct {
    GString *text; /* rows are appended here, and result_file_end_row() called after each */
    char *path;
    char *temporary; /* NULL: nothing was written yet */
    int fd;          /* of the temporary; -1: not open */
    GError *error;   /* the first fault, after which nothing more is written; NULL: none */
    /* Called before each write: FALSE stops it with %G_FILE_ERROR_INTR. NULL: never stopped */
    gboolean (*go_on)(void *data);
    void *go_on_data;
    /* State of the row writer, see rows.h: */
    gboolean goes_on; /* a value stands before in this row, list or mapping */
    unsigned depth;   /* open brackets */
    unsigned indent;  /* columns for each of them; 0: rows of JSON have no line breaks */
} ResultFile;

#define RESULT_FILE_GATHERED (256 * 1024) /* bytes of one write */

/* @folder must exist; otherwise the first write fails. Returns: (owned) */
ResultFile *result_file_new(const char *folder, const char *name);
/* All text stays in its text, and is never written: do not finish it. Returns: (owned) */
ResultFile *result_file_new_in_memory(void);
/* Deletes the temporary file of an unfinished result file. */
void result_file_free(ResultFile *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(ResultFile, result_file_free)

/* Writes the text to the disk and empties it. result_file_finish() reports a fault. */
void result_file_pass_on(ResultFile *self);

/* Rows may have any length; a long row needs as much memory. */
static inline void
result_file_end_row(ResultFile *self)
{
    if (self->text->len >= RESULT_FILE_GATHERED)
        result_file_pass_on(self);
}

/**
 * result_file_finish:
 * The file is there, whole, in place of an earlier one of its name. To be called once, last.
 * @error: %G_FILE_ERROR with the file's name: of the first of all writes that failed
 * Returns: FALSE: no trace of it is left, and an earlier file of its name is as it was
 */
gboolean result_file_finish(ResultFile *self, GError **error);

/* Writes a file from a string. */
gboolean
result_file_write(const char *folder, const char *name, const char *contents, GError **error);
