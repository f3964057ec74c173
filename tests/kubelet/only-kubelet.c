/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/kubelet/kubelet-private.h"

const ModelClass *const model_classes[] = {&kubelet_class, NULL};
