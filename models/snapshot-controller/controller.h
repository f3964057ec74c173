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

typedef struct {
    Component base;
    const SnapshotControllerOptions *options; /* borrowed, of the process */
    Informer *snapshots, *contents, *classes, *claims;
    InformerIndex *snapshots_by_claim; /* value: ObjectKey of the source claim */
    InformerIndex *restores;           /* claims; value: ObjectKey of the VolumeSnapshot */
    ObjectStore *snapshot_store, *content_store;
    Workers *snapshot_workers, *content_workers;
    SimTicker *resync;
} SnapshotController;

/* Changes of private state: PlanChange.what. */
typedef enum {
    CHANGE_STORE,  /* object: a version to keep, unless the copy is newer; NULL: the write failed */
    CHANGE_FORGET, /* key */
    CHANGE_ENQUEUE_SNAPSHOT, /* key */
    CHANGE_ENQUEUE_CONTENT,  /* key */
} Change;

/* The notes of a VolumeSnapshot's sync. It works with the versions that it has read, even if newer
 * ones come meanwhile. The plan keeps them alive. */
typedef struct {
    const VolumeSnapshot *snapshot;
    const SnapshotContent *content; /* NULL: none found */
    gboolean deletes; /* a deletion takes the claim's finalizer off: this snapshot does not count */
    PlanDecide with_class; /* what follows once the class is known ... */
    PlanDecide with_claim; /* ... and once the claim's finalizer is on or off, as it should be */
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
/* The sync once the class is known. */
void decide_begin(const void *self, Plan *plan);
/* SNAP-4: the sync once the claim's finalizer has been looked at. */
void decide_live_snapshot(const void *self, Plan *plan);
/* Puts these finalizers at the end, also those that are there already. */
void plan_add_finalizers(Plan *plan, gboolean as_source, gboolean as_bound);
/* syncReadySnapshot() and syncUnreadySnapshot(). */
void plan_binding(const SnapshotController *self, Plan *plan);
/* "snapcontent-<uid>" */
ObjectKey *dynamic_content_key(const SnapshotController *self, const VolumeSnapshot *snapshot);

/* ---- class.c ---- */

extern const RuleTable snapshot_class_rules; /* SNAP-2 */

/* Whether a class is marked as its driver's default. */
gboolean snapshot_class_is_default(const Object *class);
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
/* Puts the finalizer on the claim, and goes on with the notes' with_claim(). */
void plan_hold_claim(const SnapshotController *self, Plan *plan);

/* ---- status.c ---- */

/* SNAP-3: writes an error into the status and an Event, unless the status has it already. */
void
plan_snapshot_error(Plan *plan, gboolean is_not_ready, const char *reason, const char *message);
/* SNAP-8: reads the snapshot and copies the content's news into its status. */
void plan_snapshot_status(Plan *plan, const SnapshotContent *content);
/* The same for a content that was found by its name: the snapshot is read twice, as
 * bindandUpdateVolumeSnapshot() does. */
void plan_snapshot_status_twice(Plan *plan, const SnapshotContent *content);

/* ---- deletion.c ---- */

extern const RuleTable snapshot_deletion_rules; /* SNAP-30 to SNAP-32 */

void plan_snapshot_deletion(const SnapshotController *self, Plan *plan);
/* SNAP-33: the snapshot's own finalizers, after the claim's. The one as bound stays if the notes
 * have a content that is deleted with the snapshot. */
void plan_remove_finalizers(const SnapshotController *self, Plan *plan);

/* ---- content.c ---- */

extern const RuleTable content_sync_rules; /* SNAP-20 to SNAP-23 */

void snapshot_controller_sync_content(const void *self, Plan *plan); /* a PlanDecide */
/* SNAP-22: the annotation that allows the sidecar to delete the content; and stores the result. */
void plan_annotate_deletion(Plan *plan, const SnapshotContent *content, PlanErrors errors);

/* ---- snapshot-controller.c ---- */

/* Whether it is being deleted, and has one of the two finalizers. */
gboolean snapshot_waits_for_deletion(const VolumeSnapshot *snapshot);
/* @name may be NULL. Returns: (borrowed): the copy of the content; NULL: there is none */
const SnapshotContent *stored_content(const SnapshotController *self, const char *name);
void plan_store_result(Plan *plan, int step);
