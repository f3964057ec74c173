/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "object.h"

#include <string.h>

#include "fields.h"
#include "lease.h"
#include "local/local-volume.h"
#include "manifest.h"
#include "namespace.h"
#include "quota/quota.h"
#include "reference-grant.h"
#include "schema/resources.h"
#include "secret.h"
#include "sim/frozen.h"
#include "snapshot.h"
#include "workload.h"

static const Field no_fields[] = {FIELDS_END};
/* Its objects are documents with typed metadata. No manifest names it. */
static const KindClass other_kind = {
    .kind = "",
    .api_version = "",
    .resource = "others", /* all of them together */
    .size = sizeof(Object),
    .fields = no_fields,
    .namespaced = TRUE,
};

static const KindClass *const kinds[N_KINDS] = {
    [KIND_POD] = &pod_kind,
    [KIND_CLAIM] = &claim_kind,
    [KIND_VOLUME] = &volume_kind,
    [KIND_STORAGE_CLASS] = &storage_class_kind,
    [KIND_NODE] = &node_kind,
    [KIND_CSI_NODE] = &csi_node_kind,
    [KIND_CSI_DRIVER] = &csi_driver_kind,
    [KIND_ATTACHMENT] = &attachment_kind,
    [KIND_STORAGE_CAPACITY] = &storage_capacity_kind,
    [KIND_STATEFUL_SET] = &stateful_set_kind,
    [KIND_CONTROLLER_REVISION] = &controller_revision_kind,
    [KIND_VOLUME_SNAPSHOT] = &volume_snapshot_kind,
    [KIND_SNAPSHOT_CONTENT] = &snapshot_content_kind,
    [KIND_SECRET] = &secret_kind,
    [KIND_RESOURCE_QUOTA] = &resource_quota_kind,
    [KIND_LIMIT_RANGE] = &limit_range_kind,
    [KIND_LEASE] = &lease_kind,
    [KIND_DEPLOYMENT] = &deployment_kind,
    [KIND_REPLICA_SET] = &replica_set_kind,
    [KIND_DAEMON_SET] = &daemon_set_kind,
    [KIND_JOB] = &job_kind,
    [KIND_DISRUPTION_BUDGET] = &disruption_budget_kind,
    [KIND_SNAPSHOT_CLASS] = &snapshot_class_kind,
    [KIND_ATTRIBUTES_CLASS] = &attributes_class_kind,
    [KIND_GROUP_SNAPSHOT] = &group_snapshot_kind,
    [KIND_GROUP_CONTENT] = &group_content_kind,
    [KIND_GROUP_CLASS] = &group_class_kind,
    [KIND_REFERENCE_GRANT] = &reference_grant_kind,
    [KIND_PRIORITY_CLASS] = &priority_class_kind,
    [KIND_SERVICE] = &service_kind,
    [KIND_LOCAL_VOLUME] = &local_volume_kind,
    [KIND_CRON_JOB] = &cron_job_kind,
    [KIND_NAMESPACE] = &namespace_kind,
    [KIND_OTHER] = &other_kind,
};

/* Keys live in blocks, so that they never move, and each in one line of the processor's cache. */
#define KEYS_PER_BLOCK 256
#define CACHE_LINE 64
#define KEYS_SIZE (KEYS_PER_BLOCK * sizeof(ObjectKey))

G_STATIC_ASSERT(sizeof(ObjectKey) == CACHE_LINE);

/* A place in the table of keys. A key is found by the addresses of its strings: they are interned,
 * so equal strings have equal addresses. */
typedef struct {
    uint32_t hash;   /* of kind and addresses: decides only places in the table */
    uint32_t number; /* 1 + the number of the key, by the order in which keys were made; 0: free */
} KeyPlace;

