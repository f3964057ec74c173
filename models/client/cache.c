/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cache.h"

void
informer_cache_init(InformerCache *self, gboolean is_list)
{
    *self =
        (InformerCache){.by_slot.element_size = sizeof(const Object *),
                        .list = is_list ? g_array_new(FALSE, FALSE, sizeof(ListedObject)) : NULL,
                        .n_changes = 1};
}

static ListedObject *
listed(const InformerCache *self, unsigned i)
{
    return &g_array_index(self->list, ListedObject, i);
}

const Object *
informer_cache_next(const InformerCache *self, uint32_t *place)
{
    const Object *object = NULL;

    if (self->list != NULL)
        return *place < self->list->len ? listed(self, (*place)++)->object : NULL;
    while (object == NULL &&
           (*place = sim_slots_next(&self->by_slot, *place)) < sim_slots_end(&self->by_slot))
        object = sim_slots_pointer(&self->by_slot, (*place)++);
    return object;
}

void
informer_cache_clear(InformerCache *self)
{
    const Object *object;
    uint32_t place = 0;

    while ((object = informer_cache_next(self, &place)) != NULL)
        object_unref(object);
    sim_slots_clear(&self->by_slot);
    if (self->list != NULL)
        g_array_unref(self->list);
}

/* Returns: the object's number in the list; its length: the object is not there */
static unsigned
number_in_list(const InformerCache *self, const ObjectKey *key)
{
    unsigned i = 0;

    while (i < self->list->len && listed(self, i)->key != key)
        i++;
    return i;
}

/* Returns: (nullable) (borrowed): where the object of @key stands, if it is known */
static const Object **
cache_place_of(const InformerCache *self, const ObjectKey *key)
{
    if (self->list == NULL) {
        const Object **place = sim_slots_find(&self->by_slot, key->slot);
        return place == NULL || *place == NULL ? NULL : place;
    }
    unsigned i = number_in_list(self, key);
    return i < self->list->len ? &listed(self, i)->object : NULL;
}

static const Object **
make_place(InformerCache *self, const ObjectKey *key)
{
    ListedObject empty = {.key = key};

    if (self->list == NULL)
        return sim_slots_place(&self->by_slot, key->slot);
    g_array_append_val(self->list, empty);
    return &listed(self, self->list->len - 1)->object;
}

const Object *const *
informer_cache_find(const InformerCache *self, const ObjectKey *key)
{
    return cache_place_of(self, key);
}

const Object *
informer_cache_set(InformerCache *self, const Object *object)
{
    const Object **place = cache_place_of(self, object->key);

    if (place == NULL)
        place = make_place(self, object->key);
    const Object *before = *place;
    self->count += before == NULL;
    *place = object_ref(object);
    return before;
}

const Object *
informer_cache_remove(InformerCache *self, const ObjectKey *key)
{
    const Object **place = cache_place_of(self, key);

    if (place == NULL)
        return NULL;
    const Object *before = *place;
    self->count--;
    if (self->list != NULL)
        g_array_remove_index(self->list, number_in_list(self, key)); /* keeps the order */
    else
        *place = NULL;
    return before;
}
