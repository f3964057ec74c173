/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "models/model.h"

/* The StatefulSet controller of kube-controller-manager: spec/workloads.md, section 2. */
extern const ModelClass stateful_set_controller_class;
