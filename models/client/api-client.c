/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "api-client.h"
#include "process-private.h"

#include <string.h>

/* In the entity of the draws of an Event: apart from requests about the object. It never changes. */
#define EVENT_THOUGHT 14

struct ApiClient {
    Process *process; /* NULL: freed; the last request under way frees the rest */
    Sim *sim;
    SimMemory *memory;
    ApiServer *api;
    const Timing *timing;
    const char *name;
    uint64_t hash;
    uint16_t label; /* of its throttling, in the log of causes */
    SimTokenBucket
        bucket; /* for all requests, reads and Events included (CGO-41); watches need none (CGO-4) */
    SimStream thoughts, answers;
    unsigned n_refs; /* one of the owner, one of each request */
};

typedef struct {
    ApiClient *client;
    ApiRequest request;
    ApiReply reply;
    GDestroyNotify drop;
    void *data;
} ClientCall;

/* "external-attacher (5/s, burst 10)"; clients of several processes have the same name, so those are told apart by the process. */
static uint16_t
throttling_label(const Process *process, const char *name, double qps, unsigned burst)
{
    char number[G_ASCII_DTOSTR_BUF_SIZE];
    const char *process_name = process->options.name;
    int length = (int)strcspn(process_name, "/");

    if (qps <= 0)
        return 0;
    g_ascii_formatd(number, sizeof number, "%g", qps);
    g_autofree char *text = strncmp(process_name, name, (size_t)length) == 0
                                ? g_strdup_printf("%s (%s/s, burst %u)", name, number, burst)
                                : g_strdup_printf("%.*s: %s (%s/s, burst %u)", length, process_name,
                                                  name, number, burst);
    return sim_label(process->options.sim, text);
}

ApiClient *
api_client_new(Process *process, const char *name, double qps, unsigned burst)
{
    ApiClient *self = g_new0(ApiClient, 1);

    self->process = process;
    self->sim = process->options.sim;
    self->memory = sim_memory(self->sim);
    self->api = process->options.api;
    self->timing = process->options.timing;
    self->name = name;
    self->hash = sim_hash_combine(process->hash, sim_hash_string(name));
    self->thoughts = sim_stream(self->sim, "client/think");
    self->answers = sim_stream(self->sim, "client/answer");
    self->label = throttling_label(process, name, qps, burst);
    self->n_refs = 1;
    sim_token_bucket_init(&self->bucket, qps, burst);
    return self;
}

static void
api_client_unref(ApiClient *self)
{
    if (--self->n_refs == 0)
        g_free(self);
}

void
api_client_free(ApiClient *self)
{
    if (self == NULL)
        return;
    self->process = NULL;
    api_client_unref(self);
}

const char *
api_client_name(const ApiClient *self)
{
    return self->name;
}

SimTime
api_client_think(ApiClient *self, ObjectKey *key)
{
    uint64_t entity = sim_hash_combine(key->hash, self->hash);

    return sim_dist_draw(self->timing->think, self->thoughts, entity, key->n_thoughts++);
}

SimTime
api_client_think_event(const ApiClient *self, const ObjectKey *key)
{
    uint64_t entity = sim_hash_combine(key->hash, self->hash + EVENT_THOUGHT);

    return sim_dist_draw(self->timing->think, self->thoughts, entity, key->n_events) / 2;
}

SimTime
api_client_own_time(const ApiClient *self, const ObjectKey *key)
{
    uint64_t entity = sim_hash_combine(key->hash, self->hash);

    return sim_dist_draw(self->timing->think, self->answers, entity, key->n_thoughts);
}

SimTime
api_client_answer(const ApiClient *self, const ObjectKey *key)
{
    return api_client_own_time(self, key) / 2;
}

gboolean
api_client_is_throttled(const ApiClient *self)
{
    return self->bucket.interval > 0;
}

static void
client_call_free(ClientCall *call)
{
    ApiClient *client = call->client;

    sim_memory_give(client->memory, call, sizeof *call);
    api_client_unref(client);
}

static void
client_call_drop(void *data)
{
    ClientCall *call = data;

    if (call->drop != NULL)
        call->drop(call->data);
    client_call_free(call);
}

static void
client_call_reply(void *data, const ApiResponse *response)
{
    ClientCall *call = data;

    if (call->client->process ==
        NULL) { /* the process died meanwhile; what it asked for happened all the same */
        client_call_drop(call);
        return;
    }
    call->reply(call->data, response);
    client_call_free(call);
}

static void
client_call_send(Sim *sim, void *data)
{
    ClientCall *call = data;

    (void)sim;
    if (call->client->process == NULL) { /* died while it waited for a token: never sent */
        client_call_drop(call);
        return;
    }
    api_server_request(call->client->api, &call->request, client_call_reply, client_call_drop,
                       call);
}

static const SimEventType token_event = {
    .name = "client/token",
    .fire = client_call_send,
    .free_data = client_call_drop,
};

void
api_client_request(
    ApiClient *self, const ApiRequest *request, ApiReply reply, GDestroyNotify drop, void *data)
{
    ClientCall *call = sim_memory_new_struct(self->memory, ClientCall);
    SimTime granted_at = sim_token_bucket_reserve(&self->bucket, sim_now(self->sim));

    *call = (ClientCall){self, *request, reply, drop, data};
    call->request.client = self->name;
    call->request.client_hash = self->hash;
    self->n_refs++;
    if (granted_at > sim_now(self->sim))
        sim_at_detail(self->sim, granted_at, &token_event, call, WAIT_THROTTLE, self->label);
    else
        client_call_send(self->sim, call);
}

SimTime
api_client_reserve(ApiClient *self)
{
    return sim_token_bucket_reserve(&self->bucket, sim_now(self->sim));
}

uint64_t
api_client_hash(const ApiClient *self)
{
    return self->hash;
}

Sim *
api_client_sim(const ApiClient *self)
{
    return self->sim;
}

ApiServer *
api_client_api(const ApiClient *self)
{
    return self->api;
}
