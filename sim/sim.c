/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The engine: the clock, one loop that fires the earliest event, ticks after all other events of
 * their instant, and the log of causes. Each event notes the event that scheduled it; an event
 * without consequences leaves no entry.
 *
 * Invariant: the clock never goes back; ties are broken by the order of scheduling, ticks by their
 * registered order, never by an address. */
#include "sim.h"

#include "event-queue.h"
#include "sim-internal.h"
#include "sim/order.h"
#include "sim/sim-test.h"
#include "trace-internal.h"

/* Orders of ticks end here. */
#define TICK_ORDER_END (UINT64_C(1) << 38)

struct Sim {
    SimTime now;
    SimCauseId cause;
    SimCauseId
        unclaimed; /* the present event's entry in the log, until somebody asks for it; 0: none */
    SimCauseId first_cause; /* the first entry of this instant; 0 also if no log is kept */
    EventQueue queue;
    SimTrace *trace;
    SimMemory *memory;
    SimMetrics *metrics; /* NULL: no metrics */
    uint64_t n_fired, n_left_out;
    SimTime last; /* sim_run_until() fires no later event; -1: sim_stop() was called */
    gboolean running;
    /* At the instant @ticks_at, ticks below the order @ticks_past_end are past. */
    SimTime ticks_at;
    uint64_t ticks_past_end;
    SimOptions options;
};

Sim *
sim_new(const SimOptions *options)
{
    Sim *self = g_new0(Sim, 1);

    self->options = *options;
    self->trace = sim_trace_new(options->cold);
    self->memory = sim_memory_new();
    self->metrics = options->measured ? sim_metrics_new(options->cold) : NULL;
    event_queue_init(&self->queue);
    return self;
}

static void
free_data(const SimEventType *type, void *data)
{
    if (type->free_data != NULL)
        type->free_data(data);
}

void
sim_free(Sim *self)
{
    if (self == NULL)
        return;
    while (sim_next_event_at(self) !=
           SIM_TIME_MAX) { /* one by one: freeing data may cancel other events */
        EventRecord record;
        event_queue_pop(&self->queue, &record);
        free_data(record.type, record.data);
    }
    event_queue_clear(&self->queue);
    sim_trace_free(self->trace);
    sim_metrics_free(self->metrics);
    sim_memory_destroy(self->memory);
    g_free(self);
}

SimMemory *
sim_memory(const Sim *self)
{
    return self->memory;
}

SimMetrics *
sim_metrics(const Sim *self)
{
    return self->metrics;
}

SimTime
sim_now(const Sim *self)
{
    return self->now;
}

SimTime
sim_start(const Sim *self)
{
    return self->options.start;
}

uint64_t
sim_seed(const Sim *self)
{
    return self->options.seed;
}

uint32_t
sim_replication(const Sim *self)
{
    return self->options.replication;
}

gboolean
sim_is_polling(const Sim *self)
{
    return self->options.polling;
}

uint64_t
sim_events_fired(const Sim *self)
{
    return self->n_fired + self->n_left_out;
}

void
sim_count_left_out(Sim *self, unsigned n)
{
    self->n_left_out += n;
}

uint64_t
sim_events_left_out(const Sim *self)
{
    return self->n_left_out;
}

uint32_t
sim_events_pending(const Sim *self)
{
    return event_queue_length(&self->queue) - self->queue.n_dead;
}

/* Rare cases. Out of line, so that the usual case needs no stack. */
static G_GNUC_NO_INLINE SimEventId
schedule_slowly(Sim *self,
                uint64_t delay,
                uint64_t tick_order,
                const SimEventType *type,
                void *data,
                EventOrigin origin)
{
    g_assert(delay <= SIM_TIME_MAX); /* otherwise the event lies in the past */
    SimTime at = sim_time_add(self->now, (SimTime)delay);
    if (at == SIM_TIME_MAX) {
        free_data(type, data);
        return 0;
    }
    if (event_queue_is_full(&self->queue))
        event_queue_prepare(&self->queue);
    if (delay == 0 && tick_order == 0)
        return event_queue_push_now(&self->queue, at, type, data, origin);
    return event_queue_push(&self->queue, at, tick_order, type, data, origin);
}

