/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One attempt to place a pod, from the pop to the binding. The scheduling cycle decides at the
 * instant of the pop and takes effect when its drawn time is over; the next pod is popped only
 * then. The binding cycle (volumes first, then claims, then the pod) runs beside later cycles;
 * meanwhile its node is charged with the assumed pod.
 *
 * A failure tells the pod its condition, writes an Event and puts the pod back into the queue.
 * Invariant: writes of a failed binding are not undone (SCH-72); only the assumed pod and the
 * assumed volumes are forgotten. */
#include "models/metrics/metrics.h"
#include "models/scheduler/scheduler-test.h"
#include "scheduler-private.h"

#include <string.h>

#define BINDING_POLL_PERIOD SIM_SECOND /* VB-2 */
#define EVENT_NOTE_MAX 1024            /* SCH-17 */

typedef enum {
    CHANGE_CHOOSE,     /* @pointer: attempt, @key: claim, @object: what it gets */
    CHANGE_CYCLE_DONE, /* @pointer: CycleResult */
    CHANGE_DROP,       /* @pointer: attempt */
    CHANGE_WRITTEN,    /* @pointer: attempt, @key: claim, @number: the step of its write */
    CHANGE_FORGET,     /* @pointer: attempt, @text: why */
    CHANGE_BOUND,      /* @pointer: attempt */
} AttemptChangeKind;

/* ---- Attempts ---- */

Attempt *
attempt_new(const Pod *pod, QueuedPod *queued)
{
    Attempt *self = g_slice_new0(Attempt);

    object_ref(&pod->meta);
    self->pod = pod;
    self->queued = queued;
    self->choices = g_array_new(FALSE, TRUE, sizeof(VolumeChoice));
    return self;
}

void
attempt_free(void *data)
{
    Attempt *self = data;

    for (unsigned i = 0; i < self->choices->len; i++)
        volume_choice_clear(&g_array_index(self->choices, VolumeChoice, i));
    g_array_unref(self->choices);
    queued_pod_free(self->queued);
    object_unref(&self->pod->meta);
    g_slice_free(Attempt, self);
}

static VolumeChoice *
choices_of(const Attempt *attempt)
{
    return (VolumeChoice *)(void *)attempt->choices->data;
}

static void
release_loop(Scheduler *self, Attempt *attempt)
{
    if (!attempt->holds_loop)
        return;
    attempt->holds_loop = FALSE;
    self->current = NULL;
    scheduler_forget_events(self);
    scheduler_wake_loop(self);
}

static void
attempt_done(void *data, Plan *plan, PlanEnd end, const char *message)
{
    Scheduler *self = data;
    Attempt *attempt = plan_done_operation(plan);

    (void)end;
    (void)message;
    attempt->plan = NULL;
    g_ptr_array_remove_fast(self->orphans, attempt);
    release_loop(self, attempt);
}

/* The attempt that binds an assumed pod; NULL: none */
Attempt *
scheduler_attempt_of(const Scheduler *self, const Object *pod)
{
    const CachedPod *cached = scheduler_cache_find_pod(self->cache, pod->key, pod->uid);

    return cached == NULL ? NULL : cached->attempt;
}

void
attempt_wake(const Attempt *attempt)
{
    if (attempt != NULL && attempt->plan != NULL)
        plan_wake(attempt->plan);
}

/* ---- Failure: what the pod and the user are told ---- */

typedef struct {
    const char *reason, *message;
    const char *nominated_node; /* NULL: none */
    SimTime now;
} ConditionEdit;

static gboolean
is_unschedulable_already(const Pod *pod, const char *reason, const char *message)
{
    return pod->scheduled.status == CONDITION_FALSE &&
           g_strcmp0(pod->scheduled.reason, reason) == 0 && pod->scheduled.message == message;
}

static gboolean
edit_set_unschedulable(Object *object, const void *arg)
{
    const ConditionEdit *edit = arg;
    Pod *pod = POD(object);

    if (is_unschedulable_already(pod, edit->reason, edit->message) &&
        pod->nominated_node == edit->nominated_node)
        return FALSE;
    pod->nominated_node = edit->nominated_node;
    if (pod->scheduled.status != CONDITION_FALSE)
        pod->scheduled.changed_at = edit->now;
    pod->scheduled.status = CONDITION_FALSE;
    pod->scheduled.reason = edit->reason;
    pod->scheduled.message = edit->message;
    return TRUE;
}

