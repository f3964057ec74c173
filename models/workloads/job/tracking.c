/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Counts a Job's pods: each finished pod is named in the status, loses its finalizer, and is
 * counted, in this order, so that no pod is lost or counted twice (WL-84). Then the Job may end.
 * trackJobStatusAndRemoveFinalizers() of job_controller.go. */
#include "models/workloads/job/private.h"
#include "sim/order.h"

#define UNCOUNTED_MAX 500 /* WL-84: MaxUncountedPods */

static const char *
pod_uid(const JobController *self, const Pod *pod)
{
    char uid[OBJECT_UID_BUFFER];

    return strings_intern(self->head.base.strings, object_uid_format(pod->meta.uid, uid));
}

/* ---- The status ---- */

static void
take_list(StringList **field, const StringList *value)
{
    StringList *old = *field;

    *field = string_list_ref(value);
    string_list_unref(old);
}

static gboolean
tracking_edit_status(Object *object, const void *data)
{
    const JobStatus *status = data;
    g_autoptr(Object) before = object_edit(object);
    Job *job = JOB(object);

    job->active = status->active;
    job->ready = status->ready;
    job->succeeded = status->succeeded;
    job->failed = status->failed;
    job->terminating = status->terminating;
    job->completed_indexes = status->completed_indexes;
    job->failed_indexes = status->failed_indexes;
    job->started_at = status->started_at;
    job->completed_at = status->completed_at;
    take_list(&job->uncounted_succeeded, status->uncounted_succeeded);
    take_list(&job->uncounted_failed, status->uncounted_failed);
    job->complete = status->complete;
    job->has_failed = status->has_failed;
    job->suspended = status->suspended;
    job->failure_target = status->failure_target;
    job->success_met = status->success_met;
    return !object_equal(before, object);
}

static WorkloadCondition
end_condition(const JobSync *sync, SimTime now)
{
    return (WorkloadCondition){sync->end_reason, sync->end_message, whole_seconds(now), TIME_UNSET,
                               CONDITION_TRUE};
}

/* ---- The end ---- */

/* WL-89: a Job does not end as long as a pod is to be counted or is being deleted. Returns: whether
 * the status has changed */
static gboolean
end_if_due(JobSync *sync, SimTime now)
{
    JobStatus *status = &sync->status;

    if (sync->end == JOB_GOES_ON || sync->is_capped || status->uncounted_succeeded != NULL ||
        status->uncounted_failed != NULL || status->terminating > 0)
        return FALSE;
    if (sync->end == JOB_COMPLETES) {
        status->complete = end_condition(sync, now);
        status->completed_at = whole_seconds(now);
    } else {
        status->has_failed = end_condition(sync, now);
    }
    sync->is_finished = TRUE;
    return TRUE;
}

static void
plan_end_events(Plan *plan, const JobSync *sync)
{
    const Job *job = sync->job;

    if (!sync->is_finished)
        return;
    plan_because(plan, "WL-89");
    if (sync->end == JOB_FAILS) {
        plan_event(plan, &job->meta, "Warning", sync->end_reason, "%s", sync->end_message);
        return;
    }
    if (job->completions >= 0 && sync->status.succeeded > job->completions)
        plan_event(plan, &job->meta, "Warning", "TooManySucceededPods",
                   "Too many succeeded pods running after completion count reached");
    plan_event(plan, &job->meta, "Normal", "Completed", "Job completed");
}

static void
plan_end_of_sync(Plan *plan, const JobSync *sync)
{
    if (sync->error != NULL)
        plan_fail(plan, "%s", sync->error);
    else if (!sync->is_finished && sync->again_at != SIM_TIME_MAX)
        plan_requeue_after(plan, MAX(sync->again_at - plan_now(plan), 0));
}

static void
decide_end_of_sync(const void *data, Plan *plan)
{
    const JobSync *sync = plan_notes(plan);

    (void)data;
    plan_end_events(plan, sync);
    plan_end_of_sync(plan, sync);
}

/* ---- Counting ---- */

/* Counts the named pods that have lost their finalizer, and removes their names. Returns: whether
 * there are any */
