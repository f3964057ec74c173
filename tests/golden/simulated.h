/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "moments.h"
#include "timeline.h"

/* Executes @scenario with @seed. Returns: (owned): NULL with an error if it can't be run */
Moments *simulated_moments(const Scenario *scenario,
                           uint64_t seed,
                           const GoldenWords *words,
                           GError **error);
