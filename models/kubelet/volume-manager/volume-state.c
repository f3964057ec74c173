/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Desired and actual state of the world in one list of volumes (KVM-12, KVM-13):
 * cache/desired_state_of_world.go and cache/actual_state_of_world.go of pkg/kubelet/volumemanager.
 * The populator changes desired state, operations and the start change actual state, and the
 * reconciler (volume-reconciler.c) acts on the difference.
 *
 * Invariant: a NodeVolume is in the list as long as one of the two states or an operation's
 * back-off has it; a PodMount is linked to it as long as one of the two states or an operation has
 * the mount. Each change makes the volume due and wakes the pods that it may concern, so nobody
 * polls. */
#include "models/kubelet/csi-plugin/csi-plugin.h"
#include "models/kubelet/in-process/in-process.h"
#include "models/kubelet/kubelet-test.h"
#include "models/kubelet/measure.h"
#include "operation-executor.h"

static const CsiDriverObject *
driver_object(const Kubelet *self, const char *driver)
{
    return (const CsiDriverObject *)informer_find(self->drivers, NULL, driver);
}

static const VolumeSource *
volume_source(const NodeVolume *self)
{
    return VOLUME_CONST(self->pv)->source;
}

gboolean
node_volume_requires_remount(const NodeVolume *self)
{
    if (!volume_plugin_is_csi(self->plugin))
        return FALSE;
    const CsiDriverObject *driver = driver_object(self->kubelet, volume_source(self)->driver);
    return driver != NULL && driver->requires_republish;
}

gboolean
node_volume_is_listed(const NodeVolume *self)
{
    const Object *object = informer_get(self->kubelet->nodes, self->kubelet->node_key);

    return object != NULL &&
           string_list_has_interned(((const Node *)object)->volumes_attached, self->name);
}

/* KVM-12: pods share a volume that is attached or staged; any other is the pod's own. @worker:
 * NULL: the volume is only marked as attached, and is named after its source */
static const char *
volume_state_volume_name(const Kubelet *self,
                         const VolumePlugin *plugin,
                         const Object *pv,
                         const PodWorker *worker)
{
    char uid[OBJECT_UID_BUFFER];

    if (plugin->attachable || plugin->device_mountable || worker == NULL)
        return volume_unique_name(self->base.strings, plugin, VOLUME_CONST(pv));
    return strings_internf(self->base.strings, "%s/%s-%s", plugin->name,
                           object_uid_format(worker->uid, uid), object_name(pv));
}

/* ---- SELinux labels: CSP-28 ---- */

static const char *
label_of(const Kubelet *self, const Object *pv, const PodMount *mount)
{
    const VolumeSource *source = VOLUME_CONST(pv)->source;
    const Object *node = informer_get(self->nodes, self->node_key);

    if (!csi_spec_has_selinux(node) || source == NULL || source->driver == NULL ||
        mount->spec->device)
        return strings_intern(self->base.strings, "");
    return csi_spec_label(self->base.strings, node, driver_object(self, source->driver),
                          VOLUME_CONST(pv), POD_CONST(mount->worker->pod)->spec,
                          kubelet_release(self));
}

/* The label that a mount gets. */
static const char *
mount_label(const NodeVolume *self, const char *label)
{
    const Release *release = kubelet_release(self->kubelet);

    return label != NULL && *label != '\0' &&
                   csi_spec_mounts_with_label(VOLUME_CONST(self->pv), release)
               ? label
               : strings_intern(self->kubelet->base.strings, "");
}

void
node_volume_remember_label(NodeVolume *self, const PodMount *mount)
{
    const char *label = mount_label(self, label_of(self->kubelet, self->pv, mount));

    if (self->mounted_label == NULL || *label != '\0')
        self->mounted_label = label;
}

gboolean
node_volume_has_other_label(const NodeVolume *self)
{
    return self->mounted_label != NULL &&
           !strings_same(self->mounted_label, mount_label(self, self->label));
}

