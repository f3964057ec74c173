/* SPDX-License-Identifier: GPL-3.0-or-later */
/* From a manifest to an object and back: kind and version, name and namespace, metadata, and then
 * the kind's own table. Faults are collected with their place and all of them are told, not only
 * the first. The object keeps the manifest, so printing gives back members that no model reads.
 *
 * A kind without a model becomes a document with typed metadata (KIND_OTHER). A version that the
 * release does not serve is a fault, unless the object was stored already: any API server converts
 * it (API-24). */
#include "manifest.h"

#include <stdarg.h>
#include <string.h>

#include "checks/checks.h"
#include "fields.h"
#include "pod-private.h"
#include "schema/resources.h"
#include "schema/schema.h"

#define ANNOTATIONS_BYTES_MAX 262144 /* 256 KiB */

gsize
api_parser_enter(ApiParser *self, const char *name)
{
    gsize length = self->path->len;

    if (length > 0)
        g_string_append_c(self->path, '.');
    g_string_append(self->path, name);
    return length;
}

gsize
api_parser_enter_index(ApiParser *self, unsigned index)
{
    gsize length = self->path->len;

    g_string_append_printf(self->path, "[%u]", index);
    return length;
}

gsize
api_parser_enter_member(ApiParser *self, const char *name)
{
    gsize length = self->path->len;

    g_string_append_printf(self->path, "[%s]", name);
    return length;
}

void
api_parser_leave(ApiParser *self, gsize length)
{
    g_string_truncate(self->path, length);
}

const char *
api_parser_intern(ApiParser *self, const char *text)
{
    return strings_intern(objects_strings(self->objects), text);
}

/* Whether api_check_object() told a fault here; or below it, if something is missing here. */
static gboolean
manifest_is_told(const ApiParser *self, const char *format)
{
    if (self->told == NULL)
        return FALSE;
    g_autofree char *below = g_strconcat(self->path->str, ".", NULL);
    return g_hash_table_contains(self->told, self->path->str) ||
           (g_str_has_prefix(format, "Required value") && g_hash_table_contains(self->told, below));
}

static void G_GNUC_PRINTF(4, 0) report_fault(
    ApiParser *self, const json_t *where, const char *hint, const char *format, va_list args)
{
    g_autoptr(GString) message = g_string_new(NULL);

    if (manifest_is_told(self, format))
        return;
    if (self->path->len > 0)
        g_string_append_printf(message, "%s: ", self->path->str);
    g_string_append_vprintf(message, format, args);
    self->report(self, where, message->str, hint);
}

void
api_parser_fault(ApiParser *self, const json_t *where, const char *hint, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    report_fault(self, where, hint, format, args);
    va_end(args);
}

void
api_parser_fault_at(ApiParser *self,
                    const json_t *where,
                    const char *path,
                    const char *hint,
                    const char *format,
                    ...)
{
    gsize length = api_parser_enter(self, path);
    va_list args;

    va_start(args, format);
    report_fault(self, where, hint, format, args);
    va_end(args);
    api_parser_leave(self, length);
}

void
api_parser_invalid(ApiParser *self, const json_t *value, const char *hint, const char *detail)
{
    char *text = json_dumps(value, JSON_ENCODE_ANY | JSON_COMPACT | JSON_REAL_PRECISION(15));

    api_parser_fault(self, value, hint, "Invalid value: %s: %s", text, detail);
    free(text);
}

void
api_parser_invalid_at(
    ApiParser *self, const json_t *object, const char *path, const char *hint, const char *detail)
{
    gsize length = api_parser_enter(self, path);

    api_parser_invalid(self, json_path_get(object, path), hint, detail);
    api_parser_leave(self, length);
}

void
api_parser_required(ApiParser *self, const json_t *where, const char *detail)
{
    api_parser_fault(self, where, NULL, "Required value%s%s", detail == NULL ? "" : ": ",
                     detail == NULL ? "" : detail);
}

void
api_parser_required_at(ApiParser *self, const json_t *where, const char *path, const char *detail)
{
    gsize length = api_parser_enter(self, path);

    api_parser_required(self, where, detail);
    api_parser_leave(self, length);
}

