/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tests/lib/storage-world.h"

#include "models/api/api-test.h"
#include "models/cluster/kube-controller-manager.h"
#include "models/timing/timing-test.h"
#include "sim/sim-test.h"

#define GIB (INT64_C(1) << 30)

static const char *
kind_text(ObjectKind kind)
{
    switch ((int)kind) {
    case KIND_POD:
        return "pod";
    case KIND_CLAIM:
        return "pvc";
    case KIND_VOLUME:
        return "pv";
    case KIND_NODE:
        return "node";
    case KIND_ATTACHMENT:
        return "va";
    case KIND_STATEFUL_SET:
        return "sts";
    case KIND_CONTROLLER_REVISION:
        return "revision";
    default:
        return "other";
    }
}

static void
append_causes(StorageWorld *self)
{
    char time[SIM_TIME_BUFFER];

    for (SimCauseId id = sim_cause(self->sim); id != 0;) {
        SimCause cause = sim_trace_get(sim_trace(self->sim), id);
        g_string_append_printf(self->log, " < %s:%u:%u", sim_time_format(cause.at, time),
                               cause.wait, cause.detail);
        id = cause.parent;
    }
}

static void
storage_world_request_answered(void *data,
                               const ApiRequest *request,
                               ApiCode code,
                               SimTime arrived_at)
{
    static const char *const verbs[] = {"GET",   "LIST",     "POST",   "PUT",  "PUT/st",
                                        "PATCH", "PATCH/st", "DELETE", "BIND", "EVICT"};
    StorageWorld *self = data;
    char time[SIM_TIME_BUFFER];

    if (self->log->len > 0)
        g_string_append(self->log, ", ");
    if (self->log_times)
        g_string_append_printf(self->log, "%s ", sim_time_format(arrived_at, time));
    g_string_append_printf(self->log, "%s %s/%s", verbs[request->verb],
                           kind_text(request->key->kind), request->key->name);
    if (code != API_OK)
        g_string_append_printf(self->log, " %d", (int)code);
    if (self->log_causes)
        append_causes(self);
    self->refused += code == API_CONFLICT;
}

static void
timing_init_slow(Timing *timing)
{
    timing_init_instant(timing);
    sim_dist_unref(timing->write);
    sim_dist_unref(timing->think);
    sim_dist_unref(timing->watch);
    timing->write = sim_dist_new_uniform(1 * SIM_MS, 6 * SIM_MS);
    timing->think = sim_dist_new_uniform(SIM_MS / 2, 4 * SIM_MS);
    timing->loop_pass = timing->attach_detach_pass = timing->relist_pass = 700 * SIM_US;
    timing->watch = sim_dist_new_lognormal(2 * SIM_MS, 0.7, -1 * SIM_MS);
}

void
storage_world_init(StorageWorld *self, const StorageWorldOptions *options)
{
    static const StorageWorldOptions none = {0};
    if (options == NULL)
        options = &none;
    uint64_t seed = options->seed == 0 ? 1 : options->seed;
    SimOptions sim_options = {
        .seed = seed, .polling = options->polling, .measured = options->measured};

    *self = (StorageWorld){.set_flags = options->set_flags, .only = options->only};
    if (options->slow)
        timing_init_slow(&self->timing);
    else
        timing_init_instant(&self->timing);
    /* so that a cycle's end may find another state */
    sim_dist_unref(self->timing.cycle);
    self->timing.cycle = sim_dist_new_constant(500 * SIM_US);
    self->sim = sim_new(&sim_options);
    self->objects = objects_new(seed);
    self->log = g_string_new(NULL);
    const char *gate = options->gate_on != NULL ? options->gate_on : options->gate_off;
    StringPair pair = {storage_world_intern(self, gate),
                       storage_world_intern(self, options->gate_on != NULL ? "true" : "false")};
    self->gates = gate == NULL ? NULL : string_map_new(&pair, 1);
    ClusterOptions cluster_options = {
        .feature_gates = self->gates,
        .sim = self->sim,
        .objects = self->objects,
        .timing = &self->timing,
        .minor_version = options->minor_version == 0 ? 32 : options->minor_version,
        .unlimited_qps = !options->throttled,
        .only = options->only,
    };
    self->cluster = cluster_new(&cluster_options);
    self->api = cluster_api(self->cluster);
    api_server_observe_requests(self->api, storage_world_request_answered, self);
}

