/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The OpenAPI documents: paths with their operations, and the schemas that they refer to. Version 2
 * is one document of all groups; version 3 has one for each version and an index with hashes. Paths
 * tell which patches a resource takes, because kubectl looks there before it sends strategic merge
 * patches. Schemas of custom resources lose the members that version 2 does not have. */
#include "openapi.h"

#include <string.h>

#include "discovery-private.h"
#include "models/api/fields.h"
#include "openapi-types.h"

/* A document that is being made. */
typedef struct {
    OpenApiVersion version;
    const ServedApis *served;
    json_t *paths, *schemas; /* borrowed from the document */
    GHashTable *notes;
} Document;

static json_t *
group_version_kind(const char *group, const char *version, const char *kind)
{
    return json_pack("{s:s, s:s, s:s}", "group", group, "version", version, "kind", kind);
}

/* Returns: (owned): the name of a custom resource's type: "com.example.v1.Thing" */
static char *
custom_type_name(const ApiResource *resource)
{
    g_auto(GStrv) parts = g_strsplit(resource->group, ".", -1);
    GString *name = g_string_new(NULL);

    for (guint i = g_strv_length(parts); i-- > 0;)
        g_string_append_printf(name, "%s.", parts[i]);
    g_string_append_printf(name, "%s.%s", resource->version, resource->kind);
    return g_string_free(name, FALSE);
}

/* Removes what version 2 does not have. @is_map: the members of @schema are schemas by name */
static void
strip_to_v2(json_t *schema, gboolean is_map)
{
    static const char *const others[] = {"allOf", "anyOf", "not", "nullable", "oneOf"};
    const char *name;
    json_t *member;

    for (gsize i = 0; !is_map && i < G_N_ELEMENTS(others); i++)
        json_object_del(schema, others[i]);
    json_object_foreach(schema, name, member) {
        if (is_map || !g_str_has_prefix(name, "x-"))
            strip_to_v2(member, !is_map && strcmp(name, "properties") == 0);
    }
}

/* Adds the type of a custom resource. */
static void
add_custom_type(const Document *self, const ApiResource *resource, const char *name)
{
    json_t *schema = json_deep_copy(json_path_get(resource->custom, "schema.openAPIV3Schema"));
    const SchemaType *meta = schema_member(schema_find("v1", "ConfigMap"), "metadata");

    if (!json_is_object(schema)) {
        json_decref(schema);
        schema =
            json_pack("{s:s, s:b}", "type", "object", "x-kubernetes-preserve-unknown-fields", 1);
    }
    if (self->version == OPENAPI_V2)
        strip_to_v2(schema, FALSE);
    if (!json_is_object(json_object_get(schema, "properties")))
        json_object_set_new(schema, "properties", json_object());
    json_t *properties = json_object_get(schema, "properties");
    json_object_set_new(properties, "apiVersion", json_pack("{s:s}", "type", "string"));
    json_object_set_new(properties, "kind", json_pack("{s:s}", "type", "string"));
    json_object_set_new(properties, "metadata", openapi_ref(self->version, meta->name));
    openapi_add_type(self->version, self->served->minor, self->schemas, meta, self->notes);
    json_object_set_new(self->schemas, name, schema);
}

/* Adds the type of a kind to the document. Returns: (owned): its name; NULL: it has no type */
static char *
add_kind(const Document *self,
         const ApiResource *resource,
         const char *group,
         const char *version,
         const char *kind)
{
    g_autofree char *api_version =
        *group == '\0' ? g_strdup(version) : g_strconcat(group, "/", version, NULL);
    const SchemaType *type = schema_find(api_version, kind);
    char *name;

    if (type != NULL) {
        openapi_add_type(self->version, self->served->minor, self->schemas, type, self->notes);
        name = g_strdup(type->name);
    } else if (strcmp(kind, resource->kind) == 0) {
        name = custom_type_name(resource);
        add_custom_type(self, resource, name);
    } else {
        return NULL;
    }
    json_t *schema = json_object_get(self->schemas, name);
    if (json_object_get(schema, "x-kubernetes-group-version-kind") == NULL)
        json_object_set_new(schema, "x-kubernetes-group-version-kind", json_array());
    json_t *kinds = json_object_get(schema, "x-kubernetes-group-version-kind");
    json_t *row = group_version_kind(group, version, kind);
    if (json_array_size(kinds) == 0)
        json_array_append(kinds, row);
    json_decref(row);
    return name;
}

