/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The node's share of growing a volume: checkVolumeFSResize() of the populator, nodeExpandVolume()
 * of operationexecutor/operation_generator.go and node_expander.go. Desired is the size of the
 * PersistentVolume, as the pod's last sync read it; actual is the size of the claim. An expansion
 * is an operation of its own on a volume in use, or the end of a mount.
 *
 * The model leaves out periodic syncs that find nothing new, so an informer of the one
 * PersistentVolume wakes the pods that use it when it grows. */
#include "models/kubelet/csi-plugin/csi-plugin.h"
#include "models/kubelet/in-process/in-process.h"
#include "operation-executor.h"

#include "models/kubelet/kubelet-test.h"
#include "models/volume/resize-status.h"

/* ---- Sizes, and when a pod must be synced to see a new one ---- */

static gboolean
may_grow(const NodeVolume *volume)
{
    return volume->plugin->node_expandable;
}

gboolean
volume_expansion_is_due(const NodeVolume *volume)
{
    return may_grow(volume) && volume->actual_bytes > 0 &&
           volume->desired_bytes > volume->actual_bytes && !volume->only_offline;
}

gboolean
volume_expansion_needs_sync(const NodeVolume *volume)
{
    return volume->told_bytes > volume->desired_bytes;
}

/* KVM-8: the model leaves out syncs that would find nothing new. A larger PersistentVolume brings
 * them back. */
static void
pv_changed(void *data, const Object *before, const Object *pv)
{
    NodeVolume *volume = data;

    (void)before;
    if (pv == NULL || VOLUME_CONST(pv)->capacity_bytes <= volume->told_bytes)
        return;
    volume->told_bytes = VOLUME_CONST(pv)->capacity_bytes;
    for (PodMount *mount = volume->mounts; mount != NULL; mount = mount->next)
        if (mount->desired && !mount->spec->read_only && volume_expansion_needs_sync(volume))
            mount->worker->kubelet->pod_calls->sync_in_time(mount->worker);
}

void
volume_expansion_desire(NodeVolume *volume, const PodMount *mount)
{
    const Kubelet *kubelet = volume->kubelet;
    const Volume *pv = VOLUME_CONST(volume->pv);

    if (!may_grow(volume) || mount->spec->read_only || mount->spec->source != NULL) /* RSZ-50 */
        return;
    volume->told_bytes = MAX(volume->told_bytes, pv->capacity_bytes);
    if (volume->pv_informer == NULL) {
        volume->pv_informer =
            informer_new_of(kubelet->base.process, pv->meta.key, kubelet->node_key->hash);
        informer_add_handler(volume->pv_informer, pv_changed, volume);
    }
    if (volume->desired_bytes == pv->capacity_bytes)
        return;
    volume->desired_bytes = pv->capacity_bytes;
    if (volume_expansion_is_due(volume))
        volume_manager_due(volume);
}

void
volume_expansion_apply(const PlanChange *change)
{
    const PendingOperation *operation = change->pointer;
    NodeVolume *volume = operation->volume;

    switch ((unsigned)change->what) {
    case CHANGE_EXPANDED:
        volume->actual_bytes = MAX(volume->actual_bytes, volume->desired_bytes);
        volume->failed_finally = FALSE;
        return;
    case CHANGE_EXPANSION_FAILED:
        volume->failed_finally = TRUE;
        return;
    default:
        volume->only_offline = TRUE;
        return;
    }
}

/* ---- An expansion: as an operation of its own, or at the end of a mount ---- */

/* The claim as the plan has read or written it last. NULL: it is gone */
static const Claim *
claim_in_hand(const Plan *plan)
{
    for (int step = plan_last_step(plan); step >= 0; step--) {
        const Object *object = plan_object(plan, step);
        if (object != NULL && object_kind(object) == KIND_CLAIM)
            return CLAIM_CONST(object);
    }
    return NULL;
}

/* RSZ-53: a target in the status asks for reports on how it goes. */
gboolean
volume_expansion_is_told(const Claim *claim)
{
    return claim->allocated_bytes > 0 || claim_resize_status(claim) != RESIZE_NONE;
}

