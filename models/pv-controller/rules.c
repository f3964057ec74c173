/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/pv-controller/rules.h"

/* Short names for the tables. */
enum {
    NAMED = CLAIM_NAMED,
    FOUND = CLAIM_FOUND,
    TAKEN = CLAIM_TAKEN,
    OURS = CLAIM_OURS,
    UNFIT = CLAIM_UNFIT,
    BY_US = CLAIM_BY_US,
    REFUSED = CLAIM_REFUSED,
    DEFAULTS = CLAIM_DEFAULTS,
    WAITS = CLAIM_WAITS,
    CLASS = CLAIM_HAS_CLASS,
};

/* A claim that is not bound yet: syncUnboundClaim() in Kubernetes' pv_controller.go. Late binding
 * waits before any provisioner is asked (PVC-64). Columns: all of these hold, none of these, then.
 */
static const Rule unbound_claim_table[] = {
    {"PVC-21.2", REFUSED,                       NAMED,                                              CLAIM_FAIL_REFUSED },
    {"PVC-21.3", FOUND,                         NAMED | REFUSED,                                    CLAIM_BIND         },
    {"PVC-27",   DEFAULTS,                      NAMED | REFUSED | FOUND,                            CLAIM_SET_CLASS    },
    {"PVC-25",   WAITS,                         NAMED | REFUSED | FOUND | DEFAULTS,                 CLAIM_TELL_WAITING },
    {"PVC-60",   CLASS,                         NAMED | REFUSED | FOUND | DEFAULTS | WAITS,         CLAIM_PROVISION    },
    {"PVC-21.5", 0,                             NAMED | REFUSED | FOUND | DEFAULTS | WAITS | CLASS, CLAIM_TELL_NO_MATCH},
    {"PVC-22.1", NAMED,                         FOUND,                                              CLAIM_PEND         },
    {"PVC-22.2", NAMED | FOUND,                 TAKEN | UNFIT,                                      CLAIM_BIND         },
    {"PVC-23",   NAMED | FOUND | UNFIT,         TAKEN,                                              CLAIM_TELL_MISMATCH},
    {"PVC-22.3", NAMED | FOUND | TAKEN | OURS,  0,                                                  CLAIM_BIND         },
    {"PVC-22.4", NAMED | FOUND | TAKEN,         OURS | BY_US,                                       CLAIM_TELL_TAKEN   },
    {"PVC-22.5", NAMED | FOUND | TAKEN | BY_US, OURS,                                               CLAIM_FAIL_TAKEN   },
};

/* A claim whose binding was completed once: syncBoundClaim(). OURS: the claimRef's uid is the
 * claim's. */
static const Rule bound_claim_table[] = {
    {"PVC-40.1", 0,                            NAMED, CLAIM_LOSE_REFERENCE},
    {"PVC-40.2", NAMED,                        FOUND, CLAIM_LOSE_VOLUME   },
    {"PVC-40.3", NAMED | FOUND,                TAKEN, CLAIM_BIND          },
    {"PVC-40.4", NAMED | FOUND | TAKEN | OURS, 0,     CLAIM_BIND          },
    {"PVC-40.5", NAMED | FOUND | TAKEN,        OURS,  CLAIM_LOSE_MISBOUND },
};

enum {
    REFERS = VOLUME_REFERS,
    UID = VOLUME_REFERS | VOLUME_HAS_UID,
    EXISTS = UID | VOLUME_HAS_CLAIM, /* a claim of that name and uid */
    NAMES = VOLUME_CLAIM_NAMES,
    THIS = VOLUME_IS_NAMED,
    OTHER_MODE = VOLUME_MODE_DIFFERS,
    DISPOSABLE = VOLUME_DISPOSABLE,
    BY_CONTROLLER = VOLUME_BY_CONTROLLER,
};

/* A volume: syncVolume(). The claim has been looked up already. */
static const Rule volume_table[] = {
    {"PVC-70.1", 0,                              REFERS,                            VOLUME_MAKE_AVAILABLE},
    {"PVC-70.2", REFERS,                         VOLUME_HAS_UID,                    VOLUME_MAKE_AVAILABLE},
    {"PVC-73",   UID,                            VOLUME_HAS_CLAIM,                  VOLUME_RELEASE       },
    {"PVC-63",   EXISTS,                         NAMES | OTHER_MODE,                VOLUME_ASK_CLAIM     },
    {"PVC-70.4", EXISTS | OTHER_MODE,            NAMES,                             VOLUME_TELL_MISMATCH },
    {"PVC-70.5", EXISTS | NAMES | THIS,          0,                                 VOLUME_MAKE_BOUND    },
    {"PVC-72.1", EXISTS | NAMES | DISPOSABLE,    THIS,                              VOLUME_RELEASE       },
    {"PVC-72.2", EXISTS | NAMES | BY_CONTROLLER, THIS | DISPOSABLE,                 VOLUME_UNBIND        },
    {"PVC-72.3", EXISTS | NAMES,                 THIS | DISPOSABLE | BY_CONTROLLER, VOLUME_UNRESERVE     },
};

