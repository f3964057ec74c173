/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "run/measure/calibration.h"

/* What only tests may call from outside of its file. */

/* Returns: (owned): of double: seconds alone of OK calls of one kind. @workers 0: all */
GArray *calibration_shares_alone(const CalibrationShares *self,
                                 CsiLatency kind,
                                 unsigned workers,
                                 CsiSlowdown slowdown);
