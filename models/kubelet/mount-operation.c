/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "operation-executor.h"
#include "pod-worker.h"

/* MountVolume and MapVolume: GenerateMountVolumeFunc() and GenerateMapVolumeFunc() of
 * operation_generator.go, and the CSI plugin below them. */

/* What both kinds of volumes call the same steps (KVM-45). */
typedef struct {
    const char *affinity, *attach, *device, *set_up, *reason;
} MountWords;

static const MountWords filesystem_words = {
    "MountVolume.NodeAffinity check failed",
    "MountVolume.WaitForAttach failed",
    "MountVolume.MountDevice failed",
    "MountVolume.SetUp failed",
    "FailedMount",
};

static const MountWords block_words = {
    "MapVolume.NodeAffinity check failed",
    "MapVolume.WaitForAttach failed",
    "MapVolume.SetUpDevice failed",
    "MapVolume.MapPodDevice failed",
    "FailedMapVolume",
};

/* KVM-15: what the code of a failed Stage or Publish says about what the driver may have done. */
typedef enum {
    ERROR_UNCERTAIN, /* it may still do it */
    ERROR_FINAL,     /* it has not */
} ErrorClass;

static ErrorClass
error_class(CsiCode code)
{
    switch ((unsigned)code) {
    case CSI_CANCELLED:
    case CSI_DEADLINE_EXCEEDED:
    case CSI_UNAVAILABLE:
    case CSI_RESOURCE_EXHAUSTED:
    case CSI_ABORTED:
        return ERROR_UNCERTAIN;
    default:
        return ERROR_FINAL;
    }
}

static const MountWords *
words_of(const PendingOperation *self)
{
    return operation_is_block(self) ? &block_words : &filesystem_words;
}
/* KVM-45, OP-9: one event on the pod, and back-off. */
static void
add_failure(Plan *plan, const PendingOperation *operation, const char *prefix, const char *cause)
{
    const char *text = plan_internf(plan, "%s for volume \"%s\" : %s", prefix,
                                    object_name(operation->volume->pv), cause);

    plan_event(plan, operation->target->worker->pod, "Warning", words_of(operation)->reason, "%s",
               text);
    plan_fail(plan, "%s", text);
}

static void add_set_up(const Kubelet *self, Plan *plan, const PendingOperation *operation);

/* Steps 7 and 8. */
static void
add_mounted(Plan *plan, const PendingOperation *operation)
{
    if (operation->volume->plugin->node_expandable) {
        volume_expansion_add_at_mount(plan, operation);
        return;
    }
    plan_because(plan, "KVM-41.8");
    kubelet_add_change(plan, CHANGE_MOUNT, operation, MOUNT_DONE);
}

/* KVM-45: a block volume tells that it is there, a filesystem does not. */
static void
add_mapped_events(Plan *plan, const PendingOperation *operation)
{
    const Object *pod = operation->target->worker->pod;
    const char *name = object_name(operation->volume->pv);
    char uid[OBJECT_UID_BUFFER];

    if (!operation_is_block(operation))
        return;
    plan_event(plan, pod, "Normal", "SuccessfulMountVolume",
               "MapVolume.MapPodDevice succeeded for volume \"%s\" globalMapPath \"" KUBELET_DIR
               "/plugins/kubernetes.io/csi/volumeDevices/%s/dev\"",
               name, name);
    plan_event(plan, pod, "Normal", "SuccessfulMountVolume",
               "MapVolume.MapPodDevice succeeded for volume \"%s\" volumeMapPath \"" KUBELET_DIR
               "/pods/%s/volumeDevices/kubernetes.io~csi\"",
               name, object_uid_format(operation->target->worker->uid, uid));
}

/* KVM-15: a final error takes back what was uncertain, but not what another kubelet may have done
 * (KVM-61). */
static MountState
state_after_error(const Plan *plan, gboolean rebuilt)
{
    const CsiResponse *response = plan_response(plan, plan_last_step(plan));

    return rebuilt || error_class(response->code) == ERROR_UNCERTAIN ? MOUNT_UNCERTAIN : MOUNT_NONE;
}

static void
decide_published(const void *self, Plan *plan)
{
    const PendingOperation *operation = plan_operation(plan);

    (void)self;
    if (plan_has_failed(plan)) {
        plan_because(plan, "KVM-15");
        if (operation->target->state != MOUNT_DONE) /* else a remount (KVM-52): still wanted */
            kubelet_add_change(plan, CHANGE_MOUNT, operation,
                               state_after_error(plan, operation->target->rebuilt));
        add_failure(plan, operation, words_of(operation)->set_up, plan_last_message(plan));
        return;
    }
    add_mapped_events(plan, operation);
    add_mounted(plan, operation);
}

