/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/workloads/ttl-after-finished/ttl-after-finished.h"

#include "models/api/workload.h"
#include "models/cluster/kube-controller-manager.h"
#include "models/plan/plan.h"

/* Deletes Jobs ttlSecondsAfterFinished after their end (WL-87): pkg/controller/ttlafterfinished. */

typedef struct {
    Component base;
    Informer *jobs;
    Workers *workers;
} TtlController;

static gboolean
is_to_be_cleaned_up(const Job *job)
{
    return job->ttl_s >= 0 && job_is_finished(job) && !object_is_deleted(&job->meta);
}

static SimTime
expires_at(const Job *job)
{
    const WorkloadCondition *end =
        job->complete.status == CONDITION_TRUE ? &job->complete : &job->has_failed;

    return sim_time_add(end->changed_at, job->ttl_s * SIM_SECOND);
}

/* It may have got a longer life since it was last seen. */
static void
decide_delete(const void *data, Plan *plan)
{
    const Object *fresh = plan_object(plan, plan_last_step(plan));

    (void)data;
    if (fresh == NULL || !is_to_be_cleaned_up(JOB_CONST(fresh)))
        return;
    SimTime left = expires_at(JOB_CONST(fresh)) - plan_now(plan);
    if (left > 0) {
        plan_requeue_after(plan, left);
        return;
    }
    plan_because(plan, "WL-87");
    plan_delete(plan, fresh->key, fresh->uid, -1, PLAN_GONE_IS_FINE);
}

static void
decide_job(const void *data, Plan *plan)
{
    const TtlController *self = data;
    const Object *job = informer_get(self->jobs, plan_key(plan));

    if (job == NULL || !is_to_be_cleaned_up(JOB_CONST(job)))
        return;
    SimTime left = expires_at(JOB_CONST(job)) - plan_now(plan);
    if (left > 0) {
        plan_requeue_after(plan, left);
        return;
    }
    plan_because(plan, "WL-87");
    plan_get(plan, job->key, PLAN_GONE_IS_FINE);
    plan_then(plan, decide_delete);
}

static void
job_changed(void *data, const Object *before, const Object *after)
{
    const TtlController *self = data;

    (void)before;
    if (after != NULL && is_to_be_cleaned_up(JOB_CONST(after)))
        workers_add(self->workers, after->key);
}

static void
init(void *data)
{
    TtlController *self = data;
    const KubeControllerManagerOptions *options = self->base.options;

    self->jobs = process_informer(self->base.process, KIND_JOB, NULL);
    self->workers = workers_new(
        &self->base, &(WorkersOptions){
                         .name = "ttl_jobs_to_delete",
                         .n_workers = (unsigned)options->concurrent_ttl_after_finished_syncs,
                         .limit = rate_limit_default,
                         .retry = TRUE,
                         .sync = decide_job,
                     });
    informer_add_handler(self->jobs, job_changed, self);
}

static void
clear(void *data)
{
    TtlController *self = data;

    workers_free(self->workers);
}

const ModelClass ttl_after_finished_class = {
    .name = "ttl-after-finished-controller",
    .process = &kube_controller_manager_process,
    .size = sizeof(TtlController),
    .client_qps = kube_controller_manager_client_qps,
    .init = init,
    .clear = clear,
};
