/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "models/api/workload.h"
#include "models/plan/rules.h"

/* What a Deployment's status says, and what it means: done, on its way, too late. All of it is
 * pure. */

typedef struct {
    int32_t generation, replicas, updated, ready, available, unavailable, collisions;
    WorkloadCondition is_available, progressing, failure;
} DeploymentStatus;

#define REASON_NEW_SET_AVAILABLE "NewReplicaSetAvailable"
#define REASON_TIMED_OUT "ProgressDeadlineExceeded"

DeploymentStatus deployment_status_of(const Deployment *deployment);
void deployment_status_put(const DeploymentStatus *self, Deployment *deployment);
gboolean deployment_status_equal(const DeploymentStatus *a, const DeploymentStatus *b);

/* Changes it, unless it says so already; the transition is of now if the status of the condition
 * changes. Strings interned or static. */
void condition_set(WorkloadCondition *self,
                   ConditionStatus status,
                   const char *reason,
                   const char *message,
                   SimTime now);
void condition_remove(WorkloadCondition *self);

/* Counts sets (arrays of const ReplicaSet *); conditions as in @before, Available by the count.
 * @new_set: nullable */
DeploymentStatus deployment_count(const Deployment *deployment,
                                  const DeploymentStatus *before,
                                  const GPtrArray *all,
                                  const ReplicaSet *new_set,
                                  SimTime now);
gboolean deployment_has_deadline(const Deployment *deployment);
gboolean deployment_is_complete(const Deployment *deployment, const DeploymentStatus *status);
/* Tells in @status how the rollout gets on since @before. @new_set: nullable */
void deployment_tell_progress(const Deployment *deployment,
                              const DeploymentStatus *before,
                              DeploymentStatus *status,
                              const ReplicaSet *new_set,
                              Strings *strings,
                              SimTime now);
extern const RuleTable deployment_progress_rules; /* WL-70, WL-71 */
/* When to look whether it is too late; negative: never. */
SimTime deployment_deadline_after(const Deployment *deployment,
                                  const DeploymentStatus *before,
                                  const DeploymentStatus *status,
                                  SimTime now);
