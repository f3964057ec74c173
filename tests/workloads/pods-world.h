/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "models/api/workload.h"
#include "tests/lib/storage-world.h"

/* Pods without nodes: what schedulers and kubelets do to them is played. */

ObjectKey *world_key(const StorageWorld *world, ObjectKind kind, const char *name);
/* (borrowed): NULL: not there */
const Object *world_stored(const StorageWorld *world, ObjectKind kind, const char *name);
const Pod *world_pod(const StorageWorld *world, const char *name);
/* How many there are of a kind; of pods those that are not going. */
unsigned world_count(const StorageWorld *world, ObjectKind kind);
/* The @n-th pod that is there, in the order of their creation; NULL: there are fewer. Those that go
 * count as well. */
const Pod *world_nth_pod(const StorageWorld *world, unsigned n);

/* Runs for so long. */
void world_go_on(StorageWorld *world, SimTime time);
void world_set_phase(StorageWorld *world, const char *pod, PodPhase phase, gboolean ready);
/* Puts it on a node; its deletion then takes until world_stop_pod(). */
void world_assign(StorageWorld *world, const char *pod, const char *node);
void world_start_pod(StorageWorld *world, const char *pod); /* on "node-1", running and ready */
void world_stop_pod(StorageWorld *world, const char *pod);
/* Every pod that pends runs, every pod that goes is gone. */
void world_play_nodes(StorageWorld *world);

/* Refuses creations of a kind. */
typedef struct {
    ObjectKind kind;
    unsigned from, n; /* so many, beginning with this one: 0 is the first */
    unsigned n_seen;
} Refusal;
void world_refuse(StorageWorld *world, Refusal *refusal);

/* A template with the label app=<app>; @image tells templates apart. (owned) */
PodTemplate *world_template(const StorageWorld *world, const char *app, const char *image);
LabelSelector *world_selector(const StorageWorld *world, const char *app);
/* What the latest Event of this reason says; NULL: there is none. */
const char *world_event_message(const StorageWorld *world, const char *reason);