static void *
default_options(void *data, const ProcessClass *class)
{
    const StorageWorld *self = data;

    if (self->only != NULL && self->only->process != class)
        return NULL;
    void *flags = process_options_new(class, objects_strings(self->objects));

    if (self->set_flags != NULL)
        self->set_flags(class, flags);
    return flags;
}

void
storage_world_start(StorageWorld *self)
{
    cluster_start(self->cluster, default_options, self);
}

static void
nothing_happens(Sim *sim, void *data)
{
    (void)sim;
    (void)data;
}

static const SimEventType time_goes_by = {
    .name = "test/time goes by",
    .fire = nothing_happens,
};

void
storage_world_run(StorageWorld *self, SimTime at)
{
    sim_at(self->sim, at, &time_goes_by, NULL, WAIT_SCENARIO); /* also with nothing else to do */
    sim_run_until(self->sim, at);
}

void
storage_world_clear(StorageWorld *self)
{
    /* Requests under way come to their end; nobody waits for them any more. */
    cluster_crash(self->cluster, "kube-controller-manager", NULL);
    storage_world_run(self, sim_now(self->sim) + SIM_SECOND);
    cluster_free(self->cluster);
    if (self->driver != NULL)
        csi_driver_free(self->driver);
    string_map_unref(self->gates);
    sim_free(self->sim);
    objects_free(self->objects);
    timing_clear(&self->timing);
    g_string_free(self->log, TRUE);
}

const char *
storage_world_log(StorageWorld *self)
{
    const char *text = storage_world_intern(self, self->log->str);

    g_string_truncate(self->log, 0);
    return text;
}

char *
storage_world_events(const StorageWorld *self)
{
    GString *text = g_string_new(NULL);

    for (unsigned i = 0; i < api_server_n_events(self->api); i++) {
        const ApiEvent *event = api_server_event(self->api, i);
        if (event->count == 0)
            continue;
        g_string_append_printf(text, "%s%s %s %s/%s", text->len == 0 ? "" : ", ", event->type,
                               event->reason, kind_text(event->involved->kind),
                               event->involved->name);
        if (event->count > 1)
            g_string_append_printf(text, " x%u", event->count);
    }
    return g_string_free(text, FALSE);
}

const char *
storage_world_intern(const StorageWorld *self, const char *text)
{
    return strings_intern(objects_strings(self->objects), text);
}

ObjectKey *
storage_world_claim_key(const StorageWorld *self, const char *name)
{
    return objects_key(self->objects, KIND_CLAIM, "default", name);
}

ObjectKey *
storage_world_volume_key(const StorageWorld *self, const char *name)
{
    return objects_key(self->objects, KIND_VOLUME, NULL, name);
}

Volume *
storage_world_volume(const StorageWorld *self, const char *name, int gib, const char *class_name)
{
    Volume *volume = VOLUME(object_new(storage_world_volume_key(self, name)));
    VolumeSource source = {
        .refs = REF_COUNT_ONE,
        .plugin = storage_world_intern(self, "csi"),
        .driver = storage_world_intern(self, "csi.test"),
        .handle = storage_world_intern(self, name),
    };

    volume->class_name = storage_world_intern(self, class_name);
    volume->capacity_bytes = gib * GIB;
    volume->access_modes = ACCESS_RWO;
    volume->reclaim_policy = RECLAIM_RETAIN;
    volume->source = volume_source_new(&source);
    return volume;
}

Claim *
storage_world_claim(const StorageWorld *self, const char *name, int gib, const char *class_name)
{
    Claim *claim = CLAIM(object_new(storage_world_claim_key(self, name)));

    claim->class_name = storage_world_intern(self, class_name);
    claim->request_bytes = gib * GIB;
    claim->access_modes = ACCESS_RWO;
    return claim;
}

