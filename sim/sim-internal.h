/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "sim.h"

/* What tickers need of the engine. */

/* The pending @event will be released by @parent instead of by what scheduled it. */
void sim_event_set_parent(Sim *self, SimEventId event, SimCauseId parent);
