/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "cache.h"
#include "sim/memory.h"

/* An index of an informer: the objects of a value, like client-go's indexers: pods by node, pods by
 * claim. Values are addresses: interned strings or keys. */
typedef struct InformerIndex InformerIndex;
/* Passes each value of @object to index_emit(). */
typedef void (*InformerIndexFunc)(InformerIndex *index, const Object *object, Objects *objects);

void index_emit(InformerIndex *self, const void *value);
/**
 * informer_index_get:
 * @n: (out): how many objects have @value
 * Returns: (borrowed): these objects, in a fixed order (usually the order in which they got the
 * value), valid until the cache changes; %NULL if there are none
 */
const Object *const *informer_index_get(const InformerIndex *self, const void *value, unsigned *n);

/* Indexes that several components use. */
void index_pods_by_node(InformerIndex *index, const Object *object, Objects *objects);
void index_pods_by_claim(InformerIndex *index, const Object *object, Objects *objects); /* by key */

/* ---- For the informer ---- */

typedef struct {
    InformerIndexFunc function;
    const InformerCache *cache; /* (borrowed): where the objects are looked up */
    Objects *objects;           /* (borrowed) */
    SimMemory *memory;          /* (borrowed) */
} InformerIndexOptions;

/* Returns: (owned): an empty index; index_change() adds the objects */
InformerIndex *index_new(const InformerIndexOptions *options);
void index_free(InformerIndex *self);
InformerIndexFunc index_function(const InformerIndex *self);
/* The cache has @after (%NULL: nothing) in the place of @before (%NULL: nothing) now. */
void index_change(InformerIndex *self, const Object *before, const Object *after);