Pod *
storage_world_pod(const StorageWorld *self, const char *name, const char *claim, const char *node)
{
    Pod *pod = POD(object_new(objects_key(self->objects, KIND_POD, "default", name)));
    PodVolume volume = {
        .name = storage_world_intern(self, "data"),
        .claim_name = storage_world_intern(self, claim),
        .mounted = TRUE,
    };

    pod->spec = pod->spec == NULL ? pod_spec_new() : pod->spec;
    pod->node_name = storage_world_intern(self, node);
    if (claim != NULL)
        pod->volumes = pod_volumes_new(&volume, 1);
    return pod;
}

void
storage_world_class(StorageWorld *self, const char *name, const char *provisioner, BindingMode mode)
{
    StorageClass *class =
        STORAGE_CLASS(object_new(objects_key(self->objects, KIND_STORAGE_CLASS, NULL, name)));

    class->provisioner = storage_world_intern(self, provisioner);
    class->reclaim_policy = RECLAIM_DELETE;
    class->binding_mode = mode;
    storage_world_create(self, class);
}

static const Object *
storage_world_commit(StorageWorld *self, const ApiRequest *request)
{
    ApiResponse response;
    ApiRequest sent = *request;

    sent.client = "test";
    sent.grace_s = -1;
    api_server_commit(self->api, &sent, &response);
    if (response.code != API_OK)
        g_error("%s: %s", request->key->text, response.message);
    return response.object;
}

const Object *
storage_world_create(StorageWorld *self, void *object)
{
    g_autoptr(Object) created = object;
    ApiRequest request = {.verb = API_CREATE, .key = (ObjectKey *)created->key, .object = created};

    return storage_world_commit(self, &request);
}

void
storage_world_import(StorageWorld *self, void *object)
{
    api_server_import(self->api, object);
}

void
storage_world_patch(StorageWorld *self, ObjectKey *key, ObjectEdit edit, const void *arg)
{
    ApiRequest request = {.verb = API_PATCH, .key = key, .edit = edit, .arg = arg};

    storage_world_commit(self, &request);
}

void
storage_world_patch_status(StorageWorld *self, ObjectKey *key, ObjectEdit edit, const void *arg)
{
    ApiRequest request = {.verb = API_PATCH_STATUS, .key = key, .edit = edit, .arg = arg};

    storage_world_commit(self, &request);
}

void
storage_world_delete(StorageWorld *self, ObjectKey *key)
{
    storage_world_delete_as(self, key, API_BACKGROUND);
}

void
storage_world_delete_as(StorageWorld *self, ObjectKey *key, ApiPropagation propagation)
{
    ApiRequest request = {.verb = API_DELETE, .key = key, .propagation = propagation};

    storage_world_commit(self, &request);
}

static gboolean
remove_finalizers(Object *object, const void *arg)
{
    (void)arg;
    g_clear_pointer(&object->finalizers, string_list_unref);
    return TRUE;
}

void
storage_world_remove(StorageWorld *self, ObjectKey *key)
{
    storage_world_patch(self, key, remove_finalizers, NULL);
    storage_world_delete(self, key);
}

gboolean
storage_world_annotate(Object *object, const void *pair)
{
    const StringPair *annotation = pair;

    return object_set_annotation(object, annotation->key, annotation->value);
}

void
storage_world_index_class(InformerIndex *index, const Object *object, Objects *objects)
{
    (void)objects;
    index_emit(index, volume_class(VOLUME_CONST(object)));
}

const Claim *
storage_world_stored_claim(const StorageWorld *self, const char *name)
{
    return (const Claim *)api_server_get(self->api, storage_world_claim_key(self, name));
}

const Volume *
storage_world_stored_volume(const StorageWorld *self, const char *name)
{
    return (const Volume *)api_server_get(self->api, storage_world_volume_key(self, name));
}
