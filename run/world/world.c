/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Builds a run's world from its scenario: drivers, nodes with kubelets, imported objects, quotas.
 * Flags become options of processes in the order of their tables. An object that a cluster printed
 * (it has a uid) is imported unchanged, any other is created as by a user. Work that controllers
 * would have finished before the start (labels of kubelets, CSINodes, usage of quotas) is done at
 * once, so that t = 0 is a cluster that has been running. */

#include "models/api/fields.h"
#include "models/api/map-json.h"
#include "models/api/quota/quota.h"
#include "models/external-snapshotter/external-snapshotter.h"
#include "models/kubelet/kubelet.h"
#include "models/snapshot-controller/snapshot-controller.h"
#include "run-private.h"
#include "run/scenario/release-defaults.h"

#define ANNOTATION_MANAGED "volumes.kubernetes.io/controller-managed-attach-detach" /* ADC-9 */
#define BUILT_PER_REPORT 1024 /* objects between two checks for an interruption */

GQuark
run_error_quark(void)
{
    return g_quark_from_static_string("kvolsim-run");
}

static Strings *
run_strings(const Run *self)
{
    return objects_strings(self->objects);
}

static void
parser_report(ApiParser *parser, const json_t *where, const char *message, const char *hint)
{
    Run *self = parser->data;

    (void)where, (void)hint;
    if (self->error == NULL)
        g_set_error(&self->error, RUN_ERROR, RUN_ERROR_INVALID, "%s", message);
}

/* A CustomResourceDefinition tells the plural of a kind. */
static void
name_custom_resource(Run *self, const json_t *manifest)
{
    const char *group = json_path_string(manifest, "spec.group"),
               *kind = json_path_string(manifest, "spec.names.kind"),
               *plural = json_path_string(manifest, "spec.names.plural");

    if (g_strcmp0(json_path_string(manifest, "kind"), "CustomResourceDefinition") == 0 &&
        group != NULL && kind != NULL)
        objects_resource(self->objects, group, kind, plural);
}

/* Returns: (owned): NULL with @self->error */
Object *
world_parse(Run *self, const json_t *manifest)
{
    ApiParser parser = {.objects = self->objects,
                        .report = parser_report,
                        .data = self,
                        .path = g_string_new(NULL),
                        .minor = self->scenario->minor_version,
                        .migrates = cluster_release(self->cluster),
                        .takes_others = TRUE, /* the loader knows typing errors */
                        .start = self->scenario->start};
    Object *object = api_parser_object(&parser, manifest);

    g_string_free(parser.path, TRUE);
    if (object != NULL && self->error != NULL) {
        object_unref(object);
        return NULL;
    }
    if (object != NULL && object_kind(object) == KIND_OTHER)
        name_custom_resource(self, manifest);
    return object;
}

const Object *
world_find(const Run *self, ObjectKind kind, const char *namespace, const char *name)
{
    const ObjectKey *key =
        name == NULL ? NULL : objects_find_key(self->objects, kind, namespace, name);

    return key == NULL ? NULL : api_server_get(cluster_api(self->cluster), key);
}

/* ---- Drivers ---- */

CsiModelledOptions
world_driver_options(Run *self, const CsiModelledOptions *options)
{
    CsiModelledOptions result = csi_modelled_options_copy(run_strings(self), options);

    result.waits = (CsiWaits){.latency = WAIT_DRIVER, .throttled = WAIT_DRIVER_THROTTLE};
    return result;
}

typedef struct {
    Run *run;
    GHashTable *flags_of; /* process name -> GHashTable of flag -> text; NULL: all default */
    char **absent;
    int minor; /* of a kubelet */
} ProcessSettings;

/* Flags are walked in the order of their table. @minor: the process is of Kubernetes 1.minor; 0: of
 * another project */
