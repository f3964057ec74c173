/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "models/cluster/model.h"

/* The quota controller of kube-controller-manager, for claims only: it writes limits and usage into
 * the status of ResourceQuotas (API-153). Admission charges; only the controller gives back. */
extern const ModelClass resource_quota_controller_class;
