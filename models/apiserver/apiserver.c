/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "apiserver-private.h"

#include "models/api/manifest.h"

#include <string.h>

#define EVENT_NAME "api"
/* In the entity of the draws of an Event: apart from requests about the object. It never changes.
 */
#define EVENT_WRITE 14
#define CROWD 10 /* TIM-4: requests, of which the rate is taken */

typedef struct {
    ApiObserver see;
    void *data;
} Observer;

typedef struct {
    ApiRequestObserver observe;
    void *data;
} RequestObserver;

typedef struct {
    ApiEventObserver observe;
    void *data;
} EventObserver;

struct ApiServer {
    Sim *sim;
    Objects *objects;
    const Timing *timing;
    gboolean keeps_requests, refuses_defaults;
    WatchHub *watches;
    GPtrArray *stored[N_KINDS]; /* of Object, by slot; NULL: no such object now */
    unsigned counts[N_KINDS];
    uint64_t revision; /* API-1 */
    uint64_t n_requests[N_API_VERBS];
    SimStream latencies, stalls, stall_lengths;
    SimTime recent[CROWD]; /* arrivals of the latest requests, as a ring */
    uint64_t n_recent;
    SimTime crowd_within;      /* so many of them within this time are a crowd; 0: never */
    GArray *events;            /* of ApiEvent */
    GString *message;          /* of the refusal being answered */
    GArray *observers;         /* of Observer */
    GArray *request_observers; /* of RequestObserver */
    GArray *event_observers;   /* of EventObserver */
    ApiFault fault;
    void *fault_data;
    AdmittedSpec admitted_spec;
    ApiTrouble *trouble; /* (owned): NULL: none so far */
};

/* The write of an Event under way. */
typedef struct {
    ApiServer *server;
    SimMemory *memory;
    ApiEventWrite write;
    SimTime responds_at;
} EventCall;

ApiServer *
api_server_new(const ApiServerOptions *options)
{
    ApiServer *self = g_new0(ApiServer, 1);

    self->sim = options->sim;
    self->objects = options->objects;
    self->timing = options->timing;
    self->keeps_requests = options->keeps_requests;
    self->refuses_defaults = options->refuses_defaults;
    self->watches = watch_hub_new(self, self->sim, self->timing);
    self->latencies = sim_stream(self->sim, "api/latency");
    self->stalls = sim_stream(self->sim, "api/stall");
    self->stall_lengths = sim_stream(self->sim, "api/stall length");
    if (self->timing->stall != NULL)
        self->crowd_within = (SimTime)(CROWD * (double)SIM_SECOND / self->timing->stall_rate);
    self->events = g_array_new(FALSE, TRUE, sizeof(ApiEvent));
    self->observers = g_array_new(FALSE, FALSE, sizeof(Observer));
    self->request_observers = g_array_new(FALSE, FALSE, sizeof(RequestObserver));
    self->event_observers = g_array_new(FALSE, FALSE, sizeof(EventObserver));
    self->message = g_string_new(NULL);
    for (unsigned i = 0; i < N_KINDS; i++)
        self->stored[i] = g_ptr_array_new();
    return self;
}

void
api_server_free(ApiServer *self)
{
    if (self == NULL)
        return;
    for (unsigned kind = 0; kind < N_KINDS; kind++) {
        for (unsigned i = 0; i < self->stored[kind]->len; i++)
            if (self->stored[kind]->pdata[i] != NULL)
                object_unref(self->stored[kind]->pdata[i]);
        g_ptr_array_unref(self->stored[kind]);
    }
    admitted_spec_clear(&self->admitted_spec);
    trouble_free(self->trouble);
    watch_hub_free(self->watches);
    g_array_unref(self->events);
    g_array_unref(self->observers);
    g_array_unref(self->request_observers);
    g_array_unref(self->event_observers);
    g_string_free(self->message, TRUE);
    g_free(self);
}

Objects *
api_server_objects(const ApiServer *self)
{
    return self->objects;
}

Sim *
api_server_sim(const ApiServer *self)
{
    return self->sim;
}

