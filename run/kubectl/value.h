/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>
#include <inttypes.h>
#include <jansson.h>

/* API objects as JSON, read as kubectl reads them: missing fields are empty. Paths join names by
 * dots: "spec.volumeName". Look up names that contain dots (labels, annotations) in their map. */

/* Returns: (borrowed): NULL if it is missing or null */
json_t *value_at(json_t *object, const char *path);
/* Returns: (borrowed): "" if it is missing or no string */
const char *value_text(json_t *object, const char *path);
int64_t value_integer(json_t *object, const char *path, int64_t missing);
gboolean value_is_true(json_t *object, const char *path);
/* Returns: the number of items of a list or members of a map */
gsize value_length(json_t *object, const char *path);
/* Returns: (owned): a map's names in byte order, ended by NULL; empty for other values */
char **value_keys(json_t *map);
/* Returns: (borrowed): the item of a list whose field @key is @text; NULL: none */
json_t *value_find(json_t *list, const char *key, const char *text);
/* Returns: (borrowed): the owner reference of an object's controller; NULL: none */
json_t *value_controller(json_t *object);
/* Whether @word is one of a list of strings. */
gboolean value_has_word(json_t *list, const char *word);

/* As Go's fmt prints a value from JSON: text as it is, [a b], map[a:1 b:2], <nil>. */
void value_append_go(GString *out, json_t *value);
/* A list of strings joined by @separator. */
void value_append_joined(GString *out, json_t *list, const char *separator);
/* A map as k=v,k=v in order of the keys, "<none>" if it is empty. */
void value_append_map(GString *out, json_t *map);
/* A quantity as the API prints it; missing: "0". */
void value_append_quantity(GString *out, json_t *quantity);

/* ns since 1970. */
typedef int64_t ValueTime;
#define VALUE_TIME_NONE INT64_MIN
/* A metav1.Time or MicroTime. Returns: %VALUE_TIME_NONE if it is missing or null */
ValueTime value_time(json_t *object, const char *path);
/* Appends the time since @time as kubectl and the API server print it (HumanDuration): "5s",
 * "3m4s", "2d3h"; "<unknown>" for no time. */
void value_append_age(GString *out, ValueTime time, ValueTime now);
/* Appends "Fri, 20 Nov 2026 16:07:36 +0000" (RFC 1123); for no time Go's zero time, the first day
 * of the year 1. */
void value_append_date(GString *out, ValueTime time);
