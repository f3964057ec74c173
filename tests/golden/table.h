/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "moments.h"

/* A row of the table in docs/fidelity.md: the medians of the stages of one recording. */
typedef struct Table Table;

Table *table_new(void);
void table_free(Table *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Table, table_free)
/* The recorded run that the next simulated runs repeat. @recorded: borrowed until the next one. */
void table_add_recorded(Table *self, const Moments *recorded);
void table_add_simulated(Table *self, const Moments *simulated);
/* In Markdown, to standard output. */
void table_print_head(void);
void table_print_row(const Table *self, const char *name, unsigned n_compared, unsigned n_missed);
