/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Resources of stored CustomResourceDefinitions: rows like those of built-in kinds, with types made
 * of their schemas. A holder of a row counts as a reference to the whole set, so an answer under
 * way survives a change of a definition. A version without a schema takes any fields. The status
 * and the conditions that the server writes into a new definition are made here, too. */
#include "custom.h"

#include <string.h>

#include "models/api/fields.h"
#include "sim/ref.h"

struct CustomResources {
    RefCount refs;
    json_t *definitions; /* (owned) */
    GPtrArray *rows;     /* of ApiResource */
    GPtrArray *blocks;   /* (owned): their strings and types */
};

static void *
custom_keep(CustomResources *self, void *block)
{
    g_ptr_array_add(self->blocks, block);
    return block;
}

/* Returns: (borrowed): the strings of @list with blanks between; NULL: there are none */
static const char *
joined(CustomResources *self, const json_t *list)
{
    g_autoptr(GString) text = g_string_new(NULL);
    json_t *item;
    gsize i;

    json_array_foreach((json_t *)list, i, item) {
        if (json_is_string(item))
            g_string_append_printf(text, "%s%s", text->len > 0 ? " " : "", json_string_value(item));
    }
    return text->len > 0 ? custom_keep(self, g_strdup(text->str)) : NULL;
}

/* ---- Types ---- */

static const struct {
    const char *type, *format;
    SchemaShape shape;
} shapes[] = {
    {"string",  "byte",      SCHEMA_BYTES },
    {"string",  "date-time", SCHEMA_TIME  },
    {"string",  NULL,        SCHEMA_STRING},
    {"boolean", NULL,        SCHEMA_BOOL  },
    {"integer", "int32",     SCHEMA_INT32 },
    {"integer", NULL,        SCHEMA_INT64 },
    {"number",  NULL,        SCHEMA_DOUBLE},
    {"array",   NULL,        SCHEMA_LIST  },
    {"object",  NULL,        SCHEMA_STRUCT},
};

static SchemaShape
shape_of(const json_t *schema)
{
    const char *type = json_path_string(schema, "type"),
               *format = json_path_string(schema, "format");

    if (json_is_true(json_object_get(schema, "x-kubernetes-int-or-string")))
        return SCHEMA_INT_OR_STRING;
    for (gsize i = 0; i < G_N_ELEMENTS(shapes); i++)
        if (g_strcmp0(type, shapes[i].type) == 0 &&
            (shapes[i].format == NULL || g_strcmp0(format, shapes[i].format) == 0))
            return shapes[i].shape;
    return SCHEMA_ANY;
}

static gboolean
says(const json_t *schema, const char *name, const char *word)
{
    return g_strcmp0(json_string_value(json_object_get(schema, name)), word) == 0;
}

static const char *const *
keys_of(CustomResources *self, const json_t *schema)
{
    const json_t *list = json_object_get(schema, "x-kubernetes-list-map-keys");
    const char **keys = custom_keep(self, g_new0(const char *, json_array_size(list) + 1));

    for (gsize i = 0; i < json_array_size(list); i++)
        keys[i] = json_string_value(json_array_get(list, i));
    return keys;
}

static const SchemaType *type_of(CustomResources *self, const json_t *schema);

static int
by_name(const void *a, const void *b)
{
    return strcmp(((const SchemaField *)a)->name, ((const SchemaField *)b)->name);
}

static const SchemaField *
fields_of(CustomResources *self, const json_t *schema)
{
    json_t *properties = json_object_get(schema, "properties"), *property;
    SchemaField *fields = custom_keep(self, g_new0(SchemaField, json_object_size(properties) + 1));
    const char *name;
    unsigned n = 0;

    json_object_foreach(properties, name, property) {
        const json_t *fallback = json_object_get(property, "default");
        char *text = fallback == NULL ? NULL : json_dumps(fallback, JSON_COMPACT | JSON_ENCODE_ANY);
        fields[n++] = (SchemaField){
            .name = name,
            .type = type_of(self, property),
            .required = json_list_has(json_object_get(schema, "required"), name),
            .fallback = text == NULL ? NULL : custom_keep(self, g_strdup(text)),
        };
        free(text);
    }
    qsort(fields, n, sizeof *fields, by_name);
    return fields;
}

