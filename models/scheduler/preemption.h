/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "filter.h"

/* What DefaultPreemption makes of a pod that no node takes (SCH-110..115): which pods would have to
 * leave which node. There are no disruption budgets. */
typedef struct {
    const char *node_name; /* the pod is nominated to it; NULL: to none */
    GPtrArray *victims;    /* (owned) of Pod (owned), in the order in which they go; NULL: none */
    gboolean keeps_nomination; /* what the pod was nominated to before stays */
    char *message;             /* (owned): behind the reasons of the nodes; NULL: nothing to say */
} Preemption;

void preemption_clear(Preemption *self);

/**
 * cycle_preempt:
 * @active: the filters that @self, which found no feasible node, has asked; NULL: it was refused
 * before any node was asked Tries out what would be if pods were not there; in the end all is as it
 * was.
 */
Preemption cycle_preempt(Cycle *self, const Filters *active);
