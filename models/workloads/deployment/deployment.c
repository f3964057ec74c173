/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The Deployment controller's handlers, and the order of a sync: adopt ReplicaSets, note a pause,
 * then new-set.c and rollout.c. A change of a pod wakes a Deployment only if its strategy is
 * Recreate and the last pod of all its sets is gone (WL-73). The sync works on the version of the
 * Deployment with which it began; the next event brings the result of its writes. */
#include "models/workloads/deployment/deployment.h"

#include "models/cluster/cluster.h"
#include "models/cluster/kube-controller-manager.h"
#include "models/workloads/deployment/private.h"
#include "models/workloads/owner-controller.h"

#define RETRIES_MAX 15 /* WL-74 */

static void
deployment_sync_clear(void *data)
{
    DeploymentSync *sync = data;

    claimed_clear(&sync->claimed);
    g_clear_pointer(&sync->all, g_ptr_array_unref);
    g_clear_pointer(&sync->old, g_ptr_array_unref);
    if (sync->new_set != NULL)
        object_unref(&sync->new_set->meta);
    object_unref(&sync->deployment->meta);
}

/* ---- Handlers ---- */

static void
set_changed(void *data, const Object *before, const Object *after)
{
    DeploymentController *self = data;
    const ObjectKey *was = before == NULL ? NULL : controller_of_kind(before, KIND_DEPLOYMENT);
    const ObjectKey *is = after == NULL ? NULL : controller_of_kind(after, KIND_DEPLOYMENT);

    if (was != NULL)
        workers_add(self->workers, was);
    if (is != NULL && is != was)
        workers_add(self->workers, is);
    if (after != NULL && object_controller(after) == NULL)
        wake_selecting(self->workers, self->deployments, after, 0);
}

/* WL-73: a Recreate goes on when the last pod of all sets is gone. */
static void
deployment_pod_changed(void *data, const Object *before, const Object *after)
{
    DeploymentController *self = data;
    const ObjectKey *key = after != NULL ? NULL : controller_of_kind(before, KIND_REPLICA_SET);
    const Object *set = key == NULL ? NULL : informer_get(self->sets, key);
    const ObjectKey *owner = set == NULL ? NULL : controller_of_kind(set, KIND_DEPLOYMENT);
    const Object *deployment = owner == NULL ? NULL : informer_get(self->deployments, owner);
    unsigned n, n_pods;

    if (deployment == NULL || !DEPLOYMENT_CONST(deployment)->recreate)
        return;
    const Object *const *sets = informer_index_get(self->sets_by_controller, owner, &n);
    for (unsigned i = 0; i < n; i++) {
        informer_index_get(self->pods_by_controller, sets[i]->key, &n_pods);
        if (n_pods > 0)
            return;
    }
    workers_add(self->workers, owner);
}

/* ---- Its ReplicaSets ---- */

void
deployment_split_sets(DeploymentSync *sync)
{
    g_clear_pointer(&sync->all, g_ptr_array_unref);
    g_clear_pointer(&sync->old, g_ptr_array_unref);
    sync->all = g_ptr_array_new();
    sync->old = g_ptr_array_new();
    for (unsigned i = 0; i < sync->claimed.owned->len; i++) {
        const ReplicaSet *set = sync->claimed.owned->pdata[i];
        if (sync->new_set != NULL && set->meta.key == sync->new_set->meta.key)
            continue;
        g_ptr_array_add(sync->all, (ReplicaSet *)set);
        g_ptr_array_add(sync->old, (ReplicaSet *)set);
    }
    if (sync->new_set != NULL)
        g_ptr_array_add(sync->all, (ReplicaSet *)sync->new_set);
    sets_sort_by_creation(sync->all);
    sets_sort_by_creation(sync->old);
}

/* ---- The sync ---- */

/* Notes a pause, or its end, in the condition Progressing. Returns: whether there is something new
 * */
