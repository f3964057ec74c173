/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "cycle.h"
#include "events.h"
#include "models/plan/plan.h"
#include "queue.h"
#include "scheduler.h"
#include "sim/ticker.h"

/* Within the scheduler: scheduler.c hears of changes, requeue.c moves pods in the queue, attempt.c
 * tries and binds them. */

typedef struct Scheduler Scheduler;

/* One pod from its pop to its binding or its way back to the queue: the operation of a plan. */
typedef struct {
    Plan *plan;                      /* borrowed; NULL: not started, or over */
    const Pod *pod;                  /* (owned): as popped */
    QueuedPod *queued;               /* (owned): NULL: back in the queue, or on its way to a node */
    const char *node_name;           /* interned; NULL: none found */
    GArray *choices;                 /* of VolumeChoice: the volumes of its claims on the node */
    const char *failure;             /* interned; NULL: none so far */
    SimTime started_at, admitted_at; /* for metrics */
    uint32_t number;                 /* of the attempts at its pod */
    const char *reason;              /* of the pod's condition, with failure */
    const char *nominated;           /* with failure: the node for which others go; NULL: none */
    gboolean keeps_nomination;       /* with failure: the nomination by an earlier attempt stays */
    gboolean holds_loop;             /* the next pod waits until this is done */
} Attempt;

struct Scheduler {
    Component base;
    SchedulingQueue *queue;
    SchedulerCache *cache;
    VolumeBinder binder;
    CycleView view;
    Cycle *cycle;     /* buffers of one cycle at a time (SCH-15) */
    Attempt *current; /* the one that holds the loop; borrowed */
    /* Of Attempt, borrowed: attempts whose pod has gone. They go on if their next poll finds a pod
     * of that name (VB-T23). */
    GPtrArray *orphans;
    GArray *in_flight_events; /* of ClusterEvent, objects (owned): since the pop (SCH-65) */
    gboolean has_hints;       /* SchedulerQueueingHints (SCH-66) */
    gboolean moved_since_pop; /* without hints: an event came that might help some pod (SCH-82) */
    unsigned next_start_node; /* SCH-55 */
    GArray *shape;            /* of ShapePoint (VB-61) */
    SimEventId pop_event;
    SimTicker *backoff_flush, *unschedulable_flush;
    Informer *pods;
    InformerIndex *pods_by_claim;
};

static inline const KubeSchedulerOptions *
options_of(const Scheduler *self)
{
    return self->base.options;
}

/* SCH-43 */
static inline gboolean
is_gated(const Pod *pod)
{
    return pod->spec->scheduling_gates != NULL && pod->spec->scheduling_gates->n_items > 0;
}

/* The pod, unless it has ended (VF-50). NULL: none */
static inline const Pod *
living_pod(const Object *object)
{
    return object == NULL || pod_is_terminal(POD_CONST(object)) ? NULL : POD_CONST(object);
}

/* ---- requeue.c ---- */

/* SCH-41: a new pod. */
void scheduler_enter_queue(Scheduler *self, const Pod *pod);
/* Puts it into this store, and wakes the loop that empties the store. */
void scheduler_put(Scheduler *self, QueuedPod *entry, QueuePlace place);
/* Logs the time that the pod spent in its store. */
void scheduler_end_wait(Scheduler *self, QueuedPod *entry, WaitKind wait);

/* Metrics (measure.c). A pod has moved: @event is Kubernetes' label, or the event in the cluster */
void scheduler_count_move(const Scheduler *self, const QueuedPod *entry, const char *event);
void
scheduler_count_moved_by(const Scheduler *self, const QueuedPod *entry, const ClusterEvent *event);
void scheduler_measure_cycle(const Scheduler *self, const CycleResult *result, SimTime duration);
/* @operation: predicate, assume or bind */
void scheduler_count_stage_error(const Scheduler *self, const char *operation);
void scheduler_measure_queue(void *scheduler);
void scheduler_measure_from_start(const Scheduler *self);
extern const RuleTable scheduler_move_rules;    /* SCH-62 */
extern const RuleTable scheduler_failure_rules; /* SCH-73, SCH-77, SCH-81 */
/* SCH-80.3: the attempt's entry goes back, if the pod still waits for a node. */
void scheduler_put_back(Scheduler *self, Attempt *attempt, uint32_t rejected_by);
/* SCH-62, SCH-63: moves the pods that the event may help. */
void scheduler_happened(Scheduler *self,
                        EventResource resource,
                        const Object *before,
                        const Object *after);
/* Without hints: the pod itself has changed, more than in its status (SCH-69). */
void scheduler_move_changed_pod(Scheduler *self, QueuedPod *entry, const Object *before);
/* The same for one pod. Returns: whether it moved */
gboolean scheduler_move_if_helped(Scheduler *self, QueuedPod *entry, const ClusterEvent *event);
/* SCH-65: for the pod that is being tried, if there is one. */
void scheduler_remember(Scheduler *self, const ClusterEvent *event);
void scheduler_forget_events(Scheduler *self);
/* Passes of tickers; @data: Scheduler. */
gboolean scheduler_flush_backoff(void *data);
gboolean scheduler_flush_unschedulable(void *data);

/* ---- attempt.c ---- */

/* To be called when a pod enters activeQ, or the loop is free. */
void scheduler_wake_loop(Scheduler *self);
/* The attempt that binds an assumed pod; NULL: none */
Attempt *scheduler_attempt_of(const Scheduler *self, const Object *pod);
/* The condition that it polls for may have changed. @self may be NULL */
void attempt_wake(const Attempt *self);
void scheduler_apply_change(void *data, const PlanChange *change);
