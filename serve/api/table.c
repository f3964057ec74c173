/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "table.h"

#include <string.h>

#include "columns.h"

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

/* Custom resources without additionalPrinterColumns. */
static const KindColumn custom_columns[] = {
    {"Name", cell_value, "metadata.name",              "",          COLUMN_NAME},
    {"Age",  cell_age,   "metadata.creationTimestamp", "<unknown>", 0          },
    {NULL,   NULL,       NULL,                         NULL,        0          },
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
    return strchr(resource->group, '.') != NULL && strstr(resource->group, ".k8s.io") == NULL
               ? custom_columns
               : default_columns;
}

/* Columns whose cells are no strings (pkg/printers/internalversion/printers.go). */
static const struct {
    const char *kind, *column, *type;
} typed_columns[] = {
    {"CSIDriver",           "AttachRequired",      "boolean"},
    {"CSIDriver",           "PodInfoOnMount",      "boolean"},
    {"CSIDriver",           "StorageCapacity",     "boolean"},
    {"CSIDriver",           "RequiresRepublish",   "boolean"},
    {"CSINode",             "Drivers",             "integer"},
    {"VolumeAttachment",    "Attached",            "boolean"},
    {"PodDisruptionBudget", "Allowed Disruptions", "integer"},
    {"CronJob",             "Suspend",             "boolean"},
    {"CronJob",             "Active",              "integer"},
    {"ReplicaSet",          "Desired",             "integer"},
    {"ReplicaSet",          "Current",             "integer"},
    {"ReplicaSet",          "Ready",               "integer"},
    {"DaemonSet",           "Desired",             "integer"},
    {"DaemonSet",           "Current",             "integer"},
    {"DaemonSet",           "Ready",               "integer"},
    {"DaemonSet",           "Up-to-date",          "integer"},
    {"DaemonSet",           "Available",           "integer"},
};

static const char *
type_of(const ApiResource *resource, const KindColumn *column)
{
    for (gsize i = 0; i < G_N_ELEMENTS(typed_columns); i++)
        if (strcmp(typed_columns[i].kind, resource->kind) == 0 &&
            strcmp(typed_columns[i].column, column->name) == 0)
            return typed_columns[i].type;
    return "string";
}

json_t *
table_new(const ApiResource *resource, const char *api_version, gboolean with_columns)
{
    json_t *columns = json_array();
    const KindColumn *column = columns_of(resource);

    for (; with_columns && column->name != NULL; column++)
        json_array_append_new(columns, json_pack("{s:s, s:s, s:s, s:s, s:i}", "name", column->name,
                                                 "type", type_of(resource, column), "format",
                                                 (column->flags & COLUMN_NAME) != 0 ? "name" : "",
                                                 "description", column->path, "priority",
                                                 (column->flags & COLUMN_WIDE) != 0));
    json_t *table = json_pack("{s:s, s:s, s:{}, s:o, s:[]}", "kind", "Table", "apiVersion",
                              api_version, "metadata", "columnDefinitions", columns, "rows");
    if (!with_columns)
        json_object_set_new(table, "columnDefinitions", json_null());
    return table;
}

json_t *
table_metadata(const json_t *object)
{
    json_t *metadata = json_object_get(object, "metadata");

    return json_pack("{s:s, s:s, s:O?}", "kind", "PartialObjectMetadata", "apiVersion",
                     "meta.k8s.io/v1", "metadata", metadata);
}

static json_t *
cell_json(const char *type, const char *text)
{
    char *end;
    gint64 number = g_ascii_strtoll(text, &end, 10);

    if (strcmp(type, "boolean") == 0 && (strcmp(text, "true") == 0 || strcmp(text, "false") == 0))
        return json_boolean(strcmp(text, "true") == 0);
    if (strcmp(type, "integer") == 0 && *text != '\0' && *end == '\0')
        return json_integer(number);
    return json_string(text);
}

void
table_add(
    json_t *table, const ApiResource *resource, json_t *object, TableInclude include, ValueTime now)
{
    json_t *cells = json_array(), *row = json_object();

    for (const KindColumn *column = columns_of(resource); column->name != NULL; column++) {
        g_autoptr(GString) text = g_string_new(NULL);
        Cell cell = {text, object, value_at(object, column->path), column, now};

        column->append(&cell);
        json_array_append_new(cells, cell_json(type_of(resource, column),
                                               text->len > 0 ? text->str : column->missing));
    }
    json_object_set_new(row, "cells", cells);
    if (include == TABLE_METADATA)
        json_object_set_new(row, "object", table_metadata(object));
    else if (include == TABLE_OBJECT)
        json_object_set(row, "object", object);
    json_array_append_new(json_object_get(table, "rows"), row);
}
