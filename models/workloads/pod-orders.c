/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Creations and deletions of pods that a controller has asked for and may not have seen yet, and
 * the plans that send them. They go in batches that double (slow start), of which the first failure
 * is the last, or all at once. A sync that makes or deletes pods first notes them as expected; a
 * request that fails, or was never tried, takes its note back. While a note is open, the owner's
 * next sync orders nothing (WL-4). */
#include "models/workloads/pod-orders.h"

gboolean
pod_orders_apply(OwnerState *state, const PlanChange *change, SimTime now)
{
    Expectations *expected = &state->expected;

    switch (change->what) {
    case POD_ORDERS_CREATIONS:
        expect_creations(expected, (int32_t)change->number, now);
        state->n_names += (uint64_t)change->number;
        return TRUE;
    case POD_ORDERS_CREATIONS_DROPPED:
        expected->n_creations -= (int32_t)change->number;
        return TRUE;
    case POD_ORDERS_DELETIONS:
        expect_deletions(expected, change->pointer, now);
        return TRUE;
    case POD_ORDERS_DELETION_DROPPED:
        expectations_deletion_seen(expected, change->pointer);
        return TRUE;
    default:
        return FALSE; /* the controller's own */
    }
}

static void
order_free(void *data)
{
    PodOrder *order = data;

    object_unref(order->owner);
    g_free(order);
}

void
pod_orders_add(
    GArray *starts, const Component *component, const void *given, size_t size, PlanDecide decide)
{
    PodOrder *order = g_memdup2(given, size);
    PlanStart start = {
        .component = (Component *)component,
        .decide = decide,
        .key = order->pod,
        .operation = order,
        .free_operation = order_free,
    };

    object_ref(order->owner);
    g_array_append_val(starts, start);
}

static void
plan_order_event(Plan *plan, const PodOrder *order, ApiCode code, const char *message)
{
    if (code == API_OK && order->is_creation)
        plan_event(plan, order->owner, "Normal", "SuccessfulCreate", "Created pod: %s",
                   order->pod->name);
    else if (code == API_OK)
        plan_event(plan, order->owner, "Normal", "SuccessfulDelete", "Deleted pod: %s",
                   order->pod->name);
    else if (order->is_creation)
        plan_event(plan, order->owner, "Warning", "FailedCreate", "Error creating: %s", message);
    else if (code != API_NOT_FOUND)
        plan_event(plan, order->owner, "Warning", "FailedDelete", "Error deleting: %s", message);
}

void
pod_order_decide_after(const void *data, Plan *plan)
{
    const PodOrder *order = plan_operation(plan);
    int step = plan_last_step(plan);
    ApiCode code = plan_code(plan, step);

    (void)data;
    plan_because(plan, "WL-78");
    plan_order_event(plan, order, code, plan_message(plan, step));
    if (code == API_OK)
        return;
    plan_because(plan, "WL-4");
    if (order->is_expected)
        plan_change(plan, &(PlanChange){
                              .what = order->is_creation ? POD_ORDERS_CREATIONS_DROPPED
                                                         : POD_ORDERS_DELETION_DROPPED,
                              .key = order->owner->key,
                              .pointer = order->pod,
                              .number = 1,
                          });
    if (order->is_creation || code != API_NOT_FOUND)
        plan_fail(plan, "%s", plan_message(plan, step));
}

void
plan_change_pods(Plan *plan, int what, const ObjectKey *owner, const GPtrArray *pods)
{
    GPtrArray *keys = g_ptr_array_new();

    for (unsigned i = 0; i < pods->len; i++)
        g_ptr_array_add(keys, (ObjectKey *)((const Object *)pods->pdata[i])->key);
    plan_own(plan, keys, (GDestroyNotify)g_ptr_array_unref);
    plan_change(plan, &(PlanChange){.what = what, .key = owner, .pointer = keys});
}

PodOrders
pod_orders_plan_slowly(Plan *plan, const GArray *starts)
{
    const PlanStart *all = (const PlanStart *)(const void *)starts->data;
    PodOrders orders = {.n_pods = starts->len};

    plan_because(plan, "WL-5");
    for (unsigned first = 0, size = 1; first < starts->len; first += size, size *= 2) {
        int step = plan_gather(plan, &all[first], MIN(size, starts->len - first), PLAN_DECIDE);
        if (orders.n_steps++ == 0)
            orders.first_step = step;
    }
    return orders;
}

PodOrders
pod_orders_plan_at_once(Plan *plan, const GArray *starts)
{
    const PlanStart *all = (const PlanStart *)(const void *)starts->data;

    return (PodOrders){plan_gather(plan, all, starts->len, PLAN_DECIDE), 1, starts->len};
}

unsigned
pod_orders_done(const Plan *plan, const PodOrders *orders)
{
    unsigned n = 0;

    for (unsigned k = 0; k < orders->n_steps; k++) {
        int step = orders->first_step + (int)k;
        for (unsigned i = 0; i < plan_gathered(plan, step); i++)
            n += (unsigned)plan_gathered_well(plan, step, i);
    }
    return n;
}

void
pod_orders_drop_untried(Plan *plan, const PodOrders *orders, const ObjectKey *owner)
{
    unsigned n_tried = 0;

    for (unsigned k = 0; k < orders->n_steps; k++)
        n_tried += plan_gathered(plan, orders->first_step + (int)k);
    if (n_tried >= orders->n_pods)
        return;
    plan_because(plan, "WL-5");
    plan_change(plan, &(PlanChange){.what = POD_ORDERS_CREATIONS_DROPPED,
                                    .key = owner,
                                    .number = orders->n_pods - n_tried});
}
