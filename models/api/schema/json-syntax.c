/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Finds the fault in a text that is no JSON, and tells it in the words of Go's decoder. jansson has
 * refused the text already, and its words are others. The scanner keeps a stack of brackets and
 * makes nothing, so a deep text costs no recursion. */
#include "json-syntax.h"

#include <string.h>

/* Objects and lists within each other; Go's limit is 10,000. */
#define DEPTH_MAX 10000

typedef struct {
    const char *at, *end;
    char *fault; /* (owned): NULL: none yet */
} Scanner;

/* The next character is not what belongs here. Returns: FALSE */
static gboolean
json_syntax_refuse(Scanner *self, const char *context)
{
    char letter = '\0';

    if (self->at == self->end) {
        self->fault = g_strdup("unexpected end of JSON input");
        return FALSE;
    }
    letter = *self->at;
    g_autofree char *shown = letter == '\''   ? g_strdup("\\'")
                             : letter == '"'  ? g_strdup("\"")
                             : letter == '\\' ? g_strdup("\\\\")
                             : letter == '\n' ? g_strdup("\\n")
                             : letter == '\t' ? g_strdup("\\t")
                             : letter == '\r' ? g_strdup("\\r")
                             : (unsigned char)letter < ' ' || letter == 0x7f
                                 ? g_strdup_printf("\\x%02x", (unsigned)(unsigned char)letter)
                             : (unsigned char)letter >= 0x80
                                 ? g_strdup_printf("\\u%04x", (unsigned)(unsigned char)letter)
                                 : g_strndup(&letter, 1);
    self->fault = g_strdup_printf("invalid character '%s' %s", shown, context);
    return FALSE;
}

static void
skip_space(Scanner *self)
{
    while (self->at < self->end && strchr(" \t\r\n", *self->at) != NULL && *self->at != '\0')
        self->at++;
}

static gboolean
is_next(const Scanner *self, char letter)
{
    return self->at < self->end && *self->at == letter;
}

static gboolean
scan_literal(Scanner *self, const char *word)
{
    for (const char *letter = word; *letter != '\0'; letter++, self->at++)
        if (!is_next(self, *letter)) {
            g_autofree char *context =
                g_strdup_printf("in literal %s (expecting '%c')", word, *letter);
            return json_syntax_refuse(self, context);
        }
    return TRUE;
}

/* At least one digit. */
static gboolean
scan_digits(Scanner *self, const char *context)
{
    if (self->at == self->end || !g_ascii_isdigit(*self->at))
        return json_syntax_refuse(self, context);
    while (self->at < self->end && g_ascii_isdigit(*self->at))
        self->at++;
    return TRUE;
}

static gboolean
scan_number(Scanner *self)
{
    if (is_next(self, '-'))
        self->at++;
    if (is_next(self, '0'))
        self->at++;
    else if (!scan_digits(self, "in numeric literal"))
        return FALSE;
    if (is_next(self, '.')) {
        self->at++;
        if (!scan_digits(self, "after decimal point in numeric literal"))
            return FALSE;
    }
    if (is_next(self, 'e') || is_next(self, 'E')) {
        self->at++;
        if (is_next(self, '+') || is_next(self, '-'))
            self->at++;
        return scan_digits(self, "in exponent of numeric literal");
    }
    return TRUE;
}

/* Behind a backslash. */
static gboolean
scan_escape(Scanner *self)
{
    gboolean is_unicode = is_next(self, 'u');

    if (self->at == self->end || *self->at == '\0' || strchr("bfnrt\\/\"u", *self->at) == NULL)
        return json_syntax_refuse(self, "in string escape code");
    self->at++;
    for (unsigned i = 0; is_unicode && i < 4; i++, self->at++)
        if (self->at == self->end || !g_ascii_isxdigit(*self->at))
            return json_syntax_refuse(self, "in \\u hexadecimal character escape");
    return TRUE;
}

static gboolean
scan_string(Scanner *self)
{
    self->at++;
    while (self->at < self->end && *self->at != '"') {
        if ((unsigned char)*self->at < ' ')
            return json_syntax_refuse(self, "in string literal");
        if (*self->at++ == '\\' && !scan_escape(self))
            return FALSE;
    }
    if (self->at == self->end)
        return json_syntax_refuse(self, "in string literal");
    self->at++;
    return TRUE;
}

static gboolean
scan_scalar(Scanner *self)
{
    if (self->at == self->end)
        return json_syntax_refuse(self, "");
    switch (*self->at) {
    case '"':
        return scan_string(self);
    case 't':
        return scan_literal(self, "true");
    case 'f':
        return scan_literal(self, "false");
    case 'n':
        return scan_literal(self, "null");
    default:
        if (*self->at == '-' || g_ascii_isdigit(*self->at))
            return scan_number(self);
        return json_syntax_refuse(self, "looking for beginning of value");
    }
}

/* A key and its colon. */
static gboolean
scan_key(Scanner *self)
{
    skip_space(self);
    if (!is_next(self, '"'))
        return json_syntax_refuse(self, "looking for beginning of object key string");
    if (!scan_string(self))
        return FALSE;
    skip_space(self);
    if (!is_next(self, ':'))
        return json_syntax_refuse(self, "after object key");
    self->at++;
    return TRUE;
}

/* The beginnings of objects and lists up to a scalar or an empty one. @open: the brackets that are
 * open */
static gboolean
scan_beginning(Scanner *self, GString *open)
{
    for (;;) {
        skip_space(self);
        if (!is_next(self, '{') && !is_next(self, '['))
            return scan_scalar(self);
        char closing = *self->at++ == '{' ? '}' : ']';
        if (open->len >= DEPTH_MAX) {
            self->fault = g_strdup("exceeded max depth");
            return FALSE;
        }
        skip_space(self);
        if (is_next(self, closing)) {
            self->at++;
            return TRUE;
        }
        g_string_append_c(open, closing);
        if (closing == '}' && !scan_key(self))
            return FALSE;
    }
}

char *
json_syntax_fault(const char *text, gsize length)
{
    Scanner self = {text, text + length, NULL};
    g_autoptr(GString) open = g_string_new(NULL);
    gboolean is_good = scan_beginning(&self, open);

    while (is_good && open->len > 0) {
        char closing = open->str[open->len - 1];
        skip_space(&self);
        if (is_next(&self, closing)) {
            self.at++;
            g_string_truncate(open, open->len - 1);
        } else if (is_next(&self, ',')) {
            self.at++;
            is_good = (closing != '}' || scan_key(&self)) && scan_beginning(&self, open);
        } else {
            is_good = json_syntax_refuse(&self, closing == '}' ? "after object key:value pair"
                                                               : "after array element");
        }
    }
    skip_space(&self);
    if (is_good && self.at < self.end)
        json_syntax_refuse(&self, "after top-level value");
    return self.fault;
}
