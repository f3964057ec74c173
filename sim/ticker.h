/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "distribution.h"

/* A loop that runs again and again, and sleeps while its passes would change nothing. Woken, it
 * runs at the instant at which the loop that never slept would next have run. Results equal plain
 * polling; with SimOptions.polling it does poll, so that a test can tell. */
typedef struct SimTicker SimTicker;

typedef enum {
    SIM_TICKER_FIXED,    /* passes at phase + k period (time.Ticker): a pass that takes longer skips
                            ticks */
    SIM_TICKER_SLIDING,  /* the period counts from the end of a pass (wait.Until). While it sleeps a
                            pass takes no time */
    SIM_TICKER_JITTERED, /* sliding, each period multiplied by uniform [1, 1 + jitter): drawn per
                            tick (wait.JitterUntil) */
} SimTickerKind;

typedef struct {
    const char *name; /* for traces; borrowed, static */
    SimTickerKind kind;
    SimTime period;   /* > 0 */
    SimTime phase;    /* of the first tick, from now; for a draw: the caller draws */
    double jitter;    /* JITTERED: e.g. 0.04 */
    SimStream stream; /* JITTERED: periods are drawn with (stream, entity, tick number) */
    uint64_t entity;
    uint64_t order; /* unique among tickers: registry order << 24 | instance */
    SimWait wait;   /* what waiting for a tick is, in the log of causes */
    /* One pass. Returns: %TRUE to tick again next period, %FALSE to sleep until sim_ticker_wake().
     */
    gboolean (*pass)(void *self);
    void *self;
} SimTickerOptions;

/* Returns: (owned): asleep until woken (or ticking, when polling) */
SimTicker *sim_ticker_new(Sim *sim, const SimTickerOptions *options);
void sim_ticker_free(SimTicker *self); /* also from within pass(); a long pass then has no end */
G_DEFINE_AUTOPTR_CLEANUP_FUNC(SimTicker, sim_ticker_free)

/* Something changed: run at the next instant of the grid after now (an instant that is now, and has
 * not been passed yet, counts). Cheap when awake. The first waker since the last pass is the cause
 * of the pass. */
void sim_ticker_wake(SimTicker *self);
/**
 * sim_ticker_end_pass:
 * A pass that takes time ends by this call rather than by returning: it is made at the end of the
 * pass, and the next period of a sliding or jittered ticker counts from there. Announced from
 * within pass() by sim_ticker_begin_long_pass().
 */
void sim_ticker_begin_long_pass(SimTicker *self);
void sim_ticker_end_pass(SimTicker *self, gboolean again);
/* The instant of the next pass if it were woken now; during a pass: if that ended now. */
SimTime sim_ticker_next(SimTicker *self);
