/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "cache.h"
#include "sim/slots.h"

/* What the files of the cache share: cache.c has the nodes, cache-order.c their order and zones,
 * cache-pods.c their pods, cache-volumes.c the volumes of these pods. */

/* How many templates of pods can wait side by side before the memo of one is dropped for another */
#define N_MEMOS 4
/* The nodes of a region and zone, in the order in which they came. */
typedef struct {
    const char *region, *zone; /* interned; "" if absent */
    GPtrArray *nodes;          /* of NodeInfo */
} Zone;

/* A claim that pods on nodes use. */
typedef struct {
    NodeInfo *node;
    uint32_t n_pods;
} ClaimOnNode;

typedef struct {
    VolumeName name;
    uint32_t n_pods;
    GArray *nodes; /* of ClaimOnNode */
} ClaimUse;

/* How many pods on nodes have a priority. */
typedef struct {
    int32_t priority;
    uint32_t n_pods;
} PriorityCount;

/* The node and the volume that a VolumeAttachment counts for at present. */
typedef struct {
    NodeInfo *node; /* NULL: nothing */
    VolumeName name;
} AttachmentUse;

struct SchedulerCache {
    CacheOptions options;
    GPtrArray *nodes; /* of NodeInfo, by slot of the node's key */
    SimSlots pods;    /* of CachedPod, by slot: one life of each name, the others linked */
    unsigned n_pods, n_assumed; /* the pods of @pods that are assumed */
    SimSlots claims;            /* of ClaimUse (owned), by slot; NULL: no pod uses it */
    SimSlots attachments;       /* of AttachmentUse, by slot */
    InformerIndex *attachments_by_volume;
    GPtrArray *zones; /* of Zone, in the order of their first node; empty ones are taken out */
    GPtrArray *order; /* of NodeInfo: see scheduler_cache_nodes() */
    gboolean order_is_old;
    PodCounts *counts;
    NodeCounts node_counts;
    GArray
        *priorities; /* of PriorityCount, the lowest first; priorities without a pod are removed */
    GArray *nominated; /* of NominatedPod */
    NodeSet special;
    LabelIndex *labels;
    gboolean labels_are_old;
    AskMemo memos[N_MEMOS];
    uint32_t n_asks; /* numbers given */
};

static inline void *
cache_at_slot(const GPtrArray *array, uint32_t slot)
{
    return slot < array->len ? array->pdata[slot] : NULL;
}

static inline void
cache_set_slot(GPtrArray *array, uint32_t slot, void *value)
{
    if (array->len <= slot)
        g_ptr_array_set_size(array, (int)slot + 1);
    array->pdata[slot] = value;
}

/* ---- cache.c ---- */

/* Made if it is new. */
NodeInfo *cache_node_info(SchedulerCache *self, const ObjectKey *key);
/* The node has changed: forgets the answers that pods got from it. */
void cache_forget_asks(SchedulerCache *self, NodeInfo *node);

/* ---- cache-order.c ---- */

void cache_zone_free(Zone *self);
void cache_leave_zone(SchedulerCache *self, NodeInfo *node);
void cache_enter_zone(SchedulerCache *self, NodeInfo *node);
/* Whether a node keeps its turn (SCH-56). */
gboolean cache_same_zone(const Node *a, const Node *b);
/* Notes whether the node repels some pods. */
void cache_mark_special(SchedulerCache *self, const NodeInfo *node);

/* ---- cache-volumes.c ---- */

/* At the end. */
void cache_forget_claims(SchedulerCache *self);
/* @change: 1 or -1 */
void cache_use_claims(SchedulerCache *self, const Pod *pod, NodeInfo *node, int change);
