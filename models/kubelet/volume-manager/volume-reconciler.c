/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The loop that brings actual state towards desired state:
 * pkg/kubelet/volumemanager/reconciler/reconciler.go.
 *
 * The real loop looks at every volume of the node every 100 ms. This one looks at the volumes that
 * are due: whatever changes something that a rule below reads calls volume_manager_due(). */
#include "operation-executor.h"

/* ---- What to do about a mount that is desired: KVM-35 ---- */

typedef enum {
    IN_ACTUAL = 1 << 0, /* the kubelet takes the volume for attached */
    ATTACHABLE = 1 << 1,
    CONTROLLED = 1 << 2, /* the attach/detach controller attaches */
    REPORTED = 1 << 3,   /* in volumesInUse, and the kubelet knows */
    LISTED = 1 << 4,     /* in volumesAttached of the cached Node */
    MOUNTED = 1 << 5,
    REMOUNT = 1 << 6,  /* its plugin wants it again */
    GROWN = 1 << 7,    /* it is due to be expanded */
    LABELLED = 1 << 8, /* for other pods */
    MOUNT_FACTS_END = 1 << 9,
} MountFacts;

/* Columns: rule, all of these hold, none of these, the operation that starts. An attach by the
 * kubelet fails for CSI volumes (KVM-70). */
static const Rule mount_table[] = {
    {"KVM-35.1",  ATTACHABLE | CONTROLLED,                     IN_ACTUAL | REPORTED,       OPERATION_NONE  },
    {"KVM-35.2",  ATTACHABLE | CONTROLLED | REPORTED,          IN_ACTUAL | LISTED,         OPERATION_NONE  },
    {"KVM-35.3",  ATTACHABLE | CONTROLLED | REPORTED | LISTED, IN_ACTUAL,                  OPERATION_VERIFY},
    {"KVM-35.3a", 0,                                           IN_ACTUAL | ATTACHABLE,     OPERATION_VERIFY},
    {"KVM-35.4",  ATTACHABLE,                                  IN_ACTUAL | CONTROLLED,     OPERATION_ATTACH},
    {"KVM-35.5",  IN_ACTUAL,                                   MOUNTED | LABELLED,         OPERATION_MOUNT },
    {"KVM-35.6",  IN_ACTUAL | MOUNTED | REMOUNT,               LABELLED,                   OPERATION_MOUNT },
    {"KVM-35.7",  IN_ACTUAL | MOUNTED | GROWN,                 REMOUNT | LABELLED,         OPERATION_EXPAND},
    {"KVM-35.8",  IN_ACTUAL | LABELLED,                        0,                          OPERATION_NONE  },
    {"KVM-35.0",  IN_ACTUAL | MOUNTED,                         REMOUNT | GROWN | LABELLED, OPERATION_NONE  },
};

static const RuleBound mount_bounds[] = {
    {.given = LABELLED, .all = IN_ACTUAL},
};

const RuleTable kubelet_mount_rules = RULE_TABLE(
    "kubelet: mounts that are desired", MOUNT_FACTS_END, mount_table, RULE_BOUNDS(mount_bounds));

/* ---- A pass: KVM-33 ---- */

static uint64_t
volume_place(const void *volume, SimStream stream, uint64_t walk)
{
    return sim_random_bits(stream, ((const NodeVolume *)volume)->hash, walk);
}

static uint64_t
mount_place(const void *mount, SimStream stream, uint64_t walk)
{
    return sim_random_bits(stream, ((const PodMount *)mount)->worker->key->hash, walk);
}

/* KVM-90: each of the three loops of a pass walks a map of volumes, the first two also a map of the
 * volume's pods. @stream: of the loop */
static void
shuffle(const Kubelet *self, GPtrArray *items, SimPlace place, const char *stream)
{
    uint64_t walk;

    if (items->len < 2)
        return;
    walk = sim_hash_combine(self->node_key->hash, (uint64_t)sim_now(self->base.sim));
    sim_shuffle(items->pdata, items->len, place, sim_stream(self->base.sim, stream), walk);
}

/* The list keeps the order until the next walk. */
static void
shuffle_pods(const Kubelet *self, NodeVolume *volume)
{
    PodMount **end = &volume->mounts;

    if (volume->mounts == NULL || volume->mounts->next == NULL)
        return;
    g_autoptr(GPtrArray) mounts = g_ptr_array_new();
    for (PodMount *mount = volume->mounts; mount != NULL; mount = mount->next)
        g_ptr_array_add(mounts, mount);
    shuffle(self, mounts, mount_place, "kubelet/order of pods");
    for (unsigned i = 0; i < mounts->len; i++) {
        *end = mounts->pdata[i];
        end = &(*end)->next;
    }
    *end = NULL;
}

static void
unmount_volumes(Kubelet *self, NodeVolume *volume)
{
    shuffle_pods(self, volume);
    for (PodMount *mount = volume->mounts; mount != NULL; mount = mount->next) {
        if (mount->state != MOUNT_NONE && !mount->desired &&
            !volume_operation_is_pending(volume, mount))
            volume_operation_start(self, OPERATION_UNMOUNT, volume, mount);
    }
}

