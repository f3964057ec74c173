/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "model.h"

/* One run's world: engine, objects, API server, drivers, and the running instances of all models */
typedef struct {
    Sim *sim;                 /* borrowed */
    Objects *objects;         /* borrowed */
    const Timing *timing;     /* borrowed */
    StringMap *feature_gates; /* referenced: name -> "true"/"false"; NULL: all default */
    int32_t minor_version;    /* of Kubernetes 1.x; 0: RELEASE_DEFAULT_MINOR */
    gboolean unlimited_qps;   /* no client throttling anywhere */
    const ModelClass *only;   /* for tests: the only model of its process that runs; NULL: all */
} ClusterOptions;

Cluster *cluster_new(const ClusterOptions *options);
void cluster_free(Cluster *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Cluster, cluster_free)

ApiServer *cluster_api(const Cluster *self);
/* Returns: (borrowed): which Kubernetes it is, and its feature gates */
const Release *cluster_release(const Cluster *self);
gboolean cluster_has_unlimited_qps(const Cluster *self);

/* On which nodes a driver's plugin runs and when it registers. */
typedef struct {
    StringMap *node_selector; /* NULL: all nodes */
    GHashTable *absent_on; /* set of names of nodes that it does not run on, borrowed; NULL: none */
    const SimDist
        *registers_after;   /* from the start of the kubelet or plugin; NULL: registered at t = 0 */
    gboolean preregistered; /* CSINode is in the initial state already */
    gboolean in_process;  /* only Kubernetes itself calls it: it has no sidecars and no node plugin
                             (INT-2) */
    gboolean attaches;    /* ... also to attach volumes */
    const char *zone_key; /* the driver's key of zones; NULL: it has none */
    const char *removes_taint; /* key of a taint of its Nodes; NULL: none (REG-39) */
    SimTime liveness_period; /* between two probes of the driver's container; 0: it is not probed */
} NodePluginOptions;

/* The options of a process. Returns: (owned): made by process_options_new(); NULL: the process does
 * not run */
typedef void *(*GetOptions)(void *data, const ProcessClass *class);

/**
 * cluster_add_driver:
 * @driver: (borrowed), outlives the cluster
 * @plugin: copied
 * @get_options: of each sidecar; called at once
 */
void cluster_add_driver(Cluster *self,
                        CsiDriver *driver,
                        const char *name,
                        const NodePluginOptions *plugin,
                        GetOptions get_options,
                        void *data);
unsigned cluster_n_drivers(const Cluster *self);
CsiDriver *cluster_driver(const Cluster *self, unsigned i);
/* A DaemonSet, Deployment or StatefulSet whose pods are parts of a driver
 * (docs/rules/driver-pods.md).
 */
typedef struct {
    const char *kind; /* "DaemonSet" */
    const char *name; /* interned, as the next */
    const char *namespace;
    StringMap *labels;                   /* of its pods */
    gboolean has_registrar;              /* the driver's plugin on nodes */
    gboolean has_driver;                 /* a container that is no sidecar */
    const ProcessClass *const *sidecars; /* (array of n_sidecars) */
    unsigned n_sidecars;
} DriverWorkload;

/* From now on these parts of the driver run in pods only. Call it before nodes are added.
 * @workload: borrowed, outlives the cluster */
void cluster_add_driver_workload(Cluster *self, unsigned driver, const DriverWorkload *workload);
/* Returns: (borrowed): NULL: there are fewer */
const DriverWorkload *cluster_driver_workload(const Cluster *self, unsigned driver, unsigned i);
/* A kubelet has started the containers of a pod, or they have ended. */
void cluster_tell_containers(Cluster *self, const Object *pod, gboolean run);
/* A kubelet has pulled the images of a pod, and that took time; tells the watch, if there is one.
 */
void cluster_tell_pulled(Cluster *self, const Object *pod);
typedef void (*PullWatch)(void *data, const Object *pod);
void cluster_watch_pulls(Cluster *self, PullWatch pulled, void *data);
const char *cluster_driver_name(const Cluster *self, unsigned i);
/**
 * cluster_backend:
 * @source: from volume_in_process_source()
 * @attaches: (out) (nullable): whether its volumes are attached
 * Returns: (borrowed): INT-2: the driver that does the work of an in-tree plugin or a FlexVolume
 * driver: that of its name, or the CSI driver that takes the plugin over; %NULL: none
 */