struct Objects {
    Objects *run;  /* (borrowed): these are aside; NULL: they are the run's */
    SimCold *cold; /* (borrowed) (nullable): of strings and keys */
    Strings *strings;
    SimMemory *memory;
    uint64_t seed;
    uint64_t uid_salt;             /* see objects_avoid_uid() */
    uint64_t kind_hashes[N_KINDS]; /* by the kind's name, so that a new kind changes no draw */
    SimLog *keys[N_KINDS];         /* of ObjectKey *, by slot */
    GPtrArray *blocks;
    unsigned n_keys;
    KeyPlace *table;     /* with open addressing; at most three quarters are taken */
    unsigned table_size; /* a power of two */
    unsigned n_warm;     /* in @table */
    SimFrozen *frozen;   /* (owned): older keys; NULL: all are in @table */
    const char *no_namespace;
    GHashTable *aliases;  /* set of Alias */
    GPtrArray *resources; /* of ObjectResource (owned), by number - 1 */
};

typedef struct {
    const char *parts[ALIAS_PARTS];
    ObjectKey *key;
} Alias;

static unsigned
alias_hash(const void *data)
{
    const Alias *alias = data;
    uint64_t hash = 0;

    for (unsigned i = 0; i < ALIAS_PARTS; i++)
        hash = (hash ^ (uintptr_t)alias->parts[i]) * UINT64_C(0x9e3779b97f4a7c15);
    return (unsigned)(hash >> 32);
}

static gboolean
alias_equal(const void *a, const void *b)
{
    const Alias *one = a;

    return memcmp(one->parts, ((const Alias *)b)->parts, sizeof one->parts) == 0;
}

static void
alias_free(void *data)
{
    Alias *self = data;

    sim_memory_give(self->key->memory, self, sizeof *self);
}

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

Objects *
objects_new(uint64_t seed)
{
    return objects_new_cold(seed, NULL);
}

static Objects *
objects_new_with(uint64_t seed, SimCold *cold, Strings *strings, GPtrArray *resources)
{
    Objects *self = g_new0(Objects, 1);

    self->cold = cold;
    self->strings = strings;
    self->resources = resources;
    self->memory = sim_memory_new();
    self->seed = seed;
    for (unsigned i = 0; i < N_KINDS; i++) {
        self->kind_hashes[i] = sim_hash_string(kinds[i]->kind);
        self->keys[i] = sim_log_new(cold, sizeof(ObjectKey *));
    }
    self->blocks = g_ptr_array_new_with_free_func(cold == NULL ? g_aligned_free : NULL);
    self->table_size = 1024;
    self->table = g_new0(KeyPlace, self->table_size);
    self->frozen = cold == NULL ? NULL : sim_frozen_new(cold);
    self->no_namespace = strings_intern(self->strings, "");
    self->aliases = g_hash_table_new_full(alias_hash, alias_equal, alias_free, NULL);
    return self;
}

Objects *
objects_new_cold(uint64_t seed, SimCold *cold)
{
    return objects_new_with(seed, cold, strings_new_cold(cold),
                            g_ptr_array_new_with_free_func(g_free));
}

Objects *
objects_new_aside(Objects *run)
{
    Objects *self =
        objects_new_with(run->seed, NULL, run->strings, g_ptr_array_ref(run->resources));

    self->run = run;
    self->uid_salt = run->uid_salt;
    return self;
}

void
objects_free(Objects *self)
{
    if (self == NULL)
        return;
    g_hash_table_unref(self->aliases);
    g_ptr_array_unref(self->resources);
    for (unsigned i = 0; i < N_KINDS; i++)
        sim_log_free(self->keys[i]);
    g_ptr_array_unref(self->blocks);
    g_free(self->table);
    sim_frozen_free(self->frozen);
    if (self->run == NULL)
        strings_free(self->strings);
    sim_memory_destroy(self->memory);
    g_free(self);
}

ObjectKey *
objects_find_alias(const Objects *self, const char *const *parts)
{
    Alias wanted;

    memcpy(wanted.parts, parts, sizeof wanted.parts);
    const Alias *alias = g_hash_table_lookup(self->aliases, &wanted);
    return alias == NULL ? NULL : alias->key;
}

void
objects_add_alias(Objects *self, const char *const *parts, ObjectKey *key)
{
    Alias *alias = sim_memory_take(self->memory, sizeof *alias);

    memcpy(alias->parts, parts, sizeof alias->parts);
    alias->key = key;
    g_hash_table_add(self->aliases, alias);
}

