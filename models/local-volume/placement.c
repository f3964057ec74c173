/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "placement.h"

#include <string.h>

#define GIB (INT64_C(1) << 30)
#define MIB (INT64_C(1) << 20)

LocalScheduler
local_scheduler_of(const char *name)
{
    return g_strcmp0(name, "VolumeWeighted") == 0 ? LOCAL_VOLUME_WEIGHTED : LOCAL_CAPACITY_WEIGHTED;
}

int64_t
local_round_capacity(int64_t bytes)
{
    int64_t unit = bytes > GIB ? GIB : MIB;
    int64_t rest = bytes % unit;

    if (rest == 0)
        return bytes;
    return __builtin_add_overflow(bytes, unit - rest, &bytes) ? INT64_MAX : bytes;
}

const char *
local_parameter(const StringMap *parameters, const char *name)
{
    for (unsigned i = 0; parameters != NULL && i < parameters->n_pairs; i++)
        if (g_ascii_strcasecmp(parameters->pairs[i].key, name) == 0)
            return parameters->pairs[i].value;
    return NULL;
}

gboolean
local_is_wanted(const CsiRequest *request, const StringMap *labels)
{
    for (unsigned i = 0; i < request->n_preferred; i++)
        if (string_map_contains(labels, request->preferred[i]))
            return TRUE;
    return FALSE;
}

void
local_weigh(LocalCandidate *candidates,
            unsigned n,
            const LocalVolume *volume,
            const char *pool,
            LocalScheduler scheduler)
{
    for (unsigned i = 0; i < n && g_strcmp0(volume->pool, pool) == 0; i++) {
        if (candidates[i].node != volume->node)
            continue;
        candidates[i].is_occupied = TRUE;
        candidates[i].weight += scheduler == LOCAL_VOLUME_WEIGHTED ? 1 : volume->capacity_bytes;
    }
}

static gboolean
comes_first(const LocalCandidate *a, const LocalCandidate *b)
{
    if (a->is_occupied != b->is_occupied)
        return !a->is_occupied;
    return a->is_occupied && a->weight < b->weight;
}

void
local_order(LocalCandidate *candidates, unsigned n)
{
    for (unsigned i = 1; i < n; i++) {
        LocalCandidate moved = candidates[i];
        unsigned at = i;
        for (; at > 0 && comes_first(&moved, &candidates[at - 1]); at--)
            candidates[at] = candidates[at - 1];
        candidates[at] = moved;
    }
}
