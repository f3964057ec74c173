/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "in-process.h"
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
unmounted(const Kubelet *self, Plan *plan, const CsiPluginResult *result)
{
    const PendingOperation *operation = plan_operation(plan);

    (void)self;
    if (result->end == CSI_PLUGIN_DONE) {
        add_state(plan, operation, MOUNT_NONE);
        return;
    }
    plan_because(plan, "KVM-16");
    add_state(plan, operation, MOUNT_UNCERTAIN);
    plan_fail(plan, "%s failed: %s",
              is_of_device(operation) ? "UnmountDevice" : "UnmountVolume.TearDown", result->error);
}

void
unmount_operation_decide(const void *data, Plan *plan)
{
    const Kubelet *self = data;
    const PendingOperation *operation = plan_operation(plan);
    gboolean of_device = is_of_device(operation);

    plan_because(plan, of_device ? "KVM-48" : "KVM-47");
    if (!operation_is_csi(operation)) {
        in_process_plan(self, plan, of_device ? FLEX_UNMOUNT_DEVICE : FLEX_TEAR_DOWN, unmounted);
    } else if (of_device) {
        csi_mounter_unstage(self, plan, unmounted);
    } else {
        csi_mounter_unpublish(self, plan, unmounted);
    }
}