static gboolean
tell_pause(const Deployment *deployment, DeploymentStatus *status, SimTime now)
{
    WorkloadCondition *condition = &status->progressing;
    gboolean is_told = g_strcmp0(condition->reason, "DeploymentPaused") == 0;

    if (!deployment_has_deadline(deployment) ||
        g_strcmp0(condition->reason, REASON_TIMED_OUT) == 0 || is_told == deployment->paused)
        return FALSE;
    if (deployment->paused)
        condition_set(condition, CONDITION_UNKNOWN, "DeploymentPaused", "Deployment is paused",
                      now);
    else
        condition_set(condition, CONDITION_UNKNOWN, "DeploymentResumed", "Deployment is resumed",
                      now);
    return TRUE;
}

static void
decide_owned(const void *data, Plan *plan)
{
    const DeploymentController *self = data;
    DeploymentSync *sync = plan_notes(plan);

    if (object_is_deleted(&sync->deployment->meta)) {
        deployment_decide_counts(data, plan);
        return;
    }
    if (tell_pause(sync->deployment, &sync->status, plan_now(plan))) {
        plan_because(plan, "WL-71");
        deployment_plan_status(plan, sync, &sync->status);
        sync->next = deployment_decide_rollout;
        plan_then(plan, deployment_decide_next);
        return;
    }
    deployment_plan_new_set(self, plan, sync, FALSE, deployment_decide_rollout);
}

static void
sync_begin(const DeploymentController *self, DeploymentSync *sync, const Object *deployment)
{
    sync->minor = cluster_release(self->base.cluster)->minor;
    sync->deployment = DEPLOYMENT_CONST(object_ref(deployment));
    sync->status = deployment_status_of(sync->deployment);
    sync->revision = object_annotation(deployment, ANNOTATION_REVISION);
    claimed_look(&sync->claimed, &(ClaimOptions){
                                     .owner = deployment,
                                     .selector = sync->deployment->selector,
                                     .by_controller = self->sets_by_controller,
                                     .orphans = self->orphan_sets,
                                 });
    sets_sort_by_creation(sync->claimed.owned);
    sync->new_set = sets_find_new(sync->claimed.owned, sync->deployment);
    if (sync->new_set != NULL)
        object_ref(&sync->new_set->meta);
    deployment_split_sets(sync);
}

static void
decide_deployment(const void *data, Plan *plan)
{
    const DeploymentController *self = data;
    const Object *deployment = informer_get(self->deployments, plan_key(plan));

    if (deployment == NULL)
        return;
    DeploymentSync *sync = plan_new_notes(plan, DeploymentSync, deployment_sync_clear);
    sync_begin(self, sync, deployment);
    if (claimed_is_settled(&sync->claimed)) {
        decide_owned(data, plan);
        return;
    }
    plan_because(plan, "WL-71");
    claimed_plan(&sync->claimed, plan, deployment);
    plan_then(plan, decide_owned);
}

#define SELF DeploymentController
static const ComponentPart parts[] = {
    HAS_INFORMER(deployments, KIND_DEPLOYMENT, WAKES(workers)),
    HAS_INFORMER(sets,
                 KIND_REPLICA_SET,
                 WITH_INDEX(sets_by_controller, index_by_controller),
                 .changed = set_changed),
    HAS_INFORMER(pods,
                 KIND_POD,
                 WITH_INDEX(pods_by_controller, index_by_controller),
                 .changed = deployment_pod_changed),
    HAS_INFORMER(sets, KIND_REPLICA_SET, WITH_INDEX(orphan_sets, index_orphans)),
    HAS_WORKERS(workers,
                "deployment",
                decide_deployment,
                KCM_SYNCS(KIND_DEPLOYMENT),
                .retries_max = RETRIES_MAX),
};

const ModelClass deployment_controller_class = {
    KCM_MODEL("deployment-controller"),
    .event_source = "deployment-controller",
    PARTS(parts),
    .rule_tables = RULE_TABLES(
        &deployment_rollout_rules, &deployment_progress_rules, &deployment_scaling_rules),
};
