/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "models/plan/plan.h"
#include "models/workloads/deployment/sets.h"
#include "models/workloads/deployment/status.h"
#include "models/workloads/pods.h"

/* The Deployment controller's parts: deployment.c (what it hears, the sync), new-set.c
 * (the template's ReplicaSet), rollout.c (rolling and Recreate), scale.c and
 * progress.c (what is written into ReplicaSets and into the status); their arithmetic,
 * all of it pure, is in sets.c and status.c. Kubernetes'
 * pkg/controller/deployment. */

typedef struct {
    Component base;
    Informer *deployments, *sets, *pods;
    InformerIndex *sets_by_controller, *orphan_sets, *pods_by_controller;
    Workers *workers;
} DeploymentController;

/* One sync: what it found, and what it has in mind by now. Like the original it works on copies
 * that it changes as it writes: what a write returns does not come back into them, except for
 * ReplicaSets that it made or changed. */
typedef struct {
    const Deployment *deployment; /* (owned) */
    Claimed claimed;              /* its ReplicaSets */
    GPtrArray *all, *old; /* of const ReplicaSet (borrowed), by creation; @all with the new one, if
                             there is one */
    const ReplicaSet *new_set; /* (owned) NULL: none yet */
    DeploymentStatus status;   /* what stands in the deployment, as this sync changed it */
    DeploymentStatus wanted;   /* what shall be written */
    const char *revision;      /* the deployment's annotation */
    PlanDecide next;           /* once the new set is known */
} DeploymentSync;

/* ---- deployment.c ---- */

/* Sorts the ReplicaSets into old ones and all. */
void deployment_split_sets(DeploymentSync *sync);

/* ---- new-set.c ---- */

/* Goes on with @next once the set of the deployment's template is as it shall be; makes it if
 * @creates. */
void deployment_plan_new_set(const DeploymentController *self,
                             Plan *plan,
                             DeploymentSync *sync,
                             gboolean creates,
                             PlanDecide next);
/* Goes on with the sync's next. */
void deployment_decide_next(const void *self, Plan *plan);

/* ---- rollout.c ---- */

/* Brings the pods to the template of the deployment. */
void deployment_plan_rollout(const DeploymentController *self, Plan *plan, DeploymentSync *sync);
extern const RuleTable deployment_rollout_rules; /* WL-71, WL-73 */

/* ---- scale.c ---- */

/* What a set is to say: its size, and annotations. */
typedef struct {
    int32_t replicas, min_ready_s;
    unsigned n_annotations;
    StringPair *annotations;
} SetEdit;

/* @set's own size; room for so many annotations. Lives as long as the plan. */
SetEdit *set_edit_new(Plan *plan, const ReplicaSet *set, unsigned n_annotations);
/* @value: interned */
void set_edit_add(Plan *plan, SetEdit *edit, const char *key, const char *value);
/* Of what size the deployment is: by these a later change of it is noticed, and shared out. */
void set_edit_add_sizes(Plan *plan, SetEdit *edit, const Deployment *deployment);
/* A PlanEdit. @edit: const SetEdit. Returns: whether it changed anything */
gboolean set_edit_apply(Object *set, const void *edit);
/* One after the other, each with its event (WL-78); a set may come twice, then on what the first
 * time made of it. @scales: of SetScale */
void deployment_plan_scales(Plan *plan, const Deployment *deployment, const GArray *scales);

/* ---- progress.c ---- */

/* Writes @status, and the revision that the sync knows. */
void deployment_plan_status(Plan *plan, const DeploymentSync *sync, const DeploymentStatus *status);
/* The same without the revision; an error is as good as none. */
void deployment_plan_failure(Plan *plan, const DeploymentSync *sync);
/* The end of a sync without rollout: only the numbers. */
void deployment_plan_counts(Plan *plan, DeploymentSync *sync);
/* The end of a sync of a rollout: the numbers, and how it gets on. If nothing is new it looks again
 * when it may be too late. */
void deployment_plan_progress(const DeploymentController *self, Plan *plan, DeploymentSync *sync);
