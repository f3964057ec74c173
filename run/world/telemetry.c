/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Prometheus metrics of a run: requests by server and client, writes, driver calls, and the
 * components' own counters, for five programs. Series are looked up once and kept by kind, verb and
 * client. Gauges that can only be known at a scrape are collected just before it; the series of
 * census.c follow the writes. Objects that are older than the run count as objects but not as work.
 */
#include "telemetry.h"

#include <string.h>

#include "api-load.h"
#include "census.h"
#include "metric-history.h"
#include "models/metrics/metrics.h"
#include "sim/slots.h"

static const char apiserver[] = "kube-apiserver", manager[] = "kube-controller-manager",
                  scheduler[] = "kube-scheduler", kubelet[] = "kubelet",
                  provisioner[] = "external-provisioner";

/* Data of an object that is kept from write to write. */
typedef struct {
    gboolean is_known;  /* else it is to be filled in */
    SimTime deleted_at; /* of a volume's release; TIME_UNSET: none */
    SimTime seen_at;    /* of a pod's binding */
} TelemetryPast;

/* The labels of an API group's resource. */
typedef struct {
    const char *group, *version, *resource; /* interned */
    gboolean namespaced;
} Resource;

/* The series of answered requests for one resource with one verb. NULL: none yet. */
typedef struct {
    SimSeries *served; /* answered requests */
    SimSeries *duration, *sli;
} RequestSeries;

/* The series of one program's requests, by verb. NULL: none yet. */
typedef struct {
    const char *job;
    SimSeries *served[N_API_VERBS]; /* answered requests */
    SimSeries *duration[N_API_VERBS];
} ClientSeries;

/* A writer of Events: clients with one name write Events for several sources. */
typedef struct {
    const char *client;
    ClientSeries *series; /* NULL: no program with metrics of its clients */
} EventClient;

/* The series of writes of one kind, and of its objects. NULL: none yet. */
typedef struct {
    Resource resource;
    const char *full; /* interned: "csinodes.storage.k8s.io" */
    SimSeries *received, *dispatched, *version, *stored;
} KindSeries;

/* The series of a driver's last call. */
typedef struct {
    const char *driver;
    CsiCode code;
    SimSeries *duration;
} CallSeries;

struct Telemetry {
    Cluster *cluster;
    Sim *sim;
    Objects *objects;
    SimMetrics *metrics;
    MetricHistory *history;
    Census *census;
    SimSlots past[N_KINDS];      /* of Past, by slot */
    GHashTable *class_of_volume; /* interned handle -> interned class */
    GHashTable *started; /* interned name of CreateVolume -> SimTime * (owned): its first call */
    KindSeries kinds[N_KINDS];
    Resource events[2]; /* of v1 and of events.k8s.io/v1 */
    RequestSeries requests[N_KINDS][N_API_VERBS], event_requests[2][N_API_VERBS];
    GPtrArray *programs; /* of ClientSeries (owned) */
    GHashTable
        *clients; /* name of a client, by its address -> ClientSeries; NULL: as in EventClient */
    GHashTable *event_clients; /* source of Events, by its address -> EventClient (owned) */
    CallSeries calls[CSI_N_METHODS];
};

static TelemetryPast *
past_of(Telemetry *self, const ObjectKey *key)
{
    TelemetryPast *past = sim_slots_place(&self->past[key->kind], key->slot);

    if (!past->is_known)
        *past = (TelemetryPast){TRUE, TIME_UNSET, TIME_UNSET};
    return past;
}

static const char *
or_empty(const char *text)
{
    return text == NULL ? "" : text;
}

/* ---- Requests ---- */

/* NULL: the number. */
static const char *
code_text(ApiCode code, ApiVerb verb)
{
    if (code == API_OK)
        return verb == API_CREATE || verb == API_BIND || verb == API_EVICT ? "201" : "200";
    return code == API_EXISTS ? "409" : NULL;
}

/* The program of a client. NULL: a program without metrics of its clients (MET-81) */
static const char *
job_of(const char *client, const char *source)
{
    if (g_str_has_prefix(client, "kubelet"))
        return kubelet;
    for (unsigned i = 0; model_classes[i] != NULL; i++) {
        const ModelClass *class = model_classes[i];
        if (g_str_equal(class->name, client) ||
            (source != NULL && g_strcmp0(class->event_source, source) == 0))
            return class->process->scope == PER_DRIVER ? NULL : class->process->name;
    }
    return NULL;
}