AdmittedSpec *
api_server_admitted_spec(ApiServer *self)
{
    return &self->admitted_spec;
}

ApiTrouble *
api_server_trouble(const ApiServer *self)
{
    return self->trouble;
}

void
api_server_set_trouble(ApiServer *self, ApiTrouble *trouble)
{
    self->trouble = trouble;
}

WatchHub *
api_server_watches(const ApiServer *self)
{
    return self->watches;
}

SimTime
api_server_now(const ApiServer *self)
{
    return sim_now(self->sim);
}

gboolean
api_server_keeps_requests(const ApiServer *self)
{
    return self->keeps_requests;
}

gboolean
api_server_chooses_defaults(const ApiServer *self)
{
    return !self->refuses_defaults;
}

const Object *
api_server_get(const ApiServer *self, const ObjectKey *key)
{
    const GPtrArray *stored = self->stored[key->kind];

    return key->slot < stored->len ? stored->pdata[key->slot] : NULL;
}

unsigned
api_server_count(const ApiServer *self, ObjectKind kind)
{
    return self->counts[kind];
}

uint64_t
api_server_resource_version(const ApiServer *self)
{
    return self->revision;
}

uint64_t
api_server_n_requests(const ApiServer *self, ApiVerb verb)
{
    return self->n_requests[verb];
}

void
api_server_observe(ApiServer *self, ApiObserver observer, void *data)
{
    Observer row = {observer, data};

    g_array_append_val(self->observers, row);
}

void
api_server_observe_requests(ApiServer *self, ApiRequestObserver observer, void *data)
{
    RequestObserver row = {observer, data};

    g_array_append_val(self->request_observers, row);
}

void
api_server_observe_events(ApiServer *self, ApiEventObserver observer, void *data)
{
    EventObserver row = {observer, data};

    g_array_append_val(self->event_observers, row);
}

void
api_server_set_fault(ApiServer *self, ApiFault fault, void *data)
{
    self->fault = fault;
    self->fault_data = data;
}

ApiWatch *
api_server_watch(ApiServer *self,
                 ObjectKind kind,
                 const char *filter,
                 uint64_t entity,
                 ApiWatchEvent event,
                 void *data)
{
    return watch_hub_watch(self->watches, kind, filter, entity, event, data);
}

/* Puts @object (taken; NULL: remove) in the place of @key. */
static void
store_replace(ApiServer *self, const ObjectKey *key, Object *object)
{
    GPtrArray *stored = self->stored[key->kind];

    if (key->slot >= stored->len)
        g_ptr_array_set_size(stored, (int)slots_to_hold(key->slot, stored->len));
    const Object *before = stored->pdata[key->slot];
    self->counts[key->kind] += (object != NULL) - (before != NULL);
    stored->pdata[key->slot] = object;
    if (before != NULL)
        object_unref(before);
}

/* A write succeeded: observers see it, watches will. @after is taken; with WATCH_DELETED it is the
 * last state. */
static const Object *
store_commit(ApiServer *self, WatchType type, Object *after, SimTime responds_at, uint32_t n)
{
    const ObjectKey *key = after->key;
    g_autoptr(Object) before =
        api_server_get(self, key) == NULL ? NULL : object_ref(api_server_get(self, key));

    after->resource_version = ++self->revision;
    store_replace(self, key, type == WATCH_DELETED ? NULL : object_ref(after));
    for (unsigned i = 0; i < self->observers->len; i++) {
        const Observer *observer = &g_array_index(self->observers, Observer, i);
        observer->see(observer->data, before, type == WATCH_DELETED ? NULL : after);
    }
    watch_hub_send(self->watches, type, after, responds_at, n);
    return after;
}

void
api_server_store(ApiServer *self, Object *after)
{
    ObjectKey *key = (ObjectKey *)after->key;

    object_unref(store_commit(self, WATCH_MODIFIED, after, sim_now(self->sim), key->n_requests++));
}

static void
answer(ApiCall *call, ApiCode code, const Object *object /* taken */)
{
    call->code = code;
    call->object = object;
}

