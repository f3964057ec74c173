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

enum {
    LIMITED = 1 << 0, /* ttlSecondsAfterFinished is set */
    FINISHED = 1 << 1,
    GOING = 1 << 2,
    EXPIRED = 1 << 3,
    TTL_FACTS_END = 1 << 4,
};

typedef enum {
    TTL_LEAVE,
    TTL_WAIT,
    TTL_DELETE,
} TtlAction;

static const Rule ttl_table[] = {
    {"WL-87", 0,                            LIMITED,         TTL_LEAVE },
    {"WL-87", LIMITED,                      FINISHED,        TTL_LEAVE },
    {"WL-87", LIMITED | FINISHED | GOING,   0,               TTL_LEAVE },
    {"WL-87", LIMITED | FINISHED,           GOING | EXPIRED, TTL_WAIT  },
    {"WL-87", LIMITED | FINISHED | EXPIRED, GOING,           TTL_DELETE},
};

static const RuleTable ttl_rules = RULE_TABLE("finished Jobs", TTL_FACTS_END, ttl_table);

static SimTime
expires_at(const Job *job)
{
    const WorkloadCondition *end =
        job->complete.status == CONDITION_TRUE ? &job->complete : &job->has_failed;

    return sim_time_add(end->changed_at, job->ttl_s * SIM_SECOND);
}

static TtlAction
ttl_after_finished_judge(const Job *job, SimTime now)
{
    unsigned facts = (job->ttl_s >= 0 ? LIMITED : 0) | (job_is_finished(job) ? FINISHED : 0) |
                     (object_is_deleted(&job->meta) ? GOING : 0);

    if ((facts & FINISHED) != 0 && now >= expires_at(job))
        facts |= EXPIRED;
    return (TtlAction)rules_find(&ttl_rules, facts, NULL)->then;
}

/* @job: (nullable). Returns: whether it is deleted now; if it is too early the plan comes again in
 * time */
static gboolean
is_due(const Object *job, Plan *plan)
{
    TtlAction action =
        job == NULL ? TTL_LEAVE : ttl_after_finished_judge(JOB_CONST(job), plan_now(plan));

    if (action == TTL_WAIT)
        plan_requeue_after(plan, expires_at(JOB_CONST(job)) - plan_now(plan));
    return action == TTL_DELETE;
}

/* Its time to live may have changed since the cache saw it. */
static void
ttl_after_finished_decide_delete(const void *data, Plan *plan)
{
    const Object *fresh = plan_object(plan, plan_last_step(plan));

    (void)data;
    if (!is_due(fresh, plan))
        return;
    plan_because(plan, "WL-87");
    plan_delete(plan, fresh->key, fresh->uid, -1, PLAN_GONE_IS_FINE);
}

static void
decide_job(const void *data, Plan *plan)
{
    const TtlController *self = data;
    const Object *job = informer_get(self->jobs, plan_key(plan));

    if (!is_due(job, plan))
        return;
    plan_because(plan, "WL-87");
    plan_get(plan, job->key, PLAN_GONE_IS_FINE);
    plan_then(plan, ttl_after_finished_decide_delete);
}

static gboolean
job_is_limited(const void *data, const Object *job)
{
    const TtlController *self = data;

    return ttl_after_finished_judge(JOB_CONST(job), sim_now(self->base.sim)) != TTL_LEAVE;
}

#define SELF TtlController
static const ComponentPart parts[] = {
    HAS_INFORMER(jobs, KIND_JOB, WAKES_IF(workers, job_is_limited)),
    HAS_WORKERS(workers,
                "ttl_jobs_to_delete",
                decide_job,
                .n_flag = KCM_FLAG(concurrent_ttl_after_finished_syncs)),
};

const ModelClass ttl_after_finished_class = {
    KCM_MODEL("ttl-after-finished-controller"),
    PARTS(parts),
    .rule_tables = RULE_TABLES(&ttl_rules),
};