/* Returns: (borrowed): NULL if @job is */
static ClientSeries *
program_of(Telemetry *self, const char *job)
{
    for (unsigned i = 0; i < self->programs->len && job != NULL; i++) {
        ClientSeries *program = self->programs->pdata[i];
        if (g_str_equal(program->job, job))
            return program;
    }
    if (job == NULL)
        return NULL;
    ClientSeries *program = g_new0(ClientSeries, 1);
    program->job = job;
    g_ptr_array_add(self->programs, program);
    return program;
}

/* Several replicas of a program have a client with this name: the leader's Lease tells which one */
static ClientSeries *
candidate_series(Telemetry *self, const ObjectKey *lease)
{
    const ProcessClass *process = census_lease_process(lease);

    return process == NULL || process->scope == PER_DRIVER ? NULL : program_of(self, process->name);
}

static ClientSeries *
client_series(Telemetry *self, const ApiRequest *request)
{
    const char *client = request->client;
    void *found;

    if (request->key->kind == KIND_LEASE && g_str_equal(client, "leader-election"))
        return candidate_series(self, request->key);
    if (g_hash_table_lookup_extended(self->clients, client, NULL, &found))
        return found;
    ClientSeries *program = program_of(self, job_of(client, NULL));
    g_hash_table_insert(self->clients, (void *)client, program);
    return program;
}

static ClientSeries *
event_client_series(Telemetry *self, const char *client, const char *source)
{
    EventClient *found = g_hash_table_lookup(self->event_clients, source);

    if (found == NULL) {
        found = g_new0(EventClient, 1);
        g_hash_table_insert(self->event_clients, (void *)source, found);
    }
    if (found->client != client) {
        found->client = client;
        found->series = program_of(self, job_of(client, source));
    }
    return found->series;
}

static void
measure_client(const Telemetry *self,
               ClientSeries *program,
               ApiVerb verb,
               ApiCode code,
               const char *code_label,
               SimTime duration)
{
    const char *method = api_verb_words[verb].method;

    if (program == NULL)
        return;
    SimSeries *served = code == API_OK ? program->served[verb] : NULL;
    if (served == NULL)
        served = metric_series(self->metrics, METRIC_CLIENT_REQUESTS, program->job, code_label,
                               METRIC_HOST, method);
    if (code == API_OK)
        program->served[verb] = served;
    if (program->duration[verb] == NULL)
        program->duration[verb] =
            metric_series(self->metrics, METRIC_CLIENT_DURATION, program->job, METRIC_HOST, method);
    sim_series_add(served, 1);
    sim_series_observe(program->duration[verb], duration);
}

static void
measure_server(const Telemetry *self,
               const Resource *resource,
               RequestSeries *series,
               ApiVerb verb,
               ApiCode code,
               const char *code_label,
               SimTime duration)
{
    const char *scope = verb != API_LIST       ? "resource"
                        : resource->namespaced ? "namespace"
                                               : "cluster";
    const char *subresource = api_verb_words[verb].subresource, *name = api_verb_words[verb].verb;
    SimSeries *served = code == API_OK ? series->served : NULL;

    if (served == NULL)
        served = metric_series(self->metrics, METRIC_API_REQUESTS, apiserver, code_label,
                               "apiserver", "", resource->group, resource->resource, scope,
                               subresource, name, resource->version);
    if (code == API_OK)
        series->served = served;
    if (series->duration == NULL) {
        series->duration = metric_series(self->metrics, METRIC_API_DURATION, apiserver, "apiserver",
                                         "", resource->group, resource->resource, scope,
                                         subresource, name, resource->version);
        series->sli =
            metric_series(self->metrics, METRIC_API_SLI, apiserver, "apiserver", resource->group,
                          resource->resource, scope, subresource, name, resource->version);
    }
    sim_series_add(served, 1);
    sim_series_observe(series->duration, duration);
    sim_series_observe(series->sli, duration);
}

