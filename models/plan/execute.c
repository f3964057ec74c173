/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "plan-private.h"

/* Polls run after all other events of their instant, as ticks do, and after the tickers. Among
 * polls the one that began first runs first. The order of wake-ups cannot decide: a poll that never
 * sleeps is never woken. */
#define POLL_ORDER (UINT64_C(1) << 37)

static void plan_advance(Plan *plan);

/* Drops the answer of a call under way. The back end still carries out the call. */
static void
abandon_call(Plan *plan)
{
    if (plan->call_id == 0)
        return;
    csi_driver_abandon(plan_step(plan, plan->cursor)->call.driver, plan->call_id);
    plan->call_id = 0;
    plan_unref(plan); /* held for call_replied() */
}

/* Returns: NULL: the plan does not poll now */
static Step *
poll_under_way(const Plan *self)
{
    Step *step = self->cursor < self->n_steps ? plan_step(self, self->cursor) : NULL;

    return step != NULL && step->kind == STEP_POLL && step->poll.started_at != TIME_UNSET ? step
                                                                                          : NULL;
}

/* Stops to look; what is known by now stays. */
static void
poll_stop(Sim *sim, Step *step)
{
    sim_cancel(sim, step->poll.gives_up);
    sim_cancel(sim, step->poll.next_look);
    step->poll.gives_up = step->poll.next_look = 0;
    step->poll.started_at = TIME_UNSET;
}

/* The end of whatever the plan waits for. */
static void
stop_waiting(Plan *plan)
{
    Step *poll = poll_under_way(plan);

    if (poll != NULL)
        poll_stop(plan->component->sim, poll);
    abandon_call(plan);
}

/* Ends the plan and calls done. @message: interned; NULL: it ended well, or nobody listens */
static void
execute_plan_end(Plan *plan, PlanEnd end, const char *message)
{
    Component *component = plan->component;

    stop_waiting(plan);
    plan->component = NULL;
    g_queue_unlink(&component->plans, &plan->link);
    if (plan->start.done != NULL)
        plan->start.done(component, plan, end, message);
    if (plan->workers != NULL)
        workers_plan_over(plan->workers, plan, end, message);
    plan_unref(plan);
}

static gboolean
is_timed_request(const Step *step)
{
    return step->kind == STEP_CALL || (step->kind == STEP_REQUEST && !step->write.is_noop);
}

/* Returns: the first request or call; NULL: none, or a wait, poll or gathering comes first */
static const Step *
first_request(const Plan *plan)
{
    for (unsigned i = plan->cursor; i < plan->n_steps; i++) {
        const Step *step = plan_step(plan, i);
        if (is_timed_request(step))
            return step;
        if (step->kind == STEP_WAIT || step->kind == STEP_POLL || step->kind == STEP_GATHER)
            return NULL;
    }
    return NULL;
}

/* Whether the step succeeded, or failed in a way that the plan accepts. */
static gboolean
is_fine(const Step *step)
{
    if (step->code == API_OK || (step->errors & PLAN_GO_ON) != 0)
        return TRUE;
    return (step->code == API_NOT_FOUND && (step->errors & PLAN_GONE_IS_FINE) != 0) ||
           (step->code == API_EXISTS && (step->errors & PLAN_EXISTS_IS_FINE) != 0);
}

/* Whether somebody is told why the plan fails. */
static gboolean
is_listened_to(const Plan *plan)
{
    return plan->start.done != NULL || (plan->workers != NULL && workers_listen(plan->workers));
}

/* A step has its result: continue with the next step, or as its error demands. */
static void
step_done(Plan *plan)
{
    const Step *step = plan_step(plan, plan->cursor);

    plan->last_step = (int)plan->cursor;
    if (is_fine(step)) {
        plan->cursor++;
        return;
    }
    if ((step->errors & PLAN_DECIDE) != 0 && plan->then != NULL) {
        plan->cursor = plan->n_steps;
        return;
    }
    if (plan->component != NULL) /* a gathered plan may have ended it */
        execute_plan_end(
            plan, PLAN_FAILED,
            is_listened_to(plan) ? strings_intern(plan->component->strings, step->message) : NULL);
}

