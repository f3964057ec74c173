/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "volume-manager.h"

/* Operations on volumes: pkg/volume/util/operationexecutor and nestedpendingoperations, with the
 * CSI plugin below them (pkg/volume/csi). */

/* Names of operations, KVM-39. */
typedef enum {
    OPERATION_NONE,
    OPERATION_VERIFY,
    OPERATION_MOUNT,
    OPERATION_UNMOUNT,
    OPERATION_UNMOUNT_DEVICE,
    OPERATION_EXPAND,
    OPERATION_ATTACH, /* these by a kubelet that manages attachments (KVM-69) */
    OPERATION_DETACH,
} OperationName;

/* An entry of nestedpendingoperations (OP-1). */
struct PendingOperation {
    PendingOperation *next; /* of the same volume */
    NodeVolume *volume;
    const PodMount *key; /* its pod's part of the key; NULL: "" */
    PodMount *target;    /* what a mount or unmount works on */
    OperationName name;  /* whose failure it remembers (OP-2) */
    OperationName doing; /* while it runs */
    gboolean running;
    SimTime backoff; /* 0: no failure yet */
    SimTime failed_at;
};

/* ---- volume-operations.c ---- */

/* Starts an operation, unless one that matches runs or the back-off of a failed one holds it back.
 * @mount: what to mount, unmount or expand; else NULL */
void volume_operation_start(Kubelet *self, OperationName name, NodeVolume *volume, PodMount *mount);
/* Whether an operation runs that matches (volume, @mount's pod); NULL: any of the volume (OP-1) */
gboolean volume_operation_is_pending(const NodeVolume *volume, const PodMount *mount);
/* Whether an operation under way has this very mount as its target. */
gboolean volume_operation_works_on(const NodeVolume *volume, const PodMount *mount);
/* The pod never comes back. */
void volume_operation_forget(NodeVolume *volume, const PodMount *mount);

/* What an operation is about. */
const Volume *operation_pv(const PendingOperation *self);
const VolumeSource *operation_source(const PendingOperation *self);
gboolean operation_is_csi(const PendingOperation *self);
gboolean operation_is_block(const PendingOperation *self);

/* ---- attach-operation.c, mount-operation.c: PlanDecides ---- */

extern const RuleTable kubelet_mount_step_rules; /* KVM-41 */

void attach_operation_verify(const void *self, Plan *plan);
void attach_operation_attach(const void *self, Plan *plan);
void attach_operation_detach(const void *self, Plan *plan);
void mount_operation_decide(const void *self, Plan *plan);
void unmount_operation_decide(const void *self, Plan *plan); /* of a pod's mount or the device */

/* A mount or unmount without CSI: a system call, and the thread that waits for it. */
#define MOUNT_CALL SIM_MS

/* ---- csi-plugin/client.c, csi-plugin/spec.c; more in csi-plugin/csi-plugin.h ---- */

/* Returns: (borrowed): NULL: not in the list of registered drivers */
CsiDriver *csi_steps_driver(const Kubelet *self, const PendingOperation *operation);
/* Returns: (borrowed): the CSIDriver object of the volume's driver; NULL: there is none */
const CsiDriverObject *csi_steps_driver_object(const Kubelet *self, const VolumeSource *source);
/* @who: begins the text: the Go function that failed. Returns: interned: the error for an
 * unregistered driver */
const char *
csi_steps_not_registered(Plan *plan, const PendingOperation *operation, const char *who);
/* Names and paths, which an operation needs and does not change. Nothing for other volumes. */
void csi_steps_prepare_device(Kubelet *self, NodeVolume *volume);
void csi_steps_prepare_mount(Kubelet *self, NodeVolume *volume, PodMount *mount);

/* ---- volume-expansion.c ---- */

extern const RuleTable kubelet_expansion_rules; /* RSZ-54 to RSZ-56 */

/* The populator has read the volume's PersistentVolume for this pod. */
void volume_expansion_desire(NodeVolume *volume, const PodMount *mount);
void volume_expansion_forget(NodeVolume *volume);           /* it leaves actual state */
gboolean volume_expansion_is_due(const NodeVolume *volume); /* RSZ-51, but for the mount */
/* The PersistentVolume has grown since it was read. */
gboolean volume_expansion_needs_sync(const NodeVolume *volume);
void volume_expansion_decide(const void *self, Plan *plan); /* a PlanDecide: of a volume in use */
/* The end of a mount: reads the claim, expands the volume if due, then the mount is done. */
void volume_expansion_add_at_mount(Plan *plan, const PendingOperation *operation);
void volume_expansion_apply(const PlanChange *change);
