/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "sim.h"

#include <string.h>

/* Counter-based random numbers: a draw is a pure function of (seed, replication, stream, entity,
 * n). There is no state to advance: the caller keeps the count n of its entity. So one more draw in
 * one place changes no draw elsewhere. */
typedef struct {
    uint64_t key;
} SimStream;

/* 2^64 divided by the golden ratio, made odd: steps that spread evenly (Knuth, TAOCP 6.4). */
#define SIM_GOLDEN_GAMMA UINT64_C(0x9e3779b97f4a7c15)

/* A bijection in which every input bit flips each output bit with probability one half: Stafford's
 * variant 13 of MurmurHash3's finalizer, as in SplitMix64 (Steele, Lea, Flood: Fast Splittable
 * Pseudorandom Number Generators, 2014). */
static inline uint64_t
sim_mix(uint64_t z)
{
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return z ^ z >> 31;
}

/* A 64-bit hash, the same on every machine; for entities. Inline, so that the compiler hashes
 * literals: streams are looked up by name for every few draws. */
static inline uint64_t
sim_hash_string(const char *text)
{
    size_t length = strlen(text);
    uint64_t hash = sim_mix(length + SIM_GOLDEN_GAMMA), word;

    for (; length >= sizeof word; text += sizeof word, length -= sizeof word) {
        memcpy(&word, text, sizeof word);
        hash = sim_mix(hash ^ GUINT64_FROM_LE(word)) + SIM_GOLDEN_GAMMA;
    }
    if (length == 0)
        return hash;
    word = 0;
    memcpy(&word, text, length);
    return sim_mix(hash ^ GUINT64_FROM_LE(word)) + SIM_GOLDEN_GAMMA;
}

uint64_t sim_hash_combine(uint64_t a, uint64_t b);

/* @name: the hash of the stream's name */
SimStream sim_stream_hashed(uint64_t seed, uint32_t replication, uint64_t name);

static inline SimStream
sim_stream_from(uint64_t seed, uint32_t replication, const char *name)
{
    return sim_stream_hashed(seed, replication, sim_hash_string(name));
}

/* The stream of this name in this run; names follow "component/purpose". */
static inline SimStream
sim_stream(const Sim *sim, const char *name)
{
    return sim_stream_from(sim_seed(sim), sim_replication(sim), name);
}

uint64_t sim_random_bits(SimStream stream, uint64_t entity, uint64_t n);
/* Uniform in the open interval (0, 1): a multiple of 2^-52 plus 2^-53, which a double holds
 * exactly, as it does 1 - u. */
double sim_random_uniform(SimStream stream, uint64_t entity, uint64_t n);
/* Uniform in [0, below), unbiased to 2^-64; @below > 0. */
uint64_t sim_random_below(SimStream stream, uint64_t entity, uint64_t n, uint64_t below);

/* ---- Walks over Go maps ----
 *
 * Go draws the order of a range over a map anew each time. Here each item of a walk draws a place
 * from its own identity. So a walk that leaves out items that would do nothing takes the others in
 * the same order, and a loop that sleeps equals one that polls. */

/* @walk: tells the walks of a stream apart, e.g. the instant of a pass. @outer: an entity: the item
 * of a map whose items are maps; @inner: the item within. Items with the same @outer follow each
 * other. */
uint64_t sim_map_place(SimStream stream, uint64_t walk, uint64_t outer, uint64_t inner);

/* Returns: the place of @item: sim_random_bits(stream, <its entity>, walk), or sim_map_place() */
typedef uint64_t (*SimPlace)(const void *item, SimStream stream, uint64_t walk);

/* Sorts @items by their places. Of 0 or 1 items nothing is drawn. */
void sim_shuffle(void **items, size_t n_items, SimPlace place, SimStream stream, uint64_t walk);
