/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "models/cluster/model.h"

/* The Job controller of kube-controller-manager: docs/rules/workloads.md. */
extern const ModelClass job_controller_class;
