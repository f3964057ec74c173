/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "sim.h"

/* For tickers only. */

/* The cause of the pending @event is @parent instead of the event that scheduled it. */
void sim_event_set_parent(Sim *self, SimEventId event, SimCauseId parent);