static void *
options_from_flags(Run *self, const ProcessClass *class, GHashTable *flags, int minor)
{
    void *options = process_options_new(class, run_strings(self));

    for (const ProcessFlag *flag = class->flags; flag->name != NULL; flag++) {
        const char *text = flags == NULL ? NULL : g_hash_table_lookup(flags, flag->name);
        g_autoptr(GError) error = NULL;
        if (text == NULL && minor > 0)
            text = release_default(class, flag->name, (ProgramVersion){1, minor}, minor);
        if (text != NULL && !process_flag_set(flag, options, text, run_strings(self), &error) &&
            self->error == NULL)
            g_set_error(&self->error, RUN_ERROR, RUN_ERROR_INVALID, "%s: %s: %s", class->name,
                        flag->name, error->message);
    }
    return options;
}

static gboolean
is_of_kubernetes(const ProcessClass *class)
{
    return class->scope != PER_DRIVER && class != &snapshot_controller_process;
}

static void *
process_settings(void *data, const ProcessClass *class)
{
    const ProcessSettings *settings = data;
    GHashTable *flags =
        settings->flags_of == NULL ? NULL : g_hash_table_lookup(settings->flags_of, class->name);

    if (!scenario_has_process(settings->run->scenario, class))
        return NULL;
    if (settings->absent != NULL &&
        g_strv_contains((const char *const *)settings->absent, class->name))
        return NULL;
    return options_from_flags(settings->run, class, flags,
                              is_of_kubernetes(class) ? settings->run->scenario->minor_version : 0);
}

/* KVM-9: without a flag kubelets ask for usage only if there is some. */
static KubeletOptions *
kubelet_options(Run *self, const ProcessClass *class, GHashTable *flags, int minor)
{
    KubeletOptions *options = options_from_flags(self, class, flags, minor);

    if (self->scenario->has_usage &&
        (flags == NULL || !g_hash_table_contains(flags, "volumeStatsAggPeriod")))
        options->volume_stats_agg_period = SIM_MINUTE;
    return options;
}

static void *
kubelet_settings(void *data, const ProcessClass *class)
{
    const ProcessSettings *settings = data;
    const ProcessSettings others = {.run = settings->run,
                                    .flags_of = settings->run->scenario->components};

    if (class != &kubelet_process)
        return process_settings((void *)&others, class); /* only read */
    return kubelet_options(settings->run, class, settings->flags_of, settings->minor);
}

/* Returns: (owned): NULL with @self->error */
static CsiDriver *
new_modelled_driver(Run *self, const ScenarioDriver *driver)
{
    CsiModelledOptions options = world_driver_options(self, &driver->model);
    g_autoptr(GError) error = NULL;
    CsiModelledDriver *model =
        csi_modelled_driver_new(self->sim, run_strings(self), &options, &error);

    csi_modelled_options_clear(&options);
    if (model == NULL) {
        g_set_error(&self->error, RUN_ERROR, RUN_ERROR_INVALID, "driver %s: %s", driver->name,
                    error->message);
        return NULL;
    }
    return csi_modelled_driver_base(model);
}

static void
workload_clear(void *data)
{
    DriverWorkload *self = data;

    string_map_unref(self->labels);
    g_free(self);
}

static void
add_workloads(Run *self, const ScenarioDriver *driver, unsigned number)
{
    Strings *strings = run_strings(self);

    for (unsigned i = 0; i < driver->n_workloads; i++) {
        const ScenarioWorkload *given = &driver->workloads[i];
        DriverWorkload *workload = g_new(DriverWorkload, 1);
        *workload = (DriverWorkload){.kind = given->kind,
                                     .name = strings_intern(strings, given->name),
                                     .namespace = strings_intern(strings, given->namespace),
                                     .labels = map_from_json(strings, given->labels),
                                     .has_registrar = given->has_registrar,
                                     .has_driver = given->has_driver,
                                     .sidecars = given->sidecars,
                                     .n_sidecars = given->n_sidecars};
        if (self->workloads == NULL)
            self->workloads = g_ptr_array_new_with_free_func(workload_clear);
        g_ptr_array_add(self->workloads, workload);
        cluster_add_driver_workload(self->cluster, number, workload);
    }
}

