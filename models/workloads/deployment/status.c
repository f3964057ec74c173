/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The status of a Deployment: counts over its sets, and the conditions Available and Progressing
 * (syncRolloutStatus() of progress.go). A rule table decides about progress from the status before
 * and after; a deadline that has passed without a move becomes ProgressDeadlineExceeded.
 * lastUpdateTime counts for the deadline, so each move writes the condition anew. A Deployment
 * without a deadline has no condition Progressing. */
#include "models/workloads/deployment/status.h"

#include "models/workloads/deployment/sets.h"
#include "models/workloads/pods.h"

DeploymentStatus
deployment_status_of(const Deployment *deployment)
{
    return (DeploymentStatus){
        .generation = deployment->observed_generation,
        .replicas = deployment->status_replicas,
        .updated = deployment->updated_replicas,
        .ready = deployment->ready_replicas,
        .available = deployment->available_replicas,
        .unavailable = deployment->unavailable_replicas,
        .collisions = deployment->collision_count,
        .is_available = deployment->available,
        .progressing = deployment->progressing,
        .failure = deployment->replica_failure,
    };
}

void
deployment_status_put(const DeploymentStatus *self, Deployment *deployment)
{
    deployment->observed_generation = self->generation;
    deployment->status_replicas = self->replicas;
    deployment->updated_replicas = self->updated;
    deployment->ready_replicas = self->ready;
    deployment->available_replicas = self->available;
    deployment->unavailable_replicas = self->unavailable;
    deployment->collision_count = self->collisions;
    deployment->available = self->is_available;
    deployment->progressing = self->progressing;
    deployment->replica_failure = self->failure;
}

gboolean
deployment_status_equal(const DeploymentStatus *a, const DeploymentStatus *b)
{
    return a->generation == b->generation && a->replicas == b->replicas &&
           a->updated == b->updated && a->ready == b->ready && a->available == b->available &&
           a->unavailable == b->unavailable && a->collisions == b->collisions &&
           workload_condition_equal(&a->is_available, &b->is_available) &&
           workload_condition_equal(&a->progressing, &b->progressing) &&
           workload_condition_equal(&a->failure, &b->failure);
}

void
condition_set(WorkloadCondition *self,
              ConditionStatus status,
              const char *reason,
              const char *message,
              SimTime now)
{
    if (self->status == status && g_strcmp0(self->reason, reason) == 0)
        return;
    *self = (WorkloadCondition){
        .status = status,
        .reason = reason,
        .message = message,
        .changed_at = self->status == status ? self->changed_at : whole_seconds(now),
        .updated_at = whole_seconds(now),
    };
}

void
condition_remove(WorkloadCondition *self)
{
    *self = (WorkloadCondition){.changed_at = TIME_UNSET, .updated_at = TIME_UNSET};
}

DeploymentStatus
deployment_count(const Deployment *deployment,
                 const DeploymentStatus *before,
                 const GPtrArray *all,
                 const ReplicaSet *new_set,
                 SimTime now)
{
    SetsSum sum = sets_sum(all);
    int64_t least = (int64_t)deployment->replicas - deployment_max_unavailable(deployment);
    DeploymentStatus status = {
        .generation = (int32_t)deployment->meta.generation,
        .replicas = (int32_t)sum.there,
        .updated = new_set == NULL ? 0 : new_set->status_replicas,
        .ready = (int32_t)sum.ready,
        .available = (int32_t)sum.available,
        .unavailable = (int32_t)MAX(sum.wanted - sum.available, 0),
        .collisions = before->collisions,
        .is_available = before->is_available,
        .progressing = before->progressing,
        .failure = before->failure,
    };

    if (sum.available >= least)
        condition_set(&status.is_available, CONDITION_TRUE, "MinimumReplicasAvailable",
                      "Deployment has minimum availability.", now);
    else
        condition_set(&status.is_available, CONDITION_FALSE, "MinimumReplicasUnavailable",
                      "Deployment does not have minimum availability.", now);
    return status;
}

/* In Kubernetes the largest number means that there is no deadline. */
gboolean
deployment_has_deadline(const Deployment *deployment)
{
    return deployment->progress_deadline_s != INT32_MAX;
}

gboolean
deployment_is_complete(const Deployment *deployment, const DeploymentStatus *status)
{
    return status->updated == deployment->replicas && status->replicas == deployment->replicas &&
           status->available == deployment->replicas &&
           status->generation >= (int32_t)deployment->meta.generation;
}

/* ---- Progress ---- */

enum {
    DEADLINE = 1 << 0,     /* the Deployment has one */
    WAS_COMPLETE = 1 << 1, /* the condition said so before, and no other template has come */
    COMPLETE = 1 << 2,
    MOVES = 1 << 3, /* more new pods, fewer old ones, or more ready or available ones than before */
    TOLD = 1 << 4,  /* there is a condition, and it does not say NewReplicaSetAvailable */
    TIMED_OUT = 1 << 5, /* it says ProgressDeadlineExceeded */
    EXPIRED = 1 << 6,   /* its last update is longer ago than the deadline allows */
    PROGRESS_FACTS_END = 1 << 7,
};

typedef enum {
    PROGRESS_REMOVE,
    PROGRESS_LEAVE,
    PROGRESS_COMPLETE,
    PROGRESS_MOVES,
    PROGRESS_TIMED_OUT,
} ProgressAction;

