/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Drivers that run in Pods of the cluster: sidecars and plugins start and end with the containers
 * of their pods, of which the kubelet tells; docs/rules/driver-pods.md has the rules. The
 * scenario's instances of a sidecar are taken first, and replicas are added for further pods. A
 * registrar that ends well removes its socket, even that of the pod after it (DP-3). A kubelet that
 * starts tells of running containers again, so a pod is known by its uid. */
#include "cluster-private.h"
#include "models/api/pod.h"
#include "models/csi/modelled/modelled-driver.h"

/* A pod whose containers run, as a part of one driver. */
typedef struct {
    Cluster *cluster;
    const DriverWorkload *workload; /* borrowed */
    unsigned driver;
    const ObjectKey *key;
    ObjectUid uid;
    const char *node;
    SimEventId socket; /* its registrar makes the socket; 0: it has, or has no registrar */
} DriverPod;

static Driver *
driver_at(const Cluster *self, unsigned i)
{
    return self->drivers->pdata[i];
}

static DriverPod *
pod_at(const Cluster *self, unsigned i)
{
    return self->driver_pods->pdata[i];
}

static void
driver_pod_free(void *data)
{
    DriverPod *self = data;

    sim_cancel(self->cluster->options.sim, self->socket);
    g_free(self);
}

/* ---- What runs in pods ---- */

static gboolean
has_sidecar(const DriverWorkload *workload, const ProcessClass *class)
{
    for (unsigned i = 0; i < workload->n_sidecars; i++)
        if (workload->sidecars[i] == class)
            return TRUE;
    return FALSE;
}

/* DP-5. */
static gboolean
has_controller(const DriverWorkload *workload)
{
    return workload->has_driver && workload->n_sidecars > 0;
}

static void
set_away(const Cluster *self, unsigned driver, const char *node, gboolean is_away)
{
    CsiModelledDriver *modelled = csi_modelled_driver_cast(cluster_driver(self, driver));

    if (modelled == NULL)
        return;
    csi_modelled_driver_set_away(modelled, node, is_away);
    if (is_away)
        csi_modelled_driver_cut_calls(modelled, node);
}

/* Its instances wait for pods from now on. */
static void
mark_sidecars(Cluster *self, Driver *driver, const DriverWorkload *workload)
{
    for (unsigned i = 0; i < self->instances->len; i++) {
        Instance *instance = self->instances->pdata[i];
        if (strings_same(instance->instance, driver->name) &&
            has_sidecar(workload, instance->class))
            instance->in_pod = TRUE;
    }
    for (unsigned i = 0; i < driver->node_sidecars->len; i++) {
        NodeSidecar *sidecar = &g_array_index(driver->node_sidecars, NodeSidecar, i);
        sidecar->in_pod |= has_sidecar(workload, sidecar->class);
    }
}

void
cluster_add_driver_workload(Cluster *self, unsigned driver, const DriverWorkload *workload)
{
    Driver *entry = driver_at(self, driver);

    if (self->driver_pods == NULL)
        self->driver_pods = g_ptr_array_new_with_free_func(driver_pod_free);
    if (entry->workloads == NULL)
        entry->workloads = g_ptr_array_new();
    g_ptr_array_add(entry->workloads, (void *)workload);
    entry->plugin_in_pods |= workload->has_registrar;
    mark_sidecars(self, entry, workload);
    if (has_controller(workload))
        set_away(self, driver, NULL, TRUE);
}

void
driver_pods_add_node(Cluster *self, const char *node)
{
    for (unsigned i = 0; i < self->drivers->len; i++)
        if (driver_at(self, i)->plugin_in_pods)
            set_away(self, i, node, TRUE);
}

/* Whether another pod than @except (nullable) has this part of the driver. @node: NULL: any */
static gboolean
has_pod(const Cluster *self,
        unsigned driver,
        const char *node,
        gboolean (*has_part)(const DriverWorkload *workload),
        const DriverPod *except)
{
    for (unsigned i = 0; self->driver_pods != NULL && i < self->driver_pods->len; i++) {
        const DriverPod *pod = pod_at(self, i);
        if (pod != except && pod->driver == driver && has_part(pod->workload) &&
            (node == NULL || strings_same(pod->node, node)))
            return TRUE;
    }
    return FALSE;
}

static gboolean
has_registrar(const DriverWorkload *workload)
{
    return workload->has_registrar;
}

gboolean
driver_pods_lack_plugin(const Cluster *self, unsigned driver, const char *node)
{
    return driver_at(self, driver)->plugin_in_pods &&
           !has_pod(self, driver, node, has_registrar, NULL);
}