static gboolean
add_driver(Run *self, const ScenarioDriver *driver)
{
    const CsiWaits waits = {.latency = WAIT_DRIVER, .throttled = WAIT_DRIVER_THROTTLE};
    CsiDriver *base = self->options.open_driver == NULL
                          ? NULL
                          : self->options.open_driver(self->options.hook_data, self->sim,
                                                      run_strings(self), driver, &waits);

    if (base == NULL)
        base = new_modelled_driver(self, driver);
    if (base == NULL)
        return FALSE;
    NodePluginOptions plugin = driver->node_plugin;
    ProcessSettings settings = {self, driver->sidecars, driver->absent_sidecars};
    g_ptr_array_add(self->drivers, base);
    plugin.node_selector = driver->node_selector == NULL
                               ? NULL
                               : map_from_json(run_strings(self), driver->node_selector);
    cluster_add_driver(self->cluster, base, driver->name, &plugin, process_settings, &settings);
    string_map_unref(plugin.node_selector);
    add_workloads(self, driver, cluster_n_drivers(self->cluster) - 1);
    records_add_driver(self->records, base);
    return TRUE;
}

/* Returns: (borrowed): the value of a topology key on a node; NULL: it has none */
static const char *
node_place(const Object *node, const ScenarioTopologyKey *key)
{
    const char *value = object_label(node, key->key);

    if (value != NULL || key->label == NULL)
        return value;
    return g_str_equal(key->label, TOPOLOGY_NODE_NAME) ? object_name(node)
                                                       : object_label(node, key->label);
}

/* @info: what the node's CSINode says; NULL: nothing, or the scenario is stronger. Returns:
 * (owned): NULL: none */
static StringMap *
node_segments(Run *self,
              const ScenarioDriver *driver,
              const ScenarioNodeInfo *info,
              const Object *node)
{
    g_autoptr(GArray) pairs = g_array_new(FALSE, FALSE, sizeof(StringPair));

    for (unsigned i = 0; i < driver->n_topology; i++) {
        const ScenarioTopologyKey *key = &driver->topology[i];
        StringPair pair = {strings_intern(run_strings(self), key->key), node_place(node, key)};
        if (pair.value != NULL &&
            (info == NULL || g_strv_contains((const char *const *)info->keys, key->key)))
            g_array_append_val(pairs, pair);
    }
    return string_map_new((const StringPair *)(void *)pairs->data, pairs->len);
}

/* Returns: max_volumes_per_node; 0: none */
static int
reported_limit(const ScenarioDriver *driver)
{
    return driver->model.attach_limit_reported > 0 ? driver->model.attach_limit_reported
                                                   : driver->model.attach_limit;
}

static void
set_node_limit(Run *self, unsigned number, const ScenarioNodeInfo *info, const char *node)
{
    const ScenarioDriver *driver = &self->scenario->drivers[number];
    CsiModelledDriver *model = csi_modelled_driver_cast(self->drivers->pdata[number]);

    if (model != NULL && !driver->says_limit && MAX(info->limit, 0) != reported_limit(driver))
        csi_modelled_driver_set_node_limit(model, node, info->limit > 0 ? info->limit : -1);
}

/* The machines of a driver's plugin, and their topology. */
static void
add_node_to_drivers(Run *self, const Object *node)
{
    const char *name = object_name(node);

    for (unsigned i = 0; i < self->scenario->n_drivers; i++) {
        const ScenarioDriver *driver = &self->scenario->drivers[i];
        const ScenarioNodeInfo *info =
            driver->node_infos == NULL ? NULL : g_hash_table_lookup(driver->node_infos, name);
        g_autoptr(StringMap) segments =
            node_segments(self, driver, driver->says_topology ? NULL : info, node);
        csi_driver_add_node(self->drivers->pdata[i], name,
                            info == NULL ? name : strings_intern(run_strings(self), info->node_id),
                            segments);
        if (info != NULL)
            set_node_limit(self, i, info, name);
    }
}

static StringList *
sorted_keys(Run *self, const ScenarioDriver *driver)
{
    g_autofree const char **keys = g_new(const char *, driver->n_topology + 1);

    for (unsigned i = 0; i < driver->n_topology; i++)
        keys[i] = strings_intern(run_strings(self), driver->topology[i].key);
    qsort(keys, driver->n_topology, sizeof *keys, strings_compare);
    return driver->n_topology == 0 ? NULL : string_list_new(keys, driver->n_topology);
}

