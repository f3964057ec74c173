/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Decides where an unplaced pod waits, and which events bring it back. A failed attempt is dropped,
 * backs off, or is parked as unschedulable; an event moves a parked pod on if it may help against a
 * plugin that rejected it. Both decisions are rule tables.
 *
 * Events that come while a pod is being tried are remembered and asked again when the attempt has
 * failed (SCH-81). Releases without queueing hints go by the kind of the event, and keep one flag
 * instead of the events. */
#include "scheduler-private.h"

void
scheduler_put(Scheduler *self, QueuedPod *entry, QueuePlace place)
{
    scheduling_queue_put(self->queue, entry, place, sim_now(self->base.sim));
    switch (place) {
    case PLACE_ACTIVE:
        scheduler_wake_loop(self);
        break;
    case PLACE_BACKOFF:
        scheduler_wake_loop(self);
        sim_ticker_wake(self->backoff_flush);
        break;
    case PLACE_ERRORS:
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

    scheduler_put(self, entry,
                  backing_off ? scheduling_queue_waits_in(self->queue, entry) : PLACE_ACTIVE);
}

/* SCH-41: a new pod. */
void
scheduler_enter_queue(Scheduler *self, const Pod *pod)
{
    QueuedPod *entry = queued_pod_new(pod, sim_now(self->base.sim));

    scheduler_cache_nominate(self->cache, pod, pod->nominated_node);
    entry->parked = sim_cause(self->base.sim);
    entry->gated = is_gated(pod);
    scheduler_put(self, entry, entry->gated ? PLACE_UNSCHEDULABLE : PLACE_ACTIVE);
    if (!entry->gated)
        scheduler_count_move(self, entry, "UnschedulablePodAdd");
}

/* Logs the time that the pod spent in its store; the event at hand keeps its own cause. */
void
scheduler_end_wait(Scheduler *self, QueuedPod *entry, WaitKind wait)
{
    SimCauseId cause = sim_cause(self->base.sim);
    uint16_t detail = 0;

    if (entry->unschedulable_plugins != 0) {
        unsigned first = (unsigned)__builtin_ctz(entry->unschedulable_plugins);
        detail = sim_label(self->base.sim, plugins[first].name);
    }

    entry->parked = sim_resume(self->base.sim, entry->parked, (SimWait)wait, detail);
    sim_set_cause(self->base.sim, cause);
}

/* A pod that waited for its own claims is explained by their chain of causes; any other wait is a
 * wait for the cluster to change. */
static void
end_unschedulable(Scheduler *self, QueuedPod *entry, EventResource resource)
{
    if (resource == EVENT_CLAIM || resource == EVENT_VOLUME)
        entry->parked = sim_cause(self->base.sim);
    else
        scheduler_end_wait(self, entry, WAIT_UNSCHEDULABLE);
}

/* SCH-66: without hints. */
static gboolean
is_moved_unasked(const Scheduler *self, const QueuedPod *entry, const ClusterEvent *event)
{
    if (event->resource == EVENT_POD && event->after != NULL)
        return cluster_event_is_company(event, entry->pod, entry->unschedulable_plugins);
    if ((entry->unschedulable_plugins & cluster_event_plugins_unasked(event)) == 0)
        return FALSE;
    return event->resource != EVENT_NODE || event->after == NULL ||
           cluster_event_fits(event, entry->pod,
                              scheduler_cache_find_node(self->cache, event->after->key));
}

/* An event, and a pod that may wait for it. */
enum {
    PARKED = 1 << 0, /* the pod is among the unschedulable ones */
    GATED = 1 << 1,
    HELPED = 1 << 2,    /* the event may help, by a plugin that rejected it */
    BY_ITSELF = 1 << 3, /* the event is a change of the pod */
    MOVED_FACTS_END = 1 << 4,
};

typedef enum {
    MOVED_STAYS,
    MOVED_STAYS_COUNTED, /* its own status, mostly: the metric counts it (MET-W14) */
    MOVED_GOES_ON,
} MovedAnswer;

/* isPodWorthRequeuing(). Columns: all of these hold, none of these, then. */
static const Rule move_table[] = {
    {"SCH-62.1", 0,                  PARKED,                     MOVED_STAYS        },
    {"SCH-62.2", PARKED | GATED,     0,                          MOVED_STAYS        },
    {"SCH-62.3", PARKED | HELPED,    GATED,                      MOVED_GOES_ON      },
    {"SCH-62.4", PARKED | BY_ITSELF, GATED | HELPED,             MOVED_STAYS_COUNTED},
    {"SCH-62.5", PARKED,             GATED | HELPED | BY_ITSELF, MOVED_STAYS        },
};

const RuleTable scheduler_move_rules =
    RULE_TABLE("unschedulable pods and events", MOVED_FACTS_END, move_table);

static MovedAnswer
judge_move(const Scheduler *self, const QueuedPod *entry, const ClusterEvent *event)
{
    uint32_t facts = entry->place == PLACE_UNSCHEDULABLE ? PARKED : 0;

    facts |= entry->gated ? GATED : 0;
    facts |= event->resource == EVENT_OWN_POD ? BY_ITSELF : 0;
    if (facts & PARKED &&
        (self->has_hints
             ? cluster_event_helps(event, entry->pod, entry->unschedulable_plugins) != NULL
             : is_moved_unasked(self, entry, event)))
        facts |= HELPED;
    return (MovedAnswer)rules_find(&scheduler_move_rules, facts, NULL)->then;
}

/* Returns: whether it moved */
gboolean
scheduler_move_if_helped(Scheduler *self, QueuedPod *entry, const ClusterEvent *event)
{
    switch (judge_move(self, entry, event)) {
    case MOVED_STAYS:
        return FALSE;
    case MOVED_STAYS_COUNTED:
        scheduler_count_moved_by(self, entry, event);
        return FALSE;
    case MOVED_GOES_ON:
        end_unschedulable(self, entry, event->resource);
        put_after_backoff(self, entry);
        scheduler_count_moved_by(self, entry, event);
        return TRUE;
    }
    g_assert_not_reached();
}

/* The part of a pod whose changes count: without its status and the fields that every write
 * changes. */
static json_t *
pod_without_status(const Object *pod)
{
    static const char *const ignored[] = {"resourceVersion", "generation", "managedFields",
                                          "finalizers"};
    json_t *json = object_to_json(pod);

    json_object_del(json, "status");
    for (unsigned i = 0; i < G_N_ELEMENTS(ignored); i++)
        json_object_del(json_object_get(json, "metadata"), ignored[i]);
    return json;
}

void
scheduler_move_changed_pod(Scheduler *self, QueuedPod *entry, const Object *before)
{
    if (entry->place != PLACE_UNSCHEDULABLE || entry->gated || before == NULL)
        return;
    json_t *was = pod_without_status(before), *is = pod_without_status(&entry->pod->meta);
    gboolean changed = !json_equal(was, is);
    json_decref(was);
    json_decref(is);
    if (!changed)
        return;
    end_unschedulable(self, entry, EVENT_OWN_POD);
    put_after_backoff(self, entry);
    scheduler_count_move(self, entry, "UnschedulablePodUpdate");
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
            scheduler_move_if_helped(self, entry, event);
    }
}

