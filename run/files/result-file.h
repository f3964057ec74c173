/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>

/* A result file while it is written, so that none is in memory as a whole: rows are appended to its
 * text, and what has gathered there is passed on to a temporary file beside it, which gets the
 * file's name at the end. A file to which nothing was appended is not made. */
typedef struct {
    GString *text; /* rows are appended here, and result_file_end_row() called after each */
    char *path;
    char *temporary; /* NULL: nothing was passed on yet */
    int fd;          /* of the temporary; -1: not open */
    GError *error;   /* the first fault: nothing is written any more. NULL: none */
    /* Asked whenever something is passed on: FALSE breaks it off, %G_FILE_ERROR_INTR. NULL: it
     * always goes on */
    gboolean (*go_on)(void *data);
    void *go_on_data;
    /* The row writer's, see rows.h: */
    gboolean goes_on; /* something stands before in this row, list or mapping */
    unsigned depth;   /* open brackets */
    unsigned indent;  /* columns for each of them; 0: rows of JSON have no line breaks */
} ResultFile;

#define RESULT_FILE_GATHERED (256 * 1024) /* bytes that are passed on at once */

/* @folder exists, or the first write says that it does not. Returns: (owned) */
ResultFile *result_file_new(const char *folder, const char *name);
/* What was not finished goes. */
void result_file_free(ResultFile *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(ResultFile, result_file_free)

/* Empties the text onto the disk, at any place. A fault is kept for result_file_finish(). */
void result_file_pass_on(ResultFile *self);

/* Rows may be of any length; the longer they are, the more is in memory. */
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

/* A file whose contents are at hand. */
gboolean
result_file_write(const char *folder, const char *name, const char *contents, GError **error);
