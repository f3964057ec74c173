/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The meaning of single failures and successes of a Job's pods: per index (JOB-1), by
 * podFailurePolicy (JOB-2) and by successPolicy (JOB-3). indexed_job_utils.go,
 * pod_failure_policy.go and success_policy.go. All functions are pure. */
#include "models/workloads/job/private.h"

static int32_t
count_in_annotation(const Pod *pod, const char *annotation)
{
    return (int32_t)annotated_number(&pod->meta, annotation, 0, 0);
}

static int32_t
all_failures(const Pod *pod)
{
    return count_in_annotation(pod, INDEX_FAILURES) +
           count_in_annotation(pod, INDEX_IGNORED_FAILURES);
}

gboolean
job_failure_counts(const Job *job, const Pod *pod)
{
    FailureMatch match = failure_policy_match(job->failure_policy, pod);

    return failure_counts(&match);
}

const char *
job_failure_message(const JobSync *sync, Strings *strings)
{
    for (unsigned i = 0; sync->job->failure_policy != NULL && i < sync->claimed.owned->len; i++) {
        const Pod *pod = sync->claimed.owned->pdata[i];
        if (!job_pod_has_failed(sync->job, pod))
            continue;
        FailureMatch match = failure_policy_match(sync->job->failure_policy, pod);
        if (match.rule == NULL || match.rule->action != FAILURE_FAIL_JOB)
            continue;
        const char *namespace = pod->meta.key->namespace, *name = object_name(&pod->meta);
        return match.container != NULL
                   ? strings_internf(strings,
                                     "Container %s for pod %s/%s failed with exit code %d matching "
                                     "FailJob rule at index %u",
                                     match.container, namespace, name, pod->exit_code, match.index)
                   : strings_internf(strings,
                                     "Pod %s/%s has condition %s matching FailJob rule at index %u",
                                     namespace, name, match.condition, match.index);
    }
    return NULL;
}

/* ---- Per index ---- */

enum {
    FAILED = 1 << 0,
    FAIL_INDEX = 1 << 1, /* the pod failure policy says so */
    COUNTS = 1 << 2,     /* towards the limits: the policy does not say Ignore */
    AT_LIMIT = 1 << 3,   /* backoffLimitPerIndex pods of the index have failed before it */
    INDEX_FACTS_END = 1 << 4,
};

/* Whether the index of a pod is given up. */
static const Rule index_table[] = {
    {"JOB-1", 0,                          FAILED,                FALSE},
    {"JOB-2", FAILED | FAIL_INDEX,        0,                     TRUE },
    {"JOB-2", FAILED,                     FAIL_INDEX | COUNTS,   FALSE},
    {"JOB-1", FAILED | COUNTS | AT_LIMIT, FAIL_INDEX,            TRUE },
    {"JOB-1", FAILED | COUNTS,            FAIL_INDEX | AT_LIMIT, FALSE},
};

const RuleTable job_index_rules =
    RULE_TABLE("failed indexes of Jobs", INDEX_FACTS_END, index_table);

static gboolean
fails_its_index(const Job *job, const Pod *pod)
{
    FailureMatch match = failure_policy_match(job->failure_policy, pod);
    unsigned facts =
        (job_pod_has_failed(job, pod) ? FAILED : 0) |
        (match.rule != NULL && match.rule->action == FAILURE_FAIL_INDEX ? FAIL_INDEX : 0) |
        (failure_counts(&match) ? COUNTS : 0) |
        (count_in_annotation(pod, INDEX_FAILURES) >= job->backoff_limit_per_index ? AT_LIMIT : 0);

    return rules_find(&job_index_rules, facts, NULL)->then;
}

static void
look_at_failed_indexes(const JobController *self, JobSync *sync)
{
    const Job *job = sync->job;

    index_set_parse(&sync->failed_indexes, job->failed_indexes, job->completions);
    for (unsigned i = 0; i < sync->claimed.owned->len; i++) {
        const Pod *pod = sync->claimed.owned->pdata[i];
        if (job_has_index(job, pod_job_index(pod)) &&
            object_has_finalizer(&pod->meta, self->finalizer) && fails_its_index(job, pod))
            index_set_add(&sync->failed_indexes, pod_job_index(pod));
    }
}