static void
plan_failed_scheduling(Plan *plan, const Pod *pod, const char *message)
{
    static const char cut[] = " ...";
    size_t length = strlen(message);

    if (length > EVENT_NOTE_MAX)
        plan_event(plan, &pod->meta, "Warning", "FailedScheduling", "%.*s%s",
                   (int)(EVENT_NOTE_MAX - strlen(cut)), message, cut);
    else
        plan_event(plan, &pod->meta, "Warning", "FailedScheduling", "%s", message);
}

/* SCH-80.5, SCH-80.6. Within a cycle the loop waits for the answer. */
static void
decide_tell_failure(const void *data, Plan *plan)
{
    const Attempt *attempt = plan_operation(plan);

    (void)data;
    plan_because(plan, "SCH-80");
    const char *nominated =
        attempt->keeps_nomination ? attempt->pod->nominated_node : attempt->nominated;
    plan_failed_scheduling(plan, attempt->pod, attempt->failure);
    if (is_unschedulable_already(attempt->pod, attempt->reason, attempt->failure) &&
        attempt->pod->nominated_node == nominated)
        return;
    ConditionEdit *edit = plan_new_arg(plan, ConditionEdit);
    *edit = (ConditionEdit){attempt->reason, attempt->failure, nominated, plan_now(plan)};
    plan_patch_status(plan, attempt->pod->meta.key, edit_set_unschedulable, edit, PLAN_GO_ON);
}

/* SCH-72: the binding cycle has failed; the words are the error's own (SCH-97). */
static void
plan_give_up(Plan *plan, const char *message)
{
    plan_change(plan, &(PlanChange){
                          .what = CHANGE_FORGET, .pointer = plan_operation(plan), .text = message});
    plan_then(plan, decide_tell_failure);
}

/* ---- The binding cycle ---- */

static void
decide_finish(const void *data, Plan *plan)
{
    const Attempt *attempt = plan_operation(plan);
    int step = plan_last_step(plan);

    (void)data;
    if (plan_code(plan, step) != API_OK) {
        plan_because(plan, "SCH-72");
        plan_give_up(plan, plan_internf(plan, "running Bind plugin \"DefaultBinder\": %s",
                                        plan_message(plan, step)));
        return;
    }
    plan_because(plan, "SCH-71");
    plan_event(plan, &attempt->pod->meta, "Normal", "Scheduled", "Successfully assigned %s to %s",
               attempt->pod->meta.key->text, attempt->node_name);
    plan_change(plan, &(PlanChange){.what = CHANGE_BOUND, .pointer = plan_operation(plan)});
}

static void
plan_binding(Plan *plan, const Attempt *attempt)
{
    plan_because(plan, "SCH-70");
    plan_bind_pod(plan, &attempt->pod->meta, attempt->node_name, PLAN_DECIDE);
    plan_then(plan, decide_finish);
}

static BindingState
check_binding(const Scheduler *self, const Attempt *attempt, char **why)
{
    return volume_binder_check(&self->binder, choices_of(attempt), attempt->choices->len,
                               attempt->pod->meta.key, attempt->node_name, why);
}

/* VB-94: one poll. */
static int
volumes_are_bound(const void *data, const Plan *plan)
{
    switch (check_binding(data, plan_operation(plan), NULL)) {
    case BINDING_WAITS:
        return 0;
    case BINDING_DONE:
        return 1;
    case BINDING_FAILED:
        return -1;
    }
    g_assert_not_reached();
}

/* VB-93: the poll is over. */
static void
decide_bind_pod(const void *data, Plan *plan)
{
    const Attempt *attempt = plan_operation(plan);
    ApiCode code = plan_code(plan, plan_last_step(plan));
    g_autofree char *why = NULL;

    if (code == API_OK) {
        plan_binding(plan, attempt);
        return;
    }
    if (code == API_TIMEOUT)
        why = g_strdup("context deadline exceeded");
    else
        check_binding(data, attempt, &why);
    plan_because(plan, code == API_TIMEOUT ? "VB-T16" : "VB-94");
    plan_give_up(
        plan,
        plan_internf(plan, "running PreBind plugin \"VolumeBinding\": binding volumes: %s", why));
}