Strings *
objects_strings(const Objects *self)
{
    return self->strings;
}

/* The kind of a key, and its resource. */
typedef uint32_t KeyType;

static KeyType
key_type(ObjectKind kind, unsigned resource)
{
    return (KeyType)kind | resource << 16;
}

static KeyType
type_of_key(const ObjectKey *key)
{
    return key_type(key->kind, key->resource);
}

/* Never change it: draws follow from it. */
static uint64_t
objects_hash(const Objects *self, KeyType type, const char *namespace, const char *name)
{
    uint64_t hash = self->kind_hashes[type & UINT16_MAX];

    if (type >> 16 != 0) {
        const ObjectResource *resource = objects_resource_at(self, type >> 16);
        hash = sim_hash_combine(sim_hash_string(resource->group), sim_hash_string(resource->kind));
    }
    if (namespace[0] != '\0')
        hash = sim_hash_combine(hash, sim_hash_string(namespace));
    return sim_hash_combine(hash, sim_hash_string(name));
}

static ObjectKey *
key_numbered(const Objects *self, unsigned number)
{
    ObjectKey *block = self->blocks->pdata[number / KEYS_PER_BLOCK];

    return &block[number % KEYS_PER_BLOCK];
}

static uint32_t
address_hash(KeyType type, const char *namespace, const char *name)
{
    uint64_t addresses = (uint64_t)(uintptr_t)name + ((uint64_t)(uintptr_t) namespace << 16) + type;

    return (uint32_t)(addresses * UINT64_C(0x9e3779b97f4a7c15) >> 32);
}

/* The place of the key of these strings, or the free place for it. */
static KeyPlace *
key_place(const Objects *self, KeyType type, const char *namespace, const char *name)
{
    uint32_t hash = address_hash(type, namespace, name);
    unsigned mask = self->table_size - 1, i = hash & mask;

    for (; self->table[i].number != 0; i = (i + 1) & mask) {
        if (self->table[i].hash != hash)
            continue;
        const ObjectKey *key = key_numbered(self, self->table[i].number - 1);
        if (key->name == name && key->namespace == namespace && type_of_key(key) == type)
            break;
    }
    return &self->table[i];
}

typedef struct {
    const Objects *objects;
    KeyType type;
    const char *namespace, *name;
} Wanted;

static gboolean
is_wanted(const void *data, uint32_t number)
{
    const Wanted *wanted = data;
    const ObjectKey *key = key_numbered(wanted->objects, number - 1);

    return key->name == wanted->name && key->namespace == wanted->namespace &&
           type_of_key(key) == wanted->type;
}

/* Returns: NULL if there is no key of these strings */
static ObjectKey *
find_by_addresses(const Objects *self, KeyType type, const char *namespace, const char *name)
{
    uint32_t number = key_place(self, type, namespace, name)->number;

    if (number == 0 && self->frozen != NULL)
        number = sim_frozen_find(self->frozen, address_hash(type, namespace, name), is_wanted,
                                 &(Wanted){self, type, namespace, name});
    return number == 0 ? NULL : key_numbered(self, number - 1);
}

/* Empties the table. A key that is looked up again is found among the old ones. */
static void
objects_freeze(Objects *self)
{
    g_autofree SimFrozenEntry *entries = g_new(SimFrozenEntry, SIM_FROZEN_PART);
    unsigned n = 0;

    for (unsigned i = 0; i < self->table_size; i++)
        if (self->table[i].number != 0)
            entries[n++] = (SimFrozenEntry){self->table[i].hash, self->table[i].number};
    sim_frozen_add(self->frozen, entries);
    memset(self->table, 0, self->table_size * sizeof(KeyPlace));
    self->n_warm = 0;
}

static void
objects_grow(Objects *self)
{
    g_autofree KeyPlace *old = g_steal_pointer(&self->table);
    unsigned old_size = self->table_size, mask = 2 * old_size - 1;

    self->table_size = 2 * old_size;
    self->table = g_new0(KeyPlace, self->table_size);
    for (unsigned i = 0; i < old_size; i++) {
        unsigned place = old[i].hash & mask;
        if (old[i].number == 0)
            continue;
        while (self->table[place].number != 0)
            place = (place + 1) & mask;
        self->table[place] = old[i];
    }
}

