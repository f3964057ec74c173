/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Makes and deletes pods in one sync of a Job: the second half of syncJob(), and manageJob(), of
 * job_controller.go. A rule table decides from the end, the expectations and the number of active
 * pods; missing pods wait for the back-off of their index (JOB-1) or of the Job (WL-83). A Job ends
 * only once all its active pods are being deleted (WL-89). */
#include "models/workloads/job/private.h"

#include "models/cluster/cluster.h"
#include "models/workloads/pod-ranks.h"

#define BURST_MAX 500                  /* WL-82: MaxPodCreateDeletePerSync */
#define BACKOFF_MIN (10 * SIM_SECOND)  /* WL-83: DefaultJobPodFailureBackOff */
#define BACKOFF_MAX (600 * SIM_SECOND) /* WL-83: MaxJobPodFailureBackOff */

/* One pod that a sync makes, changes or deletes. */
typedef struct {
    PodOrder base;
    const JobSync *sync; /* of the plan that waits for this one */
    gboolean releases;   /* the pod loses its finalizer */
    gboolean deletes;
    int32_t index; /* completion index of a new pod; -1: none */
} SyncItem;

/* ---- One pod ---- */

/* After a removal of the finalizer only. */
static void
decide_after_release(const void *data, Plan *plan)
{
    const PodOrder *order = plan_operation(plan);
    ApiCode code = plan_code(plan, plan_last_step(plan));

    (void)data;
    if (code == API_OK)
        return;
    plan_because(plan, "WL-4");
    plan_change(plan, &(PlanChange){.what = JOB_CHANGE_REMOVAL_DROPPED,
                                    .key = order->owner->key,
                                    .pointer = order->pod});
    if (code != API_NOT_FOUND)
        plan_fail(plan, "%s", plan_last_message(plan));
}

/* WL-84. A pod of an Indexed Job has its index in its name, an annotation, a label and its
 * hostname. */
static Object *
sync_new_pod(const JobController *self, const SyncItem *item)
{
    const Object *job = item->base.owner;
    Object *pod =
        template_pod_new(self->head.base.objects, JOB_CONST(job)->template, item->base.pod, job);
    Strings *strings = self->head.base.strings;

    object_add_finalizer(pod, self->finalizer);
    if (item->index >= 0) {
        const char *index = strings_internf(strings, "%d", item->index);
        object_set_annotation(pod, self->index_key, index);
        object_set_label(pod, self->index_key, index);
        POD(pod)->hostname = strings_internf(strings, "%s-%d", object_name(job), item->index);
        if (job_is_per_index(JOB_CONST(job)))
            job_count_index_failures(item->sync, item->index, pod, strings);
    }
    return pod;
}

static void
decide_item(const void *data, Plan *plan)
{
    const JobController *self = data;
    const SyncItem *item = plan_operation(plan);

    if (item->base.is_creation) {
        plan_because(plan, "WL-82");
        plan_create(plan, sync_new_pod(self, item), PLAN_DECIDE);
    }
    if (item->releases) {
        plan_because(plan, "WL-84");
        plan_patch(plan, item->base.pod, edit_remove_finalizer, self->finalizer, PLAN_DECIDE);
    }
    if (item->deletes) {
        plan_because(plan, "WL-82");
        plan_delete(plan, item->base.pod, (ObjectUid){0, 0}, -1, PLAN_DECIDE);
    }
    plan_then(plan,
              item->releases && !item->deletes ? decide_after_release : pod_order_decide_after);
}

/* @given: without the members that follow from @sync */
static void
sync_add_start(const JobController *self, GArray *starts, const JobSync *sync, SyncItem given)
{

    given.sync = sync;
    given.base.owner = &sync->job->meta;
    pod_orders_add(starts, &self->head.base, &given, sizeof given, decide_item);
}

void
job_plan_pods(const JobController *self,
              Plan *plan,
              JobSync *sync,
              const GPtrArray *pods,
              gboolean release,
              gboolean delete)
{
    g_autoptr(GArray) starts = g_array_new(FALSE, FALSE, sizeof(PlanStart));

    for (unsigned i = 0; i < pods->len; i++) {
        const Pod *pod = pods->pdata[i];
        SyncItem item = {
            .base = {.pod = (ObjectKey *)pod->meta.key, .is_expected = release},
            .releases = !delete || (release && object_has_finalizer(&pod->meta, self->finalizer)),
            .deletes = delete,
        };
        sync_add_start(self, starts, sync, item);
    }
    sync->orders = pod_orders_plan_at_once(plan, starts);
    sync->ordered = pods;
}