/* Returns: (borrowed): NULL: any value */
static const SchemaType *
type_of(CustomResources *self, const json_t *schema)
{
    SchemaType *type = custom_keep(self, g_new0(SchemaType, 1));
    const json_t *members = json_object_get(schema, "additionalProperties");
    gboolean is_open =
        json_is_true(json_object_get(schema, "x-kubernetes-preserve-unknown-fields"));

    type->shape = shape_of(schema);
    type->merge = SCHEMA_ATOMIC;
    if (type->shape == SCHEMA_LIST) {
        type->element = type_of(self, json_object_get(schema, "items"));
        if (says(schema, "x-kubernetes-list-type", "set"))
            type->merge = SCHEMA_SET;
        if (says(schema, "x-kubernetes-list-type", "map")) {
            type->merge = SCHEMA_KEYED;
            type->keys = keys_of(self, schema);
        }
    } else if (type->shape == SCHEMA_STRUCT) {
        if (!says(schema, "x-kubernetes-map-type", "atomic"))
            type->merge = SCHEMA_GRANULAR;
        if (members != NULL || is_open) {
            type->shape = SCHEMA_MAP;
            type->element = json_is_object(members) ? type_of(self, members) : NULL;
        }
        if (json_is_true(json_object_get(schema, "x-kubernetes-embedded-resource")))
            type->shape = SCHEMA_ANY;
        type->fields = fields_of(self, schema);
    }
    return type;
}

/* The fields that every object has; the definition's schema may leave them out. */
static const SchemaType *
root_type(CustomResources *self, const json_t *schema)
{
    const SchemaType *known = schema_find("v1", "ConfigMap");
    static const char *const names[] = {"apiVersion", "kind", "metadata"};
    SchemaType *type;
    unsigned n = 0, m = 0;

    if (json_object_get(schema, "properties") == NULL)
        return NULL; /* any fields */
    type = (SchemaType *)type_of(self, schema);
    type->custom = TRUE;
    while (type->fields[n].name != NULL)
        n++;
    SchemaField *fields = custom_keep(self, g_new0(SchemaField, n + G_N_ELEMENTS(names) + 1));
    for (unsigned i = 0; i < n; i++)
        if (!g_strv_contains(names, type->fields[i].name))
            fields[m++] = type->fields[i];
    for (gsize i = 0; i < G_N_ELEMENTS(names); i++)
        fields[m++] = *schema_field(known, names[i]);
    qsort(fields, m, sizeof *fields, by_name);
    type->fields = fields;
    return type;
}

void
custom_set_defaults(const SchemaType *type, json_t *object)
{
    const char *name;
    json_t *member;
    gsize i;

    if (type == NULL)
        return;
    for (const SchemaField *field = type->fields;
         json_is_object(object) && field != NULL && field->name != NULL; field++)
        if (field->fallback != NULL && json_object_get(object, field->name) == NULL)
            json_object_set_new(object, field->name,
                                json_loads(field->fallback, JSON_DECODE_ANY, NULL));
    json_object_foreach(object, name, member)
        custom_set_defaults(schema_member(type, name), member);
    json_array_foreach(object, i, member)
        custom_set_defaults(type->element, member);
}

/* ---- Definitions ---- */

static json_t *
condition(const char *type, const char *reason, const char *message, const char *now)
{
    return json_pack("{s:s, s:s, s:s, s:s, s:s}", "type", type, "status", "True",
                     "lastTransitionTime", now, "reason", reason, "message", message);
}

