/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "models/api/checks/checks-private.h"

/* What only tests may call from outside of its file. */

/* Returns: a walk that is at the whole of @object; release its member nothing */
Check check_begin(ApiParser *parser, const json_t *object);
/* All of a struct: constraints of its fields, unions and rules. @old: (nullable): what it replaces;
 * @depth: 0: the whole, whose status and metadata are left out */
void check_struct(
    Check *check, const SchemaType *type, const json_t *object, const json_t *old, unsigned depth);
