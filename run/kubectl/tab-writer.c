/* SPDX-License-Identifier: GPL-3.0-or-later */

#include "tab-writer.h"

struct TabWriter {
    GString *text;
    unsigned width_min, padding;
    gboolean remembers;
    GArray *widths;     /* unsigned: of the columns around the lines being laid out */
    GArray *remembered; /* unsigned: the largest width of each column so far */
    GPtrArray *lines;   /* char **: cells of each line */
};

/* @width_min: of a column, with its padding. @padding: blanks after the widest cell. @remembers:
 * columns never get narrower from one flush to the next, as in kubectl's watches */
static TabWriter *
tab_writer_new(unsigned width_min, unsigned padding, gboolean remembers)
{
    TabWriter *self = g_new0(TabWriter, 1);

    self->text = g_string_new(NULL);
    self->width_min = width_min;
    self->padding = padding;
    self->remembers = remembers;
    self->widths = g_array_new(FALSE, FALSE, sizeof(unsigned));
    self->remembered = g_array_new(FALSE, FALSE, sizeof(unsigned));
    self->lines = g_ptr_array_new_with_free_func((GDestroyNotify)g_strfreev);
    return self;
}

TabWriter *
tab_writer_new_table(void)
{
    return tab_writer_new(6, 3, TRUE);
}

TabWriter *
tab_writer_new_description(void)
{
    return tab_writer_new(0, 2, FALSE);
}

void
tab_writer_free(TabWriter *self)
{
    if (self == NULL)
        return;
    g_string_free(self->text, TRUE);
    g_array_unref(self->widths);
    g_array_unref(self->remembered);
    g_ptr_array_unref(self->lines);
    g_free(self);
}

GString *
tab_writer_text(TabWriter *self)
{
    return self->text;
}

static unsigned
n_cells(const TabWriter *self, unsigned line)
{
    return g_strv_length(self->lines->pdata[line]);
}

static unsigned
cell_width(const char *cell)
{
    return (unsigned)g_utf8_strlen(cell, -1);
}

static void
append_blanks(GString *out, unsigned n)
{
    while (n-- > 0)
        g_string_append_c(out, ' ');
}

static void
write_lines(const TabWriter *self, unsigned first, unsigned end, GString *out)
{
    for (unsigned i = first; i < end; i++) {
        char **cells = self->lines->pdata[i];

        for (unsigned j = 0; cells[j] != NULL; j++) {
            g_string_append(out, cells[j]);
            if (j < self->widths->len)
                append_blanks(out, g_array_index(self->widths, unsigned, j) - cell_width(cells[j]));
        }
        if (i + 1 < self->lines->len)
            g_string_append_c(out, '\n');
    }
}

/* Returns: the width of @column from line @first on. @end: (in, out): the first line after it */
static unsigned
column_width(TabWriter *self, unsigned column, unsigned first, unsigned *end)
{
    unsigned width = self->width_min, i;

    for (i = first; i < *end && n_cells(self, i) > column + 1; i++) {
        char **cells = self->lines->pdata[i];

        width = MAX(width, cell_width(cells[column]) + self->padding);
    }
    *end = i;
    if (!self->remembers)
        return width;

    if (self->remembered->len <= column)
        g_array_append_val(self->remembered, width);
    unsigned *widest = &g_array_index(self->remembered, unsigned, column);
    return *widest = MAX(*widest, width);
}

/* Lays out lines that share the columns of @widths, block by block of the next column. */
static void
format_lines(TabWriter *self, unsigned first, unsigned end, GString *out)
{
    unsigned column = self->widths->len, written = first;

    for (unsigned i = first; i < end; i++) {
        if (n_cells(self, i) <= column + 1)
            continue;
        write_lines(self, written, i, out);

        unsigned block_end = end;
        unsigned width = column_width(self, column, i, &block_end);
        g_array_append_val(self->widths, width);
        format_lines(self, i, block_end, out);
        g_array_set_size(self->widths, column);
        written = block_end;
        i = block_end - 1;
    }
    write_lines(self, written, end, out);
}

void
tab_writer_flush(TabWriter *self, GString *out)
{
    g_auto(GStrv) lines = g_strsplit(self->text->str, "\n", -1);

    for (unsigned i = 0; lines[i] != NULL; i++)
        g_ptr_array_add(self->lines, g_strsplit(lines[i], "\t", -1));
    format_lines(self, 0, self->lines->len, out);
    g_ptr_array_set_size(self->lines, 0);
    g_string_truncate(self->text, 0);
}
