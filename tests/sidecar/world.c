/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "world.h"
#include "models/api/api-test.h"
#include "models/timing/timing-test.h"
#include "sim/sim-test.h"

#include <string.h>

static const char *const verb_names[] = {
    [API_GET] = "GET",
    [API_LIST] = "LIST",
    [API_CREATE] = "CREATE",
    [API_UPDATE] = "UPDATE",
    [API_UPDATE_STATUS] = "UPDATE_STATUS",
    [API_PATCH] = "PATCH",
    [API_PATCH_STATUS] = "PATCH_STATUS",
    [API_DELETE] = "DELETE",
    [API_BIND] = "BIND",
    [API_EVICT] = "EVICT",
};

static void
log_add(World *self, SimTime at, char *what, const ObjectKey *key)
{
    WorldEntry entry = {at, what, key};
    unsigned place = self->log->len;

    /* Answers come in another order than requests. */
    while (place > 0 && g_array_index(self->log, WorldEntry, place - 1).at > at)
        place--;
    g_array_insert_val(self->log, place, entry);
}

static void
request_seen(void *data, const ApiRequest *request, ApiCode code, SimTime arrived_at)
{
    const char *kind = kind_class(request->key->kind)->kind;

    log_add(data, arrived_at,
            code == API_OK
                ? g_strdup_printf("%s %s", verb_names[request->verb], kind)
                : g_strdup_printf("%s %s %d", verb_names[request->verb], kind, (int)code),
            request->key);
}

static void
call_seen(void *data, const CsiCallRecord *record)
{
    CsiMethod method = record->request->method;

    if (csi_method_service(method) == CSI_IDENTITY || method == CSI_CONTROLLER_GET_CAPABILITIES)
        return;
    log_add(data, record->started_at,
            record->answer == CSI_OK
                ? g_strdup(csi_method_name(method))
                : g_strdup_printf("%s %s", csi_method_name(method), csi_code_name(record->answer)),
            NULL);
}

static void
entry_clear(void *data)
{
    g_free(((WorldEntry *)data)->what);
}

static SimDist *
new_dist(const char *kind, const SimDistArg *args, unsigned n)
{
    g_autoptr(GError) error = NULL;
    SimDist *dist = sim_dist_new(kind, args, n, &error);

    if (dist == NULL)
        g_error("%s", error->message);
    return dist;
}

/* TIM-7: one event of eight comes before the response; here, with it, for a distribution is never
 * negative. */
static SimDist *
recorded_watch(void)
{
    g_autoptr(SimDist) late = sim_dist_new_lognormal(1600 * SIM_US, 0.72, -200 * SIM_US);
    g_autoptr(SimDist) early = sim_dist_new_constant(0);
    const SimDistArg parts[] = {
        {.number = 7, .dist = late },
        {.number = 1, .dist = early},
    };
    const SimDistArg args = {.name = "parts", .items = parts, .n_items = G_N_ELEMENTS(parts)};

    return new_dist("mixture", &args, 1);
}

static void
timing_init_recorded(Timing *timing)
{
    timing_init_instant(timing);
    sim_dist_unref(timing->write);
    sim_dist_unref(timing->think);
    sim_dist_unref(timing->watch);
    timing->write = sim_dist_new_lognormal(2500 * SIM_US, 0.75, SIM_MS);
    timing->think = sim_dist_new_lognormal(1600 * SIM_US, 0.7, 0);
    timing->watch = recorded_watch();
    timing->update_factor = 0.85;
    timing->patch_factor = 1.1;
    timing->delete_factor = 1.15;
    timing->read_factor = 0.6;
    timing->not_found_factor = 0.5;
    timing->event_factor = 0.5;
}

