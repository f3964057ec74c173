/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "snapshot-controller.h"

#include "models/api/snapshot.h"
#include "models/plan/plan.h"
#include "models/volume/object-store.h"
#include "models/volume/snapshots.h"
#include "sim/ticker.h"

/* Within the controller: snapshot-controller.c holds its state and hears of changes. snapshot.c
 * syncs VolumeSnapshots, with the help of class.c, claim.c, creation.c, status.c and deletion.c;
 * content.c syncs VolumeSnapshotContents. */

/* Informers, copies and queues of single snapshots, and once more of groups. */
typedef struct {
    Informer *snapshots, *contents, *classes;
    ObjectStore *snapshot_store, *content_store;
    Workers *snapshot_workers, *content_workers;
} SnapshotSide;

typedef struct {
    Component base;
    const SnapshotControllerOptions *options; /* borrowed, of the process */
    SnapshotSide single;
    SnapshotSide group; /* without the feature gate: all NULL */
    Informer *claims;
    Informer *volumes;                 /* NULL without groups */
    Informer *nodes;                   /* NULL: without --enable-distributed-snapshotting */
    InformerIndex *snapshots_by_claim; /* value: ObjectKey of the source claim */
    InformerIndex *snapshots_by_group; /* value: ObjectKey of the group; NULL without groups */
    InformerIndex *restores;           /* claims; value: ObjectKey of the VolumeSnapshot */
    SimTicker *resync;
} SnapshotController;

/* The side that has objects of this kind. */
const SnapshotSide *snapshot_side(const SnapshotController *self, ObjectKind kind);
static inline const SnapshotSide *
plan_side(const SnapshotController *self, const Plan *plan)
{
    return snapshot_side(self, plan_key(plan)->kind);
}

/* Changes of private state: PlanChange.what. */
typedef enum {
    CHANGE_STORE,  /* object: a version to keep, unless the copy is newer; NULL: the write failed */
    CHANGE_FORGET, /* key */
} SnapshotControllerChange;

/* The notes of a VolumeSnapshot's sync. It works with the versions that it has read, even if newer
 * ones come meanwhile. The plan keeps them alive. */
typedef struct {
    const VolumeSnapshot *snapshot;
    const SnapshotContent *content; /* NULL: none found */
    gboolean deletes; /* a deletion takes the claim's finalizer off: this snapshot does not count */
    PlanDecide with_class;   /* what follows once the class is known ... */
    PlanDecide with_claim;   /* ... and once the claim's finalizer is on or off, as it should be */
    PlanDecide with_content; /* of a deletion: what follows once the content is dealt with */
    /* Of a group: */
    PlanDecide with_volumes; /* what follows once its volumes are read, or not */
    const char *error;       /* then: why not; NULL: they are */
    const Claim **claims;    /* by name */
    const Volume **volumes;  /* of the claims */
    unsigned n_claims, n_volumes;
    const ObjectKey **members; /* of a deletion */
    unsigned n_members;
    unsigned member;     /* the one under way */
    uint32_t had_member; /* facts about it: members.c */
    SecretReference secret;
} SnapshotSync;

static inline const VolumeSnapshot *
snapshot_of(Plan *plan)
{
    return ((const SnapshotSync *)plan_notes(plan))->snapshot;
}
/* The sync goes on with this version. */
void take_snapshot(Plan *plan, const Object *snapshot);
void take_content(Plan *plan, const SnapshotContent *content);

/* ---- snapshot.c ---- */

extern const RuleTable snapshot_rules, snapshot_binding_rules;

void snapshot_controller_sync_snapshot(const void *self, Plan *plan); /* a PlanDecide */
/* "Snapshot..." or "GroupSnapshot...": the reason of an Event. Interned */
const char *plan_reason(Plan *plan, const char *reason);
/* The claim's volume is still the claim's. */
gboolean volume_is_of_claim(const Volume *volume, const Claim *claim);
/* "snapcontent-<uid>", "groupsnapcontent-<uid>" */
ObjectKey *dynamic_content_key(const SnapshotController *self, const VolumeSnapshot *snapshot);

/* ---- group.c ---- */

/* SNAP-81: asks for the default class of a group. */
void plan_default_group_class(const SnapshotController *self, Plan *plan);
/* SNAP-82: the content for a group. */
void plan_group_creation(const SnapshotController *self, Plan *plan);

/* ---- members.c ---- */

/* Makes what is missing of a group's snapshots, then copies the content's status. */
void plan_group_members(const SnapshotController *self, Plan *plan, const SnapshotContent *content);
/* SNAP-85. Returns: (borrowed): the group that the snapshot's status names; NULL: no such group */
const Object *group_of_member(const SnapshotController *self, const VolumeSnapshot *snapshot);
/* SNAP-86: the group whose content has this handle. Returns: (borrowed): its name; NULL: none */
const char *group_with_handle(const SnapshotController *self, const char *handle);

