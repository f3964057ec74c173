/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "columns.h"
#include "models/api/object.h"
#include "result-file.h"
#include "sim/append.h"

/* The row writer of result files, for CSV, JSON and JSON lines. It sets commas and brackets, and
 * line breaks in a file with an indent; sim/append.h writes the values.
 *
 *     row_open(file, '{');
 *     row_json_text(file, "kind", "Pod");
 *     row_key(file, "times");
 *     row_open(file, '[');
 *     row_item(file), append_seconds(file->text, at);
 *     row_close(file, ']');
 *     row_close(file, '}');
 *     row_end(file);
 *
 * A large run has tens of millions of rows, so all of it is inline. */

/* @comma: whether a comma stands before the break */
static inline void
row_break(ResultFile *file, gboolean comma)
{
    static const char line[] = ",\n                                ";
    gsize n = 2 + MIN(file->depth * file->indent, sizeof line - 3);

    append_bytes(file->text, line + !comma, n - !comma);
}

/* Before a field of CSV or an item of a JSON list. */
static inline void
row_item(ResultFile *file)
{
    if (file->indent > 0)
        row_break(file, file->goes_on);
    else if (file->goes_on)
        append_literal(file->text, ",");
    file->goes_on = TRUE;
}

/* The row is complete. */
static inline void
row_end(ResultFile *file)
{
    append_literal(file->text, "\n");
    file->goes_on = FALSE;
    result_file_end_row(file);
}

/* ---- JSON ---- */

/* @bracket: '{' or '['. Behind a key, or behind row_item() in a list. */
static inline void
row_open(ResultFile *file, char bracket)
{
    append_bytes(file->text, &bracket, 1);
    file->depth++;
    file->goes_on = FALSE;
}

static inline void
row_close(ResultFile *file, char bracket)
{
    file->depth--;
    if (file->indent > 0 && file->goes_on)
        row_break(file, FALSE);
    append_bytes(file->text, &bracket, 1);
    file->goes_on = TRUE;
}

/* @key: its bytes with ',' before and ": " behind it, so that mostly one piece is appended */
static inline void
row_key_bytes(ResultFile *file, const char *key, gsize n)
{
    if (file->indent > 0) {
        row_break(file, file->goes_on);
        append_bytes(file->text, key + 1, n - 1);
    } else if (file->goes_on) {
        append_bytes(file->text, key, n - 1);
    } else {
        append_bytes(file->text, key + 1, n - 2);
    }
    file->goes_on = TRUE;
}

/* Before a member's value. @key: a literal */
#define row_key(file, key) row_key_bytes((file), ",\"" key "\": ", sizeof(",\"" key "\": ") - 1)

#define row_json_text(file, key, value)                                                            \
    (row_key((file), key), append_json_text((file)->text, (value)))
#define row_json_unsigned(file, key, value)                                                        \
    (row_key((file), key), append_unsigned((file)->text, (value)))
#define row_json_seconds(file, key, value)                                                         \
    (row_key((file), key), append_seconds((file)->text, (value)))
#define row_json_us(file, key, value) (row_key((file), key), append_us((file)->text, (value)))
#define row_json_null(file, key) (row_key((file), key), append_literal((file)->text, "null"))

/* ---- Tables of columns ---- */

/* The row of the columns' names. */
void row_header(ResultFile *file, const ResultTable *table);

/* Of each row of a table: its name, and its value as a cell of CSV or as a member of an open object
 * of JSON. */
#define CSV_NAME(name, ...)                                                                        \
    row_item(file);                                                                                \
    append_literal(file->text, name);
#define CSV_CELL(name, type, unit, meaning, value)                                                 \
    row_item(file);                                                                                \
    cell_##type(file->text, (value));
#define JSON_OBJECT(name)                                                                          \
    row_key(file, name);                                                                           \
    row_open(file, '{');
#define JSON_END row_close(file, '}');
#define JSON_MEMBER(name, type, unit, meaning, value)                                              \
    member_##type(file, ",\"" name "\": ", sizeof(",\"" name "\": ") - 1, (value));

/* NULL: empty */
static inline void
cell_text(GString *text, const char *value)
{
    if (value != NULL)
        append_text(text, value);
}
#define cell_maybe_text cell_text
#define cell_slug cell_text

/* In quotes, for it may contain commas. */
static inline void
cell_quoted(GString *text, const char *value)
{
    append_literal(text, "\"");
    append_text(text, value);
    append_literal(text, "\"");
}

#define cell_count append_unsigned
#define cell_ordinal append_unsigned
#define cell_yes_no append_unsigned
#define cell_span append_seconds

/* TIME_UNSET: empty */
static inline void
cell_time(GString *text, SimTime value)
{
    if (value != TIME_UNSET)
        append_seconds(text, value);
}
#define cell_maybe_span cell_time

static inline void
cell_decimal(GString *text, double value)
{
    g_string_append_printf(text, "%.6f", value);
}

static inline void
member_text(ResultFile *file, const char *key, gsize n, const char *value)
{
    row_key_bytes(file, key, n);
    append_json_text(file->text, value);
}
#define member_slug member_text

/* NULL or "": none */
static inline void
member_maybe_text(ResultFile *file, const char *key, gsize n, const char *value)
{
    if (value != NULL && value[0] != '\0')
        member_text(file, key, n, value);
}

static inline void
member_count(ResultFile *file, const char *key, gsize n, uint64_t value)
{
    row_key_bytes(file, key, n);
    append_unsigned(file->text, value);
}
#define member_ordinal member_count

static inline void
member_instant(ResultFile *file, const char *key, gsize n, SimTime value)
{
    row_key_bytes(file, key, n);
    append_seconds(file->text, value);
}
#define member_span member_instant
