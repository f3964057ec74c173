/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Builds the drivers: the fields of a driver override its profile, and the profile overrides the
 * defaults. So the profile is read into the same struct before the driver's own fields, and a
 * member that neither names keeps its default. Flags of sidecars add up in the same way: profile,
 * manifest of the driver, its pods, the scenario. What remains in the struct is what a later
 * setDriver changes. The modelled driver itself is made once for nothing, as it alone knows which
 * options contradict each other. */
#include <string.h>

#include "driver-workloads.h"
#include "effects.h"
#include "models/api/fields.h"
#include "models/api/map-json.h"
#include "process-args.h"
#include "release-defaults.h"
#include "scenario-private.h"
#include "sim/sim.h"

#define ATTACHER "external-attacher"
#define PROVISIONER "external-provisioner"

/* ---- Sidecars ---- */

/* Later flags win. */
static void
add_flags(GHashTable *all, const ProcessClass *class, GHashTable *flags)
{
    GHashTable *known = g_hash_table_lookup(all, class->name);

    if (known == NULL) {
        g_hash_table_insert(all, (char *)class->name, g_hash_table_ref(flags));
        return;
    }
    if (g_hash_table_contains(flags, SIDECAR_VERSION))
        g_hash_table_insert(known, (char *)SIDECAR_VERSION,
                            g_hash_table_lookup(flags, SIDECAR_VERSION));
    for (const ProcessFlag *flag = class->flags; flag->name != NULL; flag++) {
        char *text = g_hash_table_lookup(flags, flag->name);
        if (text != NULL)
            g_hash_table_insert(known, (char *)flag->name, text);
    }
}

static void
read_sidecars(Loader *self, const json_t *sidecars, GHashTable *all, GPtrArray *absent)
{
    const char *name;
    json_t *flags;

    json_object_foreach((json_t *)sidecars, name, flags) {
        const ProcessClass *class = process_class_find(name);
        if (class == NULL || class->scope != PER_DRIVER) {
            scenario_fault_process(&self->reader, PER_DRIVER, sidecars, name);
            continue;
        }
        SchemaPlace place = schema_enter_member(&self->reader, sidecars, name);
        if (json_is_false(flags))
            g_ptr_array_add(absent, (char *)class->name);
        else if (!json_is_null(flags))
            add_flags(all, class, scenario_read_flags(&self->reader, class, flags));
        schema_leave(&self->reader, place);
    }
}

/* ---- Flags from the driver's own manifests ---- */

/* A flag without a value is true. */
static void
read_argument(Loader *self, const ProcessClass *class, const char *argument, json_t *flags)
{
    g_autofree char *name = NULL;
    const char *value;

    switch (process_argument(class, argument, &name, &value)) {
    case ARGUMENT_FLAG:
        json_object_set_new(flags, name, json_string(value != NULL ? value : "true"));
        return;
    case ARGUMENT_UNKNOWN:
        if (flag_effect_find(class->name, name) != NULL) {
            scenario_warn_of_flag(&self->reader, class, name);
            return;
        }
        g_ptr_array_add(self->scenario.ignored,
                        g_strdup_printf("%s --%s (%s:%u)", class->name, name, self->reader.at.file,
                                        self->reader.at.line));
        return;
    case ARGUMENT_NO_EFFECT:
    case ARGUMENT_NO_FLAG:
        return;
    }
    g_assert_not_reached();
}

/* @replicas: of the Deployment; NULL: not given */
static void
read_container(Loader *self, const json_t *container, const json_t *replicas, GHashTable *all)
{
    const ProcessClass *class = workload_sidecar(container);
    const json_t *arguments = json_object_get(container, "args");

    if (class == NULL)
        return;
    json_t *flags = json_object();
    g_ptr_array_add(self->made, flags);
    for (gsize i = 0; i < json_array_size(arguments); i++) {
        const char *argument = json_string_value(json_array_get(arguments, i));
        yaml_positions_item(self->positions, arguments, i, &self->reader.at);
        if (argument != NULL)
            read_argument(self, class, argument, flags);
    }
    if (json_is_integer(replicas) && process_class_flag(class, "replicas") != NULL)
        json_object_set(flags, "replicas", (json_t *)replicas); /* only counted */
    add_flags(all, class, scenario_read_flags(&self->reader, class, flags));
}

