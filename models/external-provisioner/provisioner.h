/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "external-provisioner.h"

#include "models/plan/plan.h"
#include "models/volume/sidecar.h"
#include "sim/ticker.h"

#include "capacity.h"
#include "topology.h"

/* Within the provisioner: external-provisioner.c holds its state and hears of changes,
 * claim-queue.c decides what becomes of claims, volume-queue.c what becomes of volumes, class.c
 * reads classes. */

#define FINALIZER_CLONE "provisioner.storage.kubernetes.io/cloning-protection" /* SRC-2 */
#define ANNOTATION_DELETION_SECRET "volume.kubernetes.io/provisioner-deletion-secret-name"
#define ANNOTATION_DELETION_SECRET_NAMESPACE                                                       \
    "volume.kubernetes.io/provisioner-deletion-secret-namespace"
#define PROVISIONER_NODE_KEY                                                                       \
    "volume.alpha.kubernetes.io/selected-node" /* PROV-14.3: the old key                           \
                                                */

/* What a StorageClass asks of the driver. Kept until the provisioner goes, for plans point to it.
 */
typedef struct {
    const StorageClass *class;   /* (owned) */
    StringMap *parameters;       /* (owned): without those that are not the driver's (PROV-21) */
    const char *fs_type;         /* interned; NULL: the driver's choice */
    TopologyTerms allowed;       /* allowedTopologies */
    const char *fs_type_error;   /* interned; NULL: it is sound. PROV-20.6 */
    const char *parameter_error; /* ... PROV-20.10 */
    gboolean names_secrets;      /* some parameter does: else none need be looked for */
} ClassInfo;

/* What a failed attempt leaves behind (PROV-15). */
typedef enum {
    PROVISION_FINISHED,   /* surely nothing: the claim may be forgotten */
    PROVISION_BACKGROUND, /* perhaps a volume in the making: go on, even if the claim goes */
    PROVISION_NO_CHANGE,  /* the back end was not asked */
    PROVISION_RESCHEDULE, /* nothing, and on this node it will stay so */
} ProvisionState;

/* An attempt under way: what was true as it began, for the claim may change or vanish meanwhile. */
typedef struct {
    const Claim *claim; /* (owned) */
    const ClassInfo *class;
    const Volume *volume; /* (owned): what is being saved; NULL: not yet */
    ProvisionState state; /* after a failure */
    CsiSourceKind source_kind;
    const char *source_id;  /* interned; NULL: none */
    gboolean has_secret;    /* of CreateVolume and DeleteVolume: it was read */
    const char *failure;    /* interned: why the volume that was made goes again (PROV-24) */
    const char *volume_id;  /* ... which */
    SimTime clean_up_until; /* ... and how long that is tried */
    unsigned n_clean_ups;
} Attempt;

/* By the slot of a claim. */
typedef struct {
    ObjectKey *volume; /* the volume that it gets: "pvc-<uid>". The claim queue's key, for it stands
                          for the claim's uid (PROV-10): a claim of the same name is another key.
                          NULL: not ours */
    ObjectUid uid;
} ClaimRecord;

/* How often an instance on a node tried to get a claim for its node (NODE-2). */
typedef struct {
    unsigned n_failures; /* since it last knew who owns it */
    uint32_t n_waits;
    const Claim *seen; /* (owned): when the last wait was over; NULL: none was */
} OwnerTries;

