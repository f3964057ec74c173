/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "kubelet-private.h"

/* Actual state, and the loop that brings it towards desired state: pkg/kubelet/volumemanager/reconciler/reconciler.go,
 * cache/actual_state_of_world.go and cache/desired_state_of_world.go.
 *
 * The real loop looks at every volume of the node every 100 ms. This one looks at the volumes that are due: whenever
 * something that a rule below reads has changed, whoever changed it calls volume_manager_due(). */

/* ---- What to do about a mount that is desired: KVM-35 ---- */

typedef enum {
    IN_ACTUAL = 1 << 0, /* attached, as far as the kubelet minds */
    ATTACHABLE = 1 << 1,
    CONTROLLED = 1 << 2, /* the attach/detach controller attaches */
    REPORTED = 1 << 3,   /* in volumesInUse, and the kubelet knows */
    LISTED = 1 << 4,     /* in volumesAttached of the cached Node */
    MOUNTED = 1 << 5,
    REMOUNT = 1 << 6, /* its plugin wants it again */
    GROWN = 1 << 7,   /* it is to be larger than it is */
    MOUNT_FACTS_END = 1 << 8,
} MountFacts;

typedef enum {
    LEAVE,
    VERIFY,
    ATTACH, /* kubelet-managed: FlexVolume only (KVM-70) */
    MOUNT,
    EXPAND,
} MountAction;

typedef struct {
    const char *id;
    MountFacts all, none;
    MountAction then;
} MountRule;

/* Exactly one applies to every set of facts. */
static const MountRule mount_rules[] = {
    {"KVM-35.1",  ATTACHABLE | CONTROLLED,                     IN_ACTUAL | REPORTED,   LEAVE },
    {"KVM-35.2",  ATTACHABLE | CONTROLLED | REPORTED,          IN_ACTUAL | LISTED,     LEAVE },
    {"KVM-35.3",  ATTACHABLE | CONTROLLED | REPORTED | LISTED, IN_ACTUAL,              VERIFY},
    {"KVM-35.3a", 0,                                           IN_ACTUAL | ATTACHABLE, VERIFY},
    {"KVM-35.4",  ATTACHABLE,                                  IN_ACTUAL | CONTROLLED, ATTACH},
    {"KVM-35.5",  IN_ACTUAL,                                   MOUNTED,                MOUNT },
    {"KVM-35.6",  IN_ACTUAL | MOUNTED | REMOUNT,               0,                      MOUNT },
    {"KVM-35.7",  IN_ACTUAL | MOUNTED | GROWN,                 REMOUNT,                EXPAND},
    {"KVM-35.0",  IN_ACTUAL | MOUNTED,                         REMOUNT | GROWN,        LEAVE },
};

const unsigned volume_manager_facts_end = MOUNT_FACTS_END;

static gboolean
applies(const MountRule *rule, unsigned facts)
{
    return (facts & rule->all) == rule->all && (facts & rule->none) == 0;
}

unsigned
volume_manager_rules_matching(unsigned facts)
{
    unsigned n = 0;

    for (unsigned i = 0; i < G_N_ELEMENTS(mount_rules); i++)
        n += applies(&mount_rules[i], facts) ? 1 : 0;
    return n;
}

static const MountRule *
mount_rule_for(MountFacts facts)
{
    for (unsigned i = 0; i < G_N_ELEMENTS(mount_rules); i++) {
        if (applies(&mount_rules[i], facts))
            return &mount_rules[i];
    }
    g_assert_not_reached();
}

/* ---- What to do about a volume that no pod has any more: KVM-37 ---- */

typedef enum {
    STAGED = 1 << 0,         /* or perhaps staged */
    DETACHED_BY_US = 1 << 1, /* attachable, and the kubelet manages attachments */
} TeardownFacts;

typedef enum {
    UNMOUNT_DEVICE,
    DROP,
    DETACH,
} TeardownAction;

static TeardownAction
teardown_action(TeardownFacts facts)
{
    if (facts & STAGED)
        return UNMOUNT_DEVICE;
    return facts & DETACHED_BY_US ? DETACH : DROP;
}

/* ---- Volumes ---- */

