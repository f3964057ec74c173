/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "models/scheduler/diagnose.h"
#include "question.h"

/* Between unscheduled.c, which chooses the cause, and rejection.c, which tells of it. */

/* What a node may have against a pod; in the order in which they win: an unusual state first. */
typedef enum {
    NODE_CLAIM_LOST,
    NODE_RWOP,
    NODE_SILENT,
    NODE_CORDONED,
    NODE_PRESSURE,
    NODE_LIMIT,
    NODE_NO_DRIVER,
    NODE_ZONE,
    NODE_CAPACITY,
    NODE_NO_VOLUME,
    NODE_RESOURCES,
    NODE_ANTI_AFFINITY,
    NODE_AFFINITY,
    NODE_SPREAD,
    NODE_SELECTOR,
    NODE_TAINT,
    N_NODE_CAUSES,
} NodeCause;

/* What one node says. */
typedef struct {
    const NodeInfo *node;
    uint32_t causes;                              /* 1 << NodeCause */
    const char *reason, *taint_key, *taint_value; /* the last one */
} NodeAnswer;

/* Ends the chain at the object at fault, for @answer, which names @cause. Returns: FALSE: nothing
 * is known of it but the cause */
gboolean
why_ask_rejection(Question *self, const Pod *pod, NodeCause cause, const NodeAnswer *answer);