static int64_t
target_bytes(const PendingOperation *operation, const Claim *claim)
{
    return volume_expansion_is_told(claim) ? claim->allocated_bytes
                                           : operation_pv(operation)->capacity_bytes;
}

/* The expansion is over, for good or for now. A mount is done. */
static void
end_well(Plan *plan, const PendingOperation *operation)
{
    if (operation->doing == OPERATION_MOUNT)
        kubelet_add_change(plan, CHANGE_MOUNT, operation, MOUNT_DONE);
}

/* RSZ-52 and KVM-56: a mount that fails here is uncertain; the expansion of a volume in use is
 * tried again. */
static void
end_failed(Plan *plan, const PendingOperation *operation, const char *cause)
{
    const Object *pod = operation->target->worker->pod;
    gboolean mounts = operation->doing == OPERATION_MOUNT;
    const char *text = plan_internf(plan, "%s for volume \"%s\" : %s",
                                    mounts ? "MountVolume.Setup failed while expanding volume"
                                           : "NodeExpandVolume.NodeExpandVolume failed",
                                    object_name(operation->volume->pv), cause);

    if (mounts)
        kubelet_add_change(plan, CHANGE_MOUNT, operation, MOUNT_UNCERTAIN);
    plan_event(plan, pod, "Warning", mounts ? "FailedMount" : "VolumeResizeFailed", "%s", text);
    plan_fail(plan, "%s", text);
}

static void
volume_expansion_decide_told(const void *data, Plan *plan)
{
    const Kubelet *self = data;
    const PendingOperation *operation = plan_operation(plan);
    const Claim *claim = claim_in_hand(plan);
    const char *text;

    if (plan_has_failed(plan)) {
        end_failed(plan, operation, plan_last_message(plan));
        return;
    }
    text = plan_internf(plan, "MountVolume.NodeExpandVolume succeeded for volume \"%s\" %s",
                        object_name(operation->volume->pv), self->base.node_name);
    kubelet_add_change(plan, CHANGE_EXPANDED, operation, 0);
    plan_event(plan, operation->target->worker->pod, "Normal", "FileSystemResizeSuccessful", "%s",
               text);
    plan_event(plan, &claim->meta, "Normal", "FileSystemResizeSuccessful", "%s", text);
    end_well(plan, operation);
}

static void
add_success(const Kubelet *self, Plan *plan, const PendingOperation *operation)
{
    const Claim *claim = claim_in_hand(plan);
    ResizeMark *mark = plan_new_arg(plan, ResizeMark);

    plan_because(plan, "RSZ-54.4");
    mark->capacity_bytes = target_bytes(operation, claim);
    resize_mark_set_status(mark, RESIZE_NONE, self->base.strings);
    plan_patch_status_at(plan, &claim->meta, resize_mark_apply, mark, PLAN_DECIDE);
    plan_then(plan, volume_expansion_decide_told);
}

/* In 1.32 a wrapper hides the code of an error, so even a time-out counts as final. */
static gboolean
is_infeasible(const PendingOperation *operation, const Claim *claim, CsiCode code)
{
    return resize_error_class(code) == RESIZE_ERROR_INFEASIBLE ||
           (claim->request_bytes != target_bytes(operation, claim) &&
            operation->volume->failed_finally);
}

static void
add_failure(const Kubelet *self, Plan *plan, const CsiPluginResult *result)
{
    const PendingOperation *operation = plan_operation(plan);
    const Claim *claim = claim_in_hand(plan);
    ResizeMark *mark = plan_new_arg(plan, ResizeMark);
    const char *error = result->error;
    gboolean in_use = result->code == CSI_FAILED_PRECONDITION;

    plan_because(plan, "RSZ-54.5");
    kubelet_add_change(plan, CHANGE_EXPANSION_FAILED, operation, 0);
    if (in_use)
        kubelet_add_change(plan, CHANGE_ONLY_OFFLINE, operation, 0);
    if (result->code != CSI_OK)
        error = plan_internf(plan, "Expander.NodeExpand failed to expand the volume : %s", error);
    if (volume_expansion_is_told(claim)) {
        mark->keep_conditions = TRUE;
        mark->by_kubelet = TRUE;
        if (is_infeasible(operation, claim, result->code))
            resize_mark_set_status(mark, RESIZE_NODE_INFEASIBLE, self->base.strings);
        resize_mark_set_condition(mark, CONDITION_NODE_RESIZE_ERROR,
                                  plan_internf(plan, "failed to expand pvc with %s", error),
                                  plan_now(plan), self->base.strings);
        plan_patch_status_at(plan, &claim->meta, resize_mark_apply, mark, PLAN_GO_ON);
    }
    if (in_use && operation->doing == OPERATION_MOUNT)
        end_well(plan, operation);
    else
        end_failed(plan, operation, error);
}

