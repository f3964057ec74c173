/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The state of a Job: its pods, its failures and successes, and whether it ends, the first half of
 * syncJob() in job_controller.go. Only pods with the finalizer that are in no count yet are added.
 * A rule table finds the end: an earlier decision, noted as a condition, stands; otherwise a
 * failure comes before a success. The functions write into the sync only. */
#include "models/workloads/job/private.h"

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

/* WL-83: failures since the last success. Earlier failures count only if nothing has succeeded
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

/* Counts the pods that are over and are in no count yet. */
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

/* WL-83: with the restart policy OnFailure restarts count as failures. */
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
    sync->end_reason = strings_intern(self->head.base.strings, reason);
    sync->end_message = strings_intern(self->head.base.strings, message);
}

/* ---- Whether the Job ends ---- */

enum {
    SUCCESS_SAID = 1 << 0, /* condition SuccessCriteriaMet, of an earlier sync */
    FAILURE_SAID = 1 << 1, /* condition FailureTarget */
    FORBIDDEN = 1 << 2,    /* a pod has failed in a way that FailJob names */
    EXCEEDED = 1 << 3,     /* more failures than backoffLimit */
    OVERDUE = 1 << 4,      /* activeDeadlineSeconds */
    TOO_MANY = 1 << 5,     /* more failed indexes than maxFailedIndexes */
    ALL_ENDED = 1 << 6,    /* each index is done or has failed, and at least one has failed */
    SATISFIED = 1 << 7,    /* a rule of the success policy */
    END_FACTS_END = 1 << 8,

    SAID = SUCCESS_SAID | FAILURE_SAID,
    BROKEN = SAID | FORBIDDEN | EXCEEDED,
};

typedef enum {
    VERDICT_NONE,
    VERDICT_SUCCESS_SAID,
    VERDICT_FAILURE_SAID,
    VERDICT_FORBIDDEN,
    VERDICT_EXCEEDED,
    VERDICT_OVERDUE,
    VERDICT_TOO_MANY,
    VERDICT_ALL_ENDED,
    VERDICT_SATISFIED,
} StandingVerdict;

/* In the order of Verdict. NULL: it depends on the Job */
/* clang-format off */
static const struct {
    JobEnd end;
    const char *reason, *message;
} ends[] = {
    {JOB_GOES_ON,   NULL,                       NULL},
    {JOB_COMPLETES, NULL,                       NULL},
    {JOB_FAILS,     NULL,                       NULL},
    {JOB_FAILS,     "PodFailurePolicy",         NULL},
    {JOB_FAILS,     "BackoffLimitExceeded",     "Job has reached the specified backoff limit"},
    {JOB_FAILS,     "DeadlineExceeded",         "Job was active longer than specified deadline"},
    {JOB_FAILS,     "MaxFailedIndexesExceeded", "Job has exceeded the specified maximal number of failed indexes"},
    {JOB_FAILS,     "FailedIndexes",            "Job has failed indexes"},
    {JOB_COMPLETES, "SuccessPolicy",            NULL},
};
/* clang-format on */

/* An earlier decision stands; else a failure comes before a success. */
static const Rule end_table[] = {
    {"WL-89", SUCCESS_SAID, 0,                                                   VERDICT_SUCCESS_SAID},
    {"WL-89", FAILURE_SAID, SUCCESS_SAID,                                        VERDICT_FAILURE_SAID},
    {"JOB-2", FORBIDDEN,    SAID,                                                VERDICT_FORBIDDEN   },
    {"WL-83", EXCEEDED,     SAID | FORBIDDEN,                                    VERDICT_EXCEEDED    },
    {"WL-88", OVERDUE,      BROKEN,                                              VERDICT_OVERDUE     },
    {"JOB-1", TOO_MANY,     BROKEN | OVERDUE,                                    VERDICT_TOO_MANY    },
    {"JOB-1", ALL_ENDED,    BROKEN | OVERDUE | TOO_MANY,                         VERDICT_ALL_ENDED   },
    {"JOB-3", SATISFIED,    BROKEN | OVERDUE | TOO_MANY | ALL_ENDED,             VERDICT_SATISFIED   },
    {"WL-82", 0,            BROKEN | OVERDUE | TOO_MANY | ALL_ENDED | SATISFIED, VERDICT_NONE        },
};

const RuleTable job_end_rules = RULE_TABLE("ends of Jobs", END_FACTS_END, end_table);

/* JOB-1 */
static unsigned
index_facts(const JobSync *sync)
{
    const Job *job = sync->job;
    int32_t n_failed = sync->failed_indexes.n;
    unsigned facts = 0;

    if (!job_is_per_index(job))
        return 0;
    if (job->max_failed_indexes >= 0 && n_failed > job->max_failed_indexes)
        facts |= TOO_MANY;
    if (n_failed > 0 && n_failed + sync->done.n >= job->completions)
        facts |= ALL_ENDED;
    return facts;
}

/* SIM_TIME_MAX: never. */
static SimTime
deadline(const JobSync *sync)
{
    const Job *job = sync->job;

    return job->active_deadline_s < 0 || job->suspend
               ? SIM_TIME_MAX
               : sim_time_add(sync->status.started_at, job->active_deadline_s * SIM_SECOND);
}

/* @message: (out): of FORBIDDEN. @success_rule: (out): of SATISFIED */
static unsigned
end_facts(const JobController *self,
          const JobSync *sync,
          SimTime now,
          const char **message,
          int *success_rule)
{
    const Job *job = sync->job;
    unsigned facts = index_facts(sync);

    *message = job_failure_message(sync, self->head.base.strings);
    *success_rule = job->indexed ? job_success_rule(sync) : -1;
    return facts | (job->success_met.status == CONDITION_TRUE ? SUCCESS_SAID : 0) |
           (job->failure_target.status == CONDITION_TRUE ? FAILURE_SAID : 0) |
           (*message != NULL ? FORBIDDEN : 0) |
           (sync->n_failed > job->backoff_limit || restarts_exceed_limit(sync) ? EXCEEDED : 0) |
           (now >= deadline(sync) && job->started_at != TIME_UNSET ? OVERDUE : 0) |
           (*success_rule >= 0 ? SATISFIED : 0);
}

static void
look_at_end(const JobController *self, JobSync *sync, SimTime now)
{
    const Job *job = sync->job;
    const char *message;
    int success_rule;
    unsigned facts = end_facts(self, sync, now, &message, &success_rule);

    if ((facts & (BROKEN | OVERDUE)) == 0)
        sync->again_at = MIN(sync->again_at, deadline(sync));
    StandingVerdict verdict = (StandingVerdict)rules_find(&job_end_rules, facts, NULL)->then;
    const WorkloadCondition *said = verdict == VERDICT_SUCCESS_SAID   ? &job->success_met
                                    : verdict == VERDICT_FAILURE_SAID ? &job->failure_target
                                                                      : NULL;
    if (verdict == VERDICT_NONE)
        return;
    if (verdict == VERDICT_SATISFIED)
        message =
            strings_internf(self->head.base.strings, "Matched rules at index %d", success_rule);
    else if (verdict != VERDICT_FORBIDDEN)
        message = said != NULL ? said->message : ends[verdict].message;
    job_set_end(self, sync, ends[verdict].end, said != NULL ? said->reason : ends[verdict].reason,
                message);
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