/* The requests that controllers count themselves: MET-57, MET-113, MET-116. */
static void
count_for_controllers(const Telemetry *self, const ApiRequest *request, ApiCode code)
{
    ObjectKind kind = request->key->kind;

    if (kind == KIND_CLAIM && request->verb == API_CREATE &&
        g_str_equal(request->client, "ephemeral-volume-controller")) {
        sim_series_add(metric_series(self->metrics, METRIC_EPHEMERAL_CREATED, manager, NULL), 1);
        if (code != API_OK)
            sim_series_add(metric_series(self->metrics, METRIC_EPHEMERAL_FAILED, manager, NULL), 1);
    } else if (kind == KIND_POD && request->verb == API_DELETE && code == API_OK &&
               g_str_equal(request->client, "taint-eviction-controller")) {
        sim_series_add(metric_series(self->metrics, METRIC_TAINT_EVICTIONS, manager, NULL), 1);
    } else if (kind == KIND_CLAIM && request->verb == API_UPDATE && code != API_OK &&
               g_str_equal(request->client, "persistent-volume-binder")) {
        /* For a claim without class and volume: the class that could not be set. */
        const Claim *claim = CLAIM_CONST(api_server_get(cluster_api(self->cluster), request->key));
        if (claim == NULL || claim->class_name != NULL || claim->volume_name != NULL)
            return;
        sim_series_add(metric_series(self->metrics, METRIC_RETROACTIVE, manager, NULL), 1);
        sim_series_add(metric_series(self->metrics, METRIC_RETROACTIVE_ERRORS, manager, NULL), 1);
    }
}

static void
telemetry_see_request(void *data, const RunRecord *record)
{
    Telemetry *self = data;
    const ApiRequest *request = record->request;
    ObjectKind kind = request->key->kind;
    ApiVerb verb = request->verb;
    ApiCode code = record->code;
    SimTime duration = sim_now(self->sim) - record->arrived_at;
    const char *label = code_text(code, verb);
    char number[16];

    if (label == NULL) {
        g_snprintf(number, sizeof number, "%d", (int)code);
        label = number;
    }
    count_for_controllers(self, request, code);
    measure_client(self, client_series(self, request), verb, code, label, duration);
    measure_server(self, &self->kinds[kind].resource, &self->requests[kind][verb], verb, code,
                   label, duration);
}

static void
telemetry_see_event(void *data, const RunRecord *record)
{
    Telemetry *self = data;
    const ApiEventWrite *write = record->event;
    ApiVerb verb = write->index == API_NEW_EVENT ? API_CREATE : API_PATCH;
    unsigned group = write->event.involved_version != 0;
    SimTime duration = record->responds_at - write->arrives_at;
    const char *label = code_text(API_OK, verb);

    measure_client(self, event_client_series(self, write->client, write->event.source), verb,
                   API_OK, label, duration);
    measure_server(self, &self->events[group], &self->event_requests[group][verb], verb, API_OK,
                   label, duration);
}

/* ---- Writes ---- */

/* Objects that are older than the run: no component of this run has made them. */
static gboolean
is_importing(const Telemetry *self)
{
    return api_server_is_importing(cluster_api(self->cluster));
}

static void
claim_written(Telemetry *self, const Claim *before, const Claim *after)
{
    if (before != NULL && after != NULL && before->class_name == NULL &&
        after->class_name != NULL) /* MET-57 */
        sim_series_add(metric_series(self->metrics, METRIC_RETROACTIVE, manager, NULL), 1);
}

/* MET-72, MET-74: from the first CreateVolume on, by what is visible from outside. */
static void
volume_provisioned(Telemetry *self, const Volume *volume)
{
    const char *class = or_empty(volume_class(volume));
    const SimTime *started = g_hash_table_lookup(self->started, volume->meta.key->name);

    if (!is_importing(self))
        sim_series_add(metric_series(self->metrics, METRIC_PROVISIONED, provisioner, class, ""), 1);
    if (started != NULL)
        sim_series_observe(
            metric_series(self->metrics, METRIC_PROVISION_DURATION, provisioner, class, ""),
            sim_now(self->sim) - *started);
    if (volume->source != NULL && volume->source->handle != NULL)
        g_hash_table_insert(self->class_of_volume, (void *)volume->source->handle, (void *)class);
}

static void
volume_written(Telemetry *self, const Volume *before, const Volume *after)
{
    const Volume *any = after != NULL ? after : before;
    const char *driver = object_annotation(&any->meta, ANNOTATION_PROVISIONED_BY);
    TelemetryPast *past = past_of(self, any->meta.key);
    SimTime now = sim_now(self->sim);

    if (driver == NULL)
        return;
    if (before == NULL)
        volume_provisioned(self, after);
    if (after != NULL && after->phase == VOLUME_RELEASED &&
        (before == NULL || before->phase != VOLUME_RELEASED))
        past->deleted_at = now;
    if (after != NULL || past->deleted_at == TIME_UNSET)
        return;
    const char *class = or_empty(volume_class(before));
    sim_series_add(metric_series(self->metrics, METRIC_VOLUME_DELETED, provisioner, class), 1);
    sim_series_observe(
        metric_series(self->metrics, METRIC_VOLUME_DELETE_DURATION, provisioner, class),
        now - past->deleted_at);
    past->deleted_at = TIME_UNSET;
}

