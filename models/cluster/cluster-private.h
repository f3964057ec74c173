/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "cluster.h"
#include "models/plan/plan.h"

/* Within the cluster: cluster.c starts and ends processes, cluster-faults.c troubles them. */

typedef struct Instance Instance;

/* A process that runs, or did before it crashed. */
struct Instance {
    Cluster *cluster;
    const ProcessClass *class;
    const char *instance; /* driver or node; NULL: of the cluster */
    const char *node;     /* of a sidecar that runs on nodes; NULL: none */
    const char *name; /* ... and which of several replicas: "csi.example.com#1" for the second; "":
                         no instance */
    unsigned replica;
    unsigned number; /* among those of its scope, for the order of tickers */
    void *options;   /* (owned) */
    CsiDriver *driver;
    Process *process;       /* NULL: not running */
    LeaderElector *elector; /* of the whole process; NULL: none, or its sidecar has it */
    GPtrArray *models;      /* of Component */
    gboolean has_lived;     /* it was started before */
    void *disk;             /* (owned): Component.disk */
    void (*free_disk)(void *disk);
    const Object
        *machine;      /* (owned): of a kubelet: its Node as it joined; NULL: it was not there */
    gboolean rebooted; /* its machine was off since it last ran */
    /* Of a kubelet: no lease is renewed from then on, until again one is; TIME_UNSET: renewed all
     * the time; SIM_TIME_MAX: not yet. */
    SimTime silent_since, silent_until;
    gboolean is_off;        /* its machine is */
    unsigned pressures;     /* a mask of 1 << NodeTrouble: what its machine runs short of */
    gboolean waits_for_api; /* it is to start when the server is there again */
};

/* Somebody who minds which kubelets live. */
typedef struct {
    KubeletWatch changed;
    void *data;
} KubeletWatcher;

/* A sidecar that runs beside the driver's plugin on its nodes. */
typedef struct {
    const ProcessClass *class;
    void *options; /* (owned): each gets a copy */
} NodeSidecar;

typedef struct {
    CsiDriver *driver;
    const char *name;
    NodePluginOptions plugin;
    GArray *node_sidecars; /* of NodeSidecar */
} Driver;

struct Cluster {
    ClusterOptions options;
    Release release;
    ApiServer *api;
    GPtrArray *drivers;   /* of Driver */
    GPtrArray *instances; /* of Instance, in the order added */
    GHashTable *by_name;  /* process name -> Instance */
    unsigned n_nodes;
    GArray *kubelet_watchers; /* of KubeletWatcher */
    GHashTable *plugin_pods;  /* "driver/node" -> NodePluginPod (owned), of those that had troubles;
                                 NULL: none */
    gboolean running;
    SimTime api_down_since; /* the last time */
    PlanRuns plan_runs;
};

/* Returns: (borrowed): NULL: there is none */
Instance *cluster_instance(const Cluster *self, const char *process, const char *instance);
/* Returns: (borrowed): the process that renews the lease of @node; NULL: there is none */
Instance *cluster_node_agent(const Cluster *self, const char *node);
/* Tells the models of that process what has happened to its machine. Returns: whether one listens
 */
gboolean instance_tell_machine_event(const Instance *self, const MachineEvent *event);
void instance_start(Instance *self); /* fine if it runs */
void instance_stop(Instance *self);
void instance_kill(Instance *self); /* the same, and nobody hears of it any more */
/* It is running again after its start-up time. */
void instance_start_again(Instance *self);
void instance_exit(Instance *self);
gboolean instance_elects(const Instance *self);
/* No lease is renewed from now on, as if the last was a while ago. */
void instance_fall_silent(Instance *self);
/* It is again, from @delay from now on, if nothing else keeps it from that. */
void instance_speak_again(Instance *self, SimTime delay);
void instance_tell_kubelet_watchers(const Instance *self);