static void
request_replied(void *data, const ApiResponse *response)
{
    Plan *plan = data;

    if (plan->component != NULL) {
        Step *step = plan_step(plan, plan->cursor);
        step->code = (uint16_t)response->code;
        if (step->write.request.verb == API_LIST) /* plan_list_find() reads this version */
            step->write.request.resource_version =
                api_server_resource_version(api_client_api(plan->start.client));
        step->result = response->object == NULL ? NULL : object_ref(response->object);
        step->message = g_strdup(response->message);
        plan->thought = plan->start.no_think;
        step_done(plan);
        plan_advance(plan);
    }
    plan_unref(plan);
}

static void
plan_drop(void *data)
{
    plan_unref(data);
}

static void
send_request(Plan *plan, Step *step)
{
    api_client_request(plan->start.client, &step->write.request, request_replied, plan_drop,
                       plan_ref(plan));
}

static void
call_replied(void *data, const CsiResponse *response)
{
    Plan *plan = data;

    if (plan->component != NULL) {
        Step *step = plan_step(plan, plan->cursor);
        plan->call_id = 0;
        step->call.response = csi_response_copy(plan->memory, response);
        step->code = response->code == CSI_OK ? API_OK : API_INVALID;
        if (response->code != CSI_OK)
            step->message = g_strdup(csi_response_error(response, plan->component->strings));
        plan->thought = plan->start.no_think;
        step_done(plan);
        plan_advance(plan);
    }
    plan_unref(plan);
}

static void send_call(Plan *plan, Step *step);

/* A hung process resumes. */
static void
send_held_call(void *data)
{
    Plan *plan = data;

    if (plan->component != NULL)
        send_call(plan, plan_step(plan, plan->cursor));
    plan_unref(plan);
}

static void
send_call(Plan *plan, Step *step)
{
    if (G_UNLIKELY(process_state(plan->component->process) == PROCESS_STOPPED)) {
        process_hold(plan->component->process, send_held_call, plan_drop, plan_ref(plan));
        return;
    }
    plan->call_id =
        csi_driver_call(step->call.driver, step->call.request, call_replied, plan_ref(plan));
}

static void
plan_go_on(Sim *sim, void *data)
{
    Plan *plan = data;

    (void)sim;
    if (plan->component != NULL)
        plan_advance(plan);
    plan_unref(plan);
}

static const SimEventType thought_event = {
    .name = "component/request leaves",
    .fire = plan_go_on,
    .free_data = plan_drop,
};

static const ObjectKey *
request_key(const Plan *plan, const Step *step)
{
    return step->kind == STEP_REQUEST ? step->write.request.key : plan->start.key;
}

/* TIM-10: the component's own time before a request or call. Returns: whether that takes time */
static gboolean
plan_think(Plan *plan, const Step *step)
{
    SimTime time = api_client_think(plan->start.client, (ObjectKey *)request_key(plan, step));

    plan->thought = TRUE;
    if (time <= 0)
        return FALSE;
    sim_at_detail(plan->component->sim, sim_now(plan->component->sim) + time, &thought_event,
                  plan_ref(plan), WAIT_THINK, plan->component->label);
    return TRUE;
}

/* ---- Polls ---- */

static gboolean
poll_ask(Plan *plan, Step *step)
{
    step->poll.asked_at = sim_now(plan->component->sim);
    int answer = step->poll.condition(plan->component, plan);
    if (answer == 0)
        return FALSE;
    step->code = answer > 0 ? API_OK : API_INVALID;
    poll_stop(plan->component->sim, step);
    plan->thought = plan->start.no_think;
    return TRUE;
}

static void poll_schedule(Plan *plan, Step *step);

