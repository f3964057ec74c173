/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "kubelet-private.h"

/* The loop that brings actual state towards desired state:
 * pkg/kubelet/volumemanager/reconciler/reconciler.go.
 *
 * The real loop looks at every volume of the node every 100 ms. This one looks at the volumes that
 * are due: whenever something that a rule below reads has changed, whoever changed it calls
 * volume_manager_due(). */

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
        case ATTACH:
            volume_operation_attach(self, volume);
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

static void
tear_down(Kubelet *self, NodeVolume *volume)
{
    gboolean controlled = self->options->enable_controller_attach_detach;
    unsigned facts = (volume->device != MOUNT_NONE ? STAGED : 0u) |
                     (volume->attachable && !controlled ? DETACHED_BY_US : 0u);

    if (!volume->in_actual || volume->n_desired > 0 || node_volume_is_in_a_pod(volume) ||
        volume_operation_is_pending(volume, NULL))
        return;
    switch (teardown_action((TeardownFacts)facts)) {
    case UNMOUNT_DEVICE:
        volume_operation_unmount_device(self, volume);
        return;
    case DETACH:
        volume_operation_detach(self, volume);
        return;
    case DROP:
        node_volume_drop(volume); /* may free it */
        return;
    }
}

/* In the log of causes each volume goes on with its own: the pass may have been woken for another.
 */
static NodeVolume *
released(Kubelet *self, NodeVolume *volume)
{
    sim_resume(self->base.sim, volume->due_by, WAIT_POLL, self->reconciler_label);
    return volume;
}

gboolean
volume_manager_reconcile(void *data)
{
    Kubelet *self = data;
    GPtrArray *due = self->due;
    SimCauseId cause = sim_cause(self->base.sim);
    gboolean may_unmount = reconstruct_may_unmount(self);

    self->due = self->passing;
    self->passing = due;
    for (unsigned i = 0; i < due->len; i++)
        ((NodeVolume *)due->pdata[i])->due = FALSE;
    for (unsigned i = 0; may_unmount && i < due->len; i++)
        unmount_volumes(self, released(self, due->pdata[i]));
    for (unsigned i = 0; i < due->len; i++)
        mount_volumes(self, released(self, due->pdata[i]));
    for (unsigned i = 0; may_unmount && i < due->len; i++)
        tear_down(self, released(self, due->pdata[i])); /* may free it */
    sim_set_cause(self->base.sim, cause);
    g_ptr_array_set_size(due, 0);
    if (self->has_unreadable && may_unmount)
        reconstruct_clean_up(self);
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
