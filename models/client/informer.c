/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "process-private.h"
#include "sim/pointer-map.h"

#include <string.h>

#define BUCKET_OWN 2     /* keys that need no block of their own */
#define BUCKET_SCANNED 8 /* keys that are found by looking at all of them */
#define EMITTED_MIN 4

typedef struct {
    InformerHandler function;
    void *data;
} Handler;

/* The objects of one value, once there are several. They are known by their keys, so a new version
 * that has the same values as the one before changes nothing here; versions are looked up when
 * somebody asks. Beyond a few keys, @positions finds one; so a class with 10,000 volumes costs no
 * more. */
typedef struct {
    SimMemory *memory;
    const void **items; /* own, or (owned): room for as many keys, then for as many versions */
    const void *own[2 * BUCKET_OWN];
    unsigned n, capacity;
    GHashTable *positions; /* ObjectKey -> position + 1; NULL: few keys */
    uint64_t looked_up_at; /* the cache's number of changes then */
} Bucket;

struct InformerIndex {
    InformerIndexFunc function;
    const Informer *informer;
    PointerMap entries;   /* value -> the key of its one object, as mostly; or a marked Bucket */
    const void **emitted; /* (owned): while the function runs */
    unsigned n_emitted, emitted_capacity;
    SimMemory *memory;
};

/* The cache: by slot if the informer sees the whole kind; a short list if it sees some of it. */
struct Informer {
    Process *process;
    ObjectKind kind;
    const char *filter;
    GPtrArray *objects;
    unsigned count;
    uint64_t n_changes; /* of the cache; what it began with is the first */
    GArray *handlers;
    GPtrArray *indexes;
    ApiWatch *watch;
};

static size_t
items_size(unsigned capacity)
{
    return 2 * capacity * sizeof(void *);
}

/* An odd address: no key has one. */
static void *
bucket_mark(Bucket *bucket)
{
    return (char *)bucket + 1;
}

/* Returns: NULL: the entry is the key of one object, or there is none */
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
entry_free(void *entry)
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

/* The last takes the place of the one that goes. */
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
bucket_objects(Bucket *bucket, const Informer *informer)
{
    const Object **objects = (const Object **)&bucket->items[bucket->capacity];

    if (bucket->looked_up_at != informer->n_changes) {
        for (unsigned i = 0; i < bucket->n; i++)
            objects[i] = informer_get(informer, bucket_key(bucket, i));
        bucket->looked_up_at = informer->n_changes;
    }
    return objects;
}

static void
index_free(void *data)
{
    InformerIndex *index = data;

    pointer_map_clear(&index->entries, entry_free);
    g_free(index->emitted);
    g_free(index);
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
        bucket = bucket_new(self->memory);
        bucket_put(bucket, entry);
        pointer_map_set(&self->entries, value, bucket_mark(bucket));
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
        entry_free(pointer_map_take(&self->entries, value));
}

static gboolean
is_emitted(const InformerIndex *self, unsigned from, unsigned to, const void *value)
{
    for (unsigned i = from; i < to; i++)
        if (self->emitted[i] == value)
            return TRUE;
    return FALSE;
}

static void
index_change(InformerIndex *self, const Object *before, const Object *after, Objects *objects)
{
    self->n_emitted = 0;
    if (before != NULL)
        self->function(self, before, objects);
    unsigned n_before = self->n_emitted;
    if (after != NULL)
        self->function(self, after, objects);
    unsigned n_after = self->n_emitted - n_before;

    if (n_after == n_before && (n_after == 0 || memcmp(self->emitted, self->emitted + n_before,
                                                       n_after * sizeof *self->emitted) == 0))
        return; /* as most changes */
    for (unsigned i = n_before; i < self->n_emitted; i++)
        index_put(self, self->emitted[i], after->key);
    for (unsigned i = 0; i < n_before; i++)
        if (!is_emitted(self, n_before, self->n_emitted, self->emitted[i]))
            index_remove(self, self->emitted[i], before->key);
}

/* Where @key is or belongs in the cache, made if @make; NULL: not there. */
static gpointer *
cache_place(const Informer *self, const ObjectKey *key, gboolean make)
{
    GPtrArray *objects = self->objects;

    if (self->filter == NULL) {
        if (key->slot >= objects->len) {
            if (!make)
                return NULL;
            g_ptr_array_set_size(objects, (int)slots_to_hold(key->slot, objects->len));
        }
        return &objects->pdata[key->slot];
    }
    for (unsigned i = 0; i < objects->len; i++)
        if (((const Object *)objects->pdata[i])->key == key)
            return &objects->pdata[i];
    if (!make)
        return NULL;
    g_ptr_array_add(objects, NULL);
    return &objects->pdata[objects->len - 1];
}

