/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "models/plan/rules.h"

/* What the scheduler judges: tables of rules over facts, by docs/rules/scheduler.md. The events
 * that plugins register for are a table in events.c. */

/* An event, and a pod that may wait for it. */
typedef enum {
    MOVED_IS_PARKED = 1 << 0, /* the pod is among the unschedulable ones */
    MOVED_IS_GATED = 1 << 1,
    MOVED_IS_HELPED = 1 << 2, /* the event may help, by a plugin that rejected it */
    MOVED_BY_ITSELF = 1 << 3, /* the event is a change of the pod */
    MOVED_FACTS_END = 1 << 4,
} MovedFacts;

typedef enum {
    MOVED_STAYS,
    MOVED_STAYS_COUNTED, /* its own status, mostly: the metric counts it (MET-W14) */
    MOVED_GOES_ON,
} MovedAnswer;

extern const RuleTable scheduler_move_rules; /* SCH-62 */

/* A pod whose attempt has failed. */
typedef enum {
    FAILED_IS_GONE = 1 << 0,
    FAILED_HAS_NODE = 1 << 1,
    FAILED_IS_QUEUED = 1 << 2, /* another pod of its name waits already */
    FAILED_BY_PLUGIN = 1 << 3, /* a plugin rejected it; without it, there was an error */
    FAILED_IS_HELPED = 1 << 4, /* by an event that came while it was tried */
    FAILED_FACTS_END = 1 << 5,
} FailedFacts;

typedef enum {
    FAILED_DROP,
    FAILED_BACK_OFF,
    FAILED_PARK,
} FailedAnswer;

extern const RuleTable scheduler_failure_rules; /* SCH-73, SCH-77, SCH-81 */

/* Whether other pods are made to leave a node. */
typedef enum {
    PREEMPT_HAS_NEVER = 1 << 0,   /* the pod's policy */
    PREEMPT_IS_WAITING = 1 << 1,  /* victims of an earlier attempt are still leaving */
    PREEMPT_HAS_NODES = 1 << 2,   /* some node's refusal could change */
    PREEMPT_HAS_VICTIMS = 1 << 3, /* some pod on a node has a lower priority */
    PREEMPT_FACTS_END = 1 << 4,
} PreemptFacts;

typedef enum {
    PREEMPT_REFUSE_POLICY,
    PREEMPT_REFUSE_WAITING,
    PREEMPT_FIND_NONE, /* without a look */
    PREEMPT_TRY_NODES,
} PreemptAnswer;

extern const RuleTable scheduler_preemption_rules; /* SCH-110 */

/* A claim of the pod, before nodes are looked at. */
typedef enum {
    CHECK_STORED = 1 << 0,
    CHECK_EPHEMERAL = 1 << 1, /* of an ephemeral volume */
    CHECK_LOST = 1 << 2,
    CHECK_DELETED = 1 << 3,
    CHECK_FOREIGN = 1 << 4, /* the pod does not own it */
    CHECK_FACTS_END = 1 << 5,
} CheckFacts;

typedef enum {
    CHECK_OK,
    CHECK_TELL_MISSING,
    CHECK_TELL_NOT_MADE,
    CHECK_TELL_LOST,
    CHECK_TELL_DELETED,
    CHECK_TELL_FOREIGN,
} CheckAnswer;

extern const RuleTable scheduler_claim_rules; /* VB-13 */

/* The pod's unbound claims together: can all nodes be told apart at once? */
typedef enum {
    NARROW_SELECTED = 1 << 0,    /* a node was selected for one */
    NARROW_PROVISIONED = 1 << 1, /* for one a volume can be made */
    NARROW_OFFERED = 1 << 2,     /* there is a volume that one could have */
    NARROW_REFUSED = 1 << 3,     /* the search of one ended with an error */
    NARROW_FACTS_END = 1 << 4,
} NarrowFacts;

typedef enum {
    NARROW_NOT, /* each node is asked */
    NARROW_TO_SELECTED,
    NARROW_TO_CANDIDATES,
    NARROW_TO_PROVISIONABLE, /* and these are all */
} NarrowAnswer;

extern const RuleTable scheduler_narrowing_rules; /* VB-21 to VB-23 */

/* A choice that PreBind has written, at a poll. */
typedef enum {
    BOUND_CLAIM_SEEN = 1 << 0,
    BOUND_VOLUME_SEEN = 1 << 1,  /* the chosen one; of a claim to provision: the one it names */
    BOUND_IS_OLD = 1 << 2,       /* the cache has it as it was before the write */
    BOUND_OUT_OF_REACH = 1 << 3, /* the volume, of the node */
    BOUND_IS_RESET = 1 << 4,     /* the volume refers to no claim; the claim lost its annotations */
    BOUND_IS_DONE = 1 << 5,      /* claim_is_fully_bound() */
    BOUND_STATIC_FACTS_END = 1 << 6,
    BOUND_ELSEWHERE = 1 << 6,    /* another node was selected for the claim, or none */
    BOUND_NAMES_VOLUME = 1 << 7, /* the claim does */
    BOUND_DYNAMIC_FACTS_END = 1 << 8,
} BoundFacts;

typedef enum {
    BOUND_DONE,
    BOUND_WAIT,
    BOUND_FAIL_VOLUME, /* gone */
    BOUND_FAIL_CLAIM,  /* gone */
    BOUND_FAIL_REACH,
    BOUND_FAIL_RESET,
    BOUND_FAIL_ELSEWHERE,
} BoundAnswer;

extern const RuleTable scheduler_static_rules;  /* VB-94.3 */
extern const RuleTable scheduler_dynamic_rules; /* VB-94.4 */
