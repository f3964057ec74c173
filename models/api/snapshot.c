/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "snapshot.h"

#include "fields.h"

static const Field volume_snapshot_fields[] = {
    FIELD("spec.source.persistentVolumeClaimName",
          field_word,
          VolumeSnapshot,
          claim_name,
          FIELD_SPEC),
    FIELD("spec.source.volumeSnapshotContentName",
          field_word,
          VolumeSnapshot,
          content_name,
          FIELD_SPEC),
    FIELD("spec.volumeSnapshotClassName", field_word, VolumeSnapshot, class_name, FIELD_SPEC),
    FIELD("status.boundVolumeSnapshotContentName",
          field_word,
          VolumeSnapshot,
          bound_content,
          FIELD_STATUS),
    FIELD("status.readyToUse", field_flag, VolumeSnapshot, ready_to_use, FIELD_STATUS),
    FIELD("status.restoreSize", field_size, VolumeSnapshot, restore_bytes, FIELD_STATUS),
    FIELD("status.creationTime", field_time, VolumeSnapshot, created_at, FIELD_STATUS),
    FIELDS_END,
};

static const char *const volume_snapshot_ignored[] = {IGNORED_ALWAYS, "status.error", NULL};

static void
volume_snapshot_set_defaults(Object *object)
{
    VOLUME_SNAPSHOT(object)->created_at = TIME_UNSET;
}

const KindClass volume_snapshot_kind = {
    .kind = "VolumeSnapshot",
    .api_version = "snapshot.storage.k8s.io/v1",
    .resource = "volumesnapshots",
    .size = sizeof(VolumeSnapshot),
    .fields = volume_snapshot_fields,
    .namespaced = TRUE,
    .has_generation = TRUE,
    .set_defaults = volume_snapshot_set_defaults,
    .ignored = volume_snapshot_ignored,
};

static const Field snapshot_content_fields[] = {
    FIELD("spec.driver", field_string, SnapshotContent, driver, FIELD_REQUIRED),
    FIELD("spec.deletionPolicy", field_word, SnapshotContent, deletion_policy, FIELD_SPEC),
    FIELD("spec.volumeSnapshotClassName", field_word, SnapshotContent, class_name, FIELD_SPEC),
    FIELD("spec.source.volumeHandle", field_word, SnapshotContent, volume_handle, FIELD_SPEC),
    FIELD("spec.source.snapshotHandle", field_word, SnapshotContent, given_handle, FIELD_SPEC),
    FIELD("spec.sourceVolumeMode", field_word, SnapshotContent, source_volume_mode, FIELD_SPEC),
    FIELD("spec.volumeSnapshotRef.namespace",
          field_word,
          SnapshotContent,
          snapshot.namespace,
          FIELD_SPEC),
    FIELD("spec.volumeSnapshotRef.name", field_word, SnapshotContent, snapshot.name, FIELD_SPEC),
    FIELD("spec.volumeSnapshotRef.uid", field_uid, SnapshotContent, snapshot.uid, FIELD_SPEC),
    FIELD("status.snapshotHandle", field_word, SnapshotContent, handle, FIELD_STATUS),
    FIELD("status.readyToUse", field_flag, SnapshotContent, ready_to_use, FIELD_STATUS),
    FIELD("status.restoreSize", field_int64, SnapshotContent, restore_bytes, FIELD_STATUS),
    FIELD("status.creationTime", field_int64, SnapshotContent, created_ns, FIELD_STATUS),
    FIELDS_END,
};

static const char *const snapshot_content_ignored[] = {
    IGNORED_ALWAYS,
    "spec.volumeSnapshotRef.apiVersion",
    "spec.volumeSnapshotRef.kind",
    "spec.volumeSnapshotRef.resourceVersion",
    "status.error",
    NULL,
};

static void
snapshot_content_set_defaults(Object *object)
{
    SNAPSHOT_CONTENT(object)->restore_bytes = -1;
    SNAPSHOT_CONTENT(object)->created_ns = -1;
}

const KindClass snapshot_content_kind = {
    .kind = "VolumeSnapshotContent",
    .api_version = "snapshot.storage.k8s.io/v1",
    .resource = "volumesnapshotcontents",
    .size = sizeof(SnapshotContent),
    .fields = snapshot_content_fields,
    .has_generation = TRUE,
    .set_defaults = snapshot_content_set_defaults,
    .ignored = snapshot_content_ignored,
};
