/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "models/cluster/model.h"

/* The controller of VolumeSnapshots: external-snapshotter's snapshot-controller v8.2, one per
 * cluster. It makes a VolumeSnapshotContent for each VolumeSnapshot, and copies into the
 * VolumeSnapshot the status that a driver's sidecar writes into the content. */

/* Its flags, under their own names. */
typedef struct {
    double kube_api_qps;
    int32_t kube_api_burst;
    int32_t worker_threads;
    SimTime retry_interval_start, retry_interval_max;
    SimTime resync_period;
    gboolean prevent_volume_mode_conversion;
    gboolean enable_distributed_snapshotting;
    const char *feature_gates;
    LeaderElectionOptions election;
} SnapshotControllerOptions;

extern const ProcessClass snapshot_controller_process;
extern const ModelClass snapshot_controller_class;