CsiDriver *cluster_backend(const Cluster *self, const VolumeSource *source, gboolean *attaches);
/* FLX-45: whether a FlexVolume driver ("example.com/lvm") is installed on a node; @node NULL: where
 * kube-controller-manager runs. From the start it is everywhere. */
gboolean cluster_has_flex_driver(const Cluster *self, const char *driver, const char *node);
/* How often its files have come, changed or gone there. */
unsigned cluster_flex_driver_changes(const Cluster *self, const char *driver, const char *node);
/* @node: interned; NULL: everywhere. Tells the nodes' agents: MACHINE_FLEX_CHANGED. */
void
cluster_set_flex_driver(Cluster *self, const char *driver, const char *node, gboolean is_there);
/* INT-30: the same of a plugin by its name, as long as the control plane has it: for volumes that
 * are to be made, and to be deleted. @zone_key: (out) (nullable): interned: how the driver calls a
 * zone; NULL: it knows none. Returns: (borrowed) (nullable) */
CsiDriver *cluster_plugin_backend(Cluster *self, const char *plugin, const char **zone_key);
/* The release of a node's kubelet. */
const Release *cluster_node_release(const Cluster *self, const char *node);
/* REG-25: the in-tree plugins that the node's kubelet hands to CSI drivers. Returns: interned:
 * "kubernetes.io/aws-ebs,..."; "": none */
const char *cluster_migrated_plugins(Cluster *self, const char *node);
/* The kubelet of @node (interned) is of Kubernetes 1.@minor from its next start on. */
void cluster_set_node_release(Cluster *self, const char *node, int minor);
const NodePluginOptions *cluster_node_plugin(const Cluster *self, unsigned i);
/* Whether the driver's plugin may run on this node: its options, by the node's present labels. */
gboolean cluster_plugin_runs_on(const Cluster *self, unsigned driver, const char *node);
/* Returns: (borrowed): NULL: no such driver */
CsiDriver *cluster_find_driver(const Cluster *self, const char *name);
/* For the start of a cluster that runs already: what the driver's plugin on a node can do
 * (csi_driver_foresee_node_info()), and a call that was answered before (csi_driver_adopt()).
 * Return: FALSE: no such driver, node or volume */
gboolean cluster_foresee_node_info(const Cluster *self,
                                   const char *driver,
                                   const char *node,
                                   CsiResponse *info);
gboolean cluster_adopt_call(Cluster *self, const char *driver, const CsiRequest *request);

/* Calls of these methods (mask of 1 << CsiMethod) that sidecars make to the component's driver are
 * passed to @serve, which leads to cluster_answer_call(); @serve NULL: the component ends. Only a
 * modelled driver passes calls on. */
void cluster_serve_calls(Component *component, uint32_t methods, CsiServe serve);
/* Nothing happens if the call has ended. */
void cluster_answer_call(const Component *component, CsiCallId id, const CsiResponse *response);

/* The registrar in a driver's pod on a node: what the kubelet there finds at its socket
 * (node-plugins.c). */
typedef enum {
    REGISTRAR_LISTENS,
    REGISTRAR_HANGS, /* it listens and never answers */
    REGISTRAR_DEAD,  /* it was killed or has exited: its socket remains, nobody listens; the kubelet
                        restarts it (REG-4) */
    REGISTRAR_GONE,  /* it ended cleanly and removed its socket (REG-5) */
} RegistrarState;

typedef struct {
    RegistrarState registrar;
    unsigned socket;    /* changes when the socket is created again (REG-9) */
    gboolean in_pod;    /* it runs in a Pod of the cluster (DP-2) */
    gboolean lacks_pod; /* ... which is not there: only a new Pod brings it back */
} NodePluginPod;

NodePluginPod cluster_plugin_pod(const Cluster *self, unsigned driver, const char *node);
/* Changes the state from now on. A registrar that listens has created a new socket. The node gets
 * MACHINE_PLUGIN_CHANGED. */
void cluster_set_registrar(Cluster *self, unsigned driver, const char *node, RegistrarState state);
/* Kills the driver's container on a node; it is back after @delay. The registrar does not notice */
void cluster_restart_plugin(Cluster *self, unsigned driver, const char *node, SimTime delay);
/* @driver: (out): its number. Returns: FALSE: no such driver */
gboolean cluster_find_driver_number(const Cluster *self, const char *name, unsigned *driver);

