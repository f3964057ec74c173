/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "models/api/storage.h"
#include "models/plan/plan.h"

#include "topology.h"

/* The capacity controller: one CSIStorageCapacity for each pair of a segment of the cluster and a
 * class of the driver. external-provisioner's pkg/capacity/capacity.go. A part of the provisioner
 * with its own queue and client. */
typedef struct Capacity Capacity;

typedef struct {
    Component *component;    /* the provisioner; all borrowed */
    const char *namespace;   /* of the objects */
    const char *managed_by;  /* CAP-3: the label's value; interned */
    OwnerReferences *owners; /* of the objects; NULL: none */
    gboolean for_immediate;  /* --capacity-for-immediate-binding */
    unsigned n_workers;      /* --capacity-threads */
    SimTime poll_interval;
    SimTime timeout; /* of GetCapacity */
    RateLimit limit; /* of retries */
    ApiClient *client;
    gboolean has_topology;         /* else all nodes are one segment */
    gboolean on_node;              /* node deployment: the only segment is the own node's */
    const StringMap *node_segment; /* ...; NULL: it has none */
} CapacityOptions;

/* Subscribes, and polls at once (CAP-5). @options: copied. Returns: (owned) */
Capacity *capacity_new(const CapacityOptions *options);
void capacity_free(Capacity *self);

/* CAP-6: ask again about all items of a class; about the items in the places of a volume, or, if
 * the volume may be anywhere, about all items of its class; */
void capacity_refresh_class(Capacity *self, const char *class_name);
void capacity_refresh_volume(Capacity *self, const Volume *volume);

/* A plan has drawn a name for the item of this key. */
void capacity_named(Capacity *self, const ObjectKey *key);

/* For tests and metrics, in order of appearance. Returns: FALSE: segment or class have gone */
typedef struct {
    const ObjectKey *key; /* in the queue */
    const char *class_name;
    const StringMap *segment;
    const ObjectKey *object; /* NULL: none is known */
} CapacityItemView;
