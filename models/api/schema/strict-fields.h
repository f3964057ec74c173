/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "schema.h"

/* fieldValidation=Strict and Warn: fields that the type does not have, and fields given twice. */

/**
 * strict_unknown_fields:
 * @type: of @object; %NULL: nothing is unknown
 * @faults: texts are added in the order of @object: "unknown field \"spec.volumes[0].nmae\"".
 */
void strict_unknown_fields(const SchemaType *type, const json_t *object, GPtrArray *faults);
/**
 * strict_duplicate_fields:
 * @text: JSON; nothing is added if it is none
 * @faults: texts are added: "duplicate field \"spec.replicas\""
 */
void strict_duplicate_fields(const char *text, gsize length, GPtrArray *faults);
/* Returns: (owned): a copy of @object without the fields that @type does not have: what the API
 * server stores of it */
json_t *strict_known_fields(const SchemaType *type, const json_t *object);
/* Returns: (owned): what fieldValidation=Strict answers (400): "strict decoding error: unknown
 * field
 * \"spec.x\", duplicate field \"spec.y\"". For Warn each fault is a Warning header of its own. */
char *strict_error(const GPtrArray *faults);