/* @in: "query", "path" */
static json_t *
parameter(OpenApiVersion version, const char *name, const char *in, const char *type)
{
    json_t *about = json_pack("{s:s, s:s}", "name", name, "in", in);

    json_object_update_new(
        about, version == OPENAPI_V3
                   ? json_pack("{s:{s:s, s:b}}", "schema", "type", type, "uniqueItems", 1)
                   : json_pack("{s:s, s:b}", "type", type, "uniqueItems", 1));
    if (strcmp(in, "path") == 0)
        json_object_set_new(about, "required", json_true());
    return about;
}

/* Returns: (owned): what stands in braces in @path */
static json_t *
path_parameters(OpenApiVersion version, const char *path)
{
    static const char *const names[] = {"name", "namespace"};
    json_t *list = json_array();

    for (gsize i = 0; i < G_N_ELEMENTS(names); i++) {
        g_autofree char *braced = g_strdup_printf("{%s}", names[i]);
        if (strstr(path, braced) != NULL)
            json_array_append_new(list, parameter(version, names[i], "path", "string"));
    }
    return list;
}

/* An operation on a path. */
typedef struct {
    const char *verb, *method, *action;
    gboolean of_list; /* on the path without a name */
} OpenapiOperation;

static const OpenapiOperation operations[] = {
    {"get",              "get",    "get",              FALSE},
    {"list",             "get",    "list",             TRUE },
    {"create",           "post",   "post",             TRUE },
    {"update",           "put",    "put",              FALSE},
    {"patch",            "patch",  "patch",            FALSE},
    {"delete",           "delete", "delete",           FALSE},
    {"deletecollection", "delete", "deletecollection", TRUE },
};

/* Adds the types of patches that a resource takes: kubectl looks here whether it may send strategic
 * merge patches (gvkSupportsPatchOpenAPIV3() in its apply/patcher.go). */
static void
add_patch_types(const Document *self, json_t *operation, gboolean is_custom)
{
    static const char *const types[] = {
        "application/apply-patch+yaml", "application/json-patch+json",
        "application/merge-patch+json", "application/strategic-merge-patch+json"};
    json_t *content = json_object(), *consumes = json_array();

    for (gsize i = 0; i < G_N_ELEMENTS(types) - (is_custom ? 1 : 0); i++) {
        json_object_set_new(content, types[i], json_pack("{s:{s:s}}", "schema", "type", "object"));
        json_array_append_new(consumes, json_string(types[i]));
    }
    if (self->version == OPENAPI_V3)
        json_object_set_new(operation, "requestBody",
                            json_pack("{s:O, s:b}", "content", content, "required", 1));
    else
        json_object_set(operation, "consumes", consumes);
    json_decref(content);
    json_decref(consumes);
}

