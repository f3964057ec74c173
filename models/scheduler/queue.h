/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "models/api/pod.h"
#include "sim/sim.h"

/* The scheduling queue: stores of pods without a node (SCH-30..37, SCH-38), and their moves:
 * SCH-S1, SCH-S2, SCH-S3 by SchedulingGates, SCH-S4 to try a pod, SCH-S5, SCH-S6, SCH-S7 back from
 * there, SCH-S10, SCH-S11, SCH-S12, SCH-S13 among the stores, SCH-S14 out; a pod on its way to a
 * node is in none (SCH-S8, SCH-S9). Knows time only as it is told. */
typedef struct SchedulingQueue SchedulingQueue;

typedef enum {
    PLACE_NONE,          /* in no store: just entered, or in flight */
    PLACE_ACTIVE,        /* next by priority, then by timestamp */
    PLACE_BACKOFF,       /* until the first flush after its back-off */
    PLACE_ERRORS,        /* the same, after an error; used only if waiting pods are popped, too */
    PLACE_UNSCHEDULABLE, /* until something happens that may help */
} QueuePlace;

/* A pod as long as it has no node (SCH-20). Owned by the queue while in a store, by the attempt
 * while in flight. */
typedef struct {
    const Pod *pod;      /* (owned) */
    SimTime timestamp;   /* of entering the queue, or of the last failure (SCH-22) */
    SimTime admitted_at; /* when it first entered activeQ; TIME_UNSET: not yet (SCH-42) */
    uint32_t attempts;   /* pops so far (SCH-21) */
    /* Both stay at UINT16_MAX. */
    uint16_t rejections; /* failed attempts that a plugin ended */
    uint16_t errors;     /* failed attempts since the last rejection: an error ended each */
    uint32_t unschedulable_plugins; /* set of plugins that rejected it last time: 1 << PluginId */
    gboolean gated;
    QueuePlace place;
    unsigned index;    /* in its store */
    uint64_t sequence; /* the order of its last move: the last tie-break of the heaps */
    SimCauseId parked; /* for the log of causes: the cause that put it into its store */
} QueuedPod;

typedef struct {
    SimTime initial_backoff; /* SCH-1 */
    SimTime max_backoff;     /* SCH-2 */
    gboolean pops_waiting;   /* gate SchedulerPopFromBackoffQ (SCH-38) */
    gboolean
        counts_causes;    /* the back-off grows with rejections or errors, not attempts (SCH-132) */
    SimTime window_phase; /* of the seconds to which the end of a back-off is cut (SCH-38) */
} QueueOptions;

SchedulingQueue *scheduling_queue_new(const QueueOptions *options);
void scheduling_queue_free(SchedulingQueue *self); /* with all that are in a store */
G_DEFINE_AUTOPTR_CLEANUP_FUNC(SchedulingQueue, scheduling_queue_free)

/* Returns: (owned): a new entry in no store */
QueuedPod *queued_pod_new(const Pod *pod, SimTime now);
void queued_pod_free(QueuedPod *self);
void queued_pod_set_pod(QueuedPod *self, const Pod *pod);

/* Returns: when the pod's back-off ends; in the past: it has none */
SimTime scheduling_queue_backoff_end(const SchedulingQueue *self, const QueuedPod *entry);
/* Counts a failed attempt: a plugin rejected the pod, or there was an error. */
void queued_pod_failed(QueuedPod *self, gboolean rejected);
/* Returns: the store in which a pod waits for the end of its back-off */
QueuePlace scheduling_queue_waits_in(const SchedulingQueue *self, const QueuedPod *entry);
/* SCH-34 */
gboolean
scheduling_queue_is_backing_off(const SchedulingQueue *self, const QueuedPod *entry, SimTime now);

/* Returns: (borrowed): the pod of that name in one of the stores; NULL: in none */
QueuedPod *scheduling_queue_find(const SchedulingQueue *self, const ObjectKey *key);
/* Puts @entry (taken, or moved from another store) in a store. */
void scheduling_queue_put(SchedulingQueue *self, QueuedPod *entry, QueuePlace place, SimTime now);
/* Takes @entry out of its store. Returns: (owned) */
QueuedPod *scheduling_queue_take(SchedulingQueue *self, QueuedPod *entry);
/* Restores the order after the pod's priority may have changed. */
void scheduling_queue_fix(SchedulingQueue *self, QueuedPod *entry);
/* The pod to try next: the head of activeQ; SCH-38: if activeQ is empty, the head of backoffQ.
 * Returns: (borrowed): NULL: none */
QueuedPod *scheduling_queue_next(const SchedulingQueue *self);
/* SCH-S4: that one, out of all stores, its attempt counted. Returns: (owned): NULL: none */
QueuedPod *scheduling_queue_pop(SchedulingQueue *self);
/* Returns: (borrowed): the first whose back-off is over; NULL: none */
QueuedPod *scheduling_queue_backed_off(const SchedulingQueue *self, SimTime now);

unsigned scheduling_queue_length(const SchedulingQueue *self, QueuePlace place);
/* The pods in a store in some fixed order, which moving one changes. */
QueuedPod *scheduling_queue_at(const SchedulingQueue *self, QueuePlace place, unsigned i);
/* Whether a pod in PLACE_UNSCHEDULABLE, gated ones aside, was rejected by one of @plugins. */
gboolean scheduling_queue_any_rejected_by(const SchedulingQueue *self, uint32_t plugins);