/* ---- Sidecars: DP-4 ---- */

/* Returns: (borrowed): an instance of the driver's sidecar that no pod has; NULL: there are as many
 * as may be */
static Instance *
free_instance(Cluster *self, const DriverPod *pod, const ProcessClass *class)
{
    const char *driver = driver_at(self, pod->driver)->name;
    const Instance *known = NULL;

    for (unsigned i = 0; i < self->instances->len; i++) {
        Instance *instance = self->instances->pdata[i];
        if (instance->class != class || !strings_same(instance->instance, driver) ||
            (instance->node != NULL && !strings_same(instance->node, pod->node)))
            continue;
        if (instance->pod == NULL)
            return instance;
        known = instance;
    }
    if (known == NULL || known->node != NULL || known->replica + 1 >= PROCESS_REPLICAS_MAX)
        return NULL;
    return cluster_add_replica(self, known);
}

static void
start_sidecars(Cluster *self, const DriverPod *pod)
{
    for (unsigned i = 0; i < pod->workload->n_sidecars; i++) {
        Instance *instance = free_instance(self, pod, pod->workload->sidecars[i]);
        if (instance == NULL)
            continue;
        instance->pod = pod->key;
        instance->pod_node = pod->node;
        if (self->running)
            instance_start_again(instance);
    }
}

/* The calls they sent go on. */
static void
end_sidecars(Cluster *self, const DriverPod *pod)
{
    for (unsigned i = 0; i < self->instances->len; i++) {
        Instance *instance = self->instances->pdata[i];
        if (instance->pod != pod->key ||
            !strings_same(instance->instance, driver_at(self, pod->driver)->name))
            continue;
        instance_kill(instance);
        instance->pod = NULL;
        instance->pod_node = NULL;
    }
}

/* ---- The plugin on a node: DP-2, DP-3 ---- */

static void
make_socket(Sim *sim, void *data)
{
    DriverPod *pod = data;

    (void)sim;
    pod->socket = 0;
    cluster_set_registrar(pod->cluster, pod->driver, pod->node, REGISTRAR_LISTENS);
}

static const SimEventType socket_event = {
    .name = "cluster/registrar makes its socket",
    .fire = make_socket,
};

/* As of other sidecars (TIM-91), unless the scenario tells it. */
static SimTime
registrar_delay(const DriverPod *pod)
{
    const ClusterOptions *options = &pod->cluster->options;
    const SimDist *given = driver_at(pod->cluster, pod->driver)->plugin.registers_after;

    return sim_dist_draw(given != NULL ? given : options->timing->sidecar_start,
                         sim_stream(options->sim, "cluster/registrar"),
                         sim_hash_combine(pod->key->hash, pod->uid.low),
                         (uint64_t)sim_now(options->sim));
}

static void
start_plugin(DriverPod *pod)
{
    Cluster *self = pod->cluster;

    set_away(self, pod->driver, pod->node, FALSE);
    if (self->running)
        pod->socket = sim_after(self->options.sim, MAX(registrar_delay(pod), 0), &socket_event, pod,
                                WAIT_STARTUP);
    else
        cluster_set_registrar(self, pod->driver, pod->node, REGISTRAR_LISTENS);
}

/* DP-3: a registrar that ends well removes the socket, even the one of the pod after it. */
static void
end_plugin(const DriverPod *pod, RegistrarState state)
{
    Cluster *self = pod->cluster;

    if (!has_pod(self, pod->driver, pod->node, has_registrar, pod))
        set_away(self, pod->driver, pod->node, TRUE);
    if (pod->socket == 0)
        cluster_set_registrar(self, pod->driver, pod->node, state);
}

/* ---- Pods come and go ---- */

static void
driver_pods_begin(Cluster *self,
                  const Object *object,
                  unsigned driver,
                  const DriverWorkload *workload)
{
    DriverPod *pod = g_new0(DriverPod, 1);

    *pod = (DriverPod){.cluster = self,
                       .workload = workload,
                       .driver = driver,
                       .key = object->key,
                       .uid = object->uid,
                       .node = POD_CONST(object)->node_name};
    g_ptr_array_add(self->driver_pods, pod);
    if (workload->has_registrar)
        start_plugin(pod);
    if (has_controller(workload))
        set_away(self, driver, NULL, FALSE);
    start_sidecars(self, pod);
}

