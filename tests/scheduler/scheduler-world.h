/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "models/scheduler/scheduler.h"
#include "tests/lib/storage-world.h"

/* A cluster with a scheduler and no other controller: the test plays the others. */

#define GIB (INT64_C(1) << 30)
#define ZONE "topology.kubernetes.io/zone"

extern const char *const one_node[], *const three_nodes[]; /* n1; n1 to n3; NULL at the end */

ObjectKey *node_key(const StorageWorld *world, const char *name);
ObjectKey *pod_key(const StorageWorld *world, const char *name);
const Pod *stored_pod(const StorageWorld *world, const char *name);
void set_label(const StorageWorld *world, void *object, const char *key, const char *value);
/* 4 CPUs, 8 GiB, 110 pods. */
Node *new_node(const StorageWorld *world, const char *name, const char *zone);
/* Each in a zone of its name, without the taint of a new node (NL-26). */
void add_nodes(StorageWorld *world, const char *const *names);
void add_csi_node(StorageWorld *world, const char *name, int32_t limit);
void relabel(StorageWorld *world, ObjectKey *key, const char *label, const char *value);
void annotate(StorageWorld *world, ObjectKey *key, const char *name, const char *value);
/* ObjectEdit; @volume: the name, interned. */
gboolean edit_bind_claim(Object *object, const void *volume);
/* As the PV controller ends a binding. */
void complete_claim(StorageWorld *world, const char *name, const char *volume);
/* As a provisioner, and then the PV controller. @zone: in the volume's node affinity; NULL: none */
void
provision(StorageWorld *world, const char *claim_name, const char *volume_name, const char *zone);
/* A claim that is bound already, to a volume reached from @zone (NULL: everywhere). */
void add_bound_claim(StorageWorld *world, const char *claim, const char *volume, const char *zone);
/* Returns: (owned) */
Pod *new_pod(const StorageWorld *world, const char *name, const char *claim, int64_t cpu_milli);
void add_pod(StorageWorld *world, const char *name, const char *claim);
/* As a kubelet ends a pod's life. */
void remove_pod(StorageWorld *world, const char *name);
/* The last message of FailedScheduling; "" if there is none. */
const char *last_failure(const StorageWorld *world);
/* With the class "late", which waits for the first consumer. */
void start_late(StorageWorld *world, const char *const *nodes);
/* A claim for each pod; the driver takes three volumes a node, the fourth pod waits (VF-V1). */
void start_attach_limit(StorageWorld *world);

/* A story, and all requests that the scheduler then sends. */
typedef struct {
    const char *title;
    void (*tell)(StorageWorld *world); /* ends at 10 s or later */
    const char *log;                   /* NULL: no matter */
    const char *failure;               /* the last message of FailedScheduling; NULL: no matter */
} SchedulerStory;

/* Returns: whether it ended as it should; else it has been printed */
gboolean story_is_told(const SchedulerStory *story, gboolean polling);
