/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "run/kubectl/value.h"
#include "serve/api/openapi/discovery.h"

/* Tables, as kubectl get asks for them (meta.k8s.io/v1 Table). */

typedef enum {
    TABLE_METADATA, /* each row has the object's metadata */
    TABLE_OBJECT,   /* ... the object */
    TABLE_NONE,     /* ... nothing */
} TableInclude;

/* Returns: FALSE: @text is not a value of ?includeObject ("Metadata", "Object", "None"; NULL:
 * Metadata) */
gboolean table_include_parse(const char *text, TableInclude *include);

/**
 * table_new:
 * @api_version: of the Table: "meta.k8s.io/v1"
 * @with_columns: columnDefinitions are given: once in a watch
 * Returns: (owned): a table without rows
 */
json_t *table_new(const ApiResource *resource, const char *api_version, gboolean with_columns);
/* Adds a row. @now: the base of ages */
void table_add(json_t *table,
               const ApiResource *resource,
               json_t *object,
               TableInclude include,
               ValueTime now);
/* Returns: (owned): PartialObjectMetadata of an object */
json_t *table_metadata(const json_t *object);
