/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "models/api/schema/schema.h"

/* The patches of the API server. No function changes its arguments; each returns a new object. The
 * code of an error is the HTTP status (400, 413, 415, 422), and its message is the Status's
 * message. */
#define PATCH_ERROR patch_error_quark()
GQuark patch_error_quark(void);

/* maxJSONPatchOperations in k8s.io/apiserver's handlers/patch.go: more are refused with 413. */
#define JSON_PATCH_OPERATIONS_MAX 10000
/* How deep a patch may put objects and lists into each other. Copies double the depth with each
 * operation, and all that read or copy an object call themselves for what is in it. */
#define JSON_PATCH_DEPTH_MAX 400

/**
 * json_patch_apply: RFC 6902
 * @operations: the body; anything but a list of operations is an error (400)
 * Returns: (owned): the changed copy; %NULL: an operation failed (422), a `test` among them, or
 * one that would make the object deeper than JSON_PATCH_DEPTH_MAX
 */
json_t *json_patch_apply(const json_t *object, const json_t *operations, GError **error);

/**
 * merge_patch_apply: RFC 7386
 * Returns: (owned): the changed copy; %NULL: @patch is no object (400)
 */
json_t *merge_patch_apply(const json_t *object, const json_t *patch, GError **error);

/* Returns: (owned): the merge patch that makes @after of @before, both objects; an empty object:
 * they are equal */
json_t *merge_patch_make(const json_t *before, const json_t *after);

/**
 * strategic_merge_apply: items of lists are merged by the keys that @type has for them, and
 * directives are obeyed ($patch, $deleteFromPrimitiveList, $setElementOrder, $retainKeys):
 * StrategicMergeMapPatch() in k8s.io/apimachinery's strategicpatch/patch.go
 * @type: of @object; a custom resource's is an error (415)
 * Returns: (owned): the changed copy; %NULL: the patch is faulty (400, 422)
 */
json_t *strategic_merge_apply(const json_t *object,
                              const json_t *patch,
                              const SchemaType *type,
                              GError **error);

/* Removes members of objects that are null: no stored object has one. */
void patch_drop_nulls(json_t *value);
