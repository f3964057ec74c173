/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "models/plan/plan.h"
#include "models/workloads/deployment/sets.h"
#include "models/workloads/deployment/status.h"
#include "models/workloads/pods.h"

/* The parts of the Deployment controller, Kubernetes' pkg/controller/deployment: deployment.c
 * (handlers, the sync), new-set.c (the template's ReplicaSet), rollout.c (rolling, Recreate,
 * scaling), scale.c (writes to ReplicaSets), progress.c (writes to the status), sets.c and status.c
 * (pure arithmetic). */

typedef struct {
    Component base;
    Informer *deployments, *sets, *pods;
    InformerIndex *sets_by_controller, *orphan_sets, *pods_by_controller;
    Workers *workers;
} DeploymentController;

/* One sync. As in Kubernetes it works on copies, which it changes as it writes; the answer to a
 * write replaces a copy only where it is the new ReplicaSet. */
typedef struct {
    const Deployment *deployment; /* (owned) */
    Claimed claimed;              /* its ReplicaSets */
    GPtrArray *all;               /* of const ReplicaSet (borrowed), by creation */
    GPtrArray *old;               /* the same without the new set */
    const ReplicaSet *new_set;    /* (owned) NULL: none yet */
    DeploymentStatus status;      /* the deployment's status, with the changes of this sync */
    DeploymentStatus wanted;      /* the status to be written */
    const char *revision;         /* the deployment's annotation */
    PlanDecide next;              /* called once the new set is known */
    int minor;                    /* of the release */
} DeploymentSync;

/* ---- deployment.c ---- */

/* Sorts the ReplicaSets into old ones and all. */
void deployment_split_sets(DeploymentSync *sync);

/* ---- new-set.c ---- */

/* Brings the ReplicaSet of the deployment's template up to date, makes it if it is missing and
 * @creates is set, then goes on with @next. */
void deployment_plan_new_set(const DeploymentController *self,
                             Plan *plan,
                             DeploymentSync *sync,
                             gboolean creates,
                             PlanDecide next);
/* Calls the sync's next. */
void deployment_decide_next(const void *self, Plan *plan);

/* ---- rollout.c ---- */

/* Brings the pods to the template of the deployment. */
void deployment_decide_rollout(const void *self, Plan *plan);
extern const RuleTable deployment_rollout_rules; /* WL-71, WL-73 */

/* ---- scale.c ---- */

/* The new size and annotations of a ReplicaSet. */
typedef struct {
    int32_t replicas, min_ready_s;
    unsigned n_annotations;
    StringPair *annotations;
} SetEdit;

/* Begins with the size that @set has, and with room for so many annotations. Lives as long as the
 * plan. */
SetEdit *set_edit_new(Plan *plan, const ReplicaSet *set, unsigned n_annotations);
/* @value: interned */
void set_edit_add(Plan *plan, SetEdit *edit, const char *key, const char *value);
/* The size of the deployment: by these annotations a later sync notices a change of it, and shares
 * it out. */
void set_edit_add_sizes(Plan *plan, SetEdit *edit, const Deployment *deployment);
/* An ObjectEdit. @edit: const SetEdit */
gboolean set_edit_apply(Object *set, const void *edit);
/* Resizes sets one after the other, each with its Event (WL-78). A set may come twice: the second
 * write then begins with the result of the first. @scales: of SetScale */
void deployment_plan_scales(Plan *plan, const DeploymentSync *sync, const GArray *scales);
/* WL-78, REL-48: the Event of a new size. @before: -1: the set is new */
void deployment_plan_size_event(
    Plan *plan, const DeploymentSync *sync, const ReplicaSet *set, int32_t before, int32_t after);

/* ---- progress.c ---- */

/* Writes @status, and the sync's revision. */
void deployment_plan_status(Plan *plan, const DeploymentSync *sync, const DeploymentStatus *status);
/* Writes the sync's status without the revision. An error is ignored. */
void deployment_plan_failure(Plan *plan, const DeploymentSync *sync);
/* The end of a sync without a rollout: writes the counts. */
void deployment_decide_counts(const void *self, Plan *plan);
/* The end of a sync with a rollout: writes the counts and the condition Progressing. If nothing has
 * changed it comes again when the deadline has passed. */
void deployment_decide_progress(const void *self, Plan *plan);
