/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "eviction.h"
#include "models/api/local/machine-use.h"
#include "thresholds.h"

/* What a machine and its pods use, by their annotations. */

struct PodUse {
    const char *text; /* interned: the annotation that was read */
    MachineUses *uses;
    PodEmptyDir *dirs; /* of each use; empty for other kinds */
    PodLocalLimits limits;
    SimTime since; /* the start of its containers, or the annotation's last change; TIME_UNSET: it
                      has not started */
};

struct Eviction {
    const char *capacity_text, *uses_text; /* interned: the Node's annotations that were read */
    MachineCapacity capacity;
    MachineUses *uses; /* (owned): of the machine itself; NULL: none */
    SimTime uses_since;
    Thresholds thresholds;
    unsigned met, ripe;            /* masks of thresholds: met; met for their grace, too */
    SimTime since[THRESHOLDS_MAX]; /* of those that are met */
    SimTime origin;                /* of looks; TIME_UNSET: the kubelet's start */
    gboolean acting;
    gboolean has_victims; /* ... of the pass that began at @acted_at, which are not gone yet */
    SimTime acted_at;
    SimEventId cleanup; /* the next look at whether they are */
};

/* Of a pod; of all pods of a machine. Files count as inodes. */
typedef struct {
    int64_t memory, pids;
    int64_t disk, disk_files; /* beside volumes */
    int64_t dirs, dir_files;  /* in emptyDirs on the disk */
} PodTotals;

PodTotals pod_totals(const PodWorker *worker, SimTime now);
/* @observations: (out): N_SIGNALS */
void eviction_observe(const Kubelet *self, SimTime now, Observation *observations);
/* Bytes in one of a pod's emptyDirs. @i: its place among the uses */
int64_t pod_dir_bytes(const PodWorker *worker, unsigned i, SimTime now);
/* The instant after @now at which any use changes by itself. */
SimTime eviction_next_change(const Kubelet *self, SimTime now);
/* Where the pod stands if this signal is short. */
EvictionRank pod_rank(const PodWorker *worker, EvictionSignal signal, SimTime now);
