/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "models/kubelet/pods.h"
#include "plugin-manager.h"

/* Attach limits that change while a driver is registered. */

/* Watches CSIDriver objects if limits may change. */
void attach_limits_init(Kubelet *self);
/* The driver was registered (@is_new) or unregistered (REG-36). */
void attach_limits_sync(NodePlugin *plugin, gboolean is_new);

/* Whether the next function does anything. */
gboolean attach_limits_are_verified(const Kubelet *self);
/**
 * attach_limits_verify:
 * @plan: a pod's sync, whose wait for volumes is over in vain
 * @done: decides what follows, with attach_limits_are_exhausted()
 * Returns: whether steps were added, or @done was called (REG-38)
 */
gboolean attach_limits_verify(const Kubelet *self, Plan *plan, PlanDecide done);
/* Whether a volume of the pod found no place on the node. */
gboolean attach_limits_are_exhausted(Plan *plan);
