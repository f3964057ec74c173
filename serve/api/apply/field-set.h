/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>
#include <jansson.h>

/* Sets of fields in the form of FieldsV1 (metadata.managedFields[].fieldsV1): a tree of JSON
 * objects whose keys are steps: "f:NAME" a member, "k:{...}" the item with these keys, "v:VALUE"
 * the item with this value. A field is in the set if its object is empty or has the key ".".
 * fieldpath/set.go of structured-merge-diff. The root has no ".", and no object below is empty
 * without being a field. */

typedef enum { FIELD_SET_UNION, FIELD_SET_DIFFERENCE, FIELD_SET_INTERSECTION } FieldSetOperation;

/* Returns: (owned) */
json_t *field_set_combine(const json_t *a, const json_t *b, FieldSetOperation operation);
/* Returns: (owned): @set without the fields of @without and all below them */
json_t *field_set_exclude(const json_t *set, const json_t *without);
/* Adds the field with these steps (of char *); no steps: nothing. */
void field_set_insert(json_t *set, const GPtrArray *steps);
gboolean field_set_is_empty(const json_t *set);
/* Whether the set has the field at @step, right below. */
gboolean field_set_has(const json_t *set, const char *step);
/* Returns: (borrowed): the set below @step; NULL: empty. It may contain "." */
const json_t *field_set_below(const json_t *set, const char *step);
/* Returns: (owned): NULL: @fields is not in this form. Keys of items are in order then */
json_t *field_set_read(const json_t *fields);
/* Returns: (owned): a step as messages show it: ".image", "[name=\"a\"]" */
char *field_step_text(const char *step);
/* Calls @visit for each field: its path as conflicts show it, ".spec.containers[name=\"a\"].image".
 */
void field_set_walk(const json_t *set, void (*visit)(const char *path, void *data), void *data);
