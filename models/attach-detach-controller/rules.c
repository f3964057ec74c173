/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "rules.h"

#include "state.h"

/* Short names for the tables. */
enum {
    BUSY = DETACH_IS_BUSY,
    USED = DETACH_IN_USE,
    RUNS = DETACH_CLOCK_RUNS,
    FORCED = DETACH_MAY_FORCE,
    HEALTHY = DETACH_NODE_HEALTHY,
    RETIRED = DETACH_NODE_RETIRED,
};

/* The detach half of reconcile() in Kubernetes' reconciler.go. On a healthy node the six minutes
 * force nothing; but once they are over and the volume is unmounted, the node is not asked again.
 * Columns: all of these hold, none of these, then. */
static const Rule detach_table[] = {
    {"ADC-40",   BUSY,                              0,                              DETACH_NOT_NOW},
    {"ADC-46.1", 0,                                 BUSY | USED | FORCED | RETIRED, DETACH_ASKING },
    {"ADC-46.2", FORCED,                            BUSY | USED,                    DETACH_LATE   },
    {"ADC-43.1", USED | FORCED,                     BUSY | HEALTHY,                 DETACH_LATE   },
    {"ADC-43.2", USED | FORCED | HEALTHY | RETIRED, BUSY,                           DETACH_LATE   },
    {"ADC-43.3", RETIRED,                           BUSY | FORCED,                  DETACH_GONE   },
    {"ADC-44.1", USED | RUNS,                       BUSY | RETIRED,                 DETACH_WAIT   },
    {"ADC-44.2", USED,                              BUSY | RETIRED | RUNS | FORCED, DETACH_LEAVE  },
    {"ADC-44.3", USED | FORCED | HEALTHY,           BUSY | RETIRED,                 DETACH_LEAVE  },
};

static const RuleBound detach_bounds[] = {
    {.given = FORCED, .none = RUNS},
};

const RuleTable adc_detach_rules =
    RULE_TABLE("detach", DETACH_FACTS_END, detach_table, RULE_BOUNDS(detach_bounds));

enum {
    RUNNING = ATTACH_IS_BUSY,
    DONE = ATTACH_IS_DONE,
    CLOCK = ATTACH_CLOCK_RUNS,
    HELD = ATTACH_HELD,
    BACKOFF = ATTACH_BACKING_OFF,
};

/* attachDesiredVolumes(). */
static const Rule attach_table[] = {
    {"ADC-49.1", RUNNING,      0,                               ATTACH_LEAVE     },
    {"ADC-49.2", DONE | CLOCK, RUNNING,                         ATTACH_STOP_CLOCK},
    {"ADC-49.2", DONE,         RUNNING | CLOCK,                 ATTACH_LEAVE     },
    {"ADC-49.3", HELD,         RUNNING | DONE,                  ATTACH_TELL_PODS },
    {"ADC-49.4", BACKOFF,      RUNNING | DONE | HELD,           ATTACH_LATER     },
    {"ADC-49.4", 0,            RUNNING | DONE | HELD | BACKOFF, ATTACH_NOW       },
};

const RuleTable adc_attach_rules = RULE_TABLE("attach", ATTACH_FACTS_END, attach_table);

enum {
    DETACH = LOOK_IS_DETACH,
    FOUND = LOOK_FOUND,
    DELETED = LOOK_DELETED,
    ATTACHED = LOOK_ATTACHED,
    ERROR = LOOK_ERROR,
};

/* verifyAttachmentStatus() and verifyDetachmentStatus() in csi_attacher.go. An error counts even if
 * it is older than the try (ADC-62). */
static const Rule look_table[] = {
    {"ADC-60.1", 0,                      DETACH | FOUND,                      LOOK_AGAIN    },
    {"ADC-65",   FOUND | DELETED,        DETACH,                              LOOK_FAILED   },
    {"ADC-60.2", FOUND | ATTACHED,       DETACH | DELETED,                    LOOK_SUCCEEDED},
    {"ADC-62.1", FOUND | ERROR,          DETACH | DELETED | ATTACHED,         LOOK_FAILED   },
    {"ADC-60.3", FOUND,                  DETACH | DELETED | ATTACHED | ERROR, LOOK_AGAIN    },
    {"ADC-61.1", DETACH,                 FOUND,                               LOOK_SUCCEEDED},
    {"ADC-62.2", DETACH | FOUND | ERROR, 0,                                   LOOK_FAILED   },
    {"ADC-61.2", DETACH | FOUND,         ERROR,                               LOOK_AGAIN    },
};

const RuleTable adc_look_rules =
    RULE_TABLE("looks at a VolumeAttachment", LOOK_FACTS_END, look_table);

/* After a failure nobody knows whether it is attached (ADC-17). */
static const Rule end_table[] = {
    {"ADC-56.1", 0,                          END_IS_DETACH | END_FAILED, ADC_ATTACHED },
    {"ADC-56.2", END_FAILED,                 END_IS_DETACH,              ADC_UNCERTAIN},
    {"ADC-57.2", END_IS_DETACH,              END_FAILED,                 ADC_DETACHED },
    {"ADC-57.3", END_IS_DETACH | END_FAILED, 0,                          ADC_UNCERTAIN},
};

const RuleTable adc_end_rules = RULE_TABLE("ends of attach and detach", END_FACTS_END, end_table);

/* podAdd(), podUpdate() and podDelete(). Known: nothing would change. */
static const Rule pod_table[] = {
    {"ADC-30.1", POD_IS_GONE,                  0,                                        POD_LEAVES_VOLUMES},
    {"ADC-30.2", 0,                            POD_IS_GONE | POD_IS_PLACED,              POD_IGNORE        },
    {"ADC-30.3", POD_IS_PLACED | POD_IS_KNOWN, POD_IS_GONE,                              POD_IGNORE        },
    {"ADC-31",   POD_IS_PLACED | POD_IS_OVER,  POD_IS_GONE | POD_IS_KNOWN,               POD_LEAVES_VOLUMES},
    {"ADC-30.4", POD_IS_PLACED,                POD_IS_GONE | POD_IS_KNOWN | POD_IS_OVER, POD_WANTS_VOLUMES },
};

const RuleTable adc_pod_rules = RULE_TABLE("pods and their attachments", POD_FACTS_END, pod_table);
