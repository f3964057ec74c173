/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "selector.h"
#include "storage.h"

/* The kinds of snapshot.storage.k8s.io, and of groupsnapshot.storage.k8s.io, which have the same
 * fields and a few more. */

/* status.readyToUse. */
typedef enum {
    SNAPSHOT_READINESS_UNSET,
    SNAPSHOT_NOT_READY,
    SNAPSHOT_READY,
    /* Of a content whose status is there and empty, as DeleteSnapshot leaves it (SNAP-47). */
    SNAPSHOT_STATUS_EMPTY,
} SnapshotReadiness;

/* VolumeSnapshotClass. */
typedef struct {
    Object meta;
    const char *driver;
    const char *deletion_policy; /* "Delete", "Retain" */
    StringMap *parameters;
} SnapshotClass;

/* VolumeSnapshot. */
typedef struct {
    Object meta;
    const char *claim_name;    /* spec.source.persistentVolumeClaimName; NULL: none */
    const char *content_name;  /* spec.source.volumeSnapshotContentName; NULL: none */
    const char *class_name;    /* spec.volumeSnapshotClassName; NULL: the default */
    const char *bound_content; /* status.boundVolumeSnapshotContentName; NULL: not bound */
    uint32_t readiness;        /* SnapshotReadiness */
    int64_t restore_bytes;     /* status.restoreSize; 0: unknown */
    SimTime created_at;        /* status.creationTime; TIME_UNSET: not cut yet */
    const char *group_name;    /* status.volumeGroupSnapshotName; NULL: of no group */
    VolumeError error;
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
    uint32_t readiness;             /* SnapshotReadiness */
    int64_t restore_bytes;          /* status.restoreSize; negative: unknown */
    int64_t created_ns;             /* status.creationTime: ns since 1970; negative: unknown */
    const char *group_handle;       /* status.volumeGroupSnapshotHandle; NULL: of no group */
    VolumeError error;
} SnapshotContent;

/* VolumeGroupSnapshot: a VolumeSnapshot of all claims that a selector finds. */
typedef struct {
    VolumeSnapshot base;     /* content_name: spec.source.volumeGroupSnapshotContentName */
    LabelSelector *selector; /* spec.source.selector; NULL: pre-provisioned */
} GroupSnapshot;

/* VolumeGroupSnapshotContent. */
typedef struct {
    SnapshotContent base;        /* handle, given_handle: of the group */
    StringList *volume_handles;  /* spec.source.volumeHandles; NULL: pre-provisioned */
    StringList *given_snapshots; /* spec.source.groupSnapshotHandles.volumeSnapshotHandles */
    /* status.volumeSnapshotHandlePairList: volume, its snapshot, volume, its snapshot, ...; NULL:
     * none */
    StringList *pairs;
} GroupContent;

#define VOLUME_SNAPSHOT(object) ((VolumeSnapshot *)(object))
#define VOLUME_SNAPSHOT_CONST(object) ((const VolumeSnapshot *)(object))
#define SNAPSHOT_CONTENT(object) ((SnapshotContent *)(object))
#define SNAPSHOT_CONTENT_CONST(object) ((const SnapshotContent *)(object))
#define SNAPSHOT_CLASS_CONST(object) ((const SnapshotClass *)(object)) /* of a group, too */
#define GROUP_SNAPSHOT_CONST(object) ((const GroupSnapshot *)(object))
#define GROUP_CONTENT(object) ((GroupContent *)(object))
#define GROUP_CONTENT_CONST(object) ((const GroupContent *)(object))

#define SNAPSHOT_API_GROUP "snapshot.storage.k8s.io"
#define FINALIZER_SNAPSHOT_SOURCE                                                                  \
    "snapshot.storage.kubernetes.io/volumesnapshot-as-source-protection"
#define FINALIZER_SNAPSHOT_BOUND "snapshot.storage.kubernetes.io/volumesnapshot-bound-protection"
#define FINALIZER_SNAPSHOT_CONTENT                                                                 \
    "snapshot.storage.kubernetes.io/volumesnapshotcontent-bound-protection"
/* On a claim, while a snapshot of it is being made. */
#define FINALIZER_SNAPSHOT_CLAIM "snapshot.storage.kubernetes.io/pvc-as-source-protection"
/* On a content: CreateSnapshot may be under way; its VolumeSnapshot is being deleted. */
#define ANNOTATION_SNAPSHOT_BEING_CREATED                                                          \
    "snapshot.storage.kubernetes.io/volumesnapshot-being-created"
#define ANNOTATION_SNAPSHOT_BEING_DELETED                                                          \
    "snapshot.storage.kubernetes.io/volumesnapshot-being-deleted"
#define ANNOTATION_SNAPSHOT_SECRET_NAME "snapshot.storage.kubernetes.io/deletion-secret-name"
#define ANNOTATION_SNAPSHOT_SECRET_NAMESPACE                                                       \
    "snapshot.storage.kubernetes.io/deletion-secret-namespace"
#define ANNOTATION_DEFAULT_SNAPSHOT_CLASS "snapshot.storage.kubernetes.io/is-default-class"
/* On a content of a group's member, whose value is the group's content: the group's content tells
 * the driver what to do. */
#define ANNOTATION_SNAPSHOT_GROUP_HANDLE "groupsnapshot.storage.k8s.io/volumeGroupSnapshotHandle"
/* On a content, with --enable-distributed-snapshotting: the node whose sidecar handles it. */
#define LABEL_SNAPSHOT_MANAGED_BY "snapshot.storage.kubernetes.io/managed-by"
/* On a content: volumes made of it may have another mode than its source (SRC-4). */
#define ANNOTATION_ALLOW_MODE_CHANGE "snapshot.storage.kubernetes.io/allow-volume-mode-change"

#define GROUP_SNAPSHOT_API_GROUP "groupsnapshot.storage.k8s.io"
#define GROUP_SNAPSHOT_API_VERSION GROUP_SNAPSHOT_API_GROUP "/v1beta1"
#define FINALIZER_GROUP_BOUND                                                                      \
    "groupsnapshot.storage.kubernetes.io/volumegroupsnapshot-bound-protection"
#define FINALIZER_GROUP_CONTENT                                                                    \
    "groupsnapshot.storage.kubernetes.io/volumegroupsnapshotcontent-bound-protection"
/* On a VolumeSnapshot that belongs to a group. */
#define FINALIZER_SNAPSHOT_IN_GROUP                                                                \
    "snapshot.storage.kubernetes.io/volumesnapshot-in-group-protection"
#define ANNOTATION_GROUP_BEING_CREATED                                                             \
    "groupsnapshot.storage.kubernetes.io/volumegroupsnapshot-being-created"
#define ANNOTATION_GROUP_BEING_DELETED                                                             \
    "groupsnapshot.storage.kubernetes.io/volumegroupsnapshot-being-deleted"
#define ANNOTATION_GROUP_SECRET_NAME "groupsnapshot.storage.kubernetes.io/deletion-secret-name"
#define ANNOTATION_GROUP_SECRET_NAMESPACE                                                          \
    "groupsnapshot.storage.kubernetes.io/deletion-secret-namespace"
#define ANNOTATION_DEFAULT_GROUP_CLASS "groupsnapshot.storage.kubernetes.io/is-default-class"

/* Whether there is a status. */
gboolean volume_snapshot_has_status(const VolumeSnapshot *self);
gboolean snapshot_content_has_status(const SnapshotContent *self);
/* Whether the content refers to this snapshot, also by its uid. */
gboolean snapshot_content_is_of(const SnapshotContent *self, const VolumeSnapshot *snapshot);
