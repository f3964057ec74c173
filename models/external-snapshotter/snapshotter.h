/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "external-snapshotter.h"

#include "models/api/snapshot.h"
#include "models/plan/plan.h"
#include "models/volume/object-store.h"

/* Within the sidecar: external-snapshotter.c holds its state and hears of changes, content.c
 * decides what becomes of a VolumeSnapshotContent. */

typedef struct {
    Component base;
    const ExternalSnapshotterOptions *options; /* borrowed, of the process */
    Sidecar *sidecar;
    Informer *contents, *classes;
    ObjectStore *store; /* of contents */
    Workers *workers;
} ExternalSnapshotter;

/* Changes of private state: PlanChange.what. */
typedef enum {
    CHANGE_STORE,  /* object: keep this version, unless the copy is newer; none if the write failed
                    */
    CHANGE_FORGET, /* key */
} Change;

/* What the driver says of a snapshot. */
typedef struct {
    const char *handle;
    gboolean is_ready;
    int64_t created_ns; /* since 1970; negative: it does not say */
    int64_t bytes;      /* 0: it does not say */
} SnapshotAnswer;

/* One sync. It goes on with what it wrote last, whatever comes meanwhile. */
typedef struct {
    const SnapshotContent *content; /* (owned) */
    gboolean is_first;              /* nothing was told of it before: how a failure is told */
    gboolean has_secrets;
    const char *refusal; /* interned: what the driver said; told once the annotation is off */
    SimTime deadline;    /* of the calls of one try */
    SnapshotAnswer answer;
} SnapshotterSync;

void snapshotter_sync_clear(void *sync);

/* ---- content.c ---- */

void snapshotter_sync(const void *self, Plan *plan); /* a PlanDecide */

/* ---- external-snapshotter.c ---- */

/* SNAP-43. */
gboolean snapshotter_should_delete(const SnapshotContent *content);
/* SNAP-44. Such an error may mean that the snapshot is being made all the same: not final. */
gboolean snapshotter_error_is_final(CsiCode code);