static const char *
or_no_namespace(const Objects *self, const char *namespace)
{
    return namespace == NULL || namespace[0] == '\0' ? self->no_namespace : namespace;
}

/* @namespace, @name: interned */
static ObjectKey *
make_key(Objects *self, KeyType type, const char *namespace, const char *name)
{
    uint32_t hash = address_hash(type, namespace, name);
    ObjectKind kind = (ObjectKind)(type & UINT16_MAX);

    if (self->n_keys % KEYS_PER_BLOCK == 0)
        g_ptr_array_add(self->blocks,
                        self->cold != NULL
                            ? sim_cold_take(self->cold, KEYS_SIZE)
                            : g_aligned_alloc(KEYS_PER_BLOCK, sizeof(ObjectKey), CACHE_LINE));
    ObjectKey *key = key_numbered(self, self->n_keys++);
    *key = (ObjectKey){0};
    key->kind = kind;
    key->resource = type >> 16;
    key->namespace = namespace;
    key->name = name;
    key->text =
        namespace[0] == '\0' ? name : strings_internf(self->strings, "%s/%s", namespace, name);
    key->memory = self->memory;
    key->hash = objects_hash(self, type, namespace, name);
    key->slot = OBJECT_NO_SLOT;
    if (self->run == NULL) {
        key->slot = self->keys[kind]->len;
        *(ObjectKey **)sim_log_append(self->keys[kind]) = key;
    }
    *key_place(self, type, namespace, name) = (KeyPlace){hash, self->n_keys};
    if (++self->n_warm == SIM_FROZEN_PART && self->frozen != NULL)
        objects_freeze(self);
    else if (self->n_warm > self->table_size / 4 * 3)
        objects_grow(self);
    return key;
}

uint64_t
object_key_place(const void *key, SimStream stream, uint64_t walk)
{
    return sim_random_bits(stream, ((const ObjectKey *)key)->hash, walk);
}

uint64_t
object_place(const void *object, SimStream stream, uint64_t walk)
{
    return object_key_place(((const Object *)object)->key, stream, walk);
}

static ObjectKey *
find_key(const Objects *self, KeyType type, const char *namespace, const char *name)
{
    namespace = or_no_namespace(self, namespace);
    ObjectKey *key = find_by_addresses(self, type, namespace, name);
    if (key != NULL)
        return key;

    if (self->run != NULL && (key = find_key(self->run, type, namespace, name)) != NULL)
        return key;
    const char *known_namespace = strings_find(self->strings, namespace);
    const char *known_name = strings_find(self->strings, name);
    if (known_namespace == namespace && known_name == name)
        return NULL;
    return known_namespace == NULL || known_name == NULL
               ? NULL
               : find_by_addresses(self, type, known_namespace, known_name);
}

static ObjectKey *
get_key(Objects *self, KeyType type, const char *namespace, const char *name)
{
    ObjectKey *key = find_key(self, type, namespace, name);

    return key != NULL ? key
                       : make_key(self, type,
                                  strings_intern(self->strings, or_no_namespace(self, namespace)),
                                  strings_intern(self->strings, name));
}

ObjectKey *
objects_key(Objects *self, ObjectKind kind, const char *namespace, const char *name)
{
    return get_key(self, key_type(kind, 0), namespace, name);
}

ObjectKey *
objects_find_key(const Objects *self, ObjectKind kind, const char *namespace, const char *name)
{
    return find_key(self, key_type(kind, 0), namespace, name);
}

/* ---- Resources that no model reads ---- */

ObjectKey *
objects_other_key(Objects *self, unsigned resource, const char *namespace, const char *name)
{
    return get_key(self, key_type(KIND_OTHER, resource), namespace, name);
}

ObjectKey *
objects_find_other_key(const Objects *self,
                       unsigned resource,
                       const char *namespace,
                       const char *name)
{
    return find_key(self, key_type(KIND_OTHER, resource), namespace, name);
}

