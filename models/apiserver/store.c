/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "store.h"

typedef struct {
    ApiObserver see;
    void *data;
} Observer;

void
api_store_init(ApiStore *self, Sim *sim, Objects *objects, const ApiLatency *latency)
{
    *self = (ApiStore){
        .sim = sim,
        .objects = objects,
        .watches = watch_hub_new(sim, latency),
        .observers = g_array_new(FALSE, FALSE, sizeof(Observer)),
    };
    for (unsigned i = 0; i < N_KINDS; i++)
        self->stored[i].element_size = sizeof(const Object *);
}

void
api_store_clear(ApiStore *self)
{
    for (unsigned kind = 0; kind < N_KINDS; kind++) {
        const SimSlots *stored = &self->stored[kind];
        SIM_SLOTS_EACH(stored, i)
            object_unref(sim_slots_pointer(stored, i));
        sim_slots_clear(&self->stored[kind]);
    }
    watch_hub_free(self->watches);
    g_array_unref(self->observers);
    g_clear_pointer(&self->named_accounts, g_hash_table_unref);
}

void
api_store_observe(ApiStore *self, ApiObserver observer, void *data)
{
    Observer row = {observer, data};

    g_array_append_val(self->observers, row);
}

/* Puts @object (taken; NULL: remove) in the place of @key. */
static void
store_replace(ApiStore *self, const ObjectKey *key, Object *object)
{
    gpointer *place = sim_slots_place(&self->stored[key->kind], key->slot);
    const Object *before = *place;

    self->counts[key->kind] += (object != NULL) - (before != NULL);
    *place = object;
    object_unref(before);
}

const Object *
api_store_commit(ApiStore *self, WatchType type, Object *after, SimTime responds_at, uint32_t n)
{
    const ObjectKey *key = after->key;

    if (G_UNLIKELY(self->is_dry))
        return after;
    const Object *known = api_store_get(self, key);
    g_autoptr(Object) before = known == NULL ? NULL : object_ref(known);

    if (type == WATCH_DELETED && key->kind == KIND_NAMESPACE && key->incarnation == 0)
        ((ObjectKey *)key)->incarnation = 1; /* an imported one has been there, too (API-56) */
    after->resource_version = ++self->revision;
    store_replace(self, key, type == WATCH_DELETED ? NULL : object_ref(after));
    for (unsigned i = 0; i < self->observers->len; i++) {
        const Observer *observer = &g_array_index(self->observers, Observer, i);
        observer->see(observer->data, before, type == WATCH_DELETED ? NULL : after);
    }
    watch_hub_send(self->watches, type, after, responds_at, n);
    return after;
}

void
api_store_write(ApiStore *self, Object *after)
{
    ObjectKey *key = (ObjectKey *)after->key;

    if (G_UNLIKELY(self->is_dry)) {
        object_unref(after);
        return;
    }
    object_unref(
        api_store_commit(self, WATCH_MODIFIED, after, sim_now(self->sim), key->n_requests++));
}
