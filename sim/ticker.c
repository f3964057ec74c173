/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A loop that does something at a period, and sleeps while there is nothing to do: its next instant
 * is computed on waking, from the instants that it would have had. With jitter the periods that
 * were slept through are drawn after the fact, so results are those of a loop that never slept;
 * with polling it never sleeps, and tests compare both. A pass may take time, and the next period
 * begins at its end. */
#include "ticker.h"

#include "random-internal.h"
#include "sim-internal.h"

typedef enum {
    TICKER_WAITING, /* asleep, or its event is pending */
    TICKER_PASSING, /* within pass() */
    TICKER_LONG,    /* between sim_ticker_begin_long_pass() and sim_ticker_end_pass() */
} TickerState;

struct SimTicker {
    Sim *sim;
    SimTickerOptions options;
    TickerState state;
    SimTime next_at;      /* an instant of the loop; may be past while the ticker sleeps */
    uint64_t n_ticks;     /* with jitter: passes before @next_at, including those slept through */
    uint64_t random_base; /* with jitter: shared by all draws */
    uint64_t jitter_ns;   /* a period is longer than the shortest by less than this; 0: no jitter */
    SimEventId event;     /* 0: asleep, or in a pass */
    uint16_t label;       /* its name, for the log of causes */
    gboolean is_woken;    /* since the last pass began */
    SimCauseId woken_by;
    gboolean in_callback; /* pass() is on the stack */
    gboolean freed;       /* freed within pass(): free it when that returns */
};

SimTime
sim_ticker_step(const SimTicker *self)
{
    return self->options.period + self->options.cost;
}

static SimTime
draw_step(const SimTicker *self, uint64_t tick)
{
    if (self->jitter_ns == 0)
        return sim_ticker_step(self);
    uint64_t bits = sim_random_nth(self->random_base, tick);
    return sim_ticker_step(self) + (SimTime)sim_below_from_bits(bits, self->jitter_ns);
}

/* The first of the instants @place, @place + @step, ... at or after @from. */
static SimTime
grid_ceil(SimTime place, SimTime step, SimTime from)
{
    if (place >= from)
        return place;
    uint64_t distance = (uint64_t)from - (uint64_t)place;
    uint64_t n_steps = (distance - 1) / (uint64_t)step + 1;
    return sim_time_add(place, (SimTime)(n_steps * (uint64_t)step));
}

/* Draws the periods that were slept through. No step is longer than period + cost + jitter, so most
 * steps cannot reach @from: these are summed up without a test, several at a time. */
static void
jittered_catch_up(SimTicker *self, SimTime from)
{
    uint64_t longest = (uint64_t)sim_ticker_step(self) + self->jitter_ns;

    while (self->next_at < from) {
        uint64_t n_safe = ((uint64_t)from - (uint64_t)self->next_at) / longest;
        uint64_t end = self->n_ticks + MAX(n_safe, 1);
        SimTime sum = 0;
        for (uint64_t tick = self->n_ticks; tick < end; tick++)
            sum += draw_step(self, tick);
        self->next_at = sim_time_add(self->next_at, sum);
        self->n_ticks = end;
    }
}

/* The first instant at which a tick can still fire in its turn. */
static SimTime
earliest_tick(const SimTicker *self)
{
    SimTime now = sim_now(self->sim);
    return sim_tick_is_past(self->sim, self->options.order) ? now + 1 : now;
}

/* Skips the passes that would have found nothing to do, up to the next one that can still be
 * made. */
static void
catch_up(SimTicker *self)
{
    if (self->jitter_ns > 0)
        jittered_catch_up(self, earliest_tick(self));
    else
        self->next_at = grid_ceil(self->next_at, sim_ticker_step(self), earliest_tick(self));
}

/* The instant of the next tick if the present pass ends now. */
static SimTime
next_if_pass_ends(const SimTicker *self)
{
    return sim_time_add(sim_now(self->sim), draw_step(self, self->n_ticks));
}

static void ticker_fire(Sim *sim, void *data);

static const SimEventType ticker_event = {
    .name = "tick",
    .fire = ticker_fire,
};

static void
ticker_schedule(SimTicker *self)
{
    catch_up(self);
    self->event = sim_at_tick(self->sim, self->next_at, self->options.order, &ticker_event, self,
                              self->options.wait, self->label);
    if (self->is_woken && self->event != 0)
        sim_event_set_parent(self->sim, self->event, self->woken_by);
}

static void
ticker_finish_pass(SimTicker *self, gboolean again)
{
    self->next_at = next_if_pass_ends(self);
    self->n_ticks++;
    self->state = TICKER_WAITING;
    if (again || self->is_woken || sim_is_polling(self->sim))
        ticker_schedule(self);
}

static void
ticker_fire(Sim *sim, void *data)
{
    SimTicker *self = data;

    g_assert(self->state == TICKER_WAITING && self->next_at == sim_now(sim));
    self->event = 0;
    self->is_woken = FALSE;
    self->state = TICKER_PASSING;
    self->in_callback = TRUE;
    gboolean again = self->options.pass(self->options.self);
    self->in_callback = FALSE;

    if (self->freed)
        g_free(self);
    else if (self->state ==
             TICKER_PASSING) /* otherwise the pass takes time, or has ended already */
        ticker_finish_pass(self, again);
}

SimTicker *
sim_ticker_new(Sim *sim, const SimTickerOptions *options)
{
    g_assert(options->period > 0 && options->cost >= 0 && options->phase >= 0 &&
             options->jitter >= 0);
    SimTicker *self = g_new0(SimTicker, 1);

    self->sim = sim;
    self->options = *options;
    self->label = options->name == NULL ? 0 : sim_label(sim, options->name);
    self->next_at = sim_time_add(sim_now(sim), options->phase);
    if (options->jitter > 0) {
        self->random_base = sim_random_base(options->stream, options->entity);
        self->jitter_ns = (uint64_t)((double)options->period * options->jitter + 0.5);
    }
    if (sim_is_polling(sim))
        ticker_schedule(self);
    return self;
}

void
sim_ticker_free(SimTicker *self)
{
    if (self == NULL)
        return;
    sim_cancel(self->sim, self->event);
    self->event = 0;
    if (self->in_callback)
        self->freed = TRUE;
    else
        g_free(self);
}

void
sim_ticker_wake(SimTicker *self)
{
    if (self->is_woken || self->freed)
        return;
    self->is_woken = TRUE;
    self->woken_by = sim_cause(self->sim);
    if (self->event != 0)
        sim_event_set_parent(self->sim, self->event, self->woken_by);
    else if (self->state == TICKER_WAITING)
        ticker_schedule(self);
}

void
sim_ticker_begin_long_pass(SimTicker *self)
{
    g_assert(self->state == TICKER_PASSING);
    self->state = TICKER_LONG;
}

void
sim_ticker_end_pass(SimTicker *self, gboolean again)
{
    g_assert(self->state == TICKER_LONG);
    if (!self->freed)
        ticker_finish_pass(self, again);
}

SimTime
sim_ticker_next(SimTicker *self)
{
    if (self->state != TICKER_WAITING)
        return next_if_pass_ends(self);
    if (self->event == 0)
        catch_up(self);
    return self->next_at;
}
