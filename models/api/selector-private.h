/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "fields.h"
#include "selector.h"

/* The parts of label selectors that node selectors use. */

/* Reads a list at @path below the current one and appends its requirements, SelectRequirement, to
 * @found. */
void
select_requirements_parse(ApiParser *parser, const json_t *array, const char *path, GArray *found);
/* Appends the requirements that have a key: those without were told as faults.
 * @items: owned values */
void select_requirements_take(const SelectRequirement *items, unsigned n, GArray *found);
/* Returns: (nullable) (owned): the requirements as a list; %NULL if there are none */
json_t *select_requirements_to_json(const LabelSelector *self);
