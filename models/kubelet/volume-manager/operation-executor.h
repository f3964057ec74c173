/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "volume-manager.h"

/* Operations on volumes: pkg/volume/util/operationexecutor and nestedpendingoperations, with the
 * CSI plugin below them (pkg/volume/csi). */

/* ---- volume-operations.c ---- */

/* Starts an operation, unless one that matches runs or the back-off of a failed one holds it back.
 * @mount: what to mount, unmount or expand; else NULL */
void volume_operation_start(Kubelet *self, OperationName name, NodeVolume *volume, PodMount *mount);

/* ---- pending-operations.c ---- */

/* If several match: a running one, otherwise one with an equal key, otherwise the first. */
PendingOperation *pending_operation_find(const NodeVolume *volume, const PodMount *key);
/* Appended to the volume's operations. */
PendingOperation *pending_operation_new(NodeVolume *volume, OperationName name);
void pending_operation_remove(PendingOperation *self);
/* Whether an operation runs that matches (volume, @mount's pod); NULL: any of the volume (OP-1) */
gboolean volume_operation_is_pending(const NodeVolume *volume, const PodMount *mount);
/* Whether an operation under way has this very mount as its target. */
gboolean volume_operation_works_on(const NodeVolume *volume, const PodMount *mount);
/* The pod never comes back. */
void volume_operation_forget(NodeVolume *volume, const PodMount *mount);

/* ---- attach-operation.c, mount-operation.c: PlanDecides ---- */

extern const RuleTable kubelet_mount_step_rules; /* KVM-41 */

void attach_operation_verify(const void *self, Plan *plan);
void attach_operation_attach(const void *self, Plan *plan);
void attach_operation_detach(const void *self, Plan *plan);
void mount_operation_decide(const void *self, Plan *plan);
void unmount_operation_decide(const void *self, Plan *plan); /* of a pod's mount or the device */

/* ---- volume-expansion.c ---- */

extern const RuleTable kubelet_expansion_rules; /* RSZ-54 to RSZ-56 */

/* The populator has read the volume's PersistentVolume for this pod. */
void volume_expansion_desire(NodeVolume *volume, const PodMount *mount);
gboolean volume_expansion_is_due(const NodeVolume *volume); /* RSZ-51, but for the mount */
/* The PersistentVolume has grown since it was read. */
gboolean volume_expansion_needs_sync(const NodeVolume *volume);
void volume_expansion_decide(const void *self, Plan *plan); /* a PlanDecide: of a volume in use */
/* The end of a mount: reads the claim, expands the volume if due, then the mount is done. */
void volume_expansion_add_at_mount(Plan *plan, const PendingOperation *operation);
/* What an expansion has come to. */
void volume_expansion_apply(const PlanChange *change);
