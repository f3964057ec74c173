/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "pointer-map.h"

#define BITS_MIN 4

void
pointer_map_clear(PointerMap *self, GDestroyNotify free_value)
{
    for (unsigned i = 0; free_value != NULL && i < self->size; i++)
        if (self->entries[i].key != NULL)
            free_value(self->entries[i].value);
    g_free(self->entries);
    *self = (PointerMap){0};
}

static void
pointer_map_grow(PointerMap *self)
{
    PointerMap larger = {
        .n = self->n,
        .size = self->size == 0 ? 1u << BITS_MIN : 2 * self->size,
        .shift = self->size == 0 ? 64 - BITS_MIN : self->shift - 1,
    };

    larger.entries = g_new0(PointerMapEntry, larger.size);
    for (unsigned i = 0; i < self->size; i++)
        if (self->entries[i].key != NULL)
            *pointer_map_place(&larger, self->entries[i].key) = self->entries[i];
    g_free(self->entries);
    *self = larger;
}

void
pointer_map_set(PointerMap *self, const void *key, void *value)
{
    g_assert(key != NULL && value != NULL);
    if (self->n + 1 > self->size / 4 * 3)
        pointer_map_grow(self);
    PointerMapEntry *entry = pointer_map_place(self, key);
    self->n += entry->key == NULL;
    *entry = (PointerMapEntry){key, value};
}

/* Entries behind the free place move up, unless their home is behind it. */
static void
close_gap(PointerMap *self, unsigned gap)
{
    unsigned mask = self->size - 1;

    for (unsigned i = (gap + 1) & mask; self->entries[i].key != NULL; i = (i + 1) & mask) {
        unsigned home = pointer_map_home(self, self->entries[i].key);
        if (((i - home) & mask) < ((i - gap) & mask))
            continue;
        self->entries[gap] = self->entries[i];
        gap = i;
    }
    self->entries[gap] = (PointerMapEntry){NULL, NULL};
}

void *
pointer_map_take(PointerMap *self, const void *key)
{
    if (self->n == 0)
        return NULL;
    PointerMapEntry *entry = pointer_map_place(self, key);
    void *value = entry->value;
    if (value == NULL)
        return NULL;
    self->n--;
    close_gap(self, (unsigned)(entry - self->entries));
    return value;
}