ObjectKey *
objects_key_like(Objects *self, const ObjectKey *like, const char *namespace, const char *name)
{
    return get_key(self, type_of_key(like), namespace, name);
}

ObjectResource *
objects_resource_at(const Objects *self, unsigned number)
{
    return self->resources->pdata[number - 1];
}

/* Returns: (owned): a word in the plural, as code generators of Kubernetes make it of a kind */
static char *
plural_of(const char *kind)
{
    g_autofree char *lower = g_ascii_strdown(kind, -1);
    gsize length = strlen(lower);

    if (g_str_has_suffix(lower, "s"))
        return g_strconcat(lower, "es", NULL);
    if (g_str_has_suffix(lower, "y") && length > 1 && strchr("aeiou", lower[length - 2]) == NULL)
        return g_strdup_printf("%.*sies", (int)length - 1, lower);
    return g_strconcat(lower, "s", NULL);
}

unsigned
objects_resource(Objects *self, const char *group, const char *kind, const char *resource)
{
    ObjectResource *row;

    for (unsigned i = 0; i < self->resources->len; i++) {
        row = self->resources->pdata[i];
        if (strcmp(row->kind, kind) != 0 || strcmp(row->group, group) != 0)
            continue;
        if (resource != NULL)
            row->resource = strings_intern(self->strings, resource);
        return i + 1;
    }
    if (self->resources->len == OBJECT_RESOURCES_MAX)
        return 0;
    g_autofree char *made = resource == NULL ? plural_of(kind) : NULL;
    row = g_new0(ObjectResource, 1);
    *row =
        (ObjectResource){.group = strings_intern(self->strings, group),
                         .kind = strings_intern(self->strings, kind),
                         .resource = strings_intern(self->strings, made != NULL ? made : resource),
                         .counts_generation = api_resource_of_kind(group, kind) == NULL};
    g_ptr_array_add(self->resources, row);
    return self->resources->len;
}

const char *
objects_resource_name(const Objects *self, const ObjectKey *key)
{
    return key->resource != 0 ? objects_resource_at(self, key->resource)->resource
                              : kinds[key->kind]->resource;
}

unsigned
objects_n_keys(const Objects *self, ObjectKind kind)
{
    return self->keys[kind]->len;
}

ObjectKey *
objects_key_at(const Objects *self, ObjectKind kind, uint32_t slot)
{
    g_assert(slot < self->keys[kind]->len);
    return sim_log_index(self->keys[kind], ObjectKey *, slot);
}

ObjectUid
objects_uid(const Objects *self, const ObjectKey *key, uint32_t incarnation)
{
    uint64_t base =
        sim_hash_combine(sim_hash_combine(self->seed ^ self->uid_salt, key->hash), incarnation);
    uint64_t high = sim_hash_combine(base, 0), low = sim_hash_combine(base, 1);

    return (ObjectUid){
        .high = (high & ~UINT64_C(0xf000)) | UINT64_C(0x4000),   /* version 4 */
        .low = (low & ~(UINT64_C(3) << 62)) | UINT64_C(2) << 62, /* variant of RFC 4122 */
    };
}

void
objects_avoid_uid(Objects *self, ObjectUid uid)
{
    self->uid_salt = sim_hash_combine(self->uid_salt ^ uid.high, uid.low);
}

uint64_t
objects_uid_salt(const Objects *self)
{
    return self->uid_salt;
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
            !field->type->equal((const char *)a + field->offset, (const char *)b + field->offset))
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
        const FieldType *type = field->type;
        void *target = (char *)to + field->offset;
        const void *source = (const char *)from + field->offset;
        if (type->ref != NULL && memcmp(target, source, type->size) != 0) {
            type->clear(target);
            memcpy(target, source, type->size);
            type->ref(target);
        } else {
            memmove(target, source, type->size);
        }
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
    return kind == KIND_STATEFUL_SET || kind == KIND_POD || kind == KIND_NODE ||
           kind == KIND_REPLICA_SET || kind == KIND_DEPLOYMENT || kind == KIND_DAEMON_SET ||
           kind == KIND_JOB || kind == KIND_CRON_JOB;
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