static gboolean
is_trying(const Scheduler *self)
{
    return self->current != NULL && self->current->queued != NULL;
}

void
scheduler_remember(Scheduler *self, const ClusterEvent *event)
{
    ClusterEvent copy = *event;

    if (!is_trying(self))
        return;
    if (copy.before != NULL)
        object_ref(copy.before);
    if (copy.after != NULL)
        object_ref(copy.after);
    g_array_append_val(self->in_flight_events, copy);
}

/* SCH-62, SCH-63: moves the pods that the event may help. */
void
scheduler_happened(Scheduler *self,
                   EventResource resource,
                   const Object *before,
                   const Object *after)
{
    if (!is_trying(self) && scheduling_queue_length(self->queue, PLACE_UNSCHEDULABLE) == 0)
        return; /* no pod waits */
    ClusterEvent event = cluster_event(resource, before, after, self->view.minor);
    uint32_t registered =
        self->has_hints ? cluster_event_plugins(&event) : cluster_event_plugins_unasked(&event);
    if (registered == 0)
        return;
    self->moved_since_pop = TRUE;
    if (self->has_hints)
        scheduler_remember(self, &event);
    if (self->has_hints && !scheduling_queue_any_rejected_by(self->queue, registered))
        return;
    if (resource == EVENT_CLAIM && self->has_hints) {
        move_users_of_claim(self, &event);
        return;
    }
    for (unsigned i = 0; i < scheduling_queue_length(self->queue, PLACE_UNSCHEDULABLE);) {
        /* The last pod takes the place of one that moves, and has not been asked yet. */
        if (!scheduler_move_if_helped(
                self, scheduling_queue_at(self->queue, PLACE_UNSCHEDULABLE, i), &event))
            i++;
    }
}

void
scheduler_forget_events(Scheduler *self)
{
    for (unsigned i = 0; i < self->in_flight_events->len; i++) {
        const ClusterEvent *event = &g_array_index(self->in_flight_events, ClusterEvent, i);
        object_unref(event->before);
        object_unref(event->after);
    }
    g_array_set_size(self->in_flight_events, 0);
}

