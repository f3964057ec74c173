/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>

/* Reads rows of CSV by the names of their columns. Cells have no quotes; blanks around them do not
 * count. Blank lines and lines that begin with # are skipped; the first other line has the names.
 */
typedef struct {
    char **lines;
    char **names; /* NULL: there are no rows */
    char **cells; /* of the present row */
    unsigned
        line; /* the line of the present row, from 1; before the first row: the line of the names */
} CsvReader;

CsvReader *csv_reader_new(const char *text);
void csv_reader_free(CsvReader *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(CsvReader, csv_reader_free)
/* The next row becomes the present one. Returns: FALSE: there is none */
gboolean csv_reader_next(CsvReader *self);
gboolean csv_reader_has(const CsvReader *self, const char *column);
/* Of the present row. Returns: (borrowed): "" if there is none */
const char *csv_reader_cell(const CsvReader *self, const char *column);
