/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "memory.h"
#include "metrics.h"
#include "trace.h"

/* The engine: a clock, the events to come, and the log of causes. One Sim is one run; two may live
 * in one process, each on its own thread. Knows nothing of Kubernetes. */
typedef struct Sim Sim;

/* What happens at an instant. The name is what traces and the narrator print. */
typedef struct {
    const char *name;
    void (*fire)(Sim *sim, void *data);
    GDestroyNotify free_data; /* for events that never fire: cancelled, or pending when the run
                                 ends; may be NULL */
} SimEventType;

typedef uint64_t SimEventId; /* a pending event; 0: none. Never used twice in a run */

typedef struct {
    uint64_t seed;
    uint32_t replication;
    gboolean polling;  /* tickers never sleep: for the tests that compare both */
    gboolean untraced; /* keep no log of causes */
    gboolean measured; /* have metrics */
} SimOptions;

/* Returns: (owned): an engine at time 0 */
Sim *sim_new(const SimOptions *options);
void sim_free(Sim *self); /* frees the data of what is pending, earliest first */
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Sim, sim_free)

/* For what comes and goes with events; goes with the engine, after the data of what is pending. */
SimMemory *sim_memory(const Sim *self);

/* What is measured; NULL: nothing is. */
SimMetrics *sim_metrics(const Sim *self);

SimTime sim_now(const Sim *self);
uint64_t sim_seed(const Sim *self);
uint32_t sim_replication(const Sim *self);
gboolean sim_is_polling(const Sim *self);
uint64_t sim_events_fired(const Sim *self);
uint32_t sim_events_pending(const Sim *self); /* without the cancelled */

/**
 * sim_at:
 * @at: not in the past; SIM_TIME_MAX: never (nothing is scheduled, @data is freed, 0 returned)
 * @wait: what passes the time until then; recorded in the log of causes as the event fires, with
 * what is happening now as the parent
 * Events of equal time fire in the order in which they were scheduled.
 * Returns: the event, to cancel it
 */
SimEventId sim_at(Sim *self, SimTime at, const SimEventType *type, void *data, SimWait wait);
SimEventId sim_after(Sim *self, SimTime delay, const SimEventType *type, void *data, SimWait wait);

/* As sim_at(), with the detail of the cause. */
SimEventId sim_at_detail(
    Sim *self, SimTime at, const SimEventType *type, void *data, SimWait wait, uint16_t detail);

/**
 * sim_at_tick:
 * @order: the ticker's place among all tickers, unique, below 2^38
 * As sim_at_detail(), but fires after all other events of its instant; ticks of one instant fire by
 * @order.
 */
SimEventId sim_at_tick(Sim *self,
                       SimTime at,
                       uint64_t order,
                       const SimEventType *type,
                       void *data,
                       SimWait wait,
                       uint16_t detail);

/* Whether a tick of this @order, scheduled now for this instant, would come out of its turn: the
 * present event is a tick of a later order. A loop that never slept would have ticked already. */
gboolean sim_tick_is_past(const Sim *self, uint64_t order);

/**
 * sim_cancel:
 * Takes @event back; its data is freed. An event that fired already, or 0, is fine.
 * Returns: whether it was still pending
 */
gboolean sim_cancel(Sim *self, SimEventId event);

/**
 * sim_run_until:
 * Fires everything up to and including @end, then sets the clock to @end; stops early at
 * sim_stop(). Returns: %FALSE if stopped early or if nothing is left to fire (the clock stays at
 * the last event)
 */
gboolean sim_run_until(Sim *self, SimTime end);
/* Fires one event. Returns: %FALSE if none is left. */
gboolean sim_step(Sim *self);
/* Fires up to @n_max events that come no later than @end; the clock stays at the last. Returns: how
 * many */
unsigned sim_step_until(Sim *self, SimTime end, unsigned n_max);
void sim_stop(Sim *self); /* from within an event: sim_run_until() returns after it */
SimTime sim_next_event_at(const Sim *self); /* SIM_TIME_MAX: none */

/* An event that is to come. */
typedef struct {
    SimTime at;
    const char *name; /* of its type */
    SimWait wait;     /* what passes the time until then, as in the log of causes */
    uint16_t detail;
} SimPending;

/* For who looks while time stands still: the first @n_max pending events in the order in which they
 * will fire. Costs a walk over all of them, but for the first alone. Returns: how many were written
 * to @pending */
unsigned sim_pending(const Sim *self, SimPending *pending, unsigned n_max);

/* The log of causes: what is happening now (0 after sim_run_until()), and how something that was
 * parked goes on. */
SimCauseId sim_cause(const Sim *self);
const SimTrace *sim_trace(const Sim *self);
/**
 * sim_resume:
 * @parked: sim_cause() of the moment in which the thing was put aside
 * @wait: what it waited for
 * What happens from now on in this event is released by the end of that wait.
 * Returns: the new cause
 */
SimCauseId sim_resume(Sim *self, SimCauseId parked, SimWait wait, uint16_t detail);
/* The same at the end of a wait in line: @releaser is the cause of what came to an end and left its
 * place. The log keeps it beside the wait, for who asks what those in front were doing:
 * sim_trace_releaser(). */
SimCauseId
sim_resume_after(Sim *self, SimCauseId parked, SimWait wait, uint16_t detail, SimCauseId releaser);
/* A number for @text as the detail of waits: sim_trace_label(). 0 if no log is kept. */
uint16_t sim_label(Sim *self, const char *text);
void sim_set_cause(Sim *self, SimCauseId cause);
