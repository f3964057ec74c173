/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "external-snapshotter.h"

#include "models/api/snapshot.h"
#include "models/plan/plan.h"
#include "models/volume/object-store.h"
#include "models/volume/snapshots.h"
#include "sim/ticker.h"

/* Within the sidecar: external-snapshotter.c holds its state and hears of changes. content.c syncs
 * VolumeSnapshotContents, with the help of creation.c, given.c, status.c and deletion.c. */

/* Informers, copies and queue of single contents, and once more of groups. */
typedef struct {
    Informer *contents, *classes;
    ObjectStore *store; /* of contents */
    Workers *workers;
} SnapshotterSide;

typedef struct {
    Component base;
    const ExternalSnapshotterOptions *options; /* borrowed, of the process */
    Sidecar *sidecar;
    SnapshotterSide single;
    SnapshotterSide group; /* without the feature gate: all NULL */
    SimTicker *resync;     /* before 8.3: NULL */
} ExternalSnapshotter;

/* The side that has contents of this kind. */
const SnapshotterSide *snapshotter_side(const ExternalSnapshotter *self, ObjectKind kind);
static inline const SnapshotterSide *
plan_side(const ExternalSnapshotter *self, const Plan *plan)
{
    return snapshotter_side(self, plan_key(plan)->kind);
}

/* Changes of private state: PlanChange.what. */
typedef enum {
    CHANGE_STORE,  /* object: a version to keep, unless the copy is newer; NULL: the write failed */
    CHANGE_FORGET, /* key */
} SnapshotterChange;

/* The driver's answer about a snapshot. */
typedef struct {
    const char *handle;
    gboolean is_ready, is_listed; /* is_listed: the answer is about a snapshot that was there */
    SimTime created_at;           /* TIME_UNSET: unknown, so it was cut now */
    int64_t bytes;                /* 0: unknown */
    const char *group_handle;     /* of the group that the snapshot belongs to; NULL: none */
    StringList *pairs;            /* of a group: GroupContent.pairs; NULL: none */
} SnapshotAnswer;

/* The notes of a sync. It works with the version that it has written last, even if newer ones come
 * meanwhile. The plan keeps it alive. */
typedef struct {
    const SnapshotContent *content;
    gboolean is_first; /* the content had no status: this decides the words of a failure */
    gboolean has_secrets;
    const char *secret_error;    /* interned; NULL: the Secret was read, or none is named */
    PlanDecide with_secret;      /* what follows */
    const StringMap *parameters; /* of CreateSnapshot; NULL: none */
    const char *refusal;         /* interned: the driver's error, told once the annotation is off */
    SimTime deadline;            /* of the calls of one try */
    SnapshotAnswer answer;
} SnapshotterSync;

static inline const SnapshotContent *
snapshotter_content(Plan *plan)
{
    return ((const SnapshotterSync *)plan_notes(plan))->content;
}

/* Before "content" in messages: "", "group snapshot ". */
static inline const char *
snapshotter_noun(const Plan *plan)
{
    return plan_key(plan)->kind == KIND_GROUP_CONTENT ? "group snapshot " : "";
}

/* ---- content.c ---- */

extern const RuleTable snapshotter_content_rules; /* SNAP-40 to SNAP-46 */

void snapshotter_sync(const void *self, Plan *plan); /* a PlanDecide */
/* SNAP-70: reads the Secret that the content names for the driver, if it names one, and goes on
 * with @then, which looks at the notes. */
void snapshotter_with_secret(const ExternalSnapshotter *self, Plan *plan, PlanDecide then);

/* ---- group.c ---- */

/* SNAP-91: the calls for a group, in place of CreateSnapshot, DeleteSnapshot and ListSnapshots. */
CsiRequest group_creation_request(const ExternalSnapshotter *self, Plan *plan);
CsiRequest group_deletion_request(const ExternalSnapshotter *self, Plan *plan);
CsiRequest group_look_request(const ExternalSnapshotter *self, Plan *plan);
/* The answer about a group. */
SnapshotAnswer
group_answer(const ExternalSnapshotter *self, Plan *plan, const CsiResponse *response);
/* "[volume-1 volume-2]", as Go prints a list. Interned */
const char *group_volumes_text(Plan *plan, const SnapshotContent *content);

/* ---- creation.c ---- */

void snapshotter_create(const ExternalSnapshotter *self, Plan *plan);

/* ---- given.c ---- */

/* SNAP-46: asks the driver for a snapshot that it was not told to take. */
void snapshotter_look(const ExternalSnapshotter *self, Plan *plan);

/* ---- status.c ---- */

/* Stores the result of the last step; the sync goes on with it. */
void snapshotter_keep_result(Plan *plan);
/* SNAP-45: writes an error into the status and an Event, unless the status has it already. The plan
 * fails. */
void snapshotter_fail(Plan *plan, const char *error);
/* The driver has answered: writes the status, takes the annotation off, and ends the sync. */
void snapshotter_take_answer(Plan *plan, const SnapshotAnswer *answer);
/* The annotation that CreateSnapshot may be under way. */
gboolean snapshotter_is_creating(const SnapshotContent *content);
void snapshotter_annotate(Plan *plan, gboolean is_creating);

/* ---- deletion.c ---- */

/* SNAP-47. */
void snapshotter_delete(const ExternalSnapshotter *self, Plan *plan);
/* SNAP-42.2. */
void snapshotter_let_go(Plan *plan);

/* ---- external-snapshotter.c ---- */

/* SNAP-71.2: whether it is in this sidecar's lists and watches. */
gboolean snapshotter_sees(const ExternalSnapshotter *self, const SnapshotContent *content);
/* SNAP-43. */
gboolean snapshotter_should_delete(const SnapshotContent *content);
/* SNAP-44. After an error that is not final the driver may still be taking the snapshot. */
gboolean snapshotter_error_is_final(CsiCode code);
