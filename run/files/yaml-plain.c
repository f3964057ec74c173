/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <string.h>

#include "yaml-private.h"

/* What machines write: dumps of kubectl, as YAML or JSON, use a small and regular part of YAML.
 * libyaml alone takes more for one of 10 MB (235 instructions a byte) than all that a check makes
 * of it, so that part is read here.
 *
 * Nothing is decided here that libyaml would decide otherwise: at the first thing that is not
 * surely plain (an anchor, an empty line in a text, a comment behind a value, a slip of the pen)
 * the document is given up, and libyaml reads it and all that follow. So faults are libyaml's, too.
 * The functions below return FALSE to give up. */

#define KEY_LENGTH_MAX 1000 /* libyaml takes no key of more than 1,024 characters */

typedef struct {
    YamlBuilder *builder;
    const char *line_start, *line_end; /* of the line at hand; it ends with a line break */
    const char *at;                    /* what is read next; first the first thing on the line */
    const char *next, *end;            /* the next line; where the text ends */
    unsigned line;                     /* from 1 */
    unsigned indent;                   /* of the line: how many spaces it begins with */
    gboolean is_end;                   /* there is no further line */
    GString *text;                     /* of a scalar, where it is not as it stands */
} Plain;

static YamlMark
mark_at(const Plain *self, const char *place)
{
    return (YamlMark){self->line, (uint32_t)(place - self->line_start) + 1};
}

static gboolean
next_raw_line(Plain *self)
{
    if (self->next == self->end)
        return FALSE;
    self->line_start = self->next;
    self->line_end = memchr(self->line_start, '\n', (gsize)(self->end - self->line_start));
    self->next = self->line_end + 1;
    self->line++;
    self->at = self->line_start;
    while (*self->at == ' ')
        self->at++;
    self->indent = (unsigned)(self->at - self->line_start);
    return TRUE;
}

/* Goes to the next line that is neither empty nor a comment. */
static void
next_line(Plain *self)
{
    do
        self->is_end = !next_raw_line(self);
    while (!self->is_end && (*self->at == '\n' || *self->at == '#'));
    if (self->is_end)
        self->indent = 0;
}

static gboolean
is_item(const Plain *self)
{
    return self->at[0] == '-' && self->at[1] == ' ';
}

/* "---" alone on its line. Others ("--- text", "...") are not plain: no key begins so. */
static gboolean
is_marker(const Plain *self)
{
    return self->indent == 0 && strncmp(self->at, "---\n", 4) == 0;
}

/* Whether a document or block ends before this line. */
static gboolean
is_over(const Plain *self)
{
    return self->is_end || is_marker(self);
}

/* ---- Scalars ---- */

/* A colon that ends a key, or would, were it not in a value. */
static gboolean
is_key_end(const char *colon)
{
    return colon[0] == ':' && (colon[1] == ' ' || colon[1] == '\n');
}

static gboolean
begins_plainly(const char *text)
{
    return g_ascii_isalnum(text[0]) || strchr("_./($~", text[0]) != NULL ||
           (text[0] == '-' && (g_ascii_isalnum(text[1]) || text[1] == '.'));
}

/* Up to the end of the line, or to the colon behind a key. Returns: NULL: a comment follows, or a
 * space */
static const char *
plain_end(const char *text)
{
    while (*text != '\n' && !is_key_end(text)) {
        if (*text == ' ' && (text[1] == '#' || text[1] == ' ' || text[1] == '\n' || text[1] == ':'))
            return NULL;
        text++;
    }
    return text;
}

/* Only of these can a text without quotes be something else: a number, true, nothing. */
static gboolean
may_be_no_text(char first)
{
    return strchr("nNtTyYoOfF~+-.0123456789", first) != NULL;
}

static void
add_plain(Plain *self, const char *text, gsize length)
{
    YamlMark mark = mark_at(self, text);
    gboolean is_plain = may_be_no_text(*text);

    if (is_plain) {
        g_string_truncate(self->text, 0);
        g_string_append_len(self->text, text, (gssize)length);
        text = self->text->str;
    }
    yaml_builder_scalar(self->builder, text, length, is_plain, mark, NULL);
}

