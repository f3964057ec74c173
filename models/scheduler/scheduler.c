/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "scheduler.h"

#include "cycle.h"
#include "events.h"
#include "models/plan.h"
#include "queue.h"
#include "sim/ticker.h"

#include <string.h>

#define BACKOFF_FLUSH_PERIOD SIM_SECOND              /* SCH-4 */
#define UNSCHEDULABLE_FLUSH_PERIOD (30 * SIM_SECOND) /* SCH-5 */
#define BINDING_POLL_PERIOD SIM_SECOND               /* VB-2 */
#define SCHEDULER_NAME "default-scheduler"           /* SCH-40: of its profile */
#define EVENT_NOTE_MAX 1024                          /* SCH-17 */

typedef struct Scheduler Scheduler;

/* One pod from its pop to its binding or its way back to the queue: the operation of a plan. */
typedef struct {
    Plan *plan;            /* borrowed; NULL: not started, or over */
    const Pod *pod;        /* (owned): as popped */
    QueuedPod *queued;     /* (owned): NULL: back in the queue, or on its way to a node */
    const char *node_name; /* interned; NULL: none found */
    GArray *choices;       /* of VolumeChoice: what its claims get there */
    const char *failure;   /* interned; NULL: none so far */
    const char *reason;    /* of the pod's condition, with failure */
    gboolean holds_loop;   /* the next pod waits until this is done */
} Attempt;

struct Scheduler {
    Component base;
    SchedulingQueue *queue;
    SchedulerCache *cache;
    VolumeBinder binder;
    CycleView view;
    Cycle *cycle;     /* buffers of the one cycle at a time (SCH-15); nothing is kept in them */
    Attempt *current; /* the one that holds the loop; borrowed */
    GArray *
        in_flight_events; /* of ClusterEvent, objects (owned): since the current pod was popped (SCH-65) */
    unsigned next_start_node; /* SCH-55 */
    SimEventId pop_event;
    SimTicker *backoff_flush, *unschedulable_flush;
    Informer *pods;
    InformerIndex *pods_by_claim;
};

typedef enum {
    CHANGE_CHOOSE,     /* @pointer: attempt, @key: claim, @object: what it gets */
    CHANGE_CYCLE_DONE, /* @pointer: Outcome */
    CHANGE_DROP,       /* @pointer: attempt */
    CHANGE_WRITTEN,    /* @pointer: attempt, @key: claim, @number: the step of its write */
    CHANGE_FORGET,     /* @pointer: attempt, @text: why */
    CHANGE_BOUND,      /* @pointer: attempt */
} ChangeKind;

typedef struct {
    Attempt *attempt;
    CycleResult result; /* its message is interned here */
} Outcome;

static const KubeSchedulerOptions *
options_of(const Scheduler *self)
{
    return self->base.options;
}

static void wake_loop(Scheduler *self);

/* ---- Attempts ---- */

static void
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
clear_in_flight_events(Scheduler *self)
{
    for (unsigned i = 0; i < self->in_flight_events->len; i++) {
        const ClusterEvent *event = &g_array_index(self->in_flight_events, ClusterEvent, i);
        if (event->before != NULL)
            object_unref(event->before);
        if (event->after != NULL)
            object_unref(event->after);
    }
    g_array_set_size(self->in_flight_events, 0);
}

static void
release_loop(Scheduler *self, Attempt *attempt)
{
    if (!attempt->holds_loop)
        return;
    attempt->holds_loop = FALSE;
    self->current = NULL;
    clear_in_flight_events(self);
    wake_loop(self);
}

static void
attempt_done(void *data, Plan *plan, PlanEnd end, const char *message)
{
    Attempt *attempt = plan_operation(plan);

    (void)end;
    (void)message;
    attempt->plan = NULL;
    release_loop(data, attempt);
}

/* Of an assumed pod: what binds it. NULL: nothing does */
static Attempt *
attempt_of(const Scheduler *self, const Object *pod)
{
    const CachedPod *cached = scheduler_cache_find_pod(self->cache, pod->key, pod->uid);

    return cached == NULL ? NULL : cached->attempt;
}

