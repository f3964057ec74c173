/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "models/kubelet/kubelet-private.h"

/* Pressure of a node: what its machine runs short of, and what the Node tells of it (NL-25). */

struct NodePressure {
    /* Masks of 1 << NodeTrouble: what its machine runs short of; what the Node is to tell. */
    unsigned shortages, pressures;
    SimTime short_until[N_NODE_PRESSURES]; /* the last look that saw a shortage that is over */
    SimEventId event;                      /* the next look */
};

/* Before the rooms that ask for pressure. */
void pressure_init(Kubelet *self);
void pressure_begin(Kubelet *self); /* once all of its handlers are there */
void pressure_clear(Kubelet *self);
void pressure_changed(Kubelet *self); /* MACHINE_PRESSURE_CHANGED */
void pressure_look(Kubelet *self);    /* the next look may find something new */
/* The shortages that an imported Node reports. */
void pressure_imported(Kubelet *self, const Node *node);
/* The Node says otherwise than its kubelet. */
gboolean pressure_is_told_wrong(const Kubelet *self, const Node *node);
/* For a plan that puts it right: the conditions to be, and an Event of each that changes. @node:
 * NULL: unknown */
void pressure_plan(const Kubelet *self, Plan *plan, const Object *node, PodCondition *conditions);
/* Returns: FALSE: nothing was wrong */
gboolean pressure_set_conditions(const Kubelet *self, Node *node, const PodCondition *conditions);