static void *
get_options(void *data, const ProcessClass *class)
{
    const World *self = data;
    const SidecarWorldOptions *given = &self->options;

    if (given->only != NULL && given->only->process != class)
        return NULL;
    void *options = process_options_new(class, self->strings);

    if (given->flag != NULL && !process_flag_set(process_class_flag(class, given->flag), options,
                                                 given->value, self->strings, NULL))
        g_error("--%s=%s", given->flag, given->value);
    if (given->flag2 != NULL && !process_flag_set(process_class_flag(class, given->flag2), options,
                                                  given->value2, self->strings, NULL))
        g_error("--%s=%s", given->flag2, given->value2);
    return options;
}

static void
make_driver(World *self)
{
    CsiModelledOptions options;
    g_autoptr(GError) error = NULL;

    csi_modelled_options_init(&options);
    options.name = world_intern(self, WORLD_DRIVER);
    options.adopts_unknown_volumes = TRUE;
    options.latency[CSI_CREATE_VOLUME] = world_constant(self, SIM_SECOND);
    options.latency[CSI_CONTROLLER_PUBLISH_VOLUME] = world_constant(self, SIM_SECOND);
    options.latency[CSI_CONTROLLER_UNPUBLISH_VOLUME] = world_constant(self, SIM_SECOND);
    if (self->options.driver != NULL)
        self->options.driver(self, &options);
    self->driver = csi_modelled_driver_new(self->sim, self->strings, &options, &error);
    if (self->driver == NULL)
        g_error("%s", error->message);
}

World *
world_new(const SidecarWorldOptions *options)
{
    World *self = g_new0(World, 1);
    SimOptions sim_options = {
        .seed = options->seed, .polling = options->polling, .measured = options->measured};

    self->options = *options;
    self->sim = sim_new(&sim_options);
    self->objects = objects_new(options->seed);
    self->strings = objects_strings(self->objects);
    self->dists = g_ptr_array_new_with_free_func((GDestroyNotify)sim_dist_unref);
    self->log = g_array_new(FALSE, FALSE, sizeof(WorldEntry));
    g_array_set_clear_func(self->log, entry_clear);
    if (options->recorded_timing)
        timing_init_recorded(&self->timing);
    else
        timing_init_instant(&self->timing);
    make_driver(self);
    if (options->gate_on != NULL)
        self->gates =
            string_map_with(NULL, world_intern(self, options->gate_on), world_intern(self, "true"));

    ClusterOptions cluster_options = {.sim = self->sim,
                                      .objects = self->objects,
                                      .timing = &self->timing,
                                      .minor_version = options->minor == 0 ? 32 : options->minor,
                                      .feature_gates = self->gates,
                                      .only = options->only};
    NodePluginOptions plugin = {.preregistered = TRUE};
    CsiObserver observer = {.answered = call_seen, .data = self};
    self->cluster = cluster_new(&cluster_options);
    self->api = cluster_api(self->cluster);
    api_server_observe_requests(self->api, request_seen, self);
    csi_driver_add_observer(csi_modelled_driver_base(self->driver), &observer);
    cluster_add_driver(self->cluster, csi_modelled_driver_base(self->driver), WORLD_DRIVER, &plugin,
                       get_options, self);
    world_add_nodes(self);
    cluster_start(self->cluster, get_options, self);
    world_run(self, 0);
    return self;
}

void
world_free(World *self)
{
    if (self == NULL)
        return;
    cluster_free(self->cluster);
    csi_driver_free(csi_modelled_driver_base(self->driver));
    g_array_unref(self->log);
    sim_free(self->sim);
    timing_clear(&self->timing);
    g_ptr_array_unref(self->dists);
    string_map_unref(self->gates);
    string_list_unref(self->mutable_keys);
    objects_free(self->objects);
    g_free(self);
}

const SimDist *
world_constant(World *self, SimTime time)
{
    SimDist *dist = sim_dist_new_constant(time);

    g_ptr_array_add(self->dists, dist);
    return dist;
}

const char *
world_intern(World *self, const char *text)
{
    return strings_intern(self->strings, text);
}

void
world_allow_changes(World *self, CsiModelledOptions *options, const char *key)
{
    const char *interned = world_intern(self, key);

    self->mutable_keys = string_list_new(&interned, 1);
    options->mutable_keys = self->mutable_keys;
    options->controller_capabilities |= CSI_CONTROLLER_MODIFY_VOLUME_CAPABILITY;
}

