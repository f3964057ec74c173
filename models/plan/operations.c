/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/metrics/metrics.h"
#include "models/plan/plan-test.h"
#include "plan-private.h"
#include "sim/pointer-map.h"

#include <string.h>

/* A record of an operation that runs, or that failed and is remembered (OP-1). */
typedef struct PlanOperation PlanOperation;
struct PlanOperation {
    Plan *plan;      /* NULL: none runs; (owned) if @running is FALSE: put aside */
    SimTime backoff; /* back-off of the next failure; 0: no failure yet */
    SimTime failed_at;
    Operations *owner;
    gboolean running;
    const char *kind; /* of the operation that runs or failed; NULL: kinds are not distinguished */
    PlanOperation *next; /* next record of the same volume, in the order of creation */
    OperationKey key;
    /* Of the caller's PlanStart; may be NULL */
    void (*done)(void *self, Plan *plan, PlanEnd end, const char *message);
};

struct Operations {
    Component *component;
    SimMemory *memory;
    SimTime initial, max;
    PointerMap table; /* interned volume, or operations_place_of() -> its first Operation */
    unsigned n_records;
};

/* The plan that was put aside, if there is one. */
static void
forget_aside(PlanOperation *operation)
{
    if (operation->plan != NULL && !operation->running)
        plan_unref(g_steal_pointer(&operation->plan));
}

static void
operations_free_list(void *data)
{
    for (PlanOperation *operation = data, *next; operation != NULL; operation = next) {
        next = operation->next;
        forget_aside(operation);
        sim_memory_give(operation->owner->memory, operation, sizeof *operation);
    }
}

Operations *
operations_new(Component *component, SimTime initial, SimTime max)
{
    Operations *self = g_new0(Operations, 1);

    self->component = component;
    self->memory = sim_memory(component->sim);
    self->initial = initial;
    self->max = max;
    return self;
}

void
operations_free(Operations *self)
{
    if (self == NULL)
        return;
    pointer_map_clear(&self->table, operations_free_list);
    g_free(self);
}

unsigned
operations_n_records(const Operations *self)
{
    return self->n_records;
}

static gboolean
part_matches(const char *a, const char *b)
{
    return a == b || a == NULL || b == NULL;
}

static gboolean
uid_matches(ObjectUid a, ObjectUid b)
{
    const ObjectUid any = {0};

    return object_uid_equal(a, b) || object_uid_equal(a, any) || object_uid_equal(b, any);
}

/* OP-1: a running record that matches, otherwise the record of the same key, otherwise the first
 * match. */
static PlanOperation *
operations_find(const Operations *self, OperationKey key)
{
    PlanOperation *found = NULL, *operation = NULL;

    if (key.volume != NULL)
        operation = pointer_map_get(&self->table, key.volume);
    for (; operation != NULL; operation = operation->next) {
        if (!part_matches(operation->key.pod, key.pod) ||
            !part_matches(operation->key.node, key.node) ||
            !uid_matches(operation->key.uid, key.uid))
            continue;
        if (operation->running)
            return operation;
        if (found == NULL || (operation->key.pod == key.pod && operation->key.node == key.node))
            found = operation;
    }
    return found;
}

SimTime
operations_backoff_until(const Operations *self, OperationKey key)
{
    const PlanOperation *operation = operations_find(self, key);

    return operation == NULL || operation->backoff == 0 ? 0
                                                        : operation->failed_at + operation->backoff;
}

/* Refused even at the last instant of the back-off (OP-5, PVC-12). */
static gboolean
is_in_backoff(const PlanOperation *operation)
{
    SimTime now = sim_now(operation->owner->component->sim);

    return operation->backoff > 0 && now - operation->failed_at <= operation->backoff;
}

static OperationAnswer
answer_of(const PlanOperation *operation, const char *kind)
{
    if (operation == NULL)
        return OPERATION_STARTED;
    if (operation->running)
        return OPERATION_RUNNING;
    return is_in_backoff(operation) && operation->kind == kind ? OPERATION_BACKOFF
                                                               : OPERATION_STARTED;
}

OperationAnswer
operations_may_start(const Operations *self, OperationKey key, const char *kind)
{
    return answer_of(operations_find(self, key), kind);
}

gboolean
operations_is_running(const Operations *self, OperationKey key)
{
    const PlanOperation *operation = operations_find(self, key);

    return operation != NULL && operation->running;
}

Plan *
operations_plan(const Operations *self, OperationKey key)
{
    const PlanOperation *operation = operations_find(self, key);

    return operation == NULL || !operation->running ? NULL : operation->plan;
}

/* ---- Records ---- */

/* Records without a volume form a chain of their own. */
static const char *
operations_place_of(OperationKey key)
{
    static const char no_volume[] = "";

    return key.volume == NULL ? no_volume : key.volume;
}

static PlanOperation *
add_record(Operations *self, OperationKey key)
{
    PlanOperation *operation = sim_memory_new_struct(self->memory, PlanOperation);
    PlanOperation *last = pointer_map_get(&self->table, operations_place_of(key));

    *operation = (PlanOperation){.owner = self, .key = key};
    self->n_records++;
    while (last != NULL && last->next != NULL)
        last = last->next;
    if (last != NULL)
        last->next = operation;
    else
        pointer_map_set(&self->table, operations_place_of(key), operation);
    return operation;
}

