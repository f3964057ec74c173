/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Starts, stops and replaces processes: which replicas there are, which models each runs, who
 * leads. An instance is a process with its clients and models; a crash frees them, and a restart
 * makes them anew with empty informers. Numbers of instances and models are fixed by their row and
 * place, because they enter random draws: they must not depend on the order of starting. */
#include "cluster.h"
#include "cluster-private.h"
#include "models/plan/plan.h"

#define SEVERAL_DEFAULTS_SINCE 26
/* The numbers of one replica's instances: one for each driver below NODE_NUMBERS, then the
 * instances on nodes. */
#define REPLICA_NUMBERS (1u << 20)
#define NODE_NUMBERS (1u << 16)
#define DRIVERS_ON_NODES 8

static void
model_free(void *data)
{
    Component *component = data;

    plans_abandon(component);
    if (component->class->clear != NULL)
        component->class->clear(component);
    component_free_parts(component);
    while (component->workers.head != NULL)
        workers_free(component->workers.head->data);
    event_recorder_free(component->events);
    api_client_free(component->event_client);
    api_client_free(component->client);
    g_free(component);
}

static void
instance_stop(Instance *self)
{
    g_clear_pointer(&self->elector, leader_elector_free);
    g_ptr_array_set_size(self->models, 0);
    g_clear_pointer(&self->process, process_free);
}

static void
instance_free(void *data)
{
    Instance *self = data;

    instance_stop(self);
    g_ptr_array_unref(self->models);
    if (self->disk != NULL)
        self->free_disk(self->disk);
    object_unref(self->machine);
    g_free(self->options);
    g_free(self);
}

static void
driver_free(void *data)
{
    Driver *self = data;

    for (unsigned i = 0; i < self->node_sidecars->len; i++)
        g_free(g_array_index(self->node_sidecars, NodeSidecar, i).options);
    g_array_unref(self->node_sidecars);
    g_clear_pointer(&self->workloads, g_ptr_array_unref);
    string_map_unref(self->plugin.node_selector);
    g_free(self);
}

Cluster *
cluster_new(const ClusterOptions *options)
{
    ApiServerOptions api_options = {
        .sim = options->sim, .objects = options->objects, .timing = options->timing};
    Cluster *self = g_new0(Cluster, 1);

    self->options = *options;
    if (options->feature_gates != NULL)
        string_map_ref(options->feature_gates);
    self->release = (Release){.minor = options->minor_version == 0 ? RELEASE_DEFAULT_MINOR
                                                                   : options->minor_version,
                              .gates = options->feature_gates};
    /* API-R12 */
    api_options.keeps_requests = !release_has_gate(&self->release, "RecoverVolumeExpansionFailure");
    api_options.release = &self->release;
    api_options.refuses_defaults = self->release.minor < SEVERAL_DEFAULTS_SINCE;
    self->api = api_server_new(&api_options);
    self->kubelet_watchers = g_array_new(FALSE, FALSE, sizeof(KubeletWatcher));
    self->drivers = g_ptr_array_new_with_free_func(driver_free);
    self->instances = g_ptr_array_new_with_free_func(instance_free);
    self->by_name = g_hash_table_new(g_str_hash, g_str_equal);
    return self;
}

void
cluster_free(Cluster *self)
{
    if (self == NULL)
        return;
    g_clear_pointer(&self->driver_pods, g_ptr_array_unref);
    g_ptr_array_unref(self->instances);
    g_hash_table_unref(self->by_name);
    g_array_unref(self->kubelet_watchers);
    g_clear_pointer(&self->plugin_pods, g_hash_table_unref);
    g_ptr_array_unref(self->drivers);
    g_clear_pointer(&self->flex_files, g_hash_table_unref);
    g_clear_pointer(&self->node_releases, g_hash_table_unref);
    api_server_free(self->api);
    string_map_unref(self->options.feature_gates);
    g_free(self);
}

ApiServer *
cluster_api(const Cluster *self)
{
    return self->api;
}

const Release *
cluster_release(const Cluster *self)
{
    return &self->release;
}

gboolean
cluster_has_unlimited_qps(const Cluster *self)
{
    return self->options.unlimited_qps;
}