static const json_t *
member_at(const json_t *value, const char *const *path)
{
    for (; *path != NULL; path++)
        value = json_object_get(value, *path);
    return value;
}

static void
read_driver_manifest(Loader *self, const DriverFields *fields, GHashTable *all)
{
    static const char *const containers_path[] = {"spec", "template", "spec", "containers", NULL};
    static const char *const replicas_path[] = {"spec", "replicas", NULL};
    SchemaPlace place = schema_enter_member(&self->reader, fields->source, "fromManifest");
    GPtrArray *documents = loader_read_file(self, fields->from_manifest);
    unsigned n_found = 0;

    for (unsigned i = 0; documents != NULL && i < documents->len; i++) {
        const json_t *containers = member_at(documents->pdata[i], containers_path);
        for (gsize k = 0; k < json_array_size(containers); k++) {
            const json_t *container = json_array_get(containers, k);
            n_found += workload_sidecar(container) != NULL;
            SchemaJump jump = schema_go_file(&self->reader, container);
            read_container(self, container, member_at(documents->pdata[i], replicas_path), all);
            schema_come_back(&self->reader, jump);
        }
    }
    if (documents != NULL && n_found == 0)
        schema_fault(&self->reader, NULL, "no sidecar runs in %s", fields->from_manifest);
    schema_leave(&self->reader, place);
}

/* The args of the pods that run it. */
static void
read_workloads(Loader *self, const ScenarioDriver *driver, GHashTable *all)
{
    for (unsigned i = 0; i < driver->n_workloads; i++) {
        const json_t *containers = loader_workload_containers(self, &driver->workloads[i]);
        for (gsize k = 0; k < json_array_size(containers); k++) {
            const json_t *container = json_array_get(containers, k);
            SchemaJump jump = schema_go_file(&self->reader, container);
            read_container(self, container, NULL, all);
            schema_come_back(&self->reader, jump);
        }
    }
}

static gboolean
has_pods(const ScenarioDriver *driver, const ProcessClass *class)
{
    for (unsigned i = 0; i < driver->n_workloads; i++)
        for (unsigned k = 0; k < driver->workloads[i].n_sidecars; k++)
            if (class == NULL || driver->workloads[i].sidecars[k] == class)
                return TRUE;
    return FALSE;
}

/* If some sidecars run in pods, the others do not run, unless the scenario itself names them. */
static void
leave_out_others(const ScenarioDriver *driver, const json_t *named, GPtrArray *absent)
{
    for (unsigned i = 0; model_classes[i] != NULL && has_pods(driver, NULL); i++) {
        const ProcessClass *class = model_classes[i]->process;
        if (class->scope == PER_DRIVER && !has_pods(driver, class) &&
            json_object_get(named, class->name) == NULL)
            g_ptr_array_add(absent, (char *)class->name);
    }
}

static void
leave_out_optional(GHashTable *named, GPtrArray *absent)
{
    for (unsigned i = 0; model_classes[i] != NULL; i++) {
        const ProcessClass *class = model_classes[i]->process;
        if (class->is_optional && !g_hash_table_contains(named, class->name))
            g_ptr_array_add(absent, (char *)class->name);
    }
}

/* ---- Options ---- */

static StringMap *
driver_map(SchemaReader *reader, const json_t *object)
{
    StringMap *map = map_from_json(reader->strings, object);

    if (map != NULL)
        g_ptr_array_add(reader->maps, map);
    return map;
}

static void
set_limits(SchemaReader *reader, const SchemaList *list, CsiModelledOptions *options)
{
    const LimitFields *fields = list->items;
    CsiModelledLimit *limits = schema_alloc(reader, list->n * sizeof *limits);

    for (unsigned i = 0; i < list->n; i++)
        limits[i] = (CsiModelledLimit){
            .methods = fields[i].methods,
            .per_node = fields[i].per_node,
            .concurrent = fields[i].concurrent,
            .qps = fields[i].rate.qps,
            .burst = fields[i].rate.burst,
            .per_volume = fields[i].per_volume,
        };
    options->limits = limits;
    options->n_limits = list->n;
}

