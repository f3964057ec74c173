/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>

/* Aligns columns as Go's text/tabwriter does with blanks: text is written with a tab after each
 * cell; a column is as wide as the widest of the cells above each other, and ends at a line that
 * has none there. The last cell of a line has no tab and belongs to no column. Widths count
 * characters. */
typedef struct TabWriter TabWriter;

/* With the widths and blanks of the tables of `kubectl get`, and of `kubectl describe`. (owned) */
TabWriter *tab_writer_new_table(void);
TabWriter *tab_writer_new_description(void);
void tab_writer_free(TabWriter *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(TabWriter, tab_writer_free)

/* The text to be aligned, to append to. (borrowed) */
GString *tab_writer_text(TabWriter *self);
/* Writes what was gathered to @out; columns begin anew after it. */
void tab_writer_flush(TabWriter *self, GString *out);