/* A write that failed ends it (VB-91); else wait until all claims are bound. */
static void
decide_wait_for_volumes(const void *data, Plan *plan)
{
    const Scheduler *self = data;
    int step = plan_last_step(plan);

    if (plan_code(plan, step) != API_OK) {
        plan_because(plan, "VB-T15");
        plan_give_up(plan, plan_internf(plan, "running PreBind plugin \"VolumeBinding\": %s",
                                        plan_message(plan, step)));
        return;
    }
    plan_because(plan, "VB-93");
    plan_poll(plan, BINDING_POLL_PERIOD, options_of(self)->bind_timeout_s * SIM_SECOND, FALSE,
              volumes_are_bound, PLAN_DECIDE | PLAN_WOKEN);
    plan_then(plan, decide_bind_pod);
}

/* The assumed object is sent unchanged. */
static gboolean
edit_nothing(Object *object, const void *arg)
{
    (void)object;
    (void)arg;
    return FALSE;
}

/* VB-91: volumes first, then claims, one after the other, including objects that an earlier attempt
 * has written already (VB-92). */
static void
plan_writes(Plan *plan, const Attempt *attempt)
{
    for (unsigned pass = 0; pass < 2; pass++) {
        for (unsigned i = 0; i < attempt->choices->len; i++) {
            const VolumeChoice *choice = &choices_of(attempt)[i];
            if (volume_choice_is_static(choice) != (pass == 0))
                continue;
            int step = plan_update(plan, choice->assumed, edit_nothing, NULL,
                                   PLAN_DECIDE | PLAN_SEND_ALWAYS);
            plan_change(plan, &(PlanChange){.what = CHANGE_WRITTEN,
                                            .pointer = attempt,
                                            .key = choice->claim,
                                            .number = step});
        }
    }
}

static gboolean
edit_nominate(Object *object, const void *arg)
{
    if (POD(object)->nominated_node == arg)
        return FALSE;
    POD(object)->nominated_node = arg;
    return TRUE;
}

/* SCH-70: PreBind, or straight on if all claims are bound (VB-80, VB-90). SCH-133: first the pod
 * is told its node as nominatedNodeName; the binding ends that (API-22). */
void
scheduler_decide_bind_volumes(const void *data, Plan *plan)
{
    const Scheduler *self = data;
    const Attempt *attempt = plan_operation(plan);

    if (attempt->choices->len == 0) {
        plan_binding(plan, attempt);
        return;
    }
    if (release_has_gate(self->view.release, "NominatedNodeNameForExpectation")) {
        plan_because(plan, "SCH-133");
        plan_patch_status(plan, attempt->pod->meta.key, edit_nominate, attempt->node_name,
                          PLAN_GO_ON);
    }
    plan_because(plan, "VB-91");
    plan_writes(plan, attempt);
    plan_then(plan, decide_wait_for_volumes);
}

/* ---- The scheduling cycle ---- */

static void
decide_after_cycle(const void *data, Plan *plan)
{
    const Attempt *attempt = plan_operation(plan);

    if (attempt->failure != NULL)
        decide_tell_failure(data, plan);
    else if (attempt->node_name != NULL)
        scheduler_decide_bind_volumes(data, plan);
}

static void
plan_choices(const Scheduler *self, Plan *plan)
{
    for (unsigned i = 0; i < self->cycle->choices->len; i++) {
        const VolumeChoice *choice = &g_array_index(self->cycle->choices, VolumeChoice, i);
        plan_change(plan, &(PlanChange){.what = CHANGE_CHOOSE,
                                        .pointer = plan_operation(plan),
                                        .key = choice->claim,
                                        .object = choice->chosen});
    }
}

static gboolean
edit_set_disrupted(Object *object, const void *arg)
{
    return pod_set_disruption(POD(object), arg);
}

/* SCH-114: victims get a condition (from 1.26 on), then DELETE, one after the other; 404 is fine.
 */