void
api_parser_unsupported(ApiParser *self, const json_t *value, const char *const *words)
{
    g_autoptr(GString) known = g_string_new(NULL);
    unsigned n = g_strv_length((char **)words); /* only read */
    g_autofree const char **sorted = g_memdup2(words, n * sizeof words[0]);

    qsort(sorted, n, sizeof sorted[0], strings_compare);
    for (unsigned i = 0; i < n; i++)
        g_string_append_printf(known, "%s\"%s\"", i > 0 ? ", " : "", sorted[i]);
    g_autofree char *hint = name_hint(json_string_value(value), sorted, n);
    api_parser_fault(self, value, hint, "Unsupported value: \"%s\": supported values: %s",
                     json_string_value(value), known->str);
}

void
api_parser_check_word(ApiParser *self,
                      const json_t *object,
                      const char *path,
                      const char *const *words)
{
    const json_t *value = json_path_get(object, path);
    gsize length = api_parser_enter(self, path);

    if (json_is_string(value) && !word_is_among(json_string_value(value), words))
        api_parser_unsupported(self, value, words);
    api_parser_leave(self, length);
}

gboolean
api_parser_expect(ApiParser *self, const json_t *value, json_type type)
{
    if (json_typeof(value) == type)
        return TRUE;
    if (type == JSON_OBJECT) {
        api_parser_invalid(self, value, NULL, "must be an object");
    } else if (type == JSON_ARRAY) {
        api_parser_invalid(self, value, NULL, "must be a list");
    } else {
        gboolean is_scalar = json_is_number(value) || json_is_boolean(value);
        api_parser_invalid(self, value, is_scalar ? "put it in quotes" : NULL, "must be a string");
    }
    return FALSE;
}

void
api_parser_check_name(ApiParser *self,
                      const json_t *object,
                      const char *key,
                      const char *name,
                      const char *(*fault_of)(const char *text))
{
    const char *fault = name == NULL || name[0] == '\0' ? NULL : fault_of(name);

    if (fault == NULL)
        return;
    api_parser_fault_at(self, json_path_get(object, key), key, NULL, "Invalid value: \"%s\": %s",
                        name, fault);
}

REF_COUNTED_DEFINE(OwnerReferences, owner_references, g_free)

REF_LIST_DEFINE(OwnerReferences, OwnerReference, owner_references)

OwnerReferences *
owner_references_with(const OwnerReferences *self, const OwnerReference *reference)
{
    unsigned n = self == NULL ? 0 : self->n_items, at = 0;

    while (at < n && !object_uid_equal(self->items[at].uid, reference->uid))
        at++;
    OwnerReferences *owners = g_malloc(sizeof *owners + (n + 1) * sizeof owners->items[0]);
    owners->refs = REF_COUNT_ONE;
    owners->n_items = MAX(n, at + 1);
    if (n > 0)
        memcpy(owners->items, self->items, n * sizeof owners->items[0]);
    owners->items[at] = *reference;
    return owners;
}

static const Field owner_fields[] = {
    FIELD("apiVersion", field_string, OwnerReference, api_version, FIELD_SPEC),
    FIELD("kind", field_string, OwnerReference, kind, FIELD_SPEC),
    FIELD("name", field_string, OwnerReference, name, FIELD_SPEC),
    FIELD("uid", field_uid, OwnerReference, uid, FIELD_SPEC),
    FIELD("controller", field_flag, OwnerReference, controller, FIELD_SPEC),
    FIELD("blockOwnerDeletion", field_flag, OwnerReference, block_owner_deletion, FIELD_SPEC),
    FIELDS_END,
};

OwnerReferences *
owner_references_without(const OwnerReferences *self, ObjectUid uid)
{
    unsigned n = 0;

    if (self == NULL)
        return NULL;
    g_autofree OwnerReference *items = g_new(OwnerReference, self->n_items);
    for (unsigned i = 0; i < self->n_items; i++)
        if (!object_uid_equal(self->items[i].uid, uid))
            items[n++] = self->items[i];
    return n == self->n_items ? owner_references_ref(self) : owner_references_new(items, n);
}

