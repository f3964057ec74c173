/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "plan.h"

/* Keyed operations with exponential back-off, as goroutinemap and nestedpendingoperations (OP-1 to
 * OP-8). Of operations with matching keys at most one runs. After a failure the record refuses to
 * start another until its back-off is over. The end of a back-off starts nothing. */
typedef struct Operations Operations;

/* The subject of an operation. Strings are interned; NULL: any. Two keys match if they name one
 * volume and differ in no other part. A key without a volume matches nothing: its operation runs
 * beside all others. */
typedef struct {
    const char *volume, *pod, *node;
    ObjectUid uid; /* parts an object from its successor of the same name; 0: any */
} OperationKey;

typedef enum {
    OPERATION_STARTED,
    OPERATION_RUNNING, /* refused: an operation with a matching key runs (AlreadyExists) */
    OPERATION_BACKOFF, /* refused: an operation of the same kind failed recently */
} OperationAnswer;

/* @initial: 500 ms, @max: 122 s in all of Kubernetes' users (OP-8). @initial 0: failures are
 * forgotten at once. Returns: (owned) */
Operations *operations_new(Component *component, SimTime initial, SimTime max);
void operations_free(Operations *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Operations, operations_free)

/* @start: as for plan_start(). Its operation is taken even if refused; its done is called after the
 * record says that the operation is over. PlanStart.kind is the operation's name (OP-2). */
OperationAnswer operations_start(Operations *self, OperationKey key, const PlanStart *start);
/* The answer that operations_start() would give now. */
OperationAnswer operations_may_start(const Operations *self, OperationKey key, const char *kind);
/* OP-4: whether an operation with a matching key runs. */
gboolean operations_is_running(const Operations *self, OperationKey key);
/* The running plan with a matching key. NULL: none */
Plan *operations_plan(const Operations *self, OperationKey key);
/* End of the matching record's back-off; 0: no failure is remembered. */
SimTime operations_backoff_until(const Operations *self, OperationKey key);
/* Adds a step that starts an operation. A refused start is dropped silently, as Kubernetes' callers
 * do. */
void
plan_start_operation(Plan *plan, Operations *operations, OperationKey key, const PlanStart *start);

/* ---- The same try once more ----
 *
 * Within PlanStart.timed_out: the operation of @plan has failed (OP-5), and its done is not called.
 * Its record keeps the plan as it waited, until operation_forget_try(), or another operation or the
 * end of the record. For tries by the hundred that wait for the same thing. */
void operation_put_aside(Plan *plan);
/* End of the back-off of a plan put aside. */
SimTime operation_aside_until(const Plan *plan);
/* After the back-off: as operations_start() with the key and the start of the last try. To be
 * called only if the plan would be the same, and the condition of its poll is still false. */
void operation_try_again(Plan *plan);
/* Frees a plan put aside: the next try is an ordinary one. */
void operation_forget_try(Plan *plan);

/* MET-60: counts the end of an operation that @plan carried out on a volume of the CSI driver
 * @driver. */
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
