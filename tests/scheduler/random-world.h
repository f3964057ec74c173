/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "models/scheduler/cycle.h"
#include "plain-filter.h"
#include "tests/lib/storage-world.h"

/* A random cluster in which pods come, go and look for nodes: the same in the scheduler's cache
 * and in lists for plain-filter.c. */
typedef struct {
    StorageWorld base;
    GRand *random;
    Process *process;
    SchedulerCache *cache;
    VolumeBinder binder;
    CycleView view;
    Cycle *cycle;
    PlainCluster plain;
    GPtrArray *waiting; /* of Pod (owned) */
    gboolean is_large, has_priorities;
    unsigned n_nodes, n_claims, n_volumes, n_pods, n_attachments;
    GString *story; /* for the report of a difference */
} RandomWorld;

/* Draws: a number below @n; TRUE once in @n; one of the objects, NULL: there are none. */
unsigned random_below(RandomWorld *self, unsigned n);
gboolean random_one_in(RandomWorld *self, unsigned n);
const Object *random_any_of(RandomWorld *self, const GPtrArray *objects);
/* Assumes the pod on the node, in both. */
void random_place_pod(RandomWorld *self, const Pod *pod, const char *node_name);
/* A node, a limit, an attachment or a pod comes, changes or goes. */
void random_change_something(RandomWorld *self);
void random_world_init(RandomWorld *self, guint32 seed);
void random_world_clear(RandomWorld *self);