static void
poll_fire(Sim *sim, void *data)
{
    Plan *plan = data;

    if (plan->component != NULL) {
        Step *step = plan_step(plan, plan->cursor);
        step->poll.next_look = 0;
        if (poll_ask(plan, step)) {
            step_done(plan);
            plan_advance(plan);
        } else if (sim_is_polling(sim)) {
            poll_schedule(plan, step);
        }
    }
    plan_unref(plan);
}

static const SimEventType poll_event = {
    .name = "component/poll",
    .fire = poll_fire,
    .free_data = plan_drop,
};

/* Returns: the first instant of the even grid, @now or later, at which the condition was not asked
 * yet */
static SimTime
even_grid_next(const Step *step, SimTime now)
{
    SimTime passed = now - step->poll.started_at;
    SimTime periods = MAX(1, (passed + step->poll.period - 1) / step->poll.period);
    SimTime at = step->poll.started_at + periods * step->poll.period;

    return at > step->poll.asked_at ? at : at + step->poll.period;
}

/* The same for a growing grid. The jitter of looks during sleep is drawn, too, so a sleeping poll
 * looks at the same instants as one that never sleeps. */
static SimTime
growing_grid_next(const Plan *plan, Step *step, SimTime now)
{
    SimStream stream = sim_stream(plan->component->sim, "component/poll");
    uint64_t entity = sim_hash_combine(plan->start.key->hash, (uint64_t)step->poll.started_at);

    while (step->poll.next_at < now || step->poll.next_at <= step->poll.asked_at) {
        double jitter =
            step->poll.jitter * sim_random_uniform(stream, entity, step->poll.n_looks++);
        step->poll.next_at += step->poll.delay + (SimTime)((double)step->poll.delay * jitter);
        step->poll.delay =
            MIN(step->poll.delay * step->poll.growth_permille / 1000, step->poll.cap);
    }
    return step->poll.next_at;
}

/* For the log of causes: the start of the poll is the cause of its first look, whatever woke the
 * poll. */
static SimCauseId
cause_of_look(const Plan *plan, const Step *step, SimTime at)
{
    gboolean is_first = step->poll.growth_permille == 0
                            ? at == step->poll.started_at + step->poll.period
                            : step->poll.n_looks == 1;

    return is_first ? step->poll.begun_by : sim_cause(plan->component->sim);
}

static void
poll_schedule(Plan *plan, Step *step)
{
    Sim *sim = plan->component->sim;
    SimTime now = sim_tick_is_past(sim, step->poll.order) ? sim_now(sim) + 1 : sim_now(sim);
    SimTime at = step->poll.growth_permille == 0 ? even_grid_next(step, now)
                                                 : growing_grid_next(plan, step, now);
    SimCauseId cause = sim_cause(sim);

    sim_set_cause(sim, cause_of_look(plan, step, at));
    step->poll.next_look = sim_at_tick(sim, at, step->poll.order, &poll_event, plan_ref(plan),
                                       WAIT_POLL, plan->component->label);
    sim_set_cause(sim, cause);
}

gboolean
plans_are_whole(const Component *component)
{
    return component->runs->observer != NULL || sim_is_polling(component->sim);
}

/* Returns: whether it was put aside */
static gboolean
is_put_aside(Plan *plan)
{
    return plan->start.timed_out != NULL && !plans_are_whole(plan->component) &&
           plan->start.timed_out(plan->component, plan);
}

static void
poll_timed_out(Sim *sim, void *data)
{
    Plan *plan = data;

    if (plan->component != NULL) {
        Step *step = plan_step(plan, plan->cursor);
        step->poll.gives_up = 0;
        poll_stop(sim, step);
        if (!is_put_aside(plan)) {
            step->code = API_TIMEOUT;
            step_done(plan);
            plan_advance(plan);
        }
    }
    plan_unref(plan);
}

static const SimEventType poll_timeout_event = {
    .name = "component/poll gives up",
    .fire = poll_timed_out,
    .free_data = plan_drop,
};

/* Whether the poll may sleep from the start: the condition has no answer yet, and plan_wake() comes
 * with every change. Otherwise a change may come before the first wake-up can, and only the first
 * look finds it. */
