/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "external-provisioner.h"

#include "models/plan/plan.h"
#include "models/volume/sidecar.h"
#include "sim/slots.h"
#include "sim/ticker.h"

#include "capacity.h"
#include "secrets.h"
#include "topology.h"

/* Within the provisioner: external-provisioner.c holds its state and hears of changes, attempt.h
 * leads from claims to volumes, volume-queue.c decides about volumes, class.c reads classes. */

#define ANNOTATION_DELETION_SECRET "volume.kubernetes.io/provisioner-deletion-secret-name"
#define ANNOTATION_DELETION_SECRET_NAMESPACE                                                       \
    "volume.kubernetes.io/provisioner-deletion-secret-namespace"
/* PROV-14.3: the old key. */
#define PROVISIONER_NODE_KEY "volume.alpha.kubernetes.io/selected-node"

/* What a StorageClass asks of the driver. Freed with the provisioner only: plans point to it. */
typedef struct {
    const StorageClass *class; /* (owned) */
    StringMap
        *parameters;     /* (owned): without those that are for the provisioner itself (PROV-21) */
    const char *fs_type; /* interned; NULL: the driver's choice */
    TopologyTerms allowed;       /* allowedTopologies */
    const char *fs_type_error;   /* interned; NULL: it is sound. PROV-20.6 */
    const char *parameter_error; /* ... PROV-20.10 */
    gboolean names_secrets;      /* some parameter does; else nothing looks for secrets */
    /* MIG-70: the class was written for this in-tree plugin; NULL: for the driver */
    const struct InTreePlugin *migrates;
    const char *provisioner; /* ... its own word for that */
} ClassInfo;

/* By the slot of a claim. */
typedef struct {
    ObjectKey *volume; /* the claim's future volume, "pvc-<uid>"; NULL: not ours. This is the key in
                          the claim queue, because it stands for the claim's uid (PROV-10): another
                          claim of the same name has another key */
    ObjectUid uid;
} ClaimRecord;

/* The tries of an instance on a node to get a claim for its node (NODE-2). */
typedef struct {
    unsigned n_failures; /* since the claim's owner was known last */
    uint32_t n_waits;
    const Claim *seen; /* (owned): when the last wait was over; NULL: none was */
} OwnerTries;

typedef struct {
    Component base;
    const ExternalProvisionerOptions *options; /* borrowed, of the process */
    Sidecar *sidecar;
    gboolean has_topology;       /* VOLUME_ACCESSIBILITY_CONSTRAINTS and the gate Topology */
    gboolean keeps_volumes;      /* gate HonorPVReclaimPolicy: the finalizer */
    gboolean attributes_classes; /* gate VolumeAttributesClass */
    gboolean has_own_names;      /* a flag changes the names of volumes */
    gboolean multi_writer;       /* SINGLE_NODE_MULTI_WRITER */

    Informer *claims, *volumes, *classes;
    Informer *attachments;       /* NULL: the driver does not attach (PROV-2) */
    Informer *nodes, *csi_nodes; /* NULL: no topology, or node deployment */
    Node *own_node; /* (owned): node deployment: the node as the driver tells; NULL: no such */
    CsiNode *own_csi_node;   /* ... */
    GHashTable *owner_tries; /* ObjectKey of the volume -> OwnerTries */
    SimTicker *resync;       /* ... */
    InformerIndex *attachments_by_volume;
    /* By the slot of a volume, of uint8_t: its last sync failed without a request because the
     * volume was still attached, and neither the volume nor a class has changed since. So a sync
     * fails again as long as there is an attachment. */
    SimSlots found_attached;
    Informer *grants; /* ReferenceGrants; NULL: sources of other namespaces are off (SRC-5) */

    Workers *claim_workers, *volume_workers, *unsaved_workers;
    Workers *clone_workers;     /* NULL: the driver does not clone */
    InformerIndex *clones;      /* claims by the ObjectKey of the claim that they copy */
    ApiClient *snapshot_client; /* NULL: the driver has no snapshots */
    Capacity *capacity;         /* NULL: --enable-capacity is off */
    ApiClient *capacity_client; /* ... */
    SimSlots claim_records;     /* of ClaimRecord */
    SimSlots claim_keys;     /* by the slot of the volume: the claim's ObjectKey; NULL: unknown */
    GHashTable *attempts;    /* ObjectKey of the volume -> ProvisionAttempt */
    GHashTable *in_progress; /* ... -> Claim: the back end may be making its volume (PROV-15) */
    GHashTable *infeasible;  /* ... -> Infeasible; NULL: before 6.0 (SREL-8) */
    GHashTable *places;      /* ... -> ClaimPlace; NULL: before 6.0 (SREL-9) */
    GHashTable *unsaved;     /* ... -> Volume: made, not stored yet (PROV-18) */
    GHashTable *overwritten; /* ObjectKey -> Claim: newer than the informer's (PROV-17) */
    GPtrArray *class_infos;  /* of ClassInfo, by the slot of the class */
    GPtrArray *old_class_infos; /* of earlier versions of classes */
    Topology topology;

    const char *identity;                                      /* of this start; interned */
    const char *identity_key, *provisioned_by_key, *finalizer; /* interned */
    const char *clone_finalizer;
    StringMap *annotations; /* of every new volume, shared by them */
    StringList *finalizers;
} ExternalProvisioner;