static void
forget_volume(Telemetry *self, const Volume *volume)
{
    g_hash_table_remove(self->started, volume->meta.key->name);
    if (volume->source != NULL && volume->source->handle != NULL)
        g_hash_table_remove(self->class_of_volume, volume->source->handle);
}

static void
pod_written(Telemetry *self, const Pod *before, const Pod *after)
{
    if (after == NULL || after->node_name == NULL)
        return;
    TelemetryPast *past = past_of(self, after->meta.key);
    SimTime now = sim_now(self->sim);
    if (before == NULL || before->node_name == NULL)
        past->seen_at = now;
    if (after->phase != POD_RUNNING || before == NULL || before->phase == POD_RUNNING)
        return;
    sim_series_observe(metric_series(self->metrics, METRIC_POD_START, kubelet, NULL),
                       now - past->seen_at);
    sim_series_observe(metric_series(self->metrics, METRIC_POD_START_SLI, kubelet, NULL),
                       now - after->meta.created_at);
    sim_series_observe(metric_series(self->metrics, METRIC_POD_START_TOTAL, kubelet, NULL),
                       now - after->meta.created_at);
}

/* Returns: (borrowed): "ingresses.networking.k8s.io", of a resource that no model reads */
static const char *
full_name(const Telemetry *self, unsigned resource)
{
    const ObjectResource *row = objects_resource_at(self->objects, resource);

    return *row->group == '\0' ? row->resource
                               : strings_internf(objects_strings(self->objects), "%s.%s",
                                                 row->resource, row->group);
}

static void
telemetry_see_write(void *data, const RunRecord *record)
{
    Telemetry *self = data;
    const Object *before = record->before, *after = record->after;
    const Object *object = after != NULL ? after : before;
    ObjectKind kind = object_kind(object);
    KindSeries others = {.full =
                             kind == KIND_OTHER ? full_name(self, object->key->resource) : NULL},
               *series = kind == KIND_OTHER ? &others : &self->kinds[kind];

    if (series->received == NULL) {
        series->received =
            metric_series(self->metrics, METRIC_API_CACHE_EVENTS, apiserver, series->full);
        series->dispatched =
            metric_series(self->metrics, METRIC_API_CACHE_DISPATCHED, apiserver, series->full);
        series->version =
            metric_series(self->metrics, METRIC_API_CACHE_VERSION, apiserver, series->full);
    }
    sim_series_add(series->received, 1);
    sim_series_add(series->dispatched, 2); /* in the format of scrapes */
    sim_series_set(series->version, (int64_t)object->resource_version);
    if (kind == KIND_CLAIM)
        claim_written(self, (const Claim *)before, (const Claim *)after);
    else if (kind == KIND_VOLUME)
        volume_written(self, (const Volume *)before, (const Volume *)after);
    else if (kind == KIND_POD)
        pod_written(self, (const Pod *)before, (const Pod *)after);
    if (kind == KIND_VOLUME && after == NULL)
        forget_volume(self, (const Volume *)before);
    census_object_written(self->census, before, after);
}

/* ---- Drivers ---- */

static void
telemetry_see_start(void *data, const RunRecord *record)
{
    Telemetry *self = data;
    const CsiRequest *request = record->call->request;

    if (request->method == CSI_CREATE_VOLUME &&
        !g_hash_table_contains(self->started, request->name))
        g_hash_table_insert(self->started, g_strdup(request->name),
                            g_memdup2(&record->call->started_at, sizeof(SimTime)));
}

/* MET-73, MET-76 */
static void
count_failure(Telemetry *self, const CsiRequest *request)
{
    const char *class = "";

    if (request->method == CSI_DELETE_VOLUME)
        class = or_empty(g_hash_table_lookup(self->class_of_volume, request->volume_id));
    if (request->method == CSI_CREATE_VOLUME)
        sim_series_add(
            metric_series(self->metrics, METRIC_PROVISION_FAILED, provisioner, class, ""), 1);
    else if (request->method == CSI_DELETE_VOLUME)
        sim_series_add(
            metric_series(self->metrics, METRIC_VOLUME_DELETE_FAILED, provisioner, class), 1);
}

