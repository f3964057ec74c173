/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>
#include <jansson.h>

/* Prints values as YAML for people: what fits into a line stands in one, and a member of a mapping
 * may have a comment above it, which is the member "# name" of the same mapping: a text of one or
 * several lines. "#" is the comment above the mapping itself, if it is an item of a list. */

/* @value: a mapping. @indent: columns before each line. Appends to @text */
void yaml_print_members(GString *text, const json_t *value, unsigned indent);
