/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "sim.h"

/* What tickers need of the engine. */

/* Whether the place of a tick of @order at this instant lies behind us: nothing scheduled there would be in time. */
gboolean sim_tick_is_past(const Sim *self, uint64_t order);
/* The pending @event will be released by @parent instead of by what scheduled it. */
void sim_event_set_parent(Sim *self, SimEventId event, SimCauseId parent);
