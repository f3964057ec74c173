/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Objects of all kinds: their life, comparison, metadata and the rows of kinds. An object that
 * others can see is never changed: an edit is a copy that shares its parts by counts. So comparing
 * two versions usually compares bytes, and an informer, the store and a plan may hold the same
 * version. */
#include "object.h"

#include <string.h>

#include "fields.h"
#include "manifest.h"
#include "schema/resources.h"

static const Field no_fields[] = {FIELDS_END};
/* Its objects are documents with typed metadata. No manifest names it. */
const KindClass other_kind = {
    .kind = "",
    .api_version = "",
    .resource = "others", /* all of them together */
    .size = sizeof(Object),
    .fields = no_fields,
    .namespaced = TRUE,
};

#define OBJECT_KIND_ROW(kind, class) [kind] = &class,
static const KindClass *const kinds[N_KINDS] = {OBJECT_KINDS(OBJECT_KIND_ROW)};

const KindClass *
kind_class(ObjectKind kind)
{
    g_assert(kind < N_KINDS);
    return kinds[kind];
}

/* API-24. @api_version: NULL: the first that the release has, or any. Returns: NULL: none */
static const ApiResource *
find_served(ObjectKind kind, const char *api_version, int minor)
{
    const char *own = kinds[kind]->api_version;
    gsize length = strchr(own, '/') == NULL ? 0 : (gsize)(strchr(own, '/') - own);
    const ApiResource *row;

    for (unsigned i = 0; (row = api_resource(i)) != NULL; i++)
        if (strcmp(row->kind, kinds[kind]->kind) == 0 && strlen(row->group) == length &&
            strncmp(row->group, own, length) == 0 && api_resource_is_in(row, minor) &&
            (api_version == NULL || strcmp(row->api_version, api_version) == 0))
            return row;
    return NULL;
}

gboolean
kind_is_served(ObjectKind kind, const char *api_version, int minor)
{
    return find_served(kind, api_version, minor) != NULL;
}

const char *
kind_served_version(ObjectKind kind, int minor)
{
    const ApiResource *row;

    if (kind_is_served(kind, kinds[kind]->api_version, minor))
        return kinds[kind]->api_version;
    row = find_served(kind, NULL, minor);
    return row != NULL ? row->api_version : NULL;
}

gboolean
kind_find(const char *api_version, const char *kind, ObjectKind *found)
{
    for (unsigned i = 0; i < N_KINDS; i++)
        if (strcmp(kinds[i]->kind, kind) == 0 &&
            (api_version == NULL || kind_is_served((ObjectKind)i, api_version, 0))) {
            *found = (ObjectKind)i;
            return TRUE;
        }
    return FALSE;
}

static void
metadata_ref(const Object *self)
{
    string_map_ref(self->labels);
    string_map_ref(self->annotations);
    string_list_ref(self->finalizers);
    owner_references_ref(self->owners);
    json_incref(self->manifest);
}

static void
metadata_clear(Object *self)
{
    string_map_unref(self->labels);
    string_map_unref(self->annotations);
    string_list_unref(self->finalizers);
    owner_references_unref(self->owners);
    json_decref(self->manifest);
}

Object *
object_new(ObjectKey *key)
{
    const KindClass *class = kind_class(key->kind);
    Object *self = memset(sim_memory_take(key->memory, class->size), 0, class->size);

    self->key = key;
    self->created_at = TIME_UNSET;
    self->deleted_at = TIME_UNSET;
    self->refs = REF_COUNT_ONE;
    self->deletion_grace_s = -1;
    fields_init(class->fields, self);
    if (class->set_defaults != NULL)
        class->set_defaults(self);
    return self;
}

Object *
object_ref(const Object *self)
{
    Object *object = (Object *)self; /* the count is not part of its value */

    ref_count_add(&object->refs);
    return object;
}

void
object_unref(const Object *self)
{
    Object *object = (Object *)self; /* nobody else holds it when it is freed */

    if (object == NULL || !ref_count_drop(&object->refs))
        return;
    const KindClass *class = kinds[object->key->kind];
    fields_clear(class->fields, object);
    metadata_clear(object);
    sim_memory_give(object->key->memory, object, class->size);
}

Object *
object_edit(const Object *self)
{
    const KindClass *class = kinds[self->key->kind];
    Object *copy = sim_memory_take(self->key->memory, class->size);

    memcpy(copy, self, class->size);

    copy->refs = REF_COUNT_ONE;
    metadata_ref(copy);
    fields_ref(class->fields, copy);
    return copy;
}

Object *
object_edit_as(const Object *self, ObjectKey *key)
{
    Object *copy = object_edit(self);

    g_assert(key->kind == self->key->kind);
    copy->key = key;
    copy->resource_version = 0;
    copy->uid = (ObjectUid){0, 0};
    return copy;
}

static gboolean
metadata_equal(const Object *a, const Object *b)
{
    return object_uid_equal(a->uid, b->uid) && a->created_at == b->created_at &&
           a->deleted_at == b->deleted_at && a->deletion_grace_s == b->deletion_grace_s &&
           a->generation == b->generation && string_map_equal(a->labels, b->labels) &&
           string_map_equal(a->annotations, b->annotations) &&
           string_list_equal(a->finalizers, b->finalizers) &&
           owner_references_equal(a->owners, b->owners);
}

