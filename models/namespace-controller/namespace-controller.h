/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "models/cluster/model.h"

/* The controller of kube-controller-manager that empties namespaces: docs/rules/namespaces.md. */
extern const ModelClass namespace_controller_class;
