/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The Job controller's handlers and state: the events that wake a Job, and a rule table for pods
 * that lose the tracking finalizer because no Job counts them any more (WL-84). A new Job and a
 * change of its spec are handled at once, changes of its status and its pods a second later, so
 * that they are counted together (WL-81). Jobs that another controller manages are left alone
 * (JOB-4). */
#include "models/workloads/job/private.h"

#include "models/cluster/kube-controller-manager.h"

/* WL-85 */
#define RATE_LIMIT                                                                                 \
    {                                                                                              \
        .base = SIM_SECOND, .max = SIM_MINUTE                                                      \
    }

static void
job_state_free(void *data)
{
    JobState *state = data;

    g_hash_table_unref(state->removals);
    owner_state_free(state);
}

static JobState *
job_state_new(void)
{
    JobState *state = g_new0(JobState, 1);

    state->removals = g_hash_table_new(g_direct_hash, g_direct_equal);
    state->backoff.failed_at = TIME_UNSET;
    return state;
}

const JobState *
job_state(const JobController *self, const ObjectKey *job)
{
    return g_hash_table_lookup(self->head.states, job);
}

gboolean
job_pod_is_tracked(const JobController *self, const JobState *state, const Pod *pod)
{
    return object_has_finalizer(&pod->meta, self->finalizer) &&
           !g_hash_table_contains(state->removals, pod->meta.key);
}

/* ---- Handlers ---- */

static void
enqueue(const JobController *self, const ObjectKey *job, SimTime delay)
{
    work_queue_add_after(workers_queue(self->head.workers), (ObjectKey *)job, delay);
}

static void
enqueue_orphan(const JobController *self, const Object *pod)
{
    if (object_has_finalizer(pod, self->finalizer))
        workers_add(self->orphan_workers, pod->key);
}

/* Nobody counts the pods of this Job any more. Pods of a Job that another controller manages are
 * left to that one (JOB-4). */
static void
clean_up_pods(const JobController *self, const Object *job)
{
    unsigned n;
    const Object *const *pods = informer_index_get(self->head.pods_by_controller, job->key, &n);

    for (unsigned i = 0; i < n && !job_is_managed_elsewhere(JOB_CONST(job)); i++)
        if (object_is_controlled_by(pods[i], job))
            enqueue_orphan(self, pods[i]);
}

static void
deadline_changed(const JobController *self, const Job *before, const Job *after)
{
    if (after->started_at == TIME_UNSET || after->active_deadline_s < 0 ||
        before->active_deadline_s == after->active_deadline_s)
        return;
    SimTime ends_at = after->started_at + after->active_deadline_s * SIM_SECOND;
    enqueue(self, after->meta.key, MAX(ends_at - sim_now(self->head.base.sim), 0));
}

/* WL-81: a new Job and a change of its spec are handled at once, changes of its status a second
 * later. */
static void
job_changed(void *data, const Object *before, const Object *after)
{
    JobController *self = data;

    if (after == NULL) {
        enqueue(self, before->key, 0);
        clean_up_pods(self, before);
        g_hash_table_remove(self->head.states, before->key);
        return;
    }
    if (g_hash_table_lookup(self->head.states, after->key) == NULL)
        g_hash_table_insert(self->head.states, (void *)after->key, job_state_new());
    enqueue(self, after->key,
            before != NULL && before->generation == after->generation ? BATCH_PERIOD : 0);
    if (before == NULL)
        return;
    if (job_is_finished(JOB_CONST(after)))
        clean_up_pods(self, after);
    deadline_changed(self, JOB_CONST(before), JOB_CONST(after));
}

/* The Job that controls this pod, by uid. NULL: none */
static const Job *
job_of_pod(const JobController *self, const Object *pod)
{
    const ObjectKey *key = controller_of_kind(pod, KIND_JOB);
    const Object *job = key == NULL ? NULL : informer_get(self->head.owners, key);

    return job != NULL && object_is_controlled_by(pod, job) ? JOB_CONST(job) : NULL;
}

/* @is_gone: FALSE: the pod is only being deleted. */
static void
pod_went(const JobController *self, const Object *pod, gboolean is_gone)
{
    const Job *job = job_of_pod(self, pod);

    if (job == NULL || job_is_finished(job)) {
        if (job != NULL || object_controller(pod) == NULL ||
            controller_of_kind(pod, KIND_JOB) != NULL)
            enqueue_orphan(self, pod);
        return;
    }
    JobState *state = g_hash_table_lookup(self->head.states, job->meta.key);
    expectations_deletion_seen(&state->base.expected, pod->key);
    if (is_gone || !object_has_finalizer(pod, self->finalizer))
        g_hash_table_remove(state->removals, pod->key);
    enqueue(self, job->meta.key, BATCH_PERIOD);
}

static void
own_pod_changed(const JobController *self, const Job *job, const Object *before, const Object *pod)
{
    JobState *state = g_hash_table_lookup(self->head.states, job->meta.key);

    if (before == NULL)
        expectations_creation_seen(&state->base.expected);
    if (!object_has_finalizer(pod, self->finalizer))
        g_hash_table_remove(state->removals, pod->key);
    enqueue(self, job->meta.key, BATCH_PERIOD);
}