gboolean
object_equal(const Object *a, const Object *b)
{
    if (a == b)
        return TRUE;
    if (a->key != b->key || !metadata_equal(a, b))
        return FALSE;
    const KindClass *class = kinds[a->key->kind];
    /* Copies share their references, so equal objects usually have equal bytes; and objects of
     * equal bytes are equal. */
    return memcmp(a + 1, b + 1, class->size - sizeof *a) == 0 || fields_equal(class->fields, a, b);
}

gboolean
object_spec_equal(const Object *a, const Object *b)
{
    for (const Field *field = kinds[a->key->kind]->fields; field->path != NULL; field++)
        if ((field->flags & FIELD_STATUS) == 0 &&
            !field_equal(field->type, (const char *)a + field->offset,
                         (const char *)b + field->offset))
            return FALSE;
    return TRUE;
}

void
object_take_fields(Object *to, const Object *from, gboolean status)
{
    const KindClass *class = kinds[to->key->kind];

    g_assert(from->key->kind == to->key->kind);
    for (const Field *field = class->fields; field->path != NULL; field++) {
        if (((field->flags & FIELD_STATUS) != 0) != (status != FALSE))
            continue;
        field_copy(field->type, (char *)to + field->offset, (const char *)from + field->offset);
    }
}

void
object_take_metadata(Object *to, const Object *from)
{
    StringMap *labels = string_map_ref(from->labels),
              *annotations = string_map_ref(from->annotations);
    StringList *finalizers = string_list_ref(from->finalizers);
    OwnerReferences *owners = owner_references_ref(from->owners);

    string_map_unref(to->labels);
    string_map_unref(to->annotations);
    string_list_unref(to->finalizers);
    owner_references_unref(to->owners);
    to->labels = labels;
    to->annotations = annotations;
    to->finalizers = finalizers;
    to->owners = owners;
}

void
object_take_document(Object *to, const Object *from)
{
    object_take_fields(to, from, FALSE);
    object_take_fields(to, from, TRUE);
    object_take_metadata(to, from);
    json_t *old = to->manifest;
    to->manifest = json_incref(from->manifest);
    json_decref(old);
}

/* Returns: (owned): what the object prints, but for metadata and status */
static json_t *
printed_spec(const Object *self)
{
    json_t *json = object_to_json(self);

    json_object_del(json, "metadata");
    json_object_del(json, "status");
    return json;
}

gboolean
object_rest_equal(const Object *a, const Object *b)
{
    if (a->manifest == b->manifest)
        return TRUE;
    json_auto_t *x = printed_spec(a), *y = printed_spec(b);
    return json_equal(x, y) != 0;
}

gboolean
object_set_annotation(Object *self, const char *key, const char *value)
{
    g_autoptr(StringMap) old = self->annotations;

    self->annotations = string_map_with(old, key, value);
    return self->annotations != old;
}

gboolean
object_set_label(Object *self, const char *key, const char *value)
{
    g_autoptr(StringMap) old = self->labels;

    self->labels = string_map_with(old, key, value);
    return self->labels != old;
}

gboolean
object_add_finalizer(Object *self, const char *finalizer)
{
    g_autoptr(StringList) old = self->finalizers;

    self->finalizers = string_list_with(old, finalizer);
    return self->finalizers != old;
}

gboolean
object_remove_finalizer(Object *self, const char *finalizer)
{
    g_autoptr(StringList) old = self->finalizers;

    self->finalizers = string_list_without(old, finalizer);
    return self->finalizers != old;
}

void
object_set_owner(Object *self,
                 const Object *owner,
                 gboolean controller,
                 gboolean block_owner_deletion)
{
    const KindClass *class = kinds[owner->key->kind];
    OwnerReference reference = {
        .key = owner->key,
        .api_version = class->api_version,
        .kind = class->kind,
        .name = owner->key->name,
        .uid = owner->uid,
        .controller = controller,
        .block_owner_deletion = block_owner_deletion,
    };
    OwnerReferences *old = self->owners;

    self->owners = owner_references_with(old, &reference);
    owner_references_unref(old);
}

gboolean
object_remove_owner(Object *self, const Object *owner)
{
    OwnerReferences *old = self->owners;

    self->owners = owner_references_without(old, owner->uid);
    gboolean changed = self->owners != old;
    owner_references_unref(old);
    return changed;
}

gboolean
kind_owns_others(ObjectKind kind)
{
    return kind == KIND_POD || kind == KIND_NODE || kinds[kind]->workload != NULL;
}

gboolean
object_is_owned_by(const Object *self, const Object *owner)
{
    for (unsigned i = 0; self->owners != NULL && i < self->owners->n_items; i++)
        if (object_uid_equal(self->owners->items[i].uid, owner->uid))
            return TRUE;
    return FALSE;
}

const char *
object_annotation(const Object *self, const char *key)
{
    return string_map_get(self->annotations, key);
}

const char *
object_label(const Object *self, const char *key)
{
    return string_map_get(self->labels, key);
}

gboolean
object_has_finalizer(const Object *self, const char *finalizer)
{
    return string_list_has(self->finalizers, finalizer);
}

const OwnerReference *
object_controller(const Object *self)
{
    for (unsigned i = 0; self->owners != NULL && i < self->owners->n_items; i++)
        if (self->owners->items[i].controller)
            return &self->owners->items[i];
    return NULL;
}

gboolean
object_is_controlled_by(const Object *self, const Object *owner)
{
    const OwnerReference *controller = object_controller(self);

    return controller != NULL && object_uid_equal(controller->uid, owner->uid);
}