static void
wake_attempt(const Attempt *attempt)
{
    if (attempt != NULL && attempt->plan != NULL)
        plan_wake(attempt->plan);
}

/* ---- The queue: who is put where, and moved when ---- */

static gboolean
is_gated(const Pod *pod)
{
    return pod->spec->scheduling_gates != NULL && pod->spec->scheduling_gates->n_items > 0;
}

static void
put_in_queue(Scheduler *self, QueuedPod *entry, QueuePlace place)
{
    scheduling_queue_put(self->queue, entry, place, sim_now(self->base.sim));
    switch (place) {
    case PLACE_ACTIVE:
        wake_loop(self);
        break;
    case PLACE_BACKOFF:
        sim_ticker_wake(self->backoff_flush);
        break;
    case PLACE_UNSCHEDULABLE:
        sim_ticker_wake(self->unschedulable_flush);
        break;
    case PLACE_NONE:
        break;
    }
}

/* SCH-64 */
static void
put_after_backoff(Scheduler *self, QueuedPod *entry)
{
    gboolean backing_off =
        scheduling_queue_is_backing_off(self->queue, entry, sim_now(self->base.sim));

    put_in_queue(self, entry, backing_off ? PLACE_BACKOFF : PLACE_ACTIVE);
}

/* SCH-41: a new pod. */
static void
enter_queue(Scheduler *self, const Pod *pod)
{
    QueuedPod *entry = queued_pod_new(pod, sim_now(self->base.sim));

    entry->parked = sim_cause(self->base.sim);
    entry->gated = is_gated(pod);
    put_in_queue(self, entry, entry->gated ? PLACE_UNSCHEDULABLE : PLACE_ACTIVE);
}

/* The time that a pod spent where it was, in the log of causes; the event at hand keeps its own cause. */
static void
end_wait(Scheduler *self, QueuedPod *entry, WaitKind wait)
{
    SimCauseId cause = sim_cause(self->base.sim);
    uint16_t detail = entry->unschedulable_plugins == 0
                          ? 0
                          : (uint16_t)(__builtin_ctz(entry->unschedulable_plugins) + 1);

    entry->parked = sim_resume(self->base.sim, entry->parked, (SimWait)wait, detail);
    sim_set_cause(self->base.sim, cause);
}

/* What a pod waits for when only its own claims are missing is told by their chain of causes; all else is a wait for the
 * cluster to change. */
static void
end_unschedulable(Scheduler *self, QueuedPod *entry, EventResource resource)
{
    if (resource == EVENT_CLAIM || resource == EVENT_VOLUME)
        entry->parked = sim_cause(self->base.sim);
    else
        end_wait(self, entry, WAIT_UNSCHEDULABLE);
}

/* Returns: whether it moved */
static gboolean
move_if_helped(Scheduler *self, QueuedPod *entry, const ClusterEvent *event)
{
    if (entry->place != PLACE_UNSCHEDULABLE || entry->gated ||
        cluster_event_helps(event, entry->pod, entry->unschedulable_plugins) == NULL)
        return FALSE;
    end_unschedulable(self, entry, event->resource);
    put_after_backoff(self, entry);
    return TRUE;
}

static void
move_users_of_claim(Scheduler *self, const ClusterEvent *event)
{
    const ObjectKey *claim = event->after == NULL ? event->before->key : event->after->key;
    unsigned n;
    const Object *const *pods = informer_index_get(self->pods_by_claim, claim, &n);

    for (unsigned i = 0; i < n; i++) {
        QueuedPod *entry = scheduling_queue_find(self->queue, pods[i]->key);
        if (entry != NULL)
            move_if_helped(self, entry, event);
    }
}

static void
remember_in_flight(Scheduler *self, const ClusterEvent *event)
{
    ClusterEvent copy = *event;

    if (self->current == NULL || self->current->queued == NULL)
        return;
    if (copy.before != NULL)
        object_ref(copy.before);
    if (copy.after != NULL)
        object_ref(copy.after);
    g_array_append_val(self->in_flight_events, copy);
}

