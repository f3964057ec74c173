/* SPDX-License-Identifier: GPL-3.0-or-later */
/* MountVolume and MapVolume: GenerateMountVolumeFunc() and GenerateMapVolumeFunc() of
 * operation_generator.go, and the CSI plugin below them. A row of kubelet_mount_step_rules names
 * the next step from the volume, the pod's mount and how far the operation has come: checks, the
 * attachment, the device, the pod. Each step ends in a change of actual state, so a kubelet that
 * dies between two of them leaves what the steps before have done.
 *
 * An error that may have left something behind makes the mount uncertain (KVM-16). A remount that
 * fails leaves what was mounted. */
#include "models/kubelet/in-process/in-process.h"
#include "operation-executor.h"

/* Names of the same steps for both kinds of volumes (KVM-45). */
typedef struct {
    const char *affinity, *options, *attach, *device, *set_up, *reason;
} MountWords;

static const MountWords filesystem_words = {
    "MountVolume.NodeAffinity check failed",
    "MountVolume.MountOptionSupport check failed",
    "MountVolume.WaitForAttach failed",
    "MountVolume.MountDevice failed",
    "MountVolume.SetUp failed",
    "FailedMount",
};

static const MountWords block_words = {
    "MapVolume.NodeAffinity check failed", NULL,
    "MapVolume.WaitForAttach failed",      "MapVolume.SetUpDevice failed",
    "MapVolume.MapPodDevice failed",       "FailedMapVolume",
};

static const MountWords *
mount_operation_words_of(const PendingOperation *self)
{
    return operation_is_block(self) ? &block_words : &filesystem_words;
}

/* KVM-45, OP-9: one event on the pod, and back-off. */
static void
add_failure(Plan *plan, const PendingOperation *operation, const char *prefix, const char *cause)
{
    const char *text = plan_internf(plan, "%s for volume \"%s\" : %s", prefix,
                                    object_name(operation->volume->pv), cause);

    plan_event(plan, operation->target->worker->pod, "Warning",
               mount_operation_words_of(operation)->reason, "%s", text);
    plan_fail(plan, "%s", text);
}

/* Steps 7 and 8. */
static void
add_mounted(Plan *plan, const PendingOperation *operation)
{
    if (operation->volume->plugin->node_expandable &&
        operation_pv(operation)->claim_ref.claim != NULL) { /* inline volumes do not grow */
        volume_expansion_add_at_mount(plan, operation);
        return;
    }
    plan_because(plan, "KVM-41.8");
    kubelet_add_change(plan, CHANGE_MOUNT, operation, MOUNT_DONE);
}

/* KVM-45: only a block volume has an Event for success. */
static void
add_mapped_events(Plan *plan, const PendingOperation *operation)
{
    const Object *pod = operation->target->worker->pod;
    const char *name = object_name(operation->volume->pv);
    Strings *strings = operation->volume->kubelet->base.strings;
    char uid[OBJECT_UID_BUFFER];

    if (!operation_is_block(operation))
        return;
    object_uid_format(operation->target->worker->uid, uid);
    plan_event(plan, pod, "Normal", "SuccessfulMountVolume",
               "MapVolume.MapPodDevice succeeded for volume \"%s\" globalMapPath \"%s\"", name,
               csi_spec_global_map_path(strings, name));
    plan_event(plan, pod, "Normal", "SuccessfulMountVolume",
               "MapVolume.MapPodDevice succeeded for volume \"%s\" volumeMapPath \"%s\"", name,
               csi_spec_pod_map_path(strings, uid));
}

/* ---- The CSI plugin has staged or published, or failed: KVM-15 ---- */

/* @mounted: it was a remount (KVM-52): nothing changes. @rebuilt: another kubelet may have mounted
 * it before (KVM-61). */
static void
add_error(Plan *plan,
          const CsiPluginResult *result,
          KubeletChange what,
          gboolean mounted,
          gboolean rebuilt)
{
    const PendingOperation *operation = plan_operation(plan);
    const MountWords *words = mount_operation_words_of(operation);

    if (result->end != CSI_PLUGIN_TRANSIENT) {
        plan_because(plan, "KVM-15");
        if (!mounted)
            kubelet_add_change(plan, what, operation,
                               rebuilt || result->end == CSI_PLUGIN_UNCERTAIN ? MOUNT_UNCERTAIN
                                                                              : MOUNT_NONE);
    }
    add_failure(plan, operation, what == CHANGE_DEVICE ? words->device : words->set_up,
                result->error);
}

