/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "cold.h"
#include "memory.h"
#include "metrics.h"
#include "trace.h"

/* The engine: a clock, the events to come, and the log of causes. One Sim is one run; two may live
 * in one process, each on its own thread. Knows nothing of Kubernetes. */
typedef struct Sim Sim;

/* The type of an event. Traces and the narrator print the name. */
typedef struct {
    const char *name;
    void (*fire)(Sim *sim, void *data);
    GDestroyNotify free_data; /* frees @data of an event that never fires, because it is cancelled
                                 or the run ends; may be NULL */
} SimEventType;

typedef uint64_t SimEventId; /* a pending event; 0: none. Never used twice in a run */

typedef struct {
    uint64_t seed;
    uint32_t replication;
    gboolean polling;  /* tickers never sleep: for tests that compare both ways */
    gboolean untraced; /* keep no log of causes */
    gboolean measured; /* keep metrics */
    SimTime start;     /* for sim_start() */
    SimCold *cold;     /* (borrowed) (nullable): of logs; outlives the engine */
} SimOptions;

/* Returns: (owned): an engine at time 0 */
Sim *sim_new(const SimOptions *options);
void sim_free(Sim *self); /* frees the data of pending events, earliest first */
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Sim, sim_free)

/* For structs that come and go with events. It is freed with the engine, after the data of pending
 * events. */
SimMemory *sim_memory(const Sim *self);

/* Memory of logs. Returns: (borrowed) (nullable) */
SimCold *sim_cold(const Sim *self);

/* NULL: nothing is measured. */
SimMetrics *sim_metrics(const Sim *self);

SimTime sim_now(const Sim *self);
/* Returns: what the calendar of the models shows at time 0, in ns; the engine only keeps it */
SimTime sim_start(const Sim *self);
uint64_t sim_seed(const Sim *self);
uint32_t sim_replication(const Sim *self);
gboolean sim_is_polling(const Sim *self);
/* Includes those of sim_count_left_out(). */
uint64_t sim_events_fired(const Sim *self);
/* A short cut comes to the same with @n events less. They count as fired, so that results do not
 * tell whether it was taken. */
void sim_count_left_out(Sim *self, unsigned n);
uint32_t sim_events_pending(const Sim *self); /* without the cancelled */

/**
 * sim_at:
 * @at: not in the past; SIM_TIME_MAX: never (nothing is scheduled, @data is freed, 0 returned)
 * @wait: the kind of wait until then. The log of causes records it as the event fires; the parent
 * is the present event.
 * Events of equal time fire in the order in which they were scheduled.
 * Returns: the event, to cancel it
 */
SimEventId sim_at(Sim *self, SimTime at, const SimEventType *type, void *data, SimWait wait);
SimEventId sim_after(Sim *self, SimTime delay, const SimEventType *type, void *data, SimWait wait);

/* The same with a detail of the wait. */
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

/* Whether a tick of this @order, scheduled now for this instant, is too late: the present event is
 * a tick of a later order, so a loop that never sleeps would have ticked already. */
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
/* Fires one event. Returns: %FALSE if there is no event. */
gboolean sim_step(Sim *self);
/* Fires at most @n_max events, none later than @end; the clock stays at the last. Returns: how many
 * were fired */
unsigned sim_step_until(Sim *self, SimTime end, unsigned n_max);
SimTime sim_next_event_at(const Sim *self); /* SIM_TIME_MAX: none */

/* A pending event. */
typedef struct {
    SimTime at;
    const char *name; /* of its type */
    SimWait wait;     /* the kind of wait until then, as in the log of causes */
    uint16_t detail;
} SimPending;

/* Lists the first @n_max pending events in the order in which they will fire. More than one costs a
 * walk over all of them. Returns: how many were written to @pending */
unsigned sim_pending(const Sim *self, SimPending *pending, unsigned n_max);

/* The log of causes. sim_cause() is the entry of the present event, 0 after sim_run_until(); a
 * component that puts something aside keeps it, and calls sim_resume() as that goes on. */
SimCauseId sim_cause(const Sim *self);
const SimTrace *sim_trace(const Sim *self);
/**
 * sim_resume:
 * @parked: sim_cause() of the moment in which the thing was put aside
 * @wait: what it waited for
 * From now on, the end of that wait is the cause of what this event does.
 * Returns: the new cause
 */
SimCauseId sim_resume(Sim *self, SimCauseId parked, SimWait wait, uint16_t detail);
/* The same at the end of a wait in a queue: @releaser is the cause of the job that ended and freed
 * its place. The log keeps it beside the wait, see sim_trace_releaser(). */
SimCauseId
sim_resume_after(Sim *self, SimCauseId parked, SimWait wait, uint16_t detail, SimCauseId releaser);
/* Returns: a number for @text, to be used as the detail of waits; 0 if no log is kept. See
 * sim_trace_label() */
uint16_t sim_label(Sim *self, const char *text);
void sim_set_cause(Sim *self, SimCauseId cause);
