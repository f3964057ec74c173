/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "models/api/workload.h"
#include "models/plan/rules.h"

/* The arithmetic of a Deployment's ReplicaSets: finds the new set, and how much each set grows or
 * shrinks (WL-71..73). All functions are pure. Sets come as arrays of const ReplicaSet *. */

#define ANNOTATION_REVISION "deployment.kubernetes.io/revision"
#define ANNOTATION_DESIRED "deployment.kubernetes.io/desired-replicas"
#define ANNOTATION_MAX "deployment.kubernetes.io/max-replicas"
#define ANNOTATION_REVISION_HISTORY "deployment.kubernetes.io/revision-history"

/* A set that gets another size. A second row of the same set begins with the result of the first */
typedef struct {
    const ReplicaSet *set;
    int32_t replicas;
} SetScale;

/* Sorts by creation, the older first; sets of the same second by name. */
void sets_sort_by_creation(GPtrArray *sets);
/* The set with the deployment's template; of several the oldest. NULL: none. @sets: sorted by
 * creation */
const ReplicaSet *sets_find_new(const GPtrArray *sets, const Deployment *deployment);
/* Returns: (owned): the sets with replicas */
GPtrArray *sets_active(const GPtrArray *sets);
int64_t set_revision(const ReplicaSet *set); /* 0: none */
int64_t sets_max_revision(const GPtrArray *sets);
/* Sums over several sets: spec.replicas, and of the status replicas, readyReplicas and
 * availableReplicas. */
typedef struct {
    int64_t wanted, there, ready, available;
} SetsSum;
SetsSum sets_sum(const GPtrArray *sets);
/* How many replicas all sets may have during a rollout. */
int64_t most_replicas(const Deployment *deployment);
/* A number in an annotation; -1: none. */
int64_t set_annotated(const ReplicaSet *set, const char *annotation);

/* WL-71 a: the size that the new set gets. @all: with the new set */
int32_t
new_set_replicas(const Deployment *deployment, const GPtrArray *all, const ReplicaSet *new_set);
/* WL-71 b: the old sets that shrink. @old: active, by creation, without the new set. Returns:
 * (owned): of SetScale; may be empty */
GArray *
old_sets_scales(const Deployment *deployment, const GPtrArray *old, const ReplicaSet *new_set);
/* The deployment was scaled, or is paused: the new sizes of its sets. @new_set: nullable. Returns:
 * (owned): of SetScale; a set whose size stays gets new annotations */
GArray *
scaling_event_scales(const Deployment *deployment, const GPtrArray *old, const ReplicaSet *new_set);
extern const RuleTable deployment_scaling_rules;