static const CsiDriverObject *
driver_object(const Kubelet *self, const char *driver)
{
    const ObjectKey *key = objects_find_key(self->base.objects, KIND_CSI_DRIVER, NULL, driver);
    const Object *object = key == NULL ? NULL : informer_get(self->drivers, key);

    return object == NULL ? NULL : (const CsiDriverObject *)object;
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
    const StringList *attached = object == NULL ? NULL : ((const Node *)object)->volumes_attached;

    for (unsigned i = 0; attached != NULL && i < attached->n_items; i++) {
        if (strings_same(attached->items[i], self->name))
            return TRUE;
    }
    return FALSE;
}

/* KVM-12: shared by pods if there is something to share, else private. */
static const char *
volume_name(const Kubelet *self,
            const VolumePlugin *plugin,
            const Object *pv,
            const PodWorker *worker)
{
    char uid[OBJECT_UID_BUFFER];

    if (plugin->attachable || plugin->device_mountable)
        return volume_unique_name(self->base.strings, plugin, VOLUME_CONST(pv));
    return strings_internf(self->base.strings, "%s/%s-%s", plugin->name,
                           object_uid_format(worker->uid, uid), object_name(pv));
}

static NodeVolume *
find_volume(const Kubelet *self, const char *name)
{
    for (unsigned i = 0; i < self->volumes->len; i++) {
        NodeVolume *volume = self->volumes->pdata[i];
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
    volume->plugin = plugin;
    g_ptr_array_add(self->volumes, volume);
    return volume;
}

NodeVolume *
volume_manager_add(Kubelet *self, const Object *pv, const PodMount *mount)
{
    const VolumeSource *source = VOLUME_CONST(pv)->source;
    const VolumePlugin *plugin = volume_plugin_find(source);
    NodeVolume *volume = mount->volume;

    if (volume == NULL) {
        const char *name = volume_name(self, plugin, pv, mount->worker);
        volume = find_volume(self, name);
        if (volume == NULL)
            volume = new_volume(self, name, plugin);
    }
    const Object *before = volume->pv;
    volume->pv = object_ref(pv); /* KVM-25: the newest */
    if (before != NULL)
        object_unref(before);
    if (volume->n_desired == 0 && !volume->in_actual)
        volume->attachable = volume_plugin_is_attachable(
            plugin, volume_plugin_is_csi(plugin) ? driver_object(self, source->driver) : NULL);
    return volume;
}

void
node_volume_free(void *data)
{
    NodeVolume *self = data;

    sim_cancel(self->kubelet->base.sim, self->retry);
    api_watch_free(self->pv_watch);
    while (self->operations != NULL) {
        PendingOperation *operation = self->operations;
        self->operations = operation->next;
        g_free(operation);
    }
    if (self->pv != NULL)
        object_unref(self->pv);
    g_free(self);
}

/* OP-6: what failed is remembered with its back-off, also while nobody wants the volume. */
void
volume_manager_maybe_free(NodeVolume *self)
{
    Kubelet *kubelet = self->kubelet;

    if (self->mounts != NULL || self->in_actual || self->operations != NULL)
        return;
    if (self->due)
        g_ptr_array_remove(kubelet->due, self);
    g_ptr_array_remove(kubelet->volumes, self);
    node_volume_free(self);
}

void
volume_manager_due(NodeVolume *self)
{
    Kubelet *kubelet = self->kubelet;

    if (!self->due) {
        self->due = TRUE;
        g_ptr_array_add(kubelet->due, self);
    }
    sim_ticker_wake(kubelet->reconciler);
}

static void
link_mount(NodeVolume *volume, PodMount *mount)
{
    PodMount **end = &volume->mounts;

    while (*end != NULL)
        end = &(*end)->next;
    *end = mount;
    mount->next = NULL;
    mount->volume = volume;
}

/* Neither state knows the mount any more. */
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
        link_mount(volume, mount);
    if (mount->desired)
        return;
    if (volume->n_desired++ == 0)
        volume->reported_in_use = FALSE;
    mount->desired = TRUE;
    if (volume->attachable && !volume->reported_in_use)
        node_status_changed(volume->kubelet);
    volume_manager_due(volume);
    pod_worker_wake(mount->worker);
}

