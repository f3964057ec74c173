/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "json-items.h"

#include <string.h>

#include "sim/sim-time.h"

#define DEPTH_MAX 1000u                    /* below jansson's own limit of 2048 */
#define VALUE_BYTES_MAX ((gsize)256 << 20) /* an object of the API is below 2 MiB */

struct JsonItems {
    const char *file;
    const JsonItemsSeen *seen;
    GString *outer; /* the value at the top, without the items of its list */
    GString *item;  /* of a list */
    unsigned line, outer_line, item_line;
    unsigned depth;      /* open brackets */
    unsigned list_depth; /* those up to the list's own; 0: not in a list */
    gboolean in_string, is_escaped;
    gboolean has_list; /* the value at the top has one */
};

JsonItems *
json_items_new(const char *file, const JsonItemsSeen *seen)
{
    JsonItems *self = g_new0(JsonItems, 1);

    self->file = file;
    self->seen = seen;
    self->outer = g_string_new(NULL);
    self->item = g_string_new(NULL);
    self->line = 1;
    return self;
}

void
json_items_free(JsonItems *self)
{
    if (self == NULL)
        return;
    g_string_free(self->outer, TRUE);
    g_string_free(self->item, TRUE);
    g_free(self);
}

static gboolean
json_items_fail(JsonItems *self, unsigned line, const char *message, GError **error)
{
    g_set_error(error, SIM_ERROR, SIM_ERROR_INVALID, "%s:%u: %s", self->file, line, message);
    return FALSE;
}

/* Returns: (owned): NULL with an error */
static json_t *
json_items_parse(JsonItems *self, GString *text, unsigned line, GError **error)
{
    json_error_t fault;
    json_t *value = json_loadb(text->str, text->len, JSON_DECODE_ANY, &fault);

    g_string_truncate(text, 0);
    if (value == NULL)
        json_items_fail(self, line + (unsigned)MAX(fault.line, 1) - 1, fault.text, error);
    return value;
}

static gboolean
end_item(JsonItems *self, GError **error)
{
    json_t *value = json_items_parse(self, self->item, self->item_line, error);

    return value != NULL && self->seen->item(self->seen->data, value, self->item_line, error);
}

static gboolean
end_outer(JsonItems *self, GError **error)
{
    json_t *value = json_items_parse(self, self->outer, self->outer_line, error);

    if (value == NULL)
        return FALSE;
    if (!self->has_list)
        return self->seen->item(self->seen->data, value, self->outer_line, error);
    self->has_list = FALSE;
    gboolean goes_on = self->seen->end(self->seen->data, value, self->outer_line, error);
    json_decref(value);
    return goes_on;
}

/* Whether the text ends in `"items":` */
static gboolean
ends_in_items(const GString *text)
{
    static const char key[] = "\"items\"";
    gsize n = text->len;

    while (n > 0 && g_ascii_isspace(text->str[n - 1]))
        n--;
    if (n == 0 || text->str[n - 1] != ':')
        return FALSE;
    for (n--; n > 0 && g_ascii_isspace(text->str[n - 1]);)
        n--;
    return n >= strlen(key) && memcmp(text->str + n - strlen(key), key, strlen(key)) == 0;
}

static gboolean
is_between(const JsonItems *self) /* two values of a list, or of the file */
{
    return self->depth == self->list_depth;
}

static gboolean
json_items_append(JsonItems *self, const char *from, const char *to, GError **error)
{
    GString *text = self->list_depth > 0 ? self->item : self->outer;

    if (text->len + (gsize)(to - from) > VALUE_BYTES_MAX)
        return json_items_fail(self, self->list_depth > 0 ? self->item_line : self->outer_line,
                               "a value of more than 256 MiB", error);
    g_string_append_len(text, from, to - from);
    return TRUE;
}

/* Returns: the text from which on is not stored yet; NULL with an error */
static const char *
open_bracket(JsonItems *self, const char *from, const char *at, GError **error)
{
    if (is_between(self)) { /* a value begins: what stands before it is a separator */
        from = at;
        if (self->list_depth > 0)
            self->item_line = self->line;
        else
            self->outer_line = self->line;
    }
    if (++self->depth > DEPTH_MAX) {
        json_items_fail(self, self->line, "more than 1000 brackets in each other", error);
        return NULL;
    }
    if (*at != '[' || self->list_depth > 0 || self->depth > 2)
        return from;
    if (!json_items_append(self, from, at, error))
        return NULL;
    if (self->depth == 2 && !ends_in_items(self->outer))
        return at;
    g_string_append_c(self->outer, '[');
    self->list_depth = self->depth;
    self->has_list = TRUE;
    return at + 1;
}

static const char *
close_bracket(JsonItems *self, const char *from, const char *at, GError **error)
{
    if (self->depth == 0) {
        json_items_fail(self, self->line, "a bracket closes nothing", error);
        return NULL;
    }
    if (is_between(self)) { /* the end of the list */
        self->list_depth = 0;
        from = at;
    }
    self->depth--;
    if (!is_between(self))
        return from;
    if (!json_items_append(self, from, at + 1, error) ||
        !(self->list_depth > 0 ? end_item(self, error) : end_outer(self, error)))
        return NULL;
    return at + 1;
}

static gboolean
is_separator(const JsonItems *self, char c)
{
    return g_ascii_isspace(c) || (self->list_depth > 0 && c == ',');
}

/* Steps over the rest of a string. Returns: where it ends, or @end */
static const char *
skip_string(JsonItems *self, const char *at, const char *end)
{
    for (; at < end; at++) {
        if (self->is_escaped) {
            self->is_escaped = FALSE;
        } else if (*at == '\\') {
            self->is_escaped = TRUE;
        } else if (*at == '"') {
            self->in_string = FALSE;
            return at + 1;
        }
    }
    return end;
}

gboolean
json_items_feed(JsonItems *self, const char *text, gsize length, GError **error)
{
    const char *end = text + length, *from = text, *at = text;

    while (at < end) {
        if (self->in_string) {
            at = skip_string(self, at, end);
            continue;
        }
        if (*at == '{' || *at == '[')
            from = open_bracket(self, from, at, error);
        else if (*at == '}' || *at == ']')
            from = close_bracket(self, from, at, error);
        else if (*at == '\n')
            self->line++;
        else if (is_between(self) && !is_separator(self, *at))
            return json_items_fail(self, self->line, "expected an object in JSON", error);
        else
            self->in_string = *at == '"';
        if (from == NULL)
            return FALSE;
        at++;
    }
    return is_between(self) || json_items_append(self, from, end, error);
}

gboolean
json_items_end(JsonItems *self, GError **error)
{
    if (self->depth == 0)
        return TRUE;
    return json_items_fail(self, self->line,
                           "the file ends in the middle of an object: is it cut off?", error);
}