static void
plan_preemption(const Scheduler *self, Plan *plan, const CycleResult *result)
{
    const Attempt *attempt = plan_operation(plan);
    char uid[OBJECT_UID_BUFFER];

    for (unsigned i = 0; result->victims != NULL && i < result->victims->len; i++) {
        const Object *victim = result->victims->pdata[i];
        PodCondition *condition = plan_new_arg(plan, PodCondition);
        plan_because(plan, "SCH-114");
        *condition = (PodCondition){
            .reason = strings_intern(self->base.strings, "PreemptionByScheduler"),
            .message = strings_intern(self->base.strings,
                                      "default-scheduler: preempting to accommodate a higher "
                                      "priority pod"),
            .changed_at = plan_now(plan),
            .status = CONDITION_TRUE,
        };
        if (release_has_gate(self->view.release, "PodDisruptionConditions") &&
            pod_disruption_differs(POD_CONST(victim), condition))
            plan_patch_status(plan, victim->key, edit_set_disrupted, condition, PLAN_GO_ON);
        plan_delete(plan, victim->key, (ObjectUid){0}, -1, PLAN_GO_ON);
        plan_event(plan, victim, "Normal", "Preempted", "Preempted by pod %s on node %s",
                   object_uid_format(attempt->pod->meta.uid, uid), result->nominated);
    }
}

/* TIM-24: each cycle looks at the pod. If no plugin refuses the pod, the cycle filters nodes, and
 * scores them if several fit. */
static SimTime
cycle_time(const Scheduler *self, const Attempt *attempt, const CycleResult *result)
{
    const Timing *timing = process_timing(self->base.process);
    SimStream stream = sim_stream(self->base.sim, "kube-scheduler/cycle");
    uint64_t entity = attempt->pod->meta.key->hash, n = 2 * (uint64_t)attempt->number;
    SimTime time = sim_dist_draw(timing->cycle, stream, entity, n);

    if (result->n_examined > 0)
        time += sim_dist_draw(timing->cycle_filter, stream, entity, n + 1) +
                result->n_examined * timing->cycle_node;
    return result->is_scored ? time + timing->cycle_score : time;
}

/* SCH-50: the decision is made at the instant of the pop, and takes effect when the cycle's time is
 * over. */
static void
decide_node(const void *data, Plan *plan)
{
    const Scheduler *self = data;
    const Attempt *attempt = plan_operation(plan);

    if (object_is_deleted(&attempt->pod->meta)) {
        plan_because(plan, "SCH-50.2");
        plan_event(plan, &attempt->pod->meta, "Warning", "FailedScheduling",
                   "skip schedule deleting pod: %s", attempt->pod->meta.key->text);
        plan_change(plan, &(PlanChange){.what = CHANGE_DROP, .pointer = attempt});
        return;
    }
    CycleResult *result = plan_new_arg(plan, CycleResult);
    *result =
        cycle_run(self->cycle, attempt->pod, attempt->queued->attempts, self->next_start_node);
    g_autofree char *message = g_steal_pointer(&result->message);
    if (message != NULL)
        result->message = (char *)strings_intern(self->base.strings, message);

    plan_because(plan, result->rule);
    if (result->node_name != NULL)
        plan_choices(self, plan);
    plan_wait(plan, cycle_time(self, attempt, result), WAIT_THINK);
    plan_preemption(self, plan, result);
    plan_own(plan, g_steal_pointer(&result->victims), (GDestroyNotify)g_ptr_array_unref);
    plan_change(plan, &(PlanChange){.what = CHANGE_CYCLE_DONE, .pointer = result});
    plan_then(plan, decide_after_cycle);
}

static void
start_attempt(Scheduler *self, QueuedPod *entry)
{
    Attempt *attempt = attempt_new(entry->pod, entry);
    PlanStart start = {
        .component = &self->base,
        .decide = decide_node,
        .key = (ObjectKey *)entry->pod->meta.key,
        .operation = attempt,
        .free_operation = attempt_free,
        .done = attempt_done,
    };

    attempt->started_at = sim_now(self->base.sim);
    attempt->admitted_at = entry->admitted_at;
    attempt->number = entry->attempts;
    attempt->holds_loop = TRUE;
    self->moved_since_pop = FALSE;
    self->current = attempt;
    sim_resume(self->base.sim, entry->parked, WAIT_SCHEDULER_QUEUE, 0);
    Plan *plan = plan_start(&start);
    if (plan != NULL) /* else it is over, and the attempt is gone */
        attempt->plan = plan;
}