/* ---- group-deletion.c ---- */

extern const RuleTable group_deletion_rules; /* SNAP-84 */

void plan_group_deletion(const SnapshotController *self, Plan *plan);

/* ---- class.c ---- */

extern const RuleTable snapshot_class_rules; /* SNAP-2 */

/* No default class, or more than one. */
void plan_no_default(Plan *plan, const char *error);
/* @n: (out): the number of the driver's default classes. Returns: (borrowed): the last of them */
const Object *
default_class(const SnapshotController *self, Plan *plan, const char *driver, unsigned *n);
/* An ObjectEdit: the name of the class */
gboolean edit_set_class(Object *object, const void *name);
/* ... is written, or not: the sync goes on. A PlanDecide */
void decide_class_set(const void *self, Plan *plan);
/* Goes on with the notes' with_class(), or fails. */
void plan_class(const SnapshotController *self, Plan *plan);

/* ---- claim.c ---- */

/* The source claim. Returns: (borrowed): NULL with @error in the controller's words */
const Claim *snapshot_claim(const SnapshotController *self,
                            Plan *plan,
                            const VolumeSnapshot *snapshot,
                            const char **error);
/* Reads the volume of the source claim. Returns: FALSE with @error: there is none to read */
gboolean plan_read_volume(const SnapshotController *self, Plan *plan, const char **error);
/* ... and its answer. Returns: (borrowed): NULL with @error */
const Volume *volume_read(const SnapshotController *self, Plan *plan, const char **error);
const char *volume_driver(const Volume *volume);
/* SNAP-12: takes the finalizer off the claim if all its snapshots are ready; then goes on with the
 * notes' with_claim(). */
void plan_release_claim(const SnapshotController *self, Plan *plan);

/* ---- creation.c ---- */

extern const RuleTable snapshot_source_rules, snapshot_creation_rules; /* SNAP-6 */

void plan_creation(const SnapshotController *self, Plan *plan);
/* Takes @content, creates it and copies its status. */
void plan_content_creation(Plan *plan, Object *content);
/* Tells the error, and fails; the second: no content can be made up. */
void plan_creation_failed(Plan *plan, const char *error);
void plan_input_failed(Plan *plan, const char *error);

/* ---- status.c ---- */

/* SNAP-3: writes an error into the status and an Event, unless the status has it already. */
void
plan_snapshot_error(Plan *plan, gboolean is_not_ready, const char *reason, const char *message);
/* SNAP-8: reads the snapshot and copies the content's news into its status. */
void
plan_snapshot_status(const SnapshotController *self, Plan *plan, const SnapshotContent *content);
/* The same for a content that was found by its name: the snapshot is read twice, as
 * bindandUpdateVolumeSnapshot() does. */
void plan_snapshot_status_twice(const SnapshotController *self,
                                Plan *plan,
                                const SnapshotContent *content);

/* ---- deletion.c ---- */

extern const RuleTable snapshot_deletion_rules; /* SNAP-30 to SNAP-32 */

void plan_snapshot_deletion(const SnapshotController *self, Plan *plan);
/* SNAP-32: annotates the content of the notes, deletes it if its policy says so, and goes on with
 * the notes' with_content(). */
void plan_content_annotation(Plan *plan, const SnapshotContent *content);
/* ... of a content that has the annotation */
void plan_content_deletion(const SnapshotController *self, Plan *plan);
gboolean content_goes_with_snapshot(Plan *plan);
/* SNAP-33: keeps the result of the write. A PlanDecide */
void decide_finalizers_removed(const void *self, Plan *plan);

/* ---- content.c ---- */

extern const RuleTable content_sync_rules; /* SNAP-20 to SNAP-23 */

void snapshot_controller_sync_content(const void *self, Plan *plan); /* a PlanDecide */
/* SNAP-22: the annotation that allows the sidecar to delete the content; and stores the result. */
void plan_annotate_deletion(Plan *plan, const SnapshotContent *content, PlanErrors errors);

/* ---- snapshot-controller.c ---- */

/* A claim that is to be restored from the snapshot is pending. */
gboolean snapshot_is_being_restored(const SnapshotController *self, const Object *snapshot);
/* Whether it is being deleted, and has one of the two finalizers. */
gboolean snapshot_waits_for_deletion(const VolumeSnapshot *snapshot);
/* @name may be NULL. Returns: (borrowed): the copy of the content; NULL: there is none */
const SnapshotContent *
stored_content(const SnapshotController *self, const Plan *plan, const char *name);
void plan_store_result(Plan *plan, int step);
