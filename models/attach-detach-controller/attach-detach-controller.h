/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "models/cluster/model.h"

/* The attach/detach controller of kube-controller-manager: docs/rules/attach-detach-controller.md.
 */
extern const ModelClass attach_detach_controller_class;
