/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "models/cluster/model.h"

/* The disruption controller of kube-controller-manager, which counts for PodDisruptionBudgets:
 * docs/rules/workloads.md. */
extern const ModelClass disruption_controller_class;