static void
refuse(ApiCall *call, ApiCode code)
{
    call->code = code;
    call->message = g_strdup(call->server->message->str);
}

static void G_GNUC_PRINTF(3, 4) refuse_with(ApiCall *call, ApiCode code, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    call->message = strings_formatv(format, args);
    call->code = code;
    va_end(args);
}

static void
refuse_conflict(ApiCall *call)
{
    const ObjectKey *key = call->request.key;

    refuse_with(call, API_CONFLICT,
                "Operation cannot be fulfilled on %s \"%s\": the object has been modified; please "
                "apply your changes to the latest version and try again",
                kind_class(key->kind)->resource, key->name);
}

static void
refuse_not_found(ApiCall *call)
{
    const ObjectKey *key = call->request.key;

    refuse_with(call, API_NOT_FOUND, "%s \"%s\" not found", kind_class(key->kind)->resource,
                key->name);
}

/* Marked for deletion, nothing holds it, and no grace is left to wait for (API-51, API-S7). */
static gboolean
may_go(const Object *object)
{
    return object_is_deleted(object) && object->finalizers == NULL && object->deletion_grace_s <= 0;
}

/* Admission knows nothing of what is stored: a claim that is there already is refused, or charged,
 * as a new one is (API-20). */
static gboolean
admission_refuses_again(ApiServer *self, ApiCall *call)
{
    if (call->request.key->kind != KIND_CLAIM ||
        (self->counts[KIND_RESOURCE_QUOTA] == 0 && self->counts[KIND_LIMIT_RANGE] == 0))
        return FALSE;
    g_autoptr(Object) object = object_edit(call->request.object);
    g_string_truncate(self->message, 0);
    ApiCode code = admission_create(self, object, self->message);
    if (code != API_OK)
        refuse(call, code);
    return code != API_OK;
}

static void
commit_create(ApiServer *self, ApiCall *call)
{
    ObjectKey *key = call->request.key;

    if (api_server_get(self, key) != NULL) {
        if (admission_refuses_again(self, call))
            return;
        refuse_with(call, API_EXISTS, "%s \"%s\" already exists", kind_class(key->kind)->resource,
                    key->name);
        return;
    }

    g_autoptr(Object) object = object_edit(call->request.object);
    object->uid = objects_uid(self->objects, key, ++key->incarnation);
    object->created_at = sim_now(self->sim);
    object->generation = kind_class(key->kind)->has_generation ? 1 : 0;
    g_string_truncate(self->message, 0);
    ApiCode code = admission_create(self, object, self->message);
    if (code != API_OK) {
        refuse(call, code);
        return;
    }
    answer(call, API_OK,
           store_commit(self, WATCH_ADDED, g_steal_pointer(&object), call->responds_at, call->n));
}

static gboolean
is_status_write(ApiVerb verb)
{
    return verb == API_UPDATE_STATUS || verb == API_PATCH_STATUS;
}

/* Stores @after unless it is refused, changes nothing (API-2), or ends a deletion (API-51). */
static void
commit_change(ApiServer *self, ApiCall *call, const Object *before, Object *changed /* taken */)
{
    g_autoptr(Object) after = changed;

    g_string_truncate(self->message, 0);
    ApiCode code = admission_update(self, before, after, self->message);
    if (code == API_OK && object_kind(before) == KIND_CLAIM && !is_status_write(call->request.verb))
        code = quota_admit_claim(self, CLAIM_CONST(before), CLAIM_CONST(after), self->message);
    if (code != API_OK) {
        refuse(call, code);
        return;
    }
    if (object_equal(before, after)) {
        answer(call, API_OK, object_ref(before));
        return;
    }
    WatchType type = may_go(after) ? WATCH_DELETED : WATCH_MODIFIED;
    answer(call, API_OK,
           store_commit(self, type, g_steal_pointer(&after), call->responds_at, call->n));
}

