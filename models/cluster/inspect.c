/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "inspect.h"

#include "cluster-private.h"

typedef struct {
    const Component *component;
    const char *queue;
    DoingSeen seen;
    void *data;
} Inspection;

static void
inspect_plan(const Inspection *self, const Plan *plan)
{
    Doing doing = {
        .kind = DOING_PLAN,
        .component = self->component,
        .key = plan_key(plan),
        .at = plan_started_at(plan),
    };

    plan_under_way(plan, &doing.step, &doing.rule);
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

void
cluster_inspect_processes(const Cluster *self, ProcessSeen seen, void *data)
{
    for (unsigned i = 0; i < self->instances->len; i++) {
        const Instance *instance = self->instances->pdata[i];
        ProcessState state =
            instance->process != NULL ? process_state(instance->process) : PROCESS_RUNS;
        const ProcessView view = {
            .name = instance->class->name,
            .instance = instance->instance,
            .node = instance->node,
            .replica = instance->replica,
            .scope = instance->class->scope,
            .is_running = instance->process != NULL,
            .is_hung = state == PROCESS_STOPPED,
            .is_cut_off = state == PROCESS_CUT,
            .is_off = instance->is_off,
            .elects = instance_elects(instance),
            .leads = instance_leads(instance),
            .components = instance->models,
        };

        seen(data, &view);
    }
}
