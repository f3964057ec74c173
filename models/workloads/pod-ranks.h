/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "models/api/pod.h"
#include "models/api/release.h"

/* The order in which surplus pods are deleted (WL-77). */
typedef struct {
    const Pod *pod;
    unsigned n_on_node; /* active pods on its node that belong to the same owner, or to the same
                           Deployment */
} RankedPod;

/* Sorts: the pod to be deleted first comes first. @now: for ages; @release: costs count with
 * PodDeletionCost */
void pod_ranks_sort(RankedPod *pods, unsigned n, SimTime now, const Release *release);
