/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "models/cluster/kube-controller-manager.h"
#include "state.h"

/* What the controller's parts share. Loops and handlers call each other only through the state of
 * the world. */

#define RECONCILE_PERIOD (100 * SIM_MS)  /* ADC-1 */
#define POPULATE_PERIOD (1 * SIM_MINUTE) /* ADC-1 */
#define LIST_PERIOD                                                                                \
    (3 * SIM_MINUTE) /* ADC-1: the shortest time between two lists of all pods by the populator */

#define CSI_DEVICE_PATH "" /* ADC-60: what the attacher of CSI volumes returns */

/* The changes of its own state that the controller's plans make. In each of them @pointer is an
 * AttachPair or AttachNode. */
typedef enum {
    CHANGE_REQUEST_DETACH,    /* ADC-42 */
    CHANGE_RESET_REQUEST,     /* ADC-49.2 */
    CHANGE_UNREPORT,          /* ADC-45 */
    CHANGE_REPORT_AGAIN,      /* ADC-45, ADC-47 */
    CHANGE_NODE_UPDATED,      /* ADC-51: the flag goes before the patch */
    CHANGE_REPORTED,          /* ... which is step @number */
    CHANGE_NODE_OUTDATED,     /* ADC-52: ... and comes again when it failed */
    CHANGE_MULTI_ATTACH_TOLD, /* ADC-55 */
    CHANGE_LOOKED_AT,         /* the detach loop has come to this pair */
    CHANGE_TELL_NODE,         /* ... and waits: @number: a DetachReason */
    CHANGE_DETACHING,         /* ADC-48: @number: a DetachReason */
    CHANGE_ADD_POD,           /* ADC-35: @object */
    CHANGE_OPERATION,         /* starts: @number: whether it is a detach */
    CHANGE_TELL,              /* ADC-56: @object: a pod that hears how the attach ends */
    CHANGE_RETRY_AT,          /* @number: SimTime */
    CHANGE_VERIFIED,     /* ADC-50: the next volume to check; @number: whether it is attached */
    CHANGE_NOT_ATTACHED, /* ADC-50: @pointer: the AttachCheck */
    CHANGE_FLEX_DRIVER,  /* FLX-23: @text: a driver, @number: see InProcessWork.note */
    CHANGE_DEVICE_PATH,  /* @pointer: the pair; @text: of the attach under way */
    CHANGE_TIMEOUT,      /* @pointer: the pair; @text: see AttachPair */
    CHANGE_TOLD_TIMEOUT, /* likewise */
    CHANGE_TRY_AGAIN,    /* likewise; see retries.c */
    CHANGE_FORGET_TRY,   /* likewise */
} AttachDetachChange;

/* reconciler.c: ADC-40 to ADC-46, ADC-49; operations.c: ADC-60 to ADC-62, ADC-56, ADC-57;
 * populator.c: ADC-30, ADC-31 */
extern const RuleTable adc_detach_rules, adc_attach_rules, adc_look_rules, adc_end_rules,
    adc_pod_rules;

/* ---- populator.c: desired state, and what is known at the start ---- */

gboolean adc_is_attachable(const AttachDetachController *self,
                           const VolumeSource *source); /* ADC-34 */
/* The PersistentVolume of a volume as the cache has it, or its like of a volume that stands in a
 * pod. NULL: it is not known */
const Volume *adc_spec_of(const AttachDetachController *self, const AttachVolume *volume);
void adc_add_pod_volumes(AttachDetachController *self, const Pod *pod); /* ADC-32 */
void adc_populate_actual_state(AttachDetachController *self);           /* ADC-26, ADC-27 */
void adc_populate_specs_of_pods(AttachDetachController *self);          /* ADC-28 */
void adc_populator_start(AttachDetachController *self);
/* Handlers (ADC-7), and the claims' worker (ADC-35). */
void adc_pod_changed(void *self, const Object *before, const Object *after);
void adc_node_changed(void *self, const Object *before, const Object *after);
void adc_claim_changed(void *self, const Object *before, const Object *after);
void adc_csi_driver_changed(void *self, const Object *before, const Object *after);
void adc_decide_claim(const void *self, Plan *plan);