static void
fault_pool_zone(Loader *self, const DriverFields *fields, unsigned i, const char *zone)
{
    const json_t *pools = json_object_get(fields->source, "pools");
    SchemaPlace outer = schema_enter_member(&self->reader, fields->source, "pools");
    SchemaPlace inner = schema_enter_item(&self->reader, pools, i);

    schema_fault_member(&self->reader, json_array_get(pools, i), "zone", NULL,
                        "the pool is in zone %s, but the driver has no topology", zone);
    schema_leave(&self->reader, inner);
    schema_leave(&self->reader, outer);
}

static const StringMap *
zone_map(SchemaReader *reader, const char *key, const char *zone)
{
    StringPair pair = {schema_intern(reader, key), zone};
    StringMap *map = string_map_new(&pair, 1);

    g_ptr_array_add(reader->maps, map);
    return map;
}

/* The place of a pool by the keys that volumes have, too: a volume takes room in the pool if its
 * own keys do not say otherwise. */
static const StringMap *
pool_map(SchemaReader *reader, const json_t *topology, const StringList *of_volumes)
{
    json_auto_t *place = json_object();

    for (unsigned i = 0; of_volumes != NULL && i < of_volumes->n_items; i++)
        if (json_object_get(topology, of_volumes->items[i]) != NULL)
            json_object_set(place, of_volumes->items[i],
                            json_object_get(topology, of_volumes->items[i]));
    return driver_map(reader, json_object_size(place) > 0 ? place : topology);
}

static void
set_pools(Loader *self,
          const DriverFields *fields,
          const ScenarioDriver *driver,
          CsiModelledOptions *options)
{
    const char *zone_key = loader_zone_key(driver);
    const PoolFields *pool = fields->pools.items;
    CsiModelledPool *pools = schema_alloc(&self->reader, fields->pools.n * sizeof *pools);

    for (unsigned i = 0; i < fields->pools.n; i++) {
        pools[i].bytes = pool[i].capacity;
        if (pool[i].zone != NULL && zone_key != NULL)
            pools[i].segments = zone_map(&self->reader, zone_key, pool[i].zone);
        else if (pool[i].zone != NULL)
            fault_pool_zone(self, fields, i, pool[i].zone);
        else
            pools[i].segments = pool_map(&self->reader, pool[i].topology, options->volume_keys);
    }
    options->pools = pools;
    options->n_pools = fields->pools.n;
}

/* Options that can change during a run, apart from the fields that are read directly into the
 * model. */
static void
set_run_time_options(Loader *self,
                     const DriverFields *fields,
                     const ScenarioDriver *driver,
                     CsiModelledOptions *options)
{
    options->errors = fields->errors.items;
    options->n_errors = fields->errors.n;
    set_limits(&self->reader, &fields->limits, options);
    set_pools(self, fields, driver, options);
    if (fields->default_bytes != 0)
        options->volume_bytes_default = fields->default_bytes;
    self->scenario.has_usage |= options->usage.start_bytes > 0 || options->usage.step_bytes > 0;
}

static void
set_capabilities(const DriverFields *fields,
                 gboolean attaches,
                 gboolean has_topology,
                 CsiModelledOptions *options)
{
    if (fields->controller_capabilities != 0)
        options->controller_capabilities = fields->controller_capabilities & ~CAPABILITIES_GIVEN;
    if (fields->node_capabilities != 0)
        options->node_capabilities = fields->node_capabilities & ~CAPABILITIES_GIVEN;
    if (fields->group_capabilities != 0)
        options->group_capabilities = fields->group_capabilities & ~CAPABILITIES_GIVEN;
    if (options->group_capabilities != 0)
        options->plugin_capabilities |= CSI_PLUGIN_GROUP_CONTROLLER_SERVICE;
    if (fields->plugin_capabilities != 0)
        options->plugin_capabilities = fields->plugin_capabilities & ~CAPABILITIES_GIVEN;
    if (!attaches)
        options->controller_capabilities &= ~(unsigned)CSI_CONTROLLER_PUBLISH_UNPUBLISH_VOLUME;
    if (!has_topology)
        options->plugin_capabilities &= ~(unsigned)CSI_PLUGIN_VOLUME_ACCESSIBILITY_CONSTRAINTS;
}

