/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "models/cluster/model.h"

/* The controller of kube-controller-manager that deletes finished Jobs: docs/rules/workloads.md. */
extern const ModelClass ttl_after_finished_class;
