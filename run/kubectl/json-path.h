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
    JSON_PATH_ERROR_NOT_FOUND, /* what it asks for is not of the kind it takes it for */
} JsonPathError;

/* Returns: (owned) */
JsonPath *json_path_parse(const char *text, GError **error);
/* As --sort-by and custom-columns take it: "metadata.name", ".metadata.name", "{.metadata.name}".
 */
JsonPath *json_path_parse_relaxed(const char *text, GError **error);
void json_path_free(JsonPath *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(JsonPath, json_path_free)

/**
 * json_path_find:
 * Members that are missing give no result.
 * Returns: (owned): a GPtrArray for each part of the template, of json_t: what it found; %NULL with
 * a %JSON_PATH_ERROR
 */
GPtrArray *json_path_find(const JsonPath *self, json_t *data, GError **error);
/* Appends the template with what was found in its place. */
gboolean json_path_print(const JsonPath *self, json_t *data, GString *out, GError **error);
/* The same with a list of what each part found, as JSON: jsonpath-as-json. */
gboolean json_path_print_json(const JsonPath *self, json_t *data, GString *out, GError **error);
