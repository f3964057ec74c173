/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "models/api/snapshot.h"
#include "models/plan/plan.h"
#include "models/volume/secret-template.h"

/* What the snapshot-controller and the sidecar external-snapshotter share, as the two programs of
 * the external-snapshotter project do. */

/* SNAP-80: single snapshots and group snapshots differ in kinds and words. */
typedef struct {
    ObjectKind snapshot, content, class;
    const char *prefix; /* "", "Group": in names of kinds, "VolumeGroupSnapshot", and in reasons of
                           Events, "GroupSnapshotReady" */
    const char *noun;   /* "snapshot", "group snapshot" */
    const char *api_group;
    const char *bound_finalizer, *content_finalizer;
    const char *being_created, *being_deleted, *secret_name, *secret_namespace; /* annotations */
    const char *is_default;      /* annotation of a class */
    unsigned secret, get_secret; /* SnapshotSecret */
} SnapshotKinds;

/* @kind: one of its kinds */
const SnapshotKinds *snapshot_kinds_of(ObjectKind kind);
/* The kinds of the object that the plan is about. */
static inline const SnapshotKinds *
plan_kinds(const Plan *plan)
{
    return snapshot_kinds_of(plan_key(plan)->kind);
}

/* Errors in the words of external-snapshotter. Returns: (borrowed): interned */
const char *snapshot_class_error(Plan *plan, const char *class_name);
const char *snapshot_update_error(Plan *plan, const char *object_name, const char *error);
/* A snapshot or a content that needs a class has none. */
const char *snapshot_no_class_error(Plan *plan, const char *object_name);

/* Whether the content is one for a new snapshot, or for a new group; and whether it names a
 * snapshot that is there already. */
gboolean snapshot_content_is_dynamic(const SnapshotContent *content);
gboolean snapshot_content_is_given(const SnapshotContent *content);

/* SNAP-75: the VolumeGroupSnapshot that owns the snapshot. Returns: (borrowed): its name; NULL:
 * none
 */
const char *snapshot_group(const VolumeSnapshot *snapshot);
/* SNAP-76: its status names a group, but none owns it. */
gboolean snapshot_lacks_group(const VolumeSnapshot *snapshot);

/* SNAP-70: the Secrets that a class's parameters can name. */
typedef enum {
    SNAPSHOT_SECRET,      /* of CreateSnapshot and DeleteSnapshot */
    SNAPSHOT_SECRET_LIST, /* of ListSnapshots */
    SNAPSHOT_SECRET_GROUP,
    SNAPSHOT_SECRET_GROUP_GET,
    N_SNAPSHOT_SECRETS,
} SnapshotSecret;

extern const SecretKeys snapshot_secret_keys[N_SNAPSHOT_SECRETS];
/**
 * snapshot_secret_resolve:
 * @content: a name
 * @snapshot: (nullable): the VolumeSnapshot, whose name and namespace templates may have
 * @reference: (out): its name is %NULL if the parameters give none
 * Returns: (owned) (nullable): why the parameters make no reference
 */
char *snapshot_secret_resolve(Strings *strings,
                              SnapshotSecret use,
                              const StringMap *parameters,
                              const char *content,
                              const ObjectKey *snapshot,
                              SecretReference *reference);
/* A class's parameters without those for the sidecar (SNAP-73). Returns: (owned): NULL: none, or
 * @error (out, owned): a key with the reserved prefix is unknown */
StringMap *snapshot_driver_parameters(const StringMap *parameters, char **error);

/* Sets an annotation, or takes it off (@value NULL). Returns: the step */
int plan_annotate(
    Plan *plan, const ObjectKey *key, const char *annotation, const char *value, PlanErrors errors);