/* @delay: from now; as it is unsigned, one comparison finds the past, now and never. */
static inline SimEventId
schedule(Sim *self,
         uint64_t delay,
         uint64_t tick_order,
         const SimEventType *type,
         void *data,
         EventOrigin origin)
{
    if (G_UNLIKELY(delay - 1 >= (uint64_t)(SIM_TIME_MAX - self->now) - 1 ||
                   event_queue_is_full(&self->queue)))
        return schedule_slowly(self, delay, tick_order, type, data, origin);
    return event_queue_push(&self->queue, self->now + (SimTime)delay, tick_order, type, data,
                            origin);
}

/* Scheduling, parking or noting something keeps the entry of the present event. An event with no
 * consequences, as most watch events, leaves no entry. The first entry of a chunk stays, because
 * its chunk exists already. */
static inline SimCauseId
claim_cause(Sim *self)
{
    self->unclaimed = 0;
    return self->cause;
}

static inline uint64_t
delay_until(const Sim *self, SimTime at)
{
    return (uint64_t)at - (uint64_t)self->now;
}

SimEventId
sim_at_detail(
    Sim *self, SimTime at, const SimEventType *type, void *data, SimWait wait, uint16_t detail)
{
    return schedule(self, delay_until(self, at), 0, type, data,
                    event_origin(claim_cause(self), wait, detail));
}

SimEventId
sim_at(Sim *self, SimTime at, const SimEventType *type, void *data, SimWait wait)
{
    return sim_at_detail(self, at, type, data, wait, 0);
}

SimEventId
sim_after(Sim *self, SimTime delay, const SimEventType *type, void *data, SimWait wait)
{
    return schedule(self, (uint64_t)delay, 0, type, data, event_origin(claim_cause(self), wait, 0));
}

SimEventId
sim_at_tick(Sim *self,
            SimTime at,
            uint64_t order,
            const SimEventType *type,
            void *data,
            SimWait wait,
            uint16_t detail)
{
    g_assert(order < TICK_ORDER_END);
    return schedule(self, delay_until(self, at), EVENT_TICK | order << EVENT_SLOT_BITS, type, data,
                    event_origin(claim_cause(self), wait, detail));
}

gboolean
sim_cancel(Sim *self, SimEventId event)
{
    if (event == 0) /* as for most timers: they were never set */
        return FALSE;
    EventRecord *record = event_queue_find(&self->queue, event);
    if (record == NULL)
        return FALSE;

    const SimEventType *type = record->type;
    void *data = record->data;
    event_queue_cancel(&self->queue, record);
    free_data(type, data);
    return TRUE;
}

gboolean
sim_tick_is_past(const Sim *self, uint64_t order)
{
    return self->ticks_at == self->now && order < self->ticks_past_end;
}

static void
tick_passes(Sim *self, uint64_t order)
{
    if (self->ticks_at != self->now)
        self->ticks_past_end = 0;
    self->ticks_at = self->now;
    self->ticks_past_end = MAX(self->ticks_past_end, order + 1);
}

/* The log is in order of time, so the number of an entry tells whether it is of this instant. The
 * entry itself is not read: it may have left the cache long ago. */
static inline SimCauseId
cause_add(Sim *self, EventOrigin origin)
{
    SimCauseId parent = event_origin_parent(origin);

    if (parent >= self->first_cause)
        return parent;
    return sim_trace_append(self->trace, parent, self->now, (SimWait)(origin >> 32),
                            (uint16_t)(origin >> 48));
}

static inline void
forget_unclaimed_cause(Sim *self)
{
    if (self->unclaimed != 0)
        sim_trace_withdraw(self->trace, self->unclaimed);
}

static inline void
fire_next(Sim *self)
{
    EventRecord record;
    EventKey key = event_queue_pop(&self->queue, &record);

    forget_unclaimed_cause(self);

    if (self->now != event_key_time(key)) {
        self->now = event_key_time(key);
        self->first_cause = self->options.untraced ? 0 : self->trace->length;
    }
    if (event_key_is_tick(key))
        tick_passes(self, event_key_order(key));
    self->cause = cause_add(self, record.origin);
    self->unclaimed = self->cause == event_origin_parent(record.origin) ? 0 : self->cause;
    self->n_fired++;
    record.type->fire(self, record.data);
}

gboolean
sim_step(Sim *self)
{
    if (sim_next_event_at(self) == SIM_TIME_MAX)
        return FALSE;
    fire_next(self);
    return TRUE;
}

