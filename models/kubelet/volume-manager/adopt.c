/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A kubelet that runs already as the simulation begins: the volumes of its pods are mounted, and
 * the driver has them. No call is made for them; plans that take no time read claims and volumes,
 * put the mounts into both states, and tell the driver as if it had been called (KVM-93 to
 * KVM-95). A volume that the Node has in use and no pod wants is staged and goes with the first
 * pass. */
#include "models/kubelet/csi-plugin/csi-plugin.h"
#include "models/kubelet/in-process/in-process.h"
#include "models/kubelet/measure.h"
#include "operation-executor.h"

/* KVM-94: an attachable volume that the Node does not list has been torn down. */
static gboolean
is_torn_down(const Kubelet *self, const NodeVolume *volume)
{
    return volume->attachable && !string_list_has_interned(self->told_in_use, volume->name);
}

/* ---- What the driver knows of it ---- */

static void
adopt_in_driver(Kubelet *self, const NodeVolume *volume, const PodMount *mount)
{
    const Volume *pv = VOLUME_CONST(volume->pv);
    const VolumeSource *source = pv->source;
    const Pod *pod = mount == NULL ? NULL : POD_CONST(mount->worker->pod);
    g_autoptr(StringMap) context = NULL;
    CsiResponse answer;

    if (!cluster_foresee_node_info(self->base.cluster, source->driver, self->base.node_name,
                                   &answer))
        return;
    const CsiCapability capability = csi_spec_capability(
        self->base.strings, pv, csi_spec_modes(pv),
        csi_spec_node_capabilities(answer.node_capabilities, kubelet_release(self)),
        pod == NULL ? -1 : pod->spec->fs_group);
    CsiRequest request = {.method = CSI_NODE_STAGE_VOLUME,
                          .served_by = self->base.node_name,
                          .volume_id = source->handle,
                          .staging_path = volume->staging_path,
                          .capabilities = &capability,
                          .n_capabilities = 1};
    if (volume->device == MOUNT_NONE)
        request.staging_path = NULL;
    else if ((answer.node_capabilities & CSI_NODE_STAGE_UNSTAGE_VOLUME) != 0)
        cluster_adopt_call(self->base.cluster, source->driver, &request);
    if (mount == NULL)
        return;
    request.method = CSI_NODE_PUBLISH_VOLUME;
    request.target_path = mount->target_path;
    request.readonly = mount->spec->read_only || source->read_only;
    request.volume_context = context =
        csi_spec_context(self->base.strings, source, csi_steps_driver_object(self, source), pod,
                         sim_now(self->base.sim));
    cluster_adopt_call(self->base.cluster, source->driver, &request);
}

static void
is_attached(NodeVolume *volume)
{
    volume->in_actual = volume->size_known = TRUE;
    if (volume->plugin->device_mountable)
        volume->device = MOUNT_DONE;
}

/* ---- The volumes of its pods ---- */

/* KVM-93. The volumes of a pod that was stopped are no longer desired (KVM-94). */
static void
adopt_mount(Kubelet *self, PodMount *mount, const Object *pv, int64_t claim_bytes)
{
    gboolean is_stopped = mount->worker->stopped;
    NodeVolume *volume = volume_manager_add(self, pv, mount);

    if (is_stopped && is_torn_down(self, volume)) {
        volume_manager_maybe_free(volume);
        return;
    }
    if (is_stopped)
        node_volume_link_mount(volume, mount);
    else
        volume_manager_desire(volume, mount);
    kubelet_count_actual(mount, 1);
    mount->state = MOUNT_DONE;
    node_volume_remember_label(volume, mount);
    is_attached(volume);
    volume->actual_bytes = claim_bytes;
    if (is_stopped)
        volume_manager_due(volume);
    else
        volume_expansion_desire(volume, mount);
    volume_directory_add(self, mount);
    if (!volume_plugin_is_csi(volume->plugin))
        return;
    csi_steps_prepare_mount(self, volume, mount);
    adopt_in_driver(self, volume, mount);
}

static void
adopt_decide_volume(const void *self, Plan *plan)
{
    int step = plan_last_step(plan);
    const Object *claim = plan_object(plan, step - 1), *pv = plan_object(plan, step);

    if (in_process_has_plugin(self, VOLUME_CONST(pv)->source))
        plan_change(plan, &(PlanChange){.what = CHANGE_ADOPTED,
                                        .pointer = plan_operation(plan),
                                        .object = pv,
                                        .number = CLAIM_CONST(claim)->capacity_bytes});
}

