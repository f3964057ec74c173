/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <jansson.h>

#include "run/world/run.h"

/* The cluster of a run as its API would list it at this instant. */

/**
 * snapshot_take:
 * Returns: (owned): an array of all objects as `kubectl get -o json` has them: of every kind that
 * the run knows, Events, and the kubelets' leases (which are not written in a run, because nobody
 * waits for them)
 */
json_t *snapshot_take(const Run *run);
/* The virtual time as the objects' time stamps have it: ns since 1970. */
int64_t snapshot_now(const Run *run);
/* One object; with what only kubelets and container runtimes tell: the state of containers, a
 * node's release. (owned) */
json_t *snapshot_object(const Run *run, const Object *object);
/* One Event as the API has it. (owned) */
json_t *snapshot_event(const Run *run, unsigned index);

/* A change between two snapshots. */
typedef struct {
    json_t *before, *after; /* (borrowed): NULL: it is new, it is gone */
} SnapshotChange;

/* Objects that differ, by kind, namespace and name. Events are left out: they are told by `events`.
 * (owned): GArray */
GArray *snapshot_compare(json_t *before, json_t *after);
/* Fields that differ: adds "spec.volumeName", its text before and after (NULL: not there) for each.
 * What changes with every write is left out: metadata.resourceVersion. */
typedef void (*SnapshotField)(void *data, const char *path, const char *before, const char *after);
void snapshot_compare_fields(json_t *before, json_t *after, SnapshotField field, void *data);
