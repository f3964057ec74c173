/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "apiserver-private.h"
#include "checks.h"

/* Events: the server only keeps them, so they are no objects. */

/* Part of the entity of an Event's draws: keeps them apart from those of requests about the object.
 * Never change it. */
#define EVENT_WRITE 14

/* The write of an Event under way. */
typedef struct {
    ApiServer *server;
    SimMemory *memory;
    ApiEventWrite write;
    SimTime responds_at;
} EventCall;

typedef struct {
    ApiEventObserver observe;
    void *data;
} EventObserver;

void
api_server_init_events(ApiServer *self)
{
    self->events = sim_log_new(sim_cold(self->store.sim), sizeof(ApiEvent));
    self->event_observers = g_array_new(FALSE, FALSE, sizeof(EventObserver));
}

void
api_server_clear_events(ApiServer *self)
{
    sim_log_free(self->events);
    g_array_unref(self->event_observers);
}

void
api_server_observe_events(ApiServer *self, ApiEventObserver observer, void *data)
{
    EventObserver row = {observer, data};

    g_array_append_val(self->event_observers, row);
}

unsigned
api_server_n_events(const ApiServer *self)
{
    return self->events->len;
}

const ApiEvent *
api_server_event(const ApiServer *self, unsigned index)
{
    return &sim_log_index(self->events, ApiEvent, index);
}

static void
event_call_free(void *data)
{
    EventCall *call = data;

    if (call->write.drop != NULL)
        call->write.drop(call->write.data);
    sim_memory_give(call->memory, call, sizeof *call);
}

/* TIM-4. The write was planned long before its arrival, so its work is added only now. */
static void
wait_for_work(EventCall *call, SimTime now)
{
    ApiLatency *latency = &call->server->latency;
    SimTime busy_until = latency->busy_until;

    api_latency_add_work(latency, now, call->responds_at - call->write.arrives_at);
    call->responds_at = MAX(call->responds_at, busy_until);
}

static void
event_call_commit(Sim *sim, void *data)
{
    EventCall *call = data;
    ApiServer *self = call->server;
    ApiEventWrite *write = &call->write;

    if (G_UNLIKELY(self->trouble != NULL) && trouble_is_down(self->trouble)) {
        write->drop = NULL;
        write->written(write->data, API_NEW_EVENT, sim_now(sim));
        event_call_free(call);
        return;
    }
    wait_for_work(call, sim_now(sim));
    self->n_requests[write->index == API_NEW_EVENT ? API_CREATE : API_PATCH]++;
    if (write->index == API_NEW_EVENT &&
        namespace_takes(&self->store, write->event.involved->namespace) != API_OK) { /* API-56 */
        write->drop = NULL;
        write->written(write->data, API_EVENT_REFUSED, call->responds_at);
        event_call_free(call);
        return;
    }
    self->store.revision++;
    write->event.written_at = sim_now(sim);
    for (unsigned i = 0; i < self->event_observers->len; i++) {
        const EventObserver *observer = &g_array_index(self->event_observers, EventObserver, i);
        observer->observe(observer->data, write, call->responds_at);
    }
    if (write->index == API_NEW_EVENT) {
        write->index = self->events->len;
        *(ApiEvent *)sim_log_append(self->events) = write->event;
    } else {
        ApiEvent *event = &sim_log_index(self->events, ApiEvent, write->index);
        write->event.written_at = event->written_at;
        *event = write->event;
    }
    write->drop = NULL;
    write->written(write->data, write->index, call->responds_at);
    event_call_free(call);
}

static const SimEventType event_commit_event = {
    .name = "api/commit of an Event",
    .fire = event_call_commit,
    .free_data = event_call_free,
};

SimEventId
api_server_write_event(ApiServer *self, const ApiEventWrite *write)
{
    SimMemory *memory = sim_memory(self->store.sim);
    EventCall *call = sim_memory_new_struct(memory, EventCall);
    ObjectKey *key = (ObjectKey *)write->event.involved;
    ApiVerb verb = write->index == API_NEW_EVENT ? API_CREATE : API_PATCH;
    uint64_t entity = sim_hash_combine(key->hash, write->client_hash + EVENT_WRITE + verb);

    *call = (EventCall){.server = self, .memory = memory, .write = *write};
    uint32_t n = key->n_events++;
    SimTime duration = api_latency_scale(api_latency_draw(&self->latency, verb, entity, n),
                                         self->latency.timing->event_factor);

    call->responds_at = write->arrives_at + duration;
    return sim_at(self->store.sim,
                  api_latency_commits_at(&self->latency, write->arrives_at, call->responds_at),
                  &event_commit_event, call, WAIT_API);
}
