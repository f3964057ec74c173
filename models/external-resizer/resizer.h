/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "external-resizer.h"

#include "models/plan/plan.h"
#include "models/volume/resize-status.h"
#include "models/volume/sidecar.h"

/* Within the resizer: external-resizer.c holds its state and hears of changes, new-size.c judges
 * what size to ask for, expand.c plans. */

#define ANNOTATION_PRE_RESIZE_CAPACITY "volume.alpha.kubernetes.io/pre-resize-capacity"
#define ANNOTATION_STORAGE_RESIZER "volume.kubernetes.io/storage-resizer"

typedef struct {
    Component base;
    const ExternalResizerOptions *options; /* borrowed, of the process */
    Sidecar *sidecar;
    gboolean recovers;        /* RecoverVolumeExpansionFailure; else the older path (RSZ-40) */
    gboolean annotates;       /* AnnotateFsResize */
    gboolean asks_controller; /* the driver expands volumes; else its nodes alone do (RSZ-20) */

    Informer *claims;
    /* The real one watches both from its start; here nobody asks for them before they are needed.
     */
    Informer *volumes;            /* NULL until a claim grows */
    InformerIndex *pods_by_claim; /* NULL until a claim is in in_use_errors */
    Workers *workers;

    /* What is lost with the process (RSZ-37). Keys are ObjectKeys of claims; never walked. */
    GHashTable *final_errors;  /* a set: the last call for it failed for good */
    GHashTable *slow;          /* -> SimTime *: infeasible; when it may be tried again (RSZ-36) */
    GHashTable *in_use_errors; /* -> ObjectUid *: expands only while no pod uses it (RSZ-32) */
    SimTime sweeps_from;       /* the sweep of the slow set counts from here */
    const char *delay_message; /* interned: of a plan that ends because its claim is in the slow set
                                  (RSZ-24) */
} ExternalResizer;

/* Changes of private state by plans. @key: the claim's, @number: whether it is in the set from now
 * on. */
typedef enum {
    CHANGE_CLAIM_WRITTEN,  /* object */
    CHANGE_VOLUME_WRITTEN, /* object */
    CHANGE_FINAL_ERROR,    /* key, number */
    CHANGE_SLOW,           /* key, number */
    CHANGE_IN_USE_ERROR,   /* key, number, object: the claim */
} ResizerChange;

/* ---- new-size.c: what size to ask for (RSZ-3.1) ---- */

/* What is known of a claim and its volume, beside its ResizeStatus: that takes the bits below. */
typedef enum {
    GROWS = 1 << 6,      /* the volume is smaller than the request */
    ALLOCATED = 1 << 7,  /* status.allocatedResources is set */
    FAILED = 1 << 8,     /* its last call failed for good, as far as we remember */
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
/* What it does with a claim that is to grow: with recovery, and without (RSZ-40). */
void resizer_plan_expand(const void *self, Plan *plan);
void resizer_plan_resize(const void *self, Plan *plan);

/* What the driver is told of a volume. @error: (out): why it cannot be told, NULL: it can */
CsiCapability resizer_capability(const Volume *volume, gboolean multi_writer, const char **error);

/* ---- external-resizer.c ---- */

const Claim *resizer_find_claim(const ExternalResizer *self, const Plan *plan);
void resizer_watch_volumes(ExternalResizer *self); /* before the first sync */
const Volume *resizer_find_volume(const ExternalResizer *self, const char *name);
/* Returns: when the claim leaves the slow set, 0: it is not in it */
SimTime resizer_slow_until(const ExternalResizer *self, const ObjectKey *claim);
gboolean resizer_has_final_error(const ExternalResizer *self, const ObjectKey *claim);
/* RSZ-32: it failed because of that, and a pod that is not over uses it. */
gboolean resizer_is_in_use(const ExternalResizer *self, const Claim *claim);
gboolean resizer_needs_expansion(const Claim *claim);
/* The node is done with a volume that is still annotated (AnnotateFsResize). */
gboolean
resizer_needs_cleanup(const ExternalResizer *self, const Claim *claim, const Volume *volume);