static void
remove_record(PlanOperation *operation)
{
    Operations *self = operation->owner;
    const char *place = operations_place_of(operation->key);
    PlanOperation *at = pointer_map_get(&self->table, place);

    self->n_records--;
    if (at == operation) {
        if (operation->next != NULL)
            pointer_map_set(&self->table, place, operation->next);
        else
            pointer_map_take(&self->table, place);
    } else {
        while (at->next != operation)
            at = at->next;
        at->next = operation->next;
    }
    sim_memory_give(self->memory, operation, sizeof *operation);
}

/* OP-2: prepares an idle record for an operation. During the back-off an operation of another kind
 * takes the record over and resets the back-off. After the back-off the record keeps its kind, and
 * the next failure of any operation doubles the back-off. */
static void
take_over(PlanOperation *operation, OperationKey key, const char *kind)
{
    operation->key = key;
    forget_aside(operation);
    if (operation->kind == kind || (operation->backoff > 0 && !is_in_backoff(operation)))
        return;
    operation->kind = kind;
    operation->backoff = 0;
}

/* OP-5. */
static void
operation_failed(PlanOperation *operation)
{
    const Operations *self = operation->owner;

    operation->running = FALSE;
    operation->failed_at = sim_now(self->component->sim);
    operation->backoff =
        operation->backoff == 0 ? self->initial : MIN(2 * operation->backoff, self->max);
}

static void
operation_over(PlanOperation *operation, PlanEnd end)
{
    operation->plan = NULL;
    if (end == PLAN_DONE || operation->owner->initial == 0)
        remove_record(operation);
    else
        operation_failed(operation);
}

/* The plan's owner is its record, not an owner of the caller's. */
static void
operations_operation_done(void *self, Plan *plan, PlanEnd end, const char *message)
{
    PlanOperation *operation = plan_owner(plan);
    void (*done)(void *, Plan *, PlanEnd, const char *) = operation->done;

    operation_over(operation, end); /* before the caller is told: it may start the next operation */
    if (done != NULL)
        done(self, plan, end, message);
}

OperationAnswer
operations_start(Operations *self, OperationKey key, const PlanStart *start)
{
    PlanOperation *operation = operations_find(self, key);
    OperationAnswer answer = answer_of(operation, start->kind);

    if (answer != OPERATION_STARTED) {
        if (start->free_operation != NULL)
            start->free_operation(start->operation);
        return answer;
    }
    if (operation == NULL)
        operation = add_record(self, key);
    take_over(operation, key, start->kind);
    PlanStart ours = *start;
    operation->done = start->done;
    operation->running = TRUE;
    ours.done = operations_operation_done;
    ours.owner = operation;
    Plan *plan = plan_start(&ours);
    if (plan != NULL)
        operation->plan = plan;
    return answer;
}

/* ---- The same try once more ---- */

void
operation_put_aside(Plan *plan)
{
    PlanOperation *operation = plan_owner(plan);

    g_assert(operation->plan == plan && operation->running && operation->owner->initial > 0);
    operation_failed(operation);
    plan_put_aside(plan);
}

SimTime
operation_aside_until(const Plan *plan)
{
    const PlanOperation *operation = plan_owner(plan);

    return operation->failed_at + operation->backoff;
}

void
operation_try_again(Plan *plan)
{
    PlanOperation *operation = plan_owner(plan);

    g_assert(operation->plan == plan && !operation->running && !is_in_backoff(operation));
    operation->running = TRUE;
    plan_poll_again(plan);
}

void
operation_forget_try(Plan *plan)
{
    forget_aside(plan_owner(plan));
}

/* ---- What an event says ---- */

/* Go's Sprintf() with a format and no arguments. @text follows a '%'. Returns: the text behind the
 * directive */
static const char *
format_directive(GString *out, const char *text)
{
    const char *at = text + strspn(text, "+-# 0");

    at += strspn(at, "0123456789");
    if (*at == '.')
        at += 1 + strspn(at + 1, "0123456789");
    if (*at == '\0') {
        g_string_append(out, "%!(NOVERB)");
        return at;
    }
    if (*at == '%') {
        g_string_append_c(out, '%');
        return at + 1;
    }
    const char *next = g_utf8_validate(at, -1, NULL) ? g_utf8_next_char(at) : at + 1;
    g_string_append(out, "%!");
    g_string_append_len(out, at, next - at);
    g_string_append(out, "(MISSING)");
    return next;
}

/* OP-10. */
const char *
operation_event_message(Strings *strings, const char *text)
{
    const char *percent = strchr(text, '%');

    if (percent == NULL)
        return text;
    g_autoptr(GString) out = g_string_new(NULL);
    for (; percent != NULL; percent = strchr(text, '%')) {
        g_string_append_len(out, text, percent - text);
        text = format_directive(out, percent + 1);
    }
    g_string_append(out, text);
    return strings_intern(strings, out->str);
}

void
operation_measure(
    const Component *component, const Plan *plan, const char *name, const char *driver, PlanEnd end)
{
    SimMetrics *metrics = sim_metrics(component->sim);

    if (metrics == NULL)
        return;
    g_autofree char *plugin = g_strconcat("kubernetes.io/csi:", driver, NULL);
    sim_series_observe(metric_series(metrics, METRIC_STORAGE_OPERATION,
                                     process_job(component->process), "false", name,
                                     end == PLAN_DONE ? "success" : "fail-unknown", plugin),
                       sim_now(component->sim) - plan_started_at(plan));
}
