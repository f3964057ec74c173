/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "operation-executor.h"
#include "plugin-manager.h"
#include "pod-worker.h"

/* Steps of operations on CSI volumes, and the contents of their requests: pkg/volume/csi,
 * csi_client.go and csi_util.go. */

#define CALLS_TIMEOUT (120 * SIM_SECOND) /* KVM-5 */

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

CsiDriver *
csi_steps_driver(const Kubelet *self, const PendingOperation *operation)
{
    return plugin_registration_driver(self, operation_source(operation)->driver);
}

const char *
csi_steps_not_registered(Plan *plan, const PendingOperation *operation, const char *who)
{
    return plan_internf(
        plan,
        "kubernetes.io/csi: %s: driver name %s not found in the list of registered CSI drivers",
        who, operation_source(operation)->driver);
}

/* KVM-5: one deadline for all calls of a function of the plugin, and API requests between them. */
SimTime
csi_steps_begin(Plan *plan, const PendingOperation *operation)
{
    SimTime deadline = plan_now(plan) + CALLS_TIMEOUT;

    plan_change(plan,
                &(PlanChange){.what = CHANGE_DEADLINE, .pointer = operation, .number = deadline});
    return deadline;
}

void
csi_steps_add_call(const Kubelet *self,
                   Plan *plan,
                   const PendingOperation *operation,
                   CsiRequest request,
                   SimTime deadline)
{
    request.served_by = self->base.node_name;
    request.deadline = deadline;
    plan_call(plan, csi_steps_driver(self, operation), &request, PLAN_DECIDE);
}

/* CSI-12: the kubelet asks before nearly every call, and never remembers the answer. */
void
csi_steps_add_capabilities(const Kubelet *self,
                           Plan *plan,
                           const PendingOperation *operation,
                           SimTime deadline)
{
    csi_steps_add_call(self, plan, operation, (CsiRequest){.method = CSI_NODE_GET_CAPABILITIES},
                       deadline);
}

void
csi_steps_add_get_attachment(Plan *plan, const PendingOperation *operation)
{
    if (operation->volume->attachable)
        plan_get(plan, operation->volume->attachment, PLAN_DECIDE);
}

/* The publish context, from the VolumeAttachment that the step before read. */
const StringMap *
csi_steps_publish_context(const Plan *plan, const PendingOperation *operation)
{
    if (!operation->volume->attachable)
        return NULL;
    return ((const Attachment *)plan_object(plan, plan_last_step(plan)))->metadata;
}

/* The driver's capabilities, from the NodeGetCapabilities before that. */
CsiNodeCapabilities
csi_steps_capabilities(const Plan *plan, const PendingOperation *operation)
{
    int step = plan_last_step(plan) - (operation->volume->attachable ? 1 : 0);

    return plan_response(plan, step)->node_capabilities;
}

/* KVM-42: the first of the volume's access modes, in the order in which they are kept. */
CsiCapability
csi_steps_capability(const PendingOperation *operation, CsiNodeCapabilities can)
{
    const Volume *volume = operation_pv(operation);
    CsiCapability capability = {
        .mode = CSI_SINGLE_NODE_WRITER,
        .type = operation_is_block(operation) ? CSI_ACCESS_BLOCK : CSI_ACCESS_MOUNT,
        .fs_type = operation_is_block(operation) ? NULL : volume->source->fs_type,
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
    const CsiDriverObject *driver =
        (const CsiDriverObject *)informer_find(self->drivers, NULL, source->driver);
    const StringMap *attributes = source->attributes;
    unsigned n = attributes == NULL ? 0 : attributes->n_pairs;
    Strings *strings = self->base.strings;
    char uid[OBJECT_UID_BUFFER];

    if (driver == NULL || !driver->pod_info_on_mount)
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

/* Names and paths; also for a volume that was mounted when the cluster was imported. */
void
csi_steps_prepare_device(Kubelet *self, NodeVolume *volume)
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

void
csi_steps_prepare_mount(Kubelet *self, NodeVolume *volume, PodMount *mount)
{
    csi_steps_prepare_device(self, volume);
    if (mount->target_path != NULL || !volume_plugin_is_csi(volume->plugin))
        return;
    mount->target_path = make_target_path(self, VOLUME_CONST(volume->pv), mount->worker);
    mount->context = make_context(self, volume, mount->worker);
}

void
csi_steps_add_expand(const Kubelet *self,
                     Plan *plan,
                     const PendingOperation *operation,
                     CsiNodeCapabilities can,
                     int64_t bytes)
{
    CsiCapability capability = csi_steps_capability(operation, can);
    gboolean staged = (can & CSI_NODE_STAGE_UNSTAGE_VOLUME) != 0;
    CsiRequest request = {
        .method = CSI_NODE_EXPAND_VOLUME,
        .volume_id = operation_source(operation)->handle,
        .required_bytes = bytes,
        .capabilities = &capability,
        .n_capabilities = 1,
        .target_path = operation->target->target_path,
        .staging_path = staged ? operation->volume->staging_path : NULL,
        .has_secrets =
            volume_source_secret(operation_source(operation), SECRET_NODE_EXPAND) != NULL,
    };

    csi_steps_add_call(self, plan, operation, request, operation->deadline);
}
