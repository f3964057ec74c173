/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "frozen.h"

#include <string.h>

#define PLACES (2 * SIM_FROZEN_PART) /* of a part: an open-addressing table */
#define FILTER_BITS (10 * SIM_FROZEN_PART)
#define N_PROBES 5

/* Entries of the same time, and a Bloom filter of their hashes. */
typedef struct {
    SimFrozenEntry *places; /* in memory for logs */
    uint64_t filter[FILTER_BITS / 64];
} FrozenPart;

struct SimFrozen {
    SimCold *cold;
    GPtrArray *parts; /* of Part (owned) */
};

SimFrozen *
sim_frozen_new(SimCold *cold)
{
    SimFrozen *self = g_new0(SimFrozen, 1);

    self->cold = cold;
    self->parts = g_ptr_array_new_with_free_func(g_free);
    return self;
}

void
sim_frozen_free(SimFrozen *self)
{
    if (self == NULL)
        return;
    for (unsigned i = 0; i < self->parts->len; i++)
        sim_cold_give(self->cold, ((FrozenPart *)self->parts->pdata[i])->places);
    g_ptr_array_unref(self->parts);
    g_free(self);
}

static uint32_t
bit_of(uint32_t hash, unsigned probe)
{
    uint64_t mixed = (hash + probe * UINT64_C(0x9e3779b97f4a7c15)) * UINT64_C(0xbf58476d1ce4e5b9);

    return (uint32_t)((mixed >> 32) * FILTER_BITS >> 32);
}

static gboolean
may_have(const FrozenPart *part, uint32_t hash)
{
    for (unsigned i = 0; i < N_PROBES; i++) {
        uint32_t bit = bit_of(hash, i);
        if ((part->filter[bit / 64] >> bit % 64 & 1) == 0)
            return FALSE;
    }
    return TRUE;
}

static uint32_t
home_of(uint32_t hash)
{
    return (uint32_t)((uint64_t)hash * PLACES >> 32);
}

void
sim_frozen_add(SimFrozen *self, const SimFrozenEntry *entries)
{
    FrozenPart *part = g_new0(FrozenPart, 1);
    gsize size = PLACES * sizeof(SimFrozenEntry);

    part->places = memset(sim_cold_take(self->cold, size), 0, size);
    for (unsigned i = 0; i < SIM_FROZEN_PART; i++) {
        uint32_t place = home_of(entries[i].hash);
        while (part->places[place].value != 0)
            place = (place + 1) % PLACES;
        part->places[place] = entries[i];
        for (unsigned k = 0; k < N_PROBES; k++) {
            uint32_t bit = bit_of(entries[i].hash, k);
            part->filter[bit / 64] |= UINT64_C(1) << bit % 64;
        }
    }
    g_ptr_array_add(self->parts, part);
}

uint32_t
sim_frozen_find(const SimFrozen *self,
                uint32_t hash,
                gboolean (*is_it)(const void *data, uint32_t value),
                const void *data)
{
    for (unsigned i = self->parts->len; i-- > 0;) {
        const FrozenPart *part = self->parts->pdata[i];
        if (!may_have(part, hash))
            continue;
        const SimFrozenEntry *entry;
        for (uint32_t place = home_of(hash); (entry = &part->places[place])->value != 0;
             place = (place + 1) % PLACES)
            if (entry->hash == hash && is_it(data, entry->value))
                return entry->value;
    }
    return 0;
}