static StringList *
string_list_of(SchemaReader *reader, char **items)
{
    if (items == NULL || items[0] == NULL)
        return NULL;
    StringList *list = string_list_new((const char *const *)items, g_strv_length(items));
    g_ptr_array_add(reader->lists, list);
    return list;
}

static void
set_maps(Loader *self, const DriverFields *fields, CsiModelledOptions *options)
{
    options->volume_keys = string_list_of(&self->reader, fields->volume_topology);
    options->mutable_keys = string_list_of(&self->reader, fields->mutable_keys);
    options->volume_context = driver_map(&self->reader, fields->volume_context);
    options->publish_context = driver_map(&self->reader, fields->publish_context);
}

/* The back end checks which options contradict each other. */
static void
try_options(Loader *self, const CsiModelledOptions *options, unsigned n_faults_before)
{
    const SimOptions sim_options = {.untraced = TRUE};
    g_autoptr(Sim) sim = sim_new(&sim_options);
    g_autoptr(GError) error = NULL;

    if (self->faults->len > n_faults_before)
        return; /* a second message would repeat the first */
    CsiModelledDriver *driver = csi_modelled_driver_new(sim, self->reader.strings, options, &error);

    if (driver == NULL)
        schema_fault(&self->reader, NULL, "%s", error->message);
    else
        csi_driver_free(csi_modelled_driver_base(driver));
}

/* ---- Whole drivers ---- */

static const CsiDriverObject *
driver_object(const Loader *self, const char *name)
{
    for (unsigned i = 0; i < self->manifests->len; i++) {
        const ManifestInfo *info = &g_array_index(self->manifests, ManifestInfo, i);
        if (info->object != NULL && object_kind(info->object) == KIND_CSI_DRIVER &&
            g_str_equal(object_name(info->object), name))
            return CSI_DRIVER_OBJECT(info->object);
    }
    return NULL;
}

static gboolean
driver_attaches(Loader *self, const DriverFields *fields)
{
    const CsiDriverObject *object = driver_object(self, fields->model.name);
    gboolean said = json_object_get(fields->source, "attachRequired") != NULL;

    if (object != NULL && said && object->attach_required != fields->attach_required)
        schema_fault_member(&self->reader, fields->source, "attachRequired",
                            "remove one of the two", "the CSIDriver of this name says %s",
                            object->attach_required ? "true" : "false");
    if (object != NULL)
        return object->attach_required;
    if (fields->attach_required >= 0)
        return fields->attach_required;
    return fields->controller_capabilities == 0 ||
           (fields->controller_capabilities & CSI_CONTROLLER_PUBLISH_UNPUBLISH_VOLUME) != 0;
}

static void
read_profile(Loader *self, DriverFields *fields)
{
    const char *name = json_path_string(fields->source, "profile");

    if (name == NULL || *name == '\0')
        return;
    SchemaPlace place = schema_enter_member(&self->reader, fields->source, "profile");
    const json_t *profile = loader_read_profile(self, name);
    schema_leave(&self->reader, place);
    if (profile == NULL)
        return;
    SchemaJump jump = schema_go_file(&self->reader, profile);
    schema_read_fields(&self->reader, scenario_profile_type.fields, profile, fields, TRUE);
    schema_come_back(&self->reader, jump);
}

/* The flags that remain are of that release. */
static void
take_defaults_of_releases(Loader *self, GHashTable *all)
{
    for (unsigned i = 0; model_classes[i] != NULL; i++) {
        const ProcessClass *class = model_classes[i]->process;
        GHashTable *flags = g_hash_table_lookup(all, class->name);
        if (flags != NULL)
            scenario_take_defaults(&self->reader, class, flags, self->scenario.minor_version);
    }
}

