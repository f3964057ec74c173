/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Types of the schema as OpenAPI, version 2 and 3. Structs are named and referred to; how lists
 * merge is told by the extensions of Kubernetes, which kubectl and server-side apply read. Each
 * field has a note about whether it is modelled, stored, or ignored, from the table of field
 * effects. In version 3 nothing may stand beside a reference. */
#include "openapi-types.h"

#include <string.h>

#include "run/scenario/effects.h"

#define META "io.k8s.apimachinery.pkg.apis.meta.v1."

json_t *
openapi_ref(OpenApiVersion version, const char *name)
{
    g_autofree char *path =
        g_strconcat(version == OPENAPI_V3 ? "#/components/schemas/" : "#/definitions/", name, NULL);

    return json_pack("{s:s}", "$ref", path);
}

/* The types with a name that are no structs. */
static const char *
scalar_name(const SchemaType *type)
{
    switch ((int)type->shape) {
    case SCHEMA_TIME:
        return META "Time";
    case SCHEMA_MICRO_TIME:
        return META "MicroTime";
    case SCHEMA_QUANTITY:
        return "io.k8s.apimachinery.pkg.api.resource.Quantity";
    case SCHEMA_INT_OR_STRING:
        return "io.k8s.apimachinery.pkg.util.intstr.IntOrString";
    default:
        return type->name; /* a struct, or one of several types */
    }
}

/* Returns: (owned): the schema of a type without a name, or of one that is no struct */
static json_t *
plain_schema(OpenApiVersion version, const SchemaType *type)
{
    json_t *schema;

    switch (type->shape) {
    case SCHEMA_STRING:
        schema = json_pack("{s:s}", "type", "string");
        for (unsigned i = 0; type->words != NULL && type->words[i] != NULL; i++) {
            if (i == 0)
                json_object_set_new(schema, "enum", json_array());
            json_array_append_new(json_object_get(schema, "enum"), json_string(type->words[i]));
        }
        return schema;
    case SCHEMA_BYTES:
        return json_pack("{s:s, s:s}", "type", "string", "format", "byte");
    case SCHEMA_BOOL:
        return json_pack("{s:s}", "type", "boolean");
    case SCHEMA_INT32:
        return json_pack("{s:s, s:s}", "type", "integer", "format", "int32");
    case SCHEMA_INT64:
        return json_pack("{s:s, s:s}", "type", "integer", "format", "int64");
    case SCHEMA_DOUBLE:
        return json_pack("{s:s, s:s}", "type", "number", "format", "double");
    case SCHEMA_TIME:
    case SCHEMA_MICRO_TIME:
        return json_pack("{s:s, s:s}", "type", "string", "format", "date-time");
    case SCHEMA_QUANTITY:
        return version == OPENAPI_V2
                   ? json_pack("{s:s}", "type", "string")
                   : json_pack("{s:[{s:s}, {s:s}]}", "oneOf", "type", "string", "type", "number");
    case SCHEMA_INT_OR_STRING:
        return version == OPENAPI_V2
                   ? json_pack("{s:s, s:s}", "type", "string", "format", "int-or-string")
                   : json_pack("{s:s, s:[{s:s}, {s:s}]}", "format", "int-or-string", "oneOf",
                               "type", "integer", "type", "string");
    case SCHEMA_ANY:
        if (type->choices != NULL)
            return json_object();
        return json_pack("{s:s, s:b}", "type", "object", "x-kubernetes-preserve-unknown-fields", 1);
    case SCHEMA_STRUCT:
    case SCHEMA_LIST:
    case SCHEMA_MAP:
        break;
    }
    g_assert_not_reached();
}

static json_t *type_schema(OpenApiVersion version, const SchemaType *type);

/* How lists merge, for server-side apply and for strategic merge patches. */
static void
add_list_extensions(json_t *schema, const SchemaType *type)
{
    static const char *const words[] = {[SCHEMA_ATOMIC] = "atomic",
                                        [SCHEMA_GRANULAR] = "granular",
                                        [SCHEMA_SET] = "set",
                                        [SCHEMA_KEYED] = "map"};
    json_t *keys = json_array();

    for (unsigned i = 0; type->keys != NULL && type->keys[i] != NULL; i++)
        json_array_append_new(keys, json_string(type->keys[i]));
    if (json_array_size(keys) > 0)
        json_object_set(schema, "x-kubernetes-list-map-keys", keys);
    json_decref(keys);
    json_object_set_new(schema, "x-kubernetes-list-type", json_string(words[type->merge]));
    if (type->patch_merge_key != NULL)
        json_object_set_new(schema, "x-kubernetes-patch-merge-key",
                            json_string(type->patch_merge_key));
    if (type->patch_merges)
        json_object_set_new(schema, "x-kubernetes-patch-strategy",
                            json_string(type->patch_retains_keys ? "merge,retainKeys" : "merge"));
}

/* Returns: (owned): a list, a map, a scalar, or a reference */
static json_t *
type_schema(OpenApiVersion version, const SchemaType *type)
{
    const char *name = scalar_name(type);
    json_t *schema;

    if (type->shape == SCHEMA_LIST) {
        schema =
            json_pack("{s:s, s:o}", "type", "array", "items", type_schema(version, type->element));
        add_list_extensions(schema, type);
        return schema;
    }
    if (type->shape == SCHEMA_MAP) {
        schema = json_pack("{s:s, s:o}", "type", "object", "additionalProperties",
                           type_schema(version, type->element));
        if (type->merge == SCHEMA_ATOMIC)
            json_object_set_new(schema, "x-kubernetes-map-type", json_string("atomic"));
        return schema;
    }
    return name != NULL ? openapi_ref(version, name) : plain_schema(version, type);
}

