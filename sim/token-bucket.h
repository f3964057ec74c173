/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "sim-time.h"

/* The token bucket with reservations of golang.org/x/time/rate, as client-go uses it: starts full,
 * refills continuously, may go negative; later callers never overtake. Exact: it counts in ns, not
 * in doubles. */
typedef struct {
    SimTime interval; /* ns per token; 0: no limit */
    SimTime credit; /* ns worth of tokens at @updated, may be negative; at most burst * interval */
    SimTime updated;
    SimTime burst; /* ns worth of the full bucket */
} SimTokenBucket;

/* @qps tokens a second, full with @burst; qps <= 0: no limit. */
void sim_token_bucket_init(SimTokenBucket *self, double qps, unsigned burst);
/* Takes one token at @now (which never goes back). Returns: when it is granted: now, or later */
SimTime sim_token_bucket_reserve(SimTokenBucket *self, SimTime now);
/* Returns: the tokens left at @now; below 0: so many callers wait for theirs; 0 without a limit */
double sim_token_bucket_tokens(const SimTokenBucket *self, SimTime now);
