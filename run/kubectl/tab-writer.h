/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>

/* Aligns columns with blanks as Go's text/tabwriter does. A tab ends a cell. A column is as wide as
 * its widest cell, and ends at a line without a cell there. The last cell of a line has no tab and
 * belongs to no column. Widths count characters. */
typedef struct TabWriter TabWriter;

/* Writers with the widths of `kubectl get`, and of `kubectl describe`. (owned) */
TabWriter *tab_writer_new_table(void);
TabWriter *tab_writer_new_description(void);
void tab_writer_free(TabWriter *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(TabWriter, tab_writer_free)

/* Returns: (borrowed): the text to append to */
GString *tab_writer_text(TabWriter *self);
/* Appends the aligned text to @out and forgets it. */
void tab_writer_flush(TabWriter *self, GString *out);
