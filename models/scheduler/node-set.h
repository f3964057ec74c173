/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>
#include <stdint.h>
#include <string.h>

/* A set of nodes, by their places in the list that a cycle walks, so that 64 nodes are handled at a
 * time. All sets of one list have its size; node_set_init() says for how many nodes. */
typedef struct {
    uint64_t *words; /* owned; NULL: of no size yet */
    unsigned n_words, n_allocated;
} NodeSet;

#define NODE_SET_BITS 64

static inline void
node_set_clear(NodeSet *self)
{
    g_free(self->words);
    *self = (NodeSet){0};
}

/* Empty, for places below @n_nodes. */
static inline void
node_set_init(NodeSet *self, unsigned n_nodes)
{
    self->n_words = (n_nodes + NODE_SET_BITS - 1) / NODE_SET_BITS;
    if (self->n_allocated < self->n_words) {
        self->words = g_renew(uint64_t, self->words, self->n_words);
        self->n_allocated = self->n_words;
    }
    if (self->n_words > 0)
        memset(self->words, 0, self->n_words * sizeof(uint64_t));
}

/* All of @n_nodes. */
static inline void
node_set_fill(NodeSet *self, unsigned n_nodes)
{
    node_set_init(self, n_nodes);
    for (unsigned i = 0; i < n_nodes / NODE_SET_BITS; i++)
        self->words[i] = UINT64_MAX;
    if (n_nodes % NODE_SET_BITS != 0)
        self->words[self->n_words - 1] = (UINT64_C(1) << n_nodes % NODE_SET_BITS) - 1;
}

static inline gboolean
node_set_has(const NodeSet *self, unsigned place)
{
    return (self->words[place / NODE_SET_BITS] >> place % NODE_SET_BITS & 1) != 0;
}

static inline void
node_set_add(NodeSet *self, unsigned place)
{
    self->words[place / NODE_SET_BITS] |= UINT64_C(1) << place % NODE_SET_BITS;
}

/* Fine for a set that is too small to have it. */
static inline void
node_set_remove(NodeSet *self, unsigned place)
{
    if (place / NODE_SET_BITS < self->n_words)
        self->words[place / NODE_SET_BITS] &= ~(UINT64_C(1) << place % NODE_SET_BITS);
}

/* Both sets are of one size. */
static inline void
node_set_unite(NodeSet *self, const NodeSet *other)
{
    for (unsigned i = 0; i < self->n_words; i++)
        self->words[i] |= other->words[i];
}

static inline void
node_set_intersect(NodeSet *self, const NodeSet *other)
{
    for (unsigned i = 0; i < self->n_words; i++)
        self->words[i] &= other->words[i];
}

static inline void
node_set_subtract(NodeSet *self, const NodeSet *other)
{
    for (unsigned i = 0; i < self->n_words; i++)
        self->words[i] &= ~other->words[i];
}

static inline void
node_set_assign(NodeSet *self, const NodeSet *other)
{
    node_set_init(self, other->n_words * NODE_SET_BITS);
    if (other->n_words > 0)
        memcpy(self->words, other->words, other->n_words * sizeof(uint64_t));
}

static inline unsigned
node_set_count(const NodeSet *self)
{
    unsigned n = 0;

    for (unsigned i = 0; i < self->n_words; i++)
        n += (unsigned)__builtin_popcountll(self->words[i]);
    return n;
}

/* How many are in both. */
static inline unsigned
node_set_count_shared(const NodeSet *self, const NodeSet *other)
{
    unsigned n = 0;

    for (unsigned i = 0; i < self->n_words; i++)
        n += (unsigned)__builtin_popcountll(self->words[i] & other->words[i]);
    return n;
}

/* The first place in the set from @from on; @end if there is none below that. */
static inline unsigned
node_set_next(const NodeSet *self, unsigned from, unsigned end)
{
    if (from >= end)
        return end;
    unsigned word = from / NODE_SET_BITS, last = (end - 1) / NODE_SET_BITS;
    uint64_t bits = self->words[word] & UINT64_MAX << from % NODE_SET_BITS;

    while (bits == 0 && word < last)
        bits = self->words[++word];
    if (bits == 0)
        return end;
    unsigned place = word * NODE_SET_BITS + (unsigned)__builtin_ctzll(bits);
    return MIN(place, end);
}
