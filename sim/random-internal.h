/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "random.h"

#include <string.h>

/* Draws inline, for the engine's own loops. */

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

/* All draws come from one SplitMix64 sequence: a stream begins at a hashed place of it, and each
 * entity at another, a multiple of a second odd number away (Steele and Vigna's, from
 * Computationally Easy, Spectrally Good Multipliers, 2021). As a lattice modulo 2^64 the two keep
 * small entities and counts apart; hashed entities are anywhere. */
#define SIM_ENTITY_GAMMA UINT64_C(0xd1342543de82ef95)

/* The part that all draws of an entity share. */
static inline uint64_t
sim_random_base(SimStream stream, uint64_t entity)
{
    return stream.key + entity * SIM_ENTITY_GAMMA;
}

static inline uint64_t
sim_random_nth(uint64_t base, uint64_t n)
{
    return sim_mix(base + n * SIM_GOLDEN_GAMMA);
}

/* 52 bits and a half: k + 1/2 is exact, so neither 0 nor 1 comes out, and 1 - u is as exact as u.
 * The bits become a number in [1, 2) at first; the subtraction is exact. */
static inline double
sim_uniform_from_bits(uint64_t bits)
{
    uint64_t from_one = bits >> 12 | UINT64_C(0x3ff) << 52;
    double number;

    memcpy(&number, &from_one, sizeof number);
    return number - (1 - 0x1p-53);
}

/* Lemire's multiplication, without the rejection: the shares differ by less than 2^-64. */
static inline uint64_t
sim_below_from_bits(uint64_t bits, uint64_t below)
{
    return (uint64_t)((unsigned __int128)bits * below >> 64);
}
