/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/kubelet/csi-plugin/csi-plugin.h"
#include "models/plan/operations.h"
#include "operation-executor.h"

/* The reconciler starts operations and does not wait for them: pkg/volume/util/operationexecutor,
 * nestedpendingoperations. The operations have files of their own. */

#define BACKOFF_FIRST (500 * SIM_MS) /* OP-8, KVM-6 */
#define BACKOFF_MAX (122 * SIM_SECOND)

/* ---- Entries and their back-off: OP-1 to OP-6 ---- */

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
        pending_operation_remove(entry);
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
    PendingOperation *entry = pending_operation_find(volume, key);

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
        entry = pending_operation_new(volume, name);
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
