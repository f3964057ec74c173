/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "field-set.h"
#include "models/api/schema/schema.h"

/* Values of a type as server-side apply sees them: a struct or map has members, a list with keys or
 * a set has items; all else is one value. typed/ of structured-merge-diff. A type may be NULL: then
 * maps have members and lists are one value. */

/* Returns: (owned): the fields of @value */
json_t *typed_field_set(const json_t *value, const SchemaType *type);

typedef struct {
    json_t *added, *modified, *removed; /* sets of fields, owned */
} TypedComparison;
/* Compares two versions of an object. Members that a struct of Go always has count as there. */
void comparison_init(TypedComparison *self,
                     const json_t *before,
                     const json_t *after,
                     const SchemaType *type);
void comparison_clear(TypedComparison *self);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(TypedComparison, comparison_clear)

/* Returns: (owned): @live with all that @applied has; items keep their places where they can */
json_t *typed_merge(const json_t *live, const json_t *applied, const SchemaType *type);
/* Returns: (owned): @value without the fields in @set; NULL: nothing is left */
json_t *typed_remove(const json_t *value, const json_t *set, const SchemaType *type);
/* Returns: (owned): @set with the members of structs above its fields */
json_t *typed_with_named(const json_t *set, const SchemaType *type);
/* Adds the faults (owned texts) of an object that is applied: ".spec.x: field not declared in
 * schema" */
void typed_check(const json_t *value, const SchemaType *type, GPtrArray *faults);