static gboolean
poll_may_sleep(const Plan *plan, const Step *step)
{
    if (sim_is_polling(plan->component->sim))
        return FALSE;
    if (step->poll.at_once) /* the condition has just been asked */
        return TRUE;
    return (step->errors & PLAN_WOKEN) != 0 && step->poll.condition(plan->component, plan) == 0;
}

static void
poll_set_out(const Plan *plan, Step *step)
{
    Sim *sim = plan->component->sim;

    step->poll.order = POLL_ORDER | plan->component->runs->n_polls++;
    step->poll.started_at = step->poll.asked_at = step->poll.next_at = sim_now(sim);
    step->poll.delay = step->poll.period;
    step->poll.n_looks = 0;
    step->poll.begun_by = sim_cause(sim);
}

static void
poll_set_timeout(Plan *plan, Step *step)
{
    Sim *sim = plan->component->sim;

    if (step->poll.timeout != SIM_TIME_MAX)
        step->poll.gives_up =
            sim_at_detail(sim, sim_time_add(sim_now(sim), step->poll.timeout), &poll_timeout_event,
                          plan_ref(plan), WAIT_POLL, plan->component->label);
}

/* Returns: whether the poll ended at once */
static gboolean
poll_begin(Plan *plan, Step *step)
{
    poll_set_out(plan, step);
    if (step->poll.at_once && poll_ask(plan, step))
        return TRUE;
    poll_set_timeout(plan, step);
    if (!poll_may_sleep(plan, step))
        poll_schedule(plan, step);
    return FALSE;
}

void
plan_put_aside(Plan *plan)
{
    g_queue_unlink(&plan->component->plans, &plan->link);
    plan->component = NULL;
}

void
plan_drop_aside(Plan *plan)
{
    if (plan != NULL)
        plan_unref(plan);
}

void
plan_poll_again(Plan *plan)
{
    Component *component = plan->start.component;
    Step *step = plan_step(plan, plan->cursor);

    g_assert(plan->component == NULL && step->kind == STEP_POLL && !sim_is_polling(component->sim));
    plan->component = component;
    plan->started_at = sim_now(component->sim);
    g_queue_push_tail_link(&component->plans, &plan->link);
    poll_set_out(plan, step);
    poll_set_timeout(plan, step);
}

void
plan_wake(Plan *self)
{
    Step *step = self->component == NULL ? NULL : poll_under_way(self);

    if (step != NULL && step->poll.next_look == 0)
        poll_schedule(self, step);
}

/* ---- Carrying out ---- */

static void
start_beside(const Step *step)
{
    if (step->start.operations != NULL)
        operations_start(step->start.operations, step->start.key, &step->start.start);
    else
        plan_start(&step->start.start);
}

/* A plan that a gathering step waits for is over. The waiting plan may have ended before; a
 * reference keeps its struct. */
static void
gathered_ended(void *self, Plan *child, PlanEnd end, const char *message)
{
    Plan *plan = plan_owner(child);
    Step *step = plan->component == NULL ? NULL : plan_step(plan, plan->cursor);

    if (step != NULL && end == PLAN_FAILED) {
        step->code = API_INVALID;
        g_free(step->message);
        step->message = g_strdup(message);
    }
    const PlanStart *start = step == NULL ? NULL : child->gathered_as;
    if (start != NULL)
        step->gather.went_well[start - step->gather.starts] = end == PLAN_DONE;
    if (start != NULL && start->done != NULL)
        start->done(self, child, end, message);
    if (step != NULL && --step->gather.n_left == 0 && step->gather.is_started) {
        plan->thought = plan->start.no_think;
        step_done(plan);
        plan_advance(plan);
    }
    plan_unref(plan);
}

