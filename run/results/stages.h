/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "run/scenario/stage.h"
#include "run/world/run.h"
#include "sim/statistics.h"

/* The times at which a pod's start reached its points; TIME_UNSET: never. */
typedef struct {
    const ObjectKey *pod;
    unsigned incarnation;
    const char *node; /* NULL: never bound */
    SimTime created, scheduled, attached, staged, published, pulled, ready, deleted, gone;
    SimCauseId causes[N_STAGES]; /* of the ends of its stages */
} PodTimes;

typedef struct {
    const ObjectKey *claim;
    unsigned incarnation;
    const ObjectKey *volume; /* NULL: never bound */
    gboolean is_restored;    /* it has a source: its end is one of restore, not of bind */
    SimTime created, asked, volume_created, bound, deleted, gone;
} ClaimTimes;

typedef struct {
    const ObjectKey *volume;
    unsigned incarnation;
    SimTime provision_started, provision_ended, created, bound, released, gone;
} VolumeTimes;

typedef struct {
    const ObjectKey *snapshot;
    unsigned incarnation;
    SimTime created, content_created, taken, ready, deleted, gone;
} SnapshotTimes;

/* A stage of an object, and the cause of its end. */
typedef struct {
    const ObjectKey *object;
    const char *node; /* of detach: the node; otherwise NULL */
    SimTime from, to;
    SimTime scheduled; /* of pod-start: when the pod was bound to a node; otherwise TIME_UNSET */
    SimCauseId scheduled_by;
    SimCauseId cause; /* of the event at @to */
    Stage stage;
    unsigned incarnation;
} StageRecord;

typedef struct AttributionSums AttributionSums;

/* An object that has begun a stage and not ended it. */
typedef struct {
    const ObjectKey *object;
    unsigned incarnation;
    SimTime from, until; /* until its deletion was asked for, or the end of the run */
} Unfinished;

typedef struct {
    SimSample samples[N_STAGES];
    GArray *unfinished[N_STAGES]; /* of Unfinished: of the stages of whole objects only */
    GArray *slowest; /* of StageRecord: some pods that took longest to start, the slowest first */
    AttributionSums *sums; /* of all stages; NULL: the run kept no log of causes */
    const Run *run;
    GArray *pods, *claims, *volumes, *snapshots; /* see stages_pods() and the like */
    GArray *records;                             /* see stages_records() */
} Stages;

#define STAGES_SLOWEST 10

/* @run: (borrowed): outlives the stages. Returns: (owned) */
Stages *stages_new(const Run *run);
void stages_free(Stages *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Stages, stages_free)
/* Returns: (borrowed): of StageRecord: the values of the samples, in their order within a stage.
 * Large: made at the first call. */
const GArray *stages_records(const Stages *self);
/* The same records, one after the other; no record is kept. */
typedef void (*StageRecordTaker)(void *data, const StageRecord *record);
void stages_each(const Stages *self, StageRecordTaker take, void *data);
/* Returns: (borrowed): of PodTimes, ClaimTimes, VolumeTimes, SnapshotTimes, in order of creation.
 * Made at the first call. */
const GArray *stages_pods(const Stages *self);
const GArray *stages_claims(const Stages *self);
const GArray *stages_volumes(const Stages *self);
const GArray *stages_snapshots(const Stages *self);
/* @from, @to: (out): start and end of a pod's @stage. Returns: FALSE if one was not seen */
gboolean pod_times_interval(const PodTimes *times, Stage stage, SimTime *from, SimTime *to);
/* Returns: the length of a pod's @stage; TIME_UNSET if it was not seen */
SimTime pod_times_stage(const PodTimes *times, Stage stage);
