/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "checks.h"
#include "models/api/fields.h"
#include "models/api/schema/schema.h"

/* Members that Kubernetes' types do not have: the typing errors of a manifest. */

static void
report_unknown(ApiParser *parser, const SchemaType *type, const char *key, const json_t *value)
{
    g_autoptr(GPtrArray) names = g_ptr_array_new();

    for (const SchemaField *field = type->fields; field->name != NULL; field++)
        g_ptr_array_add(names, (char *)field->name);
    g_autofree char *hint = name_hint(key, (const char *const *)names->pdata, names->len);
    gsize length = api_parser_enter(parser, key);
    api_parser_fault(parser, value, hint, "unknown field");
    api_parser_leave(parser, length);
}

/* Reports a value that is no object; its later reader need not report it again. */
static void
report_shape(ApiParser *parser, const json_t *value)
{
    api_parser_expect(parser, value, JSON_OBJECT);
    if (parser->told == NULL)
        parser->told = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    g_hash_table_add(parser->told, g_strdup(parser->path->str));
}

static void
check_struct(ApiParser *parser, const SchemaType *type, const json_t *object)
{
    const char *key;
    json_t *value;

    json_object_foreach((json_t *)object, key, value) {
        const SchemaField *field = schema_field(type, key);
        if (field == NULL) {
            report_unknown(parser, type, key, value);
            continue;
        }
        gsize length = api_parser_enter(parser, key);
        unknown_fields_report(parser, field->type, value);
        api_parser_leave(parser, length);
    }
}

void
unknown_fields_report(ApiParser *parser, const SchemaType *type, const json_t *value)
{
    const char *key;
    json_t *item;
    gsize length;

    if (type == NULL || json_is_null(value))
        return;
    if (type->shape == SCHEMA_STRUCT && !json_is_object(value)) {
        report_shape(parser, value);
    } else if (type->shape == SCHEMA_STRUCT) {
        check_struct(parser, type, value);
    } else if (type->shape == SCHEMA_LIST) {
        for (gsize i = 0; i < json_array_size(value); i++) {
            length = api_parser_enter_index(parser, (unsigned)i);
            unknown_fields_report(parser, type->element, json_array_get(value, i));
            api_parser_leave(parser, length);
        }
    } else if (type->shape == SCHEMA_MAP) {
        json_object_foreach((json_t *)value, key, item) {
            length = api_parser_enter_member(parser, key);
            unknown_fields_report(parser, type->element, item);
            api_parser_leave(parser, length);
        }
    }
}
