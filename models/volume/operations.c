/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "operations.h"

/* One that runs, or failed and is remembered. */
typedef struct {
    Operations *owner;
    SimMemory *memory;
    const char *name;
    const char *kind; /* of the one that runs or failed; NULL: kinds are not told apart */
    Plan *plan;       /* NULL: none runs */
    SimTime backoff;  /* of the next failure; 0: none yet */
    SimTime failed_at;
    gboolean running;
    PlanStart start; /* the caller's */
} Operation;

struct Operations {
    Component *component;
    SimTime initial, max;
    GHashTable *table; /* interned name -> Operation */
};

static void
operation_free(void *data)
{
    Operation *operation = data;

    sim_memory_give(operation->memory, operation, sizeof *operation);
}

Operations *
operations_new(Component *component, SimTime initial, SimTime max)
{
    Operations *self = g_new0(Operations, 1);

    self->component = component;
    self->initial = initial;
    self->max = max;
    self->table = g_hash_table_new_full(g_direct_hash, g_direct_equal, NULL, operation_free);
    return self;
}

void
operations_free(Operations *self)
{
    if (self == NULL)
        return;
    g_hash_table_unref(self->table);
    g_free(self);
}

SimTime
operations_backoff_until(const Operations *self, const char *name)
{
    const Operation *operation = g_hash_table_lookup(self->table, name);

    return operation == NULL || operation->backoff == 0 ? 0
                                                        : operation->failed_at + operation->backoff;
}

/* Still refused at the very end of the back-off (PVC-12). */
static gboolean
is_in_backoff(const Operation *operation)
{
    SimTime now = sim_now(operation->owner->component->sim);

    return operation->backoff > 0 && now - operation->failed_at <= operation->backoff;
}

OperationAnswer
operations_may_start(const Operations *self, const char *name, const char *kind)
{
    const Operation *operation = g_hash_table_lookup(self->table, name);

    if (operation == NULL)
        return OPERATION_STARTED;
    if (operation->running)
        return OPERATION_RUNNING;
    return is_in_backoff(operation) && operation->kind == kind ? OPERATION_BACKOFF
                                                               : OPERATION_STARTED;
}

gboolean
operations_is_running(const Operations *self, const char *name)
{
    return operations_may_start(self, name, NULL) == OPERATION_RUNNING;
}

Plan *
operations_plan(const Operations *self, const char *name)
{
    const Operation *operation = g_hash_table_lookup(self->table, name);

    return operation == NULL ? NULL : operation->plan;
}

static void
operation_over(Operation *operation, PlanEnd end)
{
    Operations *self = operation->owner;

    operation->running = FALSE;
    operation->plan = NULL;
    if (end == PLAN_DONE || self->initial == 0) {
        g_hash_table_remove(self->table, operation->name);
        return;
    }
    operation->failed_at = sim_now(self->component->sim);
    operation->backoff =
        operation->backoff == 0 ? self->initial : MIN(2 * operation->backoff, self->max);
}

/* The plan carries its Operation in place of the caller's struct only here: found again by the plan. */
static void
operation_done(void *self, Plan *plan, PlanEnd end, const char *message)
{
    Operation *operation = plan_owner(plan);
    PlanStart start = operation->start;

    operation_over(operation, end); /* before the caller hears of it: it may start the next */
    if (start.done != NULL)
        start.done(self, plan, end, message);
}

OperationAnswer
operations_start(Operations *self, const char *name, const PlanStart *start)
{
    OperationAnswer answer = operations_may_start(self, name, start->kind);

    if (answer != OPERATION_STARTED) {
        if (start->free_operation != NULL)
            start->free_operation(start->operation);
        return answer;
    }

    Operation *operation = g_hash_table_lookup(self->table, name);
    if (operation == NULL) {
        SimMemory *memory = sim_memory(self->component->sim);
        operation = sim_memory_new_struct(memory, Operation);
        *operation = (Operation){.owner = self, .memory = memory, .name = name};
        g_hash_table_insert(self->table, (void *)name, operation);
    }
    if (operation->kind != start->kind && (operation->backoff == 0 || is_in_backoff(operation))) {
        operation->kind =
            start->kind; /* OP-2: one whose back-off is over keeps its old name and its back-off */
        operation->backoff = 0;
    }
    PlanStart ours = *start;
    operation->start = *start;
    operation->running = TRUE;
    ours.done = operation_done;
    ours.owner = operation;
    Plan *plan = plan_start(&ours);
    if (plan != NULL)
        operation->plan = plan;
    return answer;
}
