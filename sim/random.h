/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "sim.h"

/* Counter-based random numbers: a draw is a pure function of (seed, replication, stream, entity,
 * n). There is no state to advance: the caller keeps the count n of its entity. So one more draw in
 * one place changes no draw elsewhere. */
typedef struct {
    uint64_t key;
} SimStream;

/* The stream of this name in this run; names follow "component/purpose". */
SimStream sim_stream(const Sim *sim, const char *name);
SimStream sim_stream_from(uint64_t seed, uint32_t replication, const char *name);

/* A 64-bit hash, the same on every machine; for entities. */
uint64_t sim_hash_string(const char *text);
uint64_t sim_hash_combine(uint64_t a, uint64_t b);

uint64_t sim_random_bits(SimStream stream, uint64_t entity, uint64_t n);
/* Uniform in the open interval (0, 1): a multiple of 2^-52 plus 2^-53, which a double holds
 * exactly, as it does 1 - u. */
double sim_random_uniform(SimStream stream, uint64_t entity, uint64_t n);
/* Uniform in [0, below), unbiased to 2^-64; @below > 0. */
uint64_t sim_random_below(SimStream stream, uint64_t entity, uint64_t n, uint64_t below);
