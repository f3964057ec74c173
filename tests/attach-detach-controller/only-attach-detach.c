/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/attach-detach-controller/attach-detach-controller.h"

const ModelClass *const model_classes[] = {&attach_detach_controller_class, NULL};
