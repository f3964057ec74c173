/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>

/* Named curves of one run: the instants, in seconds, of the first, second, ... occurrence. */
typedef struct Curves Curves;

Curves *curves_new(void);
void curves_free(Curves *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Curves, curves_free)

/* In any order. */
void curves_add(Curves *self, const char *name, double at);
/* Returns: (owned): the names (borrowed), sorted */
GPtrArray *curves_names(const Curves *self);
/* Returns: (borrowed): @n instants in order, valid until the next curves_add(); NULL if there are
 * none */
const double *curves_find(const Curves *self, const char *name, unsigned *n);