static gboolean
count_released(StringList **names, int32_t *count, GHashTable *tracked)
{
    const StringList *list = *names;
    g_autofree const char **left = list == NULL ? NULL : g_new(const char *, list->n_items);
    unsigned n = 0, n_before = list == NULL ? 0 : list->n_items;

    for (unsigned i = 0; i < n_before; i++)
        if (g_hash_table_contains(tracked, list->items[i]))
            left[n++] = list->items[i];
    if (n == n_before)
        return FALSE;
    *count += (int32_t)(n_before - n);
    string_list_unref(*names);
    *names = n == 0 ? NULL : string_list_new(left, n);
    return TRUE;
}

/* Uids of the pods that still have their finalizer. @released: (nullable): of const Pod: pods that
 * lost it in this sync. Returns: (owned) */
static GHashTable *
tracked_uids(const JobController *self, const JobSync *sync, GHashTable *released)
{
    GHashTable *tracked = g_hash_table_new(g_direct_hash, g_direct_equal);
    const JobState *state = job_state(self, sync->job->meta.key);

    for (unsigned i = 0; state != NULL && i < sync->claimed.owned->len; i++) {
        const Pod *pod = sync->claimed.owned->pdata[i];
        /* The state already counts the removals of this sync as done, but they may have failed. */
        gboolean was_tracked =
            job_pod_is_tracked(self, state, pod) || g_ptr_array_find(sync->removals, pod, NULL);
        if (was_tracked && (released == NULL || !g_hash_table_contains(released, pod)))
            g_hash_table_add(tracked, (void *)pod_uid(self, pod));
    }
    return tracked;
}

static gboolean
count_all_released(const JobController *self, JobSync *sync, GHashTable *released)
{
    g_autoptr(GHashTable) tracked = tracked_uids(self, sync, released);
    JobStatus *status = &sync->status;
    gboolean succeeded = count_released(&status->uncounted_succeeded, &status->succeeded, tracked);

    return count_released(&status->uncounted_failed, &status->failed, tracked) || succeeded;
}

static void
name_uncounted(StringList **names, const char *uid)
{
    StringList *old = *names;

    *names = string_list_with(old, uid);
    string_list_unref(old);
}

enum {
    ENDING = 1 << 0, /* the Job ends, or is being deleted */
    SUCCEEDED = 1 << 1,
    FAILURE = 1 << 2, /* the pod has failed, or the Job does */
    AWAITED = 1 << 3, /* the last failed pod of its index: its successor takes over its count */
    INDEXED = 1 << 4,
    VALID = 1 << 5,         /* it has an index of the Job, or the Job is not Indexed */
    DONE = 1 << 6,          /* status.completedIndexes has its index */
    NAMED_SUCCESS = 1 << 7, /* the status names it */
    NAMED_FAILURE = 1 << 8,
    COUNTS = 1 << 9, /* JOB-2: towards the limits */
    COUNT_FACTS_END = 1 << 10,
};

typedef enum {
    COUNT_LATER,
    COUNT_SILENTLY, /* it loses its finalizer, and the status need not name it */
    COUNT_INDEX,    /* the same, and the status gets its index */
    COUNT_SUCCESS,  /* the status names it first */
    COUNT_FAILURE,
} TrackingCountAction;

/* A pod that has its finalizer. */
static const Rule count_table[] = {
    {"WL-84", 0,                                  ENDING | SUCCEEDED | FAILURE,                 COUNT_LATER   },
    {"WL-84", ENDING,                             SUCCEEDED | FAILURE,                          COUNT_SILENTLY},
    {"WL-84", SUCCEEDED | NAMED_FAILURE,          0,                                            COUNT_SILENTLY},
    {"WL-84", SUCCEEDED | INDEXED | VALID,        NAMED_FAILURE | DONE,                         COUNT_INDEX   },
    {"WL-84", SUCCEEDED | INDEXED | VALID | DONE, NAMED_FAILURE,                                COUNT_SILENTLY},
    {"WL-84", SUCCEEDED | INDEXED,                NAMED_FAILURE | VALID,                        COUNT_SILENTLY},
    {"WL-84", SUCCEEDED,                          NAMED_FAILURE | INDEXED | NAMED_SUCCESS,      COUNT_SUCCESS },
    {"WL-84", SUCCEEDED | NAMED_SUCCESS,          NAMED_FAILURE | INDEXED,                      COUNT_SILENTLY},
    {"JOB-1", FAILURE | AWAITED,                  SUCCEEDED,                                    COUNT_LATER   },
    {"WL-84", FAILURE | NAMED_FAILURE,            SUCCEEDED | AWAITED,                          COUNT_SILENTLY},
    {"WL-84", FAILURE,                            SUCCEEDED | AWAITED | NAMED_FAILURE | VALID,  COUNT_SILENTLY},
    {"JOB-2", FAILURE | VALID,                    SUCCEEDED | AWAITED | NAMED_FAILURE | COUNTS, COUNT_SILENTLY},
    {"WL-84", FAILURE | VALID | COUNTS,           SUCCEEDED | AWAITED | NAMED_FAILURE,          COUNT_FAILURE },
};

