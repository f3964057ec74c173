/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "provisioner.h"

/* From a claim to its volume: claim-queue.c decides whether a claim is provisioned for and how an
 * attempt ends, provision.c checks the claim and calls the driver, source.c finds what the volume
 * is copied from. */

/* What a failed attempt leaves behind (PROV-15). */
typedef enum {
    PROVISION_FINISHED,   /* certainly nothing: the claim may be forgotten */
    PROVISION_BACKGROUND, /* perhaps a volume in the making: go on even without the claim */
    PROVISION_NO_CHANGE,  /* the back end was not asked */
    PROVISION_RESCHEDULE, /* nothing, and this node will never have room */
} ProvisionState;

/* An attempt under way: the claim and its class as they were when it began. */
typedef struct {
    const Claim *claim; /* (owned) */
    const ClassInfo *class;
    const Volume *volume; /* (owned): to be saved; NULL: not made yet */
    ProvisionState state; /* after a failure */
    CsiSourceKind source_kind;
    const char *source_id; /* interned; NULL: none */
    gboolean has_secret;   /* of CreateVolume and DeleteVolume: it was read */
    /* The volume was not made as asked for, and is deleted again (PROV-24). */
    const char *failure; /* interned: why */
    const char *volume_id;
    SimTime clean_up_until; /* the deadline of all tries */
    unsigned n_clean_ups;
} ProvisionAttempt;

/* ---- claim-queue.c ---- */

/* Adds a change that is told by the plan's key alone. */
void provisioner_change_key(Plan *plan, ProvisionerChange what);

extern const RuleTable provisioner_claim_rules; /* PROV-11, PROV-13, PROV-14, NODE-1 */

void decide_claim(const void *self, Plan *plan);   /* key: of the volume to be */
void decide_unsaved(const void *self, Plan *plan); /* key: of the volume */
/* Whether the claim was handed to this driver (PROV-13.2, PROV-13.3). */
gboolean provisioner_owns_claim(const ExternalProvisioner *self, const Claim *claim);
/* Returns: (borrowed): the claim from the informer or from our own later write; NULL: it is gone,
 * perhaps replaced by another claim of the same name */
const Claim *provisioner_cached_claim(const ExternalProvisioner *self, const ObjectKey *volume);
/* NULL: no node. The second one also knows the annotation's old key, and may return "". */
const char *claim_chosen_node(const Claim *claim);
const char *claim_selected_node(const Claim *claim);
/* Ends an attempt: with a failure, or without. */
void attempt_fail(const ExternalProvisioner *self,
                  Plan *plan,
                  const Claim *claim,
                  ProvisionState state,
                  const char *error);
void attempt_finish(const ExternalProvisioner *self, Plan *plan);
/* PROV-17: ends it and takes the node off the claim, so that the scheduler chooses again. */
void attempt_reschedule(const ExternalProvisioner *self,
                        Plan *plan,
                        const Claim *claim,
                        const char *error);
/* The driver has made the volume: stores it. */
void attempt_save(Plan *plan, Volume *volume);

/* ---- provision.c ---- */

/* NODE-3: fills in a GetCapacity that asks whether the own node has room for the volume. Returns:
 * FALSE: no such request can be made */
gboolean provision_prepare_capacity(const ExternalProvisioner *self,
                                    Plan *plan,
                                    const Claim *claim,
                                    const ClassInfo *class,
                                    CsiRequest *request);

extern const RuleTable provisioner_check_rules; /* PROV-20.1 to PROV-20.8 */

/* The same for the attempt that the plan is about. */
void decide_provision(const void *self, Plan *plan);
/* PROV-20.8: goes on once the source is known. */
void decide_placed(const void *self, Plan *plan);
void provision_failed(const ExternalProvisioner *self,
                      Plan *plan,
                      const Claim *claim,
                      ProvisionState state,
                      const char *error);
const ProvisionAttempt *provisioner_attempt(const ExternalProvisioner *self, const Plan *plan);

/* Returns: (owned): why the secret's name is not sound; %NULL: it is; @reference: (out) */
char *provision_resolve_secret(const ExternalProvisioner *self,
                               const Plan *plan,
                               const Claim *claim,
                               const ClassInfo *class,
                               SecretUse use,
                               SecretReference *reference);
/* PROV-20.9: the N_VOLUME_SECRETS references that the volume will hold. Returns: (owned): why they
 * are not sound; %NULL: they are */
char *provision_resolve_volume_secrets(const ExternalProvisioner *self,
                                       const Plan *plan,
                                       const Claim *claim,
                                       const ClassInfo *class,
                                       SecretReference *references);
/* Returns: NULL: the claim names no class, or the gate VolumeAttributesClass is off */
const char *provision_attributes_class(const ExternalProvisioner *self, const Claim *claim);

/* ---- created.c ---- */

/* The driver has answered CreateVolume. */
void provision_decide_created(const void *self, Plan *plan);

/* ---- source.c: SRC ---- */

extern const RuleTable provisioner_clone_rules; /* SRC-1 */

/* SRC-6: whether the claim's source is in its own namespace, or a ReferenceGrant admits it. */
gboolean source_is_granted(const ExternalProvisioner *self, const Claim *claim);
/* Ends with decide_placed(), or fails. */
void plan_source(Plan *plan, const Claim *claim);
void decide_clone_source(const void *self, Plan *plan); /* key: of the claim that is copied */
/* SRC-3: whether a sync may do something. */
gboolean clone_source_is_queued(const Claim *claim);
void index_clones(InformerIndex *index, const Object *object, Objects *objects);
