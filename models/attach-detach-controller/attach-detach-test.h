/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "models/attach-detach-controller/controller.h"

/* What only tests may call from outside of its file. */

/* ADC-54: tells each pod that waits for the pair. */
void adc_plan_multi_attach_error(const AttachDetachController *self, Plan *plan, AttachPair *pair);