static uint64_t
model_order(unsigned row, unsigned number)
{
    return (uint64_t)row << 30 | (uint64_t)number
                                     << 4; /* room for 16 tickers a model, 2^26 instances */
}

static const char *
event_source(const Component *component)
{
    const ModelClass *class = component->class;

    if (class->before_driver == 0)
        return class->event_source;
    return strings_internf(component->strings, "%s%c%s", class->event_source, class->before_driver,
                           component->driver_name);
}

static void
add_clients(const Cluster *cluster, Component *component)
{
    const ModelClass *class = component->class;
    unsigned burst = 0;
    double qps = API_CLIENT_UNLIMITED;

    if (class->client_qps != NULL && !cluster->options.unlimited_qps)
        qps = class->client_qps(component->options, &burst);
    component->client = api_client_new(component->process, class->name, qps, burst);
    if (class->event_source == NULL)
        return;
    if (class->separate_event_client)
        component->event_client = api_client_new(component->process, "events", qps, burst);
    component->events = event_recorder_new(component->event_client != NULL ? component->event_client
                                                                           : component->client,
                                           event_source(component), class->event_style);
}

static void
start_model(Instance *self, unsigned row)
{
    const ModelClass *class = model_classes[row];
    const ClusterOptions *options = &self->cluster->options;
    Component *component = g_malloc0(class->size);

    component->class = class;
    component->name = class->name;
    component->apply_change = class->apply_change;
    component->runs = &self->cluster->plan_runs;
    component->cluster = self->cluster;
    component->process = self->process;
    component->options = self->options;
    component->sim = options->sim;
    component->objects = options->objects;
    component->strings = objects_strings(options->objects);
    component->driver = self->driver;
    component->driver_name = class->process->scope == PER_DRIVER ? self->instance : NULL;
    component->node_name = class->process->scope == PER_NODE ? self->instance : self->node;
    component->replica = self->replica;
    component->pod = self->pod;
    component->order = model_order(row, self->number);
    component->disk = &self->disk;
    if (class->free_disk != NULL)
        self->free_disk = class->free_disk;
    component->started_late = sim_now(options->sim) > 0;
    component->joined = component->started_late && !self->has_lived;
    component->label = sim_label(component->sim, class->name);
    component->rebooted = self->rebooted;
    component->machine = self->machine;
    add_clients(self->cluster, component);
    g_ptr_array_add(self->models, component);
    component_make_state(component);
    if (class->init != NULL)
        class->init(component);
    if (!class->starts_late)
        component_start(component);
}

static void
start_models(Instance *self)
{
    const ModelClass *only = self->cluster->options.only;

    for (unsigned row = 0; model_classes[row] != NULL; row++)
        if (model_classes[row]->process == self->class &&
            (only == NULL || only == model_classes[row]))
            start_model(self, row);
}

/* ---- Leader election of a whole process (CGO-60). A sidecar asks its driver first: see
 * models/volume/sidecar.c ---- */

static const LeaderElectionOptions *
election_options(const Instance *self)
{
    return self->class->election == NULL
               ? NULL
               : G_STRUCT_MEMBER_P(self->options, self->class->election->offset);
}

gboolean
instance_elects(const Instance *self)
{
    const LeaderElectionOptions *options = election_options(self);

    return options != NULL && self->class->scope == PER_CLUSTER &&
           (options->enabled || options->replicas > 1);
}

static void
cluster_work(Sim *sim, void *data)
{
    Instance *self = data;

    (void)sim;
    if (self->elector != NULL &&
        self->models->len == 0) /* the process has not died in the meantime */
        start_models(self);
}

static const SimEventType work_event = {.name = "cluster/leader works", .fire = cluster_work};

static SimTime
draw_startup(const Instance *self)
{
    const ClusterOptions *options = &self->cluster->options;
    SimDist *const *dist = G_STRUCT_MEMBER_P(options->timing, self->class->startup);
    SimStream stream = sim_stream(options->sim, "cluster/start-up");
    uint64_t entity =
        sim_hash_combine(sim_hash_string(self->class->name), sim_hash_string(self->name));

    return sim_dist_draw(*dist, stream, entity, (uint64_t)sim_now(options->sim)) +
           self->class->first_look;
}

