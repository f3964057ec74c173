/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "kubelet-private.h"

/* The Node: its status, the pressure and the shutdown of its machine. */

/* ---- node-status.c ---- */

void node_status_init(Kubelet *self);
/* The volumes in use may differ from the volumes that Node status or the last report has. */
void node_status_changed(Kubelet *self);
void node_status_apply(Kubelet *self, const PlanChange *change);

/* ---- pressure.c ---- */

void pressure_init(Kubelet *self);
void pressure_changed(Kubelet *self); /* MACHINE_PRESSURE_CHANGED */
void pressure_look(Kubelet *self);    /* the next look may find something new */
/* The machine runs short of what an imported Node says. */
void pressure_imported(Kubelet *self, const Node *node);
/* The Node says otherwise than its kubelet. */
gboolean pressure_is_told_wrong(const Kubelet *self, const Node *node);
/* For a plan that puts it right: the conditions to be, and an Event of each that changes. @node:
 * NULL: unknown */
void pressure_plan(const Kubelet *self, Plan *plan, const Object *node, PodCondition *conditions);
/* Returns: FALSE: nothing was wrong */
gboolean pressure_set_conditions(const Kubelet *self, Node *node, const PodCondition *conditions);

/* ---- shutdown.c: NL-90 to NL-94 ---- */

void shutdown_begin(Kubelet *self); /* MACHINE_SHUTS_DOWN */
/* A pod has ended, or one of its volumes has: perhaps the last one that shutdown waits for. */
void shutdown_progressed(Kubelet *self);
