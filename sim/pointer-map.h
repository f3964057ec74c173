/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>
#include <stdint.h>

/* What belongs to an address: of an interned string, or of a record that never moves. A table with
 * open addressing whose key and value stand side by side, for what is looked up with every event: a
 * look costs a cache line and some ten instructions, where GHashTable takes three lines and
 * seventy. Its order is that of addresses, so nobody walks over it. Zeroed memory is an empty one.
 */
typedef struct {
    const void *key; /* NULL: free, and so is the value */
    void *value;
} PointerMapEntry;

typedef struct {
    PointerMapEntry *entries; /* (owned): NULL: none yet */
    unsigned n, size;         /* a power of two; at most three of four are taken */
    unsigned shift;           /* the highest bits of a hash are the place: this many others */
} PointerMap;

/* Frees what it has, and each value unless @free_value is NULL. It is empty then. */
void pointer_map_clear(PointerMap *self, GDestroyNotify free_value);
/* Neither is NULL. A value that was there is replaced, not freed. */
void pointer_map_set(PointerMap *self, const void *key, void *value);
/* Returns: (owned): the value that was there; NULL: none */
void *pointer_map_take(PointerMap *self, const void *key);

static inline unsigned
pointer_map_home(const PointerMap *self, const void *key)
{
    return (unsigned)((uint64_t)(uintptr_t)key * UINT64_C(0x9e3779b97f4a7c15) >> self->shift);
}

/* The place of @key, or the free one where it would go. There is a table. */
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
