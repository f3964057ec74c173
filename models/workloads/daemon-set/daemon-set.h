/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "models/cluster/model.h"

/* The DaemonSet controller of kube-controller-manager: docs/rules/daemon-set.md. */
extern const ModelClass daemon_set_controller_class;
