/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "models/cluster/model.h"

/* The garbage collector of kube-controller-manager, for the kinds that matter to volumes: pods,
 * claims and revisions whose controller is gone are deleted in the background (API-41, API-55). */
extern const ModelClass garbage_collector_class;
