/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "models/volume/sidecar.h"

/* The sidecar that carries VolumeAttachments out: external-attacher v4.8. One per driver. */

/* Its flags, under their own names. Flags that are not modelled are stored and ignored. */
typedef struct {
    SidecarFlags common;
    const char *default_fstype;
    SimTime reconcile_sync;
    SimTime resync; /* not modelled */
    int32_t max_entries;
    const char *feature_gates;
    LeaderElectionOptions election;
} ExternalAttacherOptions;

extern const ProcessClass external_attacher_process;
extern const ModelClass external_attacher_class;
