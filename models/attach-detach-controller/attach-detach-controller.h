/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "models/cluster/model.h"

/* The attach/detach controller of kube-controller-manager: docs/rules/attach-detach-controller.md.
 */
extern const ModelClass attach_detach_controller_class;

/* When the six minutes of a volume end that a silent node still reports in use (ADC-42). @volume:
 * its unique name. Returns: SIM_TIME_MAX: they do not run */
SimTime attach_detach_forced_at(const Cluster *cluster, const char *volume, const char *node_name);