void
volume_manager_undesire(PodMount *mount)
{
    NodeVolume *volume = mount->volume;

    mount->desired = FALSE;
    mount->remount_required = FALSE;
    volume->n_desired--;
    if (volume->n_desired == 0 && volume->attachable && !volume->in_actual)
        node_status_changed(volume->kubelet);
    unlink_mount(mount);
    if (volume->in_actual)
        volume_manager_due(volume);
    else
        volume_manager_maybe_free(volume);
}

/* ---- A pass: KVM-33 ---- */

static void
unmount_volumes(Kubelet *self, NodeVolume *volume)
{
    for (PodMount *mount = volume->mounts; mount != NULL; mount = mount->next) {
        if (mount->state != MOUNT_NONE && !mount->desired &&
            !volume_operation_is_pending(volume, mount))
            volume_operation_unmount(self, volume, mount);
    }
}

static MountFacts
mount_facts(const Kubelet *self, const NodeVolume *volume, const PodMount *mount)
{
    unsigned facts = 0;

    facts |= volume->in_actual ? IN_ACTUAL : 0;
    facts |= volume->attachable ? ATTACHABLE : 0;
    facts |= self->options->enable_controller_attach_detach ? CONTROLLED : 0;
    facts |= volume->reported_in_use ? REPORTED : 0;
    facts |= !volume->in_actual && volume->attachable && node_volume_is_listed(volume) ? LISTED : 0;
    facts |= mount->state == MOUNT_DONE ? MOUNTED : 0;
    facts |= mount->remount_required ? REMOUNT : 0;
    facts |= volume_expansion_is_due(volume) && !mount->spec->read_only ? GROWN : 0;
    return (MountFacts)facts;
}

static void
mount_volumes(Kubelet *self, NodeVolume *volume)
{
    for (PodMount *mount = volume->mounts; mount != NULL; mount = mount->next) {
        if (!mount->desired)
            continue;
        if (volume_operation_is_pending(volume, NULL))
            return; /* its end makes the volume due again */
        switch (mount_rule_for(mount_facts(self, volume, mount))->then) {
        case LEAVE:
            break;
        case VERIFY:
            volume_operation_verify(self, volume);
            break;
        case ATTACH: /* not modelled: CSI volumes fail so for good (KVM-70) */
            break;
        case MOUNT:
            volume_operation_mount(self, volume, mount);
            break;
        case EXPAND:
            volume_operation_expand(self, volume, mount);
            break;
        }
    }
}

static gboolean
is_in_a_pod(const NodeVolume *self)
{
    for (const PodMount *mount = self->mounts; mount != NULL; mount = mount->next) {
        if (mount->state != MOUNT_NONE)
            return TRUE;
    }
    return FALSE;
}

static void
tear_down(Kubelet *self, NodeVolume *volume)
{
    gboolean controlled = self->options->enable_controller_attach_detach;
    unsigned facts = (volume->device != MOUNT_NONE ? STAGED : 0u) |
                     (volume->attachable && !controlled ? DETACHED_BY_US : 0u);

    if (!volume->in_actual || volume->n_desired > 0 || is_in_a_pod(volume) ||
        volume_operation_is_pending(volume, NULL))
        return;
    switch (teardown_action((TeardownFacts)facts)) {
    case UNMOUNT_DEVICE:
        volume_operation_unmount_device(self, volume);
        return;
    case DETACH:
    case DROP:
        volume->in_actual = FALSE;
        volume->size_known = FALSE;
        volume->rebuilt = FALSE;
        volume_expansion_forget(volume);
        if (volume->attachable)
            node_status_changed(self);
        volume_manager_maybe_free(volume);
        return;
    }
}

gboolean
volume_manager_reconcile(void *data)
{
    Kubelet *self = data;
    GPtrArray *due = self->due;
    gboolean may_unmount = reconstruct_may_unmount(self);

    self->due = self->passing;
    self->passing = due;
    for (unsigned i = 0; i < due->len; i++)
        ((NodeVolume *)due->pdata[i])->due = FALSE;
    for (unsigned i = 0; may_unmount && i < due->len; i++)
        unmount_volumes(self, due->pdata[i]);
    for (unsigned i = 0; i < due->len; i++)
        mount_volumes(self, due->pdata[i]);
    for (unsigned i = 0; may_unmount && i < due->len; i++)
        tear_down(self, due->pdata[i]); /* may free it */
    g_ptr_array_set_size(due, 0);
    if (self->awaits_node)
        reconstruct_read_node(self);
    return FALSE; /* who makes a volume due again wakes the loop */
}

