/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "random-internal.h"
#include "sim/order.h"

uint64_t
sim_hash_combine(uint64_t a, uint64_t b)
{
    return sim_mix(sim_mix(a + SIM_GOLDEN_GAMMA) ^ b) + SIM_GOLDEN_GAMMA;
}

SimStream
sim_stream_hashed(uint64_t seed, uint32_t replication, uint64_t name)
{
    return (SimStream){sim_hash_combine(sim_hash_combine(seed, replication), name)};
}

uint64_t
sim_random_bits(SimStream stream, uint64_t entity, uint64_t n)
{
    return sim_random_nth(sim_random_base(stream, entity), n);
}

double
sim_random_uniform(SimStream stream, uint64_t entity, uint64_t n)
{
    return sim_uniform_from_bits(sim_random_bits(stream, entity, n));
}

uint64_t
sim_random_below(SimStream stream, uint64_t entity, uint64_t n, uint64_t below)
{
    g_assert(below > 0);
    return sim_below_from_bits(sim_random_bits(stream, entity, n), below);
}

uint64_t
sim_map_place(SimStream stream, uint64_t walk, uint64_t outer, uint64_t inner)
{
    uint64_t within = sim_random_bits(stream, sim_hash_combine(outer, inner), walk);

    return (sim_random_bits(stream, outer, walk) & ~(uint64_t)UINT32_MAX) | within >> 32;
}

typedef struct {
    uint64_t place;
    void *item;
} PlacedItem;

static int
random_compare_places(const void *a, const void *b, void *data)
{
    const PlacedItem *first = a, *second = b;

    (void)data;
    return ORDER(first->place, second->place);
}

/* As usual: a node's volumes that are due. By insertion, which is stable as the sort of many. */
#define SHUFFLE_FEW 16

static void
shuffle_few(void **items, size_t n_items, SimPlace place, SimStream stream, uint64_t walk)
{
    uint64_t places[SHUFFLE_FEW];

    for (size_t i = 0; i < n_items; i++) {
        void *item = items[i];
        uint64_t own = place(item, stream, walk);
        size_t at = i;
        for (; at > 0 && places[at - 1] > own; at--) {
            places[at] = places[at - 1];
            items[at] = items[at - 1];
        }
        places[at] = own;
        items[at] = item;
    }
}

void
sim_shuffle(void **items, size_t n_items, SimPlace place, SimStream stream, uint64_t walk)
{
    if (n_items < 2)
        return;
    if (n_items <= SHUFFLE_FEW) {
        shuffle_few(items, n_items, place, stream, walk);
        return;
    }
    g_autofree PlacedItem *placed = g_new(PlacedItem, n_items);
    for (size_t i = 0; i < n_items; i++)
        placed[i] = (PlacedItem){place(items[i], stream, walk), items[i]};
    g_qsort_with_data(placed, (int)n_items, sizeof placed[0], random_compare_places, NULL);
    for (size_t i = 0; i < n_items; i++)
        items[i] = placed[i].item;
}