/* PROV-47: the driver said InvalidArgument. */
typedef struct {
    SimTime until;   /* it is not asked again before that, */
    ObjectUid class; /* ... unless the class is another by then */
} Infeasible;

/* TOPO-9: the chosen node as the claim's first try found it. */
typedef struct {
    Object *node, *csi_node; /* (owned) */
} ClaimPlace;

/* Private changes, for plan_change(). */
typedef enum {
    CHANGE_BEGIN,      /* an attempt: key, object: claim, pointer: class */
    CHANGE_SAVING,     /* key, object: the volume to save */
    CHANGE_OVERWRITE,  /* object: the claim as just written */
    CHANGE_UNSAVED,    /* key: the volume goes to the queue of the unsaved */
    CHANGE_INFEASIBLE, /* key, object: its class */
    CHANGE_PLACE,      /* key, object: the chosen node, pointer: its CSINode; NULL: forget it */
    CHANGE_FAILED,     /* key, number: ProvisionState: a check or the driver refused */
    CHANGE_SOURCE,     /* key, number: CsiSourceKind, text: its id */
    CHANGE_SECRET,     /* key: CreateVolume's secret was read */
    CHANGE_CLEAN_UP,   /* key, text: the volume's id, pointer: the failure, number: until when */
    CHANGE_CLEANED_UP, /* key: one more try */
    CHANGE_CAPACITY_NAMED, /* key: of the capacity controller's item */
    CHANGE_FOUND_ATTACHED, /* key: of a volume */
    CHANGE_DELETED,        /* object: the volume that the driver deleted */
    CHANGE_OWNER_TRY,      /* key: waits to become the owner of its claim (NODE-2) */
    CHANGE_OWNER_SEEN,     /* key, object: the claim as the wait is over */
    CHANGE_OWNER_FORGET,   /* key: the owner is known */
} ProvisionerChange;

/* @claim: was noted */
static inline ClaimRecord *
provisioner_claim_record(const ExternalProvisioner *self, const ObjectKey *claim)
{
    return sim_slots_find(&self->claim_records, claim->slot);
}

static inline gboolean
is_set(const char *text)
{
    return text != NULL && text[0] != '\0';
}

/* class.c: (owned) */
ClassInfo *class_info_new(ExternalProvisioner *self, const StorageClass *class);
void class_info_free(ClassInfo *info);

/* ---- migration.c ---- */

/* MIG-70: translates a class of the in-tree plugin that the driver has taken over. Returns: FALSE:
 * it is none */
gboolean provisioner_migrate_class(const ExternalProvisioner *self, ClassInfo *info);
/* MIG-71: what the API keeps of a new volume. Takes @volume. Returns: (owned): the in-tree volume,
 * or @volume with @error (interned), or because its class is the driver's own */
Volume *provisioner_migrate_volume(const ExternalProvisioner *self,
                                   const ClassInfo *class,
                                   Volume *volume,
                                   const char **error);

/* Returns: (borrowed): NULL: no such class is known */
const ClassInfo *provisioner_class_info(const ExternalProvisioner *self, const char *class_name);

/* ---- node-deployment.c: NODE ---- */

gboolean provisioner_resync_pass(void *self); /* of the ticker (NODE-3) */
/* Takes the node from the driver's NodeGetInfo. Call it before the two functions below. */
void provisioner_know_node(ExternalProvisioner *self);
/* @name: interned. Returns: NULL: not there, or, on a node, another node */
const Node *provisioner_node(const ExternalProvisioner *self, const char *name);
const CsiNode *provisioner_csi_node(const ExternalProvisioner *self, const char *name);
/* NODE-2: whether a claim that has chosen no node goes to the first instance that takes it. */
gboolean provisioner_may_compete(const ExternalProvisioner *self,
                                 Plan *plan,
                                 const Claim *claim,
                                 const ClassInfo *class);
void plan_become_owner(const ExternalProvisioner *self, Plan *plan);
/* Whether the volume can be reached from here. */
gboolean provisioner_may_delete(const ExternalProvisioner *self, const Volume *volume);
/* The claim of @volume changed: wakes the plans that wait to become its owner. */
void provisioner_wake_candidates(ExternalProvisioner *self, const ObjectKey *volume);
void owner_tries_apply(ExternalProvisioner *self, const PlanChange *change);
void owner_tries_free(void *tries);

/* ---- volume-queue.c ---- */

extern const RuleTable provisioner_volume_rules; /* PROV-31 to PROV-33 */

void decide_volume(const void *self, Plan *plan);
gboolean provisioner_owns_volume(const ExternalProvisioner *self, const Volume *volume);
/* WorkersOptions.fails_again */
gboolean provisioner_fails_again(void *self, const ObjectKey *volume);
/* Whether a sync would do anything. */
gboolean provisioner_has_work(const ExternalProvisioner *self, const Volume *volume);