void
custom_complete_definition(json_t *definition, const char *now)
{
    json_t *spec = json_object_get(definition, "spec"), *names = json_object_get(spec, "names"),
           *version;
    const char *kind = json_path_string(names, "kind");
    json_t *stored = json_array();
    gsize i;

    json_array_foreach(json_object_get(spec, "versions"), i, version)
        if (json_is_true(json_object_get(version, "storage")) &&
            json_path_string(version, "name") != NULL)
            json_array_append(stored, json_object_get(version, "name"));
    if (kind != NULL) {
        g_autofree char *singular = g_ascii_strdown(kind, -1),
                        *list = g_strconcat(kind, "List", NULL);
        json_set_missing(names, "singular", json_string(singular));
        json_set_missing(names, "listKind", json_string(list));
    }
    if (json_is_object(spec))
        json_set_missing(spec, "conversion", json_pack("{s:s}", "strategy", "None"));
    json_set_missing(definition, "status", json_object());
    json_t *status = json_object_get(definition, "status");
    json_object_set(status, "acceptedNames", names);
    json_set_missing(status, "storedVersions", json_incref(stored));
    json_set_missing(status, "conditions",
                     json_pack("[o, o]",
                               condition("NamesAccepted", "NoConflicts", "no conflicts found", now),
                               condition("Established", "InitialNamesAccepted",
                                         "the initial names have been accepted", now)));
    json_decref(stored);
}

/* ---- Resources ---- */

static void
add_version(CustomResources *self, const json_t *spec, const json_t *version)
{
    const json_t *names = json_object_get(spec, "names");
    const char *group = json_path_string(spec, "group"),
               *plural = json_path_string(names, "plural"), *kind = json_path_string(names, "kind"),
               *name = json_path_string(version, "name");
    const json_t *scale = json_path_get(version, "subresources.scale");
    gboolean has_status = json_path_get(version, "subresources.status") != NULL;

    if (group == NULL || plural == NULL || kind == NULL || name == NULL ||
        !json_is_true(json_object_get(version, "served")) ||
        api_resource_find(group, name, plural) != NULL)
        return;
    ApiResource *row = g_new(ApiResource, 1);
    *row = (ApiResource){
        .group = group,
        .version = name,
        .resource = plural,
        .kind = kind,
        .namespaced = says(spec, "scope", "Namespaced"),
        .short_names = joined(self, json_object_get(names, "shortNames")),
        .categories = joined(self, json_object_get(names, "categories")),
        .verbs = CUSTOM_VERBS,
        .subresources = has_status && scale != NULL ? "scale status"
                        : has_status                ? "status"
                        : scale != NULL             ? "scale"
                                                    : NULL,
        .custom = version,
        .type = root_type(self, json_path_get(version, "schema.openAPIV3Schema")),
    };
    g_ptr_array_add(self->rows, row);
}

static int
by_group(const void *a, const void *b)
{
    const ApiResource *x = *(ApiResource *const *)a, *y = *(ApiResource *const *)b;

    return strcmp(x->group, y->group) ?: strcmp(x->resource, y->resource);
}

CustomResources *
custom_resources_new(json_t *definitions)
{
    CustomResources *self = g_new(CustomResources, 1);
    json_t *definition, *version;
    gsize i, k;

    *self = (CustomResources){REF_COUNT_ONE, definitions, g_ptr_array_new_with_free_func(g_free),
                              g_ptr_array_new_with_free_func(g_free)};
    json_array_foreach(definitions, i, definition) {
        const json_t *spec = json_object_get(definition, "spec");
        json_array_foreach(json_object_get(spec, "versions"), k, version)
            add_version(self, spec, version);
    }
    g_ptr_array_sort(self->rows, by_group);
    return self;
}

static void
custom_resources_free(CustomResources *self)
{
    g_ptr_array_unref(self->rows);
    g_ptr_array_unref(self->blocks);
    json_decref(self->definitions);
    g_free(self);
}

REF_COUNTED_DEFINE(CustomResources, custom_resources, custom_resources_free)

const ApiResource *
custom_resource(const CustomResources *self, unsigned n)
{
    return self != NULL && n < self->rows->len ? self->rows->pdata[n] : NULL;
}
