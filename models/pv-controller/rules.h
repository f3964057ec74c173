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
    CLAIM_PEND,           /* Pending, without an event */
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

/* Looking up the claim of a volume's claimRef, before the volume is judged. */
typedef enum {
    LOOKUP_REFERS = 1 << 0,        /* claimRef is set, with a uid */
    LOOKUP_FOUND = 1 << 1,         /* a claim of that name is known */
    LOOKUP_OTHER_UID = 1 << 2,     /* ... with another uid */
    LOOKUP_ASKED = 1 << 3,         /* the API server has been asked for the name */
    LOOKUP_GIVEN_UP = 1 << 4,      /* the volume is Released or Failed already */
    LOOKUP_BY_CONTROLLER = 1 << 5, /* the claimRef was set by a controller */
    LOOKUP_FACTS_END = 1 << 6,
} LookupFacts;

typedef enum {
    LOOKUP_NO_CLAIM, /* the volume is judged without one */
    LOOKUP_CLAIM,    /* ... with the claim that was found */
    LOOKUP_ASK_NAME, /* the informer, then the API server */
    LOOKUP_ASK_UID,  /* the API server */
} LookupAnswer;

/* Whether a claim without a class may get the default class. */
typedef enum {
    DEFAULT_HAS_CLASS = 1 << 0, /* spec.storageClassName is set, if only to "" */
    DEFAULT_HAS_BETA = 1 << 1,  /* the annotation that came before it is */
    DEFAULT_FACTS_END = 1 << 2,
} DefaultFacts;

/* A claim that needs a new volume. */
typedef enum {
    PROVISION_IS_ON = 1 << 0,     /* --enable-dynamic-provisioning */
    PROVISION_HAS_CLASS = 1 << 1, /* its class exists */
    PROVISION_IN_TREE = 1 << 2,   /* ... and names a provisioner within Kubernetes */
    PROVISION_FACTS_END = 1 << 3,
} ProvisionFacts;

typedef enum {
    PROVISION_LEAVE,
    PROVISION_TELL_NO_CLASS,
    PROVISION_TELL_NO_PLUGIN,
    PROVISION_ASK, /* starts the operation */
} ProvisionAction;

/* That operation: whether the claim's annotations name the right provisioner. */
typedef enum {
    NOTE_IS_RIGHT = 1 << 0,      /* volume.kubernetes.io/storage-provisioner */
    NOTE_IS_RIGHT_BETA = 1 << 1, /* volume.beta.kubernetes.io/storage-provisioner */
    NOTE_FACTS_END = 1 << 2,
} NoteFacts;

typedef enum {
    NOTE_TELL, /* event; nothing to write */
    NOTE_WRITE_BETA,
    NOTE_WRITE_BOTH,
} NoteAction;

/* How a volume is reclaimed. */
typedef enum {
    POLICY_MIGRATED = 1 << 0, /* to CSI: this controller leaves it alone */
    POLICY_RETAIN = 1 << 1,
    POLICY_DELETE = 1 << 2,
    POLICY_RECYCLE = 1 << 3,
    POLICY_FACTS_END = 1 << 4,
} PolicyFacts;

typedef enum {
    RECLAIM_LEAVE,
    RECLAIM_START_DELETE,
    RECLAIM_START_RECYCLE,
} ReclaimAction;

/* The volume as those operations read it. */
typedef enum {
    RECLAIMED_FOUND = 1 << 0,
    RECLAIMED_RELEASED = 1 << 1,   /* still released (PVC-78) */
    RECLAIMED_GOING = 1 << 2,      /* it is being deleted */
    RECLAIMED_EXTERNAL = 1 << 3,   /* a deleter outside of Kubernetes is responsible */
    RECLAIMED_USED = 1 << 4,       /* by pods that go on; no new claim has its claim's name */
    RECLAIMED_RECYCLABLE = 1 << 5, /* NFS or hostPath */
    DELETE_FACTS_END = 1 << 4,
    RECYCLE_FACTS_END = 1 << 6,
} ReclaimedFacts;

typedef enum {
    RECLAIMED_LEAVE,
    RECLAIMED_FAIL,
    RECLAIMED_TELL_USED,
    RECLAIMED_SCRUB, /* by a pod */
} ReclaimedAction;

extern const RuleTable unbound_claim_rules;    /* PVC-21, 22 */
extern const RuleTable bound_claim_rules;      /* PVC-40 */
extern const RuleTable volume_rules;           /* PVC-70, 72 */
extern const RuleTable pv_lookup_rules;        /* PVC-71 */
extern const RuleTable pv_default_class_rules; /* PVC-27; then: gboolean */
extern const RuleTable pv_retry_rules;     /* PVC-10; then: gboolean. No facts, the release alone */
extern const RuleTable pv_provision_rules; /* PVC-60 */
extern const RuleTable pv_note_rules;      /* PVC-61 */
extern const RuleTable pv_wording_rules;   /* PVC-62; then: gboolean, the newer words. No facts */
extern const RuleTable pv_policy_rules;    /* PVC-75 */
extern const RuleTable pv_delete_rules;    /* PVC-76 */
extern const RuleTable pv_recycle_rules;   /* PVC-77 */
