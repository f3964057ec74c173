/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Requests of one client of a process: it waits for a token of the client's bucket, adds the
 * client's own time, and meets what a process can meet (cut off from the server, stopped, turned
 * away with 429). Data: the bucket, the process's state, the timing table.
 *
 * Invariant: each request is answered once or dropped once, also when the client is freed
 * meanwhile: a request holds a reference. */
#include "api-client.h"
#include "models/metrics/metrics.h"
#include "process-private.h"

#include <string.h>

/* Part of the entity of an Event's draws: keeps them apart from those of requests about the object.
 * Never change it. */
#define EVENT_THOUGHT 14

struct ApiClient {
    Process *process; /* NULL: freed; the last request under way frees the memory */
    Sim *sim;
    SimMemory *memory;
    ApiServer *api;
    const Timing *timing;
    const char *name;
    uint64_t hash;
    uint16_t label;      /* of its throttling, in the log of causes */
    SimSeries **limiter; /* (owned): MET-128, by HttpMethod; NULL: not measured */
    /* for all requests, also reads and Events (CGO-41), but not for watches (CGO-4) */
    SimTokenBucket bucket;
    SimStream thoughts, answers;
    ApiLevel level;
    RefCount refs; /* one for the owner, one for each request */
};

typedef struct {
    ApiClient *client;
    ApiRequest request;
    ApiReply reply;
    GDestroyNotify drop;
    void *data;
    unsigned n_retries;
} ClientCall;

/* "external-attacher (5/s, burst 10)"; several processes have clients of the same name, so the
 * label tells the process, too. */
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

/* API-90: by the name of the process; the real server goes by the user's name. */
static ApiLevel
level_of(const Process *process, const char *name)
{
    const char *process_name = process->options.name;

    if (g_str_equal(name, "leader-election"))
        return API_LEVEL_LEADER_ELECTION;
    if (g_str_has_prefix(process_name, "kubelet/"))
        return g_str_equal(name, "kubelet-heartbeat") ? API_LEVEL_NODE_HIGH : API_LEVEL_SYSTEM;
    return g_str_has_prefix(process_name, "kube-") ? API_LEVEL_WORKLOAD_HIGH
                                                   : API_LEVEL_WORKLOAD_LOW;
}

/* The HTTP method of each verb. */
typedef enum {
    HTTP_DELETE,
    HTTP_GET,
    HTTP_PATCH,
    HTTP_POST,
    HTTP_PUT,
    N_HTTP_METHODS,
} HttpMethod;

static HttpMethod
http_method(ApiVerb verb)
{
    static const uint8_t methods[] = {
        [API_GET] = HTTP_GET,
        [API_LIST] = HTTP_GET,
        [API_CREATE] = HTTP_POST,
        [API_UPDATE] = HTTP_PUT,
        [API_UPDATE_STATUS] = HTTP_PUT,
        [API_PATCH] = HTTP_PATCH,
        [API_PATCH_STATUS] = HTTP_PATCH,
        [API_DELETE] = HTTP_DELETE,
        [API_BIND] = HTTP_POST,
        [API_EVICT] = HTTP_POST,
    };
    G_STATIC_ASSERT(G_N_ELEMENTS(methods) == N_API_VERBS);

    return (HttpMethod)methods[verb];
}

static const char *const method_names[N_HTTP_METHODS] = {"DELETE", "GET", "PATCH", "POST", "PUT"};

/* Sidecars have no metrics about their clients (MET-81). */
static SimSeries **
measure_limiter(const Process *process)
{
    SimMetrics *metrics = sim_metrics(process->options.sim);

    if (metrics == NULL || g_str_has_prefix(process->job, "external-"))
        return NULL;
    SimSeries **limiter = g_new(SimSeries *, N_HTTP_METHODS);
    for (unsigned i = 0; i < N_HTTP_METHODS; i++)
        limiter[i] = metric_series(metrics, METRIC_CLIENT_LIMITER, process->job, METRIC_HOST,
                                   method_names[i]);
    return limiter;
}

