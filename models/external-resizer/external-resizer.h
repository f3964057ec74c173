/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "models/volume/sidecar.h"

/* The sidecar that makes volumes larger and changes their attributes: external-resizer v1.13. One
 * per driver. */

/* Its flags, under their own names. Flags that are not modelled are stored and ignored. */
typedef struct {
    SidecarFlags common;
    gboolean handle_volume_inuse_error;
    gboolean extra_modify_metadata;
    SimTime resync_period; /* not modelled */
    const char *feature_gates;
    LeaderElectionOptions election;
} ExternalResizerOptions;

extern const ProcessClass external_resizer_process;
extern const ModelClass external_resizer_class;