/* ---- Deleting ---- */

/* Returns: whether all pods are being deleted */
static gboolean
count_deleted(const Plan *plan, JobSync *sync)
{
    int32_t n = 0, n_ready = 0;

    for (unsigned i = 0; i < sync->ordered->len; i++)
        if (plan_gathered_well(plan, sync->orders.first_step, i)) {
            n++;
            n_ready += pod_is_ready(sync->ordered->pdata[i]);
        }
    sync->n_active -= n;
    sync->n_terminating += n;
    sync->n_ready -= n_ready;
    return n == (int32_t)sync->ordered->len;
}

/* The Job ends only once all of its pods are being deleted. */
static void
decide_after_end(const void *data, Plan *plan)
{
    JobSync *sync = plan_notes(plan);

    sync->error = plan_last_message(plan);
    if (!count_deleted(plan, sync))
        sync->end = JOB_GOES_ON;
    job_plan_tracking(data, plan, sync);
}

static void
sync_plan_end(const JobController *self, Plan *plan, JobSync *sync)
{
    if (!sync->expectations_met)
        sync->end = JOB_GOES_ON;
    if (sync->active->len == 0) {
        job_plan_tracking(self, plan, sync);
        return;
    }
    job_plan_pods(self, plan, sync, sync->active, FALSE, TRUE);
    plan_then(plan, decide_after_end);
}

static void plan_after_manage(const JobController *self, Plan *plan, JobSync *sync);

static void
decide_after_deletions(const void *data, Plan *plan)
{
    JobSync *sync = plan_notes(plan);

    sync->error = plan_last_message(plan);
    count_deleted(plan, sync);
    plan_after_manage(data, plan, sync);
}

static void
plan_deletions(const JobController *self, Plan *plan, JobSync *sync, const GPtrArray *pods)
{
    plan_because(plan, "WL-4");
    plan_change_pods(plan, POD_ORDERS_DELETIONS, sync->job->meta.key, pods);
    job_plan_pods(self, plan, sync, pods, TRUE, TRUE);
    plan_then(plan, decide_after_deletions);
}

/* Of an Indexed Job first the pods without an index of their own: none, one beyond the last, or
 * another pod's. Then by WL-77, as in ReplicaSets. (owned) */
static GPtrArray *
pods_to_delete(const JobController *self, const JobSync *sync, unsigned at_least, SimTime now)
{
    GPtrArray *pods = g_ptr_array_new();
    g_autofree RankedPod *ranked = g_new0(RankedPod, sync->active->len);
    IndexSet seen = {0};
    unsigned n = 0;

    for (unsigned i = 0; i < sync->active->len; i++) {
        const Pod *pod = sync->active->pdata[i];
        int32_t index = pod_job_index(pod);
        if (sync->job->indexed && (!job_has_index(sync->job, index) || index_set_has(&seen, index)))
            g_ptr_array_add(pods, (Pod *)pod);
        else
            ranked[n++].pod = pod;
        if (job_has_index(sync->job, index))
            index_set_add(&seen, index);
    }
    if (pods->len < at_least)
        pod_ranks_sort(ranked, n, now, cluster_release(self->head.base.cluster));
    for (unsigned i = 0; i < n && pods->len < at_least; i++)
        g_ptr_array_add(pods, (Pod *)ranked[i].pod);
    index_set_clear(&seen);
    return pods;
}

/* ---- Making ---- */

static void
decide_after_creations(const void *data, Plan *plan)
{
    JobSync *sync = plan_notes(plan);

    sync->error = plan_last_message(plan);
    sync->n_active += (int32_t)pod_orders_done(plan, &sync->orders);
    pod_orders_drop_untried(plan, &sync->orders, sync->job->meta.key);
    plan_after_manage(data, plan, sync);
}

/* The lowest indexes that no pod works on, and that are neither done nor have failed. (owned) of
 * int32_t */
