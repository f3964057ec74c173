/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "models/api/volume.h"
#include "models/plan/plan.h"
#include "models/plan/rules.h"
#include "models/volume/in-process.h"

#define ANNOTATION_PRE_RESIZE_CAPACITY "volume.alpha.kubernetes.io/pre-resize-capacity"

typedef struct {
    Component base;
    Informer *claims, *volumes;
    Workers *workers;
    FlexDrivers *flex_drivers; /* FLX-23 */
} ExpandController;

enum {
    CHANGE_EXPANDING_DRIVER, /* as in_process_note() takes it */
};

extern const RuleTable expand_recovery_rules; /* RSZ-16 */

/* RSZ-14: whether an in-tree plugin or FlexVolume expands the volume within this controller. */
gboolean expand_is_in_process(const ExpandController *self, const Volume *volume);
/* ... and does. */
void expand_plan_in_process(const ExpandController *self,
                            Plan *plan,
                            const Claim *claim,
                            const Volume *volume);
