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

const RuleTable unbound_claim_rules = {
    .name = "unbound claims",
    .facts_end = CLAIM_FACTS_END,
    RULE_ROWS(unbound_claim_table),
};
const RuleTable bound_claim_rules = {
    .name = "bound claims",
    .facts_end = CLAIM_FACTS_END,
    RULE_ROWS(bound_claim_table),
};
const RuleTable volume_rules = {
    .name = "volumes",
    .facts_end = VOLUME_FACTS_END,
    RULE_ROWS(volume_table),
};
