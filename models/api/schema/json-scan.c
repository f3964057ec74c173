/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Finds values inside a JSON text without building them. A scan knows strings and brackets only, so
 * it skips a value at the speed of memchr() and a table of stop bytes; it says nothing about the
 * soundness of what it skips. Each level of nesting scans its values again: bodies are flat enough,
 * and an index would cost more than it saves. JSON that arrives in pieces has a scanner of its own
 * (run/files/json-items.h), which keeps its state between them. */
#include "json-scan.h"

#include <stdarg.h>
#include <string.h>

static const char *
skip_space(const char *at, const char *end)
{
    while (at < end && (*at == ' ' || *at == '\t' || *at == '\n' || *at == '\r'))
        at++;
    return at;
}

/* @at: behind the opening quote. Returns: the closing quote; NULL: the text ends before */
static const char *
string_end(const char *at, const char *end)
{
    for (const char *from = at;;) {
        const char *quote = memchr(from, '"', (gsize)(end - from));
        if (quote == NULL)
            return NULL;
        const char *escapes = quote;
        while (escapes > at && escapes[-1] == '\\')
            escapes--;
        if ((quote - escapes) % 2 == 0)
            return quote;
        from = quote + 1;
    }
}

/* The bytes at which the scan of an object or a list stops. */
static const gboolean is_stop[256] = {
    ['"'] = TRUE, ['{'] = TRUE, ['['] = TRUE, ['}'] = TRUE, [']'] = TRUE,
};

/* Returns: behind the value at @at; NULL: the text ends before */
static const char *
skip_nested(const char *at, const char *end)
{
    unsigned depth = 0;

    for (; at < end; at++) {
        if (!is_stop[(guchar)*at])
            continue;
        if (*at == '"') {
            at = string_end(at + 1, end);
            if (at == NULL)
                return NULL;
        } else if (*at == '{' || *at == '[') {
            depth++;
        } else if (--depth == 0) {
            return at + 1;
        }
    }
    return NULL;
}

static const char *
skip_value(const char *at, const char *end)
{
    if (at == end)
        return NULL;
    if (*at == '{' || *at == '[')
        return skip_nested(at, end);
    if (*at == '"') {
        at = string_end(at + 1, end);
        return at == NULL ? NULL : at + 1;
    }
    const char *from = at;
    while (at < end && (g_ascii_isalnum(*at) || *at == '-' || *at == '+' || *at == '.'))
        at++;
    return at == from ? NULL : at;
}

gboolean
json_walk_begin(JsonWalk *self, JsonPart value)
{
    if (value.at == NULL)
        return FALSE;
    const char *end = value.at + value.length, *at = skip_space(value.at, end);

    *self = (JsonWalk){.next = at, .end = end};
    if (at == end || (*at != '{' && *at != '['))
        return FALSE;
    self->close = *at == '{' ? '}' : ']';
    self->next = skip_space(at + 1, end);
    return TRUE;
}

static gboolean
broken(JsonWalk *self)
{
    self->is_broken = TRUE;
    return FALSE;
}

gboolean
json_walk_next(JsonWalk *self, JsonPart *key, JsonPart *value)
{
    const char *at = self->next, *end = self->end;

    if (key != NULL)
        *key = (JsonPart){"", 0}; /* items of lists have none */
    *value = (JsonPart){NULL, 0};
    if (self->is_broken || at == end)
        return at == end ? broken(self) : FALSE;
    if (*at == self->close) {
        self->next = at;
        return FALSE;
    }
    if (self->close == '}') {
        const char *quote = *at == '"' ? string_end(at + 1, end) : NULL;
        if (quote == NULL)
            return broken(self);
        if (key != NULL)
            *key = (JsonPart){at + 1, (gsize)(quote - at - 1)};
        at = skip_space(quote + 1, end);
        if (at == end || *at != ':')
            return broken(self);
        at = skip_space(at + 1, end);
    }
    const char *after = skip_value(at, end);
    *value = (JsonPart){at, (gsize)((after == NULL ? end : after) - at)};
    if (after == NULL)
        return broken(self);
    at = skip_space(after, end);
    if (at == end || (*at != ',' && *at != self->close))
        return broken(self);
    self->next = *at == ',' ? skip_space(at + 1, end) : at;
    return TRUE;
}

gboolean
json_part_equals(JsonPart inside, const char *text)
{
    return inside.length == strlen(text) &&
           (inside.length == 0 || memcmp(inside.at, text, inside.length) == 0);
}

JsonPart
json_part_get(JsonPart object, const char *key)
{
    JsonWalk walk;
    JsonPart name, value;

    if (json_walk_begin(&walk, object) && walk.close == '}')
        while (json_walk_next(&walk, &name, &value))
            if (json_part_equals(name, key))
                return value;
    return (JsonPart){NULL, 0};
}

JsonPart
json_part_path(JsonPart object, ...)
{
    va_list keys;
    const char *key;

    va_start(keys, object);
    while ((key = va_arg(keys, const char *)) != NULL)
        object = json_part_get(object, key);
    va_end(keys);
    return object;
}

JsonPart
json_part_string(JsonPart value)
{
    if (value.at == NULL || value.length < 2 || *value.at != '"')
        return (JsonPart){NULL, 0};
    return (JsonPart){value.at + 1, value.length - 2};
}

gboolean
json_part_is(JsonPart value, const char *text)
{
    JsonPart inside = json_part_string(value);

    return inside.at != NULL && json_part_equals(inside, text);
}

gboolean
json_part_integer(JsonPart value, gint64 *number)
{
    char digits[24];

    if (value.at == NULL || value.length >= sizeof digits)
        return FALSE;
    memcpy(digits, value.at, value.length);
    digits[value.length] = '\0';
    return g_ascii_string_to_signed(digits, 10, G_MININT64, G_MAXINT64, number, NULL);
}

char *
json_part_text(JsonPart value)
{
    JsonPart inside = json_part_string(value);

    if (inside.at == NULL)
        return NULL;
    if (memchr(inside.at, '\\', inside.length) == NULL)
        return g_strndup(inside.at, inside.length);
    json_t *parsed = json_part_parse(value);
    char *text = g_strdup(json_string_value(parsed));
    json_decref(parsed);
    return text;
}

json_t *
json_part_parse(JsonPart value)
{
    return value.at == NULL
               ? NULL
               : json_loadb(value.at, value.length, JSON_DECODE_ANY | JSON_REJECT_DUPLICATES, NULL);
}
