/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "snapshot-controller.h"

#include "models/api/snapshot.h"
#include "models/plan/plan.h"
#include "models/volume/object-store.h"
#include "sim/ticker.h"

/* Within the controller: snapshot-controller.c holds its state and hears of changes, snapshot.c
 * syncs VolumeSnapshots, deletion.c those that go, content.c VolumeSnapshotContents. */

typedef struct {
    Component base;
    const SnapshotControllerOptions *options; /* borrowed, of the process */
    Informer *snapshots, *contents, *classes, *claims;
    InformerIndex *snapshots_by_claim; /* value: ObjectKey of the claim that they are made of */
    InformerIndex *restores;           /* claims; value: ObjectKey of the VolumeSnapshot */
    ObjectStore *snapshot_store, *content_store;
    Workers *snapshot_workers, *content_workers;
    SimTicker *resync;
} SnapshotController;

/* Changes of private state: PlanChange.what. */
typedef enum {
    CHANGE_STORE,  /* object: keep this version, unless the copy is newer; none if the write failed
                    */
    CHANGE_FORGET, /* key */
    CHANGE_ENQUEUE_SNAPSHOT, /* key */
    CHANGE_ENQUEUE_CONTENT,  /* key */
} Change;

/* One sync of a VolumeSnapshot. It goes on with what it read first, whatever comes meanwhile. */
typedef struct {
    const VolumeSnapshot *snapshot; /* (owned) */
    const SnapshotContent *content; /* (owned): NULL: none found */
    gboolean deletes; /* the claim's finalizer is taken off for the deletion: this snapshot does not
                         count */
} SnapshotSync;

void snapshot_sync_clear(void *sync);
void snapshot_sync_take_content(SnapshotSync *self, const SnapshotContent *content);

/* ---- snapshot.c ---- */

void snapshot_controller_sync_snapshot(const void *self, Plan *plan); /* a PlanDecide */
/* SNAP-3: writes an error into the status, unless it stands there already, and tells it in an
 * Event. */
void plan_snapshot_error(const SnapshotController *self,
                         Plan *plan,
                         gboolean is_not_ready,
                         const char *reason,
                         const char *message);
/* SNAP-4, behind the release of the claim. */
void plan_live_snapshot(const SnapshotController *self, Plan *plan);
/* The claim that the snapshot is made of. Returns: (borrowed): NULL, and @error in the controller's
 * words */
const Claim *snapshot_claim(const SnapshotController *self,
                            Plan *plan,
                            const VolumeSnapshot *snapshot,
                            const char **error);
/* "snapcontent-<uid>" */
ObjectKey *dynamic_content_key(const SnapshotController *self, const VolumeSnapshot *snapshot);

/* ---- deletion.c ---- */

/* SNAP-12: takes the finalizer off the claim if no snapshot is being made of it any more; then the
 * sync goes on, or the deletion. */
void plan_release_claim(const SnapshotController *self, Plan *plan);
/* SNAP-30..33. */
void plan_snapshot_deletion(const SnapshotController *self, Plan *plan);

/* ---- content.c ---- */

void snapshot_controller_sync_content(const void *self, Plan *plan); /* a PlanDecide */

/* SNAP-22: says on the content that its snapshot goes, so that the sidecar may delete it; and
 * stores the result. */
void plan_annotate_deletion(const SnapshotController *self,
                            Plan *plan,
                            const SnapshotContent *content,
                            PlanErrors errors);

/* ---- snapshot-controller.c ---- */

/* It is being deleted, and has one of the two finalizers. */
gboolean snapshot_waits_for_deletion(const VolumeSnapshot *snapshot);
/* @name may be NULL */

const SnapshotContent *stored_content(const SnapshotController *self, const char *name);
/* "snapshot controller failed to update <name> on API server: <error>" */
const char *update_error(Plan *plan, const char *name, const char *error);
void plan_store_result(Plan *plan, int step);
