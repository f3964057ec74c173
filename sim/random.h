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
