/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "claim.h"

/* The kinds of snapshot.storage.k8s.io, as far as those who restore from a snapshot read them. */

/* VolumeSnapshot. */
typedef struct {
    Object meta;
    const char *claim_name;    /* spec.source.persistentVolumeClaimName; NULL: none */
    const char *content_name;  /* spec.source.volumeSnapshotContentName; NULL: none */
    const char *class_name;    /* spec.volumeSnapshotClassName; NULL: the default */
    const char *bound_content; /* status.boundVolumeSnapshotContentName; NULL: not bound */
    gboolean ready_to_use;
    int64_t restore_bytes; /* status.restoreSize; 0: unknown */
    SimTime created_at;    /* status.creationTime; TIME_UNSET: not cut yet */
} VolumeSnapshot;

/* spec.volumeSnapshotRef. */
typedef struct {
    const char *namespace, *name;
    ObjectUid uid;
} SnapshotReference;

/* VolumeSnapshotContent. */
typedef struct {
    Object meta;
    const char *driver;
    const char *deletion_policy; /* "Delete", "Retain" */
    const char *class_name;
    const char *volume_handle;      /* spec.source.volumeHandle; NULL: pre-provisioned */
    const char *given_handle;       /* spec.source.snapshotHandle; NULL: dynamic */
    const char *source_volume_mode; /* "Filesystem", "Block"; NULL: unknown */
    SnapshotReference snapshot;     /* name NULL: none */
    const char *handle;             /* status.snapshotHandle; NULL: none yet */
    gboolean ready_to_use;
    int64_t restore_bytes; /* status.restoreSize; negative: unknown */
    int64_t created_ns;    /* status.creationTime: ns since 1970; negative: unknown */
} SnapshotContent;

#define VOLUME_SNAPSHOT(object) ((VolumeSnapshot *)(object))
#define SNAPSHOT_CONTENT(object) ((SnapshotContent *)(object))

#define SNAPSHOT_API_GROUP "snapshot.storage.k8s.io"
/* Of a content: its volumes may be of another mode than its source (SRC-4). */
#define ANNOTATION_ALLOW_MODE_CHANGE "snapshot.storage.kubernetes.io/allow-volume-mode-change"

extern const KindClass volume_snapshot_kind, snapshot_content_kind;