/* An imported CSINode says what its drivers were asked last. Where the scenario says something
 * else, the drivers were restarted with it. */
static void
renew_csi_node(Run *self, CsiNode *csi_node)
{
    for (unsigned i = 0; i < self->scenario->n_drivers; i++) {
        const ScenarioDriver *driver = &self->scenario->drivers[i];
        const CsiNodeDriver *entry = csi_node_find_driver(csi_node, driver->name);
        if (entry == NULL)
            continue;
        CsiNodeDriver renewed = *entry;
        if (driver->says_limit)
            renewed.allocatable_count = reported_limit(driver) > 0 ? reported_limit(driver) : -1;
        renewed.topology_keys = driver->says_topology ? sorted_keys(self, driver)
                                                      : string_list_ref(entry->topology_keys);
        csi_node_set_driver(csi_node, entry->name, &renewed);
    }
}

/* ---- Nodes ---- */

/* REL-1: a kubelet may be older than the control plane. */
static void
know_release(Run *self, const Object *node)
{
    const char *version = json_path_string(node->manifest, "status.nodeInfo.kubeletVersion");
    int32_t minor;

    if (version != NULL && scenario_parse_version(version, &minor) &&
        minor != cluster_release(self->cluster)->minor)
        cluster_set_node_release(self->cluster, object_name(node), minor);
}

static void
start_kubelet(Run *self, const Object *node, GHashTable *flags)
{
    ProcessSettings settings = {.run = self, .flags_of = flags};

    know_release(self, node);
    settings.minor = cluster_node_release(self->cluster, object_name(node))->minor;
    add_node_to_drivers(self, node);
    if (self->scenario->has_usage ||
        (flags != NULL && g_hash_table_contains(flags, "volumeStatsAggPeriod"))) {
        g_autofree KubeletOptions *options =
            kubelet_options(self, &kubelet_process, flags, settings.minor);
        if (options->volume_stats_agg_period > 0)
            telemetry_leave_usage(self->telemetry,
                                  strings_intern(run_strings(self), object_name(node)));
    }
    cluster_add_node(self->cluster, object_name(node), kubelet_settings, &settings);
}

/* A kubelet sets its labels as it registers its Node; a Node that a cluster printed has them. */
static void
set_kubelet_labels(Run *self, Object *node)
{
    if (object_uid_is_set(node->uid))
        return;
    if (object_label(node, LABEL_HOSTNAME) == NULL)
        object_set_label(node, strings_intern(run_strings(self), LABEL_HOSTNAME),
                         object_name(node));
    for (const char *const *label = scenario_kubelet_labels; *label != NULL; label += 2)
        if (object_label(node, label[0]) == NULL)
            object_set_label(node, strings_intern(run_strings(self), label[0]),
                             strings_intern(run_strings(self), label[1]));
}

/* A kubelet with controller attach writes that to its node, any other takes it away (ADC-9). Takes
 * @object. */
static void
import_node(Run *self, Object *object, GHashTable *flags)
{
    const char *by_controller =
        flags == NULL ? NULL : g_hash_table_lookup(flags, "enableControllerAttachDetach");
    g_autoptr(Object) node = object_ref(object);

    set_kubelet_labels(self, object);
    gboolean is_own = g_strcmp0(by_controller, "false") == 0;
    object_set_annotation(object, strings_intern(run_strings(self), ANNOTATION_MANAGED),
                          is_own ? NULL : strings_intern(run_strings(self), "true"));
    api_server_import(cluster_api(self->cluster), object);
    start_kubelet(self, node, flags);
}

void
world_join_node(Run *self, Object *node, GHashTable *kubelet)
{
    node->created_at = sim_now(self->sim);
    import_node(self, node, kubelet);
}

/* Called for each thing that is built. Returns: FALSE with @self->error */
static gboolean
may_go_on(Run *self, unsigned n_built)
{
    const RunOptions *options = &self->options;

    if (n_built % BUILT_PER_REPORT != BUILT_PER_REPORT - 1 || options->progress == NULL ||
        options->progress(options->progress_data, 0, 0))
        return TRUE;
    g_set_error(&self->error, RUN_ERROR, RUN_ERROR_INTERRUPTED, "interrupted");
    return FALSE;
}

