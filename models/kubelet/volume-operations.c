/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "kubelet-private.h"

/* What the reconciler starts and does not wait for: pkg/volume/util/operationexecutor, nestedpendingoperations, and the
 * CSI plugin below them (pkg/volume/csi). */

#define BACKOFF_FIRST (500 * SIM_MS) /* OP-8 */
#define BACKOFF_MAX (122 * SIM_SECOND)
#define CALL_TIMEOUT (120 * SIM_SECOND) /* KVM-5 */
#define MOUNT_CALL                                                                                 \
    SIM_MS /* a mount or unmount without CSI: a system call, and a thread of its own until then */
#define KUBELET_DIR "/var/lib/kubelet"

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

/* KVM-44: without and with the node capability SINGLE_NODE_MULTI_WRITER. */
static const struct {
    AccessModes mode;
    CsiAccessMode single, multi;
} access_modes[] = {
    {ACCESS_RWO,  CSI_SINGLE_NODE_WRITER,      CSI_SINGLE_NODE_MULTI_WRITER },
    {ACCESS_RWOP, CSI_SINGLE_NODE_WRITER,      CSI_SINGLE_NODE_SINGLE_WRITER},
    {ACCESS_ROX,  CSI_MULTI_NODE_READER_ONLY,  CSI_MULTI_NODE_READER_ONLY   },
    {ACCESS_RWX,  CSI_MULTI_NODE_MULTI_WRITER, CSI_MULTI_NODE_MULTI_WRITER  },
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

static const Volume *
pv_of(const PendingOperation *self)
{
    return VOLUME_CONST(self->volume->pv);
}

static const VolumeSource *
source_of(const PendingOperation *self)
{
    return pv_of(self)->source;
}

static gboolean
is_csi(const PendingOperation *self)
{
    return volume_plugin_is_csi(self->volume->plugin);
}

static gboolean
is_block(const PendingOperation *self)
{
    return pv_of(self)->volume_mode == VOLUME_BLOCK;
}

static const MountWords *
words_of(const PendingOperation *self)
{
    return is_block(self) ? &block_words : &filesystem_words;
}

static void
add_change(Plan *plan, KubeletChange what, const PendingOperation *operation, MountState state)
{
    plan_change(plan, &(PlanChange){.what = (int)what, .pointer = operation, .number = state});
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

static gboolean
has_failed(const Plan *plan)
{
    return plan_code(plan, plan_last_step(plan)) != API_OK;
}

/* ---- CSI requests ---- */

static CsiDriver *
driver_of(const Kubelet *self, const PendingOperation *operation)
{
    return plugin_registration_driver(self, source_of(operation)->driver);
}

static const char *
not_registered(Plan *plan, const PendingOperation *operation, const char *who)
{
    return plan_internf(
        plan,
        "kubernetes.io/csi: %s: driver name %s not found in the list of registered CSI drivers",
        who, source_of(operation)->driver);
}

static void
add_call(const Kubelet *self, Plan *plan, const PendingOperation *operation, CsiRequest request)
{
    request.served_by = self->base.node_name;
    request.timeout_ns = CALL_TIMEOUT;
    plan_call(plan, driver_of(self, operation), &request, PLAN_DECIDE);
}

/* CSI-12: asked before nearly every call, never remembered. */
static void
add_capabilities(const Kubelet *self, Plan *plan, const PendingOperation *operation)
{
    add_call(self, plan, operation, (CsiRequest){.method = CSI_NODE_GET_CAPABILITIES});
}

static void
add_get_attachment(Plan *plan, const PendingOperation *operation)
{
    if (operation->volume->attachable)
        plan_get(plan, operation->volume->attachment, PLAN_DECIDE);
}

/* The publish context, from the VolumeAttachment that the step before read. */
static const StringMap *
publish_context(const Plan *plan, const PendingOperation *operation)
{
    if (!operation->volume->attachable)
        return NULL;
    return ((const Attachment *)plan_object(plan, plan_last_step(plan)))->metadata;
}

/* What the driver can do, from the NodeGetCapabilities before that. */
static CsiNodeCapabilities
capabilities(const Plan *plan, const PendingOperation *operation)
{
    int step = plan_last_step(plan) - (operation->volume->attachable ? 1 : 0);

    return plan_response(plan, step)->node_capabilities;
}

/* KVM-42: the first of the volume's access modes, in the order in which they are kept. */
static CsiCapability
volume_capability(const PendingOperation *operation, CsiNodeCapabilities can)
{
    const Volume *volume = pv_of(operation);
    CsiCapability capability = {
        .mode = CSI_SINGLE_NODE_WRITER,
        .type = is_block(operation) ? CSI_ACCESS_BLOCK : CSI_ACCESS_MOUNT,
        .fs_type = is_block(operation) ? NULL : volume->source->fs_type,
    };

    for (unsigned i = 0; i < G_N_ELEMENTS(access_modes); i++) {
        if ((volume->access_modes & access_modes[i].mode) == 0)
            continue;
        capability.mode = can & CSI_NODE_SINGLE_NODE_MULTI_WRITER ? access_modes[i].multi
                                                                  : access_modes[i].single;
        break;
    }
    return capability;
}

/* KVM-42, KVM-57. */
static const char *
make_staging_path(const Kubelet *self, const Volume *volume)
{
    const VolumeSource *source = volume->source;

    if (volume->volume_mode == VOLUME_BLOCK)
        return strings_internf(self->base.strings,
                               KUBELET_DIR "/plugins/kubernetes.io/csi/volumeDevices/staging/%s",
                               volume->meta.key->name);
    g_autofree char *sum = g_compute_checksum_for_string(G_CHECKSUM_SHA256, source->handle, -1);
    return strings_internf(self->base.strings,
                           KUBELET_DIR "/plugins/kubernetes.io/csi/%s/%s/globalmount",
                           source->driver, sum);
}

static const char *
make_target_path(const Kubelet *self, const Volume *volume, const PodWorker *worker)
{
    const char *name = volume->meta.key->name;
    char uid[OBJECT_UID_BUFFER];

    object_uid_format(worker->uid, uid);
    if (volume->volume_mode == VOLUME_BLOCK)
        return strings_internf(self->base.strings,
                               KUBELET_DIR "/plugins/kubernetes.io/csi/volumeDevices/publish/%s/%s",
                               name, uid);
    return strings_internf(self->base.strings,
                           KUBELET_DIR "/pods/%s/volumes/kubernetes.io~csi/%s/mount", uid, name);
}

/* KVM-43: podInfoOnMount. Returns: (owned): NULL: the volume's own context will do */
static StringMap *
make_context(const Kubelet *self, const NodeVolume *volume, const PodWorker *worker)
{
    const VolumeSource *source = VOLUME_CONST(volume->pv)->source;
    const ObjectKey *key =
        objects_find_key(self->base.objects, KIND_CSI_DRIVER, NULL, source->driver);
    const Object *driver = key == NULL ? NULL : informer_get(self->drivers, key);
    const StringMap *attributes = source->attributes;
    unsigned n = attributes == NULL ? 0 : attributes->n_pairs;
    Strings *strings = self->base.strings;
    char uid[OBJECT_UID_BUFFER];

    if (driver == NULL || !((const CsiDriverObject *)driver)->pod_info_on_mount)
        return NULL;
    StringPair info[] = {
        {"csi.storage.k8s.io/pod.name",      worker->key->name            },
        {"csi.storage.k8s.io/pod.namespace", worker->key->namespace       },
        {"csi.storage.k8s.io/pod.uid",       object_uid_format(worker->uid, uid)},
        {"csi.storage.k8s.io/serviceAccount.name",                                  "default"                       },
        {"csi.storage.k8s.io/ephemeral",                                  "false"          },
    };
    g_autofree StringPair *pairs = g_new(StringPair, n + G_N_ELEMENTS(info));
    for (unsigned i = 0; i < n; i++)
        pairs[i] = attributes->pairs[i];
    for (unsigned i = 0; i < G_N_ELEMENTS(info); i++)
        pairs[n + i] = (StringPair){strings_intern(strings, info[i].key),
                                    strings_intern(strings, info[i].value)};
    return string_map_new(pairs, n + G_N_ELEMENTS(info));
}

/* ---- Mount: KVM-41 ---- */

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
    add_change(plan, CHANGE_MOUNT, operation, MOUNT_DONE);
}

/* KVM-45: a block volume tells that it is there, a filesystem does not. */
static void
add_mapped_events(Plan *plan, const PendingOperation *operation)
{
    const Object *pod = operation->target->worker->pod;
    const char *name = object_name(operation->volume->pv);
    char uid[OBJECT_UID_BUFFER];

    if (!is_block(operation))
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

/* KVM-15: a final error takes back what was uncertain, but not what another kubelet may have done (KVM-61). */
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
    if (has_failed(plan)) {
        plan_because(plan, "KVM-15");
        if (operation->target->state != MOUNT_DONE) /* else a remount (KVM-52): still wanted */
            add_change(plan, CHANGE_MOUNT, operation,
                       state_after_error(plan, operation->target->rebuilt));
        add_failure(plan, operation, words_of(operation)->set_up,
                    plan_message(plan, plan_last_step(plan)));
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

    if (has_failed(plan)) {
        plan_because(plan, "KVM-43");
        add_failure(plan, operation, words_of(operation)->set_up,
                    plan_message(plan, plan_last_step(plan)));
        return;
    }
    CsiNodeCapabilities can = capabilities(plan, operation);
    CsiCapability capability = volume_capability(operation, can);
    gboolean staged = (can & CSI_NODE_STAGE_UNSTAGE_VOLUME) != 0 || is_block(operation);
    CsiRequest request = {
        .method = CSI_NODE_PUBLISH_VOLUME,
        .volume_id = source_of(operation)->handle,
        .capabilities = &capability,
        .n_capabilities = 1,
        .staging_path = staged ? operation->volume->staging_path : NULL,
        .target_path = mount->target_path,
        .readonly = mount->spec->read_only || source_of(operation)->read_only,
        .publish_context = publish_context(plan, operation),
        .volume_context =
            mount->context != NULL ? mount->context : source_of(operation)->attributes,
    };
    plan_because(plan, "KVM-43");
    add_capabilities(self, plan, operation);
    add_capabilities(self, plan, operation);
    add_change(plan, CHANGE_DIRECTORY, operation, MOUNT_NONE);
    add_call(self, plan, operation, request);
    plan_then(plan, decide_published);
}

/* Step 6. */
static void
add_set_up(const Kubelet *self, Plan *plan, const PendingOperation *operation)
{
    plan_because(plan, "KVM-43");
    if (!is_csi(operation)) {
        add_change(plan, CHANGE_DIRECTORY, operation, MOUNT_NONE);
        plan_wait(plan, MOUNT_CALL, WAIT_RUNTIME);
        add_mounted(plan, operation);
        return;
    }
    if (driver_of(self, operation) == NULL) {
        add_failure(plan, operation, words_of(operation)->set_up,
                    not_registered(plan, operation, "mounter.SetUpAt failed to get CSI client"));
        return;
    }
    add_capabilities(self, plan, operation);
    add_get_attachment(plan, operation);
    plan_then(plan, decide_publish);
}

static void
decide_staged(const void *data, Plan *plan)
{
    const Kubelet *self = data;
    const PendingOperation *operation = plan_operation(plan);

    if (has_failed(plan)) {
        plan_because(plan, "KVM-15");
        add_change(plan, CHANGE_DEVICE, operation,
                   state_after_error(plan, operation->volume->rebuilt));
        add_failure(plan, operation, words_of(operation)->device,
                    plan_message(plan, plan_last_step(plan)));
        return;
    }
    add_change(plan, CHANGE_DEVICE, operation, MOUNT_DONE);
    add_set_up(self, plan, operation);
}

static void
decide_stage(const void *data, Plan *plan)
{
    const Kubelet *self = data;
    const PendingOperation *operation = plan_operation(plan);

    plan_because(plan, "KVM-42");
    if (has_failed(plan)) {
        add_failure(plan, operation, words_of(operation)->device,
                    plan_message(plan, plan_last_step(plan)));
        return;
    }
    CsiNodeCapabilities can = capabilities(plan, operation);
    if ((can & CSI_NODE_STAGE_UNSTAGE_VOLUME) == 0) { /* the driver mounts in one go */
        add_change(plan, CHANGE_DEVICE, operation, MOUNT_DONE);
        add_set_up(self, plan, operation);
        return;
    }
    CsiCapability capability = volume_capability(operation, can);
    CsiRequest request = {
        .method = CSI_NODE_STAGE_VOLUME,
        .volume_id = source_of(operation)->handle,
        .capabilities = &capability,
        .n_capabilities = 1,
        .staging_path = operation->volume->staging_path,
        .publish_context = publish_context(plan, operation),
        .volume_context = source_of(operation)->attributes,
    };
    add_capabilities(self, plan, operation);
    add_capabilities(self, plan, operation);
    add_call(self, plan, operation, request);
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
    if (!is_csi(operation)) {
        plan_wait(plan, MOUNT_CALL, WAIT_RUNTIME);
        add_change(plan, CHANGE_DEVICE, operation, MOUNT_DONE);
        add_set_up(self, plan, operation);
        return;
    }
    if (driver_of(self, operation) == NULL) { /* transient: what was, is (KVM-15) */
        plan_because(plan, "REG-28");
        add_failure(plan, operation, words_of(operation)->device,
                    not_registered(plan, operation,
                                   "attacher.MountDevice failed to create newCsiDriverClient"));
        return;
    }
    add_capabilities(self, plan, operation);
    add_get_attachment(plan, operation);
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
                            source_of(operation)->handle, name, plan_message(plan, step));
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
    if (pv_of(operation)->access_modes != ACCESS_RWOP)
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

    return node == NULL || node_selector_matches(pv_of(operation)->node_affinity, node->labels,
                                                 self->base.node_name);
}

static void
decide_mount(const void *data, Plan *plan)
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
    if (is_csi(operation) && operation->volume->attachable) {
        plan_because(plan, "KVM-41.4");
        add_get_attachment(plan, operation);
        plan_then(plan, decide_attached);
        return;
    }
    add_mount_device(self, plan, operation);
}

