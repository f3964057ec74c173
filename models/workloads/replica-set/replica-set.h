/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "models/cluster/model.h"

/* The ReplicaSet controller of kube-controller-manager: docs/rules/workloads.md. */
extern const ModelClass replica_set_controller_class;
