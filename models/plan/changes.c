/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "plan-private.h"

/* Changes of a component's own state: changes of queues and tables are the same for all components,
 * others go to ModelClass.apply_change(). */

/* PlanChange.what; @pointer is what they change. */
enum {
    PLAN_CHANGE_QUEUE = -3,
    PLAN_CHANGE_FORGET,
    PLAN_CHANGE_REMEMBER,
};

void
plan_queue(Plan *self, Workers *workers, const ObjectKey *key)
{
    plan_change(self, &(PlanChange){.what = PLAN_CHANGE_QUEUE, .pointer = workers, .key = key});
}

void
plan_forget(Plan *self, GHashTable *table, const ObjectKey *key)
{
    plan_change(self, &(PlanChange){.what = PLAN_CHANGE_FORGET, .pointer = table, .key = key});
}

void
plan_remember(Plan *self, GHashTable *table, const ObjectKey *key, const Object *object)
{
    plan_change(self,
                &(PlanChange){
                    .what = PLAN_CHANGE_REMEMBER, .pointer = table, .key = key, .object = object});
}

void
plan_apply_change(Plan *plan, Step *step)
{
    PlanChange *change = &step->change.change;

    if (step->change.step >= 0) {
        const Object *object = plan_step(plan, (unsigned)step->change.step)->result;
        change->object = object == NULL ? NULL : object_ref(object);
        change->key = object == NULL ? NULL : object->key;
    }
    void *key = (void *)change->key, *part = (void *)change->pointer;
    if (change->what == PLAN_CHANGE_QUEUE)
        workers_add(part, key);
    else if (change->what == PLAN_CHANGE_FORGET)
        g_hash_table_remove(part, key);
    else if (change->what == PLAN_CHANGE_REMEMBER)
        g_hash_table_replace(part, key, change->object == NULL ? key : object_ref(change->object));
    else
        plan->component->apply_change(plan->component, change);
}