/* Returns: whether all plans ended at once */
static gboolean
gather(Plan *plan, Step *step)
{
    unsigned n = step->gather.n;

    step->gather.n_left = n;
    for (unsigned i = 0; i < n; i++) {
        PlanStart start = step->gather.starts[i];
        start.done = gathered_ended;
        start.owner = plan_ref(plan);
        Plan *child = plan_new(&start, NULL);
        child->gathered_as = &step->gather.starts[i];
        plan_execute(child);
    }
    step->gather.is_started = TRUE;
    return step->gather.n_left == 0;
}

/* ---- The state that a cluster starts with: PlanStart.at_once ---- */

static gboolean
request_at_once(const Plan *plan, Step *step)
{
    ApiResponse response;

    api_client_commit(plan->start.client, &step->write.request, &response);
    step->code = (uint16_t)response.code;
    step->result = response.object == NULL ? NULL : object_ref(response.object);
    step->message = g_strdup(response.message);
    return TRUE;
}

static gboolean
call_at_once(const Plan *plan, Step *step)
{
    const CsiRequest *request = step->call.request;
    CsiResponse response = {.code = CSI_UNIMPLEMENTED};

    g_assert(request->method == CSI_NODE_GET_INFO);
    if (!csi_driver_foresee_node_info(step->call.driver, request->served_by, &response))
        step->code = API_INVALID;
    step->call.response = csi_response_copy(plan->memory, &response);
    return TRUE;
}

/* Edits the result of an earlier step, which this step puts. Returns: whether there is something to
 * send */
static gboolean
resolve_base(Plan *plan, Step *step)
{
    const Step *base = plan_step(plan, (unsigned)step->write.base_step);

    if (base->result == NULL) { /* that step failed, so this one fails with its code */
        step->code = base->code;
        step->message = g_strdup(base->message);
        return FALSE;
    }
    Object *object = object_edit(base->result);
    gboolean changed =
        step->write.edit(object, step->write.arg) || (step->errors & PLAN_SEND_ALWAYS) != 0;
    step->write.request.object = object;
    step->write.base_step = -1;
    step->write.is_noop = !changed;
    if (!changed)
        step->result = object_ref(base->result);
    return changed;
}

static void
wait_over(Sim *sim, void *data)
{
    Plan *plan = data;

    if (plan->component != NULL)
        plan->cursor++;
    plan_go_on(sim, plan);
}

static const SimEventType wait_event = {
    .name = "component/wait",
    .fire = wait_over,
    .free_data = plan_drop,
};

static void
tell_observer(const Plan *plan, const Step *step)
{
    const PlanRuns *runs = plan->component->runs;

    if (runs->observer != NULL)
        runs->observer(runs->observer_data, plan->component, plan, step->rule,
                       plan_step_text(step));
}

/* plan_event_of_result(). */
static void
find_event_object(const Plan *plan, Step *step)
{
    const Step *from = plan_step(plan, (unsigned)step->event.step);
    const ObjectKey *key = from->write.request.key;

    step->event.object = from->result != NULL
                             ? object_ref(from->result)
                             : object_new(objects_key(plan->component->objects, key->kind, "", ""));
}

/* Returns: whether the step is done: the next one may follow now */
static gboolean
execute_carry_out(Plan *plan, Step *step)
{
    if (step->kind == STEP_EVENT && step->event.object == NULL)
        find_event_object(plan, step);
    if (!plan->start.at_once)
        tell_observer(plan, step);
    switch ((StepKind)step->kind) {
    case STEP_REQUEST:
        if (step->write.base_step >= 0 && !resolve_base(plan, step))
            return TRUE;
        if (step->write.is_noop)
            return TRUE;
        if (plan->start.at_once)
            return request_at_once(plan, step);
        if (plan->thought || !plan_think(plan, step))
            send_request(plan, step);
        return FALSE;
    case STEP_CALL:
        if (plan->start.at_once)
            return call_at_once(plan, step);
        if (plan->thought || !plan_think(plan, step))
            send_call(plan, step);
        return FALSE;
    case STEP_EVENT:
        event_recorder_record(plan->component->events, step->event.object, step->event.type,
                              step->event.reason, step->event.message);
        return TRUE;
    case STEP_CHANGE:
        plan_apply_change(plan, step);
        plan_drop_change(plan, plan->cursor);
        return TRUE;
    case STEP_START:
        start_beside(step);
        step->start.start.free_operation = NULL; /* the started plan owns the operation now */
        return TRUE;
    case STEP_GATHER:
        return gather(plan, step);
    case STEP_WAIT:
        sim_at_detail(plan->component->sim,
                      sim_time_add(sim_now(plan->component->sim), step->wait.delay), &wait_event,
                      plan_ref(plan), step->wait.wait, plan->component->label);
        return FALSE;
    case STEP_POLL:
        return poll_begin(plan, step);
    }
    g_assert_not_reached();
}