/* The owner's key, if a model knows its kind. An owner with a namespace is in the namespace of its
 * object. */
static const ObjectKey *
owner_key(ApiParser *parser, const OwnerReference *owner)
{
    ObjectKind kind;

    if (owner->kind == NULL || owner->name == NULL ||
        !kind_find(owner->api_version, owner->kind, &kind))
        return NULL;
    const char *namespace = kind_class(kind)->namespaced ? parser->key->namespace : NULL;
    return objects_key(parser->objects, kind, namespace, owner->name);
}

static void
owners_finish(ApiParser *parser, const json_t *array G_GNUC_UNUSED, void *items, unsigned n)
{
    OwnerReference *owners = items;

    for (unsigned i = 0; i < n; i++)
        owners[i].key = owner_key(parser, &owners[i]);
}

static const FieldType owners_type = {
    FIELD_LIST(OwnerReference, owner_fields),
    .finish = owners_finish,
};

gboolean
owner_references_equal(const OwnerReferences *a, const OwnerReferences *b)
{
    return field_equal(&owners_type, &a, &b);
}

static void
annotations_parse(ApiParser *parser, const json_t *value, void *field)
{
    size_t n_bytes = 0;
    const char *key;
    json_t *item;

    field_string_map_parse(parser, value, field);
    json_object_foreach((json_t *)value, key, item) {
        g_autofree char *lower = g_ascii_strdown(key, -1);
        const char *fault = name_fault_qualified(lower);
        if (fault != NULL)
            api_parser_fault(parser, item, NULL, "Invalid value: \"%s\": %s", key, fault);
        n_bytes += strlen(key) + json_string_length(item);
    }
    if (n_bytes > ANNOTATIONS_BYTES_MAX)
        api_parser_fault(parser, value, NULL, "Too long: may not be more than %d bytes",
                         ANNOTATIONS_BYTES_MAX);
}

static const FieldType annotations_type = {
    FIELD_SHARED(string_map),
    .parse = annotations_parse,
    .to_json = field_map_to_json,
};

static void
finalizers_finish(ApiParser *parser, const json_t *array, void *items, unsigned n)
{
    const char *const *finalizers = items;

    for (unsigned i = 0; i < n; i++) {
        const char *fault = *finalizers[i] == '\0' && !json_is_string(json_array_get(array, i))
                                ? NULL
                                : name_fault_qualified(finalizers[i]);
        if (fault != NULL)
            api_parser_invalid(parser, json_array_get(array, i), NULL, fault);
    }
}

static const FieldType finalizers_type = {
    FIELD_SHARED(string_list),
    .item = &field_full_text,
    .finish = finalizers_finish,
};

static void
version_parse(ApiParser *parser, const json_t *value, void *field)
{
    guint64 version;

    if (!api_parser_expect(parser, value, JSON_STRING))
        return;
    if (g_ascii_string_to_unsigned(json_string_value(value), 10, 0, UINT64_MAX, &version, NULL))
        *(uint64_t *)field = version;
    else if (json_string_length(value) > 0)
        api_parser_invalid(parser, value, NULL, "must be a decimal number");
}

static json_t *
version_to_json(const void *field)
{
    char buffer[24];
    uint64_t version = *(const uint64_t *)field;

    g_snprintf(buffer, sizeof buffer, "%" G_GUINT64_FORMAT, version);
    return version == 0 ? NULL : json_string(buffer);
}

static const FieldType version_type = {
    .size = sizeof(uint64_t),
    .parse = version_parse,
    .to_json = version_to_json,
};