static void
take_metadata(Object *to, const Object *from)
{
    StringMap *labels = string_map_ref(from->labels),
              *annotations = string_map_ref(from->annotations);
    StringList *finalizers = string_list_ref(from->finalizers);
    OwnerReferences *owners = owner_references_ref(from->owners);

    string_map_unref(to->labels);
    string_map_unref(to->annotations);
    string_list_unref(to->finalizers);
    owner_references_unref(to->owners);
    to->labels = labels;
    to->annotations = annotations;
    to->finalizers = finalizers;
    to->owners = owners;
}

/* API-3: neither metadata nor status counts. */
static void
count_generation(const Object *before, Object *after)
{
    if (kind_class(object_kind(after))->has_generation && !object_spec_equal(before, after))
        after->generation++;
}

static void
commit_update(ApiServer *self, ApiCall *call, gboolean status)
{
    const ApiRequest *request = &call->request;
    const Object *before = api_server_get(self, request->key);

    if (before == NULL) {
        refuse_not_found(call);
        return;
    }
    if ((request->object->resource_version != 0 &&
         request->object->resource_version != before->resource_version) ||
        (object_uid_is_set(request->object->uid) &&
         !object_uid_equal(request->object->uid, before->uid))) {
        refuse_conflict(call);
        return;
    }

    Object *after = object_edit(before);
    object_take_fields(after, request->object, status);
    take_metadata(after, request->object); /* also by writes of the status (CGO-44) */
    if (!status)
        count_generation(before, after);
    commit_change(self, call, before, after);
}

static gboolean
precondition_holds(ApiCall *call, const Object *before)
{
    const ApiRequest *request = &call->request;

    if (before == NULL) {
        refuse_not_found(call);
        return FALSE;
    }
    if ((object_uid_is_set(request->uid) && !object_uid_equal(request->uid, before->uid)) ||
        (request->resource_version != 0 && request->resource_version != before->resource_version)) {
        refuse_conflict(call);
        return FALSE;
    }
    return TRUE;
}

static void
commit_patch(ApiServer *self, ApiCall *call, gboolean status)
{
    const Object *before = api_server_get(self, call->request.key);

    if (!precondition_holds(call, before))
        return;

    Object *after = object_edit(before);
    call->request.edit(after, call->request.arg);
    if (!status)
        count_generation(before, after);
    commit_change(self, call, before, after);
}

/* WL-90: how long a pod may take; none if no kubelet has it, or it is over. */
static int32_t
pod_grace(const Pod *pod, int32_t asked_s)
{
    if (pod->node_name == NULL || pod_is_terminal(pod))
        return 0;
    return asked_s >= 0 ? asked_s : pod->spec->grace_s;
}

static void
commit_delete(ApiServer *self, ApiCall *call)
{
    const Object *before = api_server_get(self, call->request.key);

    if (!precondition_holds(call, before))
        return;

    gboolean is_pod = object_kind(before) == KIND_POD;
    int32_t grace_s = is_pod ? pod_grace(POD_CONST(before), call->request.grace_s) : 0;
    if (object_is_deleted(before) &&
        (before->finalizers != NULL || grace_s >= before->deletion_grace_s) && !may_go(before)) {
        answer(call, API_OK, object_ref(before)); /* API-53, WL-91: it may only get shorter */
        return;
    }

    Object *after = object_edit(before);
    if (!object_is_deleted(before) || is_pod)
        after->deleted_at = sim_now(self->sim) + grace_s * SIM_SECOND;
    after->deletion_grace_s = grace_s;
    if (after->generation > 0 && !object_is_deleted(before))
        after->generation++; /* API-3 */
    if (!may_go(after)) {
        answer(call, API_OK, store_commit(self, WATCH_MODIFIED, after, call->responds_at, call->n));
        return;
    }
    if (is_pod) { /* WL-90: two writes, both seen by watchers */
        Object *last = object_edit(after);
        object_unref(store_commit(self, WATCH_MODIFIED, after, call->responds_at, call->n));
        after = last;
    }
    answer(call, API_OK, store_commit(self, WATCH_DELETED, after, call->responds_at, call->n));
}