/* All steps are done. The plan's requeue decision stays. */
static void
forget_done_steps(Plan *plan)
{
    const char *rule = plan->rule;
    PlanRequeue requeue = plan->requeue;

    plan_forget_steps(plan);
    plan->rule = rule;
    plan->requeue = requeue;
    plan->then_anew = FALSE;
}

static void
plan_advance(Plan *plan)
{
    plan_ref(plan);
    while (plan->component != NULL) {
        if (plan->cursor < plan->n_steps) {
            if (!execute_carry_out(plan, plan_step(plan, plan->cursor)))
                break;
            if (plan->component != NULL) /* a change may have ended it */
                step_done(plan);
        } else if (plan->failure != NULL) {
            execute_plan_end(plan, PLAN_FAILED, plan->failure);
        } else if (plan->then != NULL) {
            PlanDecide decide = plan->then;
            plan->then = NULL;
            if (plan->then_anew)
                forget_done_steps(plan);
            decide(plan->component, plan);
        } else {
            execute_plan_end(plan, PLAN_DONE, NULL);
        }
    }
    plan_unref(plan);
}

/* The component's own time is over and its caches may have changed: decide again, unless
 * once is enough. */
static void
plan_decide_again(Sim *sim, void *data)
{
    Plan *plan = data;

    (void)sim;
    if (plan->component != NULL) {
        plan->thought = TRUE;
        if (!plan->start.decides_once) {
            plan_forget_steps(plan);
            plan->start.decide(plan->component, plan);
        }
        plan_advance(plan);
    }
    plan_unref(plan);
}

static const SimEventType decide_event = {
    .name = "component/decide",
    .fire = plan_decide_again,
    .free_data = plan_drop,
};

gboolean
plan_execute(Plan *plan)
{
    Component *component = plan->component;

    plan->start.decide(component, plan);
    gboolean thinks = !plan->start.no_think && !plan->start.at_once;
    const Step *request = thinks ? first_request(plan) : NULL;
    if (request != NULL) {
        SimTime time =
            api_client_think(plan->start.client, (ObjectKey *)request_key(plan, request));
        sim_at_detail(component->sim, sim_now(component->sim) + time, &decide_event, plan_ref(plan),
                      WAIT_THINK, component->label);
        return TRUE;
    }
    plan->thought = plan->start.no_think;
    plan_ref(plan);
    plan_advance(plan);
    gboolean goes_on = plan->component != NULL;
    plan_unref(plan);
    return goes_on;
}

Plan *
plan_start(const PlanStart *start)
{
    Plan *plan = plan_new(start, NULL);

    return plan_execute(plan) ? plan : NULL;
}

void
plan_cancel(Plan *self)
{
    if (self->component != NULL)
        execute_plan_end(self, PLAN_FAILED,
                         strings_intern(self->component->strings, "context canceled"));
}

void
plans_abandon(Component *component)
{
    GList *link;

    while ((link = g_queue_peek_head_link(&component->plans)) != NULL) {
        Plan *plan = link->data;
        stop_waiting(plan);
        g_queue_unlink(&component->plans, link);
        plan->component = NULL;
        if (plan->gathered_as != NULL) /* the plan that waits for it is not told */
            plan_unref(plan_owner(plan));
        plan_unref(plan);
    }
}
