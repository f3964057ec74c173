/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "models/volume/sidecar.h"

/* The sidecar that takes snapshots: csi-snapshotter v8.2. One per driver, or one on
 * each node (SNAP-71). */

/* Its flags, under their own names. */
typedef struct {
    SidecarFlags common;
    const char *snapshot_name_prefix;
    int32_t snapshot_name_uuid_length;
    gboolean extra_create_metadata;
    gboolean node_deployment;
    SimTime resync_period;
    const char *group_name_prefix;
    const char *feature_gates;
    LeaderElectionOptions election;
} ExternalSnapshotterOptions;

extern const ProcessClass external_snapshotter_process;
extern const ModelClass external_snapshotter_class;