char *
world_node_name(const ScenarioNodes *group, unsigned i)
{
    g_autofree char *number = g_strdup_printf("%u", group->first + i);
    g_auto(GStrv) parts = g_strsplit(group->name, "%d", -1);

    return g_strjoinv(number, parts);
}

Object *
world_node_new(Run *self, const ScenarioNodes *group, unsigned i, const char *zone)
{
    g_autofree char *name = world_node_name(group, i);
    json_t *manifest = scenario_node_manifest(group, name, zone);
    Object *node = world_parse(self, manifest);

    json_decref(manifest);
    return node;
}

static gboolean
add_node_group(Run *self, const ScenarioNodes *group)
{
    unsigned n_zones = group->zones == NULL ? 0 : g_strv_length(group->zones);

    for (unsigned i = 0; i < group->count; i++) {
        Object *object =
            world_node_new(self, group, i, n_zones == 0 ? NULL : group->zones[i % n_zones]);
        if (object == NULL)
            return FALSE;
        import_node(self, object, group->kubelet);
        if (!may_go_on(self, i))
            return FALSE;
    }
    return TRUE;
}

/* ---- The initial state ---- */

/* Returns: (owned): the flags of the kubelet of a Node in a manifest. That of a Node which a
 * cluster printed without the annotation attaches volumes itself (ADC-9) */
static GHashTable *
kubelet_flags(const Run *self, const Object *node)
{
    GHashTable *given = self->scenario->components == NULL
                            ? NULL
                            : g_hash_table_lookup(self->scenario->components, "kubelet");
    GHashTable *flags = g_hash_table_new(g_str_hash, g_str_equal);

    if (object_uid_is_set(node->uid) && object_annotation(node, ANNOTATION_MANAGED) == NULL)
        g_hash_table_insert(flags, (char *)"enableControllerAttachDetach", (char *)"false");
    for (const ProcessFlag *flag = kubelet_process.flags; given != NULL && flag->name != NULL;
         flag++) {
        void *text = g_hash_table_lookup(given, flag->name);
        if (text != NULL)
            g_hash_table_insert(flags, (char *)flag->name, text);
    }
    return flags;
}

/* Creates an object of a user as the API server does; an object that a cluster printed (it has a
 * uid) is imported unchanged. */
static gboolean
add_initial_object(Run *self, const json_t *manifest)
{
    Object *object = world_parse(self, manifest);

    if (object == NULL)
        return FALSE;
    if (object_kind(object) == KIND_NODE) {
        g_autoptr(GHashTable) flags = kubelet_flags(self, object);
        import_node(self, object, flags);
        return TRUE;
    }
    if (object_kind(object) == KIND_CSI_NODE)
        renew_csi_node(self, CSI_NODE(object));
    if (object_uid_is_set(object->uid)) {
        api_server_import(cluster_api(self->cluster), object);
        return TRUE;
    }
    ApiRequest request = {
        .verb = API_CREATE, .key = (ObjectKey *)object->key, .object = object, .client = "initial"};
    ApiResponse response;
    api_server_commit(cluster_api(self->cluster), &request, &response);
    if (response.code != API_OK)
        g_set_error(&self->error, RUN_ERROR, RUN_ERROR_INVALID, "%s", response.message);
    object_unref(object);
    return self->error == NULL;
}

static void
new_cluster(Run *self)
{
    ClusterOptions options = {
        .sim = self->sim,
        .objects = self->objects,
        .timing = &self->scenario->timing,
        .minor_version = self->scenario->minor_version,
        .unlimited_qps = self->scenario->unlimited_qps,
    };
    const char *gate;
    json_t *value;

    json_object_foreach(self->scenario->feature_gates, gate, value) {
        StringMap *gates = string_map_with(
            options.feature_gates, strings_intern(run_strings(self), gate),
            strings_intern(run_strings(self), json_is_true(value) ? "true" : "false"));
        string_map_unref(options.feature_gates);
        options.feature_gates = gates;
    }
    self->cluster = cluster_new(&options);
    string_map_unref(options.feature_gates);
    self->records = records_new(self->cluster);
    self->milestones = milestones_new(self->cluster, self->records, self->sim, self->objects);
    self->readiness = readiness_new(self->records, self->sim);
    if (!self->options.untraced || self->options.counts_requests)
        self->load = api_load_new(self->records, self->sim);
    self->telemetry = telemetry_new(self->cluster, self->records, self->sim, self->objects);
    world_watch_files(self);
}

