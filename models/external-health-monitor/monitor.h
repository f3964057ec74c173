/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "external-health-monitor.h"

#include "models/plan/plan.h"
#include "sim/ticker.h"

/* Within the monitor: external-health-monitor.c starts and ends it. conditions.c asks the driver
 * about volumes. */

typedef struct {
    Component base;
    const ExternalHealthMonitorOptions *options; /* borrowed, of the process */
    Sidecar *sidecar;
    Informer *volumes, *claims;
    GHashTable *told; /* ObjectKey of a claim -> Told (owned): its last abnormal Event (EHM-14) */

    SimTicker *lister; /* EHM-10; NULL: the driver cannot list */

    /* EHM-20: else a queue of volumes. */
    SimTicker *adder;
    WorkQueue *queue;
    GHashTable *known; /* ObjectKey of volumes that have been queued: never again (EHM-22) */
    unsigned n_idle;   /* workers that wait for a volume */
    SimEventId dispatch;
} ExternalHealthMonitor;

/* Changes of private state: PlanChange.what. */
typedef enum {
    CHANGE_TOLD,    /* object: the claim that has an abnormal Event */
    CHANGE_FORGET,  /* key: a volume that is gone */
    CHANGE_CHECKED, /* key: a worker is done with the volume; number: whether it is queued again */
} MonitorChange;

/* ---- conditions.c ---- */

extern const RuleTable monitor_condition_rules, monitor_volume_rules;

void monitor_start(ExternalHealthMonitor *self);
void monitor_end(ExternalHealthMonitor *self);
void monitor_apply(void *self, const PlanChange *change);
