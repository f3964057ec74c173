/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "inspect.h"

#include "cluster-private.h"
#include "models/plan/plan-private.h"

typedef struct {
    const Component *component;
    const char *queue;
    DoingSeen seen;
    void *data;
} Inspection;

/* A wait is past its cursor before it is over: what is under way is the last step that was begun.
 */
static const Step *
step_under_way(const Plan *plan)
{
    unsigned cursor = plan->cursor;

    if (cursor > 0 && plan_step(plan, cursor - 1)->kind == STEP_WAIT)
        cursor--;
    return cursor < plan->n_steps ? plan_step(plan, cursor) : NULL;
}

static void
inspect_plan(const Inspection *self, const Plan *plan)
{
    const Step *step = step_under_way(plan);
    const Doing doing = {
        .kind = DOING_PLAN,
        .component = self->component,
        .key = plan_key(plan),
        .step = step != NULL ? plan_step_text(step) : NULL,
        .rule = step != NULL ? step->rule : plan->rule,
        .at = plan_started_at(plan),
    };

    self->seen(self->data, &doing);
}

static void
key_seen(void *data, const ObjectKey *key, SimTime at, unsigned failures)
{
    const Inspection *self = data;
    const Doing doing = {
        .kind = at > sim_now(self->component->sim) ? DOING_DELAYED : DOING_QUEUED,
        .component = self->component,
        .queue = self->queue,
        .key = key,
        .at = at,
        .failures = failures,
    };

    self->seen(self->data, &doing);
}

static void
inspect_component(const Component *component, DoingSeen seen, void *data)
{
    Inspection self = {.component = component, .seen = seen, .data = data};

    for (const GList *link = component->plans.head; link != NULL; link = link->next)
        inspect_plan(&self, link->data);
    for (const GList *link = component->workers.head; link != NULL; link = link->next) {
        self.queue = workers_name(link->data);
        work_queue_list(workers_queue(link->data), key_seen, &self);
    }
}

void
cluster_inspect(const Cluster *self, DoingSeen seen, void *data)
{
    for (unsigned i = 0; i < self->instances->len; i++) {
        const Instance *instance = self->instances->pdata[i];

        for (unsigned k = 0; k < instance->models->len; k++)
            inspect_component(instance->models->pdata[k], seen, data);
    }
}
