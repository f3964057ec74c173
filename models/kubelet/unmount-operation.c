/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "operation-executor.h"

/* UnmountVolume and UnmountDevice, and the same of block volumes (KVM-58). */

static gboolean
is_of_device(const PendingOperation *operation)
{
    return operation->doing == OPERATION_UNMOUNT_DEVICE;
}

static void
add_state(Plan *plan, const PendingOperation *operation, MountState state)
{
    kubelet_add_change(plan, is_of_device(operation) ? CHANGE_DEVICE : CHANGE_MOUNT, operation,
                       state);
}

static void
decide_unmounted(const void *self, Plan *plan)
{
    const PendingOperation *operation = plan_operation(plan);

    (void)self;
    if (!plan_has_failed(plan)) {
        add_state(plan, operation, MOUNT_NONE);
        return;
    }
    plan_because(plan, "KVM-16");
    add_state(plan, operation, MOUNT_UNCERTAIN);
    plan_fail(plan, "%s failed: %s",
              is_of_device(operation) ? "UnmountDevice" : "UnmountVolume.TearDown",
              plan_last_message(plan));
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
        plan_then(plan, decide_unmounted);
        return;
    }
    decide_unmounted(self, plan);
}

static void
add_unpublish(const Kubelet *self, Plan *plan, const PendingOperation *operation)
{
    CsiRequest request = {
        .method = CSI_NODE_UNPUBLISH_VOLUME,
        .volume_id = operation_source(operation)->handle,
        .target_path = operation->target->target_path,
    };

    csi_steps_add_call(self, plan, operation, request, csi_steps_begin(plan, operation));
    plan_then(plan, decide_unmounted);
}

void
unmount_operation_decide(const void *data, Plan *plan)
{
    const Kubelet *self = data;
    const PendingOperation *operation = plan_operation(plan);
    gboolean of_device = is_of_device(operation);

    plan_because(plan, of_device ? "KVM-48" : "KVM-47");
    if (!operation_is_csi(operation)) {
        plan_wait(plan, MOUNT_CALL, WAIT_RUNTIME);
        add_state(plan, operation, MOUNT_NONE);
    } else if (csi_steps_driver(self, operation) == NULL) {
        plan_because(plan, "KVM-16");
        add_state(plan, operation, MOUNT_UNCERTAIN);
        plan_fail(plan, "%s",
                  csi_steps_not_registered(
                      plan, operation,
                      of_device ? "attacher.UnmountDevice failed to create newCsiDriverClient"
                                : "Unmounter.TearDownAt failed to get CSI client"));
    } else if (of_device) { /* perhaps there is nothing to unstage */
        csi_steps_add_capabilities(self, plan, operation, csi_steps_begin(plan, operation));
        plan_then(plan, decide_unstage);
    } else {
        add_unpublish(self, plan, operation);
    }
}
