/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "plan-private.h"

#include <stdarg.h>
#include <string.h>

Plan *
plan_new(const PlanStart *start, Workers *workers)
{
    SimMemory *memory = sim_memory(start->component->sim);
    Plan *self = sim_memory_new_struct(memory, Plan);

    *self = (Plan){
        .start = *start,
        .memory = memory,
        .component = start->component,
        .link.data = self,
        .refs = REF_COUNT_ONE,
        .last_step = -1,
        .workers = workers,
        .started_at = sim_now(start->component->sim),
        .steps_capacity = PLAN_OWN_STEPS,
    };
    self->steps = self->own_steps;
    if (self->start.client == NULL)
        self->start.client = start->component->client;
    g_queue_push_tail_link(&start->component->plans, &self->link);
    return self;
}

/* A start step that was never carried out still owns its operation. */
static void
operation_free(const PlanStart *start)
{
    if (start->free_operation != NULL)
        start->free_operation(start->operation);
}

static size_t
step_size(StepKind kind)
{
#define SIZE_WITH(member) (offsetof(Step, member) + sizeof(((Step *)NULL)->member))
    static const uint8_t sizes[] = {
        [STEP_REQUEST] = SIZE_WITH(write), [STEP_CALL] = SIZE_WITH(call),
        [STEP_EVENT] = SIZE_WITH(event),   [STEP_CHANGE] = SIZE_WITH(change),
        [STEP_START] = SIZE_WITH(start),   [STEP_GATHER] = SIZE_WITH(gather),
        [STEP_WAIT] = SIZE_WITH(wait),     [STEP_POLL] = SIZE_WITH(poll),
    };
#undef SIZE_WITH

    return sizes[kind];
}

/* Stands for each change that was carried out. */
static const Step done_change = {.kind = STEP_CHANGE, .code = API_OK};

static void
step_free(SimMemory *memory, Step *step)
{
    const Object *object = NULL;

    if (step == &done_change)
        return;
    switch ((StepKind)step->kind) {
    case STEP_REQUEST:
        object = step->write.request.object;
        break;
    case STEP_CALL:
        csi_request_free(memory, step->call.request);
        csi_response_free(memory, step->call.response);
        break;
    case STEP_EVENT:
        object = step->event.object;
        break;
    case STEP_CHANGE:
        object = step->change.change.object;
        break;
    case STEP_GATHER:
        for (unsigned i = 0; !step->gather.is_started && i < step->gather.n; i++)
            operation_free(&step->gather.starts[i]);
        g_free(step->gather.starts);
        g_free(step->gather.went_well);
        break;
    case STEP_START:
        operation_free(&step->start.start);
        break;
    case STEP_WAIT:
    case STEP_POLL:
        break;
    }
    g_clear_pointer(&object, object_unref);
    g_clear_pointer(&step->result, object_unref);
    g_clear_pointer(&step->message, g_free);
    sim_memory_give(memory, step, step_size(step->kind));
}

void
plan_drop_change(Plan *self, unsigned i)
{
    step_free(self->memory, self->steps[i]);
    self->steps[i] = (Step *)&done_change;
}

void
plan_forget_steps(Plan *self)
{
    for (unsigned i = 0; i < self->n_steps; i++)
        step_free(self->memory, plan_step(self, i));
    self->n_steps = 0;
    while (self->blocks != NULL) {
        PlanBlock *block = self->blocks;
        const PlanOwned *owned = (const void *)block->bytes;
        self->blocks = block->next;
        if (block->owns)
            owned->free_data(owned->data);
        sim_memory_give(self->memory, block, block->size);
    }
    self->notes = NULL;
    self->cursor = 0;
    self->last_step = -1;
    self->then = NULL;
    self->rule = NULL;
    self->failure = NULL;
    self->requeue = PLAN_REQUEUE_NOT;
}

Plan *
plan_ref(Plan *self)
{
    ref_count_add(&self->refs);
    return self;
}

void
plan_unref(Plan *self)
{
    if (!ref_count_drop(&self->refs))
        return;
    plan_forget_steps(self);
    if (self->steps != self->own_steps)
        sim_memory_give(self->memory, self->steps, self->steps_capacity * sizeof(Step *));
    if (self->start.free_operation != NULL)
        self->start.free_operation(self->start.operation);
    sim_memory_give(self->memory, self, sizeof *self);
}

