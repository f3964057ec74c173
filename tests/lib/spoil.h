/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>
#include <jansson.h>

/* Spoils input on purpose, for programs that look for crashes. The same for the same numbers. */

/* Drops a value that stands in an object or a list, or puts one of another type in its place.
 * Returns: (owned): the rest is as in @json */
json_t *spoil_json(const json_t *json, GRand *random);
/* Changes, drops, repeats or inserts some bytes, or cuts the end off. */
void spoil_text(GString *text, GRand *random);
/* Adds a JSON pointer into @value, or to something beside it. */
void spoil_append_pointer(GString *pointer, const json_t *value, GRand *random);
