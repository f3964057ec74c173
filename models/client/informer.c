/* SPDX-License-Identifier: GPL-3.0-or-later */
/* An informer: what a process believes to be stored. The reflector (a watch and lists) changes the
 * cache and its indexes, then tells the handlers in the order in which they were added (CGO-12).
 * Whether a version is an addition or a change is decided by the cache alone (CGO-13).
 *
 * Invariant: handlers, indexes and lookups see the same versions at every instant. A list after a
 * gap gives changes and deletions as if they had just happened. */
#include "models/client/client-test.h"
#include "process-private.h"

typedef struct {
    InformerHandler function;
    void *data;
} Handler;

struct Informer {
    Process *process;
    ObjectKind kind;
    const char *filter; /* NULL: all objects of the kind */
    InformerCache cache;
    GPtrArray *indexes; /* of InformerIndex (owned) */
    GArray *handlers;   /* of Handler */
    ApiWatch *watch;
};

/* ---- The store: a cache and its indexes ---- */

/* Puts @object into the store, or takes it out. Returns: (nullable) (owned): the version before */
static Object *
store_change(Informer *self, const Object *object, gboolean is_deleted)
{
    const Object *after = is_deleted ? NULL : object;
    const Object *before = is_deleted ? informer_cache_remove(&self->cache, object->key)
                                      : informer_cache_set(&self->cache, object);

    self->cache.n_changes += before != NULL || after != NULL;
    for (unsigned i = 0; i < self->indexes->len; i++)
        index_change(self->indexes->pdata[i], before, after);
    return (Object *)before;
}

void
informer_put(Informer *self, const Object *object)
{
    object_unref(store_change(self, object, FALSE));
}

const Object *
informer_get(const Informer *self, const ObjectKey *key)
{
    return informer_cache_get(&self->cache, key);
}

const Object *
informer_find(const Informer *self, const char *namespace, const char *name)
{
    const Objects *objects = self->process->options.objects;
    const ObjectKey *key =
        name == NULL ? NULL : objects_find_key(objects, self->kind, namespace, name);

    return key == NULL ? NULL : informer_get(self, key);
}

ObjectKind
informer_kind(const Informer *self)
{
    return self->kind;
}

unsigned
informer_count(const Informer *self)
{
    return self->cache.count;
}

void
informer_iter_init(InformerIter *iter, const Informer *informer)
{
    *iter = (InformerIter){&informer->cache, 0};
}

const Object *
informer_iter_next(InformerIter *iter)
{
    return informer_cache_next(iter->cache, &iter->next);
}

InformerIndex *
informer_add_index(Informer *self, InformerIndexFunc function)
{
    const ProcessOptions *process = &self->process->options;
    InformerIter iter;
    const Object *object;

    for (unsigned i = 0; i < self->indexes->len; i++)
        if (index_function(self->indexes->pdata[i]) == function)
            return self->indexes->pdata[i];

    InformerIndex *index = index_new(&(InformerIndexOptions){
        function, &self->cache, process->objects, sim_memory(process->sim)});
    g_ptr_array_add(self->indexes, index);
    informer_iter_init(&iter, self);
    while ((object = informer_iter_next(&iter)) != NULL)
        index_change(index, NULL, object);
    return index;
}

/* ---- The handlers ---- */

void
informer_tell(Informer *self, const Object *before, const Object *after)
{
    for (unsigned i = 0; i < self->handlers->len; i++) {
        const Handler *handler = &g_array_index(self->handlers, Handler, i);
        handler->function(handler->data, before, after);
    }
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

/* ---- The reflector: what the watch and lists bring ---- */

/* Changes the cache and its indexes, then tells the handlers (CGO-12). The cache decides whether
 * the object is added or changed (CGO-13). */
static void
take_version(Informer *self, WatchType type, const Object *object)
{
    gboolean is_deleted = type == WATCH_DELETED;
    g_autoptr(Object) before = store_change(self, object, is_deleted);

    if (!is_deleted)
        informer_tell(self, before, object);
    else if (before != NULL) /* A deletion hands over the last state, newer than the cache's. */
        informer_tell(self, object, NULL);
}

/* API-63: a kubelet sees only the pods of its node. */
static gboolean
passes_filter(const Informer *self, const Object *object)
{
    if (self->filter == NULL)
        return TRUE;
    return (self->kind == KIND_POD ? POD_CONST(object)->node_name : object_name(object)) ==
           self->filter;
}

/* Returns: the stored object of @key; NULL: there is none, or it does not pass the filter */
static const Object *
stored_for(const Informer *self, const ObjectKey *key)
{
    const Object *object = api_server_get(self->process->options.api, key);

    return object != NULL && passes_filter(self, object) ? object : NULL;
}

typedef struct {
    uint32_t begin, end;
} SlotRange;

/* Returns: the slots that a list walks: at most one for an informer of one name, none for a kind
 * without objects */
static SlotRange
slots_to_list(const Informer *self)
{
    const ProcessOptions *options = &self->process->options;

    if (self->filter != NULL && self->kind != KIND_POD) {
        const ObjectKey *key = objects_find_key(options->objects, self->kind, NULL, self->filter);
        return key == NULL ? (SlotRange){0, 0} : (SlotRange){key->slot, key->slot + 1};
    }
    if (api_server_count(options->api, self->kind) == 0)
        return (SlotRange){0, 0};
    return (SlotRange){0, objects_n_keys(options->objects, self->kind)};
}

/* CGO-1, API-71: objects of the list that differ from the cache come as changes, however many
 * versions were missed; objects that the list lacks come as deletions of their last known version.
 * An object that was deleted and created anew meanwhile is a change (CGO-15). */
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
    SlotRange slots = slots_to_list(self);
    for (uint32_t slot = slots.begin; slot < slots.end; slot++) {
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

static Informer *
new_informer(Process *process, ObjectKind kind, const char *filter, uint64_t entity)
{
    const ProcessOptions *options = &process->options;
    Informer *self = g_new0(Informer, 1);

    self->process = process;
    self->kind = kind;
    self->filter = filter;
    informer_cache_init(&self->cache, filter != NULL);
    self->handlers = g_array_new(FALSE, FALSE, sizeof(Handler));
    self->indexes = g_ptr_array_new_with_free_func((GDestroyNotify)index_free);
    self->watch = api_server_watch(options->api, kind, filter, entity, informer_event, self);

    SlotRange slots = slots_to_list(self);
    for (uint32_t slot = slots.begin; slot < slots.end; slot++) {
        const Object *object = stored_for(self, objects_key_at(options->objects, kind, slot));
        if (object != NULL)
            object_unref(informer_cache_set(&self->cache, object));
    }
    return self;
}

Informer *
informer_new(Process *process, ObjectKind kind, const char *filter)
{
    return new_informer(process, kind, filter, process->hash);
}

Informer *
informer_new_of(Process *process, const ObjectKey *key, uint64_t entity)
{
    return new_informer(process, key->kind, key->name, entity);
}

void
informer_free(Informer *self)
{
    if (self == NULL)
        return;
    api_watch_free(self->watch);
    g_array_unref(self->handlers);
    g_ptr_array_unref(self->indexes);
    informer_cache_clear(&self->cache);
    g_free(self);
}

const char *
informer_filter(const Informer *self)
{
    return self->filter;
}