ApiClient *
api_client_new(Process *process, const char *name, double qps, unsigned burst)
{
    ApiClient *self = g_new0(ApiClient, 1);

    if (!(qps > 0 || qps < 0))
        qps = API_CLIENT_DEFAULT_QPS;
    if (burst == 0)
        burst = API_CLIENT_DEFAULT_BURST;
    self->process = process;
    self->sim = process->options.sim;
    self->memory = sim_memory(self->sim);
    self->api = process->options.api;
    self->timing = process->options.timing;
    self->name = name;
    self->hash = sim_hash_combine(process->hash, sim_hash_string(name));
    self->thoughts = sim_stream(self->sim, "client/think");
    self->answers = sim_stream(self->sim, "client/answer");
    self->limiter = measure_limiter(process);
    self->label = throttling_label(process, name, qps, burst);
    self->refs = REF_COUNT_ONE;
    self->level = level_of(process, name);
    sim_token_bucket_init(&self->bucket, qps, burst);
    return self;
}

static void
api_client_unref(ApiClient *self)
{
    if (!ref_count_drop(&self->refs))
        return;
    g_free(self->limiter);
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

void
api_client_commit(ApiClient *self, const ApiRequest *request, ApiResponse *response)
{
    ApiRequest named = *request;

    named.client = self->name;
    if (request->verb != API_GET) {
        api_server_commit(self->api, &named, response);
        return;
    }
    *response = (ApiResponse){.object = api_server_get(self->api, request->key)};
    response->code = response->object == NULL ? API_NOT_FOUND : API_OK;
}

SimTime
api_client_think(ApiClient *self, ObjectKey *key)
{
    uint64_t entity = sim_hash_combine(key->hash, self->hash);
    SimTime time = sim_dist_draw(self->timing->think, self->thoughts, entity, key->n_thoughts++);

    if (G_UNLIKELY(self->process->slowness > 0))
        return (SimTime)((double)time * self->process->slowness);
    return time;
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
api_client_is_cut_off(const ApiClient *self)
{
    return self->process != NULL && self->process->state != PROCESS_RUNS;
}

gboolean
api_client_is_throttled(const ApiClient *self)
{
    return self->bucket.interval > 0;
}

SimTime
api_client_next_token(const ApiClient *self)
{
    SimTokenBucket copy = self->bucket;

    return sim_token_bucket_reserve(&copy, sim_now(self->sim));
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

/* ---- A process that is cut off, or hangs ---- */

#define DIAL_TIMEOUT (30 * SIM_SECOND) /* net.Dialer of client-go */
#define RETRIES_MAX 10                 /* CGO-42 */
#define RETRY_AFTER (1 * SIM_SECOND)   /* API-92 */

static void client_call_send(Sim *sim, void *data);
static void client_call_reply(void *data, const ApiResponse *response);

/* A call that cannot reach the server. It fails in the end if nothing changes. */
typedef struct {
    ClientCall *call;
    Process *process;
    ProcessHeld *held;
    SimEventId timeout;
} CutCall;

static void
cut_call_goes_on(void *data)
{
    CutCall *self = data;
    ClientCall *call = self->call;
    Sim *sim = call->client->sim;

    sim_cancel(sim, self->timeout);
    g_free(self);
    client_call_send(sim, call);
}

static void
cut_call_drop(void *data)
{
    CutCall *self = data;

    sim_cancel(self->call->client->sim, self->timeout);
    client_call_drop(self->call);
    g_free(self);
}

static void
cut_call_fails(Sim *sim, void *data)
{
    CutCall *self = data;
    ClientCall *call = self->call;
    const ApiResponse response = {.code = API_UNREACHABLE, .message = "dial tcp: i/o timeout"};

    (void)sim;
    process_give_up(self->process, self->held);
    g_free(self);
    if (call->client->process == NULL) {
        client_call_drop(call);
        return;
    }
    call->reply(call->data, &response);
    client_call_free(call);
}

static const SimEventType cut_event = {.name = "client/no way to the server",
                                       .fire = cut_call_fails};

static void
client_call_is_cut(ClientCall *call)
{
    CutCall *cut = g_new0(CutCall, 1);

    cut->call = call;
    cut->process = call->client->process;
    cut->held = process_hold(cut->process, cut_call_goes_on, cut_call_drop, cut);
    cut->timeout = sim_after(call->client->sim, DIAL_TIMEOUT, &cut_event, cut, WAIT_API);
}

static void
stopped_call_goes_on(void *data)
{
    ClientCall *call = data;

    client_call_send(call->client->sim, call);
}

/* An answer to a stopped process: nobody reads it yet. */
typedef struct {
    ClientCall *call;
    ApiResponse response; /* its object is (owned) */
} KeptReply;

static void
kept_reply_free(KeptReply *self)
{
    object_unref(self->response.object);
    g_free(self);
}

static void
kept_reply_is_read(void *data)
{
    KeptReply *self = data;

    client_call_reply(self->call, &self->response);
    kept_reply_free(self);
}

static void
kept_reply_drop(void *data)
{
    KeptReply *self = data;

    client_call_drop(self->call);
    kept_reply_free(self);
}

/* The answer waits; or it is lost, and the caller learns that after a while. */
static void
reply_meets_trouble(ClientCall *call, const ApiResponse *response)
{
    Process *process = call->client->process;

    if (process->state == PROCESS_STOPPED) {
        KeptReply *kept = g_new(KeptReply, 1);
        *kept = (KeptReply){call, *response};
        if (response->object != NULL)
            object_ref(response->object);
        process_hold(process, kept_reply_is_read, kept_reply_drop, kept);
        return;
    }
    KeptReply *lost = g_new(KeptReply, 1);
    *lost = (KeptReply){
        call, {.code = API_UNREACHABLE, .message = "http2: client connection lost"}
    };
    process_hold(process, kept_reply_is_read, kept_reply_drop, lost);
}

static const SimEventType token_event = {
    .name = "client/token",
    .fire = client_call_send,
    .free_data = client_call_drop,
};

static void
client_call_retry(Sim *sim, void *data)
{
    ClientCall *call = data;
    SimTime granted_at;

    if (call->client->process == NULL) {
        client_call_drop(call);
        return;
    }
    granted_at = sim_token_bucket_reserve(&call->client->bucket, sim_now(sim));
    sim_at(sim, granted_at, &token_event, call, WAIT_THROTTLE);
}

static const SimEventType retry_event = {
    .name = "client/tries again",
    .fire = client_call_retry,
    .free_data = client_call_drop,
};

/* MET-130 */
static void
count_retry(const ClientCall *call)
{
    const Process *process = call->client->process;

    if (call->client->limiter != NULL)
        sim_series_add(metric_series(sim_metrics(call->client->sim), METRIC_CLIENT_RETRIES,
                                     process->job, "429", METRIC_HOST,
                                     method_names[http_method(call->request.verb)]),
                       1);
}

static void
client_call_reply(void *data, const ApiResponse *response)
{
    ClientCall *call = data;
    const Process *process = call->client->process;

    if (process == NULL) { /* the process died; the request was carried out all the same */
        client_call_drop(call);
        return;
    }
    if (G_UNLIKELY(process->state != PROCESS_RUNS)) {
        reply_meets_trouble(call, response);
        return;
    }
    if (G_UNLIKELY(response->code == API_TOO_MANY) && call->n_retries < RETRIES_MAX) {
        call->n_retries++;
        count_retry(call);
        sim_after(call->client->sim, RETRY_AFTER, &retry_event, call, WAIT_BACKOFF);
        return;
    }
    call->reply(call->data, response);
    client_call_free(call);
}

static void
client_call_send(Sim *sim, void *data)
{
    ClientCall *call = data;
    Process *process = call->client->process;

    (void)sim;
    if (process ==
        NULL) { /* the process died while the request waited for a token: it is never sent */
        client_call_drop(call);
        return;
    }
    if (G_UNLIKELY(process->state != PROCESS_RUNS)) {
        if (process->state == PROCESS_CUT)
            client_call_is_cut(call);
        else
            process_hold(process, stopped_call_goes_on, client_call_drop, call);
        return;
    }
    api_server_request(call->client->api, &call->request, client_call_reply, client_call_drop,
                       call);
}

void
api_client_request(
    ApiClient *self, const ApiRequest *request, ApiReply reply, GDestroyNotify drop, void *data)
{
    ClientCall *call = sim_memory_new_struct(self->memory, ClientCall);
    SimTime granted_at = sim_token_bucket_reserve(&self->bucket, sim_now(self->sim));

    if (self->limiter != NULL)
        sim_series_observe(self->limiter[http_method(request->verb)],
                           granted_at - sim_now(self->sim));
    *call = (ClientCall){self, *request, reply, drop, data, 0};
    call->request.client = self->name;
    call->request.level = self->level;
    call->request.client_hash = self->hash;
    ref_count_add(&self->refs);
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

ApiClientBucket
api_client_bucket(const ApiClient *self)
{
    const SimTokenBucket *bucket = &self->bucket;

    if (bucket->interval == 0)
        return (ApiClientBucket){0};
    return (ApiClientBucket){.qps = (double)SIM_SECOND / (double)bucket->interval,
                             .burst = (double)bucket->burst / (double)bucket->interval,
                             .tokens = sim_token_bucket_tokens(bucket, sim_now(self->sim))};
}
