/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <stdint.h>

/* Orders for qsort(), g_ptr_array_sort() and the like; texts: strings_compare(). Several keys are a
 * chain, in which a later key counts where the earlier ones are equal:
 * `return ORDER(a->at, b->at) ?: ORDER(a->number, b->number);` */

/* Returns: below 0, 0 or above 0, as @a is less than @b, equal or greater; evaluates both twice */
#define ORDER(a, b) (((a) > (b)) - ((a) < (b)))

/* Compares two elements of an array of SimTime. */
static inline int
times_compare(const void *a, const void *b)
{
    return ORDER(*(const int64_t *)a, *(const int64_t *)b);
}
