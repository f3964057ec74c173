/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "models/volume/matching.h"

/* The PV controller's private copies of all claims and volumes (PVC-5..9, PVC-11, API-77): newer
 * than the informers right after own writes, never older than the version that was synced last.
 *
 * The cache also knows which objects are settled: their next sync would do nothing until their own
 * copy, or the copy of the other half of their pair, changes. Every change of a copy unsettles the
 * object and its other half; the controller settles an object when a sync found nothing to do. So a
 * resync need only look at the others. The end of an operation can matter as well; the controller
 * then calls pv_cache_unsettle().
 *
 * And it knows volumes that wait for their claim: until the same changes, or the informer has
 * another version, a sync only queues the claim (PVC-63). */
typedef struct PvCache PvCache;

PvCache *pv_cache_new(void);
void pv_cache_free(PvCache *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(PvCache, pv_cache_free)

/* Returns: (borrowed): NULL: unknown. @key may be NULL */
const Claim *pv_cache_claim(const PvCache *self, const ObjectKey *key);
const Volume *pv_cache_volume(const PvCache *self, const ObjectKey *key);
const Object *pv_cache_get(const PvCache *self, const ObjectKey *key); /* of either kind */

/* PVC-6: whether @object is older than the copy, and must be ignored. */
gboolean pv_cache_is_newer(const PvCache *self, const Object *object);
/* Keeps @object (referenced) unless the copy is newer. */
void pv_cache_store(PvCache *self, const Object *object);
void pv_cache_forget(PvCache *self, const ObjectKey *key);

/**
 * pv_cache_find_match:
 * PVC-30: the access mode sets that include what the claim asks for, the poorest first; within a
 * set as volume_match_judge() says. Sets of equally many modes go in the order of their modes (RWO
 * before ROX, ...). Returns: whether there is an answer: @volume (out, borrowed), NULL: none;
 * FALSE: the search is refused (PVC-32.5)
 */
gboolean pv_cache_find_match(const PvCache *self, const MatchQuery *query, const Volume **volume);

void pv_cache_settle(PvCache *self, const ObjectKey *key);
/* For changes that are not in a copy: the next sync may do something again. */
void pv_cache_unsettle(PvCache *self, const ObjectKey *key);
gboolean pv_cache_is_settled(const PvCache *self, const ObjectKey *key);
/* @volume: the copy is the informer's version, too */
void pv_cache_wait_for_claim(PvCache *self, const ObjectKey *volume);
void pv_cache_end_wait(PvCache *self, const ObjectKey *volume); /* the informer has another */
/* @volume, @claim (out): slots; @is_only: (out): no volume behind it in the cache names the claim.
 * Returns: FALSE: it does not wait, or is unknown */
gboolean
pv_cache_waits_for_claim(const PvCache *self, uint32_t volume, uint32_t *claim, gboolean *is_only);
gboolean pv_cache_is_at_rest(const PvCache *self); /* everything is settled */
/* Walks the objects of a kind that are not settled, by slot: begin with *@slot = 0. Returns: FALSE:
 * the end; otherwise *@slot is such an object, go on with *@slot + 1 */
gboolean pv_cache_next_unsettled(const PvCache *self, ObjectKind kind, uint32_t *slot);