static void
build_sidecars(Loader *self,
               const DriverFields *fields,
               const json_t *of_profile,
               gboolean attaches,
               ScenarioDriver *driver)
{
    GPtrArray *absent = g_ptr_array_new();
    GHashTable *all =
        g_hash_table_new_full(g_str_hash, g_str_equal, NULL, (GDestroyNotify)g_hash_table_unref);

    g_ptr_array_add(self->reader.tables, all);
    if (of_profile != NULL) {
        SchemaJump jump = schema_go_file(&self->reader, of_profile);
        read_sidecars(self, of_profile, all, absent);
        schema_come_back(&self->reader, jump);
    }
    if (fields->from_manifest != NULL)
        read_driver_manifest(self, fields, all);
    read_workloads(self, driver, all);
    leave_out_others(driver, json_object_get(fields->source, "sidecars"), absent);
    if (json_is_object(json_object_get(fields->source, "sidecars"))) {
        SchemaPlace place = schema_enter_member(&self->reader, fields->source, "sidecars");
        read_sidecars(self, json_object_get(fields->source, "sidecars"), all, absent);
        schema_leave(&self->reader, place);
    }
    take_defaults_of_releases(self, all);
    leave_out_optional(all, absent);
    if (!attaches)
        g_ptr_array_add(absent, (char *)ATTACHER);
    driver->sidecars = all;
    driver->absent_sidecars = schema_alloc(&self->reader, (absent->len + 1) * sizeof(char *));
    if (absent->len > 0)
        memcpy(driver->absent_sidecars, absent->pdata, absent->len * sizeof(char *));
    g_ptr_array_unref(absent);
}

gboolean
scenario_driver_publishes_capacity(const ScenarioDriver *driver)
{
    GHashTable *flags =
        driver->sidecars == NULL ? NULL : g_hash_table_lookup(driver->sidecars, PROVISIONER);
    const char *text = flags == NULL ? NULL : g_hash_table_lookup(flags, "enable-capacity");

    return g_strcmp0(text, "true") == 0;
}

static json_t *
driver_manifest(Loader *self, const ScenarioDriver *driver, gboolean attaches)
{
    json_t *manifest = json_pack("{s:s, s:s, s:{s:s}, s:{s:b}}", "apiVersion", "storage.k8s.io/v1",
                                 "kind", "CSIDriver", "metadata", "name", driver->name, "spec",
                                 "attachRequired", attaches);

    if (scenario_driver_publishes_capacity(
            driver)) /* else nobody would read what the sidecar writes */
        json_object_set_new(json_object_get(manifest, "spec"), "storageCapacity", json_true());
    g_ptr_array_add(self->made, manifest);
    return manifest;
}

static void
build_driver(Loader *self, DriverFields *fields, ScenarioDriver *driver)
{
    const json_t *source = fields->source, *of_profile;
    const char *path = fields->path;
    YamlPosition at = fields->at;
    unsigned n_faults = self->faults->len;

    scenario_driver_fields_init(fields);
    fields->source = source;
    fields->path = path;
    fields->at = at;
    read_profile(self, fields);
    of_profile = fields->sidecars;
    schema_read_fields(&self->reader, scenario_driver_type.fields, source, fields, FALSE);
    if (fields->model.name == NULL)
        return;

    gboolean attaches = driver_attaches(self, fields);
    driver->name = (char *)fields->model.name;
    loader_build_topology(self, fields, driver);
    driver->model = fields->model;
    set_maps(self, fields, &driver->model);
    set_run_time_options(self, fields, driver, &driver->model);
    set_capabilities(fields, attaches, driver->n_topology > 0, &driver->model);
    if (strchr(driver->name, '/') != NULL && !attaches) /* FLX-33 */
        driver->model.node_capabilities &= ~(uint32_t)CSI_NODE_STAGE_UNSTAGE_VOLUME;
    driver->attach_limit = driver->model.attach_limit;
    fields->model = driver->model; /* a setDriver changes it */
    loader_build_workloads(self, driver);
    driver->node_plugin = (NodePluginOptions){
        .registers_after = fields->node_plugin.registers_after,
        .preregistered = fields->node_plugin.preregistered,
        .liveness_period = fields->node_plugin.liveness_period,
        .removes_taint = fields->node_plugin.removes_taint,
        .absent_on = driver->absent_on,
        .in_process = strchr(driver->name, '/') != NULL,
        .attaches = attaches,
        .zone_key = loader_zone_key(driver),
    };
    driver->node_selector = (json_t *)fields->node_plugin.node_selector;
    for (unsigned i = 0; i < driver->n_workloads && driver->node_selector != NULL; i++)
        if (driver->workloads[i].has_registrar)
            loader_warn(
                self, &fields->at, fields->path, NULL,
                "nodePlugin.nodeSelector does nothing: the plugin runs where %s/%s has pods",
                driver->workloads[i].kind, driver->workloads[i].name);
    build_sidecars(self, fields, of_profile, attaches, driver);
    driver->manifest =
        driver->node_plugin.in_process ? NULL : driver_manifest(self, driver, attaches);
    try_options(self, &driver->model, n_faults);
}

