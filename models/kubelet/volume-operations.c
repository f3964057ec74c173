/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/plan/operations.h"
#include "operation-executor.h"
#include "pod-worker.h"

/* The reconciler starts operations and does not wait for them: pkg/volume/util/operationexecutor,
 * nestedpendingoperations. The operations have files of their own. */

#define BACKOFF_FIRST (500 * SIM_MS) /* OP-8, KVM-6 */
#define BACKOFF_MAX (122 * SIM_SECOND)

const Volume *
operation_pv(const PendingOperation *self)
{
    return VOLUME_CONST(self->volume->pv);
}

const VolumeSource *
operation_source(const PendingOperation *self)
{
    return operation_pv(self)->source;
}

gboolean
operation_is_csi(const PendingOperation *self)
{
    return volume_plugin_is_csi(self->volume->plugin);
}

gboolean
operation_is_block(const PendingOperation *self)
{
    return operation_pv(self)->volume_mode == VOLUME_BLOCK;
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

/* Of several matches: one that runs, else one with an equal key, else the first. */
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

/* The real reconciler tries in every pass and is refused during the back-off. This one tries again
 * when the back-off ends. */
static void
retry_later(Kubelet *self, NodeVolume *volume, const PendingOperation *entry)
{
    SimTime until = entry->failed_at + entry->backoff + 1; /* OP-5: more than the delay */

    sim_cancel(self->base.sim, volume->retry);
    volume->retry = sim_at_detail(self->base.sim, MAX(until, sim_now(self->base.sim)), &retry_event,
                                  volume, WAIT_BACKOFF, self->base.label);
}

/* Operations with their names in metrics (MET-67). */
static const struct {
    const char *name;
    PlanDecide decide;
} operations[] = {
    [OPERATION_VERIFY] = {"verify_controller_attached_volume", attach_operation_verify },
    [OPERATION_MOUNT] = {"volume_mount",                      mount_operation_decide  },
    [OPERATION_UNMOUNT] = {"volume_unmount",                    unmount_operation_decide},
    [OPERATION_UNMOUNT_DEVICE] = {"unmount_device",                    unmount_operation_decide},
    [OPERATION_EXPAND] = {"volume_fs_resize",                  volume_expansion_decide },
    [OPERATION_ATTACH] = {"volume_attach",                     attach_operation_attach },
    [OPERATION_DETACH] = {"volume_detach",                     attach_operation_detach },
};

static void
volume_operations_measure(const Kubelet *self,
                          const Plan *plan,
                          const PendingOperation *entry,
                          PlanEnd end)
{
    const VolumeSource *source =
        entry->volume->pv == NULL ? NULL : VOLUME_CONST(entry->volume->pv)->source;

    if (source != NULL && source->driver != NULL)
        operation_measure(&self->base, plan, operations[entry->doing].name, source->driver, end);
}

static void
volume_operations_operation_done(void *data, Plan *plan, PlanEnd end, const char *message)
{
    Kubelet *self = data;
    PendingOperation *entry = plan_done_operation(plan);
    NodeVolume *volume = entry->volume;
    PodMount *target = entry->target;

    (void)message;
    volume_operations_measure(self, plan, entry, end);
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

static gboolean
is_held_back(const Kubelet *self, const PendingOperation *entry)
{
    return sim_now(self->base.sim) - entry->failed_at <= entry->backoff;
}

/* KVM-39: unmounts from different pods run beside each other; so do mounts of a volume that has
 * nothing to share. */
static const PodMount *
operation_key(OperationName name, const NodeVolume *volume, const PodMount *mount)
{
    gboolean is_shared = volume->attachable || volume->plugin->device_mountable;

    return name == OPERATION_UNMOUNT || (name == OPERATION_MOUNT && !is_shared) ? mount : NULL;
}

void
volume_operation_start(Kubelet *self, OperationName name, NodeVolume *volume, PodMount *mount)
{
    const PodMount *key = operation_key(name, volume, mount);
    PendingOperation *entry = find_entry(volume, key);

    if (mount != NULL)
        csi_steps_prepare_mount(self, volume, mount);
    else if (name == OPERATION_UNMOUNT_DEVICE)
        csi_steps_prepare_device(self, volume);
    if (entry != NULL && entry->running) /* OP-1 */
        return;
    if (entry != NULL && is_held_back(self, entry)) {
        if (entry->name == name) { /* OP-5 */
            retry_later(self, volume, entry);
            return;
        }
        entry->name = name; /* OP-2: another operation resets the back-off */
        entry->backoff = 0;
    }
    if (entry == NULL)
        entry = new_entry(volume, name);
    entry->key = key;
    entry->target = mount;
    entry->doing = name;
    entry->running = TRUE;
    plan_start(&(PlanStart){
        .component = &self->base,
        .decide = operations[name].decide,
        .key = mount != NULL
                   ? mount->worker->key
                   : objects_key_at(self->base.objects, KIND_VOLUME, volume->pv->key->slot),
        .operation = entry,
        .done = volume_operations_operation_done,
    });
}