/* ---- Verify: KVM-36 ---- */

static void
decide_verified(const void *data, Plan *plan)
{
    const Kubelet *self = data;
    const PendingOperation *operation = plan_operation(plan);
    int step = plan_last_step(plan);

    (void)self;
    if (has_failed(plan)) {
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

static void
decide_verify(const void *data, Plan *plan)
{
    const Kubelet *self = data;
    const PendingOperation *operation = plan_operation(plan);

    plan_because(plan, "KVM-36");
    if (!operation->volume->size_known)
        plan_get(plan, pv_of(operation)->claim_ref.claim, PLAN_DECIDE);
    if (operation->volume->attachable)
        plan_get(plan, self->node_key, PLAN_DECIDE);
    if (operation->volume->size_known && !operation->volume->attachable)
        add_change(plan, CHANGE_IN_ACTUAL, operation, MOUNT_NONE);
    else
        plan_then(plan, decide_verified);
}

/* ---- Unmount: KVM-47, KVM-48 ---- */

static void
decide_unpublished(const void *self, Plan *plan)
{
    const PendingOperation *operation = plan_operation(plan);

    (void)self;
    if (has_failed(plan)) {
        plan_because(plan, "KVM-16");
        add_change(plan, CHANGE_MOUNT, operation, MOUNT_UNCERTAIN);
        plan_fail(plan, "UnmountVolume.TearDown failed: %s",
                  plan_message(plan, plan_last_step(plan)));
        return;
    }
    add_change(plan, CHANGE_MOUNT, operation, MOUNT_NONE);
}

static void
decide_unmount(const void *data, Plan *plan)
{
    const Kubelet *self = data;
    const PendingOperation *operation = plan_operation(plan);

    plan_because(plan, "KVM-47");
    if (!is_csi(operation)) {
        plan_wait(plan, MOUNT_CALL, WAIT_RUNTIME);
        add_change(plan, CHANGE_MOUNT, operation, MOUNT_NONE);
        return;
    }
    if (driver_of(self, operation) == NULL) {
        plan_because(plan, "KVM-16");
        add_change(plan, CHANGE_MOUNT, operation, MOUNT_UNCERTAIN);
        plan_fail(plan, "%s",
                  not_registered(plan, operation, "Unmounter.TearDownAt failed to get CSI client"));
        return;
    }
    CsiRequest request = {
        .method = CSI_NODE_UNPUBLISH_VOLUME,
        .volume_id = source_of(operation)->handle,
        .target_path = operation->target->target_path,
    };
    add_call(self, plan, operation, request);
    plan_then(plan, decide_unpublished);
}

static void
decide_unstaged(const void *self, Plan *plan)
{
    const PendingOperation *operation = plan_operation(plan);

    (void)self;
    if (has_failed(plan)) {
        plan_because(plan, "KVM-16");
        add_change(plan, CHANGE_DEVICE, operation, MOUNT_UNCERTAIN);
        plan_fail(plan, "UnmountDevice failed: %s", plan_message(plan, plan_last_step(plan)));
        return;
    }
    add_change(plan, CHANGE_DEVICE, operation, MOUNT_NONE);
}

static void
decide_unstage(const void *data, Plan *plan)
{
    const Kubelet *self = data;
    const PendingOperation *operation = plan_operation(plan);
    CsiRequest request = {
        .method = CSI_NODE_UNSTAGE_VOLUME,
        .volume_id = source_of(operation)->handle,
        .staging_path = operation->volume->staging_path,
    };

    if (!has_failed(plan) && (plan_response(plan, plan_last_step(plan))->node_capabilities &
                              CSI_NODE_STAGE_UNSTAGE_VOLUME) != 0) {
        add_call(self, plan, operation, request);
        plan_then(plan, decide_unstaged);
        return;
    }
    decide_unstaged(self, plan);
}

static void
decide_unmount_device(const void *data, Plan *plan)
{
    const Kubelet *self = data;
    const PendingOperation *operation = plan_operation(plan);

    plan_because(plan, "KVM-48");
    if (!is_csi(operation)) {
        plan_wait(plan, MOUNT_CALL, WAIT_RUNTIME);
        add_change(plan, CHANGE_DEVICE, operation, MOUNT_NONE);
        return;
    }
    if (driver_of(self, operation) == NULL) {
        plan_because(plan, "KVM-16");
        add_change(plan, CHANGE_DEVICE, operation, MOUNT_UNCERTAIN);
        plan_fail(plan, "%s",
                  not_registered(plan, operation,
                                 "attacher.UnmountDevice failed to create newCsiDriverClient"));
        return;
    }
    add_capabilities(self, plan, operation);
    plan_then(plan, decide_unstage);
}

/* ---- Expansion: steps for volume-expansion.c ---- */

gboolean
volume_operation_has_driver(const Kubelet *self, const PendingOperation *operation)
{
    return driver_of(self, operation) != NULL;
}

void
volume_operation_add_capabilities(const Kubelet *self,
                                  Plan *plan,
                                  const PendingOperation *operation)
{
    add_capabilities(self, plan, operation);
}

/* KVM-55. */
void
volume_operation_add_expand(const Kubelet *self,
                            Plan *plan,
                            const PendingOperation *operation,
                            CsiNodeCapabilities can,
                            int64_t bytes)
{
    CsiCapability capability = volume_capability(operation, can);
    gboolean staged = (can & CSI_NODE_STAGE_UNSTAGE_VOLUME) != 0;
    CsiRequest request = {
        .method = CSI_NODE_EXPAND_VOLUME,
        .volume_id = source_of(operation)->handle,
        .required_bytes = bytes,
        .capabilities = &capability,
        .n_capabilities = 1,
        .target_path = operation->target->target_path,
        .staging_path = staged ? operation->volume->staging_path : NULL,
        .has_secrets = volume_source_secret(source_of(operation), SECRET_NODE_EXPAND) != NULL,
    };

    add_call(self, plan, operation, request);
}

/* ---- Entries and their back-off: OP-1 to OP-6 ---- */

static gboolean
keys_match(const PodMount *a, const PodMount *b)
{
    return a == b || a == NULL || b == NULL;
}

gboolean
volume_operation_is_pending(const NodeVolume *volume, const PodMount *mount)
{
    for (const PendingOperation *entry = volume->operations; entry != NULL; entry = entry->next) {
        if (entry->running && keys_match(entry->key, mount))
            return TRUE;
    }
    return FALSE;
}

gboolean
volume_operation_works_on(const NodeVolume *volume, const PodMount *mount)
{
    for (const PendingOperation *entry = volume->operations; entry != NULL; entry = entry->next) {
        if (entry->running && entry->target == mount)
            return TRUE;
    }
    return FALSE;
}

/* A match that runs wins, then an equal key, then the first match. */
static PendingOperation *
find_entry(const NodeVolume *volume, const PodMount *key)
{
    PendingOperation *exact = NULL, *first = NULL;

    for (PendingOperation *entry = volume->operations; entry != NULL; entry = entry->next) {
        if (!keys_match(entry->key, key))
            continue;
        if (entry->running)
            return entry;
        if (entry->key == key && exact == NULL)
            exact = entry;
        if (first == NULL)
            first = entry;
    }
    return exact != NULL ? exact : first;
}

static PendingOperation *
new_entry(NodeVolume *volume, OperationName name)
{
    PendingOperation *entry = g_new0(PendingOperation, 1), **end = &volume->operations;

    while (*end != NULL)
        end = &(*end)->next;
    *end = entry;
    entry->volume = volume;
    entry->name = name;
    return entry;
}

static void
remove_entry(PendingOperation *entry)
{
    PendingOperation **place = &entry->volume->operations;

    while (*place != entry)
        place = &(*place)->next;
    *place = entry->next;
    g_free(entry);
}

void
volume_operation_forget(NodeVolume *volume, const PodMount *mount)
{
    PendingOperation *next;

    for (PendingOperation *entry = volume->operations; entry != NULL; entry = next) {
        next = entry->next;
        if (!entry->running && entry->key == mount)
            remove_entry(entry);
        else if (entry->target == mount && !entry->running)
            entry->target = NULL;
    }
}

static void
retry_fired(Sim *sim, void *data)
{
    NodeVolume *volume = data;

    (void)sim;
    volume->retry = 0;
    volume_manager_due(volume);
}

static const SimEventType retry_event = {
    .name = "kubelet/volume operation may be tried again",
    .fire = retry_fired,
};

/* The reconciler finds the back-off running at every pass until it is over: it need look only then. */
static void
retry_later(Kubelet *self, NodeVolume *volume, const PendingOperation *entry)
{
    SimTime until = entry->failed_at + entry->backoff + 1; /* OP-5: more than the delay */

    sim_cancel(self->base.sim, volume->retry);
    volume->retry = sim_at(self->base.sim, MAX(until, sim_now(self->base.sim)), &retry_event,
                           volume, WAIT_BACKOFF);
}

static void
operation_done(void *data, Plan *plan, PlanEnd end, const char *message)
{
    Kubelet *self = data;
    PendingOperation *entry = plan_operation(plan);
    NodeVolume *volume = entry->volume;
    PodMount *target = entry->target;

    (void)message;
    entry->running = FALSE;
    entry->target = NULL;
    if (end == PLAN_DONE) {
        remove_entry(entry);
    } else {
        entry->failed_at = sim_now(self->base.sim);
        entry->backoff = entry->backoff == 0 ? BACKOFF_FIRST : MIN(2 * entry->backoff, BACKOFF_MAX);
    }
    volume_manager_due(volume);
    if (target != NULL)
        volume_manager_released(target);
    volume_manager_maybe_free(volume);
}

static void
start_operation(Kubelet *self,
                NodeVolume *volume,
                const PodMount *key,
                PodMount *target,
                OperationName name,
                PlanDecide decide)
{
    PendingOperation *entry = find_entry(volume, key);
    PlanStart start = {
        .component = &self->base,
        .decide = decide,
        .key = target != NULL
                   ? target->worker->key
                   : objects_key_at(self->base.objects, KIND_VOLUME, volume->pv->key->slot),
        .done = operation_done,
    };

    if (entry != NULL && entry->running)
        return;
    if (entry != NULL && sim_now(self->base.sim) - entry->failed_at <= entry->backoff) {
        if (entry->name == name) {
            retry_later(self, volume, entry);
            return;
        }
        entry->name = name; /* OP-2: another operation starts afresh */
        entry->backoff = 0;
    }
    if (entry == NULL)
        entry = new_entry(volume, name);
    entry->key = key;
    entry->target = target;
    entry->running = TRUE;
    start.operation = entry;
    plan_start(&start);
}

void
volume_operation_verify(Kubelet *self, NodeVolume *volume)
{
    start_operation(self, volume, NULL, NULL, OPERATION_VERIFY, decide_verify);
}

/* What an operation needs and does not change; also after the import of a mounted volume. */
static void
prepare_device(Kubelet *self, NodeVolume *volume)
{
    const Volume *pv = VOLUME_CONST(volume->pv);

    if (!volume_plugin_is_csi(volume->plugin))
        return;
    if (volume->attachable && volume->attachment == NULL)
        volume->attachment = volume_attachment_key(self->base.objects, pv->source->driver,
                                                   pv->source->handle, self->base.node_name);
    if (volume->staging_path == NULL)
        volume->staging_path = make_staging_path(self, pv);
}

static void
prepare_mount(Kubelet *self, NodeVolume *volume, PodMount *mount)
{
    prepare_device(self, volume);
    if (mount->target_path != NULL || !volume_plugin_is_csi(volume->plugin))
        return;
    mount->target_path = make_target_path(self, VOLUME_CONST(volume->pv), mount->worker);
    mount->context = make_context(self, volume, mount->worker);
}

void
volume_operation_mount(Kubelet *self, NodeVolume *volume, PodMount *mount)
{
    gboolean shared = volume->attachable || volume->plugin->device_mountable; /* KVM-39 */

    prepare_mount(self, volume, mount);
    start_operation(self, volume, shared ? NULL : mount, mount, OPERATION_MOUNT, decide_mount);
}

void
volume_operation_unmount(Kubelet *self, NodeVolume *volume, PodMount *mount)
{
    prepare_mount(self, volume, mount);
    start_operation(self, volume, mount, mount, OPERATION_UNMOUNT, decide_unmount);
}

void
volume_operation_unmount_device(Kubelet *self, NodeVolume *volume)
{
    prepare_device(self, volume);
    start_operation(self, volume, NULL, NULL, OPERATION_UNMOUNT_DEVICE, decide_unmount_device);
}

/* RSZ-51. */
void
volume_operation_expand(Kubelet *self, NodeVolume *volume, PodMount *mount)
{
    prepare_mount(self, volume, mount);
    start_operation(self, volume, NULL, mount, OPERATION_EXPAND, volume_expansion_decide);
}
