/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "models/pv-controller/pv-controller-private.h"

/* What only tests may call from outside of its file. */

PvCache *pv_controller_cache(void *component);
/* Stops the workers: the test starts syncs itself, and keys that these queue stay queued. */
void pv_controller_hold(void *component);
