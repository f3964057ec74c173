/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "csv.h"

#include <string.h>

/* Returns: (owned): the cells of the next line that has some; NULL: there is none */
static char **
next_cells(CsvReader *self)
{
    while (self->lines[self->line] != NULL) {
        const char *line = g_strstrip(self->lines[self->line++]);
        if (line[0] == '\0' || line[0] == '#')
            continue;
        char **cells = g_strsplit(line, ",", -1);
        for (unsigned i = 0; cells[i] != NULL; i++)
            g_strstrip(cells[i]);
        return cells;
    }
    return NULL;
}

CsvReader *
csv_reader_new(const char *text)
{
    CsvReader *self = g_new0(CsvReader, 1);

    self->lines = g_strsplit(text, "\n", -1);
    self->names = next_cells(self);
    return self;
}

void
csv_reader_free(CsvReader *self)
{
    if (self == NULL)
        return;
    g_strfreev(self->lines);
    g_strfreev(self->names);
    g_strfreev(self->cells);
    g_free(self);
}

gboolean
csv_reader_next(CsvReader *self)
{
    g_strfreev(self->cells);
    self->cells = next_cells(self);
    return self->cells != NULL;
}

gboolean
csv_reader_has(const CsvReader *self, const char *column)
{
    return self->names != NULL && g_strv_contains((const char *const *)self->names, column);
}

const char *
csv_reader_cell(const CsvReader *self, const char *column)
{
    for (unsigned i = 0; self->names[i] != NULL && self->cells[i] != NULL; i++)
        if (strcmp(self->names[i], column) == 0)
            return self->cells[i];
    return "";
}
