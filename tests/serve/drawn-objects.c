/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "drawn-objects.h"

#include <string.h>

#include "models/api/release.h"
#include "models/api/schema/resources.h"
#include "run/files/packed.h"
#include "tests/lib/spoil.h"

struct DrawnObjects {
    GRand *random;
    GPtrArray *objects; /* of json_t */
};

/* A kind of the cluster's own, with subresources and a schema. */
static const char definition[] =
    "{\"apiVersion\": \"apiextensions.k8s.io/v1\", \"kind\": \"CustomResourceDefinition\", "
    "\"metadata\": {\"name\": \"toys.example.com\"}, \"spec\": {\"group\": \"example.com\", "
    "\"scope\": \"Namespaced\", \"names\": {\"plural\": \"toys\", \"kind\": \"Toy\"}, "
    "\"versions\": [{\"name\": \"v1\", \"served\": true, \"storage\": true, \"subresources\": "
    "{\"status\": {}, \"scale\": {\"specReplicasPath\": \".spec.replicas\", "
    "\"statusReplicasPath\": \".status.replicas\"}}, \"schema\": {\"openAPIV3Schema\": "
    "{\"type\": \"object\", \"properties\": {\"spec\": {\"type\": \"object\", \"properties\": "
    "{\"replicas\": {\"type\": \"integer\", \"default\": 1}, \"parts\": {\"type\": \"array\", "
    "\"items\": {\"type\": \"object\", \"x-kubernetes-preserve-unknown-fields\": true}}}}, "
    "\"status\": {\"type\": \"object\", \"x-kubernetes-preserve-unknown-fields\": true}}}}}]}}";
static const char toy[] = "{\"apiVersion\": \"example.com/v1\", \"kind\": \"Toy\", \"metadata\": "
                          "{\"name\": \"a\"}, \"spec\": {\"replicas\": 2, \"parts\": [{\"x\": "
                          "[[1]]}]}, \"status\": {\"replicas\": 1}}";

static unsigned
drawn_objects_draw(DrawnObjects *self, gsize n)
{
    return n > 0 ? (unsigned)g_rand_int_range(self->random, 0, (gint32)n) : 0;
}

/* ---- Values ---- */

static json_t *
draw_text(DrawnObjects *self, const SchemaType *type)
{
    static const char *const texts[] = {"",
                                        "a",
                                        "x.y/z",
                                        "A_b",
                                        "10.0.0.0/8",
                                        "::1",
                                        "0",
                                        "-1",
                                        "1Gi",
                                        "1e400",
                                        "9999999999999999999",
                                        "100%",
                                        "In",
                                        "Exists",
                                        "*",
                                        "* * * * *",
                                        "/a/..",
                                        "default",
                                        "node-0",
                                        "fast",
                                        "2026-02-03T04:05:06Z",
                                        "\xc3\xa9",
                                        "$(A)",
                                        "data"};
    const char *const *words = type->words;

    if (words != NULL && drawn_objects_draw(self, 4) > 0)
        return json_string(words[drawn_objects_draw(self, g_strv_length((char **)words))]);
    return json_string(texts[drawn_objects_draw(self, G_N_ELEMENTS(texts))]);
}

static json_t *
draw_number(DrawnObjects *self)
{
    static const gint64 numbers[] = {
        0, 1, 2, -1, 80, 443, 65536, 100, 86400, -2147483648, 2147483647, G_MININT64, G_MAXINT64};

    return json_integer(numbers[drawn_objects_draw(self, G_N_ELEMENTS(numbers))]);
}

static json_t *draw_value(DrawnObjects *self, const SchemaType *type, unsigned depth);

static json_t *
draw_struct(DrawnObjects *self, const SchemaType *type, unsigned depth)
{
    json_t *object = json_object();

    for (const SchemaField *field = type->fields; field != NULL && field->name != NULL; field++)
        if (field->required || (depth > 0 && drawn_objects_draw(self, 3) == 0))
            json_object_set_new(object, field->name,
                                draw_value(self, field->type, depth > 0 ? depth - 1 : 0));
    return object;
}