static void
adopt_decide_claim(const void *data, Plan *plan)
{
    const Kubelet *self = data;
    const Claim *claim = CLAIM_CONST(plan_object(plan, plan_last_step(plan)));

    if (*claim_volume_name(claim) == '\0')
        return;
    plan_get(plan, objects_key(self->base.objects, KIND_VOLUME, NULL, claim_volume_name(claim)),
             PLAN_STOP);
    plan_then(plan, adopt_decide_volume);
}

static void
decide_mount(const void *data, Plan *plan)
{
    const Kubelet *self = data;
    const PodMount *mount = plan_operation(plan);

    if (mount->spec->source != NULL) {
        g_autoptr(Object) volume = kubelet_inline_volume(self, mount->worker->pod, mount->spec);
        if (in_process_has_plugin(self, VOLUME(volume)->source))
            plan_change(plan, &(PlanChange){.what = CHANGE_ADOPTED,
                                            .pointer = mount,
                                            .object = plan_keep(plan, volume)});
        return;
    }
    plan_get(plan, pod_claim_key(self->base.objects, POD_CONST(mount->worker->pod), mount->spec),
             PLAN_STOP);
    plan_then(plan, adopt_decide_claim);
}

static void
adopt_at_once(Kubelet *self, PlanDecide decide, ObjectKey *key, void *what)
{
    plan_start(&(PlanStart){.component = &self->base,
                            .decide = decide,
                            .key = key,
                            .operation = what,
                            .at_once = TRUE});
}

void
volume_manager_adopt(PodWorker *worker)
{
    for (unsigned i = 0; i < worker->n_mounts; i++)
        adopt_at_once(worker->kubelet, decide_mount, worker->key, &worker->mounts[i]);
}

/* ---- The volumes whose pods are gone: KVM-95 ---- */

/* A pod that waits for its volumes begins with them. */
static gboolean
is_awaited(const Kubelet *self, const Volume *pv)
{
    for (unsigned i = 0; i < self->workers->len; i++) {
        const PodWorker *worker = self->workers->pdata[i];
        for (unsigned j = 0; j < worker->n_mounts; j++)
            if (worker->mounts[j].spec->source == NULL &&
                pod_claim_key(self->base.objects, POD_CONST(worker->pod), worker->mounts[j].spec) ==
                    pv->claim_ref.claim)
                return TRUE;
    }
    return FALSE;
}

static void
adopt_device(Kubelet *self, const Object *pv)
{
    if (is_awaited(self, VOLUME_CONST(pv)))
        return;
    volume_manager_ensure(self);
    NodeVolume *volume = volume_manager_add_device(self, pv);
    if (volume == NULL)
        return;
    is_attached(volume);
    csi_steps_prepare_device(self, volume);
    adopt_in_driver(self, volume, NULL);
    volume_manager_due(volume);
}

static void
decide_device_volume(const void *self, Plan *plan)
{
    (void)self;
    plan_change(plan, &(PlanChange){.what = CHANGE_ADOPTED,
                                    .object = plan_object(plan, plan_last_step(plan))});
}

static void
decide_device(const void *data, Plan *plan)
{
    const Kubelet *self = data;
    const Attachment *attachment = (const Attachment *)plan_object(plan, plan_last_step(plan));

    if (attachment->volume_name == NULL || !attachment->attached)
        return;
    plan_get(plan, objects_key(self->base.objects, KIND_VOLUME, NULL, attachment->volume_name),
             PLAN_STOP);
    plan_then(plan, decide_device_volume);
}

static void
decide_attachment(const void *data, Plan *plan)
{
    const Kubelet *self = data;
    g_autofree char *driver = NULL;
    const char *handle = volume_unique_name_parse(plan_operation(plan), &driver);

    if (handle == NULL)
        return;
    plan_get(plan, volume_attachment_key(self->base.objects, driver, handle, self->base.node_name),
             PLAN_STOP);
    plan_then(plan, decide_device);
}

void
volume_manager_adopt_devices(Kubelet *self)
{
    const StringList *names = self->told_in_use;

    for (unsigned i = 0; names != NULL && i < names->n_items; i++)
        adopt_at_once(self, decide_attachment, self->node_key, (void *)names->items[i]);
}

void
volume_manager_apply_adopted(Kubelet *self, const PlanChange *change)
{
    PodMount *mount = (PodMount *)change->pointer;

    if (mount == NULL)
        adopt_device(self, change->object);
    else
        adopt_mount(self, mount, change->object, change->number);
}