static void
check_name_is_new(Loader *self, unsigned number)
{
    const Scenario *scenario = &self->scenario;
    const DriverFields *fields = self->fields.spec.drivers.items;

    for (unsigned i = 0; i < number; i++)
        if (g_strcmp0(scenario->drivers[i].name, scenario->drivers[number].name) == 0 &&
            scenario->drivers[i].name != NULL)
            schema_fault_member(&self->reader, fields[number].source, "name", NULL,
                                "there is a driver \"%s\" already", scenario->drivers[i].name);
}

void
loader_build_drivers(Loader *self)
{
    DriverFields *fields = self->fields.spec.drivers.items;
    Scenario *scenario = &self->scenario;

    scenario->drivers =
        schema_alloc(&self->reader, self->fields.spec.drivers.n * sizeof(ScenarioDriver));
    for (unsigned i = 0; i < self->fields.spec.drivers.n; i++) {
        if (fields[i].source == NULL)
            continue; /* no mapping: the fault is reported already */
        SchemaJump jump = schema_go(&self->reader, &fields[i].at, fields[i].path);
        build_driver(self, &fields[i], &scenario->drivers[i]);
        check_name_is_new(self, i);
        if (scenario->drivers[i].sidecars != NULL)
            loader_check_local_driver(self, &fields[i], &scenario->drivers[i]);
        schema_come_back(&self->reader, jump);
    }
    scenario->n_drivers = self->fields.spec.drivers.n;
    loader_warn_of_workloads(self);
}

static int
driver_index(Loader *self, const char *name)
{
    const Scenario *scenario = &self->scenario;

    if (name == NULL)
        return scenario->n_drivers == 1 ? 0 : -1;
    for (unsigned i = 0; i < scenario->n_drivers; i++)
        if (g_strcmp0(scenario->drivers[i].name, name) == 0)
            return (int)i;
    return -1;
}

char *
loader_driver_hint(Loader *self, const char *name)
{
    const Scenario *scenario = &self->scenario;
    g_autoptr(GPtrArray) names = g_ptr_array_new();

    for (unsigned i = 0; i < scenario->n_drivers; i++)
        if (scenario->drivers[i].name != NULL)
            g_ptr_array_add(names, scenario->drivers[i].name);
    return name_hint_or_list(name, (const char *const *)names->pdata, names->len);
}

const char *
loader_driver_named(Loader *self, const char *name, const json_t *where, const char *member)
{
    int found = driver_index(self, name);

    if (found >= 0)
        return self->scenario.drivers[found].name;
    if (name == NULL) {
        schema_fault(&self->reader, NULL, "\"%s\" must say which: there are %u drivers", member,
                     self->scenario.n_drivers);
        return NULL;
    }
    g_autofree char *hint = loader_driver_hint(self, name);
    schema_fault_member(&self->reader, where, member, hint, "there is no driver \"%s\"", name);
    return NULL;
}

/* ---- Changes at run time ---- */

CsiModelledOptions *
loader_change_driver(Loader *self, const ActionFields *action, const char **driver)
{
    const json_t *change = action->set_driver;
    const char *name = json_path_string(change, "name");
    SchemaPlace place = schema_enter_member(&self->reader, action->source, "setDriver");
    CsiModelledOptions *options = NULL;
    unsigned n_faults = self->faults->len;

    *driver = loader_driver_named(self, name, change, "name");
    if (*driver != NULL) {
        int which = driver_index(self, *driver);
        DriverFields *fields = (DriverFields *)self->fields.spec.drivers.items + which;
        const json_t *source = fields->source;
        fields->source = change;
        schema_read_fields(&self->reader, scenario_set_driver_type.fields, change, fields, TRUE);
        set_run_time_options(self, fields, &self->scenario.drivers[which], &fields->model);
        options = schema_alloc(&self->reader, sizeof *options);
        *options = fields->model;
        try_options(self, options, n_faults);
        fields->source = source;
    }
    schema_leave(&self->reader, place);
    return options;
}
