/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "model.h"

/* One run's world: engine, objects, API server, drivers, and the running instances of all models.
 */
typedef struct {
    Sim *sim;                 /* borrowed */
    Objects *objects;         /* borrowed */
    const Timing *timing;     /* borrowed */
    StringMap *feature_gates; /* name -> "true"/"false"; NULL: all default */
    int32_t minor_version;    /* of Kubernetes 1.x; 0: RELEASE_DEFAULT_MINOR */
    gboolean unlimited_qps;   /* no client throttling anywhere */
    const ModelClass *only;   /* for tests: of its process just this model runs; NULL: all */
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
    const SimDist
        *registers_after;   /* from the start of the kubelet or plugin; NULL: registered at t = 0 */
    gboolean preregistered; /* CSINode is in the initial state already */
    SimTime liveness_period; /* between two probes of the driver's container; 0: it is not probed */
} NodePluginOptions;

/* What a process is started with. Returns: (owned): from process_options_new(); NULL: it does not
 * run */
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
const char *cluster_driver_name(const Cluster *self, unsigned i);
const NodePluginOptions *cluster_node_plugin(const Cluster *self, unsigned i);
/* Whether the node selector of the driver's DaemonSet takes this node, as it is stored now. */
gboolean cluster_plugin_runs_on(const Cluster *self, unsigned driver, const char *node);
/* Returns: (borrowed): NULL: no such driver */
CsiDriver *cluster_find_driver(const Cluster *self, const char *name);

/* The registrar in a driver's pod on a node: what the kubelet there finds at its socket
 * (node-plugins.c). */
typedef enum {
    REGISTRAR_LISTENS,
    REGISTRAR_HANGS, /* it listens, and never answers */
    REGISTRAR_DEAD,  /* killed, or it has exited: the socket is there, nobody listens; the kubelet
                        starts it again (REG-4) */
    REGISTRAR_GONE,  /* ended well: no socket (REG-5) */
} RegistrarState;

typedef struct {
    RegistrarState registrar;
    unsigned socket; /* another number: the socket was made anew (REG-9) */
} NodePluginPod;

NodePluginPod cluster_plugin_pod(const Cluster *self, unsigned driver, const char *node);
/* From now on; to listen it makes its socket anew. The node hears of it: MACHINE_PLUGIN_CHANGED. */
void cluster_set_registrar(Cluster *self, unsigned driver, const char *node, RegistrarState state);
/* The driver's container on a node is killed, and back after @delay; its registrar does not notice.
 */
void cluster_restart_plugin(Cluster *self, unsigned driver, const char *node, SimTime delay);
/* @driver: (out): its number. Returns: FALSE: no such driver */
gboolean cluster_find_driver_number(const Cluster *self, const char *name, unsigned *driver);

/* A machine with a kubelet; its Node object is in the API already. @get_options: as above. Started
 * with the cluster, or at once if that runs already. */
void cluster_add_node(Cluster *self, const char *name, GetOptions get_options, void *data);

/* Starts the nodes' processes, the cluster's own and then the drivers': at t = 0, after the initial
 * state is imported. */
void cluster_start(Cluster *self, GetOptions get_options, void *data);

/* A process dies: its memory, plans and watches are gone; requests and calls it sent go on.
 * @instance: driver or node name, NULL for PER_CLUSTER. Returns: FALSE if there is none of that
 * name */
gboolean cluster_crash(Cluster *self, const char *process, const char *instance);
/* ... and is started again: working after the process's start-up time. */
gboolean cluster_restart(Cluster *self, const char *process, const char *instance);

/* ---- Other troubles (cluster-faults.c). Each returns FALSE if there is nobody of that name. ----
 */

/* It hangs: nothing leaves it, what comes waits; then it goes on. */
gboolean cluster_hang(Cluster *self, const char *process, const char *instance);
gboolean cluster_wake(Cluster *self, const char *process, const char *instance);
/* Its own time before each request is @factor times as long; 1: as ever. */
gboolean cluster_slow(Cluster *self, const char *process, const char *instance, double factor);
/* It leads no more, so it exits and is started again (CGO-62); who leads next has to wait for the
 * Lease. FALSE: it does not lead */
gboolean cluster_lose_leadership(Cluster *self, const char *process, const char *instance);

/* The API server is away, or there again; see api_server_set_down(). A kube-controller-manager or
 * kube-scheduler that cannot renew its Lease for 10 s ends (CGO-62), also a lone one, and works
 * again after the server does; kubelets renew theirs. */
void cluster_set_api_down(Cluster *self, gboolean is_down);

/* The power of a machine: all its processes, containers and mounts are gone. Volumes stay attached.
 */
gboolean cluster_power_off(Cluster *self, const char *node);
gboolean cluster_power_on(Cluster *self, const char *node);
/* The kubelet ends its pods first, if it is told to take the time for that (NL-90), then the power
 * goes. */
gboolean cluster_shut_down(Cluster *self, const char *node);
/* For a kubelet: it has done what it could. */
void cluster_machine_may_stop(Cluster *self, const char *node);
/* Its machine runs short of something (below N_NODE_PRESSURES), or no more; its kubelet looks now
 * and then. */
void cluster_set_pressure(Cluster *self, const char *node, NodeTrouble what, gboolean is_short);
/* Returns: a mask of 1 << NodeTrouble: what the machine runs short of */
unsigned cluster_pressures(const Cluster *self, const char *node);
/* Nothing on the machine reaches the API server, though all of it runs on. */
gboolean cluster_cut_off(Cluster *self, const char *node);
gboolean cluster_reconnect(Cluster *self, const char *node);

/* The component's own process ends after this event, and is started again. */
void cluster_exit(Cluster *self, const Component *component);

/* Of several replicas the second is "<instance>#1", and so on. Returns: (borrowed): the name of the
 * one that leads; NULL: none does, or they do not elect */
const char *cluster_leader(const Cluster *self, const char *process, const char *instance);

/* Returns: (borrowed): a running model, for tests; NULL: it does not run */
void *cluster_model(const Cluster *self, const ModelClass *class, const char *instance);

/* Kubelets renew their leases every 10 s (NL-2); nobody minds but the node controller, so this is
 * not written. When it was done last: now, while the kubelet lives. */
SimTime cluster_last_renewal(const Cluster *self, const char *node);
/* Told when a kubelet has died, and when one has started. */
typedef void (*KubeletWatch)(void *data, const char *node);
void cluster_watch_kubelets(Cluster *self, KubeletWatch changed, void *data);
void cluster_unwatch_kubelets(Cluster *self, const void *data);
/* From now on @observer is called for each step of every plan; NULL: nobody. */
void cluster_observe_plans(Cluster *self, PlanObserver observer, void *data);