static GArray *
pending_indexes(const JobSync *sync, unsigned n)
{
    GArray *indexes = g_array_new(FALSE, FALSE, sizeof(int32_t));
    IndexSet busy = {0};

    for (unsigned i = 0; i < sync->claimed.owned->len; i++) {
        const Pod *pod = sync->claimed.owned->pdata[i];
        if ((pod_is_active(pod) ||
             (job_replaces_only_failed(sync->job) && !pod_is_terminal(pod))) &&
            job_has_index(sync->job, pod_job_index(pod)))
            index_set_add(&busy, pod_job_index(pod));
    }
    for (int32_t i = 0; i < sync->job->completions && indexes->len < n; i++)
        if (!index_set_has(&busy, i) && !index_set_has(&sync->done, i) &&
            !index_set_has(&sync->failed_indexes, i))
            g_array_append_val(indexes, i);
    index_set_clear(&busy);
    return indexes;
}

static ObjectKey *
new_pod_key(const JobController *self, const Object *job, uint64_t n, int32_t index)
{
    const char *base =
        index < 0 ? strings_internf(self->head.base.strings, "%s-", object_name(job))
                  : strings_internf(self->head.base.strings, "%s-%d-", object_name(job), index);

    return generated_pod_key_of(&self->head.base, job, base, n);
}

/* @indexes: @n of them; NULL: the Job is not Indexed */
static void
plan_creations(
    const JobController *self, Plan *plan, JobSync *sync, const GArray *indexes, unsigned n)
{
    const JobState *state = job_state(self, sync->job->meta.key);
    g_autoptr(GArray) starts = g_array_new(FALSE, FALSE, sizeof(PlanStart));

    plan_because(plan, "WL-4");
    plan_change(
        plan, &(PlanChange){.what = POD_ORDERS_CREATIONS, .key = sync->job->meta.key, .number = n});
    for (unsigned i = 0; i < n; i++) {
        int32_t index = indexes == NULL ? -1 : g_array_index(indexes, int32_t, i);
        ObjectKey *key = new_pod_key(self, &sync->job->meta, state->base.n_names + i, index);
        SyncItem item = {
            .base = {.pod = key, .is_creation = TRUE, .is_expected = TRUE},
              .index = index
        };
        sync_add_start(self, starts, sync, item);
    }
    sync->orders = pod_orders_plan_slowly(plan, starts);
    plan_then(plan, decide_after_creations);
}

/* ---- The choice (WL-82) ---- */

/* WL-83: 10 s, doubling with each failure since the last success. */
SimTime
job_backoff_ends_at(const JobBackoff *backoff)
{
    SimTime delay = BACKOFF_MIN;

    if (backoff->n_failures == 0)
        return INT64_MIN;
    for (int32_t i = 1; i < backoff->n_failures && delay < BACKOFF_MAX; i++)
        delay = MIN(2 * delay, BACKOFF_MAX);
    return backoff->failed_at + delay;
}

/* Removes the indexes that may not begin yet. Returns: if no index is left, the time at which the
 * first may begin; otherwise INT64_MIN */
static SimTime
drop_indexes_that_wait(const JobSync *sync, GArray *indexes, SimTime now)
{
    SimTime first_at = INT64_MIN;
    unsigned n = 0;

    for (unsigned i = 0; i < indexes->len; i++) {
        int32_t index = g_array_index(indexes, int32_t, i);
        SimTime may_at = job_index_may_begin_at(sync, index);
        if (may_at <= now)
            g_array_index(indexes, int32_t, n++) = index;
        else
            first_at = first_at == INT64_MIN ? may_at : MIN(first_at, may_at);
    }
    g_array_set_size(indexes, n);
    return n > 0 ? INT64_MIN : first_at;
}

static int32_t
count_wanted(const JobSync *sync)
{
    const Job *job = sync->job;

    if (job->suspend)
        return 0;
    if (job->completions < 0)
        return sync->n_succeeded > 0 ? sync->n_active : job->parallelism;
    return MAX(MIN(job->completions - sync->n_succeeded, job->parallelism), 0);
}

/* Makes @n missing pods, unless the back-off of single indexes (JOB-1) or of the whole Job (WL-83)
 * forbids it now. */
static void
plan_missing(const JobController *self, Plan *plan, JobSync *sync, unsigned n)
{
    SimTime now = plan_now(plan);
    gboolean per_index = job_is_per_index(sync->job);
    g_autoptr(GArray) indexes = sync->job->indexed ? pending_indexes(sync, n) : NULL;
    SimTime may_at = per_index ? drop_indexes_that_wait(sync, indexes, now)
                               : job_backoff_ends_at(&sync->backoff);

    if (may_at > now) {
        sync->again_at = MIN(sync->again_at, MAX(may_at, now + BATCH_PERIOD));
        sync->n_active = 0; /* as in Kubernetes, even if pods still run */
        plan_because(plan, per_index ? "JOB-1" : "WL-83");
        plan_after_manage(self, plan, sync);
    } else if (indexes != NULL && indexes->len == 0) {
        plan_after_manage(self, plan, sync);
    } else {
        plan_creations(self, plan, sync, indexes, indexes == NULL ? n : indexes->len);
    }
}