/* The sidecar that makes the call; calls of several sidecars count as the provisioner's. */
static const char *
sidecar_of(CsiMethod method)
{
    if (method == CSI_CONTROLLER_PUBLISH_VOLUME || method == CSI_CONTROLLER_UNPUBLISH_VOLUME)
        return "external-attacher";
    if (method == CSI_CONTROLLER_EXPAND_VOLUME || method == CSI_CONTROLLER_MODIFY_VOLUME)
        return "external-resizer";
    return provisioner;
}

static void
telemetry_see_answer(void *data, const RunRecord *record)
{
    Telemetry *self = data;
    const CsiCallRecord *call = record->call;
    CsiMethod method = call->request->method;
    const char *driver = csi_driver_name(call->driver), *code = csi_code_go_name(call->answer);
    const char *name = csi_method_full_name(method);
    CallSeries *last = &self->calls[method];

    if (last->duration == NULL || last->driver != driver || last->code != call->answer) {
        *last = (CallSeries){.driver = driver, .code = call->answer};
        last->duration = csi_method_service(method) == CSI_NODE
                             ? metric_series(self->metrics, METRIC_CSI_KUBELET, kubelet, driver,
                                             code, name, "false")
                             : metric_series(self->metrics, METRIC_CSI_SIDECAR, sidecar_of(method),
                                             driver, code, name);
    }
    sim_series_observe(last->duration, sim_now(self->sim) - call->started_at);
    if (call->answer != CSI_OK)
        count_failure(self, call->request);
}

/* ---- What is counted before a scrape ---- */

void
telemetry_leave_usage(Telemetry *self, const char *node)
{
    if (self != NULL)
        census_leave_usage(self->census, node);
}

/* Resources that no model reads, each by its own name. */
static void
count_others(Telemetry *self, const ApiServer *api)
{
    g_autoptr(GArray) counts = g_array_new(FALSE, TRUE, sizeof(unsigned));

    for (uint32_t slot = 0; slot < objects_n_keys(self->objects, KIND_OTHER); slot++) {
        const ObjectKey *key = objects_key_at(self->objects, KIND_OTHER, slot);
        if (key->resource >= counts->len)
            g_array_set_size(counts, key->resource + 1u);
        g_array_index(counts, unsigned, key->resource) += api_server_get(api, key) != NULL;
    }
    for (unsigned i = 1; i < counts->len; i++)
        sim_series_set(
            metric_series(self->metrics, METRIC_API_OBJECTS, apiserver, full_name(self, i)),
            g_array_index(counts, unsigned, i));
}

static void
telemetry_collect(void *data)
{
    /* Collectors of several programs add up these. */
    static const unsigned added_up[] = {
        METRIC_SCHEDULER_CACHE,  METRIC_KUBELET_PLUGINS,   METRIC_CAPACITY_GOAL,
        METRIC_CAPACITY_CURRENT, METRIC_CAPACITY_OBSOLETE,
    };
    Telemetry *self = data;
    const ApiServer *api = cluster_api(self->cluster);

    for (unsigned i = 0; i < G_N_ELEMENTS(added_up); i++)
        sim_metrics_clear(self->metrics, &metric_families[added_up[i]]);
    for (unsigned i = 0; i < KIND_OTHER; i++) {
        KindSeries *series = &self->kinds[i];
        unsigned count = api_server_count(api, (ObjectKind)i);
        if (series->stored == NULL &&
            (count > 0 || objects_n_keys(self->objects, (ObjectKind)i) > 0))
            series->stored =
                metric_series(self->metrics, METRIC_API_OBJECTS, apiserver, series->full);
        sim_series_set(series->stored, count);
    }
    count_others(self, api);
    sim_series_set(metric_series(self->metrics, METRIC_SCHEDULER_CACHE, scheduler, "nodes"),
                   api_server_count(api, KIND_NODE));
    census_count(self->census);
}

/* ---- Life, scrapes, text ---- */

static Resource
resource_of(Strings *strings, const char *api_version, const char *resource, gboolean namespaced)
{
    const char *slash = strchr(api_version, '/');
    g_autofree char *group =
        slash == NULL ? g_strdup("") : g_strndup(api_version, (gsize)(slash - api_version));

    return (Resource){
        .group = strings_intern(strings, group),
        .version = slash == NULL ? api_version : slash + 1,
        .resource = resource,
        .namespaced = namespaced,
    };
}

