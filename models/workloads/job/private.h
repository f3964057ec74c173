/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "models/workloads/job/job.h"
#include "models/workloads/pod-events.h"
#include "models/workloads/pod-orders.h"
#include "models/workloads/pods.h"

/* The Job controller's parts: job.c (what it hears and remembers), standing.c (one sync: how
 * the Job stands), sync.c (which pods are made or deleted), tracking.c (counting pods and
 * ending the Job), policies.c (what single failures and successes mean), indexes.c (sets of
 * completion indexes). Kubernetes' pkg/controller/job. */

#define BATCH_PERIOD SIM_SECOND /* WL-81: syncJobBatchPeriod */

/* WL-83: failures since the last success. */
typedef struct {
    int32_t n_failures;
    SimTime failed_at; /* the last one; TIME_UNSET: none */
} JobBackoff;

/* What the controller remembers of a Job between syncs. */
typedef struct {
    Expectations expected;
    GHashTable
        *removals; /* of const ObjectKey: pods whose finalizer it took away, and has not seen go */
    JobBackoff backoff;
    uint64_t n_names; /* that were made up for its pods */
} JobState;

typedef struct {
    Component base;
    Informer *jobs, *pods;
    InformerIndex *pods_by_controller, *orphans;
    Workers *workers, *orphan_workers;
    GHashTable *states;    /* ObjectKey of a Job -> JobState */
    const char *finalizer; /* interned: FINALIZER_JOB_TRACKING */
    const char *index_key; /* interned: INDEX_OF_JOB */
} JobController;

typedef enum {
    JOB_CHANGE_REMOVALS =
        POD_ORDERS_CHANGES_END, /* @pointer: GPtrArray of ObjectKey: their finalizers go */
    JOB_CHANGE_REMOVAL_DROPPED, /* @pointer: ObjectKey of the pod */
    JOB_CHANGE_BACKOFF,         /* @pointer: JobBackoff */
} JobChange;

/* ---- indexes.c ---- */

/* A set of numbers from 0 on: completion indexes of an Indexed Job. All zero: empty. */
typedef struct {
    GArray *bits; /* of gboolean; NULL: none */
    int32_t n;    /* in the set */
} IndexSet;

void index_set_clear(IndexSet *self);
void index_set_add(IndexSet *self, int32_t index); /* a negative one is none */
/* How many are in both. */
int32_t index_set_common(const IndexSet *a, const IndexSet *b);
gboolean index_set_has(const IndexSet *self, int32_t index);
/* Reads "0-2,5"; what lies at or beyond @below is left out. @text: nullable */
void index_set_parse(IndexSet *self, const char *text, int32_t below);
/* As status.completedIndexes has it: two neighbours as "1,2", more as "1-3". Returns: interned;
 * NULL if it is empty */
const char *index_set_format(const IndexSet *self, Strings *strings);
/* The completion index of a pod; -1: it has none. */
int32_t pod_job_index(const Pod *pod);

/* ---- One sync ---- */

typedef enum {
    JOB_GOES_ON,
    JOB_COMPLETES,
    JOB_FAILS,
} JobEnd;

/* What the status is to be. */
typedef struct {
    int32_t active, ready, succeeded, failed, terminating;
    StringList *uncounted_succeeded, *uncounted_failed; /* (owned) */
    const char *completed_indexes, *failed_indexes;
    SimTime started_at, completed_at;
    WorkloadCondition complete, has_failed, suspended, failure_target, success_met;
} JobStatus;

