/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "models/plan/rules.h"

/* What the attach/detach controller judges: tables of rules over facts, by
 * docs/rules/attach-detach-controller.md. */

/* The detach loop: a pair that is not wanted, and attached or uncertain. */
typedef enum {
    DETACH_IS_BUSY = 1 << 0,      /* an operation runs, or a detach is in its back-off (ADC-40) */
    DETACH_IN_USE = 1 << 1,       /* the Node says so, or has not said anything yet */
    DETACH_CLOCK_RUNS = 1 << 2,   /* the six minutes are not over (ADC-42) */
    DETACH_MAY_FORCE = 1 << 3,    /* they are over, and a flag lets that force a detach (ADC-2) */
    DETACH_NODE_HEALTHY = 1 << 4, /* the Node is there and ready */
    DETACH_NODE_RETIRED = 1 << 5, /* it has the taint out-of-service */
    DETACH_FACTS_END = 1 << 6,
} DetachFacts;

typedef enum {
    DETACH_NOT_NOW,
    DETACH_LEAVE,  /* until something changes */
    DETACH_WAIT,   /* until the six minutes are over */
    DETACH_ASKING, /* the Node is asked once more: DETACH_IF_SAFE */
    DETACH_LATE,   /* not asked: DETACH_TIMED_OUT */
    DETACH_GONE,   /* not asked: DETACH_OUT_OF_SERVICE */
} DetachAction;

extern const RuleTable adc_detach_rules; /* ADC-40 to ADC-46 */

/* The attach loop: a pair that is wanted. */
typedef enum {
    ATTACH_IS_BUSY = 1 << 0,    /* an operation of its key runs */
    ATTACH_IS_DONE = 1 << 1,    /* it is surely attached */
    ATTACH_CLOCK_RUNS = 1 << 2, /* a detach was wanted before */
    ATTACH_HELD = 1 << 3,       /* for one node only, and surely attached elsewhere (ADC-53) */
    ATTACH_BACKING_OFF = 1 << 4,
    ATTACH_FACTS_END = 1 << 5,
} AttachFacts;

typedef enum {
    ATTACH_LEAVE,
    ATTACH_STOP_CLOCK,
    ATTACH_TELL_PODS, /* of the multi-attach error, once */
    ATTACH_LATER,     /* when the back-off is over */
    ATTACH_NOW,
} AttachAction;

extern const RuleTable adc_attach_rules; /* ADC-49 */

/* A look at the VolumeAttachment in the cache while an operation waits for it. */
typedef enum {
    LOOK_IS_DETACH = 1 << 0, /* a detach waits; without it, an attach */
    LOOK_FOUND = 1 << 1,     /* it is there */
    LOOK_DELETED = 1 << 2,   /* ... with a deletionTimestamp */
    LOOK_ATTACHED = 1 << 3,  /* ... and status.attached */
    LOOK_ERROR = 1 << 4,     /* ... and its status has an error of that operation */
    LOOK_FACTS_END = 1 << 5,
} LookFacts;

/* As a PlanCondition answers. */
typedef enum {
    LOOK_FAILED = -1,
    LOOK_AGAIN = 0,
    LOOK_SUCCEEDED = 1,
} LookAnswer;

extern const RuleTable adc_look_rules; /* ADC-60 to ADC-62 */

/* The end of an operation, and the state of the pair after it. */
typedef enum {
    END_IS_DETACH = 1 << 0, /* of a detach; without it, of an attach */
    END_FAILED = 1 << 1,
    END_FACTS_END = 1 << 2,
} EndFacts;

extern const RuleTable adc_end_rules; /* ADC-56, ADC-57; then: an AttachState */

/* An event of a pod. */
typedef enum {
    POD_IS_GONE = 1 << 0,
    POD_IS_PLACED = 1 << 1, /* it has a node and volumes */
    POD_IS_OVER = 1 << 2,   /* it has ended, or is going without a running container (ADC-31) */
    POD_IS_KNOWN = 1 << 3,  /* neither has changed, and all its volumes could be looked up */
    POD_FACTS_END = 1 << 4,
} PodFacts;

typedef enum {
    POD_IGNORE,
    POD_WANTS_VOLUMES,
    POD_LEAVES_VOLUMES,
} PodAction;

extern const RuleTable adc_pod_rules; /* ADC-30, ADC-31 */
