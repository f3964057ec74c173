/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "models/plan.h"

/* Keyed operations with exponential back-off, as goroutinemap and nestedpendingoperations: at most one operation per
 * name runs; after a failure the name refuses to start again until its back-off is over. Expiry starts nothing. */
typedef struct Operations Operations;

typedef enum {
    OPERATION_STARTED,
    OPERATION_RUNNING, /* refused: one of that name runs */
    OPERATION_BACKOFF, /* refused: failed not long ago */
} OperationAnswer;

/* @initial: 500 ms, @max: 122 s in all of Kubernetes' users (PVC-12, ADC). @initial 0: failures are forgotten at once.
 * Returns: (owned) */
Operations *operations_new(Component *component, SimTime initial, SimTime max);
void operations_free(Operations *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Operations, operations_free)

/* @name: interned; @start: as plan_start(), its operation is taken even if refused; its done is called as well, after the
 * operation's record says that it is over. */
OperationAnswer operations_start(Operations *self, const char *name, const PlanStart *start);
/* What operations_start() would answer. With PlanStart.kind: see there. */
OperationAnswer operations_may_start(const Operations *self, const char *name, const char *kind);
gboolean operations_is_running(const Operations *self, const char *name);
/* The plan of that name, NULL: none runs. */
Plan *operations_plan(const Operations *self, const char *name);
/* When the back-off of @name is over; 0: no failure is remembered. */
SimTime operations_backoff_until(const Operations *self, const char *name);
/* The step that starts an operation from a decide function: refused starts are silently dropped, as callers in Kubernetes do. */
void
plan_start_operation(Plan *plan, Operations *operations, const char *name, const PlanStart *start);
