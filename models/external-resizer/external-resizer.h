/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "models/model.h"

/* The sidecar that makes volumes larger: external-resizer v1.13. One per driver. */

/* Its flags, under their own names. Of those that act in a later part of the project only the value is kept. */
typedef struct {
    int32_t workers;
    double kube_api_qps;
    int32_t kube_api_burst;
    SimTime retry_interval_start, retry_interval_max;
    SimTime timeout;
    gboolean handle_volume_inuse_error;
    gboolean extra_modify_metadata; /* later, with resync_period */
    SimTime resync_period;
    const char *feature_gates;
    LeaderElectionOptions election;
} ExternalResizerOptions;

extern const ProcessClass external_resizer_process;
extern const ModelClass external_resizer_class;
