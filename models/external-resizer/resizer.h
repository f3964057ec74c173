/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "external-resizer.h"

#include "models/plan/plan.h"
#include "models/volume/resize-status.h"
#include "models/volume/sidecar.h"

/* Within the resizer: external-resizer.c holds its state and hears of changes, expand.c syncs
 * claims, new-size.c chooses the size to ask for. modify.c is a second controller in the same
 * process: it changes the attributes of volumes. */

#define ANNOTATION_PRE_RESIZE_CAPACITY "volume.alpha.kubernetes.io/pre-resize-capacity"

typedef struct {
    Component base;
    const ExternalResizerOptions *options; /* borrowed, of the process */
    Sidecar *sidecar;
    gboolean recovers;        /* RecoverVolumeExpansionFailure; else the older path (RSZ-40) */
    gboolean annotates;       /* AnnotateFsResize */
    gboolean asks_controller; /* the driver expands volumes; else its nodes alone do (RSZ-20) */

    Informer *claims;
    /* The original watches both from its start; here the first use subscribes. */
    Informer *volumes;            /* NULL until a claim grows */
    InformerIndex *pods_by_claim; /* NULL until a claim is in in_use_errors */
    Workers *workers;

    /* A crash loses all of this (RSZ-37). Keys are ObjectKeys of claims; never walked. */
    GHashTable *final_errors;  /* a set: the last call for it failed for good */
    GHashTable *slow;          /* -> SimTime *: infeasible; when it may be tried again (RSZ-36) */
    GHashTable *in_use_errors; /* -> ObjectUid *: expands only while no pod uses it (RSZ-32) */
    /* The second controller; idle with the gate VolumeAttributesClass off (RSZ-60). */
    Informer *attributes_classes;
    Workers *modify_workers;
    GHashTable *uncertain;     /* a set: a change was under way at the start (RSZ-69) */
    GHashTable *modify_slow;   /* -> SimTime *: infeasible; until when it waits (RSZ-63) */
    SimTime sweeps_from;       /* the sweep of the slow set counts from here */
    const char *delay_message; /* interned: why a plan fails for a claim in the slow set (RSZ-24) */
} ExternalResizer;

/* Changes of private state by plans, beside plan_remember() and plan_forget(). */
typedef enum {
    CHANGE_CLAIM_WRITTEN,  /* object */
    CHANGE_VOLUME_WRITTEN, /* object */
    CHANGE_SLOW,           /* key: the claim's */
    CHANGE_IN_USE_ERROR,   /* object: the claim */
    CHANGE_MODIFY_SLOW,    /* key: the claim's */
    CHANGE_PANIC,          /* the process ends, and starts again (RSZ-69) */
} ResizerChange;

/* ---- new-size.c: what size to ask for (RSZ-3.1) ---- */

/* What is known of a claim and its volume. The lower bits are the claim's ResizeStatus. */
typedef enum {
    GROWS = 1 << 6,      /* the volume is smaller than the request */
    ALLOCATED = 1 << 7,  /* status.allocatedResources is set */
    FAILED = 1 << 8,     /* we remember that its last call failed for good */
    CONTROLLER = 1 << 9, /* the driver itself expands volumes; else only its nodes do */
    PENDING = 1 << 10,   /* condition FileSystemResizePending */
    NEW_SIZE_FACTS_END = 1 << 11,
} NewSizeFacts;
G_STATIC_ASSERT((int)GROWS > (int)RESIZE_NODE_INFEASIBLE);

typedef enum {
    ASK_REQUEST,
    ASK_ALLOCATED,   /* or the request if nothing is allocated */
    ASK_UNLESS_DONE, /* the same, unless the volume has that size already: the node will finish */
    ASK_NOTHING,
} NewSizeAction;

extern const RuleTable resizer_size_rules;

/* @facts: FAILED, CONTROLLER. @rule: (out): the row that applies. Returns: bytes to ask for; 0:
 * nothing is to be done */
int64_t new_size(const Claim *claim, const Volume *volume, uint32_t facts, const Rule **rule);

/* ---- expand.c ---- */

extern const RuleTable resizer_expand_rules; /* RSZ-22, RSZ-23 */

void resizer_sync(const void *self, Plan *plan); /* a PlanDecide */

/* ---- modify.c ---- */

extern const RuleTable resizer_modify_rules; /* RSZ-62 to RSZ-66, RSZ-69 */

void resizer_modify(const void *self, Plan *plan); /* a PlanDecide */
/* RSZ-61. @before: NULL: the claim is new */
gboolean
resizer_modify_is_queued(const ExternalResizer *self, const Claim *before, const Claim *after);

/* The stations of a change, as the claim's status tells them (RSZ-65 to RSZ-68). */
typedef enum {
    MODIFY_PENDING,
    MODIFY_IN_PROGRESS,
    MODIFY_INFEASIBLE,
    MODIFY_FAILED, /* only a condition */
    MODIFY_COMPLETED,
} ModifyStep;

/* A change of a claim's status, the argument of the edit below. */
typedef struct {
    ModifyStep step;
    const char *status;       /* interned; NULL: stays */
    const char *target;       /* the class */
    ClaimCondition condition; /* the only one of its kind then; type NULL: none */
} ModifyMark;

/* ---- external-resizer.c ---- */

const Claim *resizer_find_claim(const ExternalResizer *self, const Plan *plan);
const Volume *resizer_find_volume(const ExternalResizer *self, const char *name);
/* Returns: when the claim leaves the slow set, 0: it is not in it */
SimTime resizer_slow_until(const ExternalResizer *self, const ObjectKey *claim);
gboolean resizer_modify_is_slow(const ExternalResizer *self, const ObjectKey *claim);
gboolean resizer_has_final_error(const ExternalResizer *self, const ObjectKey *claim);
/* RSZ-32: an expansion failed because the volume was in use, and it still is. */
gboolean resizer_is_in_use(const ExternalResizer *self, const Claim *claim);
gboolean resizer_needs_expansion(const Claim *claim);
/* Whether the volume is still annotated though its node is done (AnnotateFsResize). */
gboolean
resizer_needs_cleanup(const ExternalResizer *self, const Claim *claim, const Volume *volume);