/* SCH-62, SCH-63: something happened; who was turned away for that? */
static void
happened(Scheduler *self, EventResource resource, const Object *before, const Object *after)
{
    ClusterEvent event = cluster_event(resource, before, after);
    uint32_t registered = cluster_event_plugins(&event);

    if (registered == 0)
        return;
    remember_in_flight(self, &event);
    if (!scheduling_queue_any_rejected_by(self->queue, registered))
        return;
    if (resource == EVENT_CLAIM) {
        move_users_of_claim(self, &event);
        return;
    }
    for (unsigned i = 0; i < scheduling_queue_length(self->queue, PLACE_UNSCHEDULABLE);) {
        /* One that moves leaves its place to another that has not been asked yet. */
        if (!move_if_helped(self, scheduling_queue_at(self->queue, PLACE_UNSCHEDULABLE, i), &event))
            i++;
    }
}

/* SCH-81: what happened while the pod was tried is not lost. */
static gboolean
is_helped_already(const Scheduler *self, const QueuedPod *entry)
{
    for (unsigned i = 0; i < self->in_flight_events->len; i++) {
        const ClusterEvent *event = &g_array_index(self->in_flight_events, ClusterEvent, i);
        if (event->resource == EVENT_OWN_POD && event->after->key != entry->pod->meta.key)
            continue;
        if (cluster_event_helps(event, entry->pod, entry->unschedulable_plugins) != NULL)
            return TRUE;
    }
    return FALSE;
}

static const Pod *
living(const Object *object)
{
    return object == NULL || pod_is_terminal(POD_CONST(object)) ? NULL : POD_CONST(object);
}

/* SCH-80.3 */
static void
put_back(Scheduler *self, Attempt *attempt, uint32_t rejected_by)
{
    const Pod *pod = living(informer_get(self->pods, attempt->pod->meta.key));
    QueuedPod *entry = g_steal_pointer(&attempt->queued);

    if (pod == NULL || pod->node_name != NULL ||
        scheduling_queue_find(self->queue, pod->meta.key) != NULL) {
        queued_pod_free(entry);
        return;
    }
    queued_pod_set_pod(entry, pod);
    entry->timestamp = sim_now(self->base.sim);
    entry->unschedulable_plugins = rejected_by;
    entry->parked = sim_cause(self->base.sim);
    if (rejected_by == 0 || is_helped_already(self, entry))
        put_after_backoff(self, entry);
    else
        put_in_queue(self, entry, PLACE_UNSCHEDULABLE);
}

/* SCH-35: one tick of backoffQ. */
static gboolean
flush_backoff(void *data)
{
    Scheduler *self = data;
    QueuedPod *entry;

    while ((entry = scheduling_queue_backed_off(self->queue, sim_now(self->base.sim))) != NULL) {
        end_wait(self, entry, WAIT_BACKOFF);
        put_in_queue(self, entry, PLACE_ACTIVE);
    }
    return scheduling_queue_length(self->queue, PLACE_BACKOFF) > 0;
}

/* SCH-36 */
static gboolean
flush_unschedulable(void *data)
{
    Scheduler *self = data;
    SimTime too_old = sim_now(self->base.sim) - options_of(self)->pod_max_in_unschedulable;

    for (unsigned i = 0; i < scheduling_queue_length(self->queue, PLACE_UNSCHEDULABLE);) {
        QueuedPod *entry = scheduling_queue_at(self->queue, PLACE_UNSCHEDULABLE, i);
        if (entry->gated || entry->timestamp >= too_old) {
            i++;
            continue;
        }
        end_wait(self, entry, WAIT_UNSCHEDULABLE);
        put_after_backoff(self, entry);
    }
    return scheduling_queue_length(self->queue, PLACE_UNSCHEDULABLE) > 0;
}

/* ---- Failure: what the pod and the user are told ---- */

