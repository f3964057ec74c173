/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "models/volume/sidecar.h"

/* The sidecar that takes snapshots: csi-snapshotter v8.2. One per driver. */

/* Its flags, under their own names. */
typedef struct {
    SidecarFlags common;
    const char *snapshot_name_prefix;
    gboolean extra_create_metadata;
    LeaderElectionOptions election;
} ExternalSnapshotterOptions;

extern const ProcessClass external_snapshotter_process;
extern const ModelClass external_snapshotter_class;