Object *
world_attributes_class(World *self, const char *name, const char *driver, const char *key)
{
    AttributesClass *class =
        (AttributesClass *)object_new(world_key(self, KIND_ATTRIBUTES_CLASS, name));

    class->driver = world_intern(self, driver);
    class->parameters = string_map_with(NULL, world_intern(self, key), world_intern(self, name));
    return &class->meta;
}

ObjectKey *
world_key(World *self, ObjectKind kind, const char *name)
{
    return objects_key(self->objects, kind, kind_class(kind)->namespaced ? "default" : NULL, name);
}

const Object *
world_get(World *self, ObjectKind kind, const char *name)
{
    return api_server_get(self->api, world_key(self, kind, name));
}

static void
sidecar_world_commit(World *self, const ApiRequest *request)
{
    ApiResponse response;

    api_server_commit(self->api, request, &response);
    if (response.code != API_OK)
        g_error("%s %s: %s", verb_names[request->verb], request->key->text, response.message);
}

void
world_create(World *self, Object *object)
{
    ApiRequest request = {
        .verb = API_CREATE, .key = (ObjectKey *)object->key, .object = object, .grace_s = -1};

    sidecar_world_commit(self, &request);
    object_unref(object);
}

static void
commit_edit(World *self, ApiVerb verb, ObjectKey *key, ObjectEdit edit, const void *arg)
{
    ApiRequest request = {.verb = verb, .key = key, .edit = edit, .arg = arg, .grace_s = -1};

    sidecar_world_commit(self, &request);
}

void
world_edit(World *self, ObjectKind kind, const char *name, ObjectEdit edit, const void *arg)
{
    commit_edit(self, API_PATCH, world_key(self, kind, name), edit, arg);
}

void
world_edit_status(World *self, ObjectKind kind, const char *name, ObjectEdit edit, const void *arg)
{
    commit_edit(self, API_PATCH_STATUS, world_key(self, kind, name), edit, arg);
}

void
world_delete(World *self, ObjectKind kind, const char *name)
{
    commit_edit(self, API_DELETE, world_key(self, kind, name), NULL, NULL);
}

void
world_add_nodes(World *self)
{
    static const char *const zones[] = {"a", "b", "c"};
    const char *key = world_intern(self, WORLD_ZONE);

    for (unsigned i = 0; i < G_N_ELEMENTS(zones); i++) {
        StringPair pair = {key, world_intern(self, zones[i])};
        g_autoptr(StringMap) labels = string_map_new(&pair, 1);
        Object *node = object_new(world_key(self, KIND_NODE, zones[i]));
        Object *csi_node = object_new(world_key(self, KIND_CSI_NODE, zones[i]));
        CsiNodeDriver entry = {world_intern(self, WORLD_DRIVER), world_intern(self, zones[i]),
                               string_list_new(&key, 1), -1};

        node->labels = string_map_ref(labels);
        CSI_NODE(csi_node)->drivers = csi_node_drivers_new(&entry, 1);
        world_create(self, node);
        world_create(self, csi_node);
        csi_modelled_driver_add_node(self->driver, pair.value, pair.value, labels);
    }
}

StorageClass *
world_class(World *self, const char *name, BindingMode mode, ReclaimPolicy policy)
{
    StorageClass *class = STORAGE_CLASS(object_new(world_key(self, KIND_STORAGE_CLASS, name)));

    class->provisioner = world_intern(self, WORLD_DRIVER);
    class->binding_mode = mode;
    class->reclaim_policy = policy;
    return class;
}

