/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "value.h"

/* kubectl's JSONPath templates: text with {.items[*].metadata.name}, {range .items[*]}...{end},
 * {.a[?(@.b=="c")]}, {..name},
 * {.a[0:2]}, {.a['x','y']}, {"\n"}. */
typedef struct JsonPath JsonPath;

#define JSON_PATH_ERROR (json_path_error_quark())
GQuark json_path_error_quark(void);
typedef enum {
    JSON_PATH_ERROR_INVALID,   /* the template */
    JSON_PATH_ERROR_NOT_FOUND, /* a value is of another type than the template expects */
} JsonPathError;

/* Returns: (owned) */
JsonPath *json_path_parse(const char *text, GError **error);
/* The form of --sort-by and custom-columns: "metadata.name", ".metadata.name", "{.metadata.name}".
 */
JsonPath *json_path_parse_relaxed(const char *text, GError **error);
void json_path_free(JsonPath *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(JsonPath, json_path_free)

/**
 * json_path_find:
 * Missing members give no result.
 * Returns: (owned): for each part of the template a GPtrArray of the values (json_t) that it found;
 * %NULL with a %JSON_PATH_ERROR
 */
GPtrArray *json_path_find(const JsonPath *self, json_t *data, GError **error);
/* Appends the template, with the values in place of its actions. */
gboolean json_path_print(const JsonPath *self, json_t *data, GString *out, GError **error);
/* Appends a JSON list of the values of each part: jsonpath-as-json. */
gboolean json_path_print_json(const JsonPath *self, json_t *data, GString *out, GError **error);
