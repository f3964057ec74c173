/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "models/scheduler/cycle.h"
#include "tests/lib/storage-world.h"

/* A cluster with what a cycle of the scheduler works on, and no scheduler around it: a test decides
 * what its cache holds. */
typedef struct {
    StorageWorld base;
    Process *process; /* from here on NULL until it starts */
    SchedulerCache *cache;
    VolumeBinder binder;
    CycleView view;
    Cycle *cycle;
} CycleWorld;

void cycle_world_init(CycleWorld *self);
/* The scheduler comes up: it sees the nodes and CSINodes that there are. */
void cycle_world_start(CycleWorld *self);
void cycle_world_clear(CycleWorld *self);