static void
published(const Kubelet *self, Plan *plan, const CsiPluginResult *result)
{
    const PendingOperation *operation = plan_operation(plan);
    const PodMount *mount = operation->target;

    (void)self;
    if (result->end != CSI_PLUGIN_DONE) {
        add_error(plan, result, CHANGE_MOUNT, mount->state == MOUNT_DONE, mount->rebuilt);
        return;
    }
    add_mapped_events(plan, operation);
    add_mounted(plan, operation);
}

/* How far a mount has come. */
typedef enum {
    FROM_START,
    FROM_DEVICE,
    FROM_SET_UP,
} MountProgress;

static void add_steps(const Kubelet *self, Plan *plan, MountProgress progress);

static void
staged(const Kubelet *self, Plan *plan, const CsiPluginResult *result)
{
    const PendingOperation *operation = plan_operation(plan);

    if (result->end != CSI_PLUGIN_DONE) {
        add_error(plan, result, CHANGE_DEVICE, FALSE, operation->volume->rebuilt);
        return;
    }
    kubelet_add_change(plan, CHANGE_DEVICE, operation, MOUNT_DONE);
    add_steps(self, plan, FROM_SET_UP);
}

/* ---- The attachment: KVM-41.4 ---- */

static void
decide_attached(const void *data, Plan *plan)
{
    const PendingOperation *operation = plan_operation(plan);
    int step = plan_last_step(plan);
    const char *error = csi_mounter_attachment_fault(
        plan, operation_source(operation)->handle, operation->volume->attachment->name,
        (const Attachment *)plan_object(plan, step), plan_message(plan, step));

    if (error != NULL) {
        plan_because(plan, "KVM-41.4");
        add_failure(plan, operation, mount_operation_words_of(operation)->attach, error);
        return;
    }
    add_steps(data, plan, FROM_DEVICE);
}

/* ---- Step by step: KVM-41 ---- */

/* Step 3: only one pod may have the volume, and another one has it. */
static gboolean
is_taken(const PendingOperation *operation)
{
    if (operation_pv(operation)->access_modes != ACCESS_RWOP)
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

    return node == NULL || node_selector_matches(volume_node_affinity(operation_pv(operation)),
                                                 node->labels, self->base.node_name);
}

/* checkMountOptionSupport(). A block volume is not mounted. */
static gboolean
has_vain_options(const Kubelet *self, const PendingOperation *operation)
{
    if (operation->volume->plugin->takes_options || operation_is_block(operation))
        return FALSE;
    g_autoptr(StringList) options =
        volume_mount_options(self->base.strings, operation_pv(operation), NULL);
    return options != NULL;
}

typedef enum {
    MISPLACED = 1 << 0, /* the volume does not allow this node */
    OPTIONS = 1 << 1,   /* it has mount options that the plugin does not take */
    TAKEN = 1 << 2,     /* ReadWriteOncePod, and another pod has it */
    ATTACHED = 1 << 3,  /* CSI, with a VolumeAttachment that is not looked at yet */
    DEVICE = 1 << 4,    /* it is to be staged first */
    CSI = 1 << 5,
    STEP_FACTS_END = 1 << 6,
} StepFacts;

typedef enum {
    REFUSE_NODE,
    REFUSE_OPTIONS,
    REFUSE_POD,
    LOOK_AT_ATTACHMENT,
    MOUNT_DEVICE, /* system calls */
    MOUNT,
    STAGE, /* by the CSI plugin */
    PUBLISH,
} MountStep;

#define CHECKS (MISPLACED | OPTIONS | TAKEN | ATTACHED)

static const Rule step_table[] = {
    {"KVM-41",   MISPLACED,    0,                           REFUSE_NODE       },
    {"KVM-41.2", OPTIONS,      MISPLACED,                   REFUSE_OPTIONS    },
    {"KVM-41.3", TAKEN,        MISPLACED | OPTIONS,         REFUSE_POD        },
    {"KVM-41.4", ATTACHED,     MISPLACED | OPTIONS | TAKEN, LOOK_AT_ATTACHMENT},
    {"KVM-42",   DEVICE,       CHECKS | CSI,                MOUNT_DEVICE      },
    {"KVM-42",   DEVICE | CSI, CHECKS,                      STAGE             },
    {"KVM-43",   0,            CHECKS | DEVICE | CSI,       MOUNT             },
    {"KVM-43",   CSI,          CHECKS | DEVICE,             PUBLISH           },
};

