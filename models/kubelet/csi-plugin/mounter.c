/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Staging and publishing: csi_attacher.go, csi_mounter.go and csi_block.go; expansion:
 * expander.go. A file system and a block volume go the same way, with questions in another order
 * (CSP-2). Each operation asks first whether the driver is registered, whether the volume's
 * lifecycle mode fits, and whether the driver stages at all; then it makes one call.
 *
 * Invariant: each operation ends in exactly one csi_client_end(), which decides whether the mount
 * is done, failed or uncertain. State changes are the caller's: this file only adds steps. */
#include "csi-plugin.h"
#include "models/csi/uses.h"

static void
mounter_fail(const Kubelet *self, Plan *plan, CsiPluginEnd end, const char *text)
{
    csi_client_end(self, plan, end, CSI_OK, text);
}

static void
fail_unregistered(const Kubelet *self, Plan *plan, const char *who)
{
    plan_because(plan, "REG-28");
    mounter_fail(self, plan, CSI_PLUGIN_TRANSIENT,
                 csi_steps_not_registered(plan, plan_operation(plan), who));
}

static gboolean
is_registered(const Kubelet *self, Plan *plan)
{
    return csi_steps_driver(self, plan_operation(plan)) != NULL;
}

/* ---- Questions that come first ---- */

static void
add_attachment(Plan *plan)
{
    const PendingOperation *operation = plan_operation(plan);
    CsiRun *run = plan_notes(plan);

    if (operation->volume->attachable)
        run->attachment = plan_get(plan, operation->volume->attachment, PLAN_DECIDE);
}

/* The answers: capabilities and the attachment. Returns: FALSE: one failed, and the function is
 * over */
static gboolean
read_answers(const Kubelet *self, Plan *plan, const char *block_function)
{
    const PendingOperation *operation = plan_operation(plan);
    CsiRun *run = plan_notes(plan);
    int last = plan_last_step(plan);

    if (plan_has_failed(plan) && last == run->attachment) {
        const char *text = plan_last_message(plan);
        if (operation_is_block(operation))
            text = plan_internf(plan,
                                "kubernetes.io/csi: blockMapper.%s failed to get volume attachment "
                                "[id=%s]: %s",
                                block_function, operation->volume->attachment->name, text);
        plan_because(plan, "CSP-3");
        mounter_fail(self, plan, CSI_PLUGIN_TRANSIENT, text);
        return FALSE;
    }
    if (run->question >= 0 && !csi_client_answered(self, plan)) {
        mounter_fail(self, plan, CSI_PLUGIN_FAILED, plan_last_message(plan));
        return FALSE;
    }
    if (run->attachment >= 0)
        run->context = ((const Attachment *)plan_object(plan, run->attachment))->metadata;
    return TRUE;
}

/* CSP-8: for file systems, whether the driver takes the pod's fsGroup. */
static void
decide_group(const void *data, Plan *plan)
{
    const Kubelet *self = data;
    const CsiRun *run = plan_notes(plan);

    if (csi_client_answered(self, plan)) {
        csi_client_add_call(self, plan);
        return;
    }
    mounter_fail(self, plan, CSI_PLUGIN_TRANSIENT,
                 plan_internf(plan,
                              "kubernetes.io/csi: %s failed to determine if the node service has "
                              "VOLUME_MOUNT_GROUP capability: %s",
                              run->method == CSI_NODE_STAGE_VOLUME ? "attacher.MountDevice"
                                                                   : "mounter.SetUpAt",
                              plan_last_message(plan)));
}

static void
add_group_question(const Kubelet *self, Plan *plan)
{
    if (operation_is_block(plan_operation(plan))) {
        csi_client_add_call(self, plan);
        return;
    }
    csi_client_add_question(self, plan);
    plan_then(plan, decide_group);
}

/* ---- Staging: KVM-42 ---- */

static void
decide_stage_secret(const void *data, Plan *plan)
{
    const Kubelet *self = data;
    const SecretReference *secret;
    const char *fault = csi_client_secret_fault(self, plan, &secret);
    gboolean is_block = operation_is_block(plan_operation(plan));

    plan_because(plan, fault == NULL ? "KVM-42" : "CSP-6");
    if (fault == NULL)
        add_group_question(self, plan);
    else
        mounter_fail(
            self, plan, CSI_PLUGIN_TRANSIENT,
            plan_internf(plan,
                         is_block ? "kubernetes.io/csi: failed to get NodeStageSecretRef %s/%s: %s"
                                  : "fetching NodeStageSecretRef %s/%s failed: %s",
                         secret->namespace, secret->name, fault));
}

