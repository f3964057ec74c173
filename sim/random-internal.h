/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "random.h"

/* Draws inline, for the engine's own loops. */

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