static void
decide_publish(const void *data, Plan *plan)
{
    const Kubelet *self = data;
    const PendingOperation *operation = plan_operation(plan);
    const PodMount *mount = operation->target;

    if (plan_has_failed(plan)) {
        plan_because(plan, "KVM-43");
        add_failure(plan, operation, words_of(operation)->set_up, plan_last_message(plan));
        return;
    }
    CsiNodeCapabilities can = csi_steps_capabilities(plan, operation);
    CsiCapability capability = csi_steps_capability(operation, can);
    gboolean staged = (can & CSI_NODE_STAGE_UNSTAGE_VOLUME) != 0 || operation_is_block(operation);
    CsiRequest request = {
        .method = CSI_NODE_PUBLISH_VOLUME,
        .volume_id = operation_source(operation)->handle,
        .capabilities = &capability,
        .n_capabilities = 1,
        .staging_path = staged ? operation->volume->staging_path : NULL,
        .target_path = mount->target_path,
        .readonly = mount->spec->read_only || operation_source(operation)->read_only,
        .publish_context = csi_steps_publish_context(plan, operation),
        .volume_context =
            mount->context != NULL ? mount->context : operation_source(operation)->attributes,
    };
    plan_because(plan, "KVM-43");
    csi_steps_add_capabilities(self, plan, operation, operation->deadline);
    csi_steps_add_capabilities(self, plan, operation, operation->deadline);
    kubelet_add_change(plan, CHANGE_DIRECTORY, operation, MOUNT_NONE);
    csi_steps_add_call(self, plan, operation, request, operation->deadline);
    plan_then(plan, decide_published);
}

/* Step 6. */
static void
add_set_up(const Kubelet *self, Plan *plan, const PendingOperation *operation)
{
    plan_because(plan, "KVM-43");
    if (!operation_is_csi(operation)) {
        kubelet_add_change(plan, CHANGE_DIRECTORY, operation, MOUNT_NONE);
        plan_wait(plan, MOUNT_CALL, WAIT_RUNTIME);
        add_mounted(plan, operation);
        return;
    }
    if (csi_steps_driver(self, operation) == NULL) {
        add_failure(
            plan, operation, words_of(operation)->set_up,
            csi_steps_not_registered(plan, operation, "mounter.SetUpAt failed to get CSI client"));
        return;
    }
    csi_steps_add_capabilities(self, plan, operation, csi_steps_begin(plan, operation));
    csi_steps_add_get_attachment(plan, operation);
    plan_then(plan, decide_publish);
}

static void
decide_staged(const void *data, Plan *plan)
{
    const Kubelet *self = data;
    const PendingOperation *operation = plan_operation(plan);

    if (plan_has_failed(plan)) {
        plan_because(plan, "KVM-15");
        kubelet_add_change(plan, CHANGE_DEVICE, operation,
                           state_after_error(plan, operation->volume->rebuilt));
        add_failure(plan, operation, words_of(operation)->device, plan_last_message(plan));
        return;
    }
    kubelet_add_change(plan, CHANGE_DEVICE, operation, MOUNT_DONE);
    add_set_up(self, plan, operation);
}

static void
decide_stage(const void *data, Plan *plan)
{
    const Kubelet *self = data;
    const PendingOperation *operation = plan_operation(plan);

    plan_because(plan, "KVM-42");
    if (plan_has_failed(plan)) {
        add_failure(plan, operation, words_of(operation)->device, plan_last_message(plan));
        return;
    }
    CsiNodeCapabilities can = csi_steps_capabilities(plan, operation);
    if ((can & CSI_NODE_STAGE_UNSTAGE_VOLUME) == 0) { /* the driver mounts in one go */
        kubelet_add_change(plan, CHANGE_DEVICE, operation, MOUNT_DONE);
        add_set_up(self, plan, operation);
        return;
    }
    CsiCapability capability = csi_steps_capability(operation, can);
    CsiRequest request = {
        .method = CSI_NODE_STAGE_VOLUME,
        .volume_id = operation_source(operation)->handle,
        .capabilities = &capability,
        .n_capabilities = 1,
        .staging_path = operation->volume->staging_path,
        .publish_context = csi_steps_publish_context(plan, operation),
        .volume_context = operation_source(operation)->attributes,
    };
    csi_steps_add_capabilities(self, plan, operation, operation->deadline);
    csi_steps_add_capabilities(self, plan, operation, operation->deadline);
    csi_steps_add_call(self, plan, operation, request, operation->deadline);
    plan_then(plan, decide_staged);
}