/* SCH-50.1, SCH-50.2 */
static void
pop_pods(Sim *sim, void *data)
{
    Scheduler *self = data;
    QueuedPod *entry;

    (void)sim;
    self->pop_event = 0;
    while (self->current == NULL && (entry = scheduling_queue_next(self->queue)) != NULL) {
        if (entry->place == PLACE_BACKOFF) {
            scheduler_end_wait(self, entry, WAIT_BACKOFF);
            scheduler_put(self, entry, PLACE_ACTIVE);
            scheduler_count_move(self, entry, "PopFromBackoffQ");
        }
        scheduling_queue_pop(self->queue);
        if (scheduler_cache_find_pod(self->cache, entry->pod->meta.key, entry->pod->meta.uid) !=
            NULL)
            queued_pod_free(entry); /* assumed already */
        else
            start_attempt(self, entry);
    }
}

static const SimEventType pop_event = {
    .name = "scheduler/pop",
    .fire = pop_pods,
};

/* Deferred: all pods that enter activeQ at one instant are in the heap before the first is taken */
void
scheduler_wake_loop(Scheduler *self)
{
    if (self->current != NULL || self->pop_event != 0 || scheduling_queue_next(self->queue) == NULL)
        return;
    self->pop_event = sim_after(self->base.sim, 0, &pop_event, self, WAIT_NONE);
}

/* ---- Changes ---- */

/* Nominates the node for a pod that is back in the queue, or takes its nomination back. */
static void
scheduler_nominate(Scheduler *self, const Attempt *attempt)
{
    const Pod *pod = living_pod(informer_get(self->pods, attempt->pod->meta.key));

    if (attempt->keeps_nomination)
        return;
    if (pod == NULL || pod->node_name != NULL ||
        !object_uid_equal(pod->meta.uid, attempt->pod->meta.uid))
        scheduler_cache_nominate(self->cache, attempt->pod, NULL);
    else
        scheduler_cache_nominate(self->cache, pod, attempt->nominated);
}

#define PROFILE "default-scheduler"

/* MET-20, MET-21 */
static void
measure_attempt(const Scheduler *self, const Attempt *attempt, const char *result)
{
    SimMetrics *metrics = sim_metrics(self->base.sim);
    const char *job = process_job(self->base.process);

    if (metrics == NULL)
        return;
    sim_series_add(metric_series(metrics, METRIC_SCHEDULER_ATTEMPTS, job, PROFILE, result), 1);
    sim_series_observe(metric_series(metrics, METRIC_SCHEDULER_ATTEMPT, job, PROFILE, result),
                       sim_now(self->base.sim) - attempt->started_at);
}

/* MET-23, MET-25 */
static void
measure_success(const Scheduler *self, const Attempt *attempt)
{
    SimMetrics *metrics = sim_metrics(self->base.sim);
    const char *job = process_job(self->base.process);

    if (metrics == NULL)
        return;
    g_autofree char *number =
        attempt->number < 15 ? g_strdup_printf("%u", attempt->number) : g_strdup("15+");
    sim_series_observe(metric_series(metrics, METRIC_SCHEDULER_SLI, job, number),
                       sim_now(self->base.sim) - attempt->admitted_at);
    sim_series_observe(metric_series(metrics, METRIC_SCHEDULER_POD_ATTEMPTS, job, NULL),
                       attempt->number);
}

static void
scheduler_attempt_fail(Scheduler *self,
                       Attempt *attempt,
                       const char *message,
                       const char *reason,
                       uint32_t rejected_by)
{
    measure_attempt(self, attempt,
                    g_str_equal(reason, "Unschedulable") ? "unschedulable" : "error");
    attempt->failure = message;
    attempt->reason = reason;
    scheduler_put_back(self, attempt, rejected_by);
    scheduler_nominate(self, attempt); /* SCH-80.4 */
}

static void
forget_pod(Scheduler *self, const Attempt *attempt)
{
    CachedPod *cached =
        scheduler_cache_find_pod(self->cache, attempt->pod->meta.key, attempt->pod->meta.uid);

    if (cached != NULL && cached->attempt == attempt)
        scheduler_cache_remove_pod(self->cache, cached);
}