/* SCH-81: looks at the events that came while the pod was tried. */
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

/* A pod whose attempt has failed. */
enum {
    GONE = 1 << 0,
    PLACED = 1 << 1,
    QUEUED = 1 << 2,   /* another pod of its name waits already */
    REJECTED = 1 << 3, /* a plugin rejected it; without it, there was an error */
    SAVED = 1 << 4,    /* by an event that came while it was tried */
    FAILED_FACTS_END = 1 << 5,
};

typedef enum {
    FAILED_DROP,
    FAILED_BACK_OFF,
    FAILED_PARK,
} FailedAnswer;

/* handleSchedulingFailure(), AddUnschedulableIfNotPresent(). */
static const Rule failure_table[] = {
    {"SCH-77.1", GONE,             0,                                 FAILED_DROP    },
    {"SCH-77.2", PLACED,           GONE,                              FAILED_DROP    },
    {"SCH-77.3", QUEUED,           GONE | PLACED,                     FAILED_DROP    },
    {"SCH-73",   0,                GONE | PLACED | QUEUED | REJECTED, FAILED_BACK_OFF},
    {"SCH-81.1", REJECTED | SAVED, GONE | PLACED | QUEUED,            FAILED_BACK_OFF},
    {"SCH-81.2", REJECTED,         GONE | PLACED | QUEUED | SAVED,    FAILED_PARK    },
};

const RuleTable scheduler_failure_rules =
    RULE_TABLE("pods whose attempt failed", FAILED_FACTS_END, failure_table);

/* @pod: as the informer has it; NULL: gone */
static uint32_t
failed_facts(const Scheduler *self, const Pod *pod, uint32_t rejected_by)
{
    uint32_t facts = rejected_by != 0 ? REJECTED : 0;

    if (pod == NULL)
        return facts | GONE;
    facts |= pod->node_name != NULL ? PLACED : 0;
    facts |= scheduling_queue_find(self->queue, pod->meta.key) != NULL ? QUEUED : 0;
    return facts;
}

void
scheduler_put_back(Scheduler *self, Attempt *attempt, uint32_t rejected_by)
{
    const Pod *pod = living_pod(informer_get(self->pods, attempt->pod->meta.key));
    QueuedPod *entry = g_steal_pointer(&attempt->queued);
    uint32_t facts = failed_facts(self, pod, rejected_by);

    if (rules_find(&scheduler_failure_rules, facts, NULL)->then == FAILED_DROP) {
        queued_pod_free(entry);
        return;
    }
    queued_pod_set_pod(entry, pod);
    entry->timestamp = sim_now(self->base.sim);
    entry->unschedulable_plugins = rejected_by;
    queued_pod_failed(entry, rejected_by != 0);
    entry->parked = sim_cause(self->base.sim);
    if (self->has_hints ? is_helped_already(self, entry) : self->moved_since_pop)
        facts |= SAVED;
    if (rules_find(&scheduler_failure_rules, facts, NULL)->then == FAILED_BACK_OFF)
        put_after_backoff(self, entry);
    else
        scheduler_put(self, entry, PLACE_UNSCHEDULABLE);
    scheduler_count_move(self, entry, "ScheduleAttemptFailure");
}

/* SCH-35: one tick of backoffQ. */
gboolean
scheduler_flush_backoff(void *data)
{
    Scheduler *self = data;
    QueuedPod *entry;

    while ((entry = scheduling_queue_backed_off(self->queue, sim_now(self->base.sim))) != NULL) {
        scheduler_end_wait(self, entry, WAIT_BACKOFF);
        scheduler_put(self, entry, PLACE_ACTIVE);
        scheduler_count_move(self, entry, "BackoffComplete");
    }
    return scheduling_queue_length(self->queue, PLACE_BACKOFF) +
               scheduling_queue_length(self->queue, PLACE_ERRORS) >
           0;
}

/* SCH-36 */
gboolean
scheduler_flush_unschedulable(void *data)
{
    Scheduler *self = data;
    SimTime too_old = sim_now(self->base.sim) - options_of(self)->pod_max_in_unschedulable;

    for (unsigned i = 0; i < scheduling_queue_length(self->queue, PLACE_UNSCHEDULABLE);) {
        QueuedPod *entry = scheduling_queue_at(self->queue, PLACE_UNSCHEDULABLE, i);
        if (entry->gated || entry->timestamp >= too_old) {
            i++;
            continue;
        }
        scheduler_end_wait(self, entry, WAIT_UNSCHEDULABLE);
        put_after_backoff(self, entry);
        scheduler_count_move(self, entry, "UnschedulableTimeout");
    }
    return scheduling_queue_length(self->queue, PLACE_UNSCHEDULABLE) > 0;
}
