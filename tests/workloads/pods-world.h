/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "models/api/workload.h"
#include "tests/lib/storage-world.h"

/* Pods without a scheduler and kubelets: the test plays them. */

ObjectKey *world_key(const StorageWorld *world, ObjectKind kind, const char *name);
/* (borrowed): NULL: not there */
const Object *world_stored(const StorageWorld *world, ObjectKind kind, const char *name);
const Pod *world_pod(const StorageWorld *world, const char *name);
/* The number of objects of a kind; pods that are being deleted do not count. */
unsigned world_count(const StorageWorld *world, ObjectKind kind);
/* The @n-th existing pod, in the order of creation; pods that are being deleted count. NULL: there
 * are fewer */
const Pod *world_nth_pod(const StorageWorld *world, unsigned n);

/* Runs for @time. */
void world_go_on(StorageWorld *world, SimTime time);
void world_set_phase(StorageWorld *world, const char *pod, PodPhase phase, gboolean ready);
/* Binds the pod to a node. If it is deleted, it goes with world_stop_pod(). */
void world_assign(StorageWorld *world, const char *pod, const char *node);
void world_start_pod(StorageWorld *world, const char *pod); /* on "node-1", running and ready */
void world_stop_pod(StorageWorld *world, const char *pod);
/* Every pending pod runs, every deleted pod is gone. */
void world_play_nodes(StorageWorld *world);

/* Refuses creations of a kind. */
typedef struct {
    ObjectKind kind;
    unsigned from, n; /* refuses @n, beginning with number @from: 0 is the first */
    unsigned n_seen;
} PodsRefusal;
void world_refuse(StorageWorld *world, PodsRefusal *refusal);

/* A template with the label app=<app>; @image tells templates apart. (owned) */
PodTemplate *world_template(const StorageWorld *world, const char *app, const char *image);
LabelSelector *world_selector(const StorageWorld *world, const char *app);
/* The message of the latest Event with this reason. NULL: there is none */
const char *world_event_message(const StorageWorld *world, const char *reason);
/* ObjectEdit: sets a label. @pair: StringPair, interned */
gboolean world_edit_label(Object *object, const void *pair);
