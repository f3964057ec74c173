/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "models/api/object.h"

/* The objects that an informer knows: client-go's store. An informer of a whole kind finds them by
 * slot; one with a filter keeps a short list. */
typedef struct {
    /* of Object (owned); with @is_list none is NULL, else NULL: there is no such object */
    GPtrArray *objects;
    gboolean is_list;
    unsigned count;
    uint64_t n_changes; /* the first content counts as the first change */
} InformerCache;

void informer_cache_init(InformerCache *self, gboolean is_list);
void informer_cache_clear(InformerCache *self);

/* Returns: (nullable) (borrowed): where the object of @key stands; %NULL: it is not known */
const Object *const *informer_cache_find(const InformerCache *self, const ObjectKey *key);
/* Puts @object in the place of the version that was known, if any. */
void informer_cache_set(InformerCache *self, const Object *object);
/* Forgets the object of @key, if it is known. */
void informer_cache_remove(InformerCache *self, const ObjectKey *key);

/* Returns: (nullable) (borrowed): the version that is known; %NULL: none */
static inline const Object *
informer_cache_get(const InformerCache *self, const ObjectKey *key)
{
    if (!self->is_list)
        return key->slot < self->objects->len ? self->objects->pdata[key->slot] : NULL;
    const Object *const *place = informer_cache_find(self, key);
    return place == NULL ? NULL : *place;
}
