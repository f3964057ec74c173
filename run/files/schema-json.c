/* SPDX-License-Identifier: GPL-3.0-or-later */
/* JSON Schema and the reference in Markdown, made from the same tables that read the files: so
 * neither can tell another thing than the reader does. A type has its schema as a text, or a
 * function that makes it from words, bounds or fields. Validators take no list of types but of one
 * and null, so choices are written as anyOf. */
#include "schema-private.h"

/* ---- JSON Schema ---- */

json_t *
schema_json(const FileType *type)
{
    return type->schema_text != NULL ? json_loads(type->schema_text, 0, NULL) : type->schema(type);
}

json_t *
schema_json_string(const FileType *type)
{
    if (type->min == 0)
        return json_pack("{s:s}", "type", "string");
    return json_pack("{s:s, s:i}", "type", "string", "minLength", 1);
}

json_t *
schema_json_integer(const FileType *type)
{
    return json_pack("{s:s, s:I, s:I}", "type", "integer", "minimum", (json_int_t)type->min,
                     "maximum", (json_int_t)type->max);
}

json_t *
schema_json_number(const FileType *type)
{
    return json_pack("{s:s, s:f, s:f}", "type", "number", "minimum", type->min, "maximum",
                     type->max);
}

json_t *
schema_json_ref(const FileType *type)
{
    g_autofree char *ref = g_strdup_printf("#/$defs/%s", type->name);
    return json_pack("{s:s}", "$ref", ref);
}

json_t *
schema_json_map(const FileType *type)
{
    json_t *schema = json_pack("{s:s}", "type", "object");

    if (type->item != NULL)
        json_object_set_new(schema, "additionalProperties", schema_json(type->item));
    return schema;
}

json_t *
schema_json_list(const FileType *type)
{
    return json_pack("{s:s, s:o}", "type", "array", "items", schema_json(type->item));
}

json_t *
schema_json_enum(const FileType *type)
{
    json_t *words = json_array();

    for (unsigned i = 0; type->words[i] != NULL; i++)
        json_array_append_new(words, json_string(type->words[i]));
    return json_pack("{s:o}", "enum", words);
}

json_t *
schema_json_struct(const FileType *type)
{
    json_t *properties = json_object();
    json_t *required = json_array();

    for (const FileField *field = type->fields; field->name != NULL; field++) {
        json_t *schema = schema_json(field->type);
        if (field->help != NULL)
            json_object_set_new(schema, "description", json_string(field->help));
        json_object_set_new(properties, field->name, schema);
        if ((field->flags & SCHEMA_REQUIRED) != 0)
            json_array_append_new(required, json_string(field->name));
    }
    return json_pack("{s:s, s:o, s:o, s:b}", "type", "object", "properties", properties, "required",
                     required, "additionalProperties", 0);
}

/* Strict validators take no list of types but of one and null, so these are alternatives. */
json_t *
schema_json_document(const FileType *type, const char *kind)
{
    json_t *schema = schema_json(type);
    json_t *definitions = json_pack(
        "{s:{s:[{s:s, s:s}, {s:s}], s:s}, s:{s:[{s:s}, {s:s}], s:s}, "
        "s:{s:[{s:s}, {s:s, s:i, s:i}], s:s}}",
        "duration", "anyOf", "type", "string", "pattern", "^([0-9.]+(ns|us|ms|s|m|h))+$|^0$",
        "type", "integer", "description", "as Go writes it: 1h2m3.5s", "quantity", "anyOf", "type",
        "string", "type", "number", "description", "as Kubernetes writes it: 10Gi, 500m",
        "distribution", "anyOf", "$ref", "#/$defs/duration", "type", "object", "minProperties", 1,
        "maxProperties", 1, "description", "a duration, or {kind: arguments}");
    g_autofree char *id = g_strdup_printf("https://kvolsim.io/v1/schemas/%s.schema.json", kind);
    g_autofree char *title = g_strconcat("kvolsim ", kind, NULL);

    json_object_set_new(schema, "$schema",
                        json_string("https://json-schema.org/draft/2020-12/schema"));
    json_object_set_new(schema, "$id", json_string(id));
    json_object_set_new(schema, "title", json_string(title));
    json_object_set_new(schema, "$defs", definitions);
    return schema;
}

/* ---- The reference ---- */

/* The struct in a type or in its items. NULL: none */
static const FileType *
struct_below(const FileType *type)
{
    while (type != NULL && type->fields == NULL)
        type = type->item;
    return type;
}

static void
append_type(const FileType *type, GString *text)
{
    if (type->words != NULL) {
        g_autofree char *words = g_strjoinv("`, `", (char **)type->words);
        g_string_append_printf(text, "`%s`", words);
    } else if (type->item != NULL && type->read == schema_read_list) {
        g_string_append(text, "list of ");
        append_type(type->item, text);
    } else {
        g_string_append(text, type->name);
    }
}

void
schema_reference(const FileType *type, const char *title, unsigned level, GString *text)
{
    g_string_append_printf(text, "\n%.*s `%s`\n\n", (int)MIN(level, 6), "######", title);
    g_string_append(text, "| field | what | default | meaning |\n|---|---|---|---|\n");
    for (const FileField *field = type->fields; field->name != NULL; field++) {
        g_string_append_printf(text, "| `%s` | ", field->name);
        append_type(field->type, text);
        g_string_append_printf(text, " | %s | %s |\n",
                               (field->flags & SCHEMA_REQUIRED) != 0 ? "required"
                               : field->default_text != NULL         ? field->default_text
                                                                     : "",
                               field->help != NULL ? field->help : "");
    }
    for (const FileField *field = type->fields; field->name != NULL; field++) {
        const FileType *below = struct_below(field->type);
        if (below == NULL)
            continue;
        g_autofree char *path = g_strdup_printf("%s.%s%s", title, field->name,
                                                field->type->read == schema_read_list ? "[]" : "");
        schema_reference(below, path, level + 1, text);
    }
}
