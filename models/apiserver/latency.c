/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "latency.h"

void
api_latency_init(ApiLatency *self, Sim *sim, const Timing *timing)
{
    *self = (ApiLatency){
        .timing = timing,
        .durations = sim_stream(sim, "api/latency"),
        .slowness = 1,
    };
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
