/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>

/* A result file as a table of columns: its header, its rows, its JSON Schema and its table in
 * docs/results.md are made from it. A row is: name, type, unit, meaning, and the value as an
 * expression over the variables of the function that writes the rows.
 *
 *     #define REQUEST_COLUMNS(X)                                                                \
 *         X("second", count, "seconds", "of arrival",  row->first + k)                          \
 *         X("client", text,  NULL,      "who asks",    row->client)
 *     const ResultTable requests_table =
 *         RESULT_TABLE("requests.csv", "what it has", NULL, REQUEST_COLUMNS(COLUMN));
 *
 *     row_header(file, &requests_table);
 *     for (...) {
 *         REQUEST_COLUMNS(CSV_CELL);
 *         row_end(file);
 *     }
 *
 * A type T has a ColumnType column_T, and cell_T(GString *, value) for CSV or member_T(file, key,
 * n, value) for JSON lines. Types of one file stand beside its table. Readers find columns by name,
 * see csv.h. */

typedef struct {
    const char *schema; /* JSON Schema of a value */
    gboolean is_maybe;  /* the cell may be empty; JSON lacks the member then */
    const char *word;   /* the same for people */
} ColumnType;

typedef struct {
    const char *name; /* NULL: the end of the columns, or of an object's members */
    const ColumnType *type;
    const char *unit; /* NULL: none */
    const char *meaning;
} Column;

typedef struct {
    const char *file;  /* "objects.csv", "milestones.jsonl" */
    const char *title; /* "kvolsim run: the times of the milestones of each object" */
    const Column *columns;
    /* Further columns, whose names depend on the run. Its name says which. NULL: there are none */
    const Column *others;
    const Column *head; /* of JSON lines: the first line; NULL: that of results_append_header() */
} ResultTable;

#define RESULT_TABLE(file, title, others, ...)                                                     \
    {                                                                                              \
        (file), (title), (const Column[]){__VA_ARGS__ COLUMN_END}, (others), NULL                  \
    }
#define COLUMN(name, type, unit, meaning, ...) {name, &column_##type, unit, meaning},
/* Members of members: an object, or a list of objects. */
#define COLUMN_OBJECT(name) {name, &column_object, NULL, NULL},
#define COLUMN_LIST(name) {name, &column_list, NULL, NULL},
#define COLUMN_END {NULL, NULL, NULL, NULL},

/* The JSON Schema of a row or line. (owned) */
char *result_table_schema(const ResultTable *self);
/* The columns as a table in Markdown. (owned) */
char *result_table_reference(const ResultTable *self);

/* Types that several files have: the row writer has a cell_ and a member_ for each. */
extern const ColumnType column_text, column_maybe_text, column_quoted, column_slug, column_yes_no,
    column_count, column_ordinal, column_time, column_instant, column_span, column_maybe_span,
    column_decimal, column_object, column_list;
