/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "cluster.h"
#include "models/plan/plan.h"

/* Inside models/cluster: cluster.c starts and stops processes, faults.c disturbs them. */

typedef struct Instance Instance;

/* A process: running, or crashed. */
struct Instance {
    Cluster *cluster;
    const ProcessClass *class;
    const char *instance; /* driver or node; NULL: one per cluster */
    const char *node;     /* node of a sidecar that runs beside the node plugin; NULL: none */
    gboolean in_pod;      /* it runs while a Pod has it */
    const ObjectKey *pod; /* the Pod that has it now; NULL: none */
    const char *pod_node; /* ... and that Pod's node */
    const char *name; /* the instance and its replica: "csi.example.com#1" for the second; "": no
                         instance */
    unsigned replica;
    unsigned number; /* within its scope: orders the tickers */
    void *options;   /* (owned) */
    CsiDriver *driver;
    Process *process;       /* NULL: not running */
    LeaderElector *elector; /* of the whole process; NULL: no election, or the Sidecar holds it */
    GPtrArray *models;      /* of Component */
    gboolean has_lived;     /* it was started at least once */
    void *disk;             /* (owned): Component.disk */
    void (*free_disk)(void *disk);
    const Object *machine; /* (owned): a kubelet's Node as it joined; NULL: there was no Node */
    gboolean rebooted;     /* its machine was powered off since the process last ran */
    /* A kubelet does not renew its lease between these instants. silent_since is TIME_UNSET if it
     * has always renewed; silent_until is SIM_TIME_MAX while it is silent. */
    SimTime silent_since, silent_until;
    gboolean is_off;        /* its machine is powered off */
    unsigned pressures;     /* a mask of 1 << NodeTrouble: the resources that its machine lacks */
    gboolean waits_for_api; /* it starts when the API server is back */
};

/* A listener to kubelets that die and start. */
typedef struct {
    KubeletWatch changed;
    void *data;
} KubeletWatcher;

/* A sidecar that runs beside the driver's plugin on its nodes. */
typedef struct {
    const ProcessClass *class;
    void *options;   /* (owned): each gets a copy */
    gboolean in_pod; /* Instance.in_pod */
} NodeSidecar;

typedef struct {
    CsiDriver *driver;
    const char *name;
    NodePluginOptions plugin;
    GArray *node_sidecars;   /* of NodeSidecar */
    GPtrArray *workloads;    /* of DriverWorkload (borrowed); NULL: none */
    gboolean plugin_in_pods; /* a workload has the registrar */
} Driver;

struct Cluster {
    ClusterOptions options;
    Release release;
    const char *migrated_plugins; /* of that release; NULL: not asked for yet */
    GHashTable *flex_files;       /* driver and machine -> FlexFiles; NULL: nothing was touched */
    GHashTable *node_releases; /* interned name -> Release; NULL: all nodes are of that release */
    ApiServer *api;
    GPtrArray *drivers;   /* of Driver */
    GPtrArray *instances; /* of Instance, in the order added */
    GHashTable *by_name;  /* process name -> Instance */
    unsigned n_nodes;
    GArray *kubelet_watchers; /* of KubeletWatcher */
    GHashTable *plugin_pods; /* "driver/node" -> NodePluginPod (owned): plugin pods that a fault has
                                touched; NULL: none */
    GPtrArray *driver_pods;  /* of DriverPod (owned): running pods of drivers; NULL: no driver runs
                                in pods */
    PullWatch pulled;        /* NULL: nobody watches */
    void *pulled_data;
    gboolean running;
    SimTime api_down_since; /* start of the latest outage */
    PlanRuns plan_runs;
};

/* Returns: (borrowed): NULL: there is none */
Instance *cluster_instance(const Cluster *self, const char *process, const char *instance);
/* Returns: (borrowed): the process that renews the lease of @node; NULL: there is none */
Instance *cluster_node_agent(const Cluster *self, const char *node);
/* Tells the models of that process what has happened to its machine. Returns: one listens */
gboolean instance_tell_machine_event(const Instance *self, const MachineEvent *event);
void instance_kill(Instance *self); /* the same, without telling any listener */
/* Starts it after its start-up time. */
void instance_start_again(Instance *self);
void instance_exit(Instance *self);
gboolean instance_elects(const Instance *self);
/* Whether it, or its component that elects, holds the Lease. */
gboolean instance_leads(const Instance *self);
/* Adds one more replica of a sidecar, with the same options. It waits for a pod. */
Instance *cluster_add_replica(Cluster *self, const Instance *of);
/* Lease renewals stop now; the last one happened up to a renewal period ago. */
void instance_fall_silent(Instance *self);
/* Lease renewals resume after @delay, unless another fault still prevents them. */
void instance_speak_again(Instance *self, SimTime delay);

/* ---- driver-pods.c ---- */

/* A new node has no pod of any driver. */
void driver_pods_add_node(Cluster *self, const char *node);
/* Pods that run before the cluster starts. */
void driver_pods_adopt(Cluster *self);
/* All pods of the node are dead. */
void driver_pods_lose_power(Cluster *self, const char *node);
/* Whether the driver's plugin needs a pod on the node, and has none. */
gboolean driver_pods_lack_plugin(const Cluster *self, unsigned driver, const char *node);