Claim *
world_claim(World *self, const char *name, const char *class, const char *node)
{
    Claim *claim = CLAIM(object_new(world_key(self, KIND_CLAIM, name)));
    const char *driver = world_intern(self, WORLD_DRIVER);

    claim->class_name = world_intern(self, class);
    claim->access_modes = ACCESS_RWO;
    claim->request_bytes = INT64_C(1) << 30;
    object_set_annotation(&claim->meta, world_intern(self, ANNOTATION_STORAGE_PROVISIONER), driver);
    object_set_annotation(&claim->meta, world_intern(self, ANNOTATION_BETA_STORAGE_PROVISIONER),
                          driver);
    if (node != NULL)
        object_set_annotation(&claim->meta, world_intern(self, ANNOTATION_SELECTED_NODE),
                              world_intern(self, node));
    return claim;
}

Volume *
world_volume(World *self, const char *name)
{
    Volume *volume = VOLUME(object_new(world_key(self, KIND_VOLUME, name)));
    VolumeSource source = {.plugin = world_intern(self, "csi"),
                           .driver = world_intern(self, WORLD_DRIVER),
                           .handle = world_intern(self, name)};

    volume->capacity_bytes = INT64_C(1) << 30;
    volume->access_modes = ACCESS_RWO;
    volume->source = volume_source_new(&source);
    csi_modelled_driver_add_volume(
        self->driver,
        &(CsiModelledVolume){.id = source.handle, .capacity_bytes = volume->capacity_bytes});
    return volume;
}

Attachment *
world_attachment(World *self, const char *name, const char *volume, const char *node)
{
    Attachment *attachment = ATTACHMENT(object_new(world_key(self, KIND_ATTACHMENT, name)));

    attachment->attacher = world_intern(self, WORLD_DRIVER);
    attachment->node_name = world_intern(self, node);
    attachment->volume_name = world_intern(self, volume);
    return attachment;
}

static void
stop_here(Sim *sim, void *data)
{
    (void)sim;
    (void)data;
}

/* The clock goes on though nothing may be left to happen. */
void
world_run(World *self, SimTime until)
{
    static const SimEventType stop = {.name = "test/stop", .fire = stop_here};

    sim_at(self->sim, until, &stop, NULL, WAIT_NONE);
    sim_run_until(self->sim, until);
}

char *
world_take_log(World *self)
{
    g_autoptr(GString) text = g_string_new(NULL);

    for (unsigned i = 0; i < self->log->len; i++)
        g_string_append_printf(text, "%s%s", i == 0 ? "" : ", ",
                               g_array_index(self->log, WorldEntry, i).what);
    g_array_set_size(self->log, 0);
    return g_string_free(g_steal_pointer(&text), FALSE);
}

unsigned
world_count(World *self, const char *what, SimTime *first, SimTime *last)
{
    unsigned count = 0;

    for (unsigned i = 0; i < self->log->len; i++) {
        const WorldEntry *entry = &g_array_index(self->log, WorldEntry, i);
        if (!g_str_equal(entry->what, what))
            continue;
        if (first != NULL && count == 0)
            *first = entry->at;
        if (last != NULL)
            *last = entry->at;
        count++;
    }
    return count;
}

char *
world_times(World *self, const char *what)
{
    g_autoptr(GString) text = g_string_new(NULL);

    for (unsigned i = 0; i < self->log->len; i++) {
        const WorldEntry *entry = &g_array_index(self->log, WorldEntry, i);
        if (g_str_has_prefix(entry->what, what))
            g_string_append_printf(text, "%s%" G_GINT64_FORMAT, text->len == 0 ? "" : " ",
                                   entry->at / SIM_MS);
    }
    return g_string_free(g_steal_pointer(&text), FALSE);
}

char *
world_events(World *self, const ObjectKey *involved)
{
    g_autoptr(GString) text = g_string_new(NULL);

    for (unsigned i = 0; i < api_server_n_events(self->api); i++) {
        const ApiEvent *event = api_server_event(self->api, i);
        if (event->involved == involved && event->count > 0)
            g_string_append_printf(text, "%s%s x%u: %s", text->len == 0 ? "" : "; ", event->reason,
                                   event->count, event->message);
    }
    return g_string_free(g_steal_pointer(&text), FALSE);
}
