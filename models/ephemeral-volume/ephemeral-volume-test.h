/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "models/ephemeral-volume/ephemeral-volume.h"

/* What only tests may call from outside of its file. */

/* PlanDecide: one sync of a pod. */
void ephemeral_volume_sync_pod(const void *component, Plan *plan);
