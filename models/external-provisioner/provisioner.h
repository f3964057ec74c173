/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "external-provisioner.h"

#include "models/plan.h"
#include "models/volume/sidecar.h"

#include "topology.h"

/* Within the provisioner: external-provisioner.c holds its state and hears of changes, claim-queue.c decides what becomes of
 * claims, volume-queue.c what becomes of volumes, class.c reads classes. */

#define PROVISIONER_NODE_KEY "volume.alpha.kubernetes.io/selected-node" /* PROV-14.3: the old key */

/* What a StorageClass asks of the driver. Kept until the provisioner goes, for plans point to it. */
typedef struct {
    const StorageClass *class;   /* (owned) */
    StringMap *parameters;       /* (owned): without those that are not the driver's (PROV-21) */
    const char *fs_type;         /* interned; NULL: the driver's choice */
    gboolean has_secrets;        /* SEC-1: provisioner's */
    TopologyTerms allowed;       /* allowedTopologies */
    const char *parameter_error; /* interned; NULL: they are sound. PROV-20.6, PROV-20.10 */
} ClassInfo;

/* An attempt under way: what was true as it began, for the claim may change or vanish meanwhile. */
typedef struct {
    const Claim *claim; /* (owned) */
    const ClassInfo *class;
    const Volume *volume; /* (owned): what is being saved; NULL: not yet */
} Attempt;

/* By the slot of a claim. */
typedef struct {
    ObjectKey *
        volume; /* the volume that it gets: "pvc-<uid>". The claim queue's key, for it stands for the claim's uid
                          (PROV-10): a claim of the same name is another key. NULL: not ours */
    ObjectUid uid;
} ClaimRecord;

typedef struct {
    Component base;
    const ExternalProvisionerOptions *options; /* borrowed, of the process */
    Sidecar *sidecar;
    gboolean has_topology;  /* VOLUME_ACCESSIBILITY_CONSTRAINTS and the gate Topology */
    gboolean keeps_volumes; /* gate HonorPVReclaimPolicy: the finalizer */
    gboolean multi_writer;  /* SINGLE_NODE_MULTI_WRITER */

    Informer *claims, *volumes, *classes;
    Informer *attachments;       /* NULL: the driver does not attach (PROV-2) */
    Informer *nodes, *csi_nodes; /* NULL: no topology */
    InformerIndex *attachments_by_volume;

    Workers *claim_workers, *volume_workers, *unsaved_workers;
    GArray *claim_records; /* of ClaimRecord */
    GPtrArray *
        claim_keys; /* by the slot of the volume: the claim's ObjectKey, NULL: not of a claim that we know */
    GHashTable *attempts;    /* ObjectKey of the volume -> Attempt */
    GHashTable *in_progress; /* ... -> Claim: may be in the making at the back end (PROV-15) */
    GHashTable *unsaved;     /* ... -> Volume: made, not stored yet (PROV-18) */
    GHashTable
        *overwritten;       /* ObjectKey of a claim -> Claim: newer than the informer's (PROV-17) */
    GPtrArray *class_infos; /* of ClassInfo, by the slot of the class */
    GPtrArray *old_class_infos; /* replaced ones */
    Topology topology;

    const char *identity;                                      /* of this start; interned */
    const char *identity_key, *provisioned_by_key, *finalizer; /* interned */
    StringMap *annotations; /* of every new volume, shared by them */
    StringList *finalizers;
} ExternalProvisioner;

/* Private changes, for plan_change(). */
typedef enum {
    CHANGE_BEGIN,       /* an attempt: key, object: claim, pointer: class */
    CHANGE_SAVING,      /* key, object: the volume to save */
    CHANGE_IN_PROGRESS, /* key, object: the claim */
    CHANGE_FINISHED,    /* key: not in progress */
    CHANGE_OVERWRITE,   /* object: the claim as just written */
    CHANGE_UNSAVED,     /* key: the volume goes to the queue of the unsaved */
    CHANGE_SAVED,       /* key */
} ProvisionerChange;

/* class.c: (owned) */
ClassInfo *class_info_new(ExternalProvisioner *self, const StorageClass *class);
void class_info_free(ClassInfo *info);
/* Returns: (borrowed): NULL: no such class is known */
const ClassInfo *provisioner_class_info(const ExternalProvisioner *self, const char *class_name);

/* claim-queue.c */
void decide_claim(const void *self, Plan *plan);   /* key: of the volume to be */
void decide_unsaved(const void *self, Plan *plan); /* key: of the volume */
/* Whether the claim is this driver's to provision, one day (PROV-13.2, PROV-13.3). */
gboolean provisioner_owns_claim(const ExternalProvisioner *self, const Claim *claim);

/* volume-queue.c */
void decide_volume(const void *self, Plan *plan);
gboolean provisioner_owns_volume(const ExternalProvisioner *self, const Volume *volume);
/* Whether there is anything to do about it. */
gboolean provisioner_has_work(const ExternalProvisioner *self, const Volume *volume);
