/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The part of a claim's status that says how far an expansion is: allocatedResourceStatuses and
 * conditions. kube-controller-manager, the external-resizer and the kubelet merge conditions by
 * different rules (MergeResizeConditionOnPVC() and the resizer's), so the merge is told whose
 * conditions come. */
#include "resize-status.h"

#include <string.h>

static const struct {
    ResizeStatus status;
    const char *name;
} statuses[] = {
    {RESIZE_CONTROLLER_IN_PROGRESS, "ControllerResizeInProgress"},
    {RESIZE_CONTROLLER_INFEASIBLE,  "ControllerResizeInfeasible"},
    {RESIZE_NODE_PENDING,           "NodeResizePending"         },
    {RESIZE_NODE_IN_PROGRESS,       "NodeResizeInProgress"      },
    {RESIZE_NODE_INFEASIBLE,        "NodeResizeInfeasible"      },
};

ResizeStatus
claim_resize_status(const Claim *claim)
{
    for (unsigned i = 0; claim->resize_status != NULL && i < G_N_ELEMENTS(statuses); i++)
        if (strcmp(claim->resize_status, statuses[i].name) == 0)
            return statuses[i].status;
    return RESIZE_NONE;
}

static const char *
resize_status_name(ResizeStatus status)
{
    for (unsigned i = 0; i < G_N_ELEMENTS(statuses); i++)
        if (statuses[i].status == status)
            return statuses[i].name;
    return NULL;
}

ResizeError
resize_error_class(CsiCode code)
{
    switch ((unsigned)code) {
    case CSI_CANCELLED:
    case CSI_DEADLINE_EXCEEDED:
    case CSI_UNAVAILABLE:
    case CSI_RESOURCE_EXHAUSTED:
    case CSI_ABORTED:
        return RESIZE_ERROR_NOT_FINAL;
    case CSI_INVALID_ARGUMENT:
    case CSI_OUT_OF_RANGE:
    case CSI_NOT_FOUND:
        return RESIZE_ERROR_INFEASIBLE;
    default:
        return RESIZE_ERROR_FINAL;
    }
}

static gboolean
is_of_kind(const ClaimCondition *condition, ConditionsKind kind)
{
    static const char *const resize[] = {CONDITION_RESIZING, CONDITION_FS_RESIZE_PENDING,
                                         CONDITION_CONTROLLER_RESIZE_ERROR,
                                         CONDITION_NODE_RESIZE_ERROR, NULL};
    static const char *const modify[] = {"ModifyingVolume", "ModifyVolumeError", NULL};

    return g_strv_contains(kind == CONDITIONS_OF_MODIFY ? modify : resize, condition->type);
}

static const ClaimCondition *
resize_status_find(const ClaimCondition *items, unsigned n, const char *type)
{
    for (unsigned i = 0; i < n; i++)
        if (strcmp(items[i].type, type) == 0)
            return &items[i];
    return NULL;
}

/* MergeResizeConditionOnPVC() of pkg/volume/util/resize_util.go: with its old time and message. The
 * resizer's has no such test. */
static gboolean
stays(const ClaimCondition *old, const ClaimCondition *newer, ConditionsKind kind)
{
    return kind == CONDITIONS_OF_NODE_RESIZE && strcmp(old->status, newer->status) == 0;
}

ClaimConditions *
claim_conditions_merge(const ClaimConditions *old,
                       ConditionsKind kind,
                       const ClaimCondition *news,
                       unsigned n,
                       gboolean keep)
{
    unsigned n_old = old == NULL ? 0 : old->n_items, n_merged = 0;
    g_autofree ClaimCondition *merged = g_new(ClaimCondition, MAX(n_old + n, 1));

    for (unsigned i = 0; i < n_old; i++) {
        const ClaimCondition *condition = &old->items[i];
        const ClaimCondition *newer = resize_status_find(news, n, condition->type);
        if (!is_of_kind(condition, kind))
            merged[n_merged++] = *condition;
        else if (newer != NULL)
            merged[n_merged++] = stays(condition, newer, kind) ? *condition : *newer;
        else if (keep)
            merged[n_merged++] = *condition;
    }
    for (unsigned i = 0; i < n; i++)
        if (resize_status_find(merged, n_merged, news[i].type) == NULL)
            merged[n_merged++] = news[i];
    return claim_conditions_new(merged, n_merged);
}

void
resize_mark_set_status(ResizeMark *self, ResizeStatus status, Strings *strings)
{
    self->status = status;
    self->status_name = strings_intern(strings, resize_status_name(status));
}

void
resize_mark_set_condition(
    ResizeMark *self, const char *type, const char *message, SimTime now, Strings *strings)
{
    self->condition = (ClaimCondition){
        .type = strings_intern(strings, type),
        .status = strings_intern(strings, "True"),
        .message = message,
        .changed_at = now - now % SIM_SECOND,
    };
}

static gboolean
set_bytes(int64_t *field, int64_t bytes)
{
    gboolean changed = bytes != 0 && *field != bytes;

    if (changed)
        *field = bytes;
    return changed;
}

gboolean
resize_mark_apply(Object *object, const void *data)
{
    const ResizeMark *mark = data;
    Claim *claim = CLAIM(object);
    unsigned n = mark->condition.type == NULL ? 0 : 1;
    gboolean changed = set_bytes(&claim->allocated_bytes, mark->allocated_bytes);

    changed |= set_bytes(&claim->capacity_bytes, mark->capacity_bytes);
    if (mark->status != 0 && claim->resize_status != mark->status_name) {
        claim->resize_status = mark->status_name;
        changed = TRUE;
    }
    return claim_set_conditions(
               claim, claim_conditions_merge(claim->conditions,
                                             mark->by_kubelet ? CONDITIONS_OF_NODE_RESIZE
                                                              : CONDITIONS_OF_RESIZE,
                                             &mark->condition, n, mark->keep_conditions)) ||
           changed;
}
