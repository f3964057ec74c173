/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cache.h"

void
informer_cache_init(InformerCache *self, gboolean is_list)
{
    *self = (InformerCache){.objects = g_ptr_array_new(), .is_list = is_list, .n_changes = 1};
}

void
informer_cache_clear(InformerCache *self)
{
    for (unsigned i = 0; i < self->objects->len; i++)
        object_unref(self->objects->pdata[i]);
    g_ptr_array_unref(self->objects);
}

/* Returns: the place in @objects; -1: there is none */
static int
place_of(const InformerCache *self, const ObjectKey *key)
{
    if (!self->is_list)
        return key->slot < self->objects->len ? (int)key->slot : -1;
    for (unsigned i = 0; i < self->objects->len; i++)
        if (((const Object *)self->objects->pdata[i])->key == key)
            return (int)i;
    return -1;
}

static unsigned
make_place(InformerCache *self, const ObjectKey *key)
{
    unsigned place = self->is_list ? self->objects->len : key->slot;

    g_ptr_array_set_size(self->objects, self->is_list
                                            ? (int)place + 1
                                            : (int)slots_to_hold(place, self->objects->len));
    return place;
}

const Object *const *
informer_cache_find(const InformerCache *self, const ObjectKey *key)
{
    int place = place_of(self, key);

    if (place < 0 || self->objects->pdata[place] == NULL)
        return NULL;
    return (const Object *const *)&self->objects->pdata[place];
}

void
informer_cache_set(InformerCache *self, const Object *object)
{
    int known = place_of(self, object->key);
    unsigned place = known >= 0 ? (unsigned)known : make_place(self, object->key);
    const Object *before = self->objects->pdata[place];

    self->count += before == NULL;
    self->objects->pdata[place] = object_ref(object);
    object_unref(before);
}

void
informer_cache_remove(InformerCache *self, const ObjectKey *key)
{
    int place = place_of(self, key);

    if (place < 0 || self->objects->pdata[place] == NULL)
        return;
    object_unref(self->objects->pdata[place]);
    self->count--;
    if (self->is_list)
        g_ptr_array_remove_index(self->objects, (unsigned)place); /* keeps the order */
    else
        self->objects->pdata[place] = NULL;
}