/* Adds a machine with a kubelet, whose Node object is stored already. It starts with the cluster,
 * or at once if the cluster runs. */
void cluster_add_node(Cluster *self, const char *name, GetOptions get_options, void *data);

/* Starts all processes: the nodes', then the cluster's, then the drivers'. Call it at t = 0, after
 * the initial state is imported. */
void cluster_start(Cluster *self, GetOptions get_options, void *data);

/* Kills a process: its memory, plans and watches are gone; the requests and calls it sent go on.
 * @instance: driver or node name, NULL for PER_CLUSTER. Returns: FALSE if there is no such process
 */
gboolean cluster_crash(Cluster *self, const char *process, const char *instance);
/* Starts it again: it works after its start-up time. */
gboolean cluster_restart(Cluster *self, const char *process, const char *instance);

/* ---- Other faults (faults.c). Each returns FALSE if there is no such process or node. ---- */

/* The process hangs: it sends nothing, and events for it wait until it wakes. */
gboolean cluster_hang(Cluster *self, const char *process, const char *instance);
gboolean cluster_wake(Cluster *self, const char *process, const char *instance);
/* Multiplies the process's own time before each request by @factor; 1 restores it. */
gboolean cluster_slow(Cluster *self, const char *process, const char *instance, double factor);
/* The leader loses its Lease, exits and restarts (CGO-62); the next leader waits until the Lease
 * expires. Returns: FALSE: the process does not lead */
gboolean cluster_lose_leadership(Cluster *self, const char *process, const char *instance);

/* Takes the API server down, or brings it back: see api_server_set_down(). A
 * kube-controller-manager or kube-scheduler that cannot renew its Lease for 10 s exits (CGO-62),
 * even a single replica, and restarts after the server is back. Kubelets renew their leases as soon
 * as it is back. */
void cluster_set_api_down(Cluster *self, gboolean is_down);

/* Cuts the power of a machine: its processes, containers and mounts are gone; volumes stay
 * attached. */
gboolean cluster_power_off(Cluster *self, const char *node);
gboolean cluster_power_on(Cluster *self, const char *node);
/* Shuts a machine down: the kubelet first stops its pods if a grace period is configured (NL-90),
 * then the power goes. */
gboolean cluster_shut_down(Cluster *self, const char *node);
/* Called by a kubelet that has finished its part of the shutdown. */
void cluster_machine_may_stop(Cluster *self, const char *node);
/* The machine runs short of a resource (@what is below N_NODE_PRESSURES), or no longer; its kubelet
 * notices at its next look. */
void cluster_set_pressure(Cluster *self, const char *node, NodeTrouble what, gboolean is_short);
/* Returns: a mask of 1 << NodeTrouble: the resources that the machine lacks */
unsigned cluster_pressures(const Cluster *self, const char *node);
/* Cuts the machine off: it runs on, but nothing on it reaches the API server. */
gboolean cluster_cut_off(Cluster *self, const char *node);
gboolean cluster_reconnect(Cluster *self, const char *node);

/* The component's process exits after this event, and restarts. */
void cluster_exit(Cluster *self, const Component *component);

/* Returns: (borrowed): the leading replica's name ("<instance>#1" for the second); NULL: no leader,
 * or no election */
const char *cluster_leader(const Cluster *self, const char *process, const char *instance);

/* Whether the process exists, dead or alive; whether any replica runs; whether one could lead, but
 * none does. */
gboolean cluster_has_process(const Cluster *self, const char *process, const char *instance);
gboolean cluster_is_running(const Cluster *self, const char *process, const char *instance);
gboolean cluster_awaits_leader(const Cluster *self, const char *process, const char *instance);

/* Returns: (borrowed): a running model, for tests; NULL: it does not run */
void *cluster_model(const Cluster *self, const ModelClass *class, const char *instance);

/* Kubelets renew their leases every 10 s (NL-2). Only the node controller reads them, so these
 * writes are not simulated. Returns: the last renewal; now, while the kubelet lives */
SimTime cluster_last_renewal(const Cluster *self, const char *node);
/* Called when a kubelet has died and when one has started. */
typedef void (*KubeletWatch)(void *data, const char *node);
void cluster_watch_kubelets(Cluster *self, KubeletWatch changed, void *data);
void cluster_unwatch_kubelets(Cluster *self, const void *data);
/* Calls @observer for each step of every plan from now on; NULL: stops. */
void cluster_observe_plans(Cluster *self, PlanObserver observer, void *data);