ObjectKey *
plan_key(const Plan *self)
{
    return self->start.key;
}

const void *
plan_operation(const Plan *self)
{
    return self->start.operation;
}

void *
plan_done_operation(const Plan *self)
{
    g_assert(self->component == NULL);
    return self->start.operation;
}

void *
plan_timed_out_operation(const Plan *self)
{
    return self->start.operation;
}

void *
plan_owner(const Plan *self)
{
    return self->start.owner;
}

SimTime
plan_started_at(const Plan *self)
{
    return self->started_at;
}

SimTime
plan_now(const Plan *self)
{
    return sim_now(self->start.component->sim);
}

SimTime
plan_run_start(const Plan *self)
{
    return sim_start(self->start.component->sim);
}

static PlanBlock *
block_new(Plan *self, size_t size, gboolean owns)
{
    PlanBlock *block = sim_memory_take(self->memory, sizeof *block + size);

    *block = (PlanBlock){self->blocks, (uint32_t)(sizeof *block + size), owns};
    self->blocks = block;
    return block;
}

void *
plan_alloc(Plan *self, size_t size)
{
    return memset(block_new(self, size, FALSE)->bytes, 0, size);
}

void
plan_own(Plan *self, void *data, GDestroyNotify free_data)
{
    if (data == NULL)
        return;
    PlanOwned *owned = (void *)block_new(self, sizeof *owned, TRUE)->bytes;
    *owned = (PlanOwned){data, free_data};
}

const Object *
plan_keep(Plan *self, const Object *object)
{
    plan_own(self, (void *)object_ref(object), (GDestroyNotify)object_unref);
    return object;
}

gboolean
edit_add_finalizer(Object *object, const void *finalizer)
{
    return object_add_finalizer(object, finalizer);
}

gboolean
edit_remove_finalizer(Object *object, const void *finalizer)
{
    return object_remove_finalizer(object, finalizer);
}

void *
plan_notes_new(Plan *self, size_t size, GDestroyNotify clear)
{
    g_assert(self->notes == NULL);
    self->notes = plan_alloc(self, size);
    if (clear != NULL)
        plan_own(self, self->notes, clear);
    return self->notes;
}

void *
plan_notes(Plan *self)
{
    return self->notes;
}

const char *
plan_internf(Plan *self, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    const char *text = strings_internv(self->start.component->strings, format, args);
    va_end(args);
    return text;
}

const char *
plan_quote(Plan *self, const char *text)
{
    g_autoptr(GString) quoted = g_string_new(NULL);

    for (const char *at = text; *at != '\0'; at++) {
        if (*at == '"' || *at == '\\')
            g_string_append_c(quoted, '\\');
        if (*at == '\n')
            g_string_append(quoted, "\\n");
        else
            g_string_append_c(quoted, *at);
    }
    return plan_internf(self, "\"%s\"", quoted->str);
}

void
plan_because(Plan *self, const char *rule)
{
    self->rule = rule;
}

int
plan_judge(Plan *self, const RuleTable *rules, uint32_t facts)
{
    const Rule *rule = rules_find(rules, facts, NULL);

    plan_because(self, rule->id);
    return rule->then;
}

static void
grow_steps(Plan *self)
{
    unsigned capacity = 2 * self->steps_capacity;
    Step **steps = sim_memory_take(self->memory, capacity * sizeof *steps);

    memcpy(steps, self->steps, self->n_steps * sizeof *steps);
    if (self->steps != self->own_steps)
        sim_memory_give(self->memory, self->steps, self->steps_capacity * sizeof *steps);
    self->steps = steps;
    self->steps_capacity = capacity;
}

static Step *
plan_add(Plan *self, StepKind kind, PlanErrors errors)
{
    if (self->n_steps == self->steps_capacity)
        grow_steps(self);
    Step *step = memset(sim_memory_take(self->memory, step_size(kind)), 0, step_size(kind));

    step->kind = (uint8_t)kind;
    step->errors = (uint8_t)errors;
    step->code = API_OK;
    step->rule = self->rule;
    return self->steps[self->n_steps++] = step;
}

