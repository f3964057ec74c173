/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

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

/* ---- CSV: fields without commas ---- */

static inline void
row_csv_text(ResultFile *file, const char *value)
{
    row_item(file);
    append_text(file->text, value);
}

static inline void
row_csv_unsigned(ResultFile *file, uint64_t value)
{
    row_item(file);
    append_unsigned(file->text, value);
}

static inline void
row_csv_integer(ResultFile *file, int64_t value)
{
    row_item(file);
    append_integer(file->text, value);
}

static inline void
row_csv_seconds(ResultFile *file, SimTime value)
{
    row_item(file);
    append_seconds(file->text, value);
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