static void
name_resources(Telemetry *self)
{
    Strings *strings = objects_strings(self->objects);

    for (unsigned i = 0; i < N_KINDS; i++) {
        const KindClass *class = kind_class((ObjectKind)i);
        Resource resource =
            resource_of(strings, class->api_version, class->resource, class->namespaced);
        g_autofree char *full =
            g_strconcat(class->resource, *resource.group == '\0' ? "" : ".", resource.group, NULL);
        self->kinds[i].resource = resource;
        self->kinds[i].full = strings_intern(strings, full);
    }
    self->events[0] = resource_of(strings, "v1", "events", TRUE);
    self->events[1] = resource_of(strings, "events.k8s.io/v1", "events", TRUE);
}

Telemetry *
telemetry_new(Cluster *cluster, Records *records, Sim *sim, Objects *objects)
{
    static const char *const jobs[] = {apiserver, manager, scheduler, kubelet};
    /* MET-161: there from the start. The garbage collector's view never lags here. */
    static const unsigned scalars[] = {
        METRIC_RETROACTIVE,      METRIC_RETROACTIVE_ERRORS, METRIC_EPHEMERAL_CREATED,
        METRIC_EPHEMERAL_FAILED, METRIC_TAINT_EVICTIONS,    METRIC_GC_SYNC_ERRORS,
    };
    SimMetrics *metrics = sim_metrics(sim);

    if (metrics == NULL)
        return NULL;
    Telemetry *self = g_new0(Telemetry, 1);
    self->cluster = cluster;
    self->sim = sim;
    self->objects = objects;
    self->metrics = metrics;
    for (unsigned i = 0; i < N_KINDS; i++)
        self->past[i] = (SimSlots){.cold = sim_cold(sim), .element_size = sizeof(TelemetryPast)};
    self->class_of_volume = g_hash_table_new(g_str_hash, g_str_equal);
    self->started = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
    self->history = metric_history_new(metrics, sim_cold(sim));
    self->census = census_new(cluster, objects, metrics);
    self->programs = g_ptr_array_new_with_free_func(g_free);
    self->clients = g_hash_table_new(NULL, NULL);
    self->event_clients = g_hash_table_new_full(NULL, NULL, NULL, g_free);
    name_resources(self);
    /* MET-163: the start of the run, in virtual time. */
    for (unsigned i = 0; i < G_N_ELEMENTS(jobs); i++)
        sim_series_set(metric_series(metrics, METRIC_PROCESS_START, jobs[i], NULL),
                       api_time_unix(sim_start(sim), 0) / SIM_SECOND);
    for (unsigned i = 0; i < G_N_ELEMENTS(scalars); i++)
        (void)metric_series(metrics, scalars[i], manager, NULL);
    sim_metrics_add_collector(metrics, telemetry_collect, self);
    records_watch(records, RECORD_WRITE, telemetry_see_write, self);
    records_watch(records, RECORD_REQUEST, telemetry_see_request, self);
    records_watch(records, RECORD_EVENT, telemetry_see_event, self);
    records_watch(records, RECORD_CALL_STARTED, telemetry_see_start, self);
    records_watch(records, RECORD_CALL_ANSWERED, telemetry_see_answer, self);
    return self;
}

void
telemetry_free(Telemetry *self)
{
    if (self == NULL)
        return;
    for (unsigned i = 0; i < N_KINDS; i++)
        sim_slots_clear(&self->past[i]);
    g_hash_table_unref(self->class_of_volume);
    g_hash_table_unref(self->started);
    metric_history_free(self->history);
    census_free(self->census);
    g_ptr_array_unref(self->programs);
    g_hash_table_unref(self->clients);
    g_hash_table_unref(self->event_clients);
    g_free(self);
}

SimTime
telemetry_next_scrape(const Telemetry *self)
{
    return self == NULL ? SIM_TIME_MAX : metric_history_next_scrape(self->history);
}

void
telemetry_scrape(Telemetry *self)
{
    metric_history_scrape(self->history);
}

void
telemetry_append_text(Telemetry *self, ResultFile *file)
{
    sim_metrics_collect(self->metrics, sim_now(self->sim));
    sim_metrics_append_text(self->metrics, file->text);
    result_file_end_row(file);
}

void
telemetry_append_open_metrics(Telemetry *self, ResultFile *file)
{
    metric_history_append(self->history, api_time_unix(sim_start(self->sim), 0) / SIM_SECOND, file);
}
