/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "models/workloads/job/job.h"
#include "models/workloads/owner-controller.h"
#include "models/workloads/pod-orders.h"
#include "models/workloads/pods.h"

/* The parts of the Job controller, Kubernetes' pkg/controller/job: job.c (handlers, state),
 * standing.c (the state of a Job in one sync), sync.c (which pods are made or deleted), tracking.c
 * (counts pods and ends the Job), policies.c (single failures and successes), indexes.c (sets of
 * completion indexes). */

#define BATCH_PERIOD SIM_SECOND /* WL-81: syncJobBatchPeriod */

/* WL-83: failures since the last success. */
typedef struct {
    int32_t n_failures;
    SimTime failed_at; /* the last failure; TIME_UNSET: none */
} JobBackoff;

/* What the controller remembers of a Job between syncs. */
typedef struct {
    OwnerState base;
    GHashTable *removals; /* of const ObjectKey: pods whose finalizer it has removed, but the watch
                             has not shown that yet */
    JobBackoff backoff;
} JobState;

typedef struct {
    OwnerController head; /* with JobStates */
    Workers *orphan_workers;
    const char *finalizer; /* interned: FINALIZER_JOB_TRACKING */
    const char *index_key; /* interned: INDEX_OF_JOB */
} JobController;

typedef enum {
    JOB_CHANGE_REMOVALS = POD_ORDERS_CHANGES_END, /* @pointer: GPtrArray of ObjectKey: pods that
                                                     lose their finalizer */
    JOB_CHANGE_REMOVAL_DROPPED,                   /* @pointer: ObjectKey of the pod */
    JOB_CHANGE_BACKOFF,                           /* @pointer: JobBackoff */
} JobChange;

/* ---- indexes.c ---- */

/* A set of completion indexes of an Indexed Job. All zero: empty. */
typedef struct {
    GArray *bits; /* of gboolean; NULL: none */
    int32_t n;    /* in the set */
} IndexSet;

void index_set_clear(IndexSet *self);
void index_set_add(IndexSet *self, int32_t index); /* ignores negative ones */
/* The number of indexes in both. */
int32_t index_set_common(const IndexSet *a, const IndexSet *b);
gboolean index_set_has(const IndexSet *self, int32_t index);
/* Adds the indexes of a text such as "0-2,5", except for indexes from @below on. @text: nullable */
void index_set_parse(IndexSet *self, const char *text, int32_t below);
/* The format of status.completedIndexes: "1,2" for two neighbours, "1-3" for more. Returns:
 * interned; NULL if the set is empty */
const char *index_set_format(const IndexSet *self, Strings *strings);
/* The completion index of a pod; -1: it has none. */
int32_t pod_job_index(const Pod *pod);

/* ---- One sync ---- */

typedef enum {
    JOB_GOES_ON,
    JOB_COMPLETES,
    JOB_FAILS,
} JobEnd;

/* The status to be written. */
typedef struct {
    int32_t active, ready, succeeded, failed, terminating;
    StringList *uncounted_succeeded, *uncounted_failed; /* (owned) */
    const char *completed_indexes, *failed_indexes;
    SimTime started_at, completed_at;
    WorkloadCondition complete, has_failed, suspended, failure_target, success_met;
} JobStatus;

typedef struct {
    const Job *job; /* (owned): as it was at the beginning of the sync */
    Claimed claimed;
    GPtrArray *active; /* of const Pod (borrowed from @claimed) */
    IndexSet was_done, done, failed_indexes;
    GHashTable *last_failures; /* by index: const Pod (borrowed): the last failed pod of each index
                                  that is tried again; NULL: not per index */
    gboolean expectations_met;
    gboolean was_managed; /* pods were made or deleted, or none had to be */
    int32_t n_active, n_ready, n_terminating, n_succeeded, n_failed;
    JobBackoff backoff;
    JobEnd end;
    const char *end_reason, *end_message; /* interned */
    SimTime again_at;  /* the next time at which something changes without an event; SIM_TIME_MAX:
                          never */
    const char *error; /* interned: the error of a pod's creation or deletion; NULL: none */
    PodOrders orders;
    const GPtrArray *ordered; /* of const Pod: deletions or removals, in the order of their plans */
    /* Counting: pods that lose their finalizer, and whether the status has changed. */
    GPtrArray *removals; /* of const Pod (borrowed) */
    gboolean needs_flush, is_capped;
    int flush_step; /* the first write of the status; -1: there was none */
    gboolean is_finished;
    JobStatus status;
} JobSync;

