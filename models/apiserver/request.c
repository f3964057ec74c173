/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The way of a request: it arrives, is committed, and is answered, each at an instant that recorded
 * durations give. Only the commit reads and writes the store, so requests of one instant take
 * effect in the order of their commits. An answer "not found" comes sooner (TIM-5); a creation in a
 * namespace with a quota waits for the quota's own write (API-153). */
#include "apiserver-private.h"
#include "checks.h"
#include "models/apiserver/apiserver-test.h"

typedef struct {
    ApiRequestObserver observe;
    void *data;
} RequestObserver;

void
api_server_init_requests(ApiServer *self)
{
    self->request_observers = g_array_new(FALSE, FALSE, sizeof(RequestObserver));
}

void
api_server_clear_requests(ApiServer *self)
{
    g_array_unref(self->request_observers);
}

void
api_server_observe_requests(ApiServer *self, ApiRequestObserver observer, void *data)
{
    RequestObserver row = {observer, data};

    g_array_append_val(self->request_observers, row);
}

void
api_server_set_fault(ApiServer *self, ApiFault fault, void *data)
{
    self->fault = fault;
    self->fault_data = data;
}

const ApiRequest *
api_server_committing(const ApiServer *self)
{
    return self->committing;
}

uint64_t
api_server_n_requests(const ApiServer *self, ApiVerb verb)
{
    return self->n_requests[verb];
}

static ApiCall *
call_new(ApiServer *self)
{
    SimMemory *memory = sim_memory(self->store.sim);
    ApiCall *call = sim_memory_new_struct(memory, ApiCall);

    *call = (ApiCall){.server = self, .memory = memory};
    return call;
}

static void
request_call_free(void *data)
{
    ApiCall *call = data;

    if (call->drop != NULL)
        call->drop(call->data);
    object_unref(call->object);
    g_free(call->message);
    sim_memory_give(call->memory, call, sizeof *call);
}

static void
call_respond(Sim *sim, void *data)
{
    ApiCall *call = data;
    const ApiServer *self = call->server;

    (void)sim;
    if (G_UNLIKELY(self->trouble != NULL))
        trouble_meets_response(self->trouble, call);
    ApiResponse response = {call->code, call->object, call->message};
    for (unsigned i = 0; i < self->request_observers->len; i++) {
        const RequestObserver *observer =
            &g_array_index(self->request_observers, RequestObserver, i);
        observer->observe(observer->data, &call->request, call->code, call->arrived_at);
    }
    call->drop = NULL;
    call->reply(call->data, &response);
    request_call_free(call);
}

static const SimEventType respond_event = {
    .name = "api/response",
    .fire = call_respond,
    .free_data = request_call_free,
};

/* Returns: whether it was refused */
static gboolean
meets_fault(ApiServer *self, ApiCall *call)
{
    if (self->fault == NULL)
        return FALSE;
    GString *message = g_string_truncate(self->verbs.message, 0);
    ApiCode code = self->fault(self->fault_data, &call->request, message);
    if (code == API_OK)
        return FALSE;
    call->code = code;
    call->message = g_strdup(message->str);
    return TRUE;
}

static void
request_commit(ApiServer *self, ApiCall *call)
{
    self->n_requests[call->request.verb]++;
    self->committing = &call->request;
    api_verbs_commit(&self->verbs, call);
    self->committing = NULL;
}

static void
call_commit(Sim *sim, void *data)
{
    ApiCall *call = data;

    const ApiTrouble *trouble = call->server->trouble;
    gboolean is_lost = G_UNLIKELY(trouble != NULL) && trouble_loses(trouble, call);

    if (!is_lost && !meets_fault(call->server, call))
        request_commit(call->server, call);
    sim_at_detail(sim, call->responds_at, &respond_event, call, WAIT_API,
                  (uint16_t)(call->request.verb + 1));
}

static const SimEventType commit_event_type = {
    .name = "api/commit",
    .fire = call_commit,
    .free_data = request_call_free,
};

