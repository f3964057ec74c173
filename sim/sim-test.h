/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "sim/distribution.h"
#include "sim/sim.h"
#include "sim/station.h"
#include "sim/trace.h"

/* What only tests may call from outside of its file. */

SimDist *sim_dist_new_uniform(SimTime low, SimTime high);
SimDist *sim_dist_new_lognormal(SimTime median, double sigma, SimTime shift);
/* ns, with the shift, without the bounds except those of a normal; infinity if there is no mean */
double sim_dist_mean(const SimDist *self);
uint64_t sim_events_left_out(const Sim *self);
void sim_stop(Sim *self); /* called within an event: sim_run_until() returns after that event */
unsigned sim_station_busy(const SimStation *self);
unsigned sim_station_queued(const SimStation *self);
/**
 * sim_trace_add:
 * Returns: a new entry; the parent itself if no time has passed since (an entry without length
 * tells nothing)
 */
SimCauseId
sim_trace_add(SimTrace *self, SimCauseId parent, SimTime at, SimWait wait, uint16_t detail);
/* Slow: for many entries see SimTraceReader. */
SimCause sim_trace_get(const SimTrace *self, SimCauseId id);
