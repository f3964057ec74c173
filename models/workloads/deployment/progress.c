/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/workloads/deployment/private.h"

/* Writes to a Deployment's status: sync.go and progress.go. */

typedef struct {
    DeploymentStatus status;
    StringPair revision; /* the annotation; no value: it stays as it is */
} ProgressStatusEdit;

static gboolean
progress_edit_status(Object *object, const void *data)
{
    const ProgressStatusEdit *edit = data;

    deployment_status_put(&edit->status, DEPLOYMENT(object));
    if (edit->revision.value != NULL)
        object_set_annotation(object, edit->revision.key, edit->revision.value);
    return TRUE;
}

void
deployment_plan_status(Plan *plan, const DeploymentSync *sync, const DeploymentStatus *status)
{
    ProgressStatusEdit *edit = plan_new_arg(plan, ProgressStatusEdit);

    *edit = (ProgressStatusEdit){
        *status, {plan_internf(plan, ANNOTATION_REVISION), sync->revision}
    };
    plan_update_status(plan, &sync->deployment->meta, progress_edit_status, edit, PLAN_STOP);
}

void
deployment_plan_failure(Plan *plan, const DeploymentSync *sync)
{
    ProgressStatusEdit *edit = plan_new_arg(plan, ProgressStatusEdit);

    edit->status = sync->status;
    plan_update_status(plan, &sync->deployment->meta, progress_edit_status, edit, PLAN_GO_ON);
}

static WorkloadCondition
replica_failure(const DeploymentSync *sync)
{
    if (sync->new_set != NULL && sync->new_set->replica_failure.status != CONDITION_ABSENT)
        return sync->new_set->replica_failure;
    for (unsigned i = 0; i < sync->old->len; i++) {
        const ReplicaSet *set = sync->old->pdata[i];
        if (set->replica_failure.status != CONDITION_ABSENT)
            return set->replica_failure;
    }
    return (WorkloadCondition){.changed_at = TIME_UNSET, .updated_at = TIME_UNSET};
}

void
deployment_decide_counts(const void *data, Plan *plan)
{
    DeploymentSync *sync = plan_notes(plan);

    (void)data;
    sync->wanted =
        deployment_count(sync->deployment, &sync->status, sync->all, sync->new_set, plan_now(plan));
    plan_because(plan, "WL-71");
    if (!deployment_status_equal(&sync->wanted, &sync->status))
        deployment_plan_status(plan, sync, &sync->wanted);
}

void
deployment_decide_progress(const void *data, Plan *plan)
{
    const DeploymentController *self = data;
    DeploymentSync *sync = plan_notes(plan);
    const Deployment *deployment = sync->deployment;
    SimTime now = plan_now(plan);

    sync->wanted = deployment_count(deployment, &sync->status, sync->all, sync->new_set, now);
    deployment_tell_progress(deployment, &sync->status, &sync->wanted, sync->new_set,
                             self->base.strings, now);
    WorkloadCondition failure = replica_failure(sync);
    if (failure.status == CONDITION_ABSENT)
        condition_remove(&sync->wanted.failure);
    else
        condition_set(&sync->wanted.failure, failure.status, failure.reason, failure.message, now);
    plan_because(plan, "WL-71");
    if (!deployment_status_equal(&sync->wanted, &sync->status)) {
        deployment_plan_status(plan, sync, &sync->wanted);
        return;
    }
    SimTime after = deployment_deadline_after(deployment, &sync->status, &sync->wanted, now);
    if (after >= SIM_SECOND)
        plan_requeue_after(plan, after + SIM_SECOND);
    else if (after >= 0)
        plan_requeue_rate_limited(plan);
}