/* Returns: (owned): a property; in version 3 nothing may stand beside a reference */
static json_t *
field_schema(OpenApiVersion version, const SchemaField *field, const char *note)
{
    json_t *schema = type_schema(version, field->type);
    gboolean has_more = note != NULL || field->fallback != NULL ||
                        field->type->patch_retains_keys || field->type->patch_replaces ||
                        field->type->granular;

    if (version == OPENAPI_V3 && has_more && json_object_get(schema, "$ref") != NULL)
        schema = json_pack("{s:[o]}", "allOf", schema);
    if (note != NULL)
        json_object_set_new(schema, "description", json_string(note));
    if (field->fallback != NULL)
        json_object_set_new(schema, "default", json_loads(field->fallback, JSON_DECODE_ANY, NULL));
    if (field->type->shape == SCHEMA_STRUCT && field->type->patch_retains_keys)
        json_object_set_new(schema, "x-kubernetes-patch-strategy", json_string("retainKeys"));
    if (field->type->granular)
        json_object_set_new(schema, "x-kubernetes-map-type", json_string("granular"));
    if (field->type->patch_replaces)
        json_object_set_new(schema, "x-kubernetes-patch-strategy", json_string("replace"));
    return schema;
}

/* Returns: (owned): the schema of a struct */
static json_t *
struct_schema(OpenApiVersion version, int minor, const SchemaType *type, GHashTable *notes)
{
    json_t *schema = json_pack("{s:s}", "type", "object"), *properties = json_object();
    json_t *required = json_array();

    for (const SchemaField *field = type->fields; field->name != NULL; field++) {
        g_autofree char *key = g_strconcat(type->name, ".", field->name, NULL);

        if (!schema_is_in(field, minor))
            continue;
        const char *text = openapi_description(type->name, field->name),
                   *note = g_hash_table_lookup(notes, key);
        g_autofree char *both =
            text != NULL && note != NULL ? g_strconcat(text, " ", note, NULL) : NULL;

        json_object_set_new(properties, field->name,
                            field_schema(version, field,
                                         both != NULL   ? both
                                         : text != NULL ? text
                                                        : note));
        if (field->required)
            json_array_append_new(required, json_string(field->name));
    }
    if (json_array_size(required) > 0)
        json_object_set(schema, "required", required);
    json_decref(required);
    json_object_set_new(schema, "properties", properties);
    if (openapi_description(type->name, NULL) != NULL)
        json_object_set_new(schema, "description",
                            json_string(openapi_description(type->name, NULL)));
    if (type->merge == SCHEMA_ATOMIC)
        json_object_set_new(schema, "x-kubernetes-map-type", json_string("atomic"));
    return schema;
}

void
openapi_add_type(
    OpenApiVersion version, int minor, json_t *schemas, const SchemaType *type, GHashTable *notes)
{
    while (type->element != NULL)
        type = type->element;
    const char *name = scalar_name(type);

    if (name == NULL || json_object_get(schemas, name) != NULL)
        return;
    if (type->shape != SCHEMA_STRUCT) {
        json_object_set_new(schemas, name, plain_schema(version, type));
        return;
    }
    json_object_set_new(schemas, name, struct_schema(version, minor, type, notes));
    for (const SchemaField *field = type->fields; field->name != NULL; field++)
        if (schema_is_in(field, minor))
            openapi_add_type(version, minor, schemas, field->type, notes);
}

/* Finds the field at @path ("spec.volumes[].image") of a kind. Returns: the struct that has it;
 * NULL: there is none */
static const SchemaType *
find_field(const SchemaType *type, const char *path, const SchemaField **field)
{
    g_auto(GStrv) names = g_strsplit(path, ".", -1);
    const SchemaType *within = NULL;

    for (char **name = names; *name != NULL; name++) {
        char *bracket = strchr(*name, '[');

        if (bracket != NULL && bracket[1] != ']')
            return NULL; /* a key of a map */
        if (bracket != NULL)
            *bracket = '\0';
        while (type != NULL && type->element != NULL)
            type = type->element;
        within = type;
        *field = schema_field(type, *name);
        if (*field == NULL)
            return NULL;
        type = (*field)->type;
    }
    return within;
}

/* Returns: (owned): the description of a field; NULL: none */
static char *
note_of(const FieldEffect *effect)
{
    switch (effect->class) {
    case FIELD_MODELLED:
        return g_strdup("Modelled.");
    case FIELD_NOT_MODELLED:
        return effect->value == NULL ? g_strdup_printf("Not modelled: %s.", effect->text)
                                     : g_strdup_printf("Other values than %s are not modelled: %s.",
                                                       effect->value, effect->text);
    case FIELD_NO_EFFECT:
        return g_strdup("Stored; it has no effect on storage.");
    case FIELD_LEFT_OUT:
        return g_strdup("Stored; the README tells what is missing.");
    case FIELD_AS:
        return NULL;
    }
    g_assert_not_reached();
}

GHashTable *
openapi_notes(void)
{
    GHashTable *notes = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);

    for (unsigned i = 0; i < n_field_effects; i++)
        for (const SchemaKind *row = schema_kinds; row->kind != NULL; row++) {
            const SchemaField *field;
            const SchemaType *within = strcmp(row->kind, field_effects[i].kind) == 0
                                           ? find_field(row->type, field_effects[i].path, &field)
                                           : NULL;
            g_autofree char *note = within != NULL ? note_of(&field_effects[i]) : NULL;

            if (note == NULL)
                continue;
            char *key = g_strconcat(within->name, ".", field->name, NULL);
            if (g_hash_table_contains(notes, key))
                g_free(key);
            else
                g_hash_table_insert(notes, key, g_steal_pointer(&note));
        }
    return notes;
}
