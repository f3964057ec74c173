/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "models/api/pod.h"

/* Who is deleted first when there are too many (WL-77). */
typedef struct {
    const Pod *pod;
    unsigned n_on_node; /* active pods of the same owner's owner on its node */
} RankedPod;

/* Sorts so that those to be deleted first come first. @now: for ages */
void pod_ranks_sort(RankedPod *pods, unsigned n, SimTime now);
