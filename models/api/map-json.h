/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <jansson.h>

#include "sim/strings.h"

/* Maps of strings as JSON (field.c). */

/* Returns: (owned): the members that are strings, interned in @strings; NULL: there are none */
StringMap *map_from_json(Strings *strings, const json_t *object);
/* Returns: (owned): an object; {} for the empty map */
json_t *map_to_json(const StringMap *map);