/* Its informers fill only now: that is most of its start-up time. */
static void
started_leading(void *data)
{
    Instance *self = data;
    Sim *sim = self->cluster->options.sim;
    gboolean is_ready = self->class->election->is_warm || sim_now(sim) == 0;

    sim_after(sim, is_ready ? 0 : draw_startup(self), &work_event, self, WAIT_STARTUP);
}

static void
stopped_leading(void *data)
{
    instance_exit(data);
}

static void
start_election(Instance *self)
{
    const ClusterOptions *options = &self->cluster->options;
    const ProcessElection *election = self->class->election;
    Strings *strings = objects_strings(options->objects);
    uint64_t entity = sim_hash_combine(sim_hash_string(process_name(self->process)),
                                       (uint64_t)sim_now(options->sim));
    SimStream stream = sim_stream(options->sim, "cluster/identity");
    ObjectUid start = {sim_random_bits(stream, entity, 0), sim_random_bits(stream, entity, 1)};
    char uid[OBJECT_UID_BUFFER];

    self->elector = leader_elector_new(&(LeaderElectorOptions){
        .process = self->process,
        .options = election_options(self),
        .lease = objects_key(options->objects, KIND_LEASE, "kube-system", election->lock),
        .identity = strings_internf(strings, "control-plane-%u_%s", self->replica,
                                    object_uid_format(start, uid)),
        .event_source = self->class->name,
        .qps = API_CLIENT_UNLIMITED, /* a write in two seconds meets none */
        .has_led = sim_now(options->sim) == 0 && self->replica == 0,
        .started = started_leading,
        .stopped = stopped_leading,
        .data = self,
    });
}

static void
instance_start(Instance *self)
{
    const ClusterOptions *options = &self->cluster->options;
    const char *name = self->name[0] == '\0'
                           ? self->class->name
                           : strings_internf(objects_strings(options->objects), "%s/%s",
                                             self->class->name, self->name);
    ProcessOptions process_options = {options->sim, options->objects, self->cluster->api,
                                      options->timing, name};

    if (self->process != NULL || self->is_off || (self->in_pod && self->pod == NULL))
        return;
    if (G_UNLIKELY(api_server_is_down(self->cluster->api))) { /* it cannot fill its caches */
        self->waits_for_api = TRUE;
        return;
    }
    self->process = process_new(&process_options);
    if (instance_elects(self))
        start_election(self);
    else
        start_models(self);
    self->has_lived = TRUE;
    self->rebooted = FALSE;
    instance_speak_again(self, 0);
}

/* Whether @row is the first model of its process. */
static gboolean
is_first_of_process(unsigned row)
{
    for (unsigned i = 0; i < row; i++)
        if (model_classes[i]->process == model_classes[row]->process)
            return FALSE;
    return TRUE;
}

static unsigned
n_replicas(const ProcessClass *class, const void *options)
{
    const LeaderElectionOptions *election =
        class->election == NULL ? NULL
                                : G_STRUCT_MEMBER_P((void *)options, class->election->offset);

    return election == NULL ? 1 : (unsigned)CLAMP(election->replicas, 0, PROCESS_REPLICAS_MAX);
}

/* Returns: (owned): a node's Node as it is now; NULL: there is none */
static const Object *
machine_of(const Cluster *self, const char *node)
{
    const ObjectKey *key = objects_find_key(self->options.objects, KIND_NODE, NULL, node);
    const Object *object = key == NULL ? NULL : api_server_get(self->api, key);

    return object == NULL ? NULL : object_ref(object);
}

/* Takes @options. @instance gives the class, the instance and the driver; other members are
 * derived. */
static Instance *
add_instance(Cluster *self, const Instance *row, void *options)
{
    Strings *strings = objects_strings(self->options.objects);
    const char *base = row->instance == NULL ? "" : row->instance;
    Instance *instance = g_memdup2(row, sizeof *row);

    instance->cluster = self;
    instance->silent_since = TIME_UNSET;
    if (row->class->scope == PER_NODE)
        instance->machine = machine_of(self, row->instance);
    instance->options = options;
    if (row->node != NULL)
        instance->name = strings_internf(strings, "%s/%s", base, row->node);
    else if (row->replica != 0)
        instance->name = strings_internf(strings, "%s#%u", base, row->replica);
    else
        instance->name = strings_intern(strings, base);
    instance->models = g_ptr_array_new_with_free_func(model_free);
    g_ptr_array_add(self->instances, instance);
    g_hash_table_insert(self->by_name,
                        (void *)strings_internf(strings, "%s/%s", row->class->name, instance->name),
                        instance);
    if (self->running)
        instance_start(instance);
    return instance;
}

