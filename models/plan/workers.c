/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "plan-private.h"

/* Workers of a queue: loops of get, sync, done (CGO-30). */
struct Workers {
    Component *component;
    WorkersOptions options;
    WorkQueue *queue;
    unsigned n_busy;
    uint16_t label;      /* of its queue, in the log of causes */
    SimEventId dispatch; /* pending: keys are handed out after the present event */
};

static void workers_ready(void *data);

static void
worker_run(Workers *self, ObjectKey *key)
{
    PlanStart start = {.component = self->component, .decide = self->options.sync, .key = key};

    self->n_busy++;
    plan_execute(plan_new(&start, self));
}

/* The key's sync has ended. */
static void
key_done(Workers *self, ObjectKey *key)
{
    work_queue_done(self->queue, key);
    if (work_queue_length(self->queue) > 0)
        workers_ready(self);
}

static gboolean
sync_at_once(Workers *self, ObjectKey *key)
{
    Component *component = self->component;

    if (self->options.sync_at_once == NULL || plans_are_whole(component) ||
        !self->options.sync_at_once(component, key))
        return FALSE;
    work_queue_forget(self->queue, key);
    key_done(self, key);
    return TRUE;
}

static void
workers_dispatch(Sim *sim, void *data)
{
    Workers *self = data;
    SimCauseId dispatched_by = sim_cause(sim), added_by;
    ObjectKey *key;

    self->dispatch = 0;
    while (self->n_busy < self->options.n_workers &&
           (key = work_queue_get(self->queue, &added_by)) != NULL) {
        sim_resume_after(sim, added_by, WAIT_WORKERS, self->label, dispatched_by);
        if (!sync_at_once(self, key))
            worker_run(self, key);
    }
    sim_set_cause(sim, dispatched_by);
}

static const SimEventType dispatch_event = {
    .name = "component/dispatch",
    .fire = workers_dispatch,
};

/* Deferred: the caller of add is still running, and other handlers of the same event come first. */
static void
workers_ready(void *data)
{
    Workers *self = data;

    if (self->dispatch == 0 && self->n_busy < self->options.n_workers)
        self->dispatch = sim_after(self->component->sim, 0, &dispatch_event, self, WAIT_NONE);
}

/* WorkQueueOptions.fails_again. A free worker would take the key at this instant, and nothing else
 * happens before: the present facts are those of the sync. A key that waits for a free worker
 * counts, too: its dispatch is pending. */
static gboolean
fails_again(void *data, const ObjectKey *key)
{
    const Workers *self = data;
    Sim *sim = self->component->sim;

    if (self->n_busy >= self->options.n_workers || sim_next_event_at(sim) == sim_now(sim) ||
        plans_are_whole(self->component) || !self->options.fails_again(self->component, key))
        return FALSE;
    sim_count_left_out(sim, 1); /* the dispatch */
    return TRUE;
}

Workers *
workers_new(Component *component, const WorkersOptions *options)
{
    Workers *self = g_new0(Workers, 1);
    WorkQueueOptions queue_options = {
        .sim = component->sim,
        .name = options->name,
        .job = process_job(component->process),
        .limit = options->limit_of == NULL ? options->limit : options->limit_of(component->options),
        .ready = workers_ready,
        .fails_again = options->fails_again != NULL ? fails_again : NULL,
        .self = self,
    };

    g_autofree char *label = g_strdup_printf("%s/%s", component->name, options->name);
    self->component = component;
    self->options = *options;
    if (options->n_flag != 0)
        self->options.n_workers = G_STRUCT_MEMBER(unsigned, component->options, options->n_flag);
    self->label = sim_label(component->sim, label);
    queue_options.label = self->label;
    self->queue = work_queue_new(&queue_options);
    g_queue_push_tail(&component->workers, self);
    return self;
}

void
workers_free(Workers *self)
{
    if (self == NULL)
        return;
    g_queue_remove(&self->component->workers, self);
    sim_cancel(self->component->sim, self->dispatch);
    work_queue_free(self->queue);
    g_free(self);
}

WorkQueue *
workers_queue(Workers *self)
{
    return self->queue;
}

void
workers_add(Workers *self, const ObjectKey *key)
{
    work_queue_add(self->queue, (ObjectKey *)key);
}

void
workers_hold(Workers *self)
{
    self->options.n_workers = 0;
}

static void
requeue(Workers *self, const Plan *plan, PlanEnd end)
{
    ObjectKey *key = plan->start.key;

    if (end == PLAN_FAILED) {
        if (self->options.retries_max > 0 &&
            work_queue_failures(self->queue, key) >= self->options.retries_max)
            work_queue_forget(self->queue, key);
        else if (self->options.retry)
            work_queue_add_rate_limited(self->queue, key);
        return;
    }
    switch (plan->requeue) {
    case PLAN_REQUEUE_RATE_LIMITED:
        work_queue_add_rate_limited(self->queue, key);
        return;
    case PLAN_REQUEUE_AFTER:
        work_queue_forget(self->queue, key);
        work_queue_add_after(self->queue, key, plan->requeue_after);
        return;
    case PLAN_REQUEUE_NOT:
        work_queue_forget(self->queue, key);
        return;
    }
}

void
workers_plan_over(Workers *self, Plan *plan, PlanEnd end, const char *message)
{
    ObjectKey *key = plan->start.key;

    if (self->options.done != NULL)
        self->options.done(self->component, key, end, message);
    requeue(self, plan, end); /* before done: CGO-23 */
    self->n_busy--;
    key_done(self, key);
}

gboolean
workers_listen(const Workers *self)
{
    return self->options.done != NULL;
}

gboolean
workers_are_idle(const Workers *self)
{
    const Sim *sim = self->component->sim;

    return self->n_busy == 0 && self->options.n_workers > 0 &&
           sim_next_event_at(sim) > sim_now(sim) && !plans_are_whole(self->component);
}

const char *
workers_name(const Workers *self)
{
    return self->options.name;
}

unsigned
workers_count(const Workers *self, unsigned *n_busy)
{
    *n_busy = self->n_busy;
    return self->options.n_workers;
}