static const RuleBound count_bounds[] = {
    {.given = AWAITED, .none = ENDING},
};

const RuleTable job_count_rules =
    RULE_TABLE("finished pods of Jobs", COUNT_FACTS_END, count_table, RULE_BOUNDS(count_bounds));

static unsigned
count_facts(const JobSync *sync, const Pod *pod, const char *uid)
{
    const Job *job = sync->job;
    int32_t index = job->indexed ? pod_job_index(pod) : -1;
    unsigned facts = (job->indexed ? INDEXED : 0) | (pod->phase == POD_SUCCEEDED ? SUCCEEDED : 0) |
                     (!job->indexed || job_has_index(job, index) ? VALID : 0) |
                     (index_set_has(&sync->was_done, index) ? DONE : 0) |
                     (string_list_has(job->uncounted_succeeded, uid) ? NAMED_SUCCESS : 0) |
                     (string_list_has(job->uncounted_failed, uid) ? NAMED_FAILURE : 0);

    if (object_is_deleted(&job->meta) || sync->end != JOB_GOES_ON)
        facts |= ENDING;
    else if (job_last_failure(sync, index) == pod)
        facts |= AWAITED;
    if (job_pod_has_failed(job, pod) || sync->end == JOB_FAILS)
        facts |= FAILURE | (job_failure_counts(job, pod) ? COUNTS : 0);
    return facts;
}

/* Names the pod in the status if that is necessary. Returns: whether it loses its finalizer */
static gboolean
name_pod(const JobController *self, JobSync *sync, const Pod *pod)
{
    const char *uid = pod_uid(self, pod);
    unsigned facts = count_facts(sync, pod, uid);

    switch ((TrackingCountAction)rules_find(&job_count_rules, facts, NULL)->then) {
    case COUNT_LATER:
        return FALSE;
    case COUNT_SILENTLY:
        return TRUE;
    case COUNT_INDEX:
        break;
    case COUNT_SUCCESS:
        name_uncounted(&sync->status.uncounted_succeeded, uid);
        break;
    case COUNT_FAILURE:
        name_uncounted(&sync->status.uncounted_failed, uid);
        break;
    }
    sync->needs_flush = TRUE;
    return TRUE;
}

static unsigned
count_names(const JobSync *sync)
{
    const JobStatus *status = &sync->status;

    return (status->uncounted_succeeded == NULL ? 0 : status->uncounted_succeeded->n_items) +
           (status->uncounted_failed == NULL ? 0 : status->uncounted_failed->n_items) +
           (unsigned)MAX(sync->done.n - sync->was_done.n, 0);
}

static int
by_index(const void *a, const void *b)
{
    int32_t x = pod_job_index(*(const Pod *const *)a), y = pod_job_index(*(const Pod *const *)b);

    return ORDER(x, y);
}

static void
look_at_removals(const JobController *self, JobSync *sync)
{
    const JobState *state = job_state(self, sync->job->meta.key);
    g_autoptr(GPtrArray) pods = g_ptr_array_copy(sync->claimed.owned, NULL, NULL);

    g_ptr_array_set_free_func(pods, NULL); /* the array that was copied keeps the references */
    if (sync->job->indexed)
        g_ptr_array_sort(pods, by_index);
    for (unsigned i = 0; state != NULL && i < pods->len && !sync->is_capped; i++) {
        const Pod *pod = pods->pdata[i];
        if (!job_pod_is_tracked(self, state, pod) || !name_pod(self, sync, pod))
            continue;
        g_ptr_array_add(sync->removals, (Pod *)pod);
        sync->is_capped = count_names(sync) >= UNCOUNTED_MAX;
    }
}