static gboolean
set_quota_status(Object *object, const void *used)
{
    ResourceQuota *quota = RESOURCE_QUOTA(object);

    quota->status_hard = resource_amounts_ref(quota->hard);
    quota->used = resource_quota_used(quota, used);
    return TRUE;
}

static void
count_objects(const Run *self, const ResourceQuota *quota, ObjectKind kind, ResourceAmount *used)
{
    gboolean knows_class_scope = quota_knows_class_scope(cluster_release(self->cluster));

    for (uint32_t i = 0; i < objects_n_keys(self->objects, kind); i++) {
        const ObjectKey *key = objects_key_at(self->objects, kind, i);
        const Object *object = api_server_get(cluster_api(self->cluster), key);
        if (object != NULL && key->namespace == quota->meta.key->namespace &&
            resource_quota_covers(quota, kind, object, knows_class_scope))
            quota_usages_add(used, quota->hard, self->objects, object, sim_now(self->sim), 1);
    }
}

/* The quota controller has already counted the objects of the start (API-153). */
static void
settle_quota(Run *self, const ResourceQuota *quota)
{
    g_autofree ResourceAmount *used = quota_usages_new(quota->hard);

    for (ObjectKind kind = 0; kind < N_KINDS; kind++)
        if (resource_amounts_name_kind(quota->hard, kind))
            count_objects(self, quota, kind, used);
    ApiResponse response;
    api_server_commit(cluster_api(self->cluster),
                      &(ApiRequest){.verb = API_PATCH_STATUS,
                                    .key = (ObjectKey *)quota->meta.key, /* only for its name */
                                    .edit = set_quota_status,
                                    .arg = used,
                                    .client = "initial"},
                      &response);
}

static void
settle_quotas(Run *self)
{
    for (uint32_t i = 0; i < objects_n_keys(self->objects, KIND_RESOURCE_QUOTA); i++) {
        const Object *object = api_server_get(
            cluster_api(self->cluster), objects_key_at(self->objects, KIND_RESOURCE_QUOTA, i));
        const ResourceQuota *quota = RESOURCE_QUOTA_CONST(object);
        if (object != NULL && quota->hard != NULL && quota->status_hard == NULL)
            settle_quota(self, quota);
    }
}

gboolean
world_build(Run *self)
{
    const Scenario *scenario = self->scenario;
    ProcessSettings settings = {.run = self, .flags_of = scenario->components};

    new_cluster(self);
    for (unsigned i = 0; i < scenario->n_drivers; i++)
        if (!add_driver(self, &scenario->drivers[i]))
            return FALSE;
    for (unsigned i = 0; i < scenario->n_nodes; i++)
        if (!add_node_group(self, &scenario->nodes[i]))
            return FALSE;
    for (unsigned i = 0; i < scenario->n_manifests; i++)
        if (!add_initial_object(self, scenario->manifests[i]) || !may_go_on(self, i))
            return FALSE;
    for (unsigned i = 0; i < scenario->n_drivers; i++) {
        const json_t *manifest = scenario->drivers[i].manifest;
        if (manifest != NULL &&
            world_find(self, KIND_CSI_DRIVER, NULL, scenario->drivers[i].name) == NULL &&
            !add_initial_object(self, manifest))
            return FALSE;
    }
    if (!world_add_others(self))
        return FALSE;
    settle_quotas(self);
    world_add_histories(self);
    world_adopt(self);
    usage_begin(self);
    world_adopt_groups(self);
    cluster_start(self->cluster, process_settings, &settings);
    world_adopt_silence(self);
    return self->error == NULL;
}

unsigned
run_driver_volumes(const Run *self, unsigned i)
{
    return csi_driver_n_volumes(self->drivers->pdata[i]);
}