static int
last_index(const Plan *self)
{
    return (int)self->n_steps - 1;
}

static Step *
add_request(Plan *self, ApiVerb verb, const ObjectKey *key, PlanErrors errors)
{
    Step *step = plan_add(self, STEP_REQUEST, errors);

    step->write.request = (ApiRequest){.verb = verb, .key = (ObjectKey *)key, .grace_s = -1};
    step->write.base_step = -1;
    return step;
}

int
plan_get(Plan *self, const ObjectKey *key, PlanErrors errors)
{
    add_request(self, API_GET, key, errors);
    return last_index(self);
}

int
plan_list(Plan *self, ObjectKind kind, PlanErrors errors)
{
    /* A list has no object: its draws are counted under a separate key. */
    add_request(self, API_LIST, objects_key(self->start.component->objects, kind, NULL, "*"),
                errors);
    return last_index(self);
}

int
plan_create(Plan *self, Object *object, PlanErrors errors)
{
    Step *step = add_request(self, API_CREATE, object->key, errors);

    step->write.request.object = object;
    return last_index(self);
}

static int
add_update(Plan *self,
           ApiVerb verb,
           const Object *base,
           ObjectEdit edit,
           const void *arg,
           PlanErrors errors)
{
    Step *step = add_request(self, verb, base->key, errors);
    Object *object = object_edit(base);

    step->write.is_noop = !edit(object, arg) && (errors & PLAN_SEND_ALWAYS) == 0;
    step->write.request.object = object;
    if (step->write.is_noop)
        step->result = object_ref(base);
    return last_index(self);
}

int
plan_update(Plan *self, const Object *base, ObjectEdit edit, const void *arg, PlanErrors errors)
{
    return add_update(self, API_UPDATE, base, edit, arg, errors);
}

int
plan_update_status(
    Plan *self, const Object *base, ObjectEdit edit, const void *arg, PlanErrors errors)
{
    return add_update(self, API_UPDATE_STATUS, base, edit, arg, errors);
}

/* A step by its number. */
static const Step *
numbered_step(const Plan *self, int step)
{
    g_assert(step >= 0 && (unsigned)step < self->n_steps);
    return plan_step(self, (unsigned)step);
}

static int
add_update_result(
    Plan *self, ApiVerb verb, int base_step, ObjectEdit edit, const void *arg, PlanErrors errors)
{
    const Step *base = numbered_step(self, base_step);

    g_assert(base->kind == STEP_REQUEST);
    if (base->write.is_noop) /* its result is known already */
        return add_update(self, verb, base->result, edit, arg, errors);

    Step *step = add_request(self, verb, base->write.request.key, errors);
    step->write.base_step = base_step;
    step->write.edit = edit;
    step->write.arg = arg;
    return last_index(self);
}

int
plan_update_result(Plan *self, int step, ObjectEdit edit, const void *arg, PlanErrors errors)
{
    return add_update_result(self, API_UPDATE, step, edit, arg, errors);
}

int
plan_update_result_status(Plan *self, int step, ObjectEdit edit, const void *arg, PlanErrors errors)
{
    return add_update_result(self, API_UPDATE_STATUS, step, edit, arg, errors);
}

static int
add_patch(Plan *self,
          ApiVerb verb,
          const ObjectKey *key,
          ObjectEdit edit,
          const void *arg,
          PlanErrors errors)
{
    Step *step = add_request(self, verb, key, errors);

    step->write.request.edit = edit;
    step->write.request.arg = arg;
    return last_index(self);
}

int
plan_patch(Plan *self, const ObjectKey *key, ObjectEdit edit, const void *arg, PlanErrors errors)
{
    return add_patch(self, API_PATCH, key, edit, arg, errors);
}

int
plan_patch_status(
    Plan *self, const ObjectKey *key, ObjectEdit edit, const void *arg, PlanErrors errors)
{
    return add_patch(self, API_PATCH_STATUS, key, edit, arg, errors);
}

