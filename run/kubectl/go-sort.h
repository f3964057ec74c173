/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>

/* Sorts as Go's sort.Sort(), which kubectl uses: not stable, but deterministic, so equal rows come
 * out in the same order as there. @less: whether @a stands before @b; need not be a strict order.
 */
typedef gboolean (*GoSortLess)(const void *a, const void *b, const void *data);
void go_sort(GPtrArray *items, GoSortLess less, const void *data);
