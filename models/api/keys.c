/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The strings and keys of a run: each object has one key, found by the addresses of its strings,
 * which are interned. Keys never move, and their slots number them by kind, in the order in which
 * they were made. */
#include <string.h>

#include "object.h"
#include "schema/resources.h"
#include "sim/frozen.h"

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
        self->kind_hashes[i] = sim_hash_string(kind_class((ObjectKind)i)->kind);
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

/* The place of the key with these strings, or a free place for it. */
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
} KeysWanted;

static gboolean
keys_is_wanted(const void *data, uint32_t number)
{
    const KeysWanted *wanted = data;
    const ObjectKey *key = key_numbered(wanted->objects, number - 1);

    return key->name == wanted->name && key->namespace == wanted->namespace &&
           type_of_key(key) == wanted->type;
}

/* Returns: NULL if no key has these strings */
static ObjectKey *
find_by_addresses(const Objects *self, KeyType type, const char *namespace, const char *name)
{
    uint32_t number = key_place(self, type, namespace, name)->number;

    if (number == 0 && self->frozen != NULL)
        number = sim_frozen_find(self->frozen, address_hash(type, namespace, name), keys_is_wanted,
                                 &(KeysWanted){self, type, namespace, name});
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
                              : kind_class(key->kind)->resource;
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
