/* SPDX-License-Identifier: GPL-3.0-or-later */
/* An index of an informer: from a value (a node's name, a class) to the keys of the objects that
 * have it. Most values have one object, so an entry is that key itself; several keys make a bucket,
 * tagged by an odd address. Many keys get a table of positions, so that a change costs the same
 * among 10,000 volumes as among ten. The order of the keys is that of insertion: it decides
 * results. */
#include "index.h"

#include "models/api/pod.h"
#include "sim/pointer-map.h"

#include <string.h>

#define BUCKET_OWN 2     /* keys that fit into the Bucket itself */
#define BUCKET_SCANNED 8 /* keys among which one is found by looking at each */
#define EMITTED_MIN 4

/* The keys of the objects of one value, if there are several: a new version with the same values
 * changes nothing here. informer_index_get() looks the versions up. Among many keys @positions
 * finds one, so a change costs the same among 10,000 volumes as among ten. */
typedef struct {
    SimMemory *memory;
    const void **items; /* @own, or (owned): @capacity keys, then room for @capacity versions */
    const void *own[2 * BUCKET_OWN];
    unsigned n, capacity;
    GHashTable *positions; /* ObjectKey -> position + 1; NULL: few keys */
    uint64_t looked_up_at; /* InformerCache.n_changes when the versions were looked up */
} Bucket;

struct InformerIndex {
    InformerIndexOptions options;
    PointerMap entries; /* value -> usually the key of its only object; otherwise a tagged Bucket */
    const void **emitted; /* (owned): what the index function emits */
    unsigned n_emitted, emitted_capacity;
};

/* ---- Buckets ---- */

static size_t
items_size(unsigned capacity)
{
    return 2 * capacity * sizeof(void *);
}

/* A bucket in a map of keys: tagged by an odd address, which no key has. */
static void *
bucket_tag(Bucket *bucket)
{
    return (char *)bucket + 1;
}

/* Returns: NULL if the entry is a key, or there is none */
static Bucket *
entry_bucket(void *entry)
{
    return ((uintptr_t)entry & 1) == 0 ? NULL : (Bucket *)((char *)entry - 1);
}

static const ObjectKey *
bucket_key(const Bucket *bucket, unsigned position)
{
    return bucket->items[position];
}

static void
index_entry_free(void *entry)
{
    Bucket *bucket = entry_bucket(entry);

    if (bucket == NULL)
        return;
    if (bucket->items != bucket->own)
        sim_memory_give(bucket->memory, bucket->items, items_size(bucket->capacity));
    g_clear_pointer(&bucket->positions, g_hash_table_unref);
    sim_memory_give(bucket->memory, bucket, sizeof *bucket);
}

static Bucket *
bucket_new(SimMemory *memory)
{
    Bucket *bucket = sim_memory_new_struct(memory, Bucket);

    *bucket = (Bucket){.memory = memory, .items = bucket->own, .capacity = BUCKET_OWN};
    return bucket;
}

static void
bucket_set_position(Bucket *bucket, unsigned position)
{
    g_hash_table_insert(bucket->positions, (void *)bucket->items[position],
                        GUINT_TO_POINTER(position + 1));
}

/* Returns: the position of @key, -1: not there */
static int
bucket_find(const Bucket *bucket, const ObjectKey *key)
{
    if (bucket->positions != NULL)
        return (int)GPOINTER_TO_UINT(g_hash_table_lookup(bucket->positions, key)) - 1;
    for (unsigned i = 0; i < bucket->n; i++)
        if (bucket_key(bucket, i) == key)
            return (int)i;
    return -1;
}

static void
bucket_grow(Bucket *bucket)
{
    unsigned capacity = 4 * bucket->capacity;
    const void **items = sim_memory_take(bucket->memory, items_size(capacity));

    memcpy(items, bucket->items, bucket->n * sizeof *items);
    if (bucket->items != bucket->own)
        sim_memory_give(bucket->memory, bucket->items, items_size(bucket->capacity));
    bucket->items = items;
    bucket->capacity = capacity;
}

static void
bucket_put(Bucket *bucket, const ObjectKey *key)
{
    if (bucket_find(bucket, key) >= 0)
        return;
    if (bucket->n == bucket->capacity)
        bucket_grow(bucket);
    bucket->items[bucket->n++] = key;
    if (bucket->positions != NULL) {
        bucket_set_position(bucket, bucket->n - 1);
    } else if (bucket->n > BUCKET_SCANNED) {
        bucket->positions = g_hash_table_new(g_direct_hash, g_direct_equal);
        for (unsigned i = 0; i < bucket->n; i++)
            bucket_set_position(bucket, i);
    }
}

