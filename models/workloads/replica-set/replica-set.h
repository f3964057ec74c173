/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "models/cluster/model.h"

/* The ReplicaSet controller of kube-controller-manager: docs/rules/workloads.md; and the same for
 * ReplicationControllers. */
extern const ModelClass replica_set_controller_class, replication_controller_class;