static void
decide_stage(const void *data, Plan *plan)
{
    const Kubelet *self = data;
    const CsiRun *run = plan_notes(plan);

    plan_because(plan, "KVM-42");
    if (!read_answers(self, plan, "SetupDevice"))
        return;
    if (!csi_use_is_on_node(CSI_USE_STAGE, run->can)) /* the driver mounts in one go */
        csi_client_end(self, plan, CSI_PLUGIN_DONE, CSI_OK, NULL);
    else
        csi_client_add_secret(self, plan, decide_stage_secret);
}

void
csi_mounter_stage(const Kubelet *self, Plan *plan, CsiPluginThen then)
{
    gboolean is_block = operation_is_block(plan_operation(plan));

    csi_client_begin(plan, CSI_NODE_STAGE_VOLUME, then);
    if (!is_registered(self, plan)) {
        fail_unregistered(self, plan,
                          is_block ? "blockMapper.SetUpDevice failed to get CSI client"
                                   : "attacher.MountDevice failed to create newCsiDriverClient");
        return;
    }
    if (is_block)
        add_attachment(plan);
    csi_client_add_question(self, plan);
    if (!is_block)
        add_attachment(plan);
    plan_then(plan, decide_stage);
}

/* ---- Publishing: KVM-43 ---- */

static void
decide_publish_secret(const void *data, Plan *plan)
{
    const Kubelet *self = data;
    const SecretReference *secret;
    const char *fault = csi_client_secret_fault(self, plan, &secret);
    gboolean is_block = operation_is_block(plan_operation(plan));

    plan_because(plan, fault == NULL ? "KVM-43" : "CSP-6");
    if (fault == NULL)
        add_group_question(self, plan);
    else
        mounter_fail(
            self, plan, CSI_PLUGIN_TRANSIENT,
            plan_internf(plan,
                         is_block ? "kubernetes.io/csi: blockMapper.publishVolumeForBlock failed "
                                    "to get NodePublishSecretRef %s/%s: %s"
                                  : "fetching NodePublishSecretRef %s/%s failed: %s",
                         secret->namespace, secret->name, fault));
}

static void
decide_publish(const void *data, Plan *plan)
{
    const Kubelet *self = data;

    plan_because(plan, "KVM-43");
    if (read_answers(self, plan, "MapPodDevice"))
        csi_client_add_secret(self, plan, decide_publish_secret);
}

/* CSP-5. Returns: interned: why the driver cannot have the volume; NULL: it can */
static const char *
lifecycle_fault(const Kubelet *self, Plan *plan)
{
    const VolumeSource *source = operation_source(plan_operation(plan));
    g_autofree char *fault = csi_spec_lifecycle_fault(
        csi_spec_lifecycle_mode(source), source->driver, csi_steps_driver_object(self, source));

    return fault == NULL ? NULL
                         : plan_internf(plan,
                                        "kubernetes.io/csi: mounter.SetupAt failed to check volume "
                                        "lifecycle mode: %s",
                                        fault);
}

/* mounter.SetUpAt, after the check for its client. */
static void
mounter_set_up(const Kubelet *self, Plan *plan)
{
    const char *fault = lifecycle_fault(self, plan);

    if (fault != NULL) {
        plan_because(plan, "CSP-5");
        mounter_fail(self, plan, CSI_PLUGIN_TRANSIENT, fault);
        return;
    }
    if (operation_source(plan_operation(plan))->is_inline) { /* neither attached nor staged */
        plan_because(plan, "CSP-10");
        csi_client_add_secret(self, plan, decide_publish_secret);
        return;
    }
    csi_client_add_question(self, plan);
    add_attachment(plan);
    plan_then(plan, decide_publish);
}

/* blockMapper.MapPodDevice, likewise. */
static void
map_pod_device(const Kubelet *self, Plan *plan)
{
    const PendingOperation *operation = plan_operation(plan);

    if (operation->volume->attachable) {
        add_attachment(plan);
        plan_then(plan, decide_publish);
        return;
    }
    csi_client_add_secret(self, plan, decide_publish_secret);
}

void
csi_mounter_publish(const Kubelet *self, Plan *plan, CsiPluginThen then)
{
    gboolean is_block = operation_is_block(plan_operation(plan));

    csi_client_begin(plan, CSI_NODE_PUBLISH_VOLUME, then);
    if (!is_registered(self, plan))
        fail_unregistered(self, plan,
                          is_block ? "blockMapper.MapPodDevice failed to get CSI client"
                                   : "mounter.SetUpAt failed to get CSI client");
    else if (is_block)
        map_pod_device(self, plan);
    else
        mounter_set_up(self, plan);
}

/* ---- The way back: KVM-47, KVM-48 ---- */

