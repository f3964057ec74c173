/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "apiserver.h"

#define API_CROWD 10 /* TIM-4: the rate is taken over this many requests */

/* How long requests take: draws from the timing (TIM-1 to TIM-7). */
typedef struct {
    const Timing *timing; /* (borrowed) */
    SimStream durations, stalls, stall_lengths;
    SimTime recent[API_CROWD]; /* arrivals of the latest requests, as a ring */
    uint64_t n_recent;
    SimTime crowd_within; /* API_CROWD requests within this time are a crowd; 0: never */
    double slowness;      /* API-93; 1: the usual time */
} ApiLatency;

void api_latency_init(ApiLatency *self, Sim *sim, const Timing *timing);
/* How long a request of @entity takes. */
SimTime api_latency_draw(const ApiLatency *self, ApiVerb verb, uint64_t entity, uint32_t n);
/* TIM-4: how much longer it takes in a crowd of requests. */
SimTime api_latency_draw_stall(ApiLatency *self, SimTime arrives_at, uint64_t entity, uint32_t n);

/* TIM-7: a write is committed shortly before its response, so that watch events can overtake it. */
static inline SimTime
api_latency_commits_at(const ApiLatency *self, SimTime arrives_at, SimTime responds_at)
{
    return MAX(arrives_at, responds_at - self->timing->watch_lead);
}

static inline SimTime
api_latency_scale(SimTime time, double factor)
{
    return (SimTime)((double)time * factor);
}
