/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "models/cluster/model.h"

/* The StatefulSet controller of kube-controller-manager: docs/rules/stateful-set.md. */
extern const ModelClass stateful_set_controller_class;