void
csi_mounter_unpublish(const Kubelet *self, Plan *plan, CsiPluginThen then)
{
    gboolean is_block = operation_is_block(plan_operation(plan));

    csi_client_begin(plan, CSI_NODE_UNPUBLISH_VOLUME, then);
    if (is_registered(self, plan))
        csi_client_add_call(self, plan);
    else
        fail_unregistered(self, plan,
                          is_block ? "blockMapper.UnmapPodDevice failed to get CSI client"
                                   : "Unmounter.TearDownAt failed to get CSI client");
}

static void
decide_unstage(const void *data, Plan *plan)
{
    const Kubelet *self = data;
    const CsiRun *run = plan_notes(plan);

    if (!csi_client_answered(self, plan))
        mounter_fail(self, plan, CSI_PLUGIN_FAILED, plan_last_message(plan));
    else if (!csi_use_is_on_node(CSI_USE_UNSTAGE, run->can))
        csi_client_end(self, plan, CSI_PLUGIN_DONE, CSI_OK, NULL);
    else
        csi_client_add_call(self, plan);
}

/* Perhaps there is nothing to unstage. */
void
csi_mounter_unstage(const Kubelet *self, Plan *plan, CsiPluginThen then)
{
    gboolean is_block = operation_is_block(plan_operation(plan));

    csi_client_begin(plan, CSI_NODE_UNSTAGE_VOLUME, then);
    if (!is_registered(self, plan)) {
        fail_unregistered(self, plan,
                          is_block ? "blockMapper.TearDownDevice failed to get CSI client"
                                   : "attacher.UnmountDevice failed to create newCsiDriverClient");
        return;
    }
    csi_client_add_question(self, plan);
    plan_then(plan, decide_unstage);
}

/* ---- Expansion: KVM-55 ---- */

static void
decide_expand_secret(const void *data, Plan *plan)
{
    const Kubelet *self = data;
    const SecretReference *secret;
    const char *fault = csi_client_secret_fault(self, plan, &secret);

    plan_because(plan, fault == NULL ? "RSZ-54.3" : "CSP-6");
    if (fault == NULL)
        csi_client_add_call(self, plan);
    else
        mounter_fail(self, plan, CSI_PLUGIN_FAILED,
                     plan_internf(plan,
                                  "expander.NodeExpand failed to get NodeExpandSecretRef %s/%s: %s",
                                  secret->namespace, secret->name, fault));
}

static void
decide_expand(const void *data, Plan *plan)
{
    const Kubelet *self = data;
    const CsiRun *run = plan_notes(plan);

    if (!csi_client_answered(self, plan))
        mounter_fail(
            self, plan, CSI_PLUGIN_FAILED,
            plan_internf(plan,
                         "Expander.NodeExpand failed to check if node supports expansion : %s",
                         plan_last_message(plan)));
    else if (!csi_use_is_on_node(CSI_USE_NODE_EXPAND, run->can))
        mounter_fail(self, plan, CSI_PLUGIN_UNSUPPORTED,
                     plan_internf(plan, "NodeExpand is not supported by the CSI driver %s",
                                  operation_source(plan_operation(plan))->driver));
    else
        csi_client_add_secret(self, plan, decide_expand_secret);
}

void
csi_mounter_expand(const Kubelet *self, Plan *plan, int64_t bytes, CsiPluginThen then)
{
    const char *driver = operation_source(plan_operation(plan))->driver;

    csi_client_begin(plan, CSI_NODE_EXPAND_VOLUME, then)->bytes = bytes;
    if (!is_registered(self, plan)) {
        plan_because(plan, "REG-28");
        mounter_fail(self, plan, CSI_PLUGIN_TRANSIENT,
                     plan_internf(plan,
                                  "driver name %s not found in the list of registered CSI drivers",
                                  driver));
        return;
    }
    csi_client_add_question(self, plan);
    plan_then(plan, decide_expand);
}

/* ---- The attachment: KVM-41.4 ---- */

const char *
csi_mounter_attachment_fault(Plan *plan,
                             const char *handle,
                             const char *name,
                             const Attachment *attachment,
                             const char *message)
{
    if (attachment == NULL)
        return plan_internf(plan, "volume %s has GET error for volume attachment %s: %s", handle,
                            name, message);
    if (object_is_deleted(&attachment->meta))
        return "volume attachment is being deleted";
    if (attachment->attached) /* even if a second call of the attacher failed later (RACE-2) */
        return NULL;
    if (attachment->attach_error.message != NULL)
        return attachment->attach_error.message;
    return plan_internf(plan, "volume %s is not attached for volume attachment %s", handle, name);
}
