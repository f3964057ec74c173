/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/workloads/job/private.h"

/* How a Job stands: its pods, its failures and successes, and whether it ends. All of it is pure
 * but for what it writes into the sync. The first half of syncJob() in job_controller.go. */

gboolean
job_pod_has_failed(const Job *job, const Pod *pod)
{
    if (pod->phase == POD_FAILED)
        return TRUE;
    return !job_replaces_only_failed(job) && object_is_deleted(&pod->meta) &&
           pod->phase != POD_SUCCEEDED;
}

gboolean
job_has_index(const Job *job, int32_t index)
{
    return index >= 0 && index < job->completions;
}

SimTime
job_pod_finished_at(const Pod *pod)
{
    if (pod->ready.status == CONDITION_FALSE && pod->ready.changed_at != TIME_UNSET)
        return whole_seconds(pod->ready.changed_at);
    if (object_is_deleted(&pod->meta))
        return pod->meta.deleted_at - MAX(pod->meta.deletion_grace_s, 0) * SIM_SECOND;
    return pod->meta.created_at;
}

/* WL-83: failures since the last success. Those of before count only if nothing has succeeded
 * since. */
static JobBackoff
count_failures(const JobBackoff *before, const GPtrArray *succeeded, const GPtrArray *failed)
{
    JobBackoff now = {0, TIME_UNSET};
    SimTime last_success = INT64_MIN;

    if (succeeded->len == 0)
        now = *before;
    for (unsigned i = 0; i < succeeded->len; i++)
        last_success = MAX(last_success, job_pod_finished_at(succeeded->pdata[i]));
    for (unsigned i = 0; i < failed->len; i++) {
        SimTime at = job_pod_finished_at(failed->pdata[i]);
        if (succeeded->len > 0 && at <= last_success)
            continue;
        now.n_failures++;
        now.failed_at = now.failed_at == TIME_UNSET ? at : MAX(now.failed_at, at);
    }
    return now;
}

/* Pods that are over and are in no count yet. */
static void
look_at_finished(const JobController *self, const JobState *state, JobSync *sync)
{
    const Job *job = sync->job;
    g_autoptr(GPtrArray) succeeded = g_ptr_array_new(), failed = g_ptr_array_new();
    int32_t n_ignored = 0;
    char uid[OBJECT_UID_BUFFER];

    for (unsigned i = 0; i < sync->claimed.owned->len; i++) {
        const Pod *pod = sync->claimed.owned->pdata[i];
        const char *text = object_uid_format(pod->meta.uid, uid);
        if (!job_pod_is_tracked(self, state, pod) ||
            (job->indexed && !job_has_index(job, pod_job_index(pod))))
            continue;
        if (pod->phase == POD_SUCCEEDED && !string_list_has(job->uncounted_succeeded, text))
            g_ptr_array_add(succeeded, (Pod *)pod);
        if (job_pod_has_failed(job, pod) && !string_list_has(job->uncounted_failed, text)) {
            g_ptr_array_add(failed, (Pod *)pod);
            n_ignored += !job_failure_counts(job, pod); /* JOB-2 */
        }
        if (job->indexed && pod->phase == POD_SUCCEEDED)
            index_set_add(&sync->done, pod_job_index(pod));
    }
    sync->n_succeeded =
        job->succeeded + (int32_t)succeeded->len +
        (int32_t)(job->uncounted_succeeded == NULL ? 0 : job->uncounted_succeeded->n_items);
    sync->n_failed = job->failed + (int32_t)failed->len - n_ignored +
                     (int32_t)(job->uncounted_failed == NULL ? 0 : job->uncounted_failed->n_items);
    if (job->indexed)
        sync->n_succeeded = sync->done.n;
    sync->backoff = count_failures(&state->backoff, succeeded, failed);
}

static void
look_at_pods(JobSync *sync)
{
    sync->active = g_ptr_array_new();
    for (unsigned i = 0; i < sync->claimed.owned->len; i++) {
        const Pod *pod = sync->claimed.owned->pdata[i];
        if (pod_is_active(pod)) {
            g_ptr_array_add(sync->active, (Pod *)pod);
            sync->n_ready += pod_is_ready(pod);
        } else if (!pod_is_terminal(pod)) {
            sync->n_terminating++;
        }
    }
    sync->n_active = (int32_t)sync->active->len;
}

