/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/kubelet/in-process/in-process.h"
#include "operation-executor.h"

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
        !string_list_has_interned(node->volumes_attached, operation->volume->name)) {
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

static void
fail_attach(Plan *plan, const char *reason)
{
    const PendingOperation *operation = plan_operation(plan);
    const NodeVolume *volume = operation->volume;
    const char *text = plan_internf(plan, "AttachVolume.Attach failed for volume \"%s\" : %s",
                                    object_name(volume->pv), reason);

    tell_pods(plan, volume, "Warning", "FailedAttachVolume", text);
    plan_fail(plan, "%s", text);
}

static void
decide_attached(const Kubelet *self, Plan *plan, const CsiPluginResult *result)
{
    const PendingOperation *operation = plan_operation(plan);
    const NodeVolume *volume = operation->volume;

    (void)self;
    plan_because(plan, "KVM-69");
    if (result->end != CSI_PLUGIN_DONE) {
        fail_attach(plan, result->error);
        return;
    }
    tell_pods(plan, volume, "Normal", "SuccessfulAttachVolume",
              plan_internf(plan, "AttachVolume.Attach succeeded for volume \"%s\" ",
                           object_name(volume->pv)));
    kubelet_add_change(plan, CHANGE_IN_ACTUAL, operation, MOUNT_NONE);
}

/* A kubelet no longer attaches CSI volumes. In-tree plugins and FlexVolume drivers it asks itself;
 * iSCSI and FC need nothing here (INT-11). */
void
attach_operation_attach(const void *self, Plan *plan)
{
    if (operation_is_csi(plan_operation(plan))) {
        plan_because(plan, "KVM-70");
        fail_attach(plan, "attaching volumes from the kubelet is not supported");
        return;
    }
    plan_because(plan, "KVM-69");
    in_process_plan(self, plan, FLEX_ATTACH, decide_attached);
}

static void
decide_detached(const Kubelet *self, Plan *plan, const CsiPluginResult *result)
{
    const PendingOperation *operation = plan_operation(plan);

    (void)self;
    plan_because(plan, "KVM-69");
    if (result->end == CSI_PLUGIN_DONE)
        kubelet_add_change(plan, CHANGE_DETACHED, operation, MOUNT_NONE);
    else
        plan_fail(plan, "DetachVolume.Detach failed for volume \"%s\" : %s",
                  operation->volume->name, result->error);
}

/* No check whether that is safe: nothing is mounted any more (KVM-37). */
void
attach_operation_detach(const void *self, Plan *plan)
{
    plan_because(plan, "KVM-69");
    in_process_plan(self, plan, FLEX_DETACH, decide_detached);
}