static void *
copy_options(const ProcessClass *class, const void *options)
{
    return g_memdup2(options, MAX(class->options_size, 1));
}

static void
add_replicas(Cluster *self, const Instance *row, const void *options)
{
    for (unsigned replica = 0; replica < n_replicas(row->class, options); replica++) {
        Instance instance = *row;
        instance.replica = replica;
        instance.number += replica * REPLICA_NUMBERS;
        add_instance(self, &instance, copy_options(row->class, options));
    }
}

Instance *
cluster_add_replica(Cluster *self, const Instance *of)
{
    Instance row = {.class = of->class,
                    .instance = of->instance,
                    .replica = of->replica + 1,
                    .number = of->number + REPLICA_NUMBERS,
                    .driver = of->driver,
                    .in_pod = TRUE};

    return add_instance(self, &row, copy_options(of->class, of->options));
}

static gboolean
cluster_runs_on_nodes(const ProcessClass *class, const void *options)
{
    return class->runs_on_nodes != NULL && class->runs_on_nodes(options);
}

/* Adds the replicas of every process of @scope for which @get_options returns options. @driver: for
 * PER_DRIVER. */
static void
add_instances(Cluster *self,
              ProcessScope scope,
              const char *instance_name,
              unsigned number,
              const Driver *driver,
              GetOptions get_options,
              void *data)
{
    for (unsigned row = 0; model_classes[row] != NULL; row++) {
        const ProcessClass *class = model_classes[row]->process;
        void *options =
            class->scope == scope && is_first_of_process(row) ? get_options(data, class) : NULL;
        if (options == NULL)
            continue;
        if (cluster_runs_on_nodes(class, options)) {
            NodeSidecar sidecar = {class, options, FALSE};
            g_array_append_val(driver->node_sidecars, sidecar);
            continue;
        }
        add_replicas(self,
                     &(Instance){.class = class,
                                 .instance = instance_name,
                                 .number = number,
                                 .driver = driver == NULL ? NULL : driver->driver},
                     options);
        g_free(options);
    }
}

void
cluster_add_driver(Cluster *self,
                   CsiDriver *driver,
                   const char *name,
                   const NodePluginOptions *plugin,
                   GetOptions get_options,
                   void *data)
{
    Driver *entry = g_new0(Driver, 1);

    *entry = (Driver){.driver = driver,
                      .name = strings_intern(objects_strings(self->options.objects), name),
                      .plugin = *plugin,
                      .node_sidecars = g_array_new(FALSE, FALSE, sizeof(NodeSidecar))};
    string_map_ref(plugin->node_selector);
    g_ptr_array_add(self->drivers, entry);
    if (plugin->in_process)
        return;
    add_instances(self, PER_DRIVER, entry->name, self->drivers->len - 1, entry, get_options, data);
}

gboolean
cluster_plugin_runs_on(const Cluster *self, unsigned driver, const char *node)
{
    const NodePluginOptions *plugin = cluster_node_plugin(self, driver);
    const StringMap *selector = plugin->node_selector;
    const ObjectKey *key = objects_key(self->options.objects, KIND_NODE, NULL, node);
    const Object *object = api_server_get(self->api, key);

    if (plugin->in_process)
        return FALSE;
    if (((const Driver *)self->drivers->pdata[driver])->plugin_in_pods)
        return TRUE; /* wherever a pod comes to run */
    if (plugin->absent_on != NULL && g_hash_table_contains(plugin->absent_on, node))
        return FALSE;
    return selector == NULL || (object != NULL && string_map_contains(object->labels, selector));
}

