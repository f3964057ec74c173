/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "operation-executor.h"
#include "pod-worker.h"

/* Before a mount the volume must be attached: VerifyControllerAttachedVolume (KVM-36). If the
 * kubelet manages attachments, AttachVolume and DetachVolume (KVM-69). */

/* ---- The controller attaches: KVM-36 ---- */

static gboolean
reads_claim(const PendingOperation *operation)
{
    return !operation->volume->size_known && operation_pv(operation)->claim_ref.claim != NULL;
}

static void
decide_verified(const void *data, Plan *plan)
{
    const Kubelet *self = data;
    const PendingOperation *operation = plan_operation(plan);
    int step = plan_last_step(plan);

    (void)self;
    if (plan_has_failed(plan)) {
        plan_fail(plan, "VerifyControllerAttachedVolume failed: %s", plan_message(plan, step));
        return;
    }
    const Node *node = (const Node *)plan_object(plan, step);
    if (operation->volume->attachable &&
        !string_list_has(node->volumes_attached, operation->volume->name)) {
        plan_fail(plan, "Volume not attached according to node status");
        return;
    }
    plan_change(plan,
                &(PlanChange){.what = CHANGE_IN_ACTUAL,
                              .pointer = operation,
                              .object = reads_claim(operation) ? plan_object(plan, 0) : NULL});
}

void
attach_operation_verify(const void *data, Plan *plan)
{
    const Kubelet *self = data;
    const PendingOperation *operation = plan_operation(plan);

    plan_because(plan, "KVM-36");
    if (reads_claim(operation))
        plan_get(plan, operation_pv(operation)->claim_ref.claim, PLAN_DECIDE);
    if (operation->volume->attachable)
        plan_get(plan, self->node_key, PLAN_DECIDE);
    if (!reads_claim(operation) && !operation->volume->attachable)
        kubelet_add_change(plan, CHANGE_IN_ACTUAL, operation, MOUNT_NONE);
    else
        plan_then(plan, decide_verified);
}

/* ---- The kubelet attaches: KVM-69, KVM-70 ---- */

/* ADC-56: here the kubelet tells each pod that wants the volume. */
static void
tell_pods(
    Plan *plan, const NodeVolume *volume, const char *type, const char *reason, const char *text)
{
    for (const PodMount *mount = volume->mounts; mount != NULL; mount = mount->next)
        if (mount->desired)
            plan_event(plan, mount->worker->pod, type, reason, "%s", text);
}

/* A kubelet no longer attaches CSI volumes. It attaches FlexVolumes, iSCSI and FC by a program or a
 * call on this node. */
void
attach_operation_attach(const void *self, Plan *plan)
{
    const PendingOperation *operation = plan_operation(plan);
    const char *name = object_name(operation->volume->pv);

    (void)self;
    if (operation_is_csi(operation)) {
        const char *text = plan_internf(plan,
                                        "AttachVolume.Attach failed for volume \"%s\" : attaching "
                                        "volumes from the kubelet is not supported",
                                        name);
        plan_because(plan, "KVM-70");
        tell_pods(plan, operation->volume, "Warning", "FailedAttachVolume", text);
        plan_fail(plan, "%s", text);
        return;
    }
    plan_because(plan, "KVM-69");
    plan_wait(plan, MOUNT_CALL, WAIT_RUNTIME);
    tell_pods(plan, operation->volume, "Normal", "SuccessfulAttachVolume",
              plan_internf(plan, "AttachVolume.Attach succeeded for volume \"%s\" ", name));
    kubelet_add_change(plan, CHANGE_IN_ACTUAL, operation, MOUNT_NONE);
}

/* No check whether that is safe: nothing is mounted any more (KVM-37). */
void
attach_operation_detach(const void *self, Plan *plan)
{
    (void)self;
    plan_because(plan, "KVM-69");
    plan_wait(plan, MOUNT_CALL, WAIT_RUNTIME);
    kubelet_add_change(plan, CHANGE_DETACHED, plan_operation(plan), MOUNT_NONE);
}
