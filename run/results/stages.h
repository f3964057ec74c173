/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "run/scenario/stage.h"
#include "run/world/run.h"
#include "sim/statistics.h"

/* When a pod's start reached each of its points; TIME_UNSET: never. */
typedef struct {
    const ObjectKey *pod;
    unsigned incarnation;
    const char *node; /* NULL: never bound */
    SimTime created, scheduled, attached, staged, published, ready, deleted, gone;
    SimCauseId causes[N_STAGES]; /* of the ends of its stages */
} PodTimes;

typedef struct {
    const ObjectKey *claim;
    unsigned incarnation;
    const ObjectKey *volume; /* NULL: never bound */
    SimTime created, asked, volume_created, bound, deleted, gone;
} ClaimTimes;

typedef struct {
    const ObjectKey *volume;
    unsigned incarnation;
    SimTime provision_started, provision_ended, created, bound, released, gone;
} VolumeTimes;

/* A stage that an object went through, and what brought its end about. */
typedef struct {
    Stage stage;
    const ObjectKey *object;
    unsigned incarnation;
    const char *node; /* detach: from where; else NULL */
    SimTime from, to;
    SimCauseId cause;  /* of what happened at @to */
    SimTime scheduled; /* pod-start: when the pod was bound to a node; else TIME_UNSET */
    SimCauseId scheduled_by;
} StageRecord;

typedef struct {
    SimSample samples[N_STAGES];
    const Run *run;
    GArray *pods, *claims, *volumes; /* stages_pods() and so on */
    GArray *records;                 /* stages_records() */
} Stages;

/* @run: (borrowed): outlives them. Returns: (owned) */
Stages *stages_new(const Run *run);
void stages_free(Stages *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Stages, stages_free)
/* Returns: (borrowed): of StageRecord: the same values as in the samples, in their order within a
 * stage. Made when first asked for where no causes are kept, for they are large. */
const GArray *stages_records(const Stages *self);
/* Returns: (borrowed): of PodTimes, ClaimTimes, VolumeTimes, in the order of creation. Made when
 * first asked for. */
const GArray *stages_pods(const Stages *self);
const GArray *stages_claims(const Stages *self);
const GArray *stages_volumes(const Stages *self);
/* When @stage of this pod began and ended. Returns: FALSE: one of them was not seen */
gboolean pod_times_interval(const PodTimes *times, Stage stage, SimTime *from, SimTime *to);
/* How long @stage of this pod took; TIME_UNSET: not seen. */
SimTime pod_times_stage(const PodTimes *times, Stage stage);
