/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "apiserver.h"

/* How long requests take: draws from the timing (TIM-1 to TIM-7). */
typedef struct {
    const Timing *timing; /* (borrowed) */
    SimStream durations;
    SimTime busy_until; /* TIM-4: the work of all requests so far is done then */
    double slowness;    /* API-93; at least 1, the usual time */
} ApiLatency;

void api_latency_init(ApiLatency *self, Sim *sim, const Timing *timing);
/* How long a request of @entity takes. */
SimTime api_latency_draw(const ApiLatency *self, ApiVerb verb, uint64_t entity, uint32_t n);
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

/* TIM-4: queues the work of a request that takes @duration alone behind the work of earlier
 * requests. A slow server has no more work: its requests wait for a disk or a network. Returns: the
 * end of the work; without earlier work at most @duration from @now */
static inline SimTime
api_latency_add_work(ApiLatency *self, SimTime now, SimTime duration)
{
    SimTime work = api_latency_scale(duration, self->timing->load / self->slowness);

    self->busy_until = MAX(self->busy_until, now) + work;
    return self->busy_until;
}
