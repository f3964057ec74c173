/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "rules.h"

/* isPodWorthRequeuing(). Columns: all of these hold, none of these, then. */
static const Rule move_table[] = {
    {"SCH-62.1", 0,                                 MOVED_IS_PARKED,                                    MOVED_STAYS  },
    {"SCH-62.2", MOVED_IS_PARKED | MOVED_IS_GATED,  0,                                                  MOVED_STAYS  },
    {"SCH-62.3", MOVED_IS_PARKED | MOVED_IS_HELPED, MOVED_IS_GATED,                                     MOVED_GOES_ON},
    {"SCH-62.4", MOVED_IS_PARKED | MOVED_BY_ITSELF, MOVED_IS_GATED | MOVED_IS_HELPED,
     MOVED_STAYS_COUNTED                                                                                             },
    {"SCH-62.5", MOVED_IS_PARKED,                   MOVED_IS_GATED | MOVED_IS_HELPED | MOVED_BY_ITSELF, MOVED_STAYS  },
};

const RuleTable scheduler_move_rules =
    RULE_TABLE("unschedulable pods and events", MOVED_FACTS_END, move_table);

enum {
    GONE = FAILED_IS_GONE,
    PLACED = FAILED_HAS_NODE,
    QUEUED = FAILED_IS_QUEUED,
    REJECTED = FAILED_BY_PLUGIN,
    HELPED = FAILED_IS_HELPED,
};

/* handleSchedulingFailure(), AddUnschedulableIfNotPresent(). */
static const Rule failure_table[] = {
    {"SCH-77.1", GONE,              0,                                 FAILED_DROP    },
    {"SCH-77.2", PLACED,            GONE,                              FAILED_DROP    },
    {"SCH-77.3", QUEUED,            GONE | PLACED,                     FAILED_DROP    },
    {"SCH-73",   0,                 GONE | PLACED | QUEUED | REJECTED, FAILED_BACK_OFF},
    {"SCH-81.1", REJECTED | HELPED, GONE | PLACED | QUEUED,            FAILED_BACK_OFF},
    {"SCH-81.2", REJECTED,          GONE | PLACED | QUEUED | HELPED,   FAILED_PARK    },
};

const RuleTable scheduler_failure_rules =
    RULE_TABLE("pods whose attempt failed", FAILED_FACTS_END, failure_table);

enum {
    NEVER = PREEMPT_HAS_NEVER,
    WAITING = PREEMPT_IS_WAITING,
    NODES = PREEMPT_HAS_NODES,
    VICTIMS = PREEMPT_HAS_VICTIMS,
};

/* PodEligibleToPreemptOthers(), findCandidates(). */
static const Rule preemption_table[] = {
    {"SCH-110.1", NEVER,           0,                         PREEMPT_REFUSE_POLICY },
    {"SCH-110.2", WAITING,         NEVER,                     PREEMPT_REFUSE_WAITING},
    {"SCH-115.1", 0,               NEVER | WAITING | NODES,   PREEMPT_FIND_NONE     },
    {"SCH-115.2", NODES,           NEVER | WAITING | VICTIMS, PREEMPT_FIND_NONE     },
    {"SCH-111",   NODES | VICTIMS, NEVER | WAITING,           PREEMPT_TRY_NODES     },
};

const RuleTable scheduler_preemption_rules =
    RULE_TABLE("preemption", PREEMPT_FACTS_END, preemption_table);

enum {
    STORED = CHECK_STORED,
    EPHEMERAL = CHECK_EPHEMERAL,
    LOST = CHECK_LOST,
    DELETED = CHECK_DELETED,
    FOREIGN = CHECK_FOREIGN,
};

/* podHasPVCs() of the plugin VolumeBinding. */
static const Rule claim_table[] = {
    {"VB-T2",   0,                            STORED | EPHEMERAL,         CHECK_TELL_MISSING },
    {"VB-T3",   EPHEMERAL,                    STORED,                     CHECK_TELL_NOT_MADE},
    {"VB-T4",   STORED | LOST,                0,                          CHECK_TELL_LOST    },
    {"VB-T5",   STORED | DELETED,             LOST,                       CHECK_TELL_DELETED },
    {"VB-T6",   STORED | EPHEMERAL | FOREIGN, LOST | DELETED,             CHECK_TELL_FOREIGN },
    {"VB-13.1", STORED | EPHEMERAL,           LOST | DELETED | FOREIGN,   CHECK_OK           },
    {"VB-13.2", STORED,                       LOST | DELETED | EPHEMERAL, CHECK_OK           },
};

