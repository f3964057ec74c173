/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <jansson.h>

#include "run/world/run.h"

/* The cluster of a run, as its API would list it at this instant. */

/**
 * snapshot_take:
 * Returns: (owned): an array of all objects, as in `kubectl get -o json`: all kinds of the run,
 * Events, and the kubelets' leases (which a run does not store, because nothing waits for them)
 */
json_t *snapshot_take(const Run *run);
/* The virtual time on the scale of the objects' time stamps: ns since 1970. */
int64_t snapshot_now(const Run *run);
/* Returns: (owned): an object, with the fields that only kubelets and container runtimes know:
 * states of containers, a node's release */
json_t *snapshot_object(const Run *run, const Object *object);
/* Returns: (owned): an Event, as the API has it */
json_t *snapshot_event(const Run *run, unsigned index);

/* Returns: (owned): the lease of the kubelet on @node, which a run does not store */
json_t *snapshot_lease(const Run *run, const char *node);
/* Whether it is the key of such a lease of an imported cluster: it says when that kubelet was last
 * heard of, and snapshot_lease() stands in its place. */
gboolean snapshot_is_old_lease(const Run *run, const ObjectKey *key);

/* A change between two snapshots. */
typedef struct {
    json_t *before, *after; /* (borrowed): NULL before: new; NULL after: gone */
} SnapshotChange;

/* Returns: (owned): the objects (SnapshotChange) that differ, by kind, namespace and name; without
 * Events, which `events` shows */
GArray *snapshot_compare(json_t *before, json_t *after);
/* Calls @field for each field that differs, with its path ("spec.volumeName") and its texts before
 * and after (NULL: missing). Leaves out metadata.resourceVersion, which changes with every write.
 */
typedef void (*SnapshotField)(void *data, const char *path, const char *before, const char *after);
void snapshot_compare_fields(json_t *before, json_t *after, SnapshotField field, void *data);
