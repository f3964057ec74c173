/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "models/api/workload.h"
#include "models/plan/rules.h"

/* A Deployment's status, and its meaning: complete, progressing, too late. All functions are pure.
 * */

typedef struct {
    int32_t generation, replicas, updated, ready, available, unavailable, collisions;
    WorkloadCondition is_available, progressing, failure;
} DeploymentStatus;

#define REASON_NEW_SET_AVAILABLE "NewReplicaSetAvailable"
#define REASON_TIMED_OUT "ProgressDeadlineExceeded"

DeploymentStatus deployment_status_of(const Deployment *deployment);
void deployment_status_put(const DeploymentStatus *self, Deployment *deployment);
gboolean deployment_status_equal(const DeploymentStatus *a, const DeploymentStatus *b);

/* Changes the condition if its status or reason differ; lastTransitionTime changes only with the
 * status. Strings: interned or static */
void condition_set(WorkloadCondition *self,
                   ConditionStatus status,
                   const char *reason,
                   const char *message,
                   SimTime now);
void condition_remove(WorkloadCondition *self);

/* Counts the pods of sets (arrays of const ReplicaSet *). Available follows from the count; other
 * conditions are copied from @before. @new_set: nullable */
DeploymentStatus deployment_count(const Deployment *deployment,
                                  const DeploymentStatus *before,
                                  const GPtrArray *all,
                                  const ReplicaSet *new_set,
                                  SimTime now);
gboolean deployment_has_deadline(const Deployment *deployment);
gboolean deployment_is_complete(const Deployment *deployment, const DeploymentStatus *status);
/* Sets the condition Progressing of @status by its change since @before. @new_set: nullable */
void deployment_tell_progress(const Deployment *deployment,
                              const DeploymentStatus *before,
                              DeploymentStatus *status,
                              const ReplicaSet *new_set,
                              Strings *strings,
                              SimTime now);
extern const RuleTable deployment_progress_rules; /* WL-70, WL-71 */
/* The time until the progress deadline has to be checked. Negative: never */
SimTime deployment_deadline_after(const Deployment *deployment,
                                  const DeploymentStatus *before,
                                  const DeploymentStatus *status,
                                  SimTime now);
