/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "rules.h"

/* monitorNodeHealth() and processTaintBaseEviction() in Kubernetes' node_lifecycle_controller.go.
 * Columns: all of these hold, none of these, then, any of these. */
static const Rule node_table[] = {
    {"NL-20",   BUSY,                     0,                                           NODE_LOOK_AGAIN,  NOT_WELL},
    {"NL-21.1", 0,                        NOT_WELL,                                    NODE_FORGET,      0       },
    {"NL-22",   OVERDUE,                  BUSY,                                        NODE_SET_UNKNOWN, 0       },
    {"NL-35.1", DEAD | TAINTED,           BUSY | OVERDUE,                              NODE_SPARE,       0       },
    {"NL-35.2", DEAD | COUNTING,          BUSY | OVERDUE | TAINTED,                    NODE_LOOK_AGAIN,  0       },
    {"NL-35.3", DEAD,                     BUSY | OVERDUE | TAINTED | COUNTING,         NODE_REST,        NOT_WELL},
    {"NL-30",   BAD | UNSUITED,           BUSY | OVERDUE | DEAD | TAINTED,             NODE_QUEUE_TAINT, 0       },
    {"NL-31",   BAD | UNSUITED | TAINTED, BUSY | OVERDUE | DEAD,                       NODE_RETAINT,     0       },
    {"NL-32",   UNSUITED,                 BUSY | OVERDUE | DEAD | BAD,                 NODE_RETAINT,     NOT_WELL},
    {"NL-21.2", COUNTING,                 BUSY | OVERDUE | DEAD | UNSUITED,            NODE_LOOK_AGAIN,  0       },
    {"NL-24",   0,                        BUSY | OVERDUE | DEAD | UNSUITED | COUNTING, NODE_REST,        NOT_WELL},
};

static const RuleBound node_bounds[] = {
    {.given = COUNTING, .all = SILENT  },
    {.given = OVERDUE,  .all = COUNTING},
};

const RuleTable node_pass_rules =
    RULE_TABLE("nodes in a pass", NODE_FACTS_END, node_table, RULE_BOUNDS(node_bounds));

/* Columns: all, none, then, any, since 1.x, until 1.x. */
static const Rule grace_table[] = {
    {"NL-5.1", GRACE_BY_DEFAULT,   GRACE_NEVER_POSTED,                    GRACE_BEFORE_1_32, 0, 0,  32},
    {"NL-6",   GRACE_NEVER_POSTED, 0,                                     GRACE_OF_STARTUP,  0, 0,  0 },
    {"NL-5.2", GRACE_BY_DEFAULT,   GRACE_NEVER_POSTED,                    GRACE_OF_MONITOR,  0, 32, 0 },
    {"NL-5.3", 0,                  GRACE_NEVER_POSTED | GRACE_BY_DEFAULT, GRACE_OF_MONITOR,  0, 0,  0 },
};

const RuleTable node_grace_rules =
    RULE_TABLE("grace of silent nodes", GRACE_FACTS_END, grace_table);

/* ComputeZoneState(). */
static const Rule zone_table[] = {
    {"NL-34.1", 0,                                                                ZONE_HAS_BAD,      ZONE_NORMAL },
    {"NL-34.2", ZONE_HAS_BAD,                                                     ZONE_HAS_READY,    ZONE_FULL   },
    {"NL-34.3", ZONE_HAS_BAD | ZONE_HAS_READY,                                    ZONE_HAS_MANY_BAD, ZONE_NORMAL },
    {"NL-34.4", ZONE_HAS_BAD | ZONE_HAS_READY | ZONE_HAS_MANY_BAD,                ZONE_IS_OVER,      ZONE_NORMAL },
    {"NL-34.5", ZONE_HAS_BAD | ZONE_HAS_READY | ZONE_HAS_MANY_BAD | ZONE_IS_OVER, 0,                 ZONE_PARTIAL},
};

const RuleTable node_zone_rules = RULE_TABLE("zones", ZONE_FACTS_END, zone_table);

/* setLimiterInZone(), handleDisruption(). */
static const Rule rate_table[] = {
    {"NL-36",   RATE_ALL_DEAD,             0,                            RATE_NONE     },
    {"NL-7",    0,                         RATE_ALL_DEAD | RATE_PARTIAL, RATE_PRIMARY  },
    {"NL-8",    RATE_PARTIAL | RATE_LARGE, RATE_ALL_DEAD,                RATE_SECONDARY},
    {"NL-34.6", RATE_PARTIAL,              RATE_ALL_DEAD | RATE_LARGE,   RATE_NONE     },
};

const RuleTable node_rate_rules = RULE_TABLE("rates of zones", RATE_FACTS_END, rate_table);