static void
cache_set(Informer *self, const Object *object)
{
    gpointer *place = cache_place(self, object->key, TRUE);

    self->count += *place == NULL;
    if (*place != NULL)
        object_unref(*place);
    *place = object_ref(object);
}

static void
cache_remove(Informer *self, const ObjectKey *key)
{
    gpointer *place = cache_place(self, key, FALSE);

    if (place == NULL || *place == NULL)
        return;
    object_unref(*place);
    self->count--;
    if (self->filter == NULL)
        *place = NULL;
    else
        g_ptr_array_remove_index(self->objects,
                                 (unsigned)(place - self->objects->pdata)); /* keeps the order */
}

/* The cache and its indexes. @after NULL: deleted */
static void
cache_change(Informer *self, const Object *before, const Object *after)
{
    self->n_changes++;
    for (unsigned i = 0; i < self->indexes->len; i++)
        index_change(self->indexes->pdata[i], before, after, self->process->options.objects);
    if (after != NULL)
        cache_set(self, after);
    else
        cache_remove(self, before->key);
}

void
informer_put(Informer *self, const Object *object)
{
    const Object *known = informer_get(self, object->key);
    g_autoptr(Object) before = known == NULL ? NULL : object_ref(known);

    cache_change(self, before, object);
}

void
informer_seed(Informer *self, const Object *object)
{
    informer_put(self, object);
}

void
informer_tell(Informer *self, const Object *before, const Object *after)
{
    for (unsigned i = 0; i < self->handlers->len; i++) {
        const Handler *handler = &g_array_index(self->handlers, Handler, i);
        handler->function(handler->data, before, after);
    }
}

/* First the cache and its indexes, then the handlers (CGO-12). The type follows from the cache
 * (CGO-13). */
static void
take_version(Informer *self, WatchType type, const Object *object)
{
    const Object *known = informer_get(self, object->key);
    g_autoptr(Object) before = known == NULL ? NULL : object_ref(known);
    const Object *after = type == WATCH_DELETED ? NULL : object;

    if (before == NULL && after == NULL)
        return;
    cache_change(self, before, after);
    /* A deletion hands over the last state, newer than what the cache had. */
    informer_tell(self, after == NULL ? object : before, after);
}

/* API-63: a kubelet sees the pods of its node. */
static gboolean
passes_filter(const Informer *self, const Object *object)
{
    if (self->filter == NULL)
        return TRUE;
    return (self->kind == KIND_POD ? POD_CONST(object)->node_name : object_name(object)) ==
           self->filter;
}

/* Returns: what is stored of @key and is for this informer; NULL: nothing */
static const Object *
stored_for(const Informer *self, const ObjectKey *key)
{
    const Object *object = api_server_get(self->process->options.api, key);

    return object != NULL && passes_filter(self, object) ? object : NULL;
}

/* CGO-1, API-71: what is listed comes as changes, whatever was between; what is not any more as
 * deletions of what was known last. One that was deleted and made anew meanwhile is a change
 * (CGO-15). */
static void
relist(Informer *self)
{
    Objects *objects = self->process->options.objects;
    g_autoptr(GPtrArray) gone = g_ptr_array_new_with_free_func((GDestroyNotify)object_unref);
    InformerIter known;
    const Object *object;

    informer_iter_init(&known, self);
    while ((object = informer_iter_next(&known)) != NULL)
        if (stored_for(self, object->key) == NULL)
            g_ptr_array_add(gone, object_ref(object));
    for (uint32_t slot = 0; slot < objects_n_keys(objects, self->kind); slot++) {
        const ObjectKey *key = objects_key_at(objects, self->kind, slot);
        const Object *stored = stored_for(self, key), *cached = informer_get(self, key);
        if (stored != NULL &&
            (cached == NULL || cached->resource_version != stored->resource_version))
            take_version(self, cached == NULL ? WATCH_ADDED : WATCH_MODIFIED, stored);
    }
    for (unsigned i = 0; i < gone->len; i++)
        take_version(self, WATCH_DELETED, gone->pdata[i]);
}

static void
informer_event(void *data, WatchType type, const Object *object)
{
    if (G_UNLIKELY(type == WATCH_RELIST))
        relist(data);
    else
        take_version(data, type, object);
}