/* WL-89: this condition is written before any pod loses its finalizer. */
static void
announce_end(JobSync *sync, SimTime now)
{
    JobStatus *status = &sync->status;
    WorkloadCondition *condition = sync->end == JOB_COMPLETES ? &status->success_met
                                   : sync->end == JOB_FAILS   ? &status->failure_target
                                                              : NULL;

    if (condition == NULL || condition->status == CONDITION_TRUE)
        return;
    *condition = end_condition(sync, now);
    sync->needs_flush = TRUE;
}

static void
count_indexes(const JobController *self, JobSync *sync)
{
    const char *text = index_set_format(&sync->done, self->head.base.strings);

    if (!sync->job->indexed)
        return;
    sync->needs_flush |= text != sync->job->completed_indexes;
    sync->status.completed_indexes = text;
    sync->status.succeeded = sync->done.n;
    if (!job_is_per_index(sync->job))
        return;
    const char *failed = index_set_format(&sync->failed_indexes, self->head.base.strings);
    if (failed == NULL)
        failed = strings_intern(self->head.base.strings, "");
    sync->needs_flush |= failed != sync->job->failed_indexes;
    sync->status.failed_indexes = failed;
}

/* ---- The steps ---- */

static void
plan_last_flush(Plan *plan, JobSync *sync, gboolean has_news)
{
    if (end_if_due(sync, plan_now(plan)))
        has_news = TRUE;
    if (!has_news) {
        plan_end_of_sync(plan, sync);
        return;
    }
    plan_because(plan, sync->is_finished ? "WL-89" : "WL-84");
    if (sync->flush_step < 0)
        plan_update_status(plan, &sync->job->meta, tracking_edit_status, &sync->status, PLAN_STOP);
    else
        plan_update_result_status(plan, sync->flush_step, tracking_edit_status, &sync->status,
                                  PLAN_STOP);
    plan_then(plan, decide_end_of_sync);
}

/* A pod whose finalizer could not be removed stays named in the status. */
static void
decide_after_removals(const void *data, Plan *plan)
{
    JobSync *sync = plan_notes(plan);
    g_autoptr(GHashTable) released = g_hash_table_new(g_direct_hash, g_direct_equal);

    if (plan_has_failed(plan)) {
        sync->error = plan_last_message(plan);
        sync->end = JOB_GOES_ON;
    }
    for (unsigned i = 0; i < sync->removals->len; i++)
        if (plan_gathered_well(plan, sync->orders.first_step, i))
            g_hash_table_add(released, sync->removals->pdata[i]);
    plan_last_flush(plan, sync, count_all_released(data, sync, released));
}

static void
plan_removals(const JobController *self, Plan *plan, JobSync *sync)
{
    plan_because(plan, "WL-84");
    plan_change_pods(plan, JOB_CHANGE_REMOVALS, sync->job->meta.key, sync->removals);
    job_plan_pods(self, plan, sync, sync->removals, TRUE, FALSE);
    plan_then(plan, decide_after_removals);
}

/* The status names the pods: now they may lose their finalizers. */
static void
decide_after_flush(const void *data, Plan *plan)
{
    JobSync *sync = plan_notes(plan);

    if (sync->flush_step >= 0) {
        plan_because(plan, "WL-83");
        plan_change(plan, &(PlanChange){.what = JOB_CHANGE_BACKOFF,
                                        .key = sync->job->meta.key,
                                        .pointer = &sync->backoff});
    }
    if (sync->removals->len > 0)
        plan_removals(data, plan, sync);
    else
        plan_last_flush(plan, sync, FALSE);
}

void
job_plan_tracking(const JobController *self, Plan *plan, JobSync *sync)
{
    const Job *job = sync->job;
    JobStatus *status = &sync->status;

    sync->removals = g_ptr_array_new();
    status->active = sync->n_active;
    status->ready = sync->n_ready;
    status->terminating = sync->n_terminating;
    sync->needs_flush |= status->active != job->active || status->ready != job->ready ||
                         status->terminating != job->terminating;
    sync->needs_flush |= count_all_released(self, sync, NULL);
    look_at_removals(self, sync);
    count_indexes(self, sync);
    announce_end(sync, plan_now(plan));
    if (!sync->needs_flush) {
        decide_after_flush(self, plan);
        return;
    }
    plan_because(plan, "WL-84");
    sync->flush_step =
        plan_update_status(plan, &job->meta, tracking_edit_status, status, PLAN_STOP);
    plan_then(plan, decide_after_flush);
}
