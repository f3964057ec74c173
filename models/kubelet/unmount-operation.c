/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "operation-executor.h"

/* UnmountVolume and UnmountDevice (KVM-47, KVM-48), and the same of block volumes (KVM-58). */

static void
decide_unpublished(const void *self, Plan *plan)
{
    const PendingOperation *operation = plan_operation(plan);

    (void)self;
    if (plan_has_failed(plan)) {
        plan_because(plan, "KVM-16");
        kubelet_add_change(plan, CHANGE_MOUNT, operation, MOUNT_UNCERTAIN);
        plan_fail(plan, "UnmountVolume.TearDown failed: %s", plan_last_message(plan));
        return;
    }
    kubelet_add_change(plan, CHANGE_MOUNT, operation, MOUNT_NONE);
}

void
unmount_operation_decide(const void *data, Plan *plan)
{
    const Kubelet *self = data;
    const PendingOperation *operation = plan_operation(plan);

    plan_because(plan, "KVM-47");
    if (!operation_is_csi(operation)) {
        plan_wait(plan, MOUNT_CALL, WAIT_RUNTIME);
        kubelet_add_change(plan, CHANGE_MOUNT, operation, MOUNT_NONE);
        return;
    }
    if (csi_steps_driver(self, operation) == NULL) {
        plan_because(plan, "KVM-16");
        kubelet_add_change(plan, CHANGE_MOUNT, operation, MOUNT_UNCERTAIN);
        plan_fail(plan, "%s",
                  csi_steps_not_registered(plan, operation,
                                           "Unmounter.TearDownAt failed to get CSI client"));
        return;
    }
    CsiRequest request = {
        .method = CSI_NODE_UNPUBLISH_VOLUME,
        .volume_id = operation_source(operation)->handle,
        .target_path = operation->target->target_path,
    };
    csi_steps_add_call(self, plan, operation, request, csi_steps_begin(plan, operation));
    plan_then(plan, decide_unpublished);
}

static void
decide_unstaged(const void *self, Plan *plan)
{
    const PendingOperation *operation = plan_operation(plan);

    (void)self;
    if (plan_has_failed(plan)) {
        plan_because(plan, "KVM-16");
        kubelet_add_change(plan, CHANGE_DEVICE, operation, MOUNT_UNCERTAIN);
        plan_fail(plan, "UnmountDevice failed: %s", plan_last_message(plan));
        return;
    }
    kubelet_add_change(plan, CHANGE_DEVICE, operation, MOUNT_NONE);
}

static void
decide_unstage(const void *data, Plan *plan)
{
    const Kubelet *self = data;
    const PendingOperation *operation = plan_operation(plan);
    CsiRequest request = {
        .method = CSI_NODE_UNSTAGE_VOLUME,
        .volume_id = operation_source(operation)->handle,
        .staging_path = operation->volume->staging_path,
    };

    if (!plan_has_failed(plan) && (plan_response(plan, plan_last_step(plan))->node_capabilities &
                                   CSI_NODE_STAGE_UNSTAGE_VOLUME) != 0) {
        csi_steps_add_call(self, plan, operation, request, operation->deadline);
        plan_then(plan, decide_unstaged);
        return;
    }
    decide_unstaged(self, plan);
}

void
unmount_operation_decide_device(const void *data, Plan *plan)
{
    const Kubelet *self = data;
    const PendingOperation *operation = plan_operation(plan);

    plan_because(plan, "KVM-48");
    if (!operation_is_csi(operation)) {
        plan_wait(plan, MOUNT_CALL, WAIT_RUNTIME);
        kubelet_add_change(plan, CHANGE_DEVICE, operation, MOUNT_NONE);
        return;
    }
    if (csi_steps_driver(self, operation) == NULL) {
        plan_because(plan, "KVM-16");
        kubelet_add_change(plan, CHANGE_DEVICE, operation, MOUNT_UNCERTAIN);
        plan_fail(
            plan, "%s",
            csi_steps_not_registered(plan, operation,
                                     "attacher.UnmountDevice failed to create newCsiDriverClient"));
        return;
    }
    csi_steps_add_capabilities(self, plan, operation, csi_steps_begin(plan, operation));
    plan_then(plan, decide_unstage);
}