char *
volume_manager_label_conflict(const Kubelet *self,
                              const Object *pv,
                              const PodMount *mount,
                              const char **rule)
{
    const VolumePlugin *plugin = in_process_plugin(self, VOLUME_CONST(pv)->source);

    if (mount->desired || !csi_spec_has_selinux(informer_get(self->nodes, self->node_key)))
        return NULL;
    const NodeVolume *volume =
        node_volume_find(self, volume_state_volume_name(self, plugin, pv, mount->worker));
    const char *label = label_of(self, pv, mount);
    if (volume == NULL || volume->n_desired == 0 ||
        csi_spec_compare_labels(VOLUME_CONST(pv), volume->label, label, kubelet_release(self),
                                rule) != CSI_LABELS_CONFLICT)
        return NULL;
    return g_strdup_printf("conflicting SELinux labels of volume %s: \"%s\" and \"%s\"",
                           object_name(pv), volume->label, label);
}

/* Before the mount is desired: the first pod gives the volume its label. */
static void
desire_label(NodeVolume *volume, const PodMount *mount)
{
    const Kubelet *self = volume->kubelet;
    const char *label = label_of(self, volume->pv, mount), *rule;

    if (volume->n_desired == 0) {
        volume->label = label;
        if (*label != '\0')
            kubelet_count_label(self, METRIC_SELINUX_ADMITTED, volume->pv);
    } else if (csi_spec_compare_labels(VOLUME_CONST(volume->pv), volume->label, label,
                                       kubelet_release(self), &rule) != CSI_LABELS_AGREE) {
        kubelet_count_label(self, METRIC_SELINUX_WARNINGS, volume->pv);
    }
}

/* ---- Volumes ---- */

NodeVolume *
node_volume_find(const Kubelet *self, const char *name)
{
    for (unsigned i = 0; i < self->volume_manager->volumes->len; i++) {
        NodeVolume *volume = self->volume_manager->volumes->pdata[i];
        if (strings_same(volume->name, name))
            return volume;
    }
    return NULL;
}

static NodeVolume *
new_volume(Kubelet *self, const char *name, const VolumePlugin *plugin)
{
    NodeVolume *volume = g_new0(NodeVolume, 1);

    volume->kubelet = self;
    volume->name = name;
    volume->hash = sim_hash_string(name);
    volume->plugin = plugin;
    g_ptr_array_add(self->volume_manager->volumes, volume);
    return volume;
}

NodeVolume *
volume_manager_add(Kubelet *self, const Object *pv, const PodMount *mount)
{
    const VolumeSource *source = VOLUME_CONST(pv)->source;
    const VolumePlugin *plugin = in_process_plugin(self, source);
    NodeVolume *volume = mount->volume;

    if (volume == NULL) {
        const char *name = volume_state_volume_name(self, plugin, pv, mount->worker);
        volume = node_volume_find(self, name);
        if (volume == NULL)
            volume = new_volume(self, name, plugin);
    }
    const Object *before = volume->pv;
    volume->pv = object_ref(pv); /* KVM-25: the newest */
    object_unref(before);
    if (volume->n_desired == 0 && !volume->in_actual)
        volume->attachable =
            volume_plugin_is_csi(plugin)
                ? volume_plugin_is_attachable(plugin, driver_object(self, source->driver))
                : in_process_is_attachable(self, plugin, source);
    return volume;
}

NodeVolume *
volume_manager_add_device(Kubelet *self, const Object *pv)
{
    const VolumeSource *source = VOLUME_CONST(pv)->source;
    const VolumePlugin *plugin = in_process_plugin(self, source);
    const char *name = plugin == NULL ? NULL : volume_state_volume_name(self, plugin, pv, NULL);

    if (name == NULL || node_volume_find(self, name) != NULL)
        return NULL;
    NodeVolume *volume = new_volume(self, name, plugin);
    volume->pv = object_ref(pv);
    volume->attachable = volume_plugin_is_attachable(plugin, driver_object(self, source->driver));
    return volume;
}

