/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "models/api/local/local-volume.h"
#include "models/csi/csi.h"

/* The driver's own choice among nodes, in the place of the scheduler: pure. */

typedef enum {
    LOCAL_CAPACITY_WEIGHTED, /* the node with the fewest provisioned bytes first */
    LOCAL_VOLUME_WEIGHTED,   /* ... the fewest volumes */
} LocalScheduler;

typedef struct {
    const char *node; /* interned */
    int64_t weight;
    gboolean is_occupied; /* it has a volume of the pool */
} LocalCandidate;

/* LOC-12: "VolumeWeighted", in exactly these letters; anything else is CapacityWeighted. */
LocalScheduler local_scheduler_of(const char *name);
/* LOC-11: whole GiB above 1 GiB, else whole MiB. */
int64_t local_round_capacity(int64_t bytes);
/* LOC-12: the value of a parameter, whose name may be written in any case. NULL: none */
const char *local_parameter(const StringMap *parameters, const char *name);
/* LOC-13: whether a node with these labels is in a preferred place. */
gboolean local_is_wanted(const CsiRequest *request, const StringMap *labels);
/* Counts a volume in the weight of its node, if it is in that pool. */
void local_weigh(LocalCandidate *candidates,
                 unsigned n,
                 const LocalVolume *volume,
                 const char *pool,
                 LocalScheduler scheduler);
/* LOC-13: nodes without volumes first, then by weight; equals keep their order. */
void local_order(LocalCandidate *candidates, unsigned n);