/* Step 5. */
static void
add_mount_device(const Kubelet *self, Plan *plan, const PendingOperation *operation)
{
    const NodeVolume *volume = operation->volume;

    if (!volume->plugin->device_mountable || volume->device == MOUNT_DONE) {
        add_set_up(self, plan, operation);
        return;
    }
    plan_because(plan, "KVM-42");
    if (!operation_is_csi(operation)) {
        plan_wait(plan, MOUNT_CALL, WAIT_RUNTIME);
        kubelet_add_change(plan, CHANGE_DEVICE, operation, MOUNT_DONE);
        add_set_up(self, plan, operation);
        return;
    }
    if (csi_steps_driver(self, operation) == NULL) { /* transient: what was, is (KVM-15) */
        plan_because(plan, "REG-28");
        add_failure(
            plan, operation, words_of(operation)->device,
            csi_steps_not_registered(plan, operation,
                                     "attacher.MountDevice failed to create newCsiDriverClient"));
        return;
    }
    csi_steps_add_capabilities(self, plan, operation, csi_steps_begin(plan, operation));
    csi_steps_add_get_attachment(plan, operation);
    plan_then(plan, decide_stage);
}

/* Returns: interned: why the attachment is none; NULL: it is one */
static const char *
attachment_error(Plan *plan, const PendingOperation *operation)
{
    int step = plan_last_step(plan);
    const Object *object = plan_object(plan, step);
    const Attachment *attachment = (const Attachment *)object;
    const char *name = operation->volume->attachment->name;

    if (object == NULL)
        return plan_internf(plan, "volume %s has GET error for volume attachment %s: %s",
                            operation_source(operation)->handle, name, plan_message(plan, step));
    if (object_is_deleted(object))
        return "volume attachment is being deleted";
    if (attachment->attached) /* whatever a second call of the attacher said afterwards (RACE-2) */
        return NULL;
    if (attachment->attach_error.message != NULL)
        return attachment->attach_error.message;
    return plan_internf(plan, "volume attachment %s is not attached", name);
}

static void
decide_attached(const void *data, Plan *plan)
{
    const Kubelet *self = data;
    const PendingOperation *operation = plan_operation(plan);
    const char *error = attachment_error(plan, operation);

    if (error != NULL) {
        plan_because(plan, "KVM-41.4");
        add_failure(plan, operation, words_of(operation)->attach, error);
        return;
    }
    add_mount_device(self, plan, operation);
}

/* Step 3: another pod has the volume, and it is for one pod alone. */
static gboolean
is_taken(const PendingOperation *operation)
{
    if (operation_pv(operation)->access_modes != ACCESS_RWOP)
        return FALSE;
    for (const PodMount *mount = operation->volume->mounts; mount != NULL; mount = mount->next) {
        if (mount != operation->target && mount->state != MOUNT_NONE)
            return TRUE;
    }
    return FALSE;
}

static gboolean
fits_node(const Kubelet *self, const PendingOperation *operation)
{
    const Object *node = informer_get(self->nodes, self->node_key);

    return node == NULL || node_selector_matches(operation_pv(operation)->node_affinity,
                                                 node->labels, self->base.node_name);
}

void
mount_operation_decide(const void *data, Plan *plan)
{
    const Kubelet *self = data;
    const PendingOperation *operation = plan_operation(plan);

    plan_because(plan, "KVM-41");
    if (!fits_node(self, operation)) {
        add_failure(plan, operation, words_of(operation)->affinity,
                    "no matching NodeSelectorTerms");
        return;
    }
    if (is_taken(operation)) {
        plan_because(plan, "KVM-41.3");
        add_failure(
            plan, operation, words_of(operation)->set_up,
            "volume uses the ReadWriteOncePod access mode and is already in use by another pod");
        return;
    }
    if (operation_is_csi(operation) && operation->volume->attachable) {
        plan_because(plan, "KVM-41.4");
        csi_steps_add_get_attachment(plan, operation);
        plan_then(plan, decide_attached);
        return;
    }
    add_mount_device(self, plan, operation);
}
