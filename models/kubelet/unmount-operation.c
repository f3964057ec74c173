/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "operation-executor.h"

/* UnmountVolume and UnmountDevice, and the same of block volumes (KVM-58). */

typedef enum {
    CSI = 1 << 0,
    REGISTERED = 1 << 1, /* its driver, on this node */
    DEVICE = 1 << 2,     /* the staging, not a pod's mount */
    UNMOUNT_FACTS_END = 1 << 3,
} UnmountFacts;

typedef enum {
    UNMOUNT, /* a system call */
    FAIL,
    UNPUBLISH,
    ASK_CAPABILITIES, /* perhaps unstage then */
} UnmountAction;

static const Rule unmount_table[] = {
    {"KVM-47", 0,                         CSI | DEVICE, UNMOUNT         },
    {"KVM-48", DEVICE,                    CSI,          UNMOUNT         },
    {"KVM-16", CSI,                       REGISTERED,   FAIL            },
    {"KVM-47", CSI | REGISTERED,          DEVICE,       UNPUBLISH       },
    {"KVM-48", CSI | REGISTERED | DEVICE, 0,            ASK_CAPABILITIES},
};

const RuleTable kubelet_unmount_rules =
    RULE_TABLE("kubelet: unmounts", UNMOUNT_FACTS_END, unmount_table);

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
    gboolean is_csi = operation_is_csi(operation);
    unsigned facts = (is_csi ? CSI : 0u) |
                     (is_csi && csi_steps_driver(self, operation) != NULL ? REGISTERED : 0u) |
                     (is_of_device(operation) ? DEVICE : 0u);
    const Rule *rule = rules_find(&kubelet_unmount_rules, facts, NULL);

    plan_because(plan, rule->id);
    switch ((UnmountAction)rule->then) {
    case UNMOUNT:
        plan_wait(plan, MOUNT_CALL, WAIT_RUNTIME);
        add_state(plan, operation, MOUNT_NONE);
        return;
    case FAIL:
        add_state(plan, operation, MOUNT_UNCERTAIN);
        plan_fail(plan, "%s",
                  csi_steps_not_registered(
                      plan, operation,
                      is_of_device(operation)
                          ? "attacher.UnmountDevice failed to create newCsiDriverClient"
                          : "Unmounter.TearDownAt failed to get CSI client"));
        return;
    case UNPUBLISH:
        add_unpublish(self, plan, operation);
        return;
    case ASK_CAPABILITIES:
        csi_steps_add_capabilities(self, plan, operation, csi_steps_begin(plan, operation));
        plan_then(plan, decide_unstage);
        return;
    }
    g_assert_not_reached();
}
