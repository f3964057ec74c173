/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "sim.h"

/* n servers and one queue, first come first served: a back end that serves n calls at once. The
 * user tells when a job comes and ends; the station tells which job is next. It allocates nothing
 * once its queue has grown. */
typedef struct SimStation SimStation;

/* Starts to serve @job at this instant. sim_station_done() must follow, in this call or later. */
typedef void (*SimStationServe)(void *self, void *job);

/* @servers: 0: no limit. @wait: the cause of time spent in the queue. Returns: (owned) */
SimStation *
sim_station_new(Sim *sim, unsigned servers, SimStationServe serve, void *self, SimWait wait);
void sim_station_free(SimStation *self); /* jobs in the queue are forgotten, not freed */
G_DEFINE_AUTOPTR_CLEANUP_FUNC(SimStation, sim_station_free)

void sim_station_submit(SimStation *self, void *job); /* serves at once if a server is free */
void sim_station_done(SimStation *self); /* one server is free again: the next starts now */
gboolean sim_station_withdraw(SimStation *self,
                              /* removes it from the queue; FALSE: it is not in the queue */
                              const void *job);
