/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "models/plan/plan.h"
#include "models/workloads/owner-controller.h"

/* Creations and deletions of pods by one sync of a ReplicaSet, DaemonSet or Job. Each pod has its
 * own plan; the plan of the sync waits for all of them. */

/* The orders of one sync: the steps of its plan that wait for the pods. */
typedef struct {
    int first_step;
    unsigned n_steps, n_pods;
} PodOrders;

/* One pod. A controller that needs more members begins its own struct with this one. */
typedef struct {
    const Object *owner; /* (borrowed); a started order keeps a reference */
    ObjectKey *pod;
    gboolean is_creation; /* else a deletion */
    gboolean is_expected; /* the sync expects to see it in its watch (WL-4) */
} PodOrder;

/* Changes of a controller's state. Its own changes are numbered from POD_ORDERS_CHANGES_END on. */
typedef enum {
    POD_ORDERS_CREATIONS,         /* @number: creations, each of which uses a generated name */
    POD_ORDERS_CREATIONS_DROPPED, /* @number: creations that have failed or were not tried */
    POD_ORDERS_DELETIONS,         /* @pointer: GPtrArray of const ObjectKey */
    POD_ORDERS_DELETION_DROPPED,  /* @pointer: ObjectKey of the pod */
    POD_ORDERS_CHANGES_END,
} PodOrdersChange;

/* Carries out a change of the kinds above. Returns: FALSE: it is of another kind */
gboolean pod_orders_apply(OwnerState *state, const PlanChange *change, SimTime now);

/* Adds to an array for the functions below. @order: begins with a PodOrder; its @size bytes are
 * copied. @decide: adds the request, then plan_then(pod_order_decide_after) */
void pod_orders_add(
    GArray *starts, const Component *component, const void *order, size_t size, PlanDecide decide);
/* WL-78: adds the owner's Event. A failed order is no longer expected; a pod that is gone already
 * is fine. */
void pod_order_decide_after(const void *self, Plan *plan);

/* A change about @pods (of const Pod) of @owner, with an array of their keys. */
void plan_change_pods(Plan *plan, int what, const ObjectKey *owner, const GPtrArray *pods);

/* WL-5: in batches of 1, 2, 4, ..., up to the first batch with an error. @starts: of PlanStart */
PodOrders pod_orders_plan_slowly(Plan *plan, const GArray *starts);
/* WL-6: all side by side, in one step. */
PodOrders pod_orders_plan_at_once(Plan *plan, const GArray *starts);
/* Once they are over: the number of orders that succeeded. */
unsigned pod_orders_done(const Plan *plan, const PodOrders *orders);
/* Once they are over: the pods of batches after a failed one are no longer expected. */
void pod_orders_drop_untried(Plan *plan, const PodOrders *orders, const ObjectKey *owner);
