/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "filter.h"

/* DefaultPreemption, for a pod that fits on no node (SCH-110..115): the pods that would have to
 * leave, and their node. There are no disruption budgets. */
typedef struct {
    const char *node_name; /* the pod is nominated to it; NULL: to none */
    GPtrArray *victims;    /* (owned) of Pod (owned), in the order in which they go; NULL: none */
    gboolean keeps_nomination; /* the earlier nomination stays */
    char *message;             /* (owned): behind the reasons of the nodes; NULL: nothing to say */
} Preemption;

extern const RuleTable scheduler_preemption_rules; /* SCH-110 */

void preemption_clear(Preemption *self);

/**
 * cycle_preempt:
 * @active: the filters that @self, which found no feasible node, has asked; NULL: it was refused
 * before any node was asked Tries out what would be if pods were not there; in the end all is as it
 * was.
 */
Preemption cycle_preempt(Cycle *self, const Filters *active);