enum {
    MEANS = LOOKUP_REFERS,
    FOUND_IT = LOOKUP_FOUND,
    HIT = MEANS | FOUND_IT,
    OTHER = LOOKUP_OTHER_UID,
    ASKED = LOOKUP_ASKED,
    GIVEN_UP = LOOKUP_GIVEN_UP,
    BY_CTRL = LOOKUP_BY_CONTROLLER,
};

/* syncVolume(): a volume is not released just because a cache is late. */
static const Rule lookup_table[] = {
    {"PVC-71.1", 0,                MEANS,                                 LOOKUP_NO_CLAIM, .since = 0 },
    {"PVC-71.2", HIT,              OTHER,                                 LOOKUP_CLAIM,    .since = 0 },
    {"PVC-71c",  HIT | OTHER,      0,                                     LOOKUP_NO_CLAIM, .until = 23},
    {"PVC-71c",  HIT | OTHER,      0,                                     LOOKUP_ASK_UID,  .since = 23},
    {"PVC-71.3", MEANS | ASKED,    FOUND_IT,                              LOOKUP_NO_CLAIM, .since = 0 },
    {"PVC-71.4", MEANS | GIVEN_UP, FOUND_IT | ASKED,                      LOOKUP_NO_CLAIM, .since = 0 },
    {"PVC-71b",  MEANS,            FOUND_IT | ASKED | GIVEN_UP,           LOOKUP_ASK_NAME, .since = 20},
    {"PVC-71b",  MEANS | BY_CTRL,  FOUND_IT | ASKED | GIVEN_UP,           LOOKUP_ASK_NAME, .until = 20},
    {"PVC-71b",  MEANS,            FOUND_IT | ASKED | GIVEN_UP | BY_CTRL, LOOKUP_NO_CLAIM, .until = 20},
};

/* assignDefaultStorageClass(). */
static const Rule default_class_table[] = {
    {"PVC-27.1", 0,                 DEFAULT_HAS_CLASS | DEFAULT_HAS_BETA, FALSE, .until = 26},
    {"PVC-27.2", 0,                 DEFAULT_HAS_CLASS | DEFAULT_HAS_BETA, TRUE,  .since = 26},
    {"PVC-27.3", DEFAULT_HAS_CLASS, 0,                                    FALSE, .since = 0 },
    {"PVC-27.4", DEFAULT_HAS_BETA,  DEFAULT_HAS_CLASS,                    FALSE, .since = 0 },
};

static const Rule retry_table[] = {
    {"PVC-10.1", 0, 0, FALSE, .until = 36},
    {"PVC-10.2", 0, 0, TRUE,  .since = 36},
};

/* provisionClaim(). The provisioner of PVC-26, which provisions nothing, counts as in tree. */
static const Rule provision_table[] = {
    {"PVC-60.1", 0,                                                         PROVISION_IS_ON,     PROVISION_LEAVE        },
    {"PVC-60.2", PROVISION_IS_ON,                                           PROVISION_HAS_CLASS, PROVISION_TELL_NO_CLASS},
    {"PVC-60.3", PROVISION_IS_ON | PROVISION_HAS_CLASS | PROVISION_IN_TREE, 0,
     PROVISION_TELL_NO_PLUGIN                                                                                           },
    {"PVC-60.4", PROVISION_IS_ON | PROVISION_HAS_CLASS,                     PROVISION_IN_TREE,   PROVISION_ASK          },
};

/* setClaimProvisioner(). */
static const Rule note_table[] = {
    {"PVC-61.1", NOTE_IS_RIGHT_BETA, 0,                  NOTE_TELL,       .until = 23},
    {"PVC-61.2", 0,                  NOTE_IS_RIGHT_BETA, NOTE_WRITE_BETA, .until = 23},
    {"PVC-61.3", NOTE_IS_RIGHT,      0,                  NOTE_TELL,       .since = 23},
    {"PVC-61.4", 0,                  NOTE_IS_RIGHT,      NOTE_WRITE_BOTH, .since = 23},
};

