/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "models/api/object.h"
#include "sim/slots.h"

/* The key stands beside the object, so that a search does not read all objects. */
typedef struct {
    const ObjectKey *key;
    const Object *object; /* (owned) */
} ListedObject;

/* The objects that an informer knows: client-go's store. An informer of a whole kind finds them by
 * slot; one with a filter keeps a short list. */
typedef struct {
    SimSlots by_slot; /* of Object (owned); NULL: there is no such object */
    GArray *list;     /* ... or these, of ListedObject; NULL: by slot */
    unsigned count;
    uint64_t n_changes; /* the first content counts as the first change */
} InformerCache;

void informer_cache_init(InformerCache *self, gboolean is_list);
void informer_cache_clear(InformerCache *self);

/* Returns: (nullable) (borrowed): where the object of @key stands; %NULL: it is not known */
const Object *const *informer_cache_find(const InformerCache *self, const ObjectKey *key);
/* Puts @object in its place. Returns: (nullable) (owned): the version that was known; %NULL: none
 */
const Object *informer_cache_set(InformerCache *self, const Object *object);
/* Forgets the object of @key. Returns: (nullable) (owned): the version that was known; %NULL: none
 */
const Object *informer_cache_remove(InformerCache *self, const ObjectKey *key);

/* Walks the objects, by slot or in the order of the list. @place: 0 at first. Returns: (nullable)
 * (borrowed): %NULL: the end */
const Object *informer_cache_next(const InformerCache *self, uint32_t *place);

/* Returns: (nullable) (borrowed): the version that is known; %NULL: none */
static inline const Object *
informer_cache_get(const InformerCache *self, const ObjectKey *key)
{
    if (self->list == NULL)
        return sim_slots_pointer(&self->by_slot, key->slot);
    const Object *const *place = informer_cache_find(self, key);
    return place == NULL ? NULL : *place;
}