/* ---- in-process.c ---- */

/* FLX-45: the driver (interned; NULL: none) is not on the controller's machine. */
gboolean adc_lacks_flex_driver(const AttachDetachController *self, const char *driver);
/* INT-10: of a source that is not CSI. */
gboolean adc_is_attachable_in_process(const AttachDetachController *self,
                                      const VolumeSource *source);
/* The release by which a volume on this node has migrated or not (MIG-80). */
const Release *adc_node_release(const AttachDetachController *self, const AttachNode *node);
/* A volume that a node lists by the name of an in-tree plugin or of FlexVolume (ADC-26). Returns:
 * NULL: it is no such name */
AttachVolume *adc_volume_in_process(AttachDetachController *self, const char *unique_name);
/* The volume as the node has it. */
AttachVolume *
adc_volume_on_node(AttachDetachController *self, const AttachNode *node, const Volume *spec);
/* Calls the driver of the pair that the operation is about. */
void adc_plan_in_process(const AttachDetachController *self,
                         Plan *plan,
                         FlexOperation operation,
                         InProcessThen then);

/* ---- reconciler.c: passes ---- */

void adc_reconciler_start(AttachDetachController *self);
/* It has the taint out-of-service, and NodeOutOfServiceVolumeDetach is on (ADC-43). */
gboolean node_is_out_of_service(const AttachDetachController *self, const Node *node);

/* ---- operations.c: attach and detach ---- */

extern const char adc_attach_kind[], adc_detach_kind[]; /* their names (OP-2) */
void adc_plan_attach_operation(const AttachDetachController *self, Plan *plan, AttachPair *pair);
void adc_plan_detach_operation(const AttachDetachController *self,
                               Plan *plan,
                               AttachPair *pair,
                               DetachReason reason);
/* The VolumeAttachment of the pair in the cache; NULL: none */
const Attachment *adc_find_attachment(const AttachDetachController *self, const AttachPair *pair);
void adc_attachment_changed(void *self, const Object *before, const Object *after);

/* The cache has the VolumeAttachment of the pair; nobody has attached it, failed to, or deleted it.
 */
gboolean adc_is_unattached(const AttachDetachController *self, const AttachPair *pair);
/* @is_for_node: its key has the node. */
void adc_operation_begins(AttachDetachController *self, AttachPair *pair, gboolean is_for_node);
/* MET-60. */
void adc_measure(const AttachDetachController *self,
                 const Plan *plan,
                 const AttachPair *pair,
                 gboolean is_detach,
                 PlanEnd end);

/* ---- retries.c: attaches that time out again and again ---- */

/* Something has changed that a retry of the pair's attach depends on. */
void adc_disturb(AttachPair *pair);
/* PlanStart.timed_out of an attach. */
gboolean adc_attach_timed_out(void *self, Plan *plan);
/* Plans what a pass does with a pair whose attach is put aside (ADC-49.4). Returns: FALSE: no
 * attach is put aside, or it needs an ordinary attempt */
gboolean adc_plan_retry(const AttachDetachController *self, Plan *plan, AttachPair *pair);
void adc_retries_apply(AttachDetachController *self, const PlanChange *change);

/* ---- node-status.c ---- */

/* ADC-45: the node is told that the volume goes. */
void adc_plan_volume_leaves(const AttachDetachController *self, Plan *plan, const AttachPair *pair);
/* ADC-51: reports to all nodes whose list has changed. The last steps of a pass. */
void adc_plan_reports(const AttachDetachController *self, Plan *plan);

/* ---- verification.c: what is attached still is (ADC-50) ---- */

void adc_verification_start(AttachDetachController *self);
/* Some VolumeAttachment may not agree with actual state. */
void adc_verification_is_due(AttachDetachController *self);
void adc_verification_pass_begins(AttachDetachController *self);
void adc_verification_pass_ended(AttachDetachController *self);
/* The same, once the ticker knows that the pass has ended. */
void adc_verification_pass_is_over(AttachDetachController *self);
void adc_verification_apply(AttachDetachController *self, const PlanChange *change);
