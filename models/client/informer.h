/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "index.h"

/* A process's view of one kind of objects. It lags behind the store, and sees the versions of a
 * kind in order (CGO-10). process_informer() makes it. */
typedef struct Informer Informer;

/* @before NULL: added; @after NULL: deleted. The cache has changed already (CGO-12). A resync calls
 * with both the same. */
typedef void (*InformerHandler)(void *self, const Object *before, const Object *after);

/* Also calls @handler at once, as added, for each object that is in the cache (CGO-18). */
void informer_add_handler(Informer *self, InformerHandler handler, void *data);
/* Returns: (nullable) (borrowed): what the cache holds, %NULL: nothing */
const Object *informer_get(const Informer *self, const ObjectKey *key);
/* The same by name. @namespace: NULL: the kind has none; @name: NULL: finds nothing */
const Object *informer_find(const Informer *self, const char *namespace, const char *name);
ObjectKind informer_kind(const Informer *self);
/* How many objects the cache holds. */
unsigned informer_count(const Informer *self);
/* Puts the answer to the controller's own write into the cache (CGO-19), without a call of the
 * handlers. The watch event of that write then comes as a change between equal versions, unless it
 * came first. */
void informer_put(Informer *self, const Object *object);

/* Walks the cache in the order of slots, that is, of first appearance in the run. Do not change the
 * cache meanwhile. */
typedef struct {
    const InformerCache *cache;
    uint32_t next;
} InformerIter;
void informer_iter_init(InformerIter *iter, const Informer *informer);
const Object *informer_iter_next(InformerIter *iter); /* NULL: the end */

/* Returns: (borrowed): the index by @function, always the same for the same function */
InformerIndex *informer_add_index(Informer *self, InformerIndexFunc function);