typedef struct {
    const char *reason, *message;
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

    if (is_unschedulable_already(pod, edit->reason, edit->message))
        return FALSE;
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
    plan_failed_scheduling(plan, attempt->pod, attempt->failure);
    if (is_unschedulable_already(attempt->pod, attempt->reason, attempt->failure))
        return;
    ConditionEdit *edit = plan_new_arg(plan, ConditionEdit);
    *edit = (ConditionEdit){attempt->reason, attempt->failure, plan_now(plan)};
    plan_patch_status(plan, attempt->pod->meta.key, edit_set_unschedulable, edit, PLAN_GO_ON);
}

/* SCH-72: the binding cycle has failed. */
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
              volumes_are_bound, PLAN_DECIDE);
    plan_then(plan, decide_bind_pod);
}

/* What is assumed is sent as it is. */
static gboolean
edit_nothing(Object *object, const void *arg)
{
    (void)object;
    (void)arg;
    return FALSE;
}

/* VB-91: volumes first, then claims; one after the other. Also what has been written before is sent (VB-92). */
static void
plan_writes(Plan *plan, Attempt *attempt)
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

/* SCH-70: PreBind, or straight on if all claims are bound (VB-90). */
static void
decide_bind_volumes(const void *data, Plan *plan)
{
    Attempt *attempt = plan_operation(plan);

    (void)data;
    if (attempt->choices->len == 0) {
        plan_binding(plan, attempt);
        return;
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
        decide_bind_volumes(data, plan);
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

/* SCH-50: decided at the instant of the pop; the cycle takes its time, and then it counts. */
static void
decide_node(const void *data, Plan *plan)
{
    const Scheduler *self = data;
    Attempt *attempt = plan_operation(plan);

    if (object_is_deleted(&attempt->pod->meta)) {
        plan_because(plan, "SCH-50.2");
        plan_event(plan, &attempt->pod->meta, "Warning", "FailedScheduling",
                   "skip schedule deleting pod: %s", attempt->pod->meta.key->text);
        plan_change(plan, &(PlanChange){.what = CHANGE_DROP, .pointer = attempt});
        return;
    }
    Outcome *outcome = plan_new_arg(plan, Outcome);
    outcome->attempt = attempt;
    outcome->result =
        cycle_run(self->cycle, attempt->pod, attempt->queued->attempts, self->next_start_node);
    g_autofree char *message = g_steal_pointer(&outcome->result.message);
    if (message != NULL)
        outcome->result.message = (char *)strings_intern(self->base.strings, message);

    plan_because(plan, outcome->result.rule);
    if (outcome->result.node_name != NULL)
        plan_choices(self, plan);
    plan_wait(plan, options_of(self)->cycle_duration, WAIT_THINK);
    plan_change(plan, &(PlanChange){.what = CHANGE_CYCLE_DONE, .pointer = outcome});
    plan_then(plan, decide_after_cycle);
}

static void
start_attempt(Scheduler *self, QueuedPod *entry)
{
    Attempt *attempt = g_slice_new0(Attempt);
    PlanStart start = {
        .component = &self->base,
        .decide = decide_node,
        .key = (ObjectKey *)entry->pod->meta.key,
        .operation = attempt,
        .free_operation = attempt_free,
        .done = attempt_done,
    };

    object_ref(&entry->pod->meta);
    attempt->pod = entry->pod;
    attempt->queued = entry;
    attempt->choices = g_array_new(FALSE, TRUE, sizeof(VolumeChoice));
    attempt->holds_loop = TRUE;
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
    while (self->current == NULL && (entry = scheduling_queue_pop(self->queue)) != NULL) {
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

/* All that enters activeQ at one instant is in the heap before the first is taken. */
static void
wake_loop(Scheduler *self)
{
    if (self->current != NULL || self->pop_event != 0 ||
        scheduling_queue_length(self->queue, PLACE_ACTIVE) == 0)
        return;
    self->pop_event = sim_after(self->base.sim, 0, &pop_event, self, WAIT_NONE);
}

/* ---- Changes ---- */

static void
fail(Scheduler *self,
     Attempt *attempt,
     const char *message,
     const char *reason,
     uint32_t rejected_by)
{
    attempt->failure = message;
    attempt->reason = reason;
    put_back(self, attempt, rejected_by);
}

static void
forget_pod(Scheduler *self, const Attempt *attempt)
{
    CachedPod *cached =
        scheduler_cache_find_pod(self->cache, attempt->pod->meta.key, attempt->pod->meta.uid);

    if (cached != NULL && cached->attempt == attempt)
        scheduler_cache_remove_pod(self->cache, cached);
}

/* SCH-50.9, SCH-50.10 */
static void
assume(Scheduler *self, Attempt *attempt)
{
    g_autofree char *why = NULL;

    scheduler_cache_add_pod(self->cache, attempt->pod, attempt->node_name, attempt);
    why = volume_binder_reserve(&self->binder, choices_of(attempt), attempt->choices->len,
                                attempt->node_name);
    if (why == NULL) {
        release_loop(self, attempt);
        return;
    }
    forget_pod(self, attempt);
    fail(self, attempt,
         strings_internf(self->base.strings, "running Reserve plugin \"VolumeBinding\": %s", why),
         "SchedulerError", 0);
}

static void
cycle_done(Scheduler *self, const Outcome *outcome)
{
    const CycleResult *result = &outcome->result;
    Attempt *attempt = outcome->attempt;

    self->next_start_node += result->n_examined;
    if (result->node_name == NULL) {
        fail(self, attempt, result->message, result->is_error ? "SchedulerError" : "Unschedulable",
             result->plugins);
        return;
    }
    attempt->node_name = result->node_name;
    assume(self, attempt);
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

/* SCH-72 */
static void
binding_failed(Scheduler *self, Attempt *attempt, const char *message)
{
    volume_binder_unreserve(&self->binder, choices_of(attempt), attempt->choices->len);
    forget_pod(self, attempt);
    happened(self, EVENT_POD, &attempt->pod->meta, NULL);
    fail(self, attempt, message, "SchedulerError", 0);
}

static void
pod_bound(Scheduler *self, Attempt *attempt)
{
    CachedPod *cached =
        scheduler_cache_find_pod(self->cache, attempt->pod->meta.key, attempt->pod->meta.uid);

    if (cached != NULL && cached->attempt == attempt)
        cached->attempt = NULL;
}

static void
apply_change(void *data, const PlanChange *change)
{
    Scheduler *self = data;
    Attempt *attempt = (Attempt *)change->pointer;

    switch ((ChangeKind)change->what) {
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

/* ---- What informers tell ---- */

/* SCH-100, SCH-101: a pod that waits for a node has changed. */
static void
waiting_pod_changed(Scheduler *self, const Object *before, const Pod *pod)
{
    QueuedPod *entry = scheduling_queue_find(self->queue, pod->meta.key);
    ClusterEvent event = cluster_event(EVENT_OWN_POD, before, &pod->meta);

    if (scheduler_cache_find_pod(self->cache, pod->meta.key, pod->meta.uid) != NULL)
        return;
    if (self->current != NULL && self->current->queued != NULL &&
        object_uid_equal(self->current->pod->meta.uid, pod->meta.uid)) {
        remember_in_flight(self, &event);
        return;
    }
    if (entry == NULL) {
        enter_queue(self, pod);
        return;
    }
    queued_pod_set_pod(entry, pod);
    scheduling_queue_fix(self->queue, entry);
    if (entry->gated && !is_gated(pod)) { /* SCH-44 */
        scheduling_queue_take(self->queue, entry);
        entry->gated = FALSE;
        put_in_queue(self, entry, PLACE_ACTIVE);
        return;
    }
    move_if_helped(self, entry, &event);
}

static void
leave_queue(Scheduler *self, const ObjectKey *key)
{
    QueuedPod *entry = scheduling_queue_find(self->queue, key);

    if (entry != NULL)
        queued_pod_free(scheduling_queue_take(self->queue, entry));
}

static void
pod_on_node_changed(Scheduler *self, const Pod *was, const Pod *is)
{
    if (is == NULL) {
        CachedPod *cached = scheduler_cache_find_pod(self->cache, was->meta.key, was->meta.uid);
        if (cached != NULL)
            scheduler_cache_remove_pod(self->cache, cached);
        happened(self, EVENT_POD, &was->meta, NULL);
        return;
    }
    gboolean is_new = was == NULL || was->node_name == NULL;
    const CachedPod *cached = scheduler_cache_find_pod(self->cache, is->meta.key, is->meta.uid);
    scheduler_cache_add_pod(self->cache, is, is->node_name,
                            cached == NULL ? NULL : cached->attempt);
    if (is_new)
        leave_queue(self, is->meta.key);
    happened(self, EVENT_POD, is_new ? NULL : &was->meta, &is->meta);
}

/* SCH-40. A pod that is over is gone for the scheduler (VF-50). */
static void
pod_changed(void *data, const Object *before, const Object *after)
{
    Scheduler *self = data;
    const Pod *was = living(before), *is = living(after);

    if (before == after || (was == NULL && is == NULL))
        return;
    if ((is != NULL && is->node_name != NULL) || (is == NULL && was->node_name != NULL)) {
        pod_on_node_changed(self, was, is);
    } else if (is == NULL) { /* SCH-102; who binds it notices at the next poll */
        leave_queue(self, was->meta.key);
        wake_attempt(attempt_of(self, &was->meta));
    } else if (!g_str_equal(is->spec->scheduler_name, SCHEDULER_NAME)) {
        return;
    } else if (was == NULL) {
        enter_queue(self, is);
    } else {
        waiting_pod_changed(self, before, is);
    }
}

static void
wake_users_of_claim(const Scheduler *self, const ObjectKey *claim)
{
    unsigned n = 0;
    const Object *const *pods =
        claim == NULL ? NULL : informer_index_get(self->pods_by_claim, claim, &n);

    for (unsigned i = 0; i < n; i++)
        wake_attempt(attempt_of(self, pods[i]));
}

static void
claim_changed(void *data, const Object *before, const Object *after)
{
    Scheduler *self = data;
    const ObjectKey *key = after == NULL ? before->key : after->key;

    if (before == after)
        return;
    assume_cache_observe(self->binder.claims, before, after);
    scheduler_cache_claim_changed(self->cache, key);
    wake_users_of_claim(self, key);
    happened(self, EVENT_CLAIM, before, after);
}

static void
volume_changed(void *data, const Object *before, const Object *after)
{
    Scheduler *self = data;

    if (before == after)
        return;
    assume_cache_observe(self->binder.volumes, before, after);
    scheduler_cache_volume_changed(self->cache, before, after);
    if (before != NULL)
        wake_users_of_claim(self, VOLUME_CONST(before)->claim_ref.claim);
    if (after != NULL && (before == NULL || VOLUME_CONST(after)->claim_ref.claim !=
                                                VOLUME_CONST(before)->claim_ref.claim))
        wake_users_of_claim(self, VOLUME_CONST(after)->claim_ref.claim);
    happened(self, EVENT_VOLUME, before, after);
}

static void
node_changed(void *data, const Object *before, const Object *after)
{
    Scheduler *self = data;
    const ObjectKey *key = after == NULL ? before->key : after->key;

    if (before == after)
        return;
    gboolean matters =
        before == NULL || after == NULL || !string_map_equal(before->labels, after->labels);
    scheduler_cache_set_node(self->cache, key, (const Node *)after);
    for (const CachedPod *pod = matters ? scheduler_cache_find_node(self->cache, key)->pods : NULL;
         pod != NULL; pod = pod->next_on_node)
        wake_attempt(pod->attempt);
    happened(self, EVENT_NODE, before, after);
}

static void
csi_node_changed(void *data, const Object *before, const Object *after)
{
    Scheduler *self = data;
    const char *name = after == NULL ? before->key->name : after->key->name;

    if (before == after)
        return;
    scheduler_cache_set_csi_node(self->cache,
                                 objects_key(self->base.objects, KIND_NODE, NULL, name),
                                 (const CsiNode *)after);
    happened(self, EVENT_CSI_NODE, before, after);
}

static void
attachment_changed(void *data, const Object *before, const Object *after)
{
    Scheduler *self = data;

    scheduler_cache_attachment_changed(self->cache, before, after);
    if (before != after)
        happened(self, EVENT_ATTACHMENT, before, after);
}

static void
class_changed(void *data, const Object *before, const Object *after)
{
    if (before != after)
        happened(data, EVENT_CLASS, before, after);
}

static void
capacity_changed(void *data, const Object *before, const Object *after)
{
    if (before != after)
        happened(data, EVENT_CAPACITY, before, after);
}

/* ---- Start and end ---- */

static void
init_view(Scheduler *self)
{
    cycle_view_init(&self->view, self->base.process, self->base.sim, self->base.objects);
    self->view.percentage_of_nodes_to_score = options_of(self)->percentage_of_nodes_to_score;
    self->view.binder = &self->binder;
    self->pods = process_informer(self->base.process, KIND_POD, NULL);
    self->pods_by_claim = informer_add_index(self->pods, index_pods_by_claim);
}

static void
init_state(Scheduler *self)
{
    CacheOptions cache_options = {
        .sources = {self->base.objects, self->view.claims, self->view.volumes, self->view.classes},
        .attachments = process_informer(self->base.process, KIND_ATTACHMENT, NULL),
        .strings = self->base.strings,
    };
    QueueOptions queue_options = {options_of(self)->pod_initial_backoff_s * SIM_SECOND,
                                  options_of(self)->pod_max_backoff_s * SIM_SECOND};

    self->queue = scheduling_queue_new(&queue_options);
    self->cache = scheduler_cache_new(&cache_options);
    self->binder = (VolumeBinder){
        .claims = assume_cache_new(self->view.claims, "v1.PersistentVolumeClaim"),
        .volumes = assume_cache_new(self->view.volumes, "v1.PersistentVolume"),
        .nodes = process_informer(self->base.process, KIND_NODE, NULL),
        .pods = self->pods,
        .objects = self->base.objects,
    };
    self->view.cache = self->cache;
    self->cycle = cycle_new(&self->view);
    self->in_flight_events = g_array_new(FALSE, TRUE, sizeof(ClusterEvent));
}

/* Both loops of the queue start with the scheduler, so their grids agree. At t = 0 it has been running for some time: the
 * phase is drawn (TIM-52). */
static void
init_tickers(Scheduler *self)
{
    SimStream stream = sim_stream(self->base.sim, "kube-scheduler/phase");
    gboolean drawn = !self->base.started_late;
    SimTime fraction = drawn ? (SimTime)sim_random_below(stream, 0, 0, SIM_SECOND) : 0;
    SimTime seconds =
        drawn ? (SimTime)sim_random_below(stream, 0, 1, UNSCHEDULABLE_FLUSH_PERIOD / SIM_SECOND)
              : 0;

    self->backoff_flush = sim_ticker_new(self->base.sim, &(SimTickerOptions){
                                                             .name = "scheduler/flush backoffQ",
                                                             .kind = SIM_TICKER_FIXED,
                                                             .period = BACKOFF_FLUSH_PERIOD,
                                                             .phase = fraction,
                                                             .order = self->base.order,
                                                             .wait = WAIT_BACKOFF,
                                                             .pass = flush_backoff,
                                                             .self = self,
                                                         });
    self->unschedulable_flush =
        sim_ticker_new(self->base.sim, &(SimTickerOptions){
                                           .name = "scheduler/flush unschedulable pods",
                                           .kind = SIM_TICKER_FIXED,
                                           .period = UNSCHEDULABLE_FLUSH_PERIOD,
                                           .phase = fraction + seconds * SIM_SECOND,
                                           .order = self->base.order + 1,
                                           .wait = WAIT_UNSCHEDULABLE,
                                           .pass = flush_unschedulable,
                                           .self = self,
                                       });
}

/* Pods last: what they need is known by then. */
static void
scheduler_init(void *data)
{
    Scheduler *self = data;

    init_view(self);
    init_state(self);
    init_tickers(self);
    informer_add_handler(self->view.classes, class_changed, self);
    informer_add_handler(self->binder.nodes, node_changed, self);
    informer_add_handler(process_informer(self->base.process, KIND_CSI_NODE, NULL),
                         csi_node_changed, self);
    informer_add_handler(self->view.capacities, capacity_changed, self);
    informer_add_handler(self->view.volumes, volume_changed, self);
    informer_add_handler(self->view.claims, claim_changed, self);
    informer_add_handler(process_informer(self->base.process, KIND_ATTACHMENT, NULL),
                         attachment_changed, self);
    informer_add_handler(self->pods, pod_changed, self);
}

static void
scheduler_clear(void *data)
{
    Scheduler *self = data;

    sim_cancel(self->base.sim, self->pop_event);
    sim_ticker_free(self->backoff_flush);
    sim_ticker_free(self->unschedulable_flush);
    clear_in_flight_events(self);
    g_array_unref(self->in_flight_events);
    cycle_free(self->cycle);
    assume_cache_free(self->binder.claims);
    assume_cache_free(self->binder.volumes);
    scheduler_cache_free(self->cache);
    scheduling_queue_free(self->queue);
}

/* SCH-13: pods, claims and volumes share one bucket; events have another of the same size. */
static double
scheduler_client_qps(const void *data, unsigned *burst)
{
    const KubeSchedulerOptions *options = data;

    *burst = (unsigned)options->kube_api_burst;
    return options->kube_api_qps;
}

#define FLAG(flag, type, field, value, help)                                                       \
    {                                                                                              \
        flag, type, offsetof(KubeSchedulerOptions, field), value, help                             \
    }
static const ProcessFlag flags[] = {
    FLAG("kube-api-qps",
         FLAG_NUMBER,
         kube_api_qps,
         "50",
         "requests a second of its client, and as many events (SCH-13)"),
    FLAG("kube-api-burst", FLAG_INT, kube_api_burst, "100", "requests at once (SCH-13)"),
    FLAG("percentageOfNodesToScore",
         FLAG_INT,
         percentage_of_nodes_to_score,
         "0",
         "how many of the nodes are enough; 0: fewer the more there are (SCH-54)"),
    FLAG("podInitialBackoffSeconds",
         FLAG_INT,
         pod_initial_backoff_s,
         "1",
         "wait after the first failure; then doubled (SCH-33)"),
    FLAG("podMaxBackoffSeconds",
         FLAG_INT,
         pod_max_backoff_s,
         "10",
         "longest wait after a failure (SCH-33)"),
    FLAG("bindTimeoutSeconds",
         FLAG_INT,
         bind_timeout_s,
         "600",
         "how long a pod waits for its volumes to be bound (VB-1)"),
    FLAG("pod-max-in-unschedulable-pods-duration",
         FLAG_DURATION,
         pod_max_in_unschedulable,
         "5m",
         "after this long a pod without a node is tried again (SCH-36)"),
    /* TIM-24: a lone pod's first write comes 0.5 ms (of 3.7 ms, n = 86) later than a hop alone takes. */
    FLAG("schedulingCycleDuration",
         FLAG_DURATION,
         cycle_duration,
         "500us",
         "how long the choice of a node takes (not a flag of Kubernetes)"),
    {0},
};
#undef FLAG

const ProcessClass kube_scheduler_process = {
    .name = "kube-scheduler",
    .scope = PER_CLUSTER,
    .options_size = sizeof(KubeSchedulerOptions),
    .flags = flags,
    .startup = 700 * SIM_MS, /* TIM-92 */
};

const ModelClass scheduler_class = {
    .name = "kube-scheduler",
    .process = &kube_scheduler_process,
    .size = sizeof(Scheduler),
    .event_source = SCHEDULER_NAME,
    .event_style = EVENTS_NEW,
    .separate_event_client = TRUE,
    .client_qps = scheduler_client_qps,
    .init = scheduler_init,
    .clear = scheduler_clear,
    .apply_change = apply_change,
};