/* ---- Suspension (WL-88) and completion ---- */

static gboolean
set_condition(WorkloadCondition *condition,
              ConditionStatus status,
              const char *reason,
              const char *message,
              SimTime now)
{
    if (condition->status == CONDITION_ABSENT && status == CONDITION_FALSE)
        return FALSE;
    if (condition->status == (uint32_t)status && condition->reason == reason)
        return FALSE;
    *condition = (WorkloadCondition){reason, message, whole_seconds(now), TIME_UNSET, status};
    return TRUE;
}

/* A resumed Job gets a new start time. */
static void
look_at_suspension(const JobController *self, Plan *plan, JobSync *sync)
{
    Strings *strings = self->head.base.strings;
    gboolean suspend = sync->job->suspend;
    const char *reason = strings_intern(strings, suspend ? "JobSuspended" : "JobResumed");
    const char *message = strings_intern(strings, suspend ? "Job suspended" : "Job resumed");

    if (!set_condition(&sync->status.suspended, suspend ? CONDITION_TRUE : CONDITION_FALSE, reason,
                       message, plan_now(plan)))
        return;
    sync->needs_flush = TRUE;
    plan_because(plan, "WL-88");
    plan_event(plan, &sync->job->meta, "Normal", suspend ? "Suspended" : "Resumed", "%s", message);
    if (!suspend)
        sync->status.started_at = whole_seconds(plan_now(plan));
}

static void
plan_after_manage(const JobController *self, Plan *plan, JobSync *sync)
{
    const Job *job = sync->job;
    gboolean is_complete =
        sync->n_active == 0 &&
        (job->completions < 0 ? sync->n_succeeded > 0 : sync->n_succeeded >= job->completions);

    if (is_complete)
        job_set_end(self, sync, JOB_COMPLETES, "CompletionsReached",
                    "Reached expected number of succeeded pods");
    else if (sync->was_managed)
        look_at_suspension(self, plan, sync);
    job_plan_tracking(self, plan, sync);
}

/* ---- The sync ---- */

static void
begin_status(JobSync *sync, SimTime now)
{
    const Job *job = sync->job;

    sync->status = (JobStatus){
        .succeeded = job->succeeded,
        .failed = job->failed,
        .uncounted_succeeded = string_list_ref(job->uncounted_succeeded),
        .uncounted_failed = string_list_ref(job->uncounted_failed),
        .completed_indexes = job->completed_indexes,
        .failed_indexes = job->failed_indexes,
        .started_at = job->started_at,
        .completed_at = job->completed_at,
        .complete = job->complete,
        .has_failed = job->has_failed,
        .suspended = job->suspended,
        .failure_target = job->failure_target,
        .success_met = job->success_met,
    };
    if (job->started_at == TIME_UNSET && !job->suspend)
        sync->status.started_at = whole_seconds(now);
}

enum {
    ENDS = 1 << 0,
    SEEN = 1 << 1,    /* all orders were seen (WL-4) */
    DELETED = 1 << 2, /* the Job itself is being deleted */
    SUSPENDED = 1 << 3,
    SURPLUS = 1 << 4, /* active pods that are not wanted */
    MISSING = 1 << 5, /* wanted pods that are not active */
    MANAGE_FACTS_END = 1 << 6,
};

typedef enum {
    MANAGE_END,    /* all active pods are deleted */
    MANAGE_DELETE, /* the surplus is */
    MANAGE_CREATE,
    MANAGE_NOTHING,
} SyncManageAction;

static const Rule manage_table[] = {
    {"WL-89", ENDS,             0,                                              MANAGE_END    },
    {"WL-4",  0,                ENDS | SEEN,                                    MANAGE_NOTHING},
    {"WL-82", SEEN | DELETED,   ENDS,                                           MANAGE_NOTHING},
    {"WL-82", SEEN | SURPLUS,   ENDS | DELETED,                                 MANAGE_DELETE },
    {"WL-88", SEEN | SUSPENDED, ENDS | DELETED | SURPLUS,                       MANAGE_NOTHING},
    {"WL-82", SEEN | MISSING,   ENDS | DELETED | SURPLUS | SUSPENDED,           MANAGE_CREATE },
    {"WL-82", SEEN,             ENDS | DELETED | SURPLUS | SUSPENDED | MISSING, MANAGE_NOTHING},
};