static json_t *
operation_schema(const Document *self,
                 const OpenapiOperation *operation,
                 const char *type_name,
                 const json_t *kind)
{
    json_t *parameters = json_array(), *answer = json_pack("{s:s}", "description", "OK");
    gboolean writes = strcmp(operation->method, "get") != 0;

    if (writes) {
        json_array_append_new(parameters, parameter(self->version, "dryRun", "query", "string"));
        if (strcmp(operation->method, "delete") != 0) {
            json_array_append_new(parameters,
                                  parameter(self->version, "fieldManager", "query", "string"));
            json_array_append_new(parameters,
                                  parameter(self->version, "fieldValidation", "query", "string"));
        }
        if (strcmp(operation->method, "patch") == 0)
            json_array_append_new(parameters,
                                  parameter(self->version, "force", "query", "boolean"));
    }
    if (type_name != NULL && strcmp(operation->verb, "list") != 0) {
        json_t *ref = openapi_ref(self->version, type_name);
        json_object_update_new(
            answer, self->version == OPENAPI_V3
                        ? json_pack("{s:{s:{s:o}}}", "content", "application/json", "schema", ref)
                        : json_pack("{s:o}", "schema", ref));
    }
    json_t *schema = json_pack("{s:o, s:{s:o}, s:s, s:O}", "parameters", parameters, "responses",
                               "200", answer, "x-kubernetes-action", operation->action,
                               "x-kubernetes-group-version-kind", kind);
    const char *version = json_path_string(kind, "version");
    const char *group = json_path_string(kind, "group");
    g_autofree char *api_version =
        *group == '\0' ? g_strdup(version) : g_strconcat(group, "/", version, NULL);
    const SchemaType *type = schema_find(api_version, json_path_string(kind, "kind"));

    if (strcmp(operation->method, "patch") == 0)
        add_patch_types(self, schema, type == NULL || type->custom);
    return schema;
}

/* Adds the operations on @path that @verbs (with blanks between) allow. */
static void
add_path(const Document *self,
         const char *path,
         const char *verbs,
         int of_list,
         const char *type_name,
         const json_t *kind)
{
    g_auto(GStrv) words = g_strsplit(verbs, " ", -1);
    json_t *methods = json_object();

    for (gsize i = 0; i < G_N_ELEMENTS(operations); i++)
        if (g_strv_contains((const char *const *)words, operations[i].verb) &&
            (of_list < 0 || operations[i].of_list == of_list))
            json_object_set_new(methods, operations[i].method,
                                operation_schema(self, &operations[i], type_name, kind));
    json_t *parameters = path_parameters(self->version, path);
    if (json_object_size(methods) > 0) {
        if (json_array_size(parameters) > 0)
            json_object_set(methods, "parameters", parameters);
        json_object_set(self->paths, path, methods);
    }
    json_decref(parameters);
    json_decref(methods);
}

static void
add_subresources(const Document *self, const ApiResource *resource, const char *item_path)
{
    g_auto(GStrv) names = api_resource_subresources(resource, self->served->minor);

    for (char **name = names; *name != NULL; name++) {
        const Subresource *row = subresource_find(*name);
        g_autofree char *kind = subresource_kind(row, resource);
        g_autofree char *path = g_strconcat(item_path, "/", *name, NULL);
        const char *group = *row->group != '\0' ? row->group : resource->group;
        const char *version = *row->group != '\0' ? row->version : resource->version;
        g_autofree char *type_name = add_kind(self, resource, group, version, kind);
        json_t *row_kind = group_version_kind(group, version, kind);

        add_path(self, path, row->verbs, -1, type_name, row_kind);
        json_decref(row_kind);
    }
}

static void
add_resource(const Document *self, const ApiResource *resource)
{
    g_autofree char *prefix =
        *resource->group == '\0'
            ? g_strdup_printf("/api/%s", resource->version)
            : g_strdup_printf("/apis/%s/%s", resource->group, resource->version);
    g_autofree char *all = g_strdup_printf("%s/%s", prefix, resource->resource);
    g_autofree char *list = resource->namespaced ? g_strdup_printf("%s/namespaces/{namespace}/%s",
                                                                   prefix, resource->resource)
                                                 : g_strdup(all);
    g_autofree char *item = g_strdup_printf("%s/{name}", list);
    g_autofree char *type_name =
        add_kind(self, resource, resource->group, resource->version, resource->kind);
    json_t *kind = group_version_kind(resource->group, resource->version, resource->kind);

    if (resource->namespaced)
        add_path(self, all, "list", TRUE, type_name, kind);
    add_path(self, list, resource->verbs, TRUE, type_name, kind);
    add_path(self, item, resource->verbs, FALSE, type_name, kind);
    add_subresources(self, resource, item);
    json_decref(kind);
}