static gboolean
add_escaped(Plain *self, const char **escape)
{
    static const char letters[] = "\"\\/ntrbf", meanings[] = "\"\\/\n\t\r\b\f";
    const char *place = *escape + 1, *letter = strchr(letters, *place);
    gunichar code = 0;

    *escape = place + 1;
    if (letter != NULL) {
        g_string_append_c(self->text, meanings[letter - letters]);
        return TRUE;
    }
    if (*place != 'u')
        return FALSE;
    for (unsigned i = 1; i <= 4; i++) {
        if (!g_ascii_isxdigit(place[i]))
            return FALSE;
        code = code * 16 + (gunichar)g_ascii_xdigit_value(place[i]);
    }
    *escape = place + 5;
    if (code == 0 || code == ' ' || (code >= 0xd800 && code <= 0xdfff))
        return FALSE;
    g_string_append_unichar(self->text, code);
    return TRUE;
}

/* Text goes on in the next line: the break and the spaces around it are one space. Returns: FALSE:
 * not so simply */
static gboolean
fold_line(Plain *self)
{
    gsize length = self->text->len;

    while (length > 0 && self->text->str[length - 1] == ' ')
        length--;
    g_string_truncate(self->text, length);
    g_string_append_c(self->text, ' ');
    return next_raw_line(self) && self->indent > 0 && *self->at != '\n';
}

/* Text in quotes. Behind it the next thing is read. */
static gboolean
read_quoted(Plain *self, const char **text, gsize *length)
{
    char quote = *self->at;
    const char *start = self->at + 1, *place = start;

    while (*place != quote && *place != '\n' && (*place != '\\' || quote == '\''))
        place++;
    if (*place == quote && (quote == '"' || place[1] != '\'')) {
        *text = start;
        *length = (gsize)(place - start);
        self->at = place + 1;
        return TRUE;
    }
    g_string_truncate(self->text, 0);
    g_string_append_len(self->text, start, place - start);
    for (;;) {
        if (*place == '\n') {
            if (!fold_line(self))
                return FALSE;
            place = self->at;
        } else if (*place == quote && quote == '\'' && place[1] == '\'') {
            g_string_append_c(self->text, '\'');
            place += 2;
        } else if (*place == quote) {
            *text = self->text->str;
            *length = self->text->len;
            self->at = place + 1;
            return TRUE;
        } else if (*place == '\\' && quote == '"') {
            if (!add_escaped(self, &place))
                return FALSE;
        } else {
            g_string_append_c(self->text, *place++);
        }
    }
}

static gboolean
add_quoted(Plain *self)
{
    YamlMark mark = mark_at(self, self->at);
    const char *text;
    gsize length;

    if (!read_quoted(self, &text, &length))
        return FALSE;
    yaml_builder_scalar(self->builder, text, length, FALSE, mark, NULL);
    return TRUE;
}

/* "|" or "|-", below which text stands as it is, further in than @indent. Behind it the next line
 * is read. */
static gboolean
add_literal(Plain *self, unsigned indent)
{
    YamlMark mark = mark_at(self, self->at);
    gboolean is_stripped = self->at[1] == '-';
    unsigned text_indent = 0, n_breaks = 0;

    if (self->at[is_stripped ? 2 : 1] != '\n')
        return FALSE;
    g_string_truncate(self->text, 0);
    while (!(self->is_end = !next_raw_line(self))) {
        if (text_indent == 0) {
            if (*self->at == '\n' || self->indent <= indent)
                return FALSE;
            text_indent = self->indent;
        }
        if (*self->at == '\n' && self->indent > text_indent)
            return FALSE;
        if (*self->at != '\n' && self->indent < text_indent)
            break;
        if (*self->at != '\n') {
            for (; n_breaks > 0; n_breaks--)
                g_string_append_c(self->text, '\n');
            g_string_append_len(self->text, self->line_start + text_indent,
                                self->line_end - self->line_start - text_indent);
        }
        n_breaks++;
    }
    if (text_indent == 0)
        return FALSE;
    if (!is_stripped)
        g_string_append_c(self->text, '\n');
    yaml_builder_scalar(self->builder, self->text->str, self->text->len, FALSE, mark, NULL);
    if (self->is_end)
        self->indent = 0;
    else if (*self->at == '#')
        next_line(self);
    return TRUE;
}

/* ---- Lists and mappings in brackets ---- */

/* @is_root: over several lines, as JSON is. */
static gboolean
skip_space(Plain *self, gboolean is_root)
{
    for (;;) {
        while (*self->at == ' ')
            self->at++;
        if (*self->at != '\n')
            return TRUE;
        if (!is_root || !next_raw_line(self) || *self->line_start == '-' ||
            *self->line_start == '.')
            return FALSE;
    }
}

static gboolean
is_word_letter(char c)
{
    return g_ascii_isalnum(c) || strchr("_./+-", c) != NULL;
}