static const Field metadata_fields[] = {
    FIELD("labels", field_labels, Object, labels, FIELD_SPEC),
    FIELD("annotations", annotations_type, Object, annotations, FIELD_SPEC),
    FIELD("finalizers", finalizers_type, Object, finalizers, FIELD_SPEC),
    FIELD("ownerReferences", owners_type, Object, owners, FIELD_SPEC),
    FIELD("uid", field_uid, Object, uid, FIELD_SPEC),
    FIELD("resourceVersion", version_type, Object, resource_version, FIELD_SPEC),
    FIELD("creationTimestamp", field_time, Object, created_at, FIELD_SPEC),
    FIELD("deletionTimestamp", field_time, Object, deleted_at, FIELD_SPEC),
    FIELD("deletionGracePeriodSeconds", field_int_or_unset, Object, deletion_grace_s, FIELD_SPEC),
    FIELD("generation", field_count, Object, generation, FIELD_SPEC),
    FIELDS_END,
};

/* Reads manifest.metadata into an object whose key is known. */
static void
metadata_parse(ApiParser *parser, const json_t *manifest, Object *object)
{
    const json_t *metadata = json_path_get(manifest, "metadata");
    gsize length = api_parser_enter(parser, "metadata");

    if (metadata != NULL)
        fields_parse(parser, metadata, metadata_fields, object);
    api_parser_leave(parser, length);
}

static void
object_parse_body(ApiParser *parser, const json_t *manifest, Object *object)
{
    const KindClass *class = kind_class(object_kind(object));

    metadata_parse(parser, manifest, object);
    if (object_kind(object) == KIND_OTHER)
        return;
    fields_parse(parser, manifest, class->fields, object);
    if (class->workload != NULL)
        workload_check_template(parser, manifest, object);
    if (class->check != NULL)
        class->check(parser, manifest, object);
    if (class->finish != NULL)
        class->finish(parser, manifest, object);
}

/* Reads a name or namespace. Returns: (nullable) (borrowed): %NULL after reporting a fault */
static const char *
parse_name(ApiParser *parser,
           const json_t *metadata,
           const char *key,
           const char *(*fault_of)(const char *text))
{
    const json_t *value = json_path_get(metadata, key);
    const char *name = NULL;
    gsize length = api_parser_enter(parser, key);

    if (api_parser_expect(parser, value, JSON_STRING)) {
        const char *fault = fault_of(json_string_value(value));
        if (fault == NULL)
            name = json_string_value(value);
        else
            api_parser_invalid(parser, value, NULL, fault);
    }
    api_parser_leave(parser, length);
    return name;
}

static gboolean
json_is_given(const json_t *object, const char *key)
{
    const json_t *value = json_path_get(object, key);

    return value != NULL && (!json_is_string(value) || json_string_length(value) > 0);
}

static const char *
parse_object_name(ApiParser *parser,
                  const json_t *manifest,
                  const json_t *metadata,
                  const char *(*name_fault)(const char *text))
{
    const json_t *where = metadata == NULL ? manifest : metadata;

    if (json_is_given(metadata, "name"))
        return parse_name(parser, metadata, "name", name_fault);
    api_parser_required_at(parser, where, "name", "name or generateName is required");
    return NULL;
}

/* The type of the manifest: a kind with a model, or a resource without. */
typedef struct {
    ObjectKind kind;
    unsigned resource; /* KIND_OTHER; else 0 */
    gboolean namespaced;
} ManifestType;

/* @namespace: (out): NULL for kinds without one. Returns: FALSE after reporting a fault */
static gboolean
parse_namespace(ApiParser *parser,
                const json_t *manifest,
                const ManifestType *type,
                const char **namespace)
{
    const json_t *metadata = json_path_get(manifest, "metadata");

    *namespace = type->namespaced ? "default" : NULL;
    if (!json_is_given(metadata, "namespace"))
        return TRUE;
    if (type->namespaced) {
        *namespace = parse_name(parser, metadata, "namespace", name_fault_dns_label);
        return *namespace != NULL;
    }
    g_autofree char *hint =
        g_strdup_printf("a %s belongs to no namespace", json_path_string(manifest, "kind"));
    api_parser_fault_at(parser, json_path_get(metadata, "namespace"), "namespace", hint,
                        "Forbidden: not allowed on this type");
    return FALSE;
}

