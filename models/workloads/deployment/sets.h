/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "models/api/workload.h"
#include "models/plan/rules.h"

/* The arithmetic of a Deployment's ReplicaSets: which is the new one, who grows and who shrinks by
 * how much (WL-71..73). All of it is pure. Sets come as arrays of const ReplicaSet *. */

#define ANNOTATION_REVISION "deployment.kubernetes.io/revision"
#define ANNOTATION_DESIRED "deployment.kubernetes.io/desired-replicas"
#define ANNOTATION_MAX "deployment.kubernetes.io/max-replicas"
#define ANNOTATION_REVISION_HISTORY "deployment.kubernetes.io/revision-history"

/* A set that gets another size. */
typedef struct {
    const ReplicaSet *set;
    int32_t replicas;
    gboolean is_again; /* a row before this one scales it as well: this one goes on from there */
} SetScale;

/* By creation, the older first; of one second by name. */
void sets_sort_by_creation(GPtrArray *sets);
/* The one whose template is the deployment's; of several the oldest. NULL: none. @sets sorted by
 * creation */
const ReplicaSet *sets_find_new(const GPtrArray *sets, const Deployment *deployment);
/* Returns: (owned): those with replicas */
GPtrArray *sets_active(const GPtrArray *sets);
int64_t set_revision(const ReplicaSet *set); /* 0: none */
int64_t sets_max_revision(const GPtrArray *sets, const ReplicaSet *except /* nullable */);
/* Pods of several sets: spec.replicas, and of the status. */
typedef struct {
    int32_t wanted, there, ready, available;
} SetsSum;
SetsSum sets_sum(const GPtrArray *sets);
/* A number in an annotation; -1: none. */
int64_t set_annotated(const ReplicaSet *set, const char *annotation);

/* WL-71 a: how many the new set shall have. @all: with the new one */
int32_t
new_set_replicas(const Deployment *deployment, const GPtrArray *all, const ReplicaSet *new_set);
/* WL-71 b: whom to shrink. @old: without the new one, active, by creation. Returns: (owned): of
 * SetScale; may be empty */
GArray *
old_sets_scales(const Deployment *deployment, const GPtrArray *old, const ReplicaSet *new_set);
/* The deployment was scaled, or is paused: who takes what part of it. @new_set nullable. Returns:
 * (owned): of SetScale; also of sets that only get other annotations */
GArray *
scaling_event_scales(const Deployment *deployment, const GPtrArray *old, const ReplicaSet *new_set);
extern const RuleTable deployment_scaling_rules;