/* The last key takes the place of @key. */
static void
bucket_remove(Bucket *bucket, const ObjectKey *key)
{
    int position = bucket_find(bucket, key);

    if (position < 0)
        return;
    bucket->items[position] = bucket->items[--bucket->n];
    if (bucket->positions == NULL)
        return;
    g_hash_table_remove(bucket->positions, key);
    if ((unsigned)position < bucket->n)
        bucket_set_position(bucket, (unsigned)position);
}

static const Object *const *
bucket_objects(Bucket *bucket, const InformerCache *cache)
{
    const Object **objects = (const Object **)&bucket->items[bucket->capacity];

    if (bucket->looked_up_at != cache->n_changes) {
        for (unsigned i = 0; i < bucket->n; i++)
            objects[i] = informer_cache_get(cache, bucket_key(bucket, i));
        bucket->looked_up_at = cache->n_changes;
    }
    return objects;
}

/* ---- Index ---- */

InformerIndex *
index_new(const InformerIndexOptions *options)
{
    InformerIndex *self = g_new0(InformerIndex, 1);

    self->options = *options;
    return self;
}

void
index_free(InformerIndex *self)
{
    pointer_map_clear(&self->entries, index_entry_free);
    g_free(self->emitted);
    g_free(self);
}

InformerIndexFunc
index_function(const InformerIndex *self)
{
    return self->options.function;
}

void
index_emit(InformerIndex *self, const void *value)
{
    if (self->n_emitted == self->emitted_capacity) {
        self->emitted_capacity = MAX(2 * self->emitted_capacity, EMITTED_MIN);
        self->emitted = g_renew(const void *, self->emitted, self->emitted_capacity);
    }
    self->emitted[self->n_emitted++] = value;
}

static void
index_put(InformerIndex *self, const void *value, const ObjectKey *key)
{
    void *entry = pointer_map_get(&self->entries, value);
    Bucket *bucket = entry_bucket(entry);

    if (entry == NULL) {
        pointer_map_set(&self->entries, value, (void *)key);
        return;
    }
    if (entry == key)
        return;
    if (bucket == NULL) {
        bucket = bucket_new(self->options.memory);
        bucket_put(bucket, entry);
        pointer_map_set(&self->entries, value, bucket_tag(bucket));
    }
    bucket_put(bucket, key);
}

static void
index_remove(InformerIndex *self, const void *value, const ObjectKey *key)
{
    void *entry = pointer_map_get(&self->entries, value);
    Bucket *bucket = entry_bucket(entry);

    if (bucket != NULL)
        bucket_remove(bucket, key);
    if (bucket != NULL ? bucket->n == 0 : entry == key)
        index_entry_free(pointer_map_take(&self->entries, value));
}

static gboolean
is_emitted(const InformerIndex *self, unsigned from, unsigned to, const void *value)
{
    for (unsigned i = from; i < to; i++)
        if (self->emitted[i] == value)
            return TRUE;
    return FALSE;
}

void
index_change(InformerIndex *self, const Object *before, const Object *after)
{
    Objects *objects = self->options.objects;

    self->n_emitted = 0;
    if (before != NULL)
        self->options.function(self, before, objects);
    unsigned n_before = self->n_emitted;
    if (after != NULL)
        self->options.function(self, after, objects);
    unsigned n_after = self->n_emitted - n_before;

    if (n_after == n_before && (n_after == 0 || memcmp(self->emitted, self->emitted + n_before,
                                                       n_after * sizeof *self->emitted) == 0))
        return; /* most changes keep the values */
    for (unsigned i = n_before; i < self->n_emitted; i++)
        index_put(self, self->emitted[i], after->key);
    for (unsigned i = 0; i < n_before; i++)
        if (!is_emitted(self, n_before, self->n_emitted, self->emitted[i]))
            index_remove(self, self->emitted[i], before->key);
}

const Object *const *
informer_index_get(const InformerIndex *self, const void *value, unsigned *n)
{
    const InformerCache *cache = self->options.cache;
    void *entry = pointer_map_get(&self->entries, value);
    Bucket *bucket = entry_bucket(entry);

    if (bucket != NULL) {
        *n = bucket->n;
        return bucket_objects(bucket, cache);
    }
    *n = entry == NULL ? 0 : 1;
    return entry == NULL ? NULL : informer_cache_find(cache, entry);
}

/* ---- Indexes that several components use ---- */

void
index_pods_by_node(InformerIndex *index, const Object *object, Objects *objects)
{
    (void)objects;
    if (POD_CONST(object)->node_name != NULL)
        index_emit(index, POD_CONST(object)->node_name);
}

void
index_pods_by_claim(InformerIndex *index, const Object *object, Objects *objects)
{
    const Pod *pod = POD_CONST(object);

    for (unsigned i = 0; pod->volumes != NULL && i < pod->volumes->n_items; i++)
        index_emit(index, pod_claim_key(objects, pod, &pod->volumes->items[i]));
}