const RuleTable job_manage_rules = RULE_TABLE("pods of Jobs", MANAGE_FACTS_END, manage_table);

static void
plan_manage(const JobController *self, Plan *plan, JobSync *sync, unsigned facts)
{
    SimTime now = plan_now(plan);
    int32_t wanted = count_wanted(sync);
    /* WL-86 */
    int32_t missing =
        wanted - sync->n_active - (job_replaces_only_failed(sync->job) ? sync->n_terminating : 0);
    GPtrArray *extra = NULL;

    sync->was_managed = (facts & (ENDS | SEEN | DELETED)) == SEEN;
    if (sync->was_managed) {
        extra = pods_to_delete(self, sync, (unsigned)MAX(sync->n_active - wanted, 0), now);
        plan_own(plan, extra, (GDestroyNotify)g_ptr_array_unref);
        facts |= (extra->len > 0 ? SURPLUS : 0) | (missing > 0 ? MISSING : 0);
        if (!sync->job->suspend)
            g_ptr_array_set_size(extra, (int)MIN(extra->len, BURST_MAX));
    }
    switch ((SyncManageAction)rules_find(&job_manage_rules, facts, NULL)->then) {
    case MANAGE_END:
        sync_plan_end(self, plan, sync);
        return;
    case MANAGE_DELETE:
        plan_deletions(self, plan, sync, extra);
        return;
    case MANAGE_CREATE:
        plan_missing(self, plan, sync, (unsigned)MIN(missing, BURST_MAX));
        return;
    case MANAGE_NOTHING:
        plan_after_manage(self, plan, sync);
        return;
    }
    g_assert_not_reached();
}

static void
decide_pods(const void *data, Plan *plan)
{
    const JobController *self = data;
    JobSync *sync = plan_notes(plan);
    const JobState *state = job_state(self, plan_key(plan));
    SimTime now = plan_now(plan);

    if (state == NULL)
        return;
    sync->again_at = SIM_TIME_MAX;
    sync->flush_step = -1;
    sync->expectations_met = expectations_are_met(&state->base.expected, now);
    begin_status(sync, now);
    job_look(self, state, sync, now);
    plan_manage(self, plan, sync,
                (sync->end != JOB_GOES_ON ? ENDS : 0) | (sync->expectations_met ? SEEN : 0) |
                    (object_is_deleted(&sync->job->meta) ? DELETED : 0) |
                    (sync->job->suspend ? SUSPENDED : 0));
}

static void
job_sync_clear(void *data)
{
    JobSync *sync = data;

    claimed_clear(&sync->claimed);
    g_clear_pointer(&sync->active, g_ptr_array_unref);
    g_clear_pointer(&sync->removals, g_ptr_array_unref);
    index_set_clear(&sync->was_done);
    index_set_clear(&sync->done);
    index_set_clear(&sync->failed_indexes);
    g_clear_pointer(&sync->last_failures, g_hash_table_unref);
    string_list_unref(sync->status.uncounted_succeeded);
    string_list_unref(sync->status.uncounted_failed);
    object_unref(&sync->job->meta);
}

void
job_sync_decide(const void *data, Plan *plan)
{
    const JobController *self = data;
    const Object *job = informer_get(self->head.owners, plan_key(plan));

    /* JOB-4 */
    if (job == NULL || job_is_managed_elsewhere(JOB_CONST(job)) || job_is_finished(JOB_CONST(job)))
        return;
    JobSync *sync = plan_new_notes(plan, JobSync, job_sync_clear);
    sync->job = JOB_CONST(object_ref(job));
    claimed_look(&sync->claimed, &(ClaimOptions){
                                     .owner = job,
                                     .selector = sync->job->selector,
                                     .by_controller = self->head.pods_by_controller,
                                     .orphans = self->head.orphans,
                                     .finalizer = self->finalizer,
                                 });
    if (claimed_is_settled(&sync->claimed)) {
        decide_pods(data, plan);
        return;
    }
    plan_because(plan, "WL-75");
    claimed_plan(&sync->claimed, plan, job);
    plan_then(plan, decide_pods);
}
