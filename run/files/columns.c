/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "columns.h"

#include "rows.h"

/* clang-format off */
const ColumnType
    column_text       = {"string",  NULL,                               FALSE, "text"},
    column_maybe_text = {"string",  NULL,                               TRUE,  "text"},
    column_quoted     = {"string",  NULL,                               FALSE, "text"},
    column_slug       = {"string",  "\"pattern\": \"^[a-z][a-z-]*$\"",  FALSE, "word"},
    column_yes_no     = {NULL,      "\"enum\": [0, 1]",                 FALSE, "0 or 1"},
    column_count      = {"integer", "\"minimum\": 0",                   FALSE, NULL},
    column_ordinal    = {"integer", "\"minimum\": 1",                   FALSE, NULL},
    column_time       = {"number",  NULL,                               TRUE,  NULL},
    column_instant    = {"number",  NULL,                               FALSE, NULL},
    column_span       = {"number",  "\"minimum\": 0",                   FALSE, NULL},
    column_maybe_span = {"number",  "\"minimum\": 0",                   TRUE,  NULL},
    column_object     = {"object",  NULL,                               FALSE, NULL},
    column_list       = {"array",   NULL,                               FALSE, NULL};
/* clang-format on */

static gboolean
is_of_lines(const ResultTable *self)
{
    return g_str_has_suffix(self->file, ".jsonl");
}

void
row_header(ResultFile *file, const ResultTable *table)
{
    for (unsigned i = 0; i < table->n_columns; i++) {
        row_item(file);
        append_text(file->text, table->columns[i].name);
    }
    row_end(file);
}

/* ---- JSON Schema: a line for each column ---- */

static void
append_type(GString *text, const ColumnType *type, gboolean may_be_null)
{
    if (type->json != NULL)
        g_string_append_printf(
            text, may_be_null ? "\"type\": [\"%s\", \"null\"]" : "\"type\": \"%s\"", type->json);
    if (type->more != NULL)
        g_string_append_printf(text, "%s%s", type->json != NULL ? ", " : "", type->more);
}

/* "when it was created (seconds)" */
static void
append_description(GString *text, const Column *column)
{
    append_literal(text, ", \"description\": \"");
    append_json_letters(text, column->meaning);
    if (column->unit != NULL)
        g_string_append_printf(text, " (%s)", column->unit);
    append_literal(text, "\"");
}

/* Appends the members of the schema of an object from @column on. Returns: the column behind its
 * last one */
static const Column *
append_object(GString *text, const ResultTable *self, const Column *column, int indent)
{
    const Column *end = self->columns + self->n_columns;
    const gboolean is_row = column == self->columns, is_line = is_of_lines(self);
    g_autoptr(GString) required = g_string_new(NULL);

    g_string_append_printf(text, "%*s\"type\": \"object\",\n%*s\"properties\": {", indent, "",
                           indent, "");
    for (const char *comma = ""; column < end && column->name != NULL; comma = ",") {
        g_string_append_printf(text, "%s\n%*s\"%s\": {", comma, indent + 2, "", column->name);
        if (!is_line || !column->type->is_maybe)
            g_string_append_printf(required, "%s\"%s\"", required->len > 0 ? ", " : "",
                                   column->name);
        if (column->type == &column_object || column->type == &column_list) {
            const gboolean is_list = column->type == &column_list;
            append_text(text, is_list ? "\"type\": \"array\", \"items\": {\n" : "\n");
            column = append_object(text, self, column + 1, indent + 4);
            g_string_append_printf(text, "\n%*s}%s", indent + 2, "", is_list ? "}" : "");
        } else {
            append_type(text, column->type, !is_line && column->type->is_maybe);
            append_description(text, column++);
            append_literal(text, "}");
        }
    }
    g_string_append_printf(text,
                           "\n%*s},\n%*s\"required\": [%s],\n%*s\"additionalProperties\": ", indent,
                           "", indent, "", required->str, indent, "");
    if (is_row && self->others != NULL) {
        append_literal(text, "{");
        append_type(text, self->others->type, self->others->type->is_maybe);
        append_description(text, self->others);
        append_literal(text, "}");
    } else {
        append_literal(text, "false");
    }
    return column + (column < end);
}

#define RUN_PATTERN "^kvolsim .* scenario .* hash [0-9a-f]{64} seed [0-9]+ replication [0-9]+$"

/* The first line, and the others. */
#define LINES                                                                                      \
    "  \"anyOf\": [{\"$ref\": \"#/$defs/header\"}, {\"$ref\": \"#/$defs/row\"}],\n"                \
    "  \"$defs\": {\n"                                                                             \
    "    \"header\": {\n"                                                                          \
    "      \"type\": \"object\",\n"                                                                \
    "      \"properties\": {\"run\": {\"type\": \"string\", \"pattern\": \"" RUN_PATTERN "\"}},\n" \
    "      \"required\": [\"run\"],\n"                                                             \
    "      \"additionalProperties\": false\n"                                                      \
    "    },\n"                                                                                     \
    "    \"row\": {\n"

char *
result_table_schema(const ResultTable *self)
{
    const gboolean is_line = is_of_lines(self);
    GString *text = g_string_new(NULL);

    g_string_append_printf(
        text,
        "{\n  \"$schema\": \"https://json-schema.org/draft/2020-12/schema\",\n"
        "  \"$id\": \"https://kvolsim.io/v1/schemas/%s.schema.json\",\n"
        "  \"title\": \"%s; the schema is of each %s\",\n%s",
        self->file, self->title,
        is_line ? "line"
                : "row: an object with the columns of the header, in which empty fields are null",
        is_line ? LINES : "");
    append_object(text, self, self->columns, is_line ? 6 : 2);
    append_text(text, is_line ? "\n    }\n  }\n}\n" : "\n}\n");
    return g_string_free(text, FALSE);
}

/* ---- Markdown ---- */

/* @of: what stands in front of the name; NULL: the name tells of several columns */
static void
append_reference(GString *text, const ResultTable *self, const char *of, const Column *column)
{
    const ColumnType *type = column->type;
    const char *maybe = is_of_lines(self) ? ", optional" : " or empty";

    g_string_append_printf(text, of != NULL ? "| `%s%s` |" : "| %s%s |", of != NULL ? of : "",
                           column->name);
    g_string_append_printf(
        text, " %s%s | %s | %s |\n", type->word != NULL ? type->word : type->json,
        type->is_maybe ? maybe : "", column->unit != NULL ? column->unit : "", column->meaning);
}

char *
result_table_reference(const ResultTable *self)
{
    GString *text = g_string_new(NULL);
    g_autoptr(GString) of = g_string_new(NULL);

    g_string_append_printf(text, "| %s | Type | Unit | Meaning |\n|---|---|---|---|\n",
                           is_of_lines(self) ? "Member" : "Column");
    for (unsigned i = 0; i < self->n_columns; i++) {
        const Column *column = &self->columns[i];
        if (column->name == NULL)
            g_string_truncate(of, 0);
        else if (column->type == &column_object || column->type == &column_list)
            g_string_printf(of, "%s%s.", column->name, column->type == &column_list ? "[]" : "");
        else
            append_reference(text, self, of->str, column);
    }
    if (self->others != NULL)
        append_reference(text, self, NULL, self->others);
    return g_string_free(text, FALSE);
}