static void
add_version(const Document *self, const GroupVersion *version)
{
    for (guint i = 0; i < version->resources->len; i++)
        add_resource(self, g_ptr_array_index(version->resources, i));
}

/* Returns: (owned): the path of a version's document: "apis/apps/v1" */
static char *
version_path(const GroupVersion *version)
{
    return *version->group == '\0'
               ? g_strdup_printf("api/%s", version->version)
               : g_strdup_printf("apis/%s/%s", version->group, version->version);
}

/* Returns: "v1.32.0"; "unversioned" of all releases together */
#define RELEASE_BUFFER 16
static const char *
release_of(const ServedApis *served, char *buffer)
{
    if (served->minor == 0)
        return "unversioned";
    g_snprintf(buffer, RELEASE_BUFFER, "v1.%d.0", served->minor);
    return buffer;
}

static json_t *
version_document(const ServedApis *served, const GroupVersion *version, GHashTable *notes)
{
    json_t *paths = json_object(), *schemas = json_object();
    char title[RELEASE_BUFFER];
    json_t *document = json_pack("{s:s, s:{s:s, s:s}, s:o, s:{s:o}}", "openapi", "3.0.0", "info",
                                 "title", "Kubernetes", "version", release_of(served, title),
                                 "paths", paths, "components", "schemas", schemas);
    Document self = {OPENAPI_V3, served, paths, schemas, notes};

    add_version(&self, version);
    return document;
}

json_t *
openapi_v3_document(const ServedApis *served, const char *path)
{
    g_auto(Served) all = {0};
    json_t *document = NULL;

    served_init(&all, served);
    for (guint i = 0; i < all.versions->len && document == NULL; i++) {
        const GroupVersion *version = &g_array_index(all.versions, GroupVersion, i);
        g_autofree char *own = version_path(version);

        if (strcmp(own, path) == 0) {
            g_autoptr(GHashTable) notes = openapi_notes();
            document = version_document(served, version, notes);
        }
    }
    return document;
}

json_t *
openapi_v3_index(const ServedApis *served)
{
    g_auto(Served) all = {0};
    g_autoptr(GHashTable) notes = openapi_notes();
    json_t *paths = json_object();

    served_init(&all, served);
    for (guint i = 0; i < all.versions->len; i++) {
        const GroupVersion *version = &g_array_index(all.versions, GroupVersion, i);
        json_t *document = version_document(served, version, notes);
        char *text = json_dumps(document, JSON_COMPACT);
        g_autofree char *path = version_path(version);
        g_autofree char *hash = g_compute_checksum_for_string(G_CHECKSUM_SHA512, text, -1);
        g_autofree char *upper = g_ascii_strup(hash, -1);
        g_autofree char *address = g_strdup_printf("/openapi/v3/%s?hash=%s", path, upper);

        json_object_set_new(paths, path, json_pack("{s:s}", "serverRelativeURL", address));
        free(text);
        json_decref(document);
    }
    return json_pack("{s:o}", "paths", paths);
}

json_t *
openapi_v2(const ServedApis *served)
{
    g_auto(Served) all = {0};
    g_autoptr(GHashTable) notes = openapi_notes();
    json_t *paths = json_object(), *definitions = json_object();
    char title[RELEASE_BUFFER];
    json_t *document =
        json_pack("{s:s, s:{s:s, s:s}, s:o, s:o}", "swagger", "2.0", "info", "title", "Kubernetes",
                  "version", release_of(served, title), "paths", paths, "definitions", definitions);
    Document self = {OPENAPI_V2, served, paths, definitions, notes};

    served_init(&all, served);
    for (guint i = 0; i < all.versions->len; i++)
        add_version(&self, &g_array_index(all.versions, GroupVersion, i));
    return document;
}