Informer *
informer_new(Process *process, ObjectKind kind, const char *filter)
{
    const ProcessOptions *options = &process->options;
    Informer *self = g_new0(Informer, 1);

    self->process = process;
    self->kind = kind;
    self->filter = filter;
    self->n_changes = 1;
    self->objects = g_ptr_array_new();
    self->handlers = g_array_new(FALSE, FALSE, sizeof(Handler));
    self->indexes = g_ptr_array_new_with_free_func(index_free);
    self->watch = api_server_watch(options->api, kind, filter, process->hash, informer_event, self);

    if (filter != NULL && kind != KIND_POD) { /* one name: no need to look at all */
        const ObjectKey *key = objects_find_key(options->objects, kind, NULL, filter);
        if (key != NULL && api_server_get(options->api, key) != NULL)
            cache_set(self, api_server_get(options->api, key));
        return self;
    }
    unsigned n_keys =
        api_server_count(options->api, kind) == 0 ? 0 : objects_n_keys(options->objects, kind);
    for (uint32_t slot = 0; slot < n_keys; slot++) {
        const Object *object =
            api_server_get(options->api, objects_key_at(options->objects, kind, slot));
        if (object != NULL && passes_filter(self, object))
            cache_set(self, object);
    }
    return self;
}

void
informer_free(Informer *self)
{
    if (self == NULL)
        return;
    api_watch_free(self->watch);
    for (unsigned i = 0; i < self->objects->len; i++)
        if (self->objects->pdata[i] != NULL)
            object_unref(self->objects->pdata[i]);
    g_ptr_array_unref(self->objects);
    g_array_unref(self->handlers);
    g_ptr_array_unref(self->indexes);
    g_free(self);
}

const char *
informer_filter(const Informer *self)
{
    return self->filter;
}

void
informer_add_handler(Informer *self, InformerHandler handler, void *data)
{
    Handler entry = {handler, data};
    InformerIter iter;
    const Object *object;

    g_array_append_val(self->handlers, entry);
    informer_iter_init(&iter, self);
    while ((object = informer_iter_next(&iter)) != NULL)
        handler(data, NULL, object);
}

const Object *
informer_get(const Informer *self, const ObjectKey *key)
{
    gpointer *place = cache_place(self, key, FALSE);

    return place == NULL ? NULL : *place;
}

unsigned
informer_count(const Informer *self)
{
    return self->count;
}

void
informer_iter_init(InformerIter *iter, const Informer *informer)
{
    *iter = (InformerIter){informer, 0};
}

const Object *
informer_iter_next(InformerIter *iter)
{
    const GPtrArray *objects = iter->informer->objects;

    while (iter->next < objects->len) {
        const Object *object = objects->pdata[iter->next++];
        if (object != NULL)
            return object;
    }
    return NULL;
}

InformerIndex *
informer_add_index(Informer *self, InformerIndexFunc function)
{
    for (unsigned i = 0; i < self->indexes->len; i++)
        if (((InformerIndex *)self->indexes->pdata[i])->function == function)
            return self->indexes->pdata[i];

    InformerIndex *index = g_new0(InformerIndex, 1);
    InformerIter iter;
    const Object *object;
    index->function = function;
    index->informer = self;
    index->memory = sim_memory(self->process->options.sim);
    g_ptr_array_add(self->indexes, index);
    informer_iter_init(&iter, self);
    while ((object = informer_iter_next(&iter)) != NULL)
        index_change(index, NULL, object, self->process->options.objects);
    return index;
}

const Object *const *
informer_index_get(const InformerIndex *self, const void *value, unsigned *n)
{
    void *entry = pointer_map_get(&self->entries, value);
    Bucket *bucket = entry_bucket(entry);

    if (bucket != NULL) {
        *n = bucket->n;
        return bucket_objects(bucket, self->informer);
    }
    *n = entry == NULL ? 0 : 1;
    return entry == NULL ? NULL : (const Object *const *)cache_place(self->informer, entry, FALSE);
}

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

void
index_volumes_by_class(InformerIndex *index, const Object *object, Objects *objects)
{
    (void)objects;
    index_emit(index, volume_class(VOLUME_CONST(object)));
}

void
index_attachments_by_node(InformerIndex *index, const Object *object, Objects *objects)
{
    (void)objects;
    if (((const Attachment *)object)->node_name != NULL)
        index_emit(index, ((const Attachment *)object)->node_name);
}