static void
expanded(const Kubelet *self, Plan *plan, const CsiPluginResult *result)
{
    switch (result->end) {
    case CSI_PLUGIN_UNSUPPORTED: /* the driver has nothing to do here */
        plan_because(plan, "KVM-55");
        add_success(self, plan, plan_operation(plan));
        return;
    case CSI_PLUGIN_DONE:
        add_success(self, plan, plan_operation(plan));
        return;
    case CSI_PLUGIN_TRANSIENT: /* nothing is told to the claim */
        end_failed(plan, plan_operation(plan), result->error);
        return;
    case CSI_PLUGIN_FAILED:
    case CSI_PLUGIN_UNCERTAIN:
        add_failure(self, plan, result);
        return;
    }
    g_assert_not_reached();
}

static void
add_expand(const Kubelet *self, Plan *plan, const PendingOperation *operation)
{
    int64_t bytes = target_bytes(operation, claim_in_hand(plan));

    if (volume_plugin_is_csi(operation->volume->plugin))
        csi_mounter_expand(self, plan, bytes, expanded);
    else
        in_process_expand(self, plan, bytes, expanded);
}

static void
volume_expansion_decide_marked(const void *data, Plan *plan)
{
    const PendingOperation *operation = plan_operation(plan);

    if (plan_has_failed(plan))
        end_failed(plan, operation, plan_last_message(plan));
    else
        add_expand(data, plan, operation);
}

/* ---- Whether to: RSZ-54.1 ---- */

typedef enum {
    TELLS_STATUS = 1 << 0,  /* RSZ-53 */
    AWAITS_NODE = 1 << 1,   /* NodeResizePending or NodeResizeInProgress */
    NO_STATUS = 1 << 2,     /* the claim has no resize status */
    LARGE_ENOUGH = 1 << 3,  /* the claim's capacity is the target's already */
    ON_MANY_NODES = 1 << 4, /* ReadWriteMany: another node may have done its part */
    EXPANSION_FACTS_END = 1 << 5,
} ExpansionFacts;

typedef enum {
    EXPAND,         /* and tell that it begins */
    EXPAND_QUIETLY, /* without a word */
    DONE,
    NOT_YET, /* the resizer is to act first; the next pass looks again */
} ExpansionAction;

static const Rule expansion_table[] = {
    {"RSZ-54.2",  TELLS_STATUS | AWAITS_NODE,                              0,                           EXPAND        },
    {"RSZ-54.1a", TELLS_STATUS | NO_STATUS | LARGE_ENOUGH | ON_MANY_NODES, 0,                           EXPAND_QUIETLY},
    {"RSZ-54.1b", TELLS_STATUS | NO_STATUS | LARGE_ENOUGH,                 ON_MANY_NODES,               DONE          },
    {"RSZ-54.1c", TELLS_STATUS,                                            AWAITS_NODE | NO_STATUS,     NOT_YET       },
    {"RSZ-54.1d", TELLS_STATUS | NO_STATUS,                                LARGE_ENOUGH,                NOT_YET       },
    {"RSZ-56.1",  LARGE_ENOUGH,                                            TELLS_STATUS,                DONE          },
    {"RSZ-56",    0,                                                       TELLS_STATUS | LARGE_ENOUGH, EXPAND_QUIETLY},
};

static const RuleBound expansion_bounds[] = {
    {.given = AWAITS_NODE, .none = NO_STATUS},
};

const RuleTable kubelet_expansion_rules = RULE_TABLE("kubelet: whether to expand",
                                                     EXPANSION_FACTS_END,
                                                     expansion_table,
                                                     RULE_BOUNDS(expansion_bounds));

