/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "models/plan/rules.h"

/* What the PV controller judges: tables of rules over facts, one row per rule of
 * docs/rules/pv-controller.md (a number after the dot counts its table rows). To every set of facts
 * exactly one row of a table applies, so their order means nothing. */

/* Facts, as a set. Of a claim: */
typedef enum {
    CLAIM_NAMED = 1 << 0,   /* spec.volumeName is set */
    CLAIM_FOUND = 1 << 1,   /* the volume that it names is known; it names none: a volume matches */
    CLAIM_TAKEN = 1 << 2,   /* that volume has a claimRef */
    CLAIM_OURS = 1 << 3,    /* ... which is for this claim (PVC-31) */
    CLAIM_UNFIT = 1 << 4,   /* that volume may not be bound by name: PVC-23 */
    CLAIM_BY_US = 1 << 5,   /* the claim's volumeName was set by a controller */
    CLAIM_REFUSED = 1 << 6, /* the search ended with an error */
    CLAIM_DEFAULTS = 1 << 7,  /* no class is set, and a default class exists */
    CLAIM_WAITS = 1 << 8,     /* late binding, and no node is chosen */
    CLAIM_HAS_CLASS = 1 << 9, /* the class is not "" */
    CLAIM_FACTS_END = 1 << 10,
} ClaimFacts;

/* Of a volume: */
typedef enum {
    VOLUME_REFERS = 1 << 0,        /* claimRef is set */
    VOLUME_HAS_UID = 1 << 1,       /* ... with a uid */
    VOLUME_HAS_CLAIM = 1 << 2,     /* the claim of that uid exists (PVC-71) */
    VOLUME_CLAIM_NAMES = 1 << 3,   /* the claim has a spec.volumeName */
    VOLUME_IS_NAMED = 1 << 4,      /* ... of this volume */
    VOLUME_MODE_DIFFERS = 1 << 5,  /* the claim's volumeMode is another */
    VOLUME_DISPOSABLE = 1 << 6,    /* made by a provisioner, policy Delete */
    VOLUME_BY_CONTROLLER = 1 << 7, /* the claimRef was set by a controller */
    VOLUME_FACTS_END = 1 << 8,
} VolumeFacts;

/* What becomes of a claim. */
typedef enum {
    CLAIM_BIND,           /* the four writes of PVC-50 */
    CLAIM_SET_CLASS,      /* retroactive default class */
    CLAIM_PROVISION,      /* hand over to a provisioner */
    CLAIM_TELL_WAITING,   /* event: waits for a pod; Pending */
    CLAIM_TELL_NO_MATCH,  /* event: no volume and no class; Pending */
    CLAIM_TELL_MISMATCH,  /* event: the named volume does not fit; Pending */
    CLAIM_TELL_TAKEN,     /* event: the named volume is another claim's; Pending */
    CLAIM_PEND,           /* Pending, not a word */
    CLAIM_FAIL_TAKEN,     /* event, and the sync fails */
    CLAIM_FAIL_REFUSED,   /* the sync fails */
    CLAIM_LOSE_REFERENCE, /* Lost: no volumeName any more */
    CLAIM_LOSE_VOLUME,    /* Lost: the volume is gone */
    CLAIM_LOSE_MISBOUND,  /* Lost: the volume is another claim's */
} ClaimAction;

/* What becomes of a volume. */
typedef enum {
    VOLUME_MAKE_AVAILABLE,
    VOLUME_MAKE_BOUND,
    VOLUME_RELEASE,       /* Released, then the reclaim policy */
    VOLUME_ASK_CLAIM,     /* the claim's worker shall bind */
    VOLUME_TELL_MISMATCH, /* events */
    VOLUME_UNBIND,        /* claimRef removed */
    VOLUME_UNRESERVE,     /* claimRef.uid cleared, the name stays */
} VolumeAction;

/* How a volume is reclaimed (PVC-75). */
typedef enum {
    RECLAIM_LEAVE,
    RECLAIM_START_DELETE,
    RECLAIM_START_RECYCLE,
} ReclaimAction;

extern const RuleTable unbound_claim_rules; /* PVC-21, 22 */
extern const RuleTable bound_claim_rules;   /* PVC-40 */
extern const RuleTable volume_rules;        /* PVC-70, 72 */
