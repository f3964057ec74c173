/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <string.h>

#include "models/api/fields.h"
#include "protobuf.h"

/* An OpenAPI document of version 2 has some things in other places in protobuf than in JSON: what
 * begins with "x-" is a map of YAML texts (JSON is YAML), so are defaults and enumerations, and
 * parameters stand in messages by where they are given. The rest is as the types' table tells. */

typedef json_t *(*Prepare)(const json_t *value); /* returns: (owned) */

/* Returns: (owned): {yaml: text} */
static json_t *
openapi_document_value_of(const json_t *value)
{
    char *text = json_dumps(value, JSON_COMPACT | JSON_ENCODE_ANY);
    json_t *wrapped = json_pack("{s:s}", "yaml", text);

    free(text);
    return wrapped;
}

static json_t *
each_member(const json_t *map, Prepare prepare)
{
    json_t *copy = json_object(), *member;
    const char *name;

    json_object_foreach((json_t *)map, name, member)
        json_object_set_new(copy, name, prepare(member));
    return copy;
}

static json_t *
each_item(const json_t *list, Prepare prepare)
{
    json_t *copy = json_array(), *item;
    gsize i;

    json_array_foreach((json_t *)list, i, item)
        json_array_append_new(copy, prepare(item));
    return copy;
}

static json_t *
parameter(const json_t *about)
{
    return json_pack("{s:O}", json_path_string(about, "in"), about);
}

static json_t *schema(const json_t *about);

static json_t *
response(const json_t *about)
{
    json_t *copy = json_copy((json_t *)about);
    const json_t *inner = json_object_get(about, "schema");

    if (inner != NULL)
        json_object_set_new(copy, "schema", schema(inner));
    return copy;
}

/* Members that are more than they seem. */
static const struct {
    const char *name;
    Prepare prepare;
    Prepare each; /* of a list's items or a map's members; NULL: of the whole value */
} members[] = {
    {"additionalProperties", schema,                    NULL                     },
    {"allOf",                NULL,                      schema                   },
    {"default",              openapi_document_value_of, NULL                     },
    {"enum",                 NULL,                      openapi_document_value_of},
    {"items",                schema,                    NULL                     },
    {"parameters",           NULL,                      parameter                },
    {"properties",           NULL,                      schema                   },
    {"responses",            NULL,                      response                 },
};

static json_t *
prepared(const char *name, const json_t *value)
{
    for (gsize i = 0; i < G_N_ELEMENTS(members); i++)
        if (strcmp(members[i].name, name) == 0)
            return members[i].each == NULL ? members[i].prepare(value)
                   : json_is_object(value) ? each_member(value, members[i].each)
                                           : each_item(value, members[i].each);
    return json_incref((json_t *)value);
}

/* A schema or an operation: both have extensions. */
static json_t *
schema(const json_t *about)
{
    json_t *copy = json_object(), *extensions = json_object(), *member;
    const char *name;

    json_object_foreach((json_t *)about, name, member) {
        if (g_str_has_prefix(name, "x-"))
            json_object_set_new(extensions, name, openapi_document_value_of(member));
        else
            json_object_set_new(copy, name, prepared(name, member));
    }
    json_object_set_new(copy, "extensions", extensions);
    return copy;
}

static json_t *
path_item(const json_t *about)
{
    json_t *copy = json_object(), *member;
    const char *name;

    json_object_foreach((json_t *)about, name, member)
        json_object_set_new(copy, name,
                            json_is_array(member) ? prepared(name, member) : schema(member));
    return copy;
}

GBytes *
protobuf_encode_openapi(const json_t *document)
{
    json_auto_t *copy = json_copy((json_t *)document);
    const SchemaType *type;
    unsigned n = 0;

    while ((type = schema_struct(n)) != NULL && strcmp(type->name, "openapi.v2.Document") != 0)
        n++;
    json_object_set_new(copy, "paths", each_member(json_object_get(document, "paths"), path_item));
    json_object_set_new(copy, "definitions",
                        each_member(json_object_get(document, "definitions"), schema));
    return protobuf_encode_message(type, copy);
}