static void
job_pod_changed(void *data, const Object *before, const Object *after)
{
    JobController *self = data;

    if (after == NULL || object_is_deleted(after)) {
        pod_went(self, after == NULL ? before : after, after == NULL);
        return;
    }
    const Job *was = before == NULL ? NULL : job_of_pod(self, before);
    const Job *is = job_of_pod(self, after);
    if (was != NULL && was != is)
        enqueue(self, was->meta.key, BATCH_PERIOD);
    if (is != NULL) {
        own_pod_changed(self, is, before, after);
        return;
    }
    if (object_controller(after) != NULL)
        return;
    enqueue_orphan(self, after);
    if (after->labels != NULL &&
        (before == NULL || was != NULL || !string_map_equal(before->labels, after->labels)))
        wake_selecting(self->head.workers, self->head.owners, after, BATCH_PERIOD);
}

/* ---- Private state ---- */

static void
job_apply_change(void *data, const PlanChange *change)
{
    JobController *self = data;
    JobState *state = g_hash_table_lookup(self->head.states, change->key);
    const GPtrArray *keys = change->pointer;

    if (state == NULL)
        return; /* the Job is gone by now */
    if (pod_orders_apply(&state->base, change, sim_now(self->head.base.sim)))
        return;
    switch ((JobChange)change->what) {
    case JOB_CHANGE_REMOVALS:
        for (unsigned i = 0; i < keys->len; i++)
            g_hash_table_add(state->removals, keys->pdata[i]);
        return;
    case JOB_CHANGE_REMOVAL_DROPPED:
        g_hash_table_remove(state->removals, change->pointer);
        return;
    case JOB_CHANGE_BACKOFF:
        state->backoff = *(const JobBackoff *)change->pointer;
        return;
    }
    g_assert_not_reached();
}

/* ---- Pods without a Job ---- */

enum {
    TRACKED = 1 << 0, /* the pod is there, and has the finalizer */
    CONTROLLED = 1 << 1,
    BY_JOB = 1 << 2, /* its controller is a Job */
    KNOWN = 1 << 3,  /* ... that is there */
    FINISHED = 1 << 4,
    FOREIGN = 1 << 5, /* JOB-4: another controller's Job */
    ORPHAN_FACTS_END = 1 << 6,
};

/* Whether the pod loses its finalizer. */
static const Rule orphan_table[] = {
    {"WL-84", 0,                                                          TRACKED,    FALSE},
    {"WL-84", TRACKED,                                                    CONTROLLED, TRUE },
    {"WL-84", TRACKED | CONTROLLED,                                       BY_JOB,     FALSE},
    {"WL-84", TRACKED | CONTROLLED | BY_JOB,                              KNOWN,      TRUE },
    {"WL-84", TRACKED | CONTROLLED | BY_JOB | KNOWN,                      FINISHED,   FALSE},
    {"WL-84", TRACKED | CONTROLLED | BY_JOB | KNOWN | FINISHED,           FOREIGN,    TRUE },
    {"JOB-4", TRACKED | CONTROLLED | BY_JOB | KNOWN | FINISHED | FOREIGN, 0,          FALSE},
};

const RuleTable job_orphan_rules =
    RULE_TABLE("pods that no Job counts", ORPHAN_FACTS_END, orphan_table);

static unsigned
orphan_facts(const JobController *self, const Object *pod)
{
    const Job *job = pod == NULL ? NULL : job_of_pod(self, pod);
    unsigned facts = 0;

    if (pod == NULL)
        return 0;
    if (job != NULL)
        facts |= KNOWN | (job_is_finished(job) ? FINISHED : 0) |
                 (job_is_managed_elsewhere(job) ? FOREIGN : 0);
    return facts | (object_has_finalizer(pod, self->finalizer) ? TRACKED : 0) |
           (object_controller(pod) != NULL ? CONTROLLED : 0) |
           (controller_of_kind(pod, KIND_JOB) != NULL ? BY_JOB : 0);
}

static void
decide_orphan(const void *data, Plan *plan)
{
    const JobController *self = data;
    const Object *pod = informer_get(self->head.pods, plan_key(plan));
    const Rule *rule = rules_find(&job_orphan_rules, orphan_facts(self, pod), NULL);

    if (!rule->then)
        return;
    plan_because(plan, rule->id);
    plan_patch(plan, pod->key, edit_remove_finalizer, self->finalizer, PLAN_GONE_IS_FINE);
}

#define SELF JobController
static const ComponentPart parts[] = {
    HAS_TEXT(finalizer, FINALIZER_JOB_TRACKING),
    HAS_TEXT(index_key, INDEX_OF_JOB),
    HAS_OWNERS(KIND_JOB, job_changed, job_state_free),
    HAS_OWNED_PODS(job_pod_changed),
    HAS_WORKERS(head.workers, "job", job_sync_decide, KCM_SYNCS(KIND_JOB), .limit = RATE_LIMIT),
    HAS_WORKERS(
        orphan_workers, "job_orphan_pod", decide_orphan, .n_workers = 1, .limit = RATE_LIMIT),
};

const ModelClass job_controller_class = {
    KCM_MODEL("job-controller"),
    .event_source = "job-controller",
    PARTS(parts),
    .apply_change = job_apply_change,
    .rule_tables = RULE_TABLES(
        &job_end_rules, &job_manage_rules, &job_index_rules, &job_count_rules, &job_orphan_rules),
};