/* API-22. */
static void
commit_bind(ApiServer *self, ApiCall *call)
{
    const Object *before = api_server_get(self, call->request.key);
    const char *name = call->request.key->name;

    if (!precondition_holds(call, before))
        return;
    if (object_is_deleted(before)) {
        refuse_with(call, API_CONFLICT,
                    "Operation cannot be fulfilled on pods/binding \"%s\": pod %s is being "
                    "deleted, cannot be assigned to a host",
                    name, name);
        return;
    }
    if (POD_CONST(before)->node_name != NULL) {
        refuse_with(call, API_CONFLICT,
                    "Operation cannot be fulfilled on pods/binding \"%s\": pod %s is already "
                    "assigned to node \"%s\"",
                    name, name, POD_CONST(before)->node_name);
        return;
    }

    Object *after = object_edit(before);
    POD(after)->node_name = call->request.node_name;
    POD(after)->scheduled =
        (PodCondition){.status = CONDITION_TRUE, .changed_at = sim_now(self->sim)};
    answer(call, API_OK, store_commit(self, WATCH_MODIFIED, after, call->responds_at, call->n));
}

/* WL-113: what the server itself writes before it deletes: the budget's status, and why the pod
 * goes. */
static void
commit_eviction(ApiServer *self, ApiCall *call)
{
    const Object *before = api_server_get(self, call->request.key);

    if (!precondition_holds(call, before))
        return;
    g_string_truncate(self->message, 0);
    ApiCode code = eviction_admit(self, POD_CONST(before), self->message);
    if (code != API_OK) {
        refuse(call, code);
        return;
    }
    before = api_server_get(self, call->request.key);
    Object *told = object_edit(before);
    if (eviction_tell(self, POD(told)))
        api_server_store(self, told);
    else
        object_unref(told);
    commit_delete(self, call);
}

static void
commit(ApiServer *self, ApiCall *call)
{
    self->n_requests[call->request.verb]++;
    switch (call->request.verb) {
    case API_GET: /* API-15: what is stored now */
        if (api_server_get(self, call->request.key) != NULL)
            answer(call, API_OK, object_ref(api_server_get(self, call->request.key)));
        else
            refuse_not_found(call);
        return;
    case API_LIST: /* API-16: likewise */
        answer(call, API_OK, NULL);
        return;
    case API_CREATE:
        commit_create(self, call);
        return;
    case API_UPDATE:
    case API_UPDATE_STATUS:
        commit_update(self, call, call->request.verb == API_UPDATE_STATUS);
        return;
    case API_PATCH:
    case API_PATCH_STATUS:
        commit_patch(self, call, call->request.verb == API_PATCH_STATUS);
        return;
    case API_DELETE:
        commit_delete(self, call);
        return;
    case API_BIND:
        commit_bind(self, call);
        return;
    case API_EVICT:
        commit_eviction(self, call);
        return;
    case N_API_VERBS:
        break;
    }
    g_assert_not_reached();
}

static ApiCall *
call_new(ApiServer *self)
{
    SimMemory *memory = sim_memory(self->sim);
    ApiCall *call = sim_memory_new_struct(memory, ApiCall);

    *call = (ApiCall){.server = self, .memory = memory};
    return call;
}

void
api_call_free(void *data)
{
    ApiCall *call = data;

    if (call->drop != NULL)
        call->drop(call->data);
    if (call->object != NULL)
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
    api_call_free(call);
}

static const SimEventType respond_event = {
    .name = EVENT_NAME "/response",
    .fire = call_respond,
    .free_data = api_call_free,
};

/* Returns: whether it was refused */
static gboolean
meets_fault(ApiServer *self, ApiCall *call)
{
    if (self->fault == NULL)
        return FALSE;
    g_string_truncate(self->message, 0);
    ApiCode code = self->fault(self->fault_data, &call->request, self->message);
    if (code != API_OK)
        refuse(call, code);
    return code != API_OK;
}

static void
call_commit(Sim *sim, void *data)
{
    ApiCall *call = data;

    const ApiTrouble *trouble = call->server->trouble;
    gboolean is_lost = G_UNLIKELY(trouble != NULL) && trouble_loses(trouble, call);

    if (!is_lost && !meets_fault(call->server, call))
        commit(call->server, call);
    sim_at_detail(sim, call->responds_at, &respond_event, call, WAIT_API,
                  (uint16_t)(call->request.verb + 1));
}