/* SCH-50.9, SCH-50.10. Bindings run beside the cycles, any number at once (SCH-16); meanwhile the
 * pod counts against the node (SCH-74). */
static void
attempt_assume(Scheduler *self, Attempt *attempt)
{
    g_autofree char *why = NULL;

    scheduler_cache_add_pod(self->cache, attempt->pod, attempt->node_name, attempt);
    scheduler_cache_nominate(self->cache, attempt->pod, NULL);
    why = volume_binder_reserve(&self->binder, choices_of(attempt), attempt->choices->len,
                                attempt->node_name);
    if (why == NULL) {
        release_loop(self, attempt);
        return;
    }
    forget_pod(self, attempt);
    scheduler_count_stage_error(self, "assume");
    scheduler_attempt_fail(
        self, attempt,
        strings_internf(self->base.strings, "running Reserve plugin \"VolumeBinding\": %s", why),
        "SchedulerError", 0);
}

static void
cycle_done(Scheduler *self, const CycleResult *result)
{
    Attempt *attempt = self->current;

    self->next_start_node += result->n_examined;
    scheduler_measure_cycle(self, result, sim_now(self->base.sim) - attempt->started_at);
    if (result->node_name == NULL) {
        attempt->nominated = result->nominated;
        attempt->keeps_nomination = result->keeps_nomination;
        scheduler_attempt_fail(self, attempt, result->message,
                               result->is_error ? "SchedulerError" : "Unschedulable",
                               result->plugins);
        return;
    }
    attempt->node_name = result->node_name;
    attempt_assume(self, attempt);
}

static void
choice_made(Attempt *attempt, const PlanChange *change)
{
    VolumeChoice choice = {.claim = change->key, .chosen = object_ref(change->object)};

    g_array_append_val(attempt->choices, choice);
}

static void
choice_written(Attempt *attempt, const PlanChange *change)
{
    const Object *written = plan_object(attempt->plan, (int)change->number);

    for (unsigned i = 0; i < attempt->choices->len; i++) {
        if (choices_of(attempt)[i].claim == change->key)
            choices_of(attempt)[i].written_version = written->resource_version;
    }
}

/* SCH-72, VB-98: writes are not undone. An error names no plugin, so the pod backs off (SCH-73). */
static void
binding_failed(Scheduler *self, Attempt *attempt, const char *message)
{
    g_autoptr(Object) assumed = object_edit(&attempt->pod->meta);

    if (strstr(message, "PreBind plugin \"VolumeBinding\"") != NULL)
        scheduler_count_stage_error(self, "bind");
    POD(assumed)->node_name = attempt->node_name;
    volume_binder_unreserve(&self->binder, choices_of(attempt), attempt->choices->len);
    forget_pod(self, attempt);
    scheduler_happened(self, EVENT_POD, assumed, NULL);
    scheduler_attempt_fail(self, attempt, message, "SchedulerError", 0);
}

static void
pod_bound(Scheduler *self, Attempt *attempt)
{
    CachedPod *cached =
        scheduler_cache_find_pod(self->cache, attempt->pod->meta.key, attempt->pod->meta.uid);

    if (cached != NULL && cached->attempt == attempt)
        scheduler_cache_set_attempt(self->cache, cached, NULL);
    measure_attempt(self, attempt, "scheduled");
    measure_success(self, attempt);
}

void
scheduler_apply_change(void *data, const PlanChange *change)
{
    Scheduler *self = data;
    Attempt *attempt = (Attempt *)change->pointer;

    switch ((AttemptChangeKind)change->what) {
    case CHANGE_CHOOSE:
        choice_made(attempt, change);
        return;
    case CHANGE_CYCLE_DONE:
        cycle_done(self, change->pointer);
        return;
    case CHANGE_DROP:
        queued_pod_free(g_steal_pointer(&attempt->queued));
        return;
    case CHANGE_WRITTEN:
        choice_written(attempt, change);
        return;
    case CHANGE_FORGET:
        binding_failed(self, attempt, change->text);
        return;
    case CHANGE_BOUND:
        pod_bound(self, attempt);
        return;
    }
}
