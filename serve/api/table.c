/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Tables, as kubectl asks for them: the columns of the kind that `get` prints, those of a
 * CustomResourceDefinition, or name and creation. The cells are made by run/kubectl, so a table of
 * the server and of `kvolsim get` agree. Numbers and truth values are such in JSON even in a column
 * of strings. */
#include "table.h"

#include <string.h>

#include "models/api/fields.h"
#include "run/kubectl/columns.h"
#include "run/kubectl/json-path.h"

#define NAME_DESCRIPTION "The object's name: the only one of its kind in its namespace."

gboolean
table_include_parse(const char *text, TableInclude *include)
{
    if (text == NULL || *text == '\0' || strcmp(text, "Metadata") == 0)
        *include = TABLE_METADATA;
    else if (strcmp(text, "Object") == 0)
        *include = TABLE_OBJECT;
    else if (strcmp(text, "None") == 0)
        *include = TABLE_NONE;
    else
        return FALSE;
    return TRUE;
}

/* Kinds without columns of their own: rest.NewDefaultTableConvertor(). */
static const KindColumn default_columns[] = {
    {"Name",       cell_value, "metadata.name",              "",          COLUMN_NAME},
    {"Created At", cell_value, "metadata.creationTimestamp", "<unknown>", 0          },
    {NULL,         NULL,       NULL,                         NULL,        0          },
};

static const KindColumn *
columns_of(const ApiResource *resource)
{
    g_autofree char *word = *resource->group == '\0'
                                ? g_strdup(resource->resource)
                                : g_strdup_printf("%s.%s", resource->resource, resource->group);
    const KubectlKind *kind = kubectl_kind_find(word);

    const KindColumn *own = columns_find(resource->kind);

    if (own != NULL)
        return own;
    if (kind == NULL)
        kind = kubectl_kind_find(resource->resource);
    if (kind != NULL && strcmp(kind->kind, resource->kind) == 0)
        return kind->columns;
    return default_columns;
}

/* ---- Custom resources: additionalPrinterColumns ---- */

/* Returns: (owned): the columns of a custom resource, without "Name" */
static json_t *
custom_columns(const ApiResource *resource)
{
    json_t *columns = json_object_get(resource->custom, "additionalPrinterColumns");

    if (json_array_size(columns) > 0)
        return json_incref(columns);
    return json_pack("[{s:s, s:s, s:s}]", "name", "Age", "type", "date", "jsonPath",
                     ".metadata.creationTimestamp");
}

/* cellForJSONValue() of apiextensions-apiserver */
static json_t *
custom_cell_value(const char *type, json_t *value, ValueTime now)
{
    if (strcmp(type, "integer") == 0 && json_is_number(value))
        return json_integer((json_int_t)json_number_value(value));
    if (strcmp(type, "number") == 0 && json_is_number(value))
        return json_real(json_number_value(value));
    if (strcmp(type, "boolean") == 0 && json_is_boolean(value))
        return json_incref(value);
    if (strcmp(type, "date") == 0 && json_is_string(value)) {
        json_auto_t *holder = json_pack("{s:O}", "t", value);
        g_autoptr(GString) text = g_string_new(NULL);
        value_append_age(text, value_time(holder, "t"), now);
        return json_string(text->str);
    }
    return NULL;
}

static json_t *
custom_cell(const json_t *column, json_t *object, ValueTime now)
{
    const char *path = json_path_string(column, "jsonPath"),
               *type = json_path_string(column, "type");
    g_autoptr(JsonPath) template = path == NULL ? NULL : json_path_parse_relaxed(path, NULL);
    g_autoptr(GPtrArray) parts = template == NULL ? NULL : json_path_find(template, object, NULL);
    GPtrArray *values = parts == NULL || parts->len == 0 ? NULL : parts->pdata[0];
    json_t *cell = NULL;

    if (values == NULL || values->len == 0 || type == NULL)
        return json_null();
    if (strcmp(type, "string") == 0) {
        g_autoptr(GString) text = g_string_new(NULL);
        value_append_go(text, values->pdata[0]);
        return json_string(text->str);
    }
    cell = custom_cell_value(type, values->pdata[0], now);
    return cell != NULL ? cell : json_null();
}

/* ---- Tables ---- */

static json_t *
definition(
    const char *name, const char *type, const char *format, const char *description, int priority)
{
    return json_pack("{s:s, s:s, s:s, s:s, s:i}", "name", name, "type", type, "format", format,
                     "description", description, "priority", priority);
}