static json_t *
draw_several(DrawnObjects *self, const SchemaType *type, unsigned depth)
{
    static const char *const keys[] = {"a", "storage", "cpu", "x.y/z", "", "A b", "app"};
    json_t *value = type->shape == SCHEMA_LIST ? json_array() : json_object();

    for (unsigned i = drawn_objects_draw(self, 4); i > 0; i--) {
        json_t *item = draw_value(self, type->element, depth);
        if (type->shape == SCHEMA_LIST)
            json_array_append_new(value, item);
        else
            json_object_set_new(value, keys[drawn_objects_draw(self, G_N_ELEMENTS(keys))], item);
    }
    return value;
}

/* Returns: (owned): a value of @type, which rules may refuse. @depth: how deep fields are drawn
 * that are not required */
static json_t *
draw_value(DrawnObjects *self, const SchemaType *type, unsigned depth)
{
    switch (type->shape) {
    case SCHEMA_BOOL:
        return json_boolean(drawn_objects_draw(self, 2));
    case SCHEMA_INT32:
    case SCHEMA_INT64:
        return draw_number(self);
    case SCHEMA_DOUBLE:
        return json_real(0.5 * drawn_objects_draw(self, 1000));
    case SCHEMA_INT_OR_STRING:
    case SCHEMA_QUANTITY:
        return drawn_objects_draw(self, 2) == 0 ? draw_number(self) : draw_text(self, type);
    case SCHEMA_ANY:
        return json_pack("{s:[i, n]}", "x", 1);
    case SCHEMA_STRUCT:
        return draw_struct(self, type, depth);
    case SCHEMA_LIST:
    case SCHEMA_MAP:
        return draw_several(self, type, depth);
    case SCHEMA_TIME:
    case SCHEMA_MICRO_TIME:
        return json_string(drawn_objects_draw(self, 4) == 0 ? "9999-12-31T23:59:59Z"
                                                            : "2026-02-03T04:05:06Z");
    case SCHEMA_STRING:
    case SCHEMA_BYTES:
        break;
    }
    return draw_text(self, type);
}

/* Goes down from @value of @type as long as it likes, and sets the field where it ends. */
static void
change_one(DrawnObjects *self, const SchemaType *type, json_t *value)
{
    while (type != NULL && type->fields != NULL && json_is_object(value)) {
        gsize n = 0;

        while (type->fields[n].name != NULL)
            n++;
        if (n == 0)
            return;
        const SchemaField *field = &type->fields[drawn_objects_draw(self, n)];
        if (strcmp(field->name, "apiVersion") == 0 || strcmp(field->name, "kind") == 0)
            return;
        json_t *member = json_object_get(value, field->name);
        const SchemaType *inner = field->type;
        if (inner->shape == SCHEMA_LIST && json_array_size(member) > 0 &&
            drawn_objects_draw(self, 4) > 0) {
            member = json_array_get(member, drawn_objects_draw(self, json_array_size(member)));
            inner = inner->element;
        }
        if (!json_is_object(member) || inner->fields == NULL || drawn_objects_draw(self, 8) == 0) {
            json_object_set_new(value, field->name, draw_value(self, field->type, 2));
            return;
        }
        value = member;
        type = inner;
    }
}

void
drawn_objects_change(DrawnObjects *self, const SchemaType *type, json_t *object)
{
    for (unsigned i = drawn_objects_draw(self, 3); i > 0; i--)
        change_one(self, type, object);
}

/* ---- Objects ---- */

const SchemaType *
drawn_type(const json_t *object)
{
    const char *api_version = json_string_value(json_object_get(object, "apiVersion")),
               *kind = json_string_value(json_object_get(object, "kind"));

    return api_version == NULL || kind == NULL ? NULL : schema_find(api_version, kind);
}

