/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "kubelet-private.h"

/* When the loops of a kubelet tick. */

SimTime
kubelet_draw_phase(const Kubelet *self, uint64_t n, SimTime below)
{
    SimStream stream = sim_stream(self->base.sim, "kubelet/phase");

    return (SimTime)sim_random_below(stream, self->node_key->hash, n, (uint64_t)below);
}

/* TIM-43c: a time.Ticker, so without drift. */
SimTime
kubelet_sync_tick(const Kubelet *self, SimTime due)
{
    return due + (self->sync_phase - due % SIM_SECOND + SIM_SECOND) % SIM_SECOND;
}

/* After a restart the first passes of the plugin manager and of the analyzer of volumes come at
 * once: their phase is the kubelet's start. At the cluster's start all phases are random. */
SimTicker *
kubelet_make_loop(
    Kubelet *self, const char *name, unsigned number, SimTime period, gboolean (*pass)(void *self))
{
    const Timing *timing = process_timing(self->base.process);
    SimTime cost = number == LOOP_RELIST ? timing->relist_pass : timing->loop_pass;
    SimTime step = period + cost;
    gboolean from_start = number == LOOP_PLUGINS || number == LOOP_VOLUME_STATS;
    SimTime phase = from_start && self->base.started_late ? self->born_at % step
                                                          : kubelet_draw_phase(self, number, step);
    SimTime passed = sim_now(self->base.sim) % step;
    SimTickerOptions options = {
        .name = name,
        .period = period,
        .cost = cost,
        .phase = (phase - passed + step) % step,
        .order = self->base.order + number,
        .wait = number == LOOP_RELIST ? WAIT_RUNTIME : WAIT_POLL,
        .pass = pass,
        .self = self,
    };

    return sim_ticker_new(self->base.sim, &options);
}

void
kubelet_status_changed(Kubelet *self)
{
    sim_ticker_wake(self->status_loop);
}
