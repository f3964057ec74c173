/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>
#include <jansson.h>

/* What kubectl's strategic merge patches make of an object: items of lists are merged by the key
 * that the API names for the list ("patchMergeKey" in its types.go); other lists are replaced.
 * Returns: (owned): the changed copy of @object */
json_t *strategic_merge(const json_t *object, const json_t *patch);