typedef struct {
    const Job *job; /* (owned): as it was when the sync began */
    Claimed claimed;
    GPtrArray *active; /* of const Pod (borrowed from @claimed) */
    IndexSet was_done, done, failed_indexes;
    GHashTable *last_failures; /* per index: const Pod (borrowed) that failed last, of those to be
                                  tried again; NULL: not per index */
    gboolean expectations_met;
    gboolean was_managed; /* pods were made or deleted, or none had to be */
    int32_t n_active, n_ready, n_terminating, n_succeeded, n_failed;
    JobBackoff backoff;
    JobEnd end;
    const char *end_reason, *end_message; /* interned */
    SimTime again_at;  /* when time alone will change something; SIM_TIME_MAX: never */
    const char *error; /* interned: what went wrong with the pods; NULL: nothing */
    PodOrders orders;
    const GPtrArray *ordered; /* of const Pod: deletions or removals, in the order of their plans */
    /* Counting: pods whose finalizer goes, those that lost it, and whether the status has news. */
    GPtrArray *removals; /* of const Pod (borrowed) */
    gboolean needs_flush, is_capped;
    int flush_step; /* of the first write of the status; -1: there was none */
    gboolean is_finished;
    JobStatus status;
} JobSync;

/* ---- job.c ---- */

const JobState *job_state(const JobController *self, const ObjectKey *job);
void job_sync_clear(void *sync);
/* Whether a pod waits to be counted, and its finalizer is not on its way out already. */
gboolean job_pod_is_tracked(const JobController *self, const JobState *state, const Pod *pod);
/* WL-86: over, or as good as that. */
gboolean job_pod_has_failed(const Job *job, const Pod *pod);

/* ---- standing.c ---- */

/* Counts the pods that are at work, and those that have ended since; finds whether the Job ends,
 * and what else time will change. */
void job_look(const JobController *self, const JobState *state, JobSync *sync, SimTime now);
/* @message: copied */
void job_set_end(
    const JobController *self, JobSync *sync, JobEnd end, const char *reason, const char *message);
gboolean job_has_index(const Job *job, int32_t index);
/* When a pod ended, as far as it tells. */
SimTime job_pod_finished_at(const Pod *pod);

/* ---- policies.c ---- */

/* JOB-1: backoffLimitPerIndex is given. */
static inline gboolean
job_is_per_index(const Job *job)
{
    return job->indexed && job->backoff_limit_per_index >= 0;
}
/* Finds which indexes have failed, and which failed pods wait for a successor. Active pods and
 * successes are known. */
void job_look_at_indexes(const JobController *self, const JobState *state, JobSync *sync);
/* Of an index that is to be tried again; NULL: none */
const Pod *job_last_failure(const JobSync *sync, int32_t index);
/* When the next pod of an index may be made. */
SimTime job_index_may_begin_at(const JobSync *sync, int32_t index);
/* Notes in a new pod how often its index has failed. */
void job_count_index_failures(const JobSync *sync, int32_t index, Object *pod, Strings *strings);
/* JOB-2: whether a failed pod counts towards the limits. */
gboolean job_failure_counts(const Job *job, const Pod *pod);
/* Returns: interned: why a failure ends the Job; NULL: none does */
const char *job_failure_message(const JobSync *sync, Strings *strings);
/* JOB-3. Returns: the first rule of the success policy that is met; -1: none */
int job_success_rule(const JobSync *sync);

/* ---- sync.c ---- */

/* WL-83. Returns: when a pod may be made; INT64_MIN: at once */
SimTime job_backoff_ends_at(const JobBackoff *backoff);

void job_sync_decide(const void *self, Plan *plan);
/* Side by side: each of @pods (of const Pod) loses its finalizer if @release, and is deleted if
 * @delete. */
void job_plan_pods(const JobController *self,
                   Plan *plan,
                   JobSync *sync,
                   const GPtrArray *pods,
                   gboolean release,
                   gboolean delete);

/* ---- tracking.c ---- */

/* Pods are ordered: counts those that are over, ends the Job if it is to end, and writes its
 * status. */
void job_plan_tracking(const JobController *self, Plan *plan, JobSync *sync);

/* ---- What it decides by ---- */

extern const RuleTable job_end_rules;    /* standing.c */
extern const RuleTable job_manage_rules; /* sync.c: WL-82 */
extern const RuleTable job_index_rules;  /* policies.c: JOB-1, JOB-2 */
extern const RuleTable job_count_rules;  /* tracking.c: WL-84 */
extern const RuleTable job_orphan_rules; /* job.c: WL-84 */
