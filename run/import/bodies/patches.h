/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <jansson.h>

/* Merge patches that have the effect of a recorded request. */

/* What the object has now where @patch, a merge patch or a strategic one, changed it. Lists are
 * taken as a whole, and so are not merged by their keys. @now: NULL: the member is gone. Returns:
 * (owned) */
json_t *patch_merged(const json_t *patch, const json_t *now);
/* The same of a JSON patch. Returns: (owned) */
json_t *patch_of_operations(const json_t *operations, const json_t *now);
/* Adds to @patch the removal of keys that @before had and that are gone after an update. */
void patch_add_removed(json_t *patch, const json_t *before, const json_t *now);
/* A merge patch that makes @after of @before. Returns: (owned): NULL: they are equal */
json_t *patch_difference(const json_t *before, const json_t *after);
