/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "models/timing/timing.h"

/* What only tests may call from outside of its file. */

/* Only the start of a process takes time: for tests of rules. */
void timing_init_instant(Timing *self);
