/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "models/volume/sidecar.h"

/* The sidecar that tells of abnormal volumes: csi-external-health-monitor-controller v0.18. One per
 * driver; it runs only if a scenario names it. */

/* Its flags, under their own names. */
typedef struct {
    SidecarFlags common;
    SimTime monitor_interval, list_volumes_interval, volume_list_add_interval;
    LeaderElectionOptions election;
} ExternalHealthMonitorOptions;

extern const ProcessClass external_health_monitor_process;
extern const ModelClass external_health_monitor_class;
