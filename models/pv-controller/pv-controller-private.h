/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "models/plan.h"
#include "models/pv-controller/cache.h"
#include "models/pv-controller/pv-controller.h"

/* ---- For tests of single syncs ---- */

/* PlanDecide: syncClaim() and syncVolume() as the workers run them, with the object that the informer has. */
void pv_controller_sync_claim(const void *component, Plan *plan);
void pv_controller_sync_volume(const void *component, Plan *plan);
PvCache *pv_controller_cache(void *component);
/* The workers take no more keys: syncs are started by the test, and what they queue stays where it is. */
void pv_controller_hold(void *component);
