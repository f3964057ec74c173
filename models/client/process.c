/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "process.h"
#include "process-private.h"

#include <string.h>

Process *
process_new(const ProcessOptions *options)
{
    Process *self = g_new0(Process, 1);

    self->options = *options;
    self->hash = sim_hash_string(options->name);
    g_autofree char *job = g_strndup(options->name, strcspn(options->name, "/"));
    self->job = strings_intern(objects_strings(options->objects), job);
    g_queue_init(&self->held);
    return self;
}

struct ProcessHeld {
    void (*go_on)(void *data);
    GDestroyNotify drop;
    void *data;
};

ProcessHeld *
process_hold(Process *self, void (*go_on)(void *data), GDestroyNotify drop, void *data)
{
    ProcessHeld *held = g_new(ProcessHeld, 1);

    *held = (ProcessHeld){go_on, drop, data};
    g_queue_push_tail(&self->held, held);
    return held;
}

void
process_give_up(Process *self, ProcessHeld *held)
{
    g_queue_remove(&self->held, held);
    g_free(held);
}

ProcessState
process_state(const Process *self)
{
    return self->state;
}

void
process_set_slowness(Process *self, double factor)
{
    self->slowness = factor <= 1 ? 0 : factor;
}

void
process_set_state(Process *self, ProcessState state)
{
    ProcessState before = self->state;
    ProcessHeld *held;

    if (state == before)
        return;
    self->state = state;
    if (state != PROCESS_RUNS) {
        api_server_break_watches(self->options.api, self->hash);
        return;
    }
    api_server_repair_watches(self->options.api, self->hash,
                              before == PROCESS_STOPPED ? WATCHES_GO_ON : WATCHES_RECONNECT);
    while (self->state == PROCESS_RUNS && (held = g_queue_pop_head(&self->held)) != NULL) {
        held->go_on(held->data);
        g_free(held);
    }
}

void
process_free(Process *self)
{
    if (self == NULL)
        return;
    for (unsigned kind = 0; kind < N_KINDS; kind++)
        informer_free(self->informers[kind]);
    while (self->held.length > 0) {
        ProcessHeld *held = g_queue_pop_head(&self->held);
        held->drop(held->data);
        g_free(held);
    }
    g_free(self);
}

const char *
process_job(const Process *self)
{
    return self->job;
}

const Timing *
process_timing(const Process *self)
{
    return self->options.timing;
}

const char *
process_name(const Process *self)
{
    return self->options.name;
}

Informer *
process_informer(Process *self, ObjectKind kind, const char *filter)
{
    if (self->informers[kind] == NULL)
        self->informers[kind] = informer_new(self, kind, filter);
    g_assert(informer_filter(self->informers[kind]) == filter);
    return self->informers[kind];
}