static json_t *
custom_definitions(const ApiResource *resource)
{
    json_auto_t *columns = custom_columns(resource);
    json_t *definitions = json_array(), *column;
    gsize i;

    json_array_append_new(definitions, definition("Name", "string", "name", NAME_DESCRIPTION, 0));
    json_array_foreach(columns, i, column)
        json_array_append_new(
            definitions, definition(value_text(column, "name"), value_text(column, "type"),
                                    value_text(column, "format"), value_text(column, "description"),
                                    (int)json_integer_value(json_object_get(column, "priority"))));
    return definitions;
}

/* Printed names: the object's own, and the attacher of a VolumeAttachment. */
static gboolean
table_is_named(const ApiResource *resource, const KindColumn *column)
{
    return (column->flags & COLUMN_NAME) != 0 ||
           (strcmp(resource->resource, "volumeattachments") == 0 &&
            strcmp(column->name, "Attacher") == 0);
}

static json_t *
definitions_of(const ApiResource *resource)
{
    json_t *definitions = json_array();

    if (resource->custom != NULL) {
        json_decref(definitions);
        return custom_definitions(resource);
    }
    for (const KindColumn *column = columns_of(resource); column->name != NULL; column++)
        json_array_append_new(
            definitions,
            definition(column->name,
                       (column->flags & COLUMN_INTEGER) != 0   ? "integer"
                       : (column->flags & COLUMN_BOOLEAN) != 0 ? "boolean"
                                                               : "string",
                       table_is_named(resource, column) ? "name" : "",
                       (column->flags & COLUMN_NAME) != 0 ? NAME_DESCRIPTION : column->path,
                       (column->flags & COLUMN_WIDE) != 0));
    return definitions;
}

json_t *
table_new(const ApiResource *resource, const char *api_version, gboolean with_columns)
{
    return json_pack("{s:s, s:s, s:{}, s:o, s:[]}", "kind", "Table", "apiVersion", api_version,
                     "metadata", "columnDefinitions",
                     with_columns ? definitions_of(resource) : json_null(), "rows");
}

json_t *
table_metadata(const json_t *object)
{
    json_t *metadata = json_object_get(object, "metadata");

    return json_pack("{s:s, s:s, s:O?}", "kind", "PartialObjectMetadata", "apiVersion",
                     "meta.k8s.io/v1", "metadata", metadata);
}

/* Numbers and truth values are such in JSON, too, even if their column is one of strings. */
static json_t *
cell_json(const KindColumn *column, const char *text)
{
    char *end;
    gint64 number = g_ascii_strtoll(text, &end, 10);

    if ((column->flags & (COLUMN_INTEGER | COLUMN_BOOLEAN | COLUMN_TYPED)) == 0)
        return json_string(text);
    if (strcmp(text, "true") == 0 || strcmp(text, "false") == 0)
        return json_boolean(strcmp(text, "true") == 0);
    return *text != '\0' && *end == '\0' ? json_integer(number) : json_string(text);
}

static json_t *
custom_cells(const ApiResource *resource, json_t *object, ValueTime now)
{
    json_auto_t *columns = custom_columns(resource);
    json_t *cells = json_pack("[s]", value_text(object, "metadata.name")), *column;
    gsize i;

    json_array_foreach(columns, i, column)
        json_array_append_new(cells, custom_cell(column, object, now));
    return cells;
}

static json_t *
cells_of(const ApiResource *resource, json_t *object, ValueTime now)
{
    json_t *cells = json_array();

    for (const KindColumn *column = columns_of(resource); column->name != NULL; column++) {
        g_autoptr(GString) text = g_string_new(NULL);
        Cell cell = {text, object, value_at(object, column->path), column, now};

        column->append(&cell);
        json_array_append_new(cells,
                              cell_json(column, text->len > 0 ? text->str : column->missing));
    }
    return cells;
}

void
table_add(
    json_t *table, const ApiResource *resource, json_t *object, TableInclude include, ValueTime now)
{
    json_t *row = json_pack("{s:o}", "cells",
                            resource->custom != NULL ? custom_cells(resource, object, now)
                                                     : cells_of(resource, object, now));

    if (include == TABLE_METADATA)
        json_object_set_new(row, "object", table_metadata(object));
    else if (include == TABLE_OBJECT)
        json_object_set(row, "object", object);
    json_array_append_new(json_object_get(table, "rows"), row);
}
