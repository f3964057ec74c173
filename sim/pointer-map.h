/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>
#include <stdint.h>

/* A map from addresses, of interned strings or of records that never move, to pointers. An
 * open-addressing table with key and value side by side, for look-ups with every event: one costs a
 * cache line and some ten instructions; GHashTable takes three lines and seventy instructions. Its
 * order depends on addresses, so nobody iterates over it. Zeroed memory is an empty map. */
typedef struct {
    const void *key; /* NULL: the place is free, and @value is NULL, too */
    void *value;
} PointerMapEntry;

typedef struct {
    PointerMapEntry *entries; /* (owned): NULL: none yet */
    unsigned n, size;         /* of @entries: a power of two; at most three quarters are taken */
    unsigned shift;           /* 64 - log2(@size): the highest bits of a hash are the place */
} PointerMap;

/* Empties the map. Frees each value unless @free_value is NULL. */
void pointer_map_clear(PointerMap *self, GDestroyNotify free_value);
/* Neither @key nor @value is NULL. An old value is replaced, not freed. */
void pointer_map_set(PointerMap *self, const void *key, void *value);
/* Returns: (owned): the value, which is no longer in the map; NULL: there was none */
void *pointer_map_take(PointerMap *self, const void *key);

static inline unsigned
pointer_map_home(const PointerMap *self, const void *key)
{
    return (unsigned)((uint64_t)(uintptr_t)key * UINT64_C(0x9e3779b97f4a7c15) >> self->shift);
}

/* The place of @key, or the free place for it. The map has a table. */
static inline PointerMapEntry *
pointer_map_place(const PointerMap *self, const void *key)
{
    unsigned place = pointer_map_home(self, key);

    while (self->entries[place].key != key && self->entries[place].key != NULL)
        place = (place + 1) & (self->size - 1);
    return &self->entries[place];
}

/* Returns: (borrowed): NULL: nothing belongs to @key */
static inline void *
pointer_map_get(const PointerMap *self, const void *key)
{
    return self->n == 0 ? NULL : pointer_map_place(self, key)->value;
}