/* The condition Progressing: syncRolloutStatus() of progress.go. Columns: all of these hold, none
 * of these, then, and if not 0 one of these. */
/* clang-format off */
static const Rule progress_table[] = {
    {"WL-70", 0,                       DEADLINE,                                              PROGRESS_REMOVE,    0},
    {"WL-71", DEADLINE | WAS_COMPLETE, 0,                                                     PROGRESS_LEAVE,     0},
    {"WL-71", DEADLINE | COMPLETE,     WAS_COMPLETE,                                          PROGRESS_COMPLETE,  0},
    {"WL-71", DEADLINE | MOVES,        WAS_COMPLETE | COMPLETE,                               PROGRESS_MOVES,     0},
    {"WL-70", DEADLINE | TOLD,         WAS_COMPLETE | COMPLETE | MOVES,                       PROGRESS_TIMED_OUT, TIMED_OUT | EXPIRED},
    {"WL-70", DEADLINE | TOLD,         WAS_COMPLETE | COMPLETE | MOVES | TIMED_OUT | EXPIRED, PROGRESS_LEAVE,     0},
    {"WL-71", DEADLINE,                WAS_COMPLETE | COMPLETE | MOVES | TOLD,                PROGRESS_LEAVE,     0},
};
/* clang-format on */

const RuleTable deployment_progress_rules =
    RULE_TABLE("progress of Deployments", PROGRESS_FACTS_END, progress_table);

static gboolean
is_progressing(const DeploymentStatus *before, const DeploymentStatus *status)
{
    return status->updated > before->updated ||
           status->replicas - status->updated < before->replicas - before->updated ||
           status->ready > before->ready || status->available > before->available;
}

static gboolean
condition_says(const WorkloadCondition *condition, const char *reason)
{
    return condition->status != CONDITION_ABSENT && g_strcmp0(condition->reason, reason) == 0;
}

static unsigned
progress_facts(const Deployment *deployment,
               const DeploymentStatus *before,
               const DeploymentStatus *status,
               SimTime now)
{
    const WorkloadCondition *condition = &status->progressing;
    unsigned facts = (deployment_has_deadline(deployment) ? DEADLINE : 0) |
                     (status->replicas == status->updated &&
                              condition_says(&before->progressing, REASON_NEW_SET_AVAILABLE)
                          ? WAS_COMPLETE
                          : 0) |
                     (deployment_is_complete(deployment, status) ? COMPLETE : 0) |
                     (is_progressing(before, status) ? MOVES : 0);

    if (condition->status != CONDITION_ABSENT &&
        !condition_says(condition, REASON_NEW_SET_AVAILABLE))
        facts |= TOLD;
    if (condition_says(condition, REASON_TIMED_OUT))
        facts |= TIMED_OUT;
    if (condition->updated_at + deployment->progress_deadline_s * SIM_SECOND < now)
        facts |= EXPIRED;
    return facts;
}

static const char *
progress_message(const Deployment *deployment,
                 const ReplicaSet *new_set,
                 const char *what,
                 Strings *strings)
{
    return new_set != NULL
               ? strings_internf(strings, "ReplicaSet \"%s\" %s", object_name(&new_set->meta), what)
               : strings_internf(strings, "Deployment \"%s\" %s", object_name(&deployment->meta),
                                 what);
}

void
deployment_tell_progress(const Deployment *deployment,
                         const DeploymentStatus *before,
                         DeploymentStatus *status,
                         const ReplicaSet *new_set,
                         Strings *strings,
                         SimTime now)
{
    WorkloadCondition *condition = &status->progressing;
    SimTime changed_at =
        condition->status == CONDITION_TRUE ? condition->changed_at : whole_seconds(now);
    unsigned facts = progress_facts(deployment, before, status, now);

    switch ((ProgressAction)rules_find(&deployment_progress_rules, facts, NULL)->then) {
    case PROGRESS_REMOVE:
        condition_remove(condition);
        return;
    case PROGRESS_LEAVE:
        return;
    case PROGRESS_COMPLETE:
        condition_set(
            condition, CONDITION_TRUE, REASON_NEW_SET_AVAILABLE,
            progress_message(deployment, new_set, "has successfully progressed.", strings), now);
        return;
    case PROGRESS_MOVES:
        condition_remove(condition); /* so that lastUpdateTime is set */
        condition_set(condition, CONDITION_TRUE, "ReplicaSetUpdated",
                      progress_message(deployment, new_set, "is progressing.", strings), now);
        condition->changed_at = changed_at;
        return;
    case PROGRESS_TIMED_OUT:
        condition_set(condition, CONDITION_FALSE, REASON_TIMED_OUT,
                      progress_message(deployment, new_set, "has timed out progressing.", strings),
                      now);
        return;
    }
    g_assert_not_reached();
}

SimTime
deployment_deadline_after(const Deployment *deployment,
                          const DeploymentStatus *before,
                          const DeploymentStatus *status,
                          SimTime now)
{
    const WorkloadCondition *condition = &before->progressing;

    if (!deployment_has_deadline(deployment) || condition->status == CONDITION_ABSENT ||
        deployment_is_complete(deployment, status) ||
        g_strcmp0(condition->reason, REASON_TIMED_OUT) == 0)
        return -1;
    return MAX(condition->updated_at + deployment->progress_deadline_s * SIM_SECOND - now, 0);
}
