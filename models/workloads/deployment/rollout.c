/* SPDX-License-Identifier: GPL-3.0-or-later */
/* From the old ReplicaSets to the new one: rolling.go, recreate.go and the scaling of sync.go. A
 * rule table chooses one of six ways from the pause, the strategy and the old pods; sets.c computes
 * the sizes. A rolling sync either grows the new set or shrinks old ones, never both. The status is
 * written after the sets, and old empty sets beyond revisionHistoryLimit are deleted once the
 * rollout is complete. */
#include "models/workloads/deployment/private.h"

/* Deletes empty old sets beyond revisionHistoryLimit, the lowest revisions first. */
static void
plan_cleanup(Plan *plan, const DeploymentSync *sync)
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

/* Sets are resized and deleted first, then the status is written. */
static void
plan_rollout_end(Plan *plan, const DeploymentSync *sync, gboolean is_still)
{
    if (is_still && deployment_is_complete(sync->deployment, &sync->status))
        plan_cleanup(plan, sync);
    plan_then(plan, deployment_decide_progress);
}

static void
decide_rolling(const void *data, Plan *plan)
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
    deployment_plan_scales(plan, sync, scales);
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
    deployment_plan_scales(plan, sync, scales);
    plan_rollout_end(plan, sync, TRUE);
}

static void
plan_recreate_down(Plan *plan, const DeploymentSync *sync)
{
    g_autoptr(GPtrArray) old = sets_active(sync->old);
    g_autoptr(GArray) scales = g_array_new(FALSE, FALSE, sizeof(SetScale));

    for (unsigned i = 0; i < old->len; i++) {
        SetScale down = {.set = old->pdata[i], .replicas = 0};
        g_array_append_val(scales, down);
    }
    deployment_plan_scales(plan, sync, scales);
    plan_then(plan, deployment_decide_progress);
}

/* ---- Scaling of the deployment itself ---- */

static void
plan_scaling(Plan *plan, const DeploymentSync *sync)
{
    g_autoptr(GArray) scales = scaling_event_scales(sync->deployment, sync->old, sync->new_set);

    deployment_plan_scales(plan, sync, scales);
    if (sync->deployment->paused)
        plan_cleanup(plan, sync);
    plan_then(plan, deployment_decide_counts);
}

static gboolean
is_rescaled(const DeploymentSync *sync)
{
    g_autoptr(GPtrArray) active = sets_active(sync->all);

    for (unsigned i = 0; i < active->len; i++) {
        int64_t desired = set_annotated(active->pdata[i], ANNOTATION_DESIRED);
        if (desired >= 0 && desired != sync->deployment->replicas)
            return TRUE;
    }
    return FALSE;
}

/* ---- The choice ---- */

enum {
    PAUSED = 1 << 0,
    RESCALED = 1 << 1, /* the annotations of its sets name another size */
    RECREATE = 1 << 2,
    ACTIVE = 1 << 3,  /* an old set wants pods */
    RUNNING = 1 << 4, /* an old pod is neither over nor gone */
    CREATED = 1 << 5, /* the new set is there */
    ROLLOUT_FACTS_END = 1 << 6,
};

typedef enum {
    ROLLOUT_SCALE,
    ROLLOUT_UPDATE,
    ROLLOUT_SHRINK, /* old sets get size 0 */
    ROLLOUT_WAIT,
    ROLLOUT_CREATE, /* the new set, then as ROLLOUT_GROW */
    ROLLOUT_GROW,
} RolloutAction;

/* Columns: all of these hold, none of these, then, and if not 0 one of these. */
static const Rule rollout_table[] = {
    {"WL-71", 0,                  0,                                              ROLLOUT_SCALE,  PAUSED | RESCALED},
    {"WL-71", 0,                  PAUSED | RESCALED | RECREATE,                   ROLLOUT_UPDATE, 0                },
    {"WL-73", RECREATE | ACTIVE,  PAUSED | RESCALED,                              ROLLOUT_SHRINK, 0                },
    {"WL-73", RECREATE | RUNNING, PAUSED | RESCALED | ACTIVE,                     ROLLOUT_WAIT,   0                },
    {"WL-73", RECREATE,           PAUSED | RESCALED | ACTIVE | RUNNING | CREATED, ROLLOUT_CREATE, 0                },
    {"WL-73", RECREATE | CREATED, PAUSED | RESCALED | ACTIVE | RUNNING,           ROLLOUT_GROW,   0                },
};

const RuleTable deployment_rollout_rules =
    RULE_TABLE("rollouts of Deployments", ROLLOUT_FACTS_END, rollout_table);

static unsigned
rollout_facts(const DeploymentController *self, const DeploymentSync *sync)
{
    return (sync->deployment->paused ? PAUSED : 0) | (is_rescaled(sync) ? RESCALED : 0) |
           (sync->deployment->recreate ? RECREATE : 0) |
           (sets_sum(sync->old).wanted > 0 ? ACTIVE : 0) |
           (old_pods_run(self, sync) ? RUNNING : 0) | (sync->new_set != NULL ? CREATED : 0);
}

void
deployment_decide_rollout(const void *data, Plan *plan)
{
    const DeploymentController *self = data;
    DeploymentSync *sync = plan_notes(plan);
    const Rule *rule = rules_find(&deployment_rollout_rules, rollout_facts(self, sync), NULL);

    plan_because(plan, rule->id);
    switch ((RolloutAction)rule->then) {
    case ROLLOUT_SCALE:
        plan_scaling(plan, sync);
        return;
    case ROLLOUT_UPDATE:
        deployment_plan_new_set(self, plan, sync, TRUE, decide_rolling);
        return;
    case ROLLOUT_SHRINK:
        plan_recreate_down(plan, sync);
        return;
    case ROLLOUT_WAIT:
        deployment_decide_progress(self, plan);
        return;
    case ROLLOUT_CREATE:
        deployment_plan_new_set(self, plan, sync, TRUE, decide_recreate_up);
        return;
    case ROLLOUT_GROW:
        decide_recreate_up(self, plan);
        return;
    }
    g_assert_not_reached();
}
