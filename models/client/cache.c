/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cache.h"

void
informer_cache_init(InformerCache *self, gboolean is_list)
{
    *self = (InformerCache){.by_slot.element_size = sizeof(const Object *),
                            .list = is_list ? g_ptr_array_new() : NULL,
                            .n_changes = 1};
}

const Object *
informer_cache_next(const InformerCache *self, uint32_t *place)
{
    const Object *object = NULL;

    if (self->list != NULL)
        return *place < self->list->len ? self->list->pdata[(*place)++] : NULL;
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
        g_ptr_array_unref(self->list);
}

/* Returns: (nullable) (borrowed): where the object of @key stands, if it is known */
static gpointer *
place_of(const InformerCache *self, const ObjectKey *key)
{
    if (self->list == NULL) {
        gpointer *place = sim_slots_find(&self->by_slot, key->slot);
        return place == NULL || *place == NULL ? NULL : place;
    }
    for (unsigned i = 0; i < self->list->len; i++)
        if (((const Object *)self->list->pdata[i])->key == key)
            return &self->list->pdata[i];
    return NULL;
}

static gpointer *
make_place(InformerCache *self, const ObjectKey *key)
{
    if (self->list == NULL)
        return sim_slots_place(&self->by_slot, key->slot);
    g_ptr_array_add(self->list, NULL);
    return &self->list->pdata[self->list->len - 1];
}

const Object *const *
informer_cache_find(const InformerCache *self, const ObjectKey *key)
{
    return (const Object *const *)place_of(self, key);
}

void
informer_cache_set(InformerCache *self, const Object *object)
{
    gpointer *place = place_of(self, object->key);

    if (place == NULL)
        place = make_place(self, object->key);
    const Object *before = *place;
    self->count += before == NULL;
    *place = (gpointer)object_ref(object);
    object_unref(before);
}

void
informer_cache_remove(InformerCache *self, const ObjectKey *key)
{
    gpointer *place = place_of(self, key);

    if (place == NULL)
        return;
    object_unref(*place);
    self->count--;
    if (self->list != NULL)
        g_ptr_array_remove_index(self->list,
                                 (unsigned)(place - self->list->pdata)); /* keeps the order */
    else
        *place = NULL;
}
