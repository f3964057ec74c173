/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "plan.h"

/* Keyed operations with exponential back-off, as goroutinemap and nestedpendingoperations (OP-1 to
 * OP-8): of those whose keys match at most one runs; after a failure the record refuses to start
 * again until its back-off is over. Expiry starts nothing. */
typedef struct Operations Operations;

/* What an operation is about. Interned; NULL: any. Two keys match if they are of one volume and
 * neither pods nor nodes speak against it. Without a volume a key matches nothing: such operations
 * run beside anything. */
typedef struct {
    const char *volume, *pod, *node;
} OperationKey;

typedef enum {
    OPERATION_STARTED,
    OPERATION_RUNNING, /* refused: one whose key matches runs (AlreadyExists) */
    OPERATION_BACKOFF, /* refused: one of the same kind failed not long ago */
} OperationAnswer;

/* @initial: 500 ms, @max: 122 s in all of Kubernetes' users (OP-8). @initial 0: failures are
 * forgotten at once. Returns: (owned) */
Operations *operations_new(Component *component, SimTime initial, SimTime max);
void operations_free(Operations *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Operations, operations_free)

/* @start: as plan_start(), its operation is taken even if refused; its done is called as well,
 * after the operation's record says that it is over. PlanStart.kind is the operation's name (OP-2).
 */
OperationAnswer operations_start(Operations *self, OperationKey key, const PlanStart *start);
/* What operations_start() would answer to that key and PlanStart.kind. */
OperationAnswer operations_may_start(const Operations *self, OperationKey key, const char *kind);
/* OP-4: one whose key matches runs. */
gboolean operations_is_running(const Operations *self, OperationKey key);
/* The plan that runs and whose key matches. NULL: none */
Plan *operations_plan(const Operations *self, OperationKey key);
/* When the back-off of the record that matches is over; 0: no failure is remembered. */
SimTime operations_backoff_until(const Operations *self, OperationKey key);
/* How many records there are: of those that run, and of those that failed. */
unsigned operations_n_records(const Operations *self);
/* The step that starts an operation from a decide function: refused starts are silently dropped, as
 * callers in Kubernetes do. */
void
plan_start_operation(Plan *plan, Operations *operations, OperationKey key, const PlanStart *start);

/* MET-60: an operation that @plan carried out on a volume of @driver (in CSI) is over. */
void operation_measure(const Component *component,
                       const Plan *plan,
                       const char *name,
                       const char *driver,
                       PlanEnd end);

/**
 * operation_event_message:
 * @text: what an operation has to say
 * Returns: (borrowed): how it stands in its event: the recorder takes it for a format (OP-10), so
 * that "50% of" becomes "50%!o(MISSING)f". Mostly @text itself; else interned
 */
const char *operation_event_message(Strings *strings, const char *text);