static void
add_node_sidecars(Cluster *self, const char *node, unsigned number)
{
    for (unsigned i = 0; i < self->drivers->len; i++) {
        const Driver *driver = self->drivers->pdata[i];
        for (unsigned k = 0;
             k < driver->node_sidecars->len && cluster_plugin_runs_on(self, i, node); k++) {
            const NodeSidecar *sidecar = &g_array_index(driver->node_sidecars, NodeSidecar, k);
            add_instance(self,
                         &(Instance){.class = sidecar->class,
                                     .instance = driver->name,
                                     .node = node,
                                     .number = NODE_NUMBERS + number * DRIVERS_ON_NODES + i,
                                     .in_pod = sidecar->in_pod,
                                     .driver = driver->driver},
                         copy_options(sidecar->class, sidecar->options));
        }
    }
}

void
cluster_add_node(Cluster *self, const char *name, GetOptions get_options, void *data)
{
    const char *node = strings_intern(objects_strings(self->options.objects), name);
    unsigned number = self->n_nodes++;

    driver_pods_add_node(self, node);
    add_instances(self, PER_NODE, node, number, NULL, get_options, data);
    add_node_sidecars(self, node, number);
}

void
cluster_start(Cluster *self, GetOptions get_options, void *data)
{
    static const ProcessScope scopes[] = {PER_NODE, PER_CLUSTER, PER_DRIVER};

    add_instances(self, PER_CLUSTER, NULL, 0, NULL, get_options, data);
    driver_pods_adopt(self);
    for (unsigned i = 0; i < G_N_ELEMENTS(scopes); i++)
        for (unsigned k = 0; k < self->instances->len; k++) {
            Instance *instance = self->instances->pdata[k];
            if (instance->class->scope == scopes[i])
                instance_start(instance);
        }
    self->running = TRUE;
}

unsigned
cluster_n_drivers(const Cluster *self)
{
    return self->drivers->len;
}

static const Driver *
driver_at(const Cluster *self, unsigned i)
{
    return self->drivers->pdata[i];
}

CsiDriver *
cluster_driver(const Cluster *self, unsigned i)
{
    return driver_at(self, i)->driver;
}

const char *
cluster_driver_name(const Cluster *self, unsigned i)
{
    return driver_at(self, i)->name;
}

const DriverWorkload *
cluster_driver_workload(const Cluster *self, unsigned driver, unsigned i)
{
    const GPtrArray *workloads = driver_at(self, driver)->workloads;

    return workloads == NULL || i >= workloads->len ? NULL : workloads->pdata[i];
}

const NodePluginOptions *
cluster_node_plugin(const Cluster *self, unsigned i)
{
    return &driver_at(self, i)->plugin;
}

CsiDriver *
cluster_find_driver(const Cluster *self, const char *name)
{
    for (unsigned i = 0; i < self->drivers->len; i++)
        if (g_strcmp0(driver_at(self, i)->name, name) == 0)
            return driver_at(self, i)->driver;
    return NULL;
}

gboolean
cluster_foresee_node_info(const Cluster *self,
                          const char *driver,
                          const char *node,
                          CsiResponse *info)
{
    CsiDriver *found = cluster_find_driver(self, driver);

    return found != NULL && csi_driver_foresee_node_info(found, node, info);
}

gboolean
cluster_adopt_call(Cluster *self, const char *driver, const CsiRequest *request)
{
    CsiDriver *found = cluster_find_driver(self, driver);

    return found != NULL && csi_driver_adopt(found, request);
}

Instance *
cluster_instance(const Cluster *self, const char *process, const char *instance)
{
    g_autofree char *name = g_strdup_printf("%s/%s", process, instance == NULL ? "" : instance);

    return g_hash_table_lookup(self->by_name, name);
}

Instance *
cluster_node_agent(const Cluster *self, const char *node)
{
    for (unsigned i = 0; model_classes[i] != NULL; i++)
        if (model_classes[i]->process->renews_lease)
            return cluster_instance(self, model_classes[i]->process->name, node);
    return NULL;
}

gboolean
instance_tell_machine_event(const Instance *self, const MachineEvent *event)
{
    gboolean listens = FALSE;

    for (unsigned i = 0; i < self->models->len; i++) {
        Component *component = self->models->pdata[i];
        if (component->class->machine_event == NULL)
            continue;
        component->class->machine_event(component, event);
        listens = TRUE;
    }
    return listens;
}

