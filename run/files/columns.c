/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "columns.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "rows.h"

/* clang-format off */
const ColumnType
    column_text       = {"{\"type\": \"string\"}",                                  FALSE, "text"},
    column_maybe_text = {"{\"type\": \"string\"}",                                  TRUE,  "text"},
    column_quoted     = {"{\"type\": \"string\"}",                                  FALSE, "text"},
    column_slug       = {"{\"type\": \"string\", \"pattern\": \"^[a-z][a-z-]*$\"}", FALSE, "word"},
    column_yes_no     = {"{\"enum\": [0, 1]}",                                      FALSE, "0 or 1"},
    column_count      = {"{\"type\": \"integer\", \"minimum\": 0}",                 FALSE, "integer"},
    column_ordinal    = {"{\"type\": \"integer\", \"minimum\": 1}",                 FALSE, "integer"},
    column_time       = {"{\"type\": \"number\"}",                                  TRUE,  "number"},
    column_instant    = {"{\"type\": \"number\"}",                                  FALSE, "number"},
    column_span       = {"{\"type\": \"number\", \"minimum\": 0}",                  FALSE, "number"},
    column_maybe_span = {"{\"type\": \"number\", \"minimum\": 0}",                  TRUE,  "number"},
    column_decimal    = {"{\"type\": \"number\"}",                                  FALSE, "number"},
    column_object     = {"{\"type\": \"object\"}",                                  FALSE, "object"},
    column_list       = {"{\"type\": \"array\"}",                                   FALSE, "list"};
/* clang-format on */

static const ColumnType run_type = {
    "{\"type\": \"string\", \"pattern\": "
    "\"^kvolsim .* scenario .* hash [0-9a-f]{64} seed [0-9]+ replication [0-9]+$\"}",
    FALSE, "text"};
static const Column run_head[] = {
    {"run", &run_type, NULL, "what repeats the run"},
    COLUMN_END
};

static gboolean
is_csv(const ResultTable *self)
{
    return g_str_has_suffix(self->file, ".csv");
}

static gboolean
is_open(const Column *column)
{
    return column->type == &column_object || column->type == &column_list;
}

void
row_header(ResultFile *file, const ResultTable *table)
{
    for (const Column *column = table->columns; column->name != NULL; column++) {
        row_item(file);
        append_text(file->text, column->name);
    }
    row_end(file);
}

/* ---- JSON Schema ---- */

/* Of a row of CSV; an empty cell is null. @is_json: of JSON */
static json_t *
column_schema(const Column *column, gboolean is_json)
{
    json_t *schema = json_loads(column->type->schema, 0, NULL);
    json_t *type = json_object_get(schema, "type");

    if (column->type->is_maybe && type != NULL && !is_json)
        json_object_set_new(schema, "type", json_pack("[O, s]", type, "null"));
    json_object_set_new(schema, "description",
                        column->unit != NULL
                            ? json_sprintf("%s (%s)", column->meaning, column->unit)
                            : json_string(column->meaning));
    return schema;
}

/* @column: (inout): the first member; the end behind the last one */
static json_t *
object_schema(const Column **column, gboolean is_json, json_t *others)
{
    json_t *properties = json_object(), *required = json_array();

    for (; (*column)->name != NULL; (*column)++) {
        const Column *own = *column;
        json_t *schema;
        if (is_open(own)) {
            (*column)++;
            schema = object_schema(column, is_json, json_false());
            if (own->type == &column_list)
                schema = json_pack("{s:s, s:o}", "type", "array", "items", schema);
        } else {
            schema = column_schema(own, is_json);
        }
        json_object_set_new(properties, own->name, schema);
        if (!own->type->is_maybe || !is_json)
            json_array_append_new(required, json_string(own->name));
    }
    return json_pack("{s:s, s:o, s:o, s:o}", "type", "object", "properties", properties, "required",
                     required, "additionalProperties", others);
}

/* An object is one line if no object is in it: each column is one. */
static void
append_json(GString *text, const json_t *value, int indent)
{
    char *line = json_dumps(value, JSON_ENCODE_ANY);
    const char *key, *comma = "";
    json_t *item;

    if (!json_is_object(value) || strchr(line + 1, '{') == NULL) {
        append_text(text, line);
        free(line);
        return;
    }
    free(line);
    append_literal(text, "{");
    json_object_foreach((json_t *)value, key, item) {
        g_string_append_printf(text, "%s\n%*s\"%s\": ", comma, indent + 2, "", key);
        append_json(text, item, indent + 2);
        comma = ",";
    }
    g_string_append_printf(text, "\n%*s}", indent, "");
}

char *
result_table_schema(const ResultTable *self)
{
    const gboolean is_lines = g_str_has_suffix(self->file, ".jsonl");
    const Column *column = self->columns, *head = self->head != NULL ? self->head : run_head;
    json_t *others = self->others != NULL ? column_schema(self->others, FALSE) : json_false();
    json_t *row = object_schema(&column, !is_csv(self), others);
    json_auto_t *schema = json_pack(
        "{s:s, s:o, s:o}", "$schema", "https://json-schema.org/draft/2020-12/schema", "$id",
        json_sprintf("https://kvolsim.io/v1/schemas/%s.schema.json", self->file), "title",
        json_sprintf("%s%s", self->title,
                     is_lines       ? "; the schema is of each line"
                     : is_csv(self) ? "; the schema is of each row: an object with the columns of "
                                      "the header, in which empty fields are null"
                                    : ""));
    GString *text = g_string_new(NULL);

    if (is_lines)
        row = json_pack("{s:[{s:s}, {s:s}], s:{s:o, s:o}}", "anyOf", "$ref", "#/$defs/header",
                        "$ref", "#/$defs/row", "$defs", "header",
                        object_schema(&head, TRUE, json_false()), "row", row);
    json_object_update(schema, row);
    json_decref(row);
    append_json(text, schema, 0);
    append_literal(text, "\n");
    return g_string_free(text, FALSE);
}

/* ---- Markdown ---- */

/* @of: what stands in front of the name; NULL: the name tells of several columns */
static void
append_reference(GString *text, const ResultTable *self, const char *of, const Column *column)
{
    const ColumnType *type = column->type;
    const char *maybe = is_csv(self) ? " or empty" : ", optional";

    g_string_append_printf(text, of != NULL ? "| `%s%s` |" : "| %s%s |", of != NULL ? of : "",
                           column->name);
    g_string_append_printf(text, " %s%s | %s | %s |\n", type->word, type->is_maybe ? maybe : "",
                           column->unit != NULL ? column->unit : "", column->meaning);
}

/* "items[].metadata." becomes "items[]." */
static void
close_reference(GString *of)
{
    g_string_truncate(of, of->len - 1);
    const char *dot = strrchr(of->str, '.');
    g_string_truncate(of, dot != NULL ? (gsize)(dot + 1 - of->str) : 0);
}

char *
result_table_reference(const ResultTable *self)
{
    GString *text = g_string_new(NULL);
    g_autoptr(GString) of = g_string_new(NULL);

    g_string_append_printf(text, "| %s | Type | Unit | Meaning |\n|---|---|---|---|\n",
                           is_csv(self) ? "Column" : "Member");
    for (const Column *column = self->columns; column->name != NULL || of->len > 0; column++) {
        if (column->name == NULL)
            close_reference(of);
        else if (is_open(column))
            g_string_append_printf(of, "%s%s.", column->name,
                                   column->type == &column_list ? "[]" : "");
        else
            append_reference(text, self, of->str, column);
    }
    if (self->others != NULL)
        append_reference(text, self, NULL, self->others);
    return g_string_free(text, FALSE);
}
