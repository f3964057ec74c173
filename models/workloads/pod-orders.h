/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "models/plan/plan.h"
#include "models/workloads/expectations.h"

/* Pods that one sync of a controller makes or deletes: each by a plan of its own, for which the
 * sync's waits. What ReplicaSets, DaemonSets and Jobs have in common: the events, the batches, and
 * that what failed is not waited for. */

/* Of one sync: the steps of its plan that wait for these pods. */
typedef struct {
    int first_step;
    unsigned n_steps, n_pods;
} PodOrders;

/* One pod. A controller that says more of it begins a struct of its own with this. */
typedef struct {
    const Object *owner; /* (borrowed); a started order keeps a reference */
    ObjectKey *pod;
    gboolean is_creation; /* else a deletion */
    gboolean is_expected; /* the sync has said that it waits for it (WL-4) */
} PodOrder;

/* Changes of private state. A controller's own changes begin at the end of these. */
typedef enum {
    POD_ORDERS_CREATIONS,         /* @number: so many are ordered; as many names are used */
    POD_ORDERS_CREATIONS_DROPPED, /* @number: so many will not come */
    POD_ORDERS_DELETIONS,         /* @pointer: GPtrArray of const ObjectKey */
    POD_ORDERS_DELETION_DROPPED,  /* @pointer: ObjectKey of the pod */
    POD_ORDERS_CHANGES_END,
} PodOrdersChange;

/* Carries out a change of these. @n_names: names that were made up for the owner's pods. Returns:
 * whether it is one of them */
gboolean
pod_orders_apply(Expectations *expected, uint64_t *n_names, const PlanChange *change, SimTime now);

/* Returns: a row for the functions below. @order: begins with a PodOrder; @size bytes of it are
 * copied.
 * @decide: its request, then pod_order_decide_after() */
PlanStart
pod_order_start(const Component *component, const void *order, size_t size, PlanDecide decide);
/* WL-78: tells the owner's Event. What failed is not waited for; that a pod is gone already is
 * fine. */
void pod_order_decide_after(const void *self, Plan *plan);

/* WL-5: in batches of 1, 2, 4, ..., up to the first with an error. @starts: of PlanStart */
PodOrders pod_orders_plan_slowly(Plan *plan, const GArray *starts);
/* WL-6: all side by side, in one step. */
PodOrders pod_orders_plan_at_once(Plan *plan, const GArray *starts);
/* How many of them went well, once they are over. */
unsigned pod_orders_done(const Plan *plan, const PodOrders *orders);
/* A batch failed: the pods of the batches after it will not come. */
void pod_orders_drop_untried(Plan *plan, const PodOrders *orders, const ObjectKey *owner);