void
instance_kill(Instance *self)
{
    instance_stop(self);
    self->waits_for_api = FALSE;
    instance_fall_silent(self);
}

gboolean
cluster_crash(Cluster *self, const char *process, const char *instance)
{
    Instance *found = cluster_instance(self, process, instance);

    if (found != NULL)
        instance_kill(found);
    return found != NULL;
}

static void
restart(Sim *sim, void *data)
{
    (void)sim;
    instance_start(data);
}

static const SimEventType restart_event = {
    .name = "cluster/process works again",
    .fire = restart,
};

static void
exit_now(Sim *sim, void *data)
{
    Instance *self = data;

    instance_stop(self);
    sim_after(sim, draw_startup(self), &restart_event, self, WAIT_STARTUP);
}

static const SimEventType exit_event = {.name = "cluster/process ends", .fire = exit_now};

/* CGO-62: the process ends by itself and restarts. Deferred: its own code is still running. */
void
instance_exit(Instance *self)
{
    sim_after(self->cluster->options.sim, 0, &exit_event, self, WAIT_STARTUP);
}

void
cluster_exit(Cluster *self, const Component *component)
{
    for (unsigned i = 0; i < self->instances->len; i++) {
        Instance *instance = self->instances->pdata[i];
        if (instance->process == component->process)
            instance_exit(instance);
    }
}

void
instance_start_again(Instance *self)
{
    gboolean is_late = instance_elects(self) && !self->class->election->is_warm;

    sim_after(self->cluster->options.sim, is_late ? 0 : draw_startup(self), &restart_event, self,
              WAIT_STARTUP);
}

gboolean
cluster_restart(Cluster *self, const char *process, const char *instance)
{
    Instance *found = cluster_instance(self, process, instance);

    if (found != NULL)
        instance_start_again(found);
    return found != NULL;
}

gboolean
instance_leads(const Instance *self)
{
    const LeaderElector *elector = self->elector;

    for (unsigned i = 0; elector == NULL && i < self->models->len; i++)
        elector = ((const Component *)self->models->pdata[i])->elector;
    return elector != NULL && leader_elector_leads(elector);
}

const char *
cluster_leader(const Cluster *self, const char *process, const char *instance)
{
    for (unsigned i = 0; i < self->instances->len; i++) {
        const Instance *candidate = self->instances->pdata[i];
        if (g_str_equal(candidate->class->name, process) &&
            g_strcmp0(candidate->instance, instance) == 0 && instance_leads(candidate))
            return candidate->name;
    }
    return NULL;
}

static gboolean
is_running(const Cluster *self, const char *process, const char *instance, gboolean elects)
{
    for (unsigned i = 0; i < self->instances->len; i++) {
        const Instance *found = self->instances->pdata[i];
        const LeaderElectionOptions *options = election_options(found);
        if (found->process != NULL && g_str_equal(found->class->name, process) &&
            (g_strcmp0(found->instance, instance) == 0 || g_strcmp0(found->name, instance) == 0) &&
            (!elects || instance_elects(found) || (options != NULL && options->enabled)))
            return TRUE;
    }
    return FALSE;
}

gboolean
cluster_has_process(const Cluster *self, const char *process, const char *instance)
{
    return cluster_instance(self, process, instance) != NULL;
}

gboolean
cluster_is_running(const Cluster *self, const char *process, const char *instance)
{
    return is_running(self, process, instance, FALSE);
}

gboolean
cluster_awaits_leader(const Cluster *self, const char *process, const char *instance)
{
    return is_running(self, process, instance, TRUE) &&
           cluster_leader(self, process, instance) == NULL;
}

void *
cluster_model(const Cluster *self, const ModelClass *class, const char *instance)
{
    const Instance *found = cluster_instance(self, class->process->name, instance);

    for (unsigned i = 0; found != NULL && i < found->models->len; i++)
        if (((Component *)found->models->pdata[i])->class == class)
            return found->models->pdata[i];
    return NULL;
}

void
cluster_observe_plans(Cluster *self, PlanObserver observer, void *data)
{
    self->plan_runs.observer = observer;
    self->plan_runs.observer_data = data;
}
