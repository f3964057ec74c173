/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "schema-private.h"

#include <string.h>

const SchemaType *
schema_find(const char *api_version, const char *kind)
{
    for (const SchemaKind *row = schema_kinds; row->kind != NULL; row++)
        if (g_strcmp0(row->kind, kind) == 0 &&
            (strcmp(row->api_version, "-") == 0 || g_strcmp0(row->api_version, api_version) == 0))
            return row->type;
    return NULL;
}

const SchemaField *
schema_field(const SchemaType *type, const char *name)
{
    if (type == NULL || type->fields == NULL)
        return NULL;
    for (const SchemaField *field = type->fields; field->name != NULL; field++)
        if (strcmp(field->name, name) == 0)
            return field;
    return NULL;
}

const SchemaType *
schema_member(const SchemaType *type, const char *name)
{
    const SchemaField *field = schema_field(type, name);

    if (field == NULL && type != NULL && type->shape == SCHEMA_MAP)
        return type->element;
    return field != NULL ? field->type : NULL;
}

const SchemaType *
schema_struct(unsigned n)
{
    return schema_structs[n];
}