const RuleTable scheduler_claim_rules =
    RULE_TABLE("claims of a pod to schedule", CHECK_FACTS_END, claim_table);

enum {
    SELECTED = NARROW_SELECTED,
    PROVISIONED = NARROW_PROVISIONED,
    OFFERED = NARROW_OFFERED,
    REFUSED = NARROW_REFUSED,
};

static const Rule narrowing_table[] = {
    {"VB-21.1", REFUSED,               0,                                NARROW_NOT             },
    {"VB-21.2", PROVISIONED | OFFERED, REFUSED | SELECTED,               NARROW_NOT             },
    {"VB-22",   SELECTED,              REFUSED,                          NARROW_TO_SELECTED     },
    {"VB-23.1", OFFERED,               REFUSED | SELECTED | PROVISIONED, NARROW_TO_CANDIDATES   },
    {"VB-23.2", 0,                     REFUSED | SELECTED | OFFERED,     NARROW_TO_PROVISIONABLE},
};

const RuleTable scheduler_narrowing_rules =
    RULE_TABLE("nodes that unbound claims leave", NARROW_FACTS_END, narrowing_table);

enum {
    CLAIM = BOUND_CLAIM_SEEN,
    VOLUME = BOUND_VOLUME_SEEN,
    BOTH = CLAIM | VOLUME,
    OLD = BOUND_IS_OLD,
    FAR = BOUND_OUT_OF_REACH,
    RESET = BOUND_IS_RESET,
    DONE = BOUND_IS_DONE,
    ELSEWHERE = BOUND_ELSEWHERE,
    NAMED = BOUND_NAMES_VOLUME,
};

/* checkBindings() in binder.go: claims that get a volume that is there. */
static const Rule static_table[] = {
    {"VB-T21",  0,            VOLUME,                   BOUND_FAIL_VOLUME},
    {"VB-T21",  VOLUME,       CLAIM,                    BOUND_FAIL_CLAIM },
    {"VB-94.3", BOTH | OLD,   0,                        BOUND_WAIT       },
    {"VB-T20",  BOTH | FAR,   OLD,                      BOUND_FAIL_REACH },
    {"VB-T19",  BOTH | RESET, OLD | FAR,                BOUND_FAIL_RESET },
    {"VB-94.3", BOTH | DONE,  OLD | FAR | RESET,        BOUND_DONE       },
    {"VB-94.3", BOTH,         OLD | FAR | RESET | DONE, BOUND_WAIT       },
};

const RuleTable scheduler_static_rules =
    RULE_TABLE("claims bound to a volume", BOUND_STATIC_FACTS_END, static_table);

/* The same, for claims whose volume is made. The volume may be seen later than the claim: kinds
 * have no order. */
static const Rule dynamic_table[] = {
    {"VB-T21",  0,                             CLAIM,                                BOUND_FAIL_CLAIM    },
    {"VB-94.4", CLAIM | OLD,                   0,                                    BOUND_WAIT          },
    {"VB-T18",  CLAIM | RESET,                 OLD,                                  BOUND_FAIL_RESET    },
    {"VB-T17",  CLAIM | ELSEWHERE,             OLD | RESET,                          BOUND_FAIL_ELSEWHERE},
    {"VB-94.4", CLAIM | NAMED,                 OLD | RESET | ELSEWHERE | VOLUME,     BOUND_WAIT          },
    {"VB-T20",  CLAIM | NAMED | VOLUME | FAR,  OLD | RESET | ELSEWHERE,              BOUND_FAIL_REACH    },
    {"VB-94.4", CLAIM | NAMED | VOLUME | DONE, OLD | RESET | ELSEWHERE | FAR,        BOUND_DONE          },
    {"VB-94.4", CLAIM | NAMED | VOLUME,        OLD | RESET | ELSEWHERE | FAR | DONE, BOUND_WAIT          },
    {"VB-94.4", CLAIM,                         OLD | RESET | ELSEWHERE | NAMED,      BOUND_WAIT          },
};

const RuleTable scheduler_dynamic_rules =
    RULE_TABLE("claims with a volume to come", BOUND_DYNAMIC_FACTS_END, dynamic_table);