static unsigned
expansion_facts(const PendingOperation *operation, const Claim *claim)
{
    ResizeStatus status = claim_resize_status(claim);
    unsigned facts = 0;

    facts |= volume_expansion_is_told(claim) ? TELLS_STATUS : 0;
    facts |= status & (RESIZE_NODE_PENDING | RESIZE_NODE_IN_PROGRESS) ? AWAITS_NODE : 0;
    facts |= status == RESIZE_NONE ? NO_STATUS : 0;
    facts |= claim->capacity_bytes >= target_bytes(operation, claim) ? LARGE_ENOUGH : 0;
    facts |= claim->access_modes & ACCESS_RWX ? ON_MANY_NODES : 0;
    return facts;
}

static void
add_begin(const Kubelet *self, Plan *plan, const Claim *claim)
{
    ResizeMark *mark = plan_new_arg(plan, ResizeMark);

    mark->keep_conditions = TRUE;
    resize_mark_set_status(mark, RESIZE_NODE_IN_PROGRESS, self->base.strings);
    plan_patch_status_at(plan, &claim->meta, resize_mark_apply, mark, PLAN_DECIDE);
    plan_then(plan, volume_expansion_decide_marked);
}

static void
volume_expansion_judge(const Kubelet *self,
                       Plan *plan,
                       const PendingOperation *operation,
                       const Claim *claim)
{
    switch ((ExpansionAction)plan_judge(plan, &kubelet_expansion_rules,
                                        expansion_facts(operation, claim))) {
    case EXPAND:
        add_begin(self, plan, claim);
        return;
    case EXPAND_QUIETLY:
        add_expand(self, plan, operation);
        return;
    case DONE:
        kubelet_add_change(plan, CHANGE_EXPANDED, operation, 0);
        end_well(plan, operation);
        return;
    case NOT_YET:
        end_well(plan, operation);
        return;
    }
    g_assert_not_reached();
}

static void
volume_expansion_decide_read(const void *data, Plan *plan)
{
    const PendingOperation *operation = plan_operation(plan);

    if (plan_has_failed(plan))
        end_failed(plan, operation, plan_last_message(plan));
    else
        volume_expansion_judge(data, plan, operation, claim_in_hand(plan));
}

void
volume_expansion_decide(const void *self, Plan *plan)
{
    const PendingOperation *operation = plan_operation(plan);

    (void)self;
    plan_because(plan, "RSZ-51");
    plan_get(plan, operation_pv(operation)->claim_ref.claim, PLAN_DECIDE);
    plan_then(plan, volume_expansion_decide_read);
}

/* ---- At the end of a mount: RSZ-52 ---- */

static void
tell_read_only(Plan *plan, const PendingOperation *operation, const Claim *claim)
{
    const char *text =
        plan_internf(plan,
                     "MountVolume.NodeExpandVolume failed for volume \"%s\" requested "
                     "read-only file system",
                     object_name(operation->volume->pv));

    plan_event(plan, operation->target->worker->pod, "Warning", "FileSystemResizeFailed", "%s",
               text);
    plan_event(plan, &claim->meta, "Warning", "FileSystemResizeFailed", "%s", text);
}

/* The claim has been read, the pod's mount is there. */
static void
decide_mounted(const void *data, Plan *plan)
{
    const PendingOperation *operation = plan_operation(plan);
    const Volume *pv = operation_pv(operation);
    const Claim *claim = claim_in_hand(plan);

    plan_because(plan, "RSZ-52");
    if (plan_has_failed(plan)) {
        end_failed(plan, operation, plan_last_message(plan));
    } else if (claim->capacity_bytes >= pv->capacity_bytes) {
        end_well(plan, operation);
    } else if (operation->target->spec->read_only || pv->source->read_only) {
        tell_read_only(plan, operation, claim);
        end_well(plan, operation);
    } else {
        volume_expansion_judge(data, plan, operation, claim);
    }
}

void
volume_expansion_add_at_mount(Plan *plan, const PendingOperation *operation)
{
    plan_because(plan, "KVM-54");
    plan_get(plan, operation_pv(operation)->claim_ref.claim, PLAN_DECIDE);
    plan_then(plan, decide_mounted);
}