/* Whether @pod failed after @before; both are of one index. */
static gboolean
is_later(const Pod *pod, const Pod *before)
{
    return all_failures(before) <= all_failures(pod) &&
           job_pod_finished_at(pod) >= job_pod_finished_at(before);
}

/* An index that is tried again keeps its last failed pod until the next pod has taken over its
 * count. */
static void
look_at_last_failures(const JobController *self, const JobState *state, JobSync *sync)
{
    IndexSet busy = {0};

    sync->last_failures = g_hash_table_new(g_direct_hash, g_direct_equal);
    for (unsigned i = 0; i < sync->active->len; i++)
        index_set_add(&busy, pod_job_index(sync->active->pdata[i]));
    for (unsigned i = 0; i < sync->claimed.owned->len; i++) {
        const Pod *pod = sync->claimed.owned->pdata[i];
        int32_t index = pod_job_index(pod);
        if (!job_has_index(sync->job, index) || !job_pod_is_tracked(self, state, pod) ||
            !job_pod_has_failed(sync->job, pod) || index_set_has(&sync->done, index) ||
            index_set_has(&sync->failed_indexes, index) || index_set_has(&busy, index))
            continue;
        const Pod *before = job_last_failure(sync, index);
        if (before == NULL || is_later(pod, before))
            g_hash_table_insert(sync->last_failures, GINT_TO_POINTER(index), (Pod *)pod);
    }
    index_set_clear(&busy);
}

void
job_look_at_indexes(const JobController *self, const JobState *state, JobSync *sync)
{
    if (!job_is_per_index(sync->job))
        return;
    look_at_failed_indexes(self, sync);
    look_at_last_failures(self, state, sync);
}

const Pod *
job_last_failure(const JobSync *sync, int32_t index)
{
    return sync->last_failures == NULL
               ? NULL
               : g_hash_table_lookup(sync->last_failures, GINT_TO_POINTER(index));
}

SimTime
job_index_may_begin_at(const JobSync *sync, int32_t index)
{
    const Pod *last = job_last_failure(sync, index);
    JobBackoff backoff = {0, TIME_UNSET};

    if (last != NULL)
        backoff = (JobBackoff){all_failures(last) + 1, job_pod_finished_at(last)};
    return job_backoff_ends_at(&backoff);
}

void
job_count_index_failures(const JobSync *sync, int32_t index, Object *pod, Strings *strings)
{
    const Pod *last = job_last_failure(sync, index);
    gboolean counts = last != NULL && job_failure_counts(sync->job, last);
    int32_t failures = last == NULL ? 0 : count_in_annotation(last, INDEX_FAILURES) + counts;
    int32_t ignored =
        last == NULL ? 0 : count_in_annotation(last, INDEX_IGNORED_FAILURES) + !counts;

    object_set_annotation(pod, strings_intern(strings, INDEX_FAILURES),
                          strings_internf(strings, "%d", failures));
    if (ignored > 0)
        object_set_annotation(pod, strings_intern(strings, INDEX_IGNORED_FAILURES),
                              strings_internf(strings, "%d", ignored));
}

/* ---- Success ---- */

static gboolean
rule_is_met(const SuccessRule *rule, const JobSync *sync)
{
    IndexSet wanted = {0};
    gboolean is_met;

    if (rule->indexes == NULL)
        return rule->count >= 0 && sync->done.n >= rule->count;
    index_set_parse(&wanted, rule->indexes, sync->job->completions);
    int32_t n = index_set_common(&wanted, &sync->done);
    is_met = wanted.n > 0 && (n == wanted.n || (rule->count >= 0 && n >= rule->count));
    index_set_clear(&wanted);
    return is_met;
}

int
job_success_rule(const JobSync *sync)
{
    const SuccessPolicy *policy = sync->job->success_policy;
    const SuccessRules *rules = policy == NULL ? NULL : policy->rules;

    for (unsigned i = 0; rules != NULL && sync->done.n > 0 && i < rules->n_items; i++)
        if (rule_is_met(&rules->items[i], sync))
            return (int)i;
    return -1;
}