static gboolean
add_word(Plain *self)
{
    const char *start = self->at;

    if (!begins_plainly(start))
        return FALSE;
    while (is_word_letter(*self->at))
        self->at++;
    if (self->at == start)
        return FALSE;
    add_plain(self, start, (gsize)(self->at - start));
    return TRUE;
}

static gboolean
add_flow_key(Plain *self)
{
    gboolean is_quoted = *self->at == '"' || *self->at == '\'';
    const char *start = self->at;
    unsigned line = self->line;

    if (!(is_quoted ? add_quoted(self) : add_word(self)) || self->line != line)
        return FALSE;
    if (self->at - start > KEY_LENGTH_MAX || *self->at != ':' || (!is_quoted && self->at[1] != ' '))
        return FALSE;
    self->at++;
    return TRUE;
}

static gboolean add_flow(Plain *self, gboolean is_root);
static gboolean
add_flow_value(Plain *self, gboolean is_root)
{
    if (*self->at == '{' || *self->at == '[')
        return add_flow(self, is_root);
    return *self->at == '"' || *self->at == '\'' ? add_quoted(self) : add_word(self);
}

/* Behind the bracket the next thing is read. */
static gboolean
add_flow(Plain *self, gboolean is_root)
{
    gboolean is_mapping = *self->at == '{';
    char close = is_mapping ? '}' : ']';

    if (yaml_builder_is_full(self->builder))
        return FALSE;
    yaml_builder_open(self->builder, is_mapping, mark_at(self, self->at), NULL);
    self->at++;
    if (!skip_space(self, is_root))
        return FALSE;
    while (*self->at != close) {
        if ((is_mapping && (!add_flow_key(self) || !skip_space(self, is_root))) ||
            !add_flow_value(self, is_root) || !skip_space(self, is_root))
            return FALSE;
        if (*self->at == close)
            break;
        if (*self->at++ != ',' || !skip_space(self, is_root) || *self->at == close)
            return FALSE;
    }
    self->at++;
    yaml_builder_close(self->builder);
    return TRUE;
}

/* ---- Blocks ---- */

static gboolean add_block(Plain *self);

/* Whether the next line goes on with a text without quotes in a block of this indent. */
static gboolean
is_continued(const Plain *self, unsigned indent)
{
    const char *place = self->next;

    if (place == self->end)
        return FALSE;
    while (*place == ' ')
        place++;
    if (place - self->next <= (ptrdiff_t)indent || !begins_plainly(place))
        return FALSE;
    const char *end = plain_end(place);
    return end != NULL && *end == '\n';
}

/* A text of several lines without quotes. */
static void
add_folded(Plain *self, const char *start, unsigned indent)
{
    YamlMark mark = mark_at(self, start);

    g_string_truncate(self->text, 0);
    g_string_append_len(self->text, start, self->line_end - start);
    while (is_continued(self, indent)) {
        fold_line(self);
        g_string_append_len(self->text, self->at, self->line_end - self->at);
    }
    yaml_builder_scalar(self->builder, self->text->str, self->text->len, may_be_no_text(*start),
                        mark, NULL);
}

/* A value behind a key or dash, in a block of this indent. Behind it the next line is read. */
static gboolean
add_value(Plain *self, unsigned indent)
{
    const char *start = self->at;
    gboolean ok;

    if (*start == '|')
        return add_literal(self, indent);
    if (*start == '"' || *start == '\'') {
        ok = add_quoted(self);
    } else if (*start == '{' || *start == '[') {
        ok = add_flow(self, FALSE);
    } else {
        const char *end = begins_plainly(start) ? plain_end(start) : NULL;
        if (end == NULL || *end != '\n')
            return FALSE;
        if (is_continued(self, indent))
            add_folded(self, start, indent);
        else
            add_plain(self, start, (gsize)(end - start));
        self->at = self->line_end;
        ok = TRUE;
    }
    ok = ok && *self->at == '\n';
    next_line(self);
    return ok;
}

/* Behind its colon the next thing is read. */
static gboolean
add_key(Plain *self)
{
    const char *start = self->at;
    unsigned line = self->line;

    if (*start == '"' || *start == '\'') {
        if (!add_quoted(self) || self->line != line)
            return FALSE;
    } else {
        const char *end = begins_plainly(start) && *start != '-' ? plain_end(start) : NULL;
        if (end == NULL || *end != ':')
            return FALSE;
        yaml_builder_scalar(self->builder, start, (gsize)(end - start), FALSE, mark_at(self, start),
                            NULL);
        self->at = end;
    }
    if (self->at - start > KEY_LENGTH_MAX || !is_key_end(self->at))
        return FALSE;
    self->at++;
    return TRUE;
}