static const RuleBound step_bounds[] = {
    {.given = ATTACHED, .all = CSI     },
    {.given = CSI,      .none = OPTIONS},
};

const RuleTable kubelet_mount_step_rules =
    RULE_TABLE("kubelet: steps of a mount", STEP_FACTS_END, step_table, RULE_BOUNDS(step_bounds));

static unsigned
step_facts(const Kubelet *self, const PendingOperation *operation, MountProgress progress)
{
    const NodeVolume *volume = operation->volume;
    gboolean is_csi = operation_is_csi(operation);
    unsigned facts = 0;

    if (progress <= FROM_START) {
        facts |= !fits_node(self, operation) ? MISPLACED : 0;
        facts |= has_vain_options(self, operation) ? OPTIONS : 0;
        facts |= is_taken(operation) ? TAKEN : 0;
        facts |= is_csi && volume->attachable ? ATTACHED : 0;
    }
    if (progress <= FROM_DEVICE)
        facts |= volume->plugin->device_mountable && volume->device != MOUNT_DONE ? DEVICE : 0;
    facts |= is_csi ? CSI : 0;
    return facts;
}

static void
add_steps(const Kubelet *self, Plan *plan, MountProgress progress)
{
    const PendingOperation *operation = plan_operation(plan);
    const MountWords *words = mount_operation_words_of(operation);

    switch ((MountStep)plan_judge(plan, &kubelet_mount_step_rules,
                                  step_facts(self, operation, progress))) {
    case REFUSE_NODE:
        add_failure(plan, operation, words->affinity, "no matching NodeSelectorTerms");
        return;
    case REFUSE_OPTIONS:
        add_failure(plan, operation, words->options,
                    "mount options are not supported for this volume type");
        return;
    case REFUSE_POD:
        add_failure(
            plan, operation, words->set_up,
            "volume uses the ReadWriteOncePod access mode and is already in use by another pod");
        return;
    case LOOK_AT_ATTACHMENT:
        plan_get(plan, operation->volume->attachment, PLAN_DECIDE);
        plan_then(plan, decide_attached);
        return;
    case MOUNT_DEVICE:
        in_process_plan(self, plan, FLEX_MOUNT_DEVICE, staged);
        return;
    case MOUNT:
        kubelet_add_change(plan, CHANGE_DIRECTORY, operation, MOUNT_NONE);
        in_process_plan(self, plan, FLEX_SET_UP, published);
        return;
    case STAGE:
        csi_mounter_stage(self, plan, staged);
        return;
    case PUBLISH:
        csi_mounter_publish(self, plan, published);
        return;
    }
    g_assert_not_reached();
}

void
mount_operation_decide(const void *self, Plan *plan)
{
    add_steps(self, plan, FROM_START);
}

/* ---- UnmountVolume and UnmountDevice, and the same of block volumes (KVM-58) ---- */

static gboolean
is_of_device(const PendingOperation *operation)
{
    return operation->doing == OPERATION_UNMOUNT_DEVICE;
}

static void
add_state(Plan *plan, const PendingOperation *operation, MountState state)
{
    kubelet_add_change(plan, is_of_device(operation) ? CHANGE_DEVICE : CHANGE_MOUNT, operation,
                       state);
}

static void
unmounted(const Kubelet *self, Plan *plan, const CsiPluginResult *result)
{
    const PendingOperation *operation = plan_operation(plan);

    (void)self;
    if (result->end == CSI_PLUGIN_DONE) {
        add_state(plan, operation, MOUNT_NONE);
        return;
    }
    plan_because(plan, "KVM-16");
    add_state(plan, operation, MOUNT_UNCERTAIN);
    plan_fail(plan, "%s failed: %s",
              is_of_device(operation) ? "UnmountDevice" : "UnmountVolume.TearDown", result->error);
}

void
unmount_operation_decide(const void *data, Plan *plan)
{
    const Kubelet *self = data;
    const PendingOperation *operation = plan_operation(plan);
    gboolean of_device = is_of_device(operation);

    plan_because(plan, of_device ? "KVM-48" : "KVM-47");
    if (!operation_is_csi(operation)) {
        in_process_plan(self, plan, of_device ? FLEX_UNMOUNT_DEVICE : FLEX_TEAR_DOWN, unmounted);
    } else if (of_device) {
        csi_mounter_unstage(self, plan, unmounted);
    } else {
        csi_mounter_unpublish(self, plan, unmounted);
    }
}
