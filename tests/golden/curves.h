/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>

/* Named curves of one run: the instants, in seconds, at which something happened for the first,
 * second, ... time. */
typedef struct Curves Curves;

Curves *curves_new(void);
void curves_free(Curves *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Curves, curves_free)

/* In any order. */
void curves_add(Curves *self, const char *name, double at);
/* Names, sorted. (owned): of borrowed strings */
GPtrArray *curves_names(const Curves *self);
/* The instants in order of time, @n of them; NULL: none. (borrowed): until the next curves_add() */
const double *curves_find(const Curves *self, const char *name, unsigned *n);