static gboolean
add_items(Plain *self)
{
    unsigned indent = self->indent;
    gboolean ok = TRUE;

    if (yaml_builder_is_full(self->builder))
        return FALSE;
    yaml_builder_open(self->builder, FALSE, mark_at(self, self->at), NULL);
    while (ok && !is_over(self) && self->indent == indent && is_item(self)) {
        self->at++;
        while (*self->at == ' ')
            self->at++;
        self->indent = (unsigned)(self->at - self->line_start);
        const char *end = begins_plainly(self->at) ? plain_end(self->at) : NULL;
        if ((end != NULL && *end == ':') || is_item(self))
            ok = add_block(self);
        else
            ok = add_value(self, indent);
    }
    yaml_builder_close(self->builder);
    return ok && (is_over(self) || self->indent <= indent);
}

/* Of a member whose value does not stand on the line of its key. */
static gboolean
add_value_below(Plain *self, unsigned indent)
{
    YamlMark mark = mark_at(self, self->at);

    next_line(self);
    if (!is_over(self) && (self->indent > indent || (self->indent == indent && is_item(self))))
        return add_block(self);
    yaml_builder_scalar(self->builder, "", 0, TRUE, mark, NULL);
    return TRUE;
}

static gboolean
add_members(Plain *self)
{
    unsigned indent = self->indent;
    gboolean ok = TRUE;

    if (yaml_builder_is_full(self->builder))
        return FALSE;
    yaml_builder_open(self->builder, TRUE, mark_at(self, self->at), NULL);
    while (ok && !is_over(self) && self->indent == indent) {
        ok = add_key(self);
        if (!ok)
            break;
        const char *behind_key = self->at;
        while (*self->at == ' ')
            self->at++;
        if (*self->at == '\n') {
            self->at = behind_key;
            ok = add_value_below(self, indent);
        } else {
            ok = add_value(self, indent);
        }
    }
    if (ok)
        yaml_builder_close(self->builder);
    return ok && (is_over(self) || self->indent < indent);
}

/* The list or mapping that begins here: its indent is where it does. */
static gboolean
add_block(Plain *self)
{
    return is_item(self) ? add_items(self) : add_members(self);
}

/* ---- Documents ---- */

/* Behind it the next line is read. */
static gboolean
add_document(Plain *self)
{
    gboolean ok;

    yaml_builder_begin_document(self->builder);
    if (!is_over(self) && self->indent > 0)
        return FALSE;
    if (is_over(self)) /* empty */
        return TRUE;
    if (*self->at == '{') {
        ok = add_flow(self, TRUE) && *self->at == '\n';
        next_line(self);
    } else {
        ok = add_block(self);
    }
    return ok && is_over(self);
}

/* Letters of one byte and nothing else, so that columns are bytes, up to a last line break. */
static gboolean
is_simple_text(const char *text, gsize length)
{
    unsigned odd = 0;

    for (gsize i = 0; i < length; i++) {
        unsigned char c = (unsigned char)text[i];
        odd |= (unsigned)(c > '~') | ((unsigned)(c < ' ') & (unsigned)(c != '\n'));
    }
    return length > 0 && text[length - 1] == '\n' && odd == 0;
}

gsize
yaml_read_plain(YamlBuilder *builder, const char *text, gsize length, unsigned *line)
{
    Plain self = {.builder = builder, .next = text, .end = text + length};
    const char *start = text; /* of the document at hand */
    gboolean ok = is_simple_text(text, length);

    *line = 1;
    if (!ok)
        return 0;
    self.text = g_string_new(NULL);
    builder->is_trial = TRUE;
    next_line(&self);
    while (ok && !self.is_end) {
        guint n_documents = builder->documents->len;
        guint n_notes = yaml_positions_n_notes(builder->positions);
        if (is_marker(&self)) {
            start = self.line_start;
            *line = self.line;
            next_line(&self);
        }
        ok = add_document(&self) && !builder->failed;
        if (!ok) {
            yaml_builder_abandon(builder);
            g_ptr_array_set_size(builder->documents, (gint)n_documents);
            yaml_positions_forget(builder->positions, n_notes);
        }
    }
    g_string_free(self.text, TRUE);
    builder->is_trial = FALSE;
    builder->failed = FALSE;
    return ok ? length : (gsize)(start - text);
}