static const SimEventType commit_event_type = {
    .name = EVENT_NAME "/commit",
    .fire = call_commit,
    .free_data = api_call_free,
};

static double
verb_factor(const Timing *timing, ApiVerb verb)
{
    switch (verb) {
    case API_GET:
    case API_LIST:
        return timing->read_factor;
    case API_CREATE:
    case API_BIND:
    case API_EVICT:
        return timing->create_factor;
    case API_UPDATE:
    case API_UPDATE_STATUS:
        return timing->update_factor;
    case API_PATCH:
    case API_PATCH_STATUS:
        return timing->patch_factor;
    case API_DELETE:
        return timing->delete_factor;
    case N_API_VERBS:
        break;
    }
    g_assert_not_reached();
}

static SimTime
scale(SimTime time, double factor)
{
    return (SimTime)((double)time * factor);
}

/* TIM-1, TIM-2, TIM-6. */
static SimTime
draw_duration(const ApiServer *self, ApiVerb verb, uint64_t entity, uint32_t n)
{
    SimTime time = scale(sim_dist_draw(self->timing->write, self->latencies, entity, n),
                         verb_factor(self->timing, verb));

    return G_UNLIKELY(self->trouble != NULL) ? scale(time, trouble_slowness(self->trouble)) : time;
}

SimTime
api_server_draw_list(const ApiServer *self, uint64_t entity, uint32_t n)
{
    return draw_duration(self, API_LIST, entity, n);
}

/* TIM-4: what a crowd of requests costs, on top. */
static SimTime
draw_stall(ApiServer *self, SimTime arrives_at, uint64_t entity, uint32_t n)
{
    SimTime *oldest = &self->recent[self->n_recent++ % CROWD];
    gboolean is_crowd = self->n_recent > CROWD && arrives_at - *oldest < self->crowd_within;

    *oldest = arrives_at;
    if (!is_crowd || sim_random_uniform(self->stalls, entity, n) >= self->timing->stall_chance)
        return 0;
    return sim_dist_draw(self->timing->stall, self->stall_lengths, entity, n);
}

/* TIM-5: what is not there is answered sooner. */
static gboolean
is_missing(const ApiServer *self, const ApiRequest *request)
{
    return request->verb != API_CREATE && request->verb != API_LIST &&
           api_server_get(self, request->key) == NULL;
}

/* API-153: a claim waits while a quota of its namespace is charged, one more write of the server's
 * own. */
static SimTime
quota_delay(const ApiServer *self, const ApiRequest *request)
{
    if (request->verb != API_CREATE || request->key->kind != KIND_CLAIM ||
        self->counts[KIND_RESOURCE_QUOTA] == 0)
        return 0;
    ObjectKey *quota = (ObjectKey *)quota_find(self, request->key->namespace); /* its count */
    return quota == NULL ? 0
                         : draw_duration(self, API_UPDATE_STATUS, quota->hash, quota->n_requests++);
}

/* A write is committed shortly before its response, so that watch events can come before it
 * (TIM-7). */
static SimTime
commits_at(const ApiServer *self, SimTime arrives_at, SimTime responds_at)
{
    return MAX(arrives_at, responds_at - self->timing->watch_lead);
}

