/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>
#include <jansson.h>

/* Values inside a JSON text, found without building them: an audit log of 1 GiB is mostly bodies
 * that nobody asks for. The scan knows strings and brackets and nothing else; a value that matters
 * is parsed by json_part_parse(). */

/* A value, or the inside of a string: part of a text that outlives it. */
typedef struct {
    const char *at; /* NULL: none */
    gsize length;
} JsonPart;

#define JSON_PART(text) ((JsonPart){(text), strlen(text)})

typedef struct {
    const char *next, *end;
    char close;         /* of the object or list: '}' or ']' */
    gboolean is_broken; /* the text ended, or is no JSON */
} JsonWalk;

/* Begins a walk of the members of an object, or of the items of a list. Returns: FALSE: it is
 * neither */
gboolean json_walk_begin(JsonWalk *self, JsonPart value);
/* @key: (out) (nullable): the key, without quotes; empty in a list. Returns: FALSE at the end, or
 * if the text is broken: then the key and the rest of the text, as far as there is one */
gboolean json_walk_next(JsonWalk *self, JsonPart *key, JsonPart *value);

/* The member of an object; none if it has no such member. */
JsonPart json_part_get(JsonPart object, const char *key);
/* A member of a member ...: NULL ends the keys. */
JsonPart json_part_path(JsonPart object, ...) G_GNUC_NULL_TERMINATED;
/* The inside of a string as it stands in the text, with its escapes; none if it is no string. */
JsonPart json_part_string(JsonPart value);
/* Whether the inside of a string is @text. */
gboolean json_part_equals(JsonPart inside, const char *text);
/* Whether a string is @text. */
gboolean json_part_is(JsonPart value, const char *text);
/* Returns: FALSE: it is no whole number */
gboolean json_part_integer(JsonPart value, gint64 *number);
/* Returns: (owned): the text of a string; NULL: it is none */
char *json_part_text(JsonPart value);
/* Returns: (owned): NULL: it is no sound JSON */
json_t *json_part_parse(JsonPart value);
