/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/workloads/deployment/private.h"

/* From the old ReplicaSets to the new one: rolling.go, recreate.go. */

void
deployment_plan_cleanup(Plan *plan, const DeploymentSync *sync)
{
    g_autoptr(GPtrArray) sets = g_ptr_array_new();

    for (unsigned i = 0; i < sync->old->len; i++)
        if (!object_is_deleted(sync->old->pdata[i]))
            g_ptr_array_add(sets, sync->old->pdata[i]);
    int64_t n = (int64_t)sets->len - sync->deployment->revision_history_limit;
    plan_because(plan, "WL-71");
    for (int64_t i = 0; i < n; i++) {
        unsigned lowest = 0;
        for (unsigned k = 1; k < sets->len; k++)
            if (set_revision(sets->pdata[k]) < set_revision(sets->pdata[lowest]))
                lowest = k;
        const ReplicaSet *set = g_ptr_array_remove_index(sets, lowest);
        if (set->status_replicas == 0 && set->replicas == 0 &&
            (int32_t)set->meta.generation <= set->observed_generation)
            plan_delete(plan, set->meta.key, (ObjectUid){0, 0}, -1, PLAN_GONE_IS_FINE);
    }
}

static void
decide_rollout_status(const void *data, Plan *plan)
{
    deployment_plan_progress(data, plan, plan_notes(plan));
}

/* Scales and cleaning up go first, then the status is told. */
static void
plan_rollout_end(Plan *plan, const DeploymentSync *sync, gboolean is_still)
{
    if (is_still && deployment_is_complete(sync->deployment, &sync->status))
        deployment_plan_cleanup(plan, sync);
    plan_then(plan, decide_rollout_status);
}

/* WL-71. */
void
deployment_decide_rolling(const void *data, Plan *plan)
{
    const DeploymentSync *sync = plan_notes(plan);
    const ReplicaSet *set = sync->new_set;
    g_autoptr(GPtrArray) old = sets_active(sync->old);
    g_autoptr(GArray) scales = g_array_new(FALSE, FALSE, sizeof(SetScale));
    SetScale up = {.set = set, .replicas = new_set_replicas(sync->deployment, sync->all, set)};

    (void)data;
    if (set->replicas > sync->deployment->replicas)
        up.replicas = sync->deployment->replicas;
    if (up.replicas != set->replicas) {
        g_array_append_val(scales, up);
    } else {
        g_array_unref(scales);
        scales = old_sets_scales(sync->deployment, old, set);
    }
    deployment_plan_scales(plan, sync->deployment, scales);
    plan_rollout_end(plan, sync, scales->len == 0);
}

static gboolean
has_running_pods(const DeploymentController *self, const ObjectKey *set)
{
    unsigned n;
    const Object *const *pods = informer_index_get(self->pods_by_controller, set, &n);

    for (unsigned i = 0; i < n; i++)
        if (!pod_is_terminal(POD_CONST(pods[i])))
            return TRUE;
    return FALSE;
}

static gboolean
old_pods_run(const DeploymentController *self, const DeploymentSync *sync)
{
    if (sets_sum(sync->old).there > 0)
        return TRUE;
    for (unsigned i = 0; i < sync->old->len; i++)
        if (has_running_pods(self, ((const Object *)sync->old->pdata[i])->key))
            return TRUE;
    return FALSE;
}

static void
decide_recreate_up(const void *data, Plan *plan)
{
    const DeploymentSync *sync = plan_notes(plan);
    g_autoptr(GArray) scales = g_array_new(FALSE, FALSE, sizeof(SetScale));
    SetScale up = {.set = sync->new_set, .replicas = sync->deployment->replicas};

    (void)data;
    if (up.replicas != sync->new_set->replicas)
        g_array_append_val(scales, up);
    plan_because(plan, "WL-73");
    deployment_plan_scales(plan, sync->deployment, scales);
    plan_rollout_end(plan, sync, TRUE);
}

/* WL-73. */
void
deployment_decide_recreate(const void *data, Plan *plan)
{
    const DeploymentController *self = data;
    DeploymentSync *sync = plan_notes(plan);
    g_autoptr(GPtrArray) old = sets_active(sync->old);
    g_autoptr(GArray) scales = g_array_new(FALSE, FALSE, sizeof(SetScale));

    plan_because(plan, "WL-73");
    for (unsigned i = 0; i < old->len; i++) {
        SetScale down = {.set = old->pdata[i], .replicas = 0};
        g_array_append_val(scales, down);
    }
    if (scales->len > 0) {
        deployment_plan_scales(plan, sync->deployment, scales);
        plan_then(plan, decide_rollout_status);
    } else if (old_pods_run(self, sync)) {
        deployment_plan_progress(self, plan, sync);
    } else if (sync->new_set == NULL) {
        deployment_plan_new_set(self, plan, sync, TRUE, decide_recreate_up);
    } else {
        decide_recreate_up(data, plan);
    }
}