static void
wait_for_commit(ApiCall *call)
{
    ApiServer *self = call->server;

    sim_at_detail(self->sim, commits_at(self, sim_now(self->sim), call->responds_at),
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
    SimTime duration = draw_duration(self, request->verb, entity, call->n);
    if (is_missing(self, request))
        duration = scale(duration, self->timing->not_found_factor);
    duration += quota_delay(self, request);
    call->arrived_at = sim_now(self->sim);
    call->responds_at =
        call->arrived_at + duration + draw_stall(self, call->arrived_at, entity, call->n);
    if (G_UNLIKELY(self->trouble != NULL) && trouble_meets_arrival(self->trouble, call))
        return;
    wait_for_commit(call);
}

void
api_call_go_on(ApiCall *call)
{
    SimTime waited = sim_now(call->server->sim) - call->arrived_at;

    call->responds_at += waited;
    wait_for_commit(call);
}

void
api_call_refuse(ApiCall *call, ApiCode code, const char *message, SimTime delay)
{
    call->code = code;
    g_free(call->message);
    call->message = g_strdup(message);
    call->responds_at = sim_now(call->server->sim) + delay;
    sim_at_detail(call->server->sim, call->responds_at, &respond_event, call, WAIT_API,
                  (uint16_t)(call->request.verb + 1));
}

void
api_server_commit(ApiServer *self, const ApiRequest *request, ApiResponse *response)
{
    ApiCall call = {.server = self,
                    .request = *request,
                    .arrived_at = sim_now(self->sim),
                    .responds_at = sim_now(self->sim)};

    call.n = request->key->n_requests++;
    commit(self, &call);
    *response = (ApiResponse){call.code, call.object,
                              strings_intern(objects_strings(self->objects), call.message)};
    g_free(call.message);
    if (call.object != NULL)
        object_unref(call.object); /* the store has it, or it was the last state of what is gone */
    if (api_server_get(self, request->key) != response->object)
        response->object = NULL;
}

void
api_server_import(ApiServer *self, Object *object)
{
    ObjectKey *key = (ObjectKey *)object->key;

    if (!object_uid_is_set(object->uid))
        object->uid = objects_uid(self->objects, key, ++key->incarnation);
    object_unref(store_commit(self, WATCH_ADDED, object, sim_now(self->sim), key->n_requests++));
}

unsigned
api_server_n_events(const ApiServer *self)
{
    return self->events->len;
}

const ApiEvent *
api_server_event(const ApiServer *self, unsigned index)
{
    return &g_array_index(self->events, ApiEvent, index);
}

static void
event_call_free(void *data)
{
    EventCall *call = data;

    if (call->write.drop != NULL)
        call->write.drop(call->write.data);
    sim_memory_give(call->memory, call, sizeof *call);
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
    self->n_requests[write->index == API_NEW_EVENT ? API_CREATE : API_PATCH]++;
    self->revision++;
    write->event.written_at = sim_now(sim);
    for (unsigned i = 0; i < self->event_observers->len; i++) {
        const EventObserver *observer = &g_array_index(self->event_observers, EventObserver, i);
        observer->observe(observer->data, write, call->responds_at);
    }
    if (write->index == API_NEW_EVENT) {
        write->index = self->events->len;
        g_array_append_val(self->events, write->event);
    } else {
        ApiEvent *event = &g_array_index(self->events, ApiEvent, write->index);
        write->event.written_at = event->written_at;
        *event = write->event;
    }
    write->drop = NULL;
    write->written(write->data, write->index, call->responds_at);
    event_call_free(call);
}

static const SimEventType event_commit_event = {
    .name = EVENT_NAME "/commit of an Event",
    .fire = event_call_commit,
    .free_data = event_call_free,
};

SimEventId
api_server_write_event(ApiServer *self, const ApiEventWrite *write)
{
    SimMemory *memory = sim_memory(self->sim);
    EventCall *call = sim_memory_new_struct(memory, EventCall);
    ObjectKey *key = (ObjectKey *)write->event.involved;
    ApiVerb verb = write->index == API_NEW_EVENT ? API_CREATE : API_PATCH;
    uint64_t entity = sim_hash_combine(key->hash, write->client_hash + EVENT_WRITE + verb);

    *call = (EventCall){.server = self, .memory = memory, .write = *write};
    uint32_t n = key->n_events++;
    SimTime duration = scale(draw_duration(self, verb, entity, n), self->timing->event_factor);

    call->responds_at =
        write->arrives_at + duration + draw_stall(self, write->arrives_at, entity, n);
    return sim_at(self->sim, commits_at(self, write->arrives_at, call->responds_at),
                  &event_commit_event, call, WAIT_API);
}