static unsigned
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
    facts |= volume->in_actual && node_volume_has_other_label(volume) ? LABELLED : 0;
    facts |= volume_expansion_is_due(volume) && !mount->spec->read_only ? GROWN : 0;
    return facts;
}

/* KVM-35.8: each pass says so. */
static void
tell_label(Kubelet *self, NodeVolume *volume)
{
    const char *text =
        strings_internf(self->base.strings,
                        "waiting for unmount of volume \"%s\", because it is already "
                        "mounted to a different pod with a different SELinux label",
                        volume->name);

    for (PodMount *mount = volume->mounts; mount != NULL; mount = mount->next)
        if (mount->desired)
            volume_manager_add_error(mount->worker, text);
    if (volume->n_desired > 0)
        volume_manager_due(volume);
}

static void
mount_volumes(Kubelet *self, NodeVolume *volume)
{
    shuffle_pods(self, volume);
    if (volume->in_actual && node_volume_has_other_label(volume))
        tell_label(self, volume);
    for (PodMount *mount = volume->mounts; mount != NULL; mount = mount->next) {
        if (!mount->desired)
            continue;
        if (volume_operation_is_pending(volume, NULL))
            return; /* its end makes the volume due again */
        const Rule *rule = rules_find(&kubelet_mount_rules, mount_facts(self, volume, mount), NULL);
        OperationName name = (OperationName)rule->then;
        gboolean is_of_mount = name == OPERATION_MOUNT || name == OPERATION_EXPAND;
        if (name != OPERATION_NONE)
            volume_operation_start(self, name, volume, is_of_mount ? mount : NULL);
    }
}

/* KVM-37: unmounts the device of a volume that no pod has or wants with its label, then detaches or
 * forgets the volume. */
static void
volume_reconciler_tear_down(Kubelet *self, NodeVolume *volume)
{
    gboolean is_wanted = volume->n_desired > 0 && !node_volume_has_other_label(volume);

    if (!volume->in_actual || is_wanted || node_volume_is_in_a_pod(volume) ||
        volume_operation_is_pending(volume, NULL))
        return;
    if (volume->device != MOUNT_NONE)
        volume_operation_start(self, OPERATION_UNMOUNT_DEVICE, volume, NULL);
    else if (volume->attachable && !self->options->enable_controller_attach_detach) /* KVM-69 */
        volume_operation_start(self, OPERATION_DETACH, volume, NULL);
    else
        node_volume_drop(volume); /* may free it */
}

/* For the log of causes: goes on with the cause that made this volume due, which may differ from
 * the cause of the pass. */
static NodeVolume *
released(Kubelet *self, NodeVolume *volume)
{
    sim_resume(self->base.sim, volume->due_by, WAIT_POLL, self->volume_manager->reconciler_label);
    return volume;
}

gboolean
volume_reconciler_pass(void *data)
{
    Kubelet *self = data;
    GPtrArray *due = self->volume_manager->due;
    SimCauseId cause = sim_cause(self->base.sim);
    gboolean may_unmount = reconstruct_may_unmount(self);

    self->volume_manager->due = self->volume_manager->passing;
    self->volume_manager->passing = due;
    for (unsigned i = 0; i < due->len; i++)
        ((NodeVolume *)due->pdata[i])->due = FALSE;
    if (may_unmount)
        shuffle(self, due, volume_place, "kubelet/unmount order");
    for (unsigned i = 0; may_unmount && i < due->len; i++)
        unmount_volumes(self, released(self, due->pdata[i]));
    shuffle(self, due, volume_place, "kubelet/mount order");
    for (unsigned i = 0; i < due->len; i++)
        mount_volumes(self, released(self, due->pdata[i]));
    if (may_unmount)
        shuffle(self, due, volume_place, "kubelet/tear-down order");
    for (unsigned i = 0; may_unmount && i < due->len; i++)
        volume_reconciler_tear_down(self, released(self, due->pdata[i])); /* may free it */
    sim_set_cause(self->base.sim, cause);
    g_ptr_array_set_size(due, 0);
    if (self->volume_manager->has_unreadable && may_unmount)
        reconstruct_clean_up(self);
    if (self->volume_manager->awaits_node)
        reconstruct_read_node(self);
    return FALSE; /* volume_manager_due() wakes the loop */
}

/* ---- What changes ---- */

/* KVM-35.2: the Node's volumesAttached has changed, so volumes that wait for it are due. */
void
volume_reconciler_on_node(void *data, const Object *before, const Object *after)
{
    Kubelet *self = data;

    if (before == NULL || after == NULL || self->volume_manager == NULL)
        return;
    if (string_list_equal(((const Node *)before)->volumes_attached,
                          ((const Node *)after)->volumes_attached))
        return;
    for (unsigned i = 0; i < self->volume_manager->volumes->len; i++) {
        NodeVolume *volume = self->volume_manager->volumes->pdata[i];
        if (!volume->in_actual && volume->attachable && volume->n_desired > 0)
            volume_manager_due(volume);
    }
}
