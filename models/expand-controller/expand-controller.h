/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "models/cluster/model.h"

/* kube-controller-manager's expand controller: of volumes that a CSI driver expands it only tells
 * that somebody else does. */
extern const ModelClass expand_controller_class;

/* A PlanDecide: one sync of the claim; for tests. */
void expand_controller_sync(const void *self, Plan *plan);
