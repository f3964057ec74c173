/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "distribution.h"

/* A loop that runs again and again, and sleeps while its passes would change nothing. When it is
 * woken, it runs at the instant at which a loop that never sleeps would next have run. So results
 * are the same as with polling; with SimOptions.polling it does poll, and a test compares both. */
typedef struct SimTicker SimTicker;

typedef enum {
    /* passes at phase + k period (time.Ticker): a pass that takes longer than a period skips
     * ticks */
    SIM_TICKER_FIXED,
    SIM_TICKER_SLIDING, /* the period counts from the end of a pass (wait.Until). While it sleeps a
                           pass takes no time */
    /* sliding, each period multiplied by uniform [1, 1 + jitter): drawn for each tick
     * (wait.JitterUntil) */
    SIM_TICKER_JITTERED,
} SimTickerKind;

typedef struct {
    const char *name; /* for traces; borrowed, static */
    SimTickerKind kind;
    SimTime period;   /* > 0 */
    SimTime phase;    /* delay of the first tick from now; the caller may draw it */
    double jitter;    /* JITTERED: e.g. 0.04 */
    SimStream stream; /* JITTERED: periods are drawn with (stream, entity, tick number) */
    uint64_t entity;
    uint64_t order; /* unique among tickers: registry order << 24 | instance */
    SimWait wait;   /* the kind of wait for a tick, in the log of causes */
    /* One pass. Returns: %TRUE to tick again next period, %FALSE to sleep until sim_ticker_wake().
     */
    gboolean (*pass)(void *self);
    void *self;
} SimTickerOptions;

/* Returns: (owned): asleep until woken (or ticking, when polling) */
SimTicker *sim_ticker_new(Sim *sim, const SimTickerOptions *options);
void
sim_ticker_free(SimTicker *self); /* may be called within pass(); a long pass then has no end */
G_DEFINE_AUTOPTR_CLEANUP_FUNC(SimTicker, sim_ticker_free)

/* Something changed: runs at the next instant of the grid; the present instant counts if its turn
 * is still to come. Cheap when awake. The first caller since the last pass is the cause of the
 * pass. */
void sim_ticker_wake(SimTicker *self);
/**
 * sim_ticker_end_pass:
 * Ends a pass that takes time; pass() announced it by sim_ticker_begin_long_pass(). The next period
 * of a sliding or jittered ticker counts from here.
 */
void sim_ticker_begin_long_pass(SimTicker *self);
void sim_ticker_end_pass(SimTicker *self, gboolean again);
/* The instant of the next pass if it is woken now, or, during a pass, if the pass ends now. */
SimTime sim_ticker_next(SimTicker *self);