int
plan_patch_status_at(
    Plan *self, const Object *base, ObjectEdit edit, const void *arg, PlanErrors errors)
{
    int step = add_patch(self, API_PATCH_STATUS, base->key, edit, arg, errors);

    plan_step(self, (unsigned)step)->write.request.resource_version = base->resource_version;
    return step;
}

int
plan_delete(Plan *self, const ObjectKey *key, ObjectUid uid, int32_t grace_s, PlanErrors errors)
{
    Step *step = add_request(self, API_DELETE, key, errors);

    step->write.request.uid = uid;
    step->write.request.grace_s = grace_s;
    return last_index(self);
}

int
plan_delete_foreground(Plan *self, const ObjectKey *key, ObjectUid uid, PlanErrors errors)
{
    int step = plan_delete(self, key, uid, -1, errors);

    plan_step(self, (unsigned)step)->write.request.propagation = API_FOREGROUND;
    return step;
}

int
plan_bind_pod(Plan *self, const Object *pod, const char *node_name, PlanErrors errors)
{
    Step *step = add_request(self, API_BIND, pod->key, errors);

    step->write.request.uid = pod->uid;
    step->write.request.node_name = node_name;
    return last_index(self);
}

int
plan_call(Plan *self, CsiDriver *driver, const CsiRequest *request, PlanErrors errors)
{
    Step *step = plan_add(self, STEP_CALL, errors);

    step->call.driver = driver;
    step->call.request = csi_request_copy(self->memory, request);
    return last_index(self);
}

void
plan_event(
    Plan *self, const Object *object, const char *type, const char *reason, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    plan_event_with(self, object, type, reason,
                    strings_internv(self->start.component->strings, format, args));
    va_end(args);
}

void
plan_event_with(
    Plan *self, const Object *object, const char *type, const char *reason, const char *message)
{
    Step *step = plan_add(self, STEP_EVENT, PLAN_STOP);

    step->event.object = object_ref(object);
    step->event.type = type;
    step->event.reason = reason;
    step->event.message = message;
}

void
plan_event_of_result(
    Plan *self, int step, const char *type, const char *reason, const char *message)
{
    g_assert(numbered_step(self, step)->kind == STEP_REQUEST);
    Step *event = plan_add(self, STEP_EVENT, PLAN_STOP);

    event->event.step = step;
    event->event.type = type;
    event->event.reason = reason;
    event->event.message = strings_intern(self->start.component->strings, message);
}

void
plan_change(Plan *self, const PlanChange *change)
{
    Step *step = plan_add(self, STEP_CHANGE, PLAN_STOP);

    step->change.change = *change;
    step->change.step = -1;
    if (change->object != NULL)
        object_ref(change->object);
}

void
plan_change_result(Plan *self, int what, int from)
{
    g_assert(numbered_step(self, from)->kind == STEP_REQUEST);
    Step *step = plan_add(self, STEP_CHANGE, PLAN_STOP);

    step->change.change.what = what;
    step->change.step = from;
}

void
plan_start_operation(Plan *plan, Operations *operations, OperationKey key, const PlanStart *start)
{
    Step *step = plan_add(plan, STEP_START, PLAN_STOP);

    step->start.start = *start;
    step->start.operations = operations;
    step->start.key = key;
}

int
plan_gather(Plan *self, const PlanStart *starts, unsigned n, PlanErrors errors)
{
    Step *step = plan_add(self, STEP_GATHER, errors);

    step->gather.starts = g_memdup2(starts, n * sizeof *starts);
    step->gather.went_well = g_new0(gboolean, n);
    step->gather.n = n;
    return last_index(self);
}

void
plan_wait(Plan *self, SimTime delay, SimWait wait)
{
    Step *step = plan_add(self, STEP_WAIT, PLAN_STOP);

    step->wait.delay = delay;
    step->wait.wait = wait;
}

/* A wait of no time is dropped: no event could come before its end. */
static void
wait_if_any(Plan *self, SimTime delay)
{
    if (delay > 0)
        plan_wait(self, delay, WAIT_THINK);
}

void
plan_wait_answer(Plan *self)
{
    wait_if_any(self, api_client_answer(self->start.client, self->start.key));
}

void
plan_wait_own_time(Plan *self)
{
    wait_if_any(self, api_client_own_time(self->start.client, self->start.key));
}

