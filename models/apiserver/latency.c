/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "latency.h"

void
api_latency_init(ApiLatency *self, Sim *sim, const Timing *timing)
{
    *self = (ApiLatency){
        .timing = timing,
        .durations = sim_stream(sim, "api/latency"),
        .stalls = sim_stream(sim, "api/stall"),
        .stall_lengths = sim_stream(sim, "api/stall length"),
        .slowness = 1,
    };
    if (timing->stall != NULL)
        self->crowd_within = (SimTime)(API_CROWD * (double)SIM_SECOND / timing->stall_rate);
}

static double
verb_factor(const Timing *timing, ApiVerb verb)
{
    switch (verb) {
    case API_GET:
    case API_LIST:
        return timing->read_factor;
    case API_CREATE:
    case API_BIND:
    case API_EVICT:
        return timing->create_factor;
    case API_UPDATE:
    case API_UPDATE_STATUS:
        return timing->update_factor;
    case API_PATCH:
    case API_PATCH_STATUS:
        return timing->patch_factor;
    case API_DELETE:
        return timing->delete_factor;
    case N_API_VERBS:
        break;
    }
    g_assert_not_reached();
}

/* TIM-1, TIM-2, TIM-6. */
SimTime
api_latency_draw(const ApiLatency *self, ApiVerb verb, uint64_t entity, uint32_t n)
{
    SimTime time = api_latency_scale(sim_dist_draw(self->timing->write, self->durations, entity, n),
                                     verb_factor(self->timing, verb));

    return api_latency_scale(time, self->slowness);
}

SimTime
api_latency_draw_stall(ApiLatency *self, SimTime arrives_at, uint64_t entity, uint32_t n)
{
    SimTime *oldest = &self->recent[self->n_recent++ % API_CROWD];
    gboolean is_crowd = self->n_recent > API_CROWD && arrives_at - *oldest < self->crowd_within;

    *oldest = arrives_at;
    if (!is_crowd || sim_random_uniform(self->stalls, entity, n) >= self->timing->stall_chance)
        return 0;
    return sim_dist_draw(self->timing->stall, self->stall_lengths, entity, n);
}