/* Returns: (owned): an object of some kind, mostly one that the cluster has */
static json_t *
draw_object(DrawnObjects *self)
{
    const ApiResource *row;
    unsigned n = 0;

    while (api_resource(n) != NULL)
        n++;
    do
        row = api_resource(drawn_objects_draw(self, n));
    while (!api_resource_is_in(row, RELEASE_DEFAULT_MINOR) && drawn_objects_draw(self, 8) > 0);
    const SchemaType *type = schema_find(row->api_version, row->kind);
    json_t *object = type == NULL ? json_object() : draw_struct(self, type, 4);
    json_object_set_new(object, "apiVersion", json_string(row->api_version));
    json_object_set_new(object, "kind", json_string(row->kind));
    if (drawn_objects_draw(self, 4) > 0)
        json_object_set_new(object, "metadata", json_object());
    return object;
}

json_t *
drawn_objects_next(DrawnObjects *self)
{
    static const char *const dropped[] = {"uid", "resourceVersion", "ownerReferences",
                                          "managedFields", "deletionTimestamp"};
    json_t *object =
        drawn_objects_draw(self, 6) == 0
            ? draw_object(self)
            : json_deep_copy(self->objects->pdata[drawn_objects_draw(self, self->objects->len)]);
    json_t *metadata = json_object_get(object, "metadata");

    for (gsize i = 0; i < G_N_ELEMENTS(dropped) && drawn_objects_draw(self, 50) > 0; i++)
        json_object_del(metadata, dropped[i]);
    drawn_objects_change(self, drawn_type(object), object);
    return object;
}

/* Adds @object, and what it is after a merge of @patch (nullable). */
static void
add_object(DrawnObjects *self, const json_t *object, const json_t *patch)
{
    if (json_object_get(object, "kind") == NULL || json_object_get(object, "metadata") == NULL)
        return;
    json_t *copy = json_deep_copy(object);
    if (patch != NULL)
        json_object_update_recursive(copy, (json_t *)patch);
    g_ptr_array_add(self->objects, copy);
}

/* Reads lines of JSON whose members are objects and changes of them. */
static gboolean
read_lines(DrawnObjects *self, const char *folder, const char *name)
{
    static const char *const objects[] = {"object", "body", "after"};
    static const char *const changes[] = {"mend", "change", "fine"};
    g_autofree char *path =
        g_build_filename(g_getenv("KVOLSIM_SRCDIR"), "tests", folder, name, NULL);
    g_autofree char *text = NULL;

    if (!packed_get_contents(path, &text, NULL, NULL))
        return FALSE;
    g_auto(GStrv) lines = g_strsplit(text, "\n", -1);
    for (char **line = lines; *line != NULL; line++) {
        json_auto_t *row = json_loads(*line, 0, NULL);
        for (gsize i = 0; i < G_N_ELEMENTS(objects); i++)
            add_object(self, json_object_get(row, objects[i]), NULL);
        for (gsize i = 0; i < G_N_ELEMENTS(changes); i++)
            if (json_is_object(json_object_get(row, changes[i])))
                add_object(self, json_object_get(row, "object"), json_object_get(row, changes[i]));
    }
    return TRUE;
}

DrawnObjects *
drawn_objects_new(GRand *random)
{
    static const char *const own[] = {definition, definition, toy, toy, toy, toy};
    DrawnObjects *self = g_new0(DrawnObjects, 1);

    self->random = random;
    self->objects = g_ptr_array_new_with_free_func((GDestroyNotify)json_decref);
    for (gsize i = 0; i < G_N_ELEMENTS(own); i++)
        g_ptr_array_add(self->objects, json_loads(own[i], 0, NULL));
    if (g_getenv("KVOLSIM_SRCDIR") != NULL &&
        read_lines(self, "serve", "recorded-writes.jsonl.xz") &&
        read_lines(self, "api/data", "invalid-objects.jsonl") &&
        read_lines(self, "api/data", "invalid-updates.jsonl"))
        return self;
    drawn_objects_free(self);
    return NULL;
}

void
drawn_objects_free(DrawnObjects *self)
{
    if (self == NULL)
        return;
    g_ptr_array_unref(self->objects);
    g_free(self);
}