/* Roles may be called "system:node". */
static gboolean
takes_path_names(const ApiParser *parser, const ManifestType *type)
{
    return type->resource != 0 &&
           strcmp(objects_resource_at(parser->objects, type->resource)->group,
                  "rbac.authorization.k8s.io") == 0;
}

static ObjectKey *
parse_key(ApiParser *parser, const json_t *manifest, const ManifestType *type)
{
    const json_t *metadata = json_path_get(manifest, "metadata");
    const char *namespace;
    gsize length = api_parser_enter(parser, "metadata");
    ObjectKey *key = NULL;

    if (metadata == NULL || api_parser_expect(parser, metadata, JSON_OBJECT)) {
        const char *name = parse_object_name(parser, manifest, metadata,
                                             takes_path_names(parser, type) ? name_fault_path
                                                                            : name_fault_subdomain);
        if (parse_namespace(parser, manifest, type, &namespace) && name != NULL)
            key = type->resource != 0
                      ? objects_other_key(parser->objects, type->resource, namespace, name)
                      : objects_key(parser->objects, type->kind, namespace, name);
    }
    api_parser_leave(parser, length);
    return key;
}

static void
report_unknown_kind(ApiParser *parser,
                    const json_t *manifest,
                    const char *version,
                    const char *kind)
{
    const char *known[KIND_OTHER];
    ObjectKind same_name;

    for (unsigned i = 0; i < KIND_OTHER; i++)
        known[i] = kind_class((ObjectKind)i)->kind;
    g_autofree char *hint =
        kind_find(NULL, kind, &same_name)
            ? g_strdup_printf("did you mean apiVersion \"%s\"?", kind_class(same_name)->api_version)
            : name_hint(kind, known, KIND_OTHER);
    api_parser_fault_at(parser, json_path_get(manifest, "kind"), "kind", hint,
                        "no matches for kind \"%s\" in version \"%s\"", kind, version);
}

static void
report_unserved_kind(ApiParser *parser,
                     const json_t *manifest,
                     const char *version,
                     ObjectKind kind)
{
    const char *served = kind_served_version(kind, parser->minor);
    g_autofree char *hint =
        served == NULL
            ? g_strdup_printf("Kubernetes 1.%d has no such kind", parser->minor)
            : g_strdup_printf("Kubernetes 1.%d serves apiVersion \"%s\"", parser->minor, served);

    api_parser_fault_at(parser, json_path_get(manifest, "apiVersion"), "apiVersion", hint,
                        "no matches for kind \"%s\" in version \"%s\"", kind_class(kind)->kind,
                        version);
}

/* A kind without a model. A custom resource has a namespace if its manifest has one. */
static gboolean
parse_other(ApiParser *parser,
            const json_t *manifest,
            const char *version,
            const char *kind,
            ManifestType *type)
{
    const char *slash = strchr(version, '/');

    if (!parser->takes_others || *kind == '\0')
        return FALSE;
    g_autofree char *group =
        slash == NULL ? g_strdup("") : g_strndup(version, (gsize)(slash - version));
    const ApiResource *row = api_resource_of_kind(group, kind);
    type->kind = KIND_OTHER;
    type->resource =
        objects_resource(parser->objects, group, kind, row == NULL ? NULL : row->resource);
    type->namespaced = row != NULL
                           ? row->namespaced
                           : json_is_given(json_path_get(manifest, "metadata"), "namespace");
    return type->resource != 0;
}

/* API-24: some API server has stored it, and any other one converts it when it reads it. */
static gboolean
is_stored(const json_t *manifest)
{
    return json_path_get(manifest, "metadata.uid") != NULL;
}

static gboolean
parse_kind(ApiParser *parser, const json_t *manifest, ManifestType *type)
{
    const char *version = json_path_string(manifest, "apiVersion");
    const char *name = json_path_string(manifest, "kind");

    if (version == NULL)
        api_parser_required_at(parser, manifest, "apiVersion", NULL);
    if (name == NULL)
        api_parser_required_at(parser, manifest, "kind", NULL);
    if (version == NULL || name == NULL)
        return FALSE;
    if (!kind_find(version, name, &type->kind)) {
        if (parse_other(parser, manifest, version, name, type))
            return TRUE;
        report_unknown_kind(parser, manifest, version, name);
        return FALSE;
    }
    type->namespaced = kind_class(type->kind)->namespaced;
    if (is_stored(manifest) ? kind_served_version(type->kind, parser->minor) != NULL
                            : kind_is_served(type->kind, version, parser->minor))
        return TRUE;
    report_unserved_kind(parser, manifest, version, type->kind);
    return FALSE;
}

