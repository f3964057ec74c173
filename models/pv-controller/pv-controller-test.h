/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "models/pv-controller/pv-controller-private.h"

/* What only tests may call from outside of its file. */

PvCache *pv_controller_cache(void *component);
/* The workers take no more keys: the test starts syncs itself, and keys that they queue stay
 * queued. */
void pv_controller_hold(void *component);