/* ---- job.c ---- */

const JobState *job_state(const JobController *self, const ObjectKey *job);
/* Whether a pod has its finalizer, and the controller has not removed it yet. */
gboolean job_pod_is_tracked(const JobController *self, const JobState *state, const Pod *pod);
/* WL-86: whether a pod counts as failed. */
gboolean job_pod_has_failed(const Job *job, const Pod *pod);

/* ---- standing.c ---- */

/* Counts active pods and newly finished pods; finds whether the Job ends, and when to look again.
 * */
void job_look(const JobController *self, const JobState *state, JobSync *sync, SimTime now);
/* @message: copied */
void job_set_end(
    const JobController *self, JobSync *sync, JobEnd end, const char *reason, const char *message);
gboolean job_has_index(const Job *job, int32_t index);
/* The time at which a pod ended, by what its object tells. */
SimTime job_pod_finished_at(const Pod *pod);

/* ---- policies.c ---- */

/* JOB-1: backoffLimitPerIndex is given. */
static inline gboolean
job_is_per_index(const Job *job)
{
    return job->indexed && job->backoff_limit_per_index >= 0;
}
/* Finds the failed indexes, and the failed pods that wait for a successor. To be called after
 * active pods and successes are counted. */
void job_look_at_indexes(const JobController *self, const JobState *state, JobSync *sync);
/* The last failed pod of an index that is tried again. NULL: none */
const Pod *job_last_failure(const JobSync *sync, int32_t index);
/* The time from which on the next pod of an index may be made. */
SimTime job_index_may_begin_at(const JobSync *sync, int32_t index);
/* Writes the number of failures of its index into the annotations of a new pod. */
void job_count_index_failures(const JobSync *sync, int32_t index, Object *pod, Strings *strings);
/* JOB-2: whether a failed pod counts towards the limits. */
gboolean job_failure_counts(const Job *job, const Pod *pod);
/* Returns: interned: the message of the failure that ends the Job; NULL: there is none */
const char *job_failure_message(const JobSync *sync, Strings *strings);
/* JOB-3. Returns: the first rule of the success policy that is met; -1: none */
int job_success_rule(const JobSync *sync);

/* ---- sync.c ---- */

/* WL-83. Returns: the time from which on a pod may be made; INT64_MIN: at once */
SimTime job_backoff_ends_at(const JobBackoff *backoff);

void job_sync_decide(const void *self, Plan *plan);
/* Removes the finalizers of @pods (of const Pod) if @release, and deletes the pods if @delete; all
 * side by side. */
void job_plan_pods(const JobController *self,
                   Plan *plan,
                   JobSync *sync,
                   const GPtrArray *pods,
                   gboolean release,
                   gboolean delete);

/* ---- tracking.c ---- */

/* The second half of a sync, after pods were ordered: counts finished pods, ends the Job if it is
 * to end, and writes its status. */
void job_plan_tracking(const JobController *self, Plan *plan, JobSync *sync);

/* ---- Tables ---- */

extern const RuleTable job_end_rules;    /* standing.c */
extern const RuleTable job_manage_rules; /* sync.c: WL-82 */
extern const RuleTable job_index_rules;  /* policies.c: JOB-1, JOB-2 */
extern const RuleTable job_count_rules;  /* tracking.c: WL-84 */
extern const RuleTable job_orphan_rules; /* job.c: WL-84 */