/* Returns: (nullable): of the manifest's version, or of the kind's own */
static const SchemaType *
type_of_manifest(const json_t *manifest, ObjectKind kind)
{
    const char *name = json_path_string(manifest, "kind");
    const SchemaType *type = schema_find(json_path_string(manifest, "apiVersion"), name);

    return type != NULL ? type : schema_find(kind_class(kind)->api_version, name);
}

Object *
api_parser_object(ApiParser *self, const json_t *manifest)
{
    ManifestType type = {0};

    if (!api_parser_expect(self, manifest, JSON_OBJECT) || !parse_kind(self, manifest, &type))
        return NULL;
    ObjectKey *key = parse_key(self, manifest, &type);
    /* If the key is faulty, the rest is checked all the same. */
    self->key = key != NULL ? key : objects_key(self->objects, type.kind, NULL, "-");
    gboolean has_told = self->told != NULL;
    unknown_fields_report(self, type_of_manifest(manifest, type.kind), manifest);

    g_autoptr(Object) object = object_new((ObjectKey *)self->key);
    object->manifest = json_incref((json_t *)manifest); /* kept as it is */
    object_parse_body(self, manifest, object);
    self->key = NULL;
    if (!has_told)
        g_clear_pointer(&self->told, g_hash_table_unref);
    return key == NULL ? NULL : g_steal_pointer(&object);
}

Object *
api_parser_template(ApiParser *self, const json_t *manifest, ObjectKey *key)
{
    Object *object = object_new(key);
    const ObjectKey *owner = self->key;

    object->manifest = json_incref((json_t *)manifest); /* kept as it is */
    self->key = key;
    if (json_is_object(manifest))
        object_parse_body(self, manifest, object);
    self->key = owner;
    return object;
}

static json_t *
metadata_to_json(const Object *self, SimTime start)
{
    const json_t *old = json_path_get(self->manifest, "metadata");
    json_t *metadata = json_is_object(old) ? json_copy((json_t *)old) : json_object();

    json_object_set_new(metadata, "name", json_string(self->key->name));
    if (self->key->namespace[0] != '\0')
        json_object_set_new(metadata, "namespace", json_string(self->key->namespace));
    fields_print(metadata_fields, self, metadata, start);
    return metadata;
}

void
template_metadata_tidy(const Object *template, json_t *metadata)
{
    static const char *const names[] = {"name", "namespace"};
    const json_t *given = json_path_get(template->manifest, "metadata");

    for (unsigned i = 0; i < G_N_ELEMENTS(names); i++)
        if (json_object_get(given, names[i]) != NULL)
            json_object_set(metadata, names[i], json_object_get(given, names[i]));
        else
            json_object_del(metadata, names[i]);
    if (json_object_get(metadata, "creationTimestamp") == NULL)
        json_object_set_new(metadata, "creationTimestamp", json_null());
}

json_t *
object_to_json_at(const Object *self, SimTime start)
{
    const KindClass *class = kind_class(object_kind(self));
    json_t *object = fields_to_json_at(class->fields, self, self->manifest, start);

    if (object == NULL)
        object = json_object();
    if (class->kind[0] != '\0') { /* else the document tells them */
        json_object_set_new(object, "apiVersion", json_string(class->api_version));
        json_object_set_new(object, "kind", json_string(class->kind));
    }
    json_object_set_new(object, "metadata", metadata_to_json(self, start));
    json_t *sorted = json_sorted(object);
    json_decref(object);
    return sorted;
}

json_t *
object_to_json(const Object *self)
{
    return object_to_json_at(self, 0);
}
