/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "models/cluster/model.h"

/* kube-controller-manager's expand controller. For volumes of a CSI driver it only tells that an
 * external controller expands them. */
extern const ModelClass expand_controller_class;