static const Rule wording_table[] = {
    {"PVC-62.1", 0, 0, FALSE, .until = 28},
    {"PVC-62.2", 0, 0, TRUE,  .since = 28},
};

/* reclaimVolume(). */
static const Rule policy_table[] = {
    {"PVC-75.1", POLICY_MIGRATED, 0,               RECLAIM_LEAVE        },
    {"PVC-75.2", POLICY_RETAIN,   POLICY_MIGRATED, RECLAIM_LEAVE        },
    {"PVC-75.3", POLICY_DELETE,   POLICY_MIGRATED, RECLAIM_START_DELETE },
    {"PVC-75.4", POLICY_RECYCLE,  POLICY_MIGRATED, RECLAIM_START_RECYCLE},
};

static const RuleBound policy_bounds[] = {
    {.one_of = POLICY_RETAIN | POLICY_DELETE | POLICY_RECYCLE},
};

enum {
    READ = RECLAIMED_FOUND,
    RELEASED = RECLAIMED_FOUND | RECLAIMED_RELEASED,
    GOING = RECLAIMED_GOING,
    EXTERNAL = RECLAIMED_EXTERNAL,
    USED = RECLAIMED_USED,
    RECYCLABLE = RECLAIMED_RECYCLABLE,
};

#define HONOR "HonorPVReclaimPolicy"

/* deleteVolumeOperation(). No plugin within Kubernetes can delete the storage. */
static const Rule delete_table[] = {
    {"PVC-76.1", 0,                   READ,               RECLAIMED_LEAVE, .gate = NULL    },
    {"PVC-76.2", READ,                RECLAIMED_RELEASED, RECLAIMED_LEAVE, .gate = NULL    },
    {"PVC-76.3", RELEASED | EXTERNAL, 0,                  RECLAIMED_LEAVE, .gate = NULL    },
    {"PVC-76.4", RELEASED,            EXTERNAL | GOING,   RECLAIMED_FAIL,  .gate = NULL    },
    {"PVC-76.5", RELEASED | GOING,    EXTERNAL,           RECLAIMED_FAIL,  .gate = HONOR   },
    {"PVC-76.5", RELEASED | GOING,    EXTERNAL,           RECLAIMED_LEAVE, .no_gate = HONOR},
};

/* recycleVolumeOperation(). */
static const Rule recycle_table[] = {
    {"PVC-77.1", 0,                     READ,               RECLAIMED_LEAVE    },
    {"PVC-77.2", READ,                  RECLAIMED_RELEASED, RECLAIMED_LEAVE    },
    {"PVC-77.3", RELEASED | USED,       0,                  RECLAIMED_TELL_USED},
    {"PVC-77.4", RELEASED,              USED | RECYCLABLE,  RECLAIMED_FAIL     },
    {"PVC-77.5", RELEASED | RECYCLABLE, USED,               RECLAIMED_SCRUB    },
};

const RuleTable unbound_claim_rules =
    RULE_TABLE("unbound claims", CLAIM_FACTS_END, unbound_claim_table);
const RuleTable bound_claim_rules = RULE_TABLE("bound claims", CLAIM_FACTS_END, bound_claim_table);
const RuleTable volume_rules = RULE_TABLE("volumes", VOLUME_FACTS_END, volume_table);
const RuleTable pv_lookup_rules = RULE_TABLE("claims of volumes", LOOKUP_FACTS_END, lookup_table);
const RuleTable pv_default_class_rules =
    RULE_TABLE("default classes", DEFAULT_FACTS_END, default_class_table);
const RuleTable pv_retry_rules = RULE_TABLE("failed syncs", 1, retry_table);
const RuleTable pv_provision_rules =
    RULE_TABLE("provisioning", PROVISION_FACTS_END, provision_table);
const RuleTable pv_note_rules = RULE_TABLE("notes of the provisioner", NOTE_FACTS_END, note_table);
const RuleTable pv_wording_rules = RULE_TABLE("words of ExternalProvisioning", 1, wording_table);
const RuleTable pv_policy_rules =
    RULE_TABLE("reclaim policies", POLICY_FACTS_END, policy_table, RULE_BOUNDS(policy_bounds));
const RuleTable pv_delete_rules = RULE_TABLE("volumes to delete", DELETE_FACTS_END, delete_table);
const RuleTable pv_recycle_rules =
    RULE_TABLE("volumes to recycle", RECYCLE_FACTS_END, recycle_table);