/* WL-83: with OnFailure restarts count as failures do. */
static gboolean
restarts_exceed_limit(const JobSync *sync)
{
    const Job *job = sync->job;
    int64_t restarts = 0;

    if (!g_str_equal(job->template->spec->restart_policy, "OnFailure"))
        return FALSE;
    for (unsigned i = 0; i < sync->claimed.owned->len; i++) {
        const Pod *pod = sync->claimed.owned->pdata[i];
        if (pod->phase == POD_RUNNING || pod->phase == POD_PENDING)
            restarts += pod->restarts;
    }
    return job->backoff_limit == 0 ? restarts > 0 : restarts >= job->backoff_limit;
}

void
job_set_end(
    const JobController *self, JobSync *sync, JobEnd end, const char *reason, const char *message)
{
    sync->end = end;
    sync->end_reason = strings_intern(self->base.strings, reason);
    sync->end_message = strings_intern(self->base.strings, message);
}

/* The limits of failures and of time. */
static void
look_at_limits(const JobController *self, JobSync *sync, SimTime now)
{
    const Job *job = sync->job;

    if (sync->n_failed > job->backoff_limit || restarts_exceed_limit(sync)) {
        job_set_end(self, sync, JOB_FAILS, "BackoffLimitExceeded",
                    "Job has reached the specified backoff limit");
    } else if (job->active_deadline_s >= 0 && !job->suspend) {
        SimTime ends_at =
            sim_time_add(sync->status.started_at, job->active_deadline_s * SIM_SECOND);
        if (now >= ends_at && job->started_at != TIME_UNSET)
            job_set_end(self, sync, JOB_FAILS, "DeadlineExceeded",
                        "Job was active longer than specified deadline");
        else
            sync->again_at = MIN(sync->again_at, ends_at);
    }
}

/* JOB-1: too many indexes have failed, or all have ended and some of them so. */
static void
look_at_indexes(const JobController *self, JobSync *sync)
{
    const Job *job = sync->job;
    int32_t n_failed = sync->failed_indexes.n;

    if (!job_is_per_index(job))
        return;
    if (job->max_failed_indexes >= 0 && n_failed > job->max_failed_indexes)
        job_set_end(self, sync, JOB_FAILS, "MaxFailedIndexesExceeded",
                    "Job has exceeded the specified maximal number of failed indexes");
    else if (n_failed > 0 && n_failed + sync->done.n >= job->completions)
        job_set_end(self, sync, JOB_FAILS, "FailedIndexes", "Job has failed indexes");
}

/* JOB-3. */
static void
look_at_success(const JobController *self, JobSync *sync)
{
    int rule = sync->job->indexed ? job_success_rule(sync) : -1;

    if (rule >= 0)
        job_set_end(self, sync, JOB_COMPLETES, "SuccessPolicy",
                    strings_internf(self->base.strings, "Matched rules at index %d", rule));
}

/* What was decided before stands; else the first of these that is so. */
static void
look_at_end(const JobController *self, JobSync *sync, SimTime now)
{
    const Job *job = sync->job;
    const char *message;

    if (job->success_met.status == CONDITION_TRUE)
        job_set_end(self, sync, JOB_COMPLETES, job->success_met.reason, job->success_met.message);
    else if (job->failure_target.status == CONDITION_TRUE)
        job_set_end(self, sync, JOB_FAILS, job->failure_target.reason, job->failure_target.message);
    else if ((message = job_failure_message(sync, self->base.strings)) != NULL)
        job_set_end(self, sync, JOB_FAILS, "PodFailurePolicy", message);
    else
        look_at_limits(self, sync, now);
    if (sync->end == JOB_GOES_ON)
        look_at_indexes(self, sync);
    if (sync->end == JOB_GOES_ON)
        look_at_success(self, sync);
}

void
job_look(const JobController *self, const JobState *state, JobSync *sync, SimTime now)
{
    look_at_pods(sync);
    if (sync->job->indexed) {
        index_set_parse(&sync->was_done, sync->job->completed_indexes, sync->job->completions);
        index_set_parse(&sync->done, sync->job->completed_indexes, sync->job->completions);
    }
    look_at_finished(self, state, sync);
    job_look_at_indexes(self, state, sync);
    look_at_end(self, sync, now);
}