unsigned
sim_step_until(Sim *self, SimTime end, unsigned n_max)
{
    SimTime last =
        MIN(end, SIM_TIME_MAX - 1); /* the next event of an empty queue is at SIM_TIME_MAX */
    unsigned n = 0;

    while (n < n_max && event_queue_next_at(&self->queue) <= last) {
        fire_next(self);
        n++;
    }
    return n;
}

/* Everything at @end has happened: a sleeping ticker that wakes now is too late for @end. */
static void
instant_is_over(Sim *self, SimTime end)
{
    if (self->now != end) {
        self->now = end;
        self->first_cause = self->options.untraced ? 0 : self->trace->length;
    }
    tick_passes(self, TICK_ORDER_END);
}

gboolean
sim_run_until(Sim *self, SimTime end)
{
    g_assert(end >= self->now && !self->running);
    self->running = TRUE;
    /* the next event of an empty queue is at SIM_TIME_MAX */
    self->last = MIN(end, SIM_TIME_MAX - 1);
    while (event_queue_next_at(&self->queue) <= self->last)
        fire_next(self);
    self->running = FALSE;
    self->unclaimed = 0;
    self->cause = 0; /* the last event is not the cause of actions from outside */

    if (self->last < 0 || sim_next_event_at(self) == SIM_TIME_MAX)
        return FALSE;
    instant_is_over(self, end);
    return TRUE;
}

void
sim_stop(Sim *self)
{
    self->last = -1;
}

SimTime
sim_next_event_at(const Sim *self)
{
    return event_queue_next_at(&((Sim *)self)->queue); /* only sorts keys */
}

static int
sim_compare_keys(const void *a, const void *b)
{
    EventKey first = *(const EventKey *)a, second = *(const EventKey *)b;

    return ORDER(first, second);
}

static SimPending
pending_of(const EventQueue *queue, EventKey key)
{
    const EventRecord *record = &queue->slab[event_key_slot(key)];

    return (SimPending){.at = event_key_time(key),
                        .name = record->type->name,
                        .wait = (SimWait)(record->origin >> 32),
                        .detail = (uint16_t)(record->origin >> 48)};
}

unsigned
sim_pending(const Sim *self, SimPending *pending, unsigned n_max)
{
    const EventQueue *queue = &self->queue;

    if (n_max == 0 || sim_next_event_at(self) == SIM_TIME_MAX)
        return 0;
    if (n_max == 1) {
        *pending =
            pending_of(queue, event_queue_line_is_next(queue) ? queue->line[queue->line_first]
                                                              : *queue->first);
        return 1;
    }
    g_autoptr(GArray) keys = g_array_new(FALSE, FALSE, sizeof(EventKey));
    event_queue_list(queue, keys);
    g_array_sort(keys, sim_compare_keys);
    unsigned n = MIN(keys->len, n_max);
    for (unsigned i = 0; i < n; i++)
        pending[i] = pending_of(queue, g_array_index(keys, EventKey, i));
    return n;
}

SimCauseId
sim_cause(const Sim *self)
{
    return claim_cause((Sim *)self); /* only makes the entry */
}

SimCold *
sim_cold(const Sim *self)
{
    return self->options.cold;
}

const SimTrace *
sim_trace(const Sim *self)
{
    return self->trace;
}

SimCauseId
sim_resume(Sim *self, SimCauseId parked, SimWait wait, uint16_t detail)
{
    self->cause = cause_add(self, event_origin(parked, wait, detail));
    return self->cause;
}

SimCauseId
sim_resume_after(Sim *self, SimCauseId parked, SimWait wait, uint16_t detail, SimCauseId releaser)
{
    if (parked < self->first_cause) /* otherwise no time passed, or no log is kept */
        sim_trace_append(self->trace, releaser, self->now, SIM_RELEASED, detail);
    return sim_resume(self, parked, wait, detail);
}

uint16_t
sim_label(Sim *self, const char *text)
{
    return self->options.untraced ? 0 : sim_trace_label(self->trace, text);
}

void
sim_set_cause(Sim *self, SimCauseId cause)
{
    g_assert(cause < self->trace->length);
    self->cause = cause;
}

void
sim_event_set_parent(Sim *self, SimEventId event, SimCauseId parent)
{
    EventRecord *record = event_queue_find(&self->queue, event);

    g_assert(record != NULL);
    record->origin = (record->origin & ~(EventOrigin)UINT32_MAX) | parent;
}
