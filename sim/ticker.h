/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "distribution.h"

/* A loop as wait.Until() and wait.JitterUntil() of Kubernetes make it: the timer for the next pass
 * starts when a pass ends, so each pass shifts all later ones. It sleeps while its passes would
 * change nothing. When it is woken, it runs at the instant at which a loop that never sleeps would
 * next have run. So results are the same as with polling; with SimOptions.polling it does poll, and
 * a test compares both. */
typedef struct SimTicker SimTicker;

typedef struct {
    const char *name; /* for traces; borrowed, static */
    SimTime period;   /* > 0 */
    /* A pass and its timer's lateness, >= 0: added to each period, busy or idle. So the k-th pass
     * of an idle loop comes at phase + k (period + cost); the model's own time of a long pass adds
     * to that. Constant: a drawn cost would have to be drawn for each pass slept through. */
    SimTime cost;
    SimTime phase;    /* delay of the first pass from now; the caller may draw it */
    double jitter;    /* each period is multiplied by uniform [1, 1 + jitter); 0: none */
    SimStream stream; /* with jitter: periods are drawn with (stream, entity, pass number) */
    uint64_t entity;
    uint64_t order; /* unique among tickers: registry order << 24 | instance */
    SimWait wait;   /* the kind of wait for a pass, in the log of causes */
    /* One pass. Returns: %TRUE to run again next period, %FALSE to sleep until sim_ticker_wake().
     */
    gboolean (*pass)(void *self);
    void *self;
} SimTickerOptions;

/* Returns: (owned): asleep until woken (or ticking, when polling) */
SimTicker *sim_ticker_new(Sim *sim, const SimTickerOptions *options);
void
sim_ticker_free(SimTicker *self); /* may be called within pass(); a long pass then has no end */
G_DEFINE_AUTOPTR_CLEANUP_FUNC(SimTicker, sim_ticker_free)

/* Something changed: runs at the next instant of the loop; the present instant counts if its turn
 * is still to come. Cheap when awake. The first caller since the last pass is the cause of the
 * pass. */
void sim_ticker_wake(SimTicker *self);
/**
 * sim_ticker_end_pass:
 * Ends a pass that takes time; pass() announced it by sim_ticker_begin_long_pass(). The next period
 * counts from here.
 */
void sim_ticker_begin_long_pass(SimTicker *self);
void sim_ticker_end_pass(SimTicker *self, gboolean again);
/* The instant of the next pass if it is woken now, or, during a pass, if the pass ends now. */
SimTime sim_ticker_next(SimTicker *self);
/* From one pass to the next while the loop is idle, without jitter: period + cost. */
SimTime sim_ticker_step(const SimTicker *self);