int
plan_poll(Plan *self,
          SimTime period,
          SimTime timeout,
          gboolean at_once,
          PlanCondition condition,
          PlanErrors errors)
{
    Step *step = plan_add(self, STEP_POLL, errors);

    step->poll.period = period;
    step->poll.timeout = timeout;
    step->poll.at_once = at_once;
    step->poll.condition = condition;
    step->poll.started_at = TIME_UNSET;
    return last_index(self);
}

int
plan_poll_growing(Plan *self,
                  SimTime period,
                  int growth_permille,
                  double jitter,
                  SimTime cap,
                  SimTime timeout,
                  PlanCondition condition,
                  PlanErrors errors)
{
    int index = plan_poll(self, period, timeout, FALSE, condition, errors);
    Step *step = plan_step(self, (unsigned)index);

    step->poll.growth_permille = growth_permille;
    step->poll.jitter = jitter;
    step->poll.cap = cap;
    return index;
}

void
plan_fail(Plan *self, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    self->failure = strings_internv(self->start.component->strings, format, args);
    va_end(args);
}

void
plan_fail_with(Plan *self, const char *message)
{
    self->failure = message;
}

void
plan_requeue_after(Plan *self, SimTime delay)
{
    self->requeue = PLAN_REQUEUE_AFTER;
    self->requeue_after = delay;
}

void
plan_requeue_rate_limited(Plan *self)
{
    self->requeue = PLAN_REQUEUE_RATE_LIMITED;
}

void
plan_use_client(Plan *self, ApiClient *client)
{
    self->start.client = client != NULL ? client : self->start.component->client;
}

void
plan_then(Plan *self, PlanDecide decide)
{
    self->then = decide;
    self->then_anew = FALSE;
}

void
plan_then_anew(Plan *self, PlanDecide decide)
{
    self->then = decide;
    self->then_anew = TRUE;
}

ApiCode
plan_code(const Plan *self, int step)
{
    return numbered_step(self, step)->code;
}

const Object *
plan_object(const Plan *self, int step)
{
    return numbered_step(self, step)->result;
}

/* A list reads the store, which has not changed since the answer. */
static ApiServer *
listed_store(const Plan *self, int step)
{
    const Step *list = numbered_step(self, step);
    ApiServer *api = api_client_api(self->start.client);

    g_assert(list->kind == STEP_REQUEST && list->write.request.verb == API_LIST);
    g_assert(list->write.request.resource_version == api_server_resource_version(api));
    return api;
}

unsigned
plan_list_length(const Plan *self, int step)
{
    return api_server_count(listed_store(self, step),
                            numbered_step(self, step)->write.request.key->kind);
}

const Object *
plan_list_find(const Plan *self, int step, const ObjectKey *key)
{
    return api_server_get(listed_store(self, step), key);
}

const Object *
plan_list_next(const Plan *self, int step, uint32_t *slot)
{
    const ApiServer *api = listed_store(self, step);
    Objects *objects = self->start.component->objects;
    ObjectKind kind = numbered_step(self, step)->write.request.key->kind;

    while (*slot < objects_n_keys(objects, kind)) {
        const Object *object = api_server_get(api, objects_key_at(objects, kind, (*slot)++));
        if (object != NULL)
            return object;
    }
    return NULL;
}

const char *
plan_message(const Plan *self, int step)
{
    return strings_intern(self->start.component->strings, numbered_step(self, step)->message);
}

unsigned
plan_gathered(const Plan *self, int step)
{
    const Step *gather = numbered_step(self, step);

    g_assert(gather->kind == STEP_GATHER);
    return step <= self->last_step ? gather->gather.n : 0;
}

gboolean
plan_gathered_well(const Plan *self, int step, unsigned i)
{
    g_assert(i < plan_gathered(self, step));
    return numbered_step(self, step)->gather.went_well[i];
}

const CsiResponse *
plan_response(const Plan *self, int step)
{
    const Step *call = numbered_step(self, step);

    g_assert(call->kind == STEP_CALL);
    return call->call.response;
}

int
plan_last_step(const Plan *self)
{
    return self->last_step;
}
