/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "models/cluster/model.h"

/* The quota controller of kube-controller-manager, as far as it counts claims: it writes what is in
 * force and what is used into the status of ResourceQuotas (API-153). Admission charges them; only
 * the controller gives back. */
extern const ModelClass resource_quota_controller_class;