typedef struct {
    Component base;
    const ExternalProvisionerOptions *options; /* borrowed, of the process */
    Sidecar *sidecar;
    gboolean has_topology;  /* VOLUME_ACCESSIBILITY_CONSTRAINTS and the gate Topology */
    gboolean keeps_volumes; /* gate HonorPVReclaimPolicy: the finalizer */
    gboolean
        has_own_names; /* --volume-name-prefix, --volume-name-uuid-length are not the defaults */
    gboolean multi_writer; /* SINGLE_NODE_MULTI_WRITER */

    Informer *claims, *volumes, *classes;
    Informer *attachments;       /* NULL: the driver does not attach (PROV-2) */
    Informer *nodes, *csi_nodes; /* NULL: no topology, or node deployment */
    Node *own_node;          /* (owned): node deployment: what the driver tells of it; NULL: none */
    CsiNode *own_csi_node;   /* ... */
    GHashTable *owner_tries; /* ObjectKey of the volume -> OwnerTries */
    SimTicker *resync;       /* ... */
    InformerIndex *attachments_by_volume;

    Workers *claim_workers, *volume_workers, *unsaved_workers;
    Workers *clone_workers;     /* NULL: the driver does not clone */
    InformerIndex *clones;      /* claims by the ObjectKey of the claim that they copy */
    ApiClient *snapshot_client; /* NULL: the driver has no snapshots */
    Capacity *capacity;         /* NULL: --enable-capacity is off */
    ApiClient *capacity_client; /* ... */
    GArray *claim_records;      /* of ClaimRecord */
    GPtrArray *claim_keys; /* by the slot of the volume: the claim's ObjectKey, NULL: not of a claim
                              that we know */
    GHashTable *attempts;  /* ObjectKey of the volume -> Attempt */
    GHashTable *in_progress; /* ... -> Claim: may be in the making at the back end (PROV-15) */
    GHashTable *unsaved;     /* ... -> Volume: made, not stored yet (PROV-18) */
    GHashTable
        *overwritten;       /* ObjectKey of a claim -> Claim: newer than the informer's (PROV-17) */
    GPtrArray *class_infos; /* of ClassInfo, by the slot of the class */
    GPtrArray *old_class_infos; /* replaced ones */
    Topology topology;

    const char *identity;                                      /* of this start; interned */
    const char *identity_key, *provisioned_by_key, *finalizer; /* interned */
    const char *clone_finalizer;
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
    CHANGE_FAILED,   /* key, number: ProvisionState: the driver, or what was asked of it, said no */
    CHANGE_SOURCE,   /* key, number: CsiSourceKind, text: its id */
    CHANGE_SECRET,   /* key: CreateVolume's secret was read */
    CHANGE_CLEAN_UP, /* key, text: the volume's id, pointer: the failure, number: until when */
    CHANGE_CLEANED_UP,     /* key: one more try */
    CHANGE_CAPACITY_NAMED, /* key: of the capacity controller's item */
    CHANGE_DELETED,        /* object: the volume that the driver deleted */
    CHANGE_OWNER_TRY,      /* key: waits to become the owner of its claim (NODE-2) */
    CHANGE_OWNER_SEEN,     /* key, object: the claim as the wait is over */
    CHANGE_OWNER_FORGET,   /* key: the owner is known */
} ProvisionerChange;

/* PROV-20.6: of the volume for a claim with this uid; with a length the dashes go first. Returns:
 * (owned) */
char *provisioner_volume_name(const ExternalProvisionerOptions *options, const char *uid);

static inline gboolean
is_set(const char *text)
{
    return text != NULL && text[0] != '\0';
}

/* class.c: (owned) */
ClassInfo *class_info_new(ExternalProvisioner *self, const StorageClass *class);
void class_info_free(ClassInfo *info);
/* Returns: (borrowed): NULL: no such class is known */
const ClassInfo *provisioner_class_info(const ExternalProvisioner *self, const char *class_name);
/* PROV-21: those that are the driver's. Returns: (owned); @error: (out) (owned): an unknown one of
 * ours, NULL: none */
StringMap *class_pass_parameters(const StringMap *parameters, char **error);

/* ---- secrets.c ---- */

typedef enum {
    SECRET_USE_DEFAULT, /* where none of the others is given */
    SECRET_USE_PROVISIONER,
    SECRET_USE_CONTROLLER_PUBLISH, /* from here on in the order of VolumeSecret */
    SECRET_USE_NODE_STAGE,
    SECRET_USE_NODE_PUBLISH,
    SECRET_USE_CONTROLLER_EXPAND,
    SECRET_USE_NODE_EXPAND,
    N_SECRET_USES,
} SecretUse;

gboolean secret_key_is_known(const char *key);
/**
 * secret_resolve: SEC-1, SEC-2
 * @claim, @annotations: (nullable): the claim, and what it says of itself
 * @reference: (out): its name is NULL if the class gives none
 * Returns: (owned) (nullable): why the parameters make no reference
 */
char *secret_resolve(Strings *strings,
                     SecretUse use,
                     const StringMap *parameters,
                     const char *volume_name,
                     const ObjectKey *claim,
                     const StringMap *annotations,
                     SecretReference *reference);

/* ---- claim-queue.c ---- */

extern const RuleTable provisioner_claim_rules; /* PROV-11, PROV-13, PROV-14, NODE-1 */

