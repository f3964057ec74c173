/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "models/scheduler/cycle.h"
#include "tests/lib/storage-world.h"

/* A cluster for a cycle of the scheduler, without the scheduler around it: the test fills its
 * cache. */
typedef struct {
    StorageWorld base;
    Process *process; /* from here on NULL until it starts */
    SchedulerCache *cache;
    VolumeBinder binder;
    CycleView view;
    Cycle *cycle;
} CycleWorld;

void cycle_world_init(CycleWorld *self);
/* The scheduler starts: it sees the nodes and CSINodes that exist. */
void cycle_world_start(CycleWorld *self);
void cycle_world_clear(CycleWorld *self);