void
node_volume_free(void *data)
{
    NodeVolume *self = data;

    sim_cancel(self->kubelet->base.sim, self->retry);
    informer_free(self->pv_informer);
    while (self->operations != NULL) {
        PendingOperation *operation = self->operations;
        self->operations = operation->next;
        g_free(operation);
    }
    object_unref(self->pv);
    g_free(self);
}

/* OP-6: a failed operation keeps its back-off, even if no pod wants the volume. */
void
volume_manager_maybe_free(NodeVolume *self)
{
    Kubelet *kubelet = self->kubelet;

    if (self->mounts != NULL || self->in_actual || self->operations != NULL)
        return;
    if (self->due)
        g_ptr_array_remove(kubelet->volume_manager->due, self);
    g_ptr_array_remove(kubelet->volume_manager->volumes, self); /* which frees it */
}

void
volume_manager_due(NodeVolume *self)
{
    Kubelet *kubelet = self->kubelet;

    if (!self->due) {
        self->due = TRUE;
        g_ptr_array_add(kubelet->volume_manager->due, self);
    }
    self->due_by = sim_cause(kubelet->base.sim);
    sim_ticker_wake(kubelet->volume_manager->reconciler);
}

void
node_volume_link_mount(NodeVolume *volume, PodMount *mount)
{
    PodMount **end = &volume->mounts;

    while (*end != NULL)
        end = &(*end)->next;
    *end = mount;
    mount->next = NULL;
    mount->volume = volume;
}

/* Once neither state has the mount. */
static void
unlink_mount(PodMount *mount)
{
    NodeVolume *volume = mount->volume;
    PodMount **place = &volume->mounts;

    if (mount->desired || mount->state != MOUNT_NONE || volume_operation_works_on(volume, mount))
        return;
    while (*place != mount)
        place = &(*place)->next;
    *place = mount->next;
    mount->volume = NULL;
    volume_operation_forget(volume, mount);
}

/* KVM-23, KVM-25. */
void
volume_manager_desire(NodeVolume *volume, PodMount *mount)
{
    if (mount->volume == NULL)
        node_volume_link_mount(volume, mount);
    if (mount->desired)
        return;
    desire_label(volume, mount);
    if (volume->n_desired++ == 0)
        volume->reported_in_use =
            string_list_has_interned(volume->kubelet->told_in_use, volume->name);
    mount->desired = TRUE;
    kubelet_count_desired(mount, 1);
    mount->desired_at = sim_now(volume->kubelet->base.sim);
    volume->wanted_by = sim_cause(volume->kubelet->base.sim);
    if (volume->attachable && !volume->reported_in_use)
        kubelet_status_changed(volume->kubelet);
    volume_manager_due(volume);
    pod_worker_wake(mount->worker);
}

void
volume_manager_undesire(PodMount *mount)
{
    NodeVolume *volume = mount->volume;

    mount->desired = FALSE;
    kubelet_count_desired(mount, -1);
    mount->remount_required = FALSE;
    volume->n_desired--;
    if (volume->n_desired == 0 && volume->attachable && !volume->in_actual)
        kubelet_status_changed(volume->kubelet);
    unlink_mount(mount);
    if (volume->in_actual)
        volume_manager_due(volume);
    else
        volume_manager_maybe_free(volume);
}

/* The driver no longer needs attaching. The opposite change is ignored, as in Kubernetes. */
void
volume_manager_check_attachable(Kubelet *self)
{
    for (unsigned i = 0; i < self->volume_manager->volumes->len; i++) {
        NodeVolume *volume = self->volume_manager->volumes->pdata[i];
        if (!volume->attachable || volume->n_desired == 0 ||
            !volume_plugin_is_csi(volume->plugin) ||
            volume_plugin_is_attachable(volume->plugin,
                                        driver_object(self, volume_source(volume)->driver)))
            continue;
        volume->attachable = FALSE;
        kubelet_status_changed(self);
        volume_manager_due(volume);
    }
}

/* ---- What operations find out ---- */

static void
forget_versions(const NodeVolume *volume)
{
    for (PodMount *mount = volume->mounts; mount != NULL; mount = mount->next)
        mount->claim_version = mount->pv_version = 0;
}