static void
driver_pods_end(Cluster *self, unsigned i, RegistrarState state)
{
    const DriverPod *pod = pod_at(self, i);

    if (pod->workload->has_registrar)
        end_plugin(pod, state);
    end_sidecars(self, pod);
    if (has_controller(pod->workload) && !has_pod(self, pod->driver, NULL, has_controller, pod))
        set_away(self, pod->driver, NULL, TRUE);
    g_ptr_array_remove_index(self->driver_pods, i);
}

static gboolean
is_of(const DriverPod *pod, const Object *object)
{
    return pod->key == object->key && object_uid_equal(pod->uid, object->uid);
}

static gboolean
is_known(const Cluster *self, const Object *object)
{
    for (unsigned i = 0; i < self->driver_pods->len; i++)
        if (is_of(pod_at(self, i), object))
            return TRUE;
    return FALSE;
}

/* Calls @act (NULL: none) for each workload that the pod is of. Returns: whether there is one */
static gboolean
each_workload(Cluster *self,
              const Object *object,
              void (*act)(Cluster *self,
                          const Object *object,
                          unsigned driver,
                          const DriverWorkload *workload))
{
    gboolean found = FALSE;

    for (unsigned i = 0; i < self->drivers->len; i++) {
        const GPtrArray *workloads = driver_at(self, i)->workloads;
        for (unsigned k = 0; workloads != NULL && k < workloads->len; k++) {
            const DriverWorkload *workload = workloads->pdata[k];
            if (!strings_same(object->key->namespace, workload->namespace) ||
                object->labels == NULL || !string_map_contains(object->labels, workload->labels))
                continue;
            found = TRUE;
            if (act != NULL)
                act(self, object, i, workload);
        }
    }
    return found;
}

/* A kubelet that starts tells of running containers again. */
static void
pod_starts(Cluster *self, const Object *object)
{
    if (!is_known(self, object))
        each_workload(self, object, driver_pods_begin);
}

static void
pod_ends(Cluster *self, const Object *object)
{
    for (unsigned i = self->driver_pods->len; i-- > 0;)
        if (is_of(pod_at(self, i), object))
            driver_pods_end(self, i, REGISTRAR_GONE);
}

void
driver_pods_lose_power(Cluster *self, const char *node)
{
    for (unsigned i = self->driver_pods == NULL ? 0 : self->driver_pods->len; i-- > 0;)
        if (strings_same(pod_at(self, i)->node, node))
            driver_pods_end(self, i, REGISTRAR_DEAD);
}

/* DP-6. */
void
driver_pods_adopt(Cluster *self)
{
    const Objects *objects = self->options.objects;

    for (uint32_t i = 0; self->driver_pods != NULL && i < objects_n_keys(objects, KIND_POD); i++) {
        const Object *pod = api_server_get(self->api, objects_key_at(objects, KIND_POD, i));
        if (pod != NULL && POD_CONST(pod)->phase == POD_RUNNING &&
            POD_CONST(pod)->node_name != NULL)
            each_workload(self, pod, driver_pods_begin);
    }
}

/* ---- The kubelet tells ---- */

typedef struct {
    Cluster *cluster;
    const Object *pod; /* (owned) */
    gboolean runs;
} DriverPodsChange;

static void
change_free(void *data)
{
    DriverPodsChange *self = data;

    object_unref(self->pod);
    g_free(self);
}

/* Deferred: the kubelet's own code is still running. */
static void
change(Sim *sim, void *data)
{
    const DriverPodsChange *self = data;

    (void)sim;
    if (self->runs)
        pod_starts(self->cluster, self->pod);
    else
        pod_ends(self->cluster, self->pod);
    change_free(data);
}

static const SimEventType change_event = {
    .name = "cluster/a driver's pod changes",
    .fire = change,
    .free_data = change_free,
};

void
cluster_watch_pulls(Cluster *self, PullWatch pulled, void *data)
{
    self->pulled = pulled;
    self->pulled_data = data;
}

void
cluster_tell_pulled(Cluster *self, const Object *pod)
{
    if (self->pulled != NULL)
        self->pulled(self->pulled_data, pod);
}

void
cluster_tell_containers(Cluster *self, const Object *pod, gboolean run)
{
    if (self->driver_pods == NULL || (!each_workload(self, pod, NULL) && !is_known(self, pod)))
        return;
    DriverPodsChange *data = g_new(DriverPodsChange, 1);
    *data = (DriverPodsChange){self, object_ref(pod), run};
    sim_after(self->options.sim, 0, &change_event, data, WAIT_RUNTIME);
}
