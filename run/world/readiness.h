/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "record.h"

/* What workloads want, and whether their pods are Ready: a log of changes, observed at the API
 * server. run/results/availability.c reads it. */

/* The state of a pod, from one change to the next. */
typedef enum {
    POD_SEEN_REFUSED = 1 << 0,   /* PodScheduled is False: no node takes it */
    POD_SEEN_READY = 1 << 1,     /* its Ready condition */
    POD_SEEN_DELETED = 1 << 2,   /* its deletion was asked for */
    POD_SEEN_DISRUPTED = 1 << 3, /* DisruptionTarget: it was evicted */
    POD_SEEN_OVER = 1 << 4,      /* a terminal phase, or it is gone */
} ReadinessSeen;

typedef struct {
    SimTime at;           /* 0 for objects that were there at the start */
    const ObjectKey *pod; /* NULL: the workload itself */
    const char *node;     /* of the pod; interned; NULL: none */
    uint32_t workload;    /* number of the workload */
    int32_t desired;      /* of a workload: its replicas from now on */
    uint16_t incarnation; /* of the pod */
    uint8_t seen;         /* of the pod: ReadinessSeen */
} ReadinessChange;

typedef struct {
    SimTime at;
    const char *node; /* interned */
    gboolean is_ready;
} NodeChange;

/* A StatefulSet, Deployment, ReplicaSet or DaemonSet; or all pods without a controller of a
 * namespace: then @key is NULL, and a pod is desired from when it is Ready to its deletion. */
typedef struct {
    const ObjectKey *key;
    const char *namespace; /* interned */
} ReadinessWorkload;

typedef struct {
    SimLog *changes;       /* of ReadinessChange, in order of time */
    GArray *nodes;         /* of NodeChange, in order of time */
    GArray *workloads;     /* of ReadinessWorkload, in order of appearance */
    GHashTable *number_of; /* ObjectKey or interned namespace -> number + 1 */
    GHashTable *parents;   /* ObjectKey of a ReplicaSet -> ObjectKey of its Deployment */
    Sim *sim;
} Readiness;

/* Watches writes from now on. Returns: (owned) */
Readiness *readiness_new(Records *records, Sim *sim);
void readiness_free(Readiness *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Readiness, readiness_free)
/* The number under which a workload counts: its Deployment's, or its own. */
uint32_t readiness_resolve(const Readiness *self, uint32_t workload);