gboolean
node_volume_is_in_a_pod(const NodeVolume *self)
{
    for (const PodMount *mount = self->mounts; mount != NULL; mount = mount->next) {
        if (mount->state != MOUNT_NONE)
            return TRUE;
    }
    return FALSE;
}

gboolean
node_volume_drop(NodeVolume *self)
{
    if (node_volume_is_in_a_pod(self))
        return FALSE;
    self->in_actual = FALSE;
    self->size_known = FALSE;
    self->rebuilt = FALSE;
    self->attachability_uncertain = FALSE;
    self->mounted_label = NULL;
    self->actual_bytes = 0;
    self->only_offline = FALSE;
    self->failed_finally = FALSE;
    if (self->attachable)
        kubelet_status_changed(self->kubelet);
    volume_manager_maybe_free(self);
    return TRUE;
}

void
node_volume_resolve_attachability(NodeVolume *self, gboolean attachable)
{
    if (!self->attachability_uncertain)
        return;
    self->attachability_uncertain = FALSE;
    if (self->n_desired == 0) /* else desired state knows better */
        self->attachable = attachable;
}

void
node_volume_mount_changed(PodMount *mount, MountState state)
{
    kubelet_count_actual(mount, (state == MOUNT_DONE) - (mount->state == MOUNT_DONE));
    mount->state = state;
    if (state != MOUNT_NONE)
        node_volume_remember_label(mount->volume, mount);
    mount->remount_required = FALSE;
    mount->rebuilt &= state == MOUNT_UNCERTAIN;
    if (state == MOUNT_NONE)
        volume_directory_remove(mount->worker->kubelet, mount);
    pod_worker_wake(mount->worker);
    if (mount->desired && mount->worker->stopped)
        volume_manager_remove(mount->worker); /* KVM-27: now the mount was begun */
}

void
volume_manager_apply(Kubelet *self, const PlanChange *change)
{
    const PendingOperation *operation = change->pointer;
    NodeVolume *volume = operation->volume;

    switch ((unsigned)change->what) {
    case CHANGE_IN_ACTUAL:
        forget_versions(volume);
        volume->in_actual = TRUE;
        volume->size_known = TRUE;
        if (change->object != NULL)
            volume->actual_bytes = CLAIM_CONST(change->object)->capacity_bytes;
        return;
    case CHANGE_DETACHED:
        node_volume_drop(volume);
        return;
    case CHANGE_DEVICE:
        volume->device = (MountState)change->number;
        if (volume->device != MOUNT_NONE && operation->target != NULL)
            node_volume_remember_label(volume, operation->target);
        return;
    case CHANGE_DIRECTORY:
        volume_directory_add(self, operation->target);
        return;
    default:
        if (change->number == MOUNT_DONE && operation->target->state != MOUNT_DONE)
            kubelet_measure_mount(self, operation);
        node_volume_mount_changed(operation->target, (MountState)change->number);
        return;
    }
}

/* An operation on this mount is over: perhaps neither state has it any more. */
void
volume_manager_released(PodMount *mount)
{
    PodWorker *worker = mount->worker;

    if (mount->volume != NULL)
        unlink_mount(mount);
    if (mount->volume == NULL)
        pod_worker_maybe_free(worker);
}

/* ---- After a restart of the kubelet ---- */

void
volume_manager_rebuild(PodMount *mount, const Object *pv)
{
    Kubelet *self = mount->worker->kubelet;
    NodeVolume *volume = volume_manager_add(self, pv, mount);

    if (mount->volume == NULL) /* else found twice: as file system and as block volume */
        node_volume_link_mount(volume, mount);
    mount->state = MOUNT_UNCERTAIN;
    mount->rebuilt = TRUE;
    node_volume_remember_label(volume, mount);
    forget_versions(volume);
    volume->in_actual = volume->size_known = TRUE;
    volume->rebuilt = volume->attachability_uncertain = TRUE;
    if (volume->plugin->device_mountable)
        volume->device = MOUNT_UNCERTAIN;
    volume_manager_due(volume);
}
