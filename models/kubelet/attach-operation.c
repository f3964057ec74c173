/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "kubelet-private.h"

/* VerifyControllerAttachedVolume: whether a volume is attached, before it is mounted (KVM-36). */

static void
decide_verified(const void *data, Plan *plan)
{
    const Kubelet *self = data;
    const PendingOperation *operation = plan_operation(plan);
    int step = plan_last_step(plan);

    (void)self;
    if (operation_has_failed(plan)) {
        plan_fail(plan, "VerifyControllerAttachedVolume failed: %s", plan_message(plan, step));
        return;
    }
    const Node *node = (const Node *)plan_object(plan, step);
    if (operation->volume->attachable &&
        !string_list_has(node->volumes_attached, operation->volume->name)) {
        plan_fail(plan, "Volume not attached according to node status");
        return;
    }
    plan_change(plan, &(PlanChange){.what = CHANGE_IN_ACTUAL,
                                    .pointer = operation,
                                    .object = operation->volume->size_known
                                                  ? NULL
                                                  : plan_object(plan, 0)}); /* the claim */
}

void
attach_operation_verify(const void *data, Plan *plan)
{
    const Kubelet *self = data;
    const PendingOperation *operation = plan_operation(plan);

    plan_because(plan, "KVM-36");
    if (!operation->volume->size_known)
        plan_get(plan, operation_pv(operation)->claim_ref.claim, PLAN_DECIDE);
    if (operation->volume->attachable)
        plan_get(plan, self->node_key, PLAN_DECIDE);
    if (operation->volume->size_known && !operation->volume->attachable)
        operation_add_change(plan, CHANGE_IN_ACTUAL, operation, MOUNT_NONE);
    else
        plan_then(plan, decide_verified);
}