/* TIM-5: an answer "not found" comes sooner. */
static gboolean
is_missing(const ApiServer *self, const ApiRequest *request)
{
    return request->verb != API_CREATE && request->verb != API_LIST &&
           api_store_get(&self->store, request->key) == NULL;
}

/* API-153: a creation waits for the server's own write that charges a quota. */
static SimTime
quota_delay(const ApiServer *self, const ApiRequest *request)
{
    const ObjectKey *key = request->key;

    if (request->verb != API_CREATE || self->store.counts[KIND_RESOURCE_QUOTA] == 0)
        return 0;
    ObjectKey *quota =
        (ObjectKey *)quota_find(&self->store, key->namespace, key->kind); /* counts its requests */
    return quota == NULL ? 0
                         : api_latency_draw(&self->latency, API_UPDATE_STATUS, quota->hash,
                                            quota->n_requests++);
}

static void
wait_for_commit(ApiCall *call)
{
    ApiServer *self = call->server;
    SimTime now = sim_now(self->store.sim);
    SimTime busy_until = api_latency_add_work(&self->latency, now, call->responds_at - now);

    call->responds_at = MAX(call->responds_at, busy_until);
    sim_at_detail(self->store.sim, api_latency_commits_at(&self->latency, now, call->responds_at),
                  &commit_event_type, call, WAIT_API, (uint16_t)(call->request.verb + 1));
}

void
api_server_request(
    ApiServer *self, const ApiRequest *request, ApiReply reply, GDestroyNotify drop, void *data)
{
    ApiCall *call = call_new(self);
    uint64_t entity = sim_hash_combine(request->key->hash, request->client_hash + request->verb);

    call->request = *request;
    call->reply = reply;
    call->drop = drop;
    call->data = data;
    call->n = request->key->n_requests++;
    SimTime duration = api_latency_draw(&self->latency, request->verb, entity, call->n);
    if (is_missing(self, request))
        duration = api_latency_scale(duration, self->latency.timing->not_found_factor);
    duration += quota_delay(self, request);
    call->arrived_at = sim_now(self->store.sim);
    call->responds_at = call->arrived_at + duration;
    if (G_UNLIKELY(self->trouble != NULL) && trouble_meets_arrival(self->trouble, call))
        return;
    wait_for_commit(call);
}

static void
call_go_on(ApiCall *call)
{
    SimTime waited = sim_now(call->server->store.sim) - call->arrived_at;

    call->responds_at += waited;
    wait_for_commit(call);
}

static void
call_refuse(ApiCall *call, ApiCode code, const char *message, SimTime delay)
{
    call->code = code;
    g_free(call->message);
    call->message = g_strdup(message);
    call->responds_at = sim_now(call->server->store.sim) + delay;
    sim_at_detail(call->server->store.sim, call->responds_at, &respond_event, call, WAIT_API,
                  (uint16_t)(call->request.verb + 1));
}

const ApiCallClass api_call_class = {call_go_on, call_refuse, request_call_free};

void
api_server_try(ApiServer *self, const ApiRequest *request, ApiResponse *response)
{
    uint32_t incarnation = request->key->incarnation;
    ApiCall call = {.server = self, .request = *request};

    self->store.is_dry = TRUE;
    api_verbs_commit(&self->verbs, &call);
    request->key->incarnation = incarnation;
    self->store.is_dry = FALSE;
    admission_forget(&self->admission);
    *response = (ApiResponse){call.code, call.object,
                              strings_intern(objects_strings(self->store.objects), call.message)};
    g_free(call.message);
}

void
api_server_commit(ApiServer *self, const ApiRequest *request, ApiResponse *response)
{
    ApiCall call = {.server = self,
                    .request = *request,
                    .arrived_at = sim_now(self->store.sim),
                    .responds_at = sim_now(self->store.sim)};

    call.n = request->key->n_requests++;
    request_commit(self, &call);
    *response = (ApiResponse){call.code, call.object,
                              strings_intern(objects_strings(self->store.objects), call.message)};
    g_free(call.message);
    object_unref(call.object); /* the store holds it, unless it was deleted */
    if (api_store_get(&self->store, request->key) != response->object)
        response->object = NULL;
}