void decide_claim(const void *self, Plan *plan);   /* key: of the volume to be */
void decide_unsaved(const void *self, Plan *plan); /* key: of the volume */
/* Whether the claim is this driver's to provision, one day (PROV-13.2, PROV-13.3). */
gboolean provisioner_owns_claim(const ExternalProvisioner *self, const Claim *claim);
/* PROV-13. @class NULL: it is unknown */
gboolean
provisioner_wants(const ExternalProvisioner *self, const Claim *claim, const ClassInfo *class);
/* The claim as the informer, or an own later write, has it. NULL: gone, or another of the same
 * name. */
const Claim *provisioner_cached_claim(const ExternalProvisioner *self, const ObjectKey *volume);
/* NULL: no node. The second one also knows the annotation's old key, and may return "". */
const char *claim_chosen_node(const Claim *claim);
const char *claim_selected_node(const Claim *claim);
const Object *provisioner_find(const ExternalProvisioner *self,
                               Informer *informer,
                               ObjectKind kind,
                               const char *name);
/* How an attempt ends: its plan failed with @state, or has nothing more to do. */
void attempt_fail(const ExternalProvisioner *self,
                  Plan *plan,
                  const Claim *claim,
                  ProvisionState state,
                  const char *error);
void attempt_finish(const ExternalProvisioner *self, Plan *plan);
/* PROV-17: gives the node up, so that the scheduler chooses again. */
void attempt_reschedule(const ExternalProvisioner *self,
                        Plan *plan,
                        const Claim *claim,
                        const char *error);
/* The volume is made: store it. */
void attempt_save(const ExternalProvisioner *self, Plan *plan, Volume *volume);

/* ---- node-deployment.c: NODE ---- */

/* From the driver's NodeGetInfo. Before nodes are asked for, and when the queues are there. */
void provisioner_know_node(ExternalProvisioner *self);
/* NULL: not there; of an instance on a node: any other. @name: interned */
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
/* The claim of @volume changed. */
void provisioner_wake_candidates(ExternalProvisioner *self, const ObjectKey *volume);
void owner_tries_apply(ExternalProvisioner *self, const PlanChange *change);
void owner_tries_free(void *tries);

/* ---- provision.c ---- */

/* NODE-3: how much room there is on the own node for such a volume: as if it were made. FALSE:
 * there is no such request */
gboolean provision_prepare_capacity(const ExternalProvisioner *self,
                                    Plan *plan,
                                    const Claim *claim,
                                    const ClassInfo *class,
                                    CsiRequest *request);

extern const RuleTable provisioner_check_rules; /* PROV-20.1 to PROV-20.8 */

/* PROV-20. */
void plan_provision(const ExternalProvisioner *self,
                    Plan *plan,
                    const Claim *claim,
                    const ClassInfo *class);
/* The same for the attempt that the plan is about. */
void decide_provision(const void *self, Plan *plan);
/* PROV-20.8: the source is known. */
void decide_placed(const void *self, Plan *plan);
void provision_failed(const ExternalProvisioner *self,
                      Plan *plan,
                      const Claim *claim,
                      ProvisionState state,
                      const char *error);
const Attempt *provisioner_attempt(const ExternalProvisioner *self, const Plan *plan);

/* ---- source.c: SRC ---- */

extern const RuleTable provisioner_clone_rules;   /* SRC-1 */
extern const RuleTable provisioner_restore_rules; /* SRC-4 */

/* Ends with decide_placed(), or fails. */
void plan_source(const ExternalProvisioner *self, Plan *plan, const Claim *claim);
void decide_clone_source(const void *self, Plan *plan); /* key: of the claim that is copied */
/* SRC-3: whether the claim is looked at. */
gboolean clone_source_is_queued(const Claim *claim);
void index_clones(InformerIndex *index, const Object *object, Objects *objects);

/* ---- volume-queue.c ---- */

extern const RuleTable provisioner_volume_rules; /* PROV-31 to PROV-33 */

void decide_volume(const void *self, Plan *plan);
/* PROV-34 for a volume that is to go. @volume NULL is an error, as any without a CSI source */
void plan_delete_volume(const ExternalProvisioner *self, Plan *plan, const Volume *volume);
gboolean provisioner_owns_volume(const ExternalProvisioner *self, const Volume *volume);
/* Whether there is anything to do about it. */
gboolean provisioner_has_work(const ExternalProvisioner *self, const Volume *volume);
