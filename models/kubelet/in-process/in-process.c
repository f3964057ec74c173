/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Volumes of plugins within the kubelet whose work a driver of the run does: in-tree plugins and
 * FlexVolume (INT-20, INT-21). It finds the plugin of a volume for this node's release, fills the
 * request of an operation from the volume and the pod's mount, and hands both to
 * models/volume/in-process.c, which makes the calls. A volume without a driver of the run takes
 * one system call.
 *
 * The kubelet and the attach/detach controller remember apart what a FlexVolume driver does not
 * support, as two processes do (FLX-23). */
#include "in-process.h"

#include "models/api/migration/migration.h"

#include <string.h>

const Object *
kubelet_volume_seen(const Kubelet *self, const Object *pv)
{
    const VolumeSource *source = pv == NULL ? NULL : VOLUME_CONST(pv)->source;

    if (source == NULL || source->origin == NULL ||
        in_tree_plugin_is_migrated(source->in_tree, kubelet_release(self)))
        return pv == NULL ? NULL : object_ref(pv);
    Object *seen = object_edit(pv); /* MIG-80 */
    VolumeSource *origin = volume_source_ref(source->origin);
    volume_source_unref(VOLUME(seen)->source);
    VOLUME(seen)->source = origin;
    return seen;
}

Object *
kubelet_inline_volume(const Kubelet *self, const Object *pod, const PodVolume *volume)
{
    return volume->source->is_inline
               ? csi_spec_inline_volume(&self->base, pod, volume)
               : pod_volume_as_volume(self->base.objects, volume, kubelet_release(self));
}

/* INT-20. NULL: a system call of the kubelet's own */
static CsiDriver *
backend_of(const Kubelet *self, const NodeVolume *volume, gboolean *attaches)
{
    *attaches = FALSE;
    return volume->pv == NULL
               ? NULL
               : cluster_backend(self->base.cluster,
                                 volume_in_process_source(VOLUME_CONST(volume->pv)), attaches);
}

static gboolean
lacks_flex_driver(const Kubelet *self, const VolumeSource *source)
{
    return source != NULL && source->flex_driver != NULL &&
           !cluster_has_flex_driver(self->base.cluster, source->flex_driver, self->base.node_name);
}

gboolean
in_process_has_plugin(const Kubelet *self, const VolumeSource *source)
{
    const VolumePlugin *plugin = volume_plugin_find(source);

    return plugin != NULL && !volume_plugin_is_gone(plugin, kubelet_release(self)) &&
           !lacks_flex_driver(self, source);
}

const VolumePlugin *
in_process_plugin(const Kubelet *self, const VolumeSource *source)
{
    gboolean attaches;

    if (source != NULL && source->flex_driver != NULL &&
        cluster_backend(self->base.cluster, source, &attaches) != NULL && !attaches)
        return &volume_plugin_flex_mounts_only;
    return volume_plugin_find(source);
}

gboolean
in_process_is_attachable(const Kubelet *self,
                         const VolumePlugin *plugin,
                         const VolumeSource *source)
{
    gboolean attaches;

    if (cluster_backend(self->base.cluster, source, &attaches) == NULL)
        return volume_plugin_is_attachable(plugin, NULL);
    return plugin->attachable && attaches;
}

/* FLX-32, and its like for in-tree plugins. Interned */
static const char *
device_path(const Kubelet *self, const NodeVolume *volume)
{
    return strings_internf(self->base.strings, "/var/lib/kubelet/plugins/%s/mounts/%s",
                           volume->plugin->name, object_name(volume->pv));
}

static const char *
mount_path(const Kubelet *self, const PendingOperation *operation)
{
    char uid[OBJECT_UID_BUFFER];
    g_autofree char *plugin = g_strdelimit(g_strdup(operation->volume->plugin->name), "/", '~');

    return operation->target == NULL
               ? NULL
               : strings_internf(self->base.strings, "/var/lib/kubelet/pods/%s/volumes/%s/%s",
                                 object_uid_format(operation->target->worker->uid, uid), plugin,
                                 object_name(operation->volume->pv));
}

static void
add_wait(const Kubelet *self, Plan *plan, CsiPluginThen then)
{
    const CsiPluginResult done = {.end = CSI_PLUGIN_DONE};

    plan_wait(plan, MOUNT_CALL, WAIT_RUNTIME);
    then(self, plan, &done);
}

static void
in_process_finish(const void *data, Plan *plan, const InProcessResult *result)
{
    const Kubelet *self = data;
    CsiPluginThen then = (CsiPluginThen)result->after;
    const CsiPluginResult failed = {
        .end = CSI_PLUGIN_FAILED, .error = result->error, .code = result->code};
    const CsiPluginResult done = {.end = CSI_PLUGIN_DONE};

    plan_because(plan, "INT-21");
    if (result->error == NULL && result->by_default)
        add_wait(self, plan, then);
    else
        then(self, plan, result->error == NULL ? &done : &failed);
}

static void
kubelet_in_process_begin(
    const Kubelet *self, Plan *plan, FlexOperation operation, int64_t bytes, CsiPluginThen then)
{
    const PendingOperation *pending = plan_operation(plan);
    const NodeVolume *volume = pending->volume;
    const Volume *pv = VOLUME_CONST(volume->pv);
    gboolean attaches;
    CsiDriver *driver = backend_of(self, volume, &attaches);
    CsiCapability capability = {
        .mode = in_process_volume_mode(pv),
        .type = pv->volume_mode == VOLUME_BLOCK ? CSI_ACCESS_BLOCK : CSI_ACCESS_MOUNT,
    };

    if (lacks_flex_driver(self, volume_in_process_source(pv))) {
        const CsiPluginResult failed = {.end = CSI_PLUGIN_FAILED,
                                        .error = "no volume plugin matched"};
        plan_because(plan, "FLX-45");
        then(self, plan, &failed);
        return;
    }
    if (driver == NULL) {
        add_wait(self, plan, then);
        return;
    }
    const char *flex_driver = volume_in_process_source(pv)->flex_driver;
    in_process_begin(
        self, plan,
        &(InProcessWork){
            .driver = driver,
            .flex_driver = flex_driver,
            .flex_changes = flex_driver == NULL
                                ? 0
                                : cluster_flex_driver_changes(self->base.cluster, flex_driver,
                                                              self->base.node_name),
            .operation = operation,
            .waits_for_attach = attaches,
            .known = self->flex_drivers,
            .note = CHANGE_FLEX_KNOWN,
            .request = {.served_by = self->base.node_name,
                        .node_id = self->base.node_name,
                        .volume_id = volume_backend_id(pv),
                        .required_bytes = bytes,
                        .staging_path = volume->plugin->device_mountable ? device_path(self, volume)
                                                                         : NULL, /* INT-22 */
                        .target_path = mount_path(self, pending),
                        .capabilities = &capability,
                        .n_capabilities = 1},
            .then = in_process_finish,
            .after = (GCallback)then,
    });
}

void
in_process_plan(const Kubelet *self, Plan *plan, FlexOperation operation, CsiPluginThen then)
{
    kubelet_in_process_begin(self, plan, operation, 0, then);
}

void
in_process_expand(const Kubelet *self, Plan *plan, int64_t bytes, CsiPluginThen then)
{
    plan_because(plan, "INT-41");
    kubelet_in_process_begin(self, plan, FLEX_EXPAND_FILE_SYSTEM, bytes, then);
}