/* ---- What changes ---- */

/* KVM-35.2: the Node lists a volume that was waited for. */
void
volume_manager_on_node(void *data, const Object *before, const Object *after)
{
    Kubelet *self = data;

    if (before == NULL || after == NULL || self->volumes == NULL)
        return;
    if (string_list_equal(((const Node *)before)->volumes_attached,
                          ((const Node *)after)->volumes_attached))
        return;
    for (unsigned i = 0; i < self->volumes->len; i++) {
        NodeVolume *volume = self->volumes->pdata[i];
        if (!volume->in_actual && volume->attachable && volume->n_desired > 0)
            volume_manager_due(volume);
    }
}

static void
mount_changed(PodMount *mount, MountState state)
{
    mount->state = state;
    mount->remount_required = FALSE;
    mount->rebuilt &= state != MOUNT_DONE;
    if (state == MOUNT_NONE)
        reconstruct_remove_directory(mount->worker->kubelet, mount);
    pod_worker_wake(mount->worker);
    if (mount->desired && mount->worker->stopped)
        volume_populator_remove(mount->worker); /* KVM-27: now there is a trace of it */
}

void
volume_manager_apply(Kubelet *self, const PlanChange *change)
{
    const PendingOperation *operation = change->pointer;
    NodeVolume *volume = operation->volume;

    switch ((unsigned)change->what) {
    case CHANGE_IN_ACTUAL:
        volume->in_actual = TRUE;
        volume->size_known = TRUE;
        if (change->object != NULL)
            volume->actual_bytes = CLAIM_CONST(change->object)->capacity_bytes;
        return;
    case CHANGE_DEVICE:
        volume->device = (MountState)change->number;
        return;
    case CHANGE_DIRECTORY:
        reconstruct_add_directory(self, operation->target);
        return;
    default:
        mount_changed(operation->target, (MountState)change->number);
        return;
    }
}

/* An operation on this mount is over: both states may be done with it. */
void
volume_manager_released(PodMount *mount)
{
    PodWorker *worker = mount->worker;

    if (mount->volume != NULL)
        unlink_mount(mount);
    if (mount->volume == NULL)
        pod_worker_maybe_free(worker);
}

/* ---- A cluster that runs already ---- */

static void
adopt_mount(Kubelet *self, PodMount *mount, MountState state)
{
    ObjectKey *claim_key =
        pod_claim_key(self->base.objects, POD_CONST(mount->worker->pod), mount->spec);
    const Object *claim = api_server_get(self->base.api, claim_key);
    const char *name = claim == NULL ? "" : claim_volume_name(CLAIM_CONST(claim));
    const Object *pv =
        *name == '\0' ? NULL
                      : api_server_get(self->base.api,
                                       objects_key(self->base.objects, KIND_VOLUME, NULL, name));

    if (pv == NULL || volume_plugin_find(VOLUME_CONST(pv)->source) == NULL)
        return;
    NodeVolume *volume = volume_manager_add(self, pv, mount);
    volume_manager_desire(volume, mount);
    mount->state = state;
    volume->in_actual = volume->size_known = TRUE;
    volume->actual_bytes = CLAIM_CONST(claim)->capacity_bytes;
    volume_expansion_desire(volume, mount);
    if (volume->plugin->device_mountable)
        volume->device = state;
    reconstruct_add_directory(self, mount);
}

void
volume_manager_adopt(PodWorker *worker, MountState state)
{
    for (unsigned i = 0; i < worker->n_mounts; i++)
        adopt_mount(worker->kubelet, &worker->mounts[i], state);
}

/* ---- A kubelet that was there before ---- */

void
volume_manager_rebuild(PodMount *mount, const Object *pv)
{
    Kubelet *self = mount->worker->kubelet;
    NodeVolume *volume = volume_manager_add(self, pv, mount);

    link_mount(volume, mount);
    mount->state = MOUNT_UNCERTAIN;
    mount->rebuilt = TRUE;
    volume->in_actual = volume->size_known = TRUE;
    volume->rebuilt = TRUE;
    if (volume->plugin->device_mountable)
        volume->device = MOUNT_UNCERTAIN;
    volume_manager_due(volume);
}
