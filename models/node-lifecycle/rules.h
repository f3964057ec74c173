/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "models/plan/rules.h"

/* What the node controller judges in its passes: tables of rules over facts, by
 * docs/rules/node-lifecycle.md. */

/* A node as a pass finds it. */
typedef enum {
    SILENT = 1 << 0,   /* its kubelet does not renew its lease */
    BAD = 1 << 1,      /* Ready is False or Unknown */
    TAINTED = 1 << 2,  /* it has a NoExecute taint of the two that are managed */
    UNSUITED = 1 << 3, /* ... but not the one that its Ready asks for */
    COUNTING = 1 << 4, /* silent, and its Ready is not Unknown yet */
    OVERDUE = 1 << 5,  /* ... for longer than the grace period */
    BUSY = 1 << 6,     /* an earlier pass started a plan for it that is not over */
    DEAD = 1 << 7,     /* no zone has a ready node */
    NODE_FACTS_END = 1 << 8,
    NOT_WELL = SILENT | BAD | TAINTED,
} NodeFacts;

typedef enum {
    NODE_FORGET,      /* it is as it should be */
    NODE_REST,        /* nothing is to be done until something changes */
    NODE_LOOK_AGAIN,  /* in the next pass */
    NODE_SET_UNKNOWN, /* its conditions, and its pods are not ready */
    NODE_SPARE,       /* takes its NoExecute taints away */
    NODE_QUEUE_TAINT, /* its zone's queue decides when it is tainted */
    NODE_RETAINT,     /* at once: the other taint, or none */
} NodeAction;

extern const RuleTable node_pass_rules; /* NL-20 to NL-35 */

/* How long a node may be silent. */
typedef enum {
    GRACE_NEVER_POSTED = 1 << 0, /* its kubelet never posted a status */
    GRACE_BY_DEFAULT = 1 << 1,   /* the flag has its default value */
    GRACE_FACTS_END = 1 << 2,
} GraceFacts;

typedef enum {
    GRACE_OF_STARTUP, /* --node-startup-grace-period */
    GRACE_OF_MONITOR, /* --node-monitor-grace-period */
    GRACE_BEFORE_1_32,
} GraceAnswer;

extern const RuleTable node_grace_rules; /* NL-5, NL-6 */

/* What a zone is like. */
typedef enum {
    ZONE_HAS_READY = 1 << 0,
    ZONE_HAS_BAD = 1 << 1,
    ZONE_HAS_MANY_BAD = 1 << 2, /* more than two */
    ZONE_IS_OVER = 1 << 3,      /* their share is at least the threshold (NL-9) */
    ZONE_FACTS_END = 1 << 4,
} ZoneFacts;

typedef enum {
    ZONE_NORMAL,
    ZONE_PARTIAL, /* PartialDisruption */
    ZONE_FULL,    /* FullDisruption: no node is ready */
} ZoneState;

extern const RuleTable node_zone_rules; /* NL-34 */

/* How fast a zone's nodes are tainted. */
typedef enum {
    RATE_ALL_DEAD = 1 << 0, /* no zone has a ready node */
    RATE_PARTIAL = 1 << 1,  /* the zone is ZONE_PARTIAL */
    RATE_LARGE = 1 << 2,    /* it has more nodes than --large-cluster-size-threshold */
    RATE_FACTS_END = 1 << 3,
} RateFacts;

typedef enum {
    RATE_NONE,
    RATE_PRIMARY,   /* --node-eviction-rate */
    RATE_SECONDARY, /* --secondary-node-eviction-rate */
} RateAnswer;

extern const RuleTable node_rate_rules; /* NL-7, NL-8, NL-34 */
