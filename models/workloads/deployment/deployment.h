/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "models/cluster/model.h"

/* The Deployment controller of kube-controller-manager: docs/rules/workloads.md. */
extern const ModelClass deployment_controller_class;
