/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "models/expand-controller/expand-controller.h"

/* What only tests may call from outside of its file. */

/* A PlanDecide: one sync of the claim. */
void expand_controller_sync(const void *self, Plan *plan);
