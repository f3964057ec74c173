/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "models/cluster/cluster.h"
#include "models/csi/modelled/modelled-driver.h"
#include "run/files/file-fault.h"

/* A scenario as its file gives it, wholly checked: what a run needs, in the run's own units.
 * Manifests stay JSON here, because each run parses them into its own objects. Nothing in it
 * changes once it is loaded; many runs may share one. All that it leads to is the scenario's own:
 * strings, distributions, maps (runs intern strings and make maps of their own: references to those
 * are not counted atomically). */
typedef struct Scenario Scenario;

#define LABEL_HOSTNAME "kubernetes.io/hostname"
#define LABEL_ZONE "topology.kubernetes.io/zone"

/* spec.nodes[]: nodes made by the scenario. Node i (from 0 over all groups' counts) is named by the
 * pattern. */
typedef struct {
    unsigned count;
    char *name;     /* with one "%d", or none if count is 1 */
    unsigned first; /* the number that the first one's "%d" takes; default 0 */
    char **zones;   /* NULL-terminated; round robin; label topology.kubernetes.io/zone */
    json_t *labels; /* object of strings; NULL: none */
    json_t *annotations;
    json_t *taints;      /* as in a Node; NULL: none */
    json_t *allocatable; /* as in a Node; NULL: cpu 8, memory 32Gi, pods 110 */
    GHashTable
        *kubelet; /* flag -> text; NULL: all default; looked up by the names in the flag table */
    struct {
        unsigned max;          /* nodes of the group at most; 0: none are added */
        SimTime scan_interval; /* between two looks at pods that are nowhere */
        SimDist *delay;        /* from the decision to the Node; NULL: none */
        gboolean knows_limits; /* attach limits of nodes that are yet to come; else it takes them
                                  for unlimited */
    } autoscaler;
} ScenarioNodes;

typedef struct {
    char *name;
    json_t *manifest; /* of its CSIDriver, as made from the fields if the manifests have none;
                         (owned) */
    CsiModelledOptions model; /* name, latencies, errors, limits, topology keys, ... complete */
    int attach_limit;         /* maxVolumesPerNode that NodeGetInfo tells; 0: none */
    char *topology_key;       /* nodes' zones are its topology under this key, e.g.
                                 "topology.<driver>/zone"; NULL: it has none */
    NodePluginOptions node_plugin;
    json_t *node_selector;  /* of the node plugin; NULL: all nodes */
    GHashTable *sidecars;   /* process name -> GHashTable of flag -> text */
    char **absent_sidecars; /* NULL-terminated: processes that do not run: e.g. external-attacher of
                               a driver without attach */
} ScenarioDriver;

typedef enum {
    ACTION_CREATE,
    ACTION_DELETE,
    ACTION_PATCH,  /* a merge patch of an object */
    ACTION_DRAIN,  /* a node's pods are evicted */
    ACTION_TAINT,  /* a node's taints come and go; this and the next two are of nodes */
    ACTION_CORDON, /* no new pods for it */
    ACTION_UNCORDON,
    ACTION_SCALE,      /* the replicas of a StatefulSet, Deployment or ReplicaSet */
    ACTION_SET_DRIVER, /* new latencies, errors, limits of a driver */
    ACTION_FAULT,      /* something breaks, and is repaired after a while or never */
} ActionType;

typedef enum {
    FAULT_OF_NODE,
    FAULT_OF_PROCESS,
    FAULT_OF_API,
    FAULT_OF_DRIVER,
} FaultTarget;

typedef enum {
    FAULT_CRASH, /* of a process; the next three likewise */
    FAULT_HANG,
    FAULT_SLOW,
    FAULT_LOSE_LEADERSHIP,
    FAULT_POWER_OFF, /* of a node; the next seven likewise */
    FAULT_SHUT_DOWN,
    FAULT_STOP_KUBELET,
    FAULT_CUT_NETWORK,
    FAULT_MEMORY_PRESSURE,
    FAULT_DISK_PRESSURE,
    FAULT_PID_PRESSURE,
    FAULT_NETWORK_UNAVAILABLE,
    FAULT_API_OUTAGE, /* of the API server; the next three likewise */
    FAULT_API_SLOW,
    FAULT_DROP_WATCHES,
    FAULT_LIMIT_SEATS,
    FAULT_DRIVER_HANG, /* of a driver, and the rest likewise */
    FAULT_DRIVER_SLOW,
    FAULT_DRIVER_AWAY,
    FAULT_REPLACE_PLUGIN, /* of its pod on a node; the next likewise */
    FAULT_KILL_REGISTRAR,
    FAULT_LOSE_VOLUMES,
    FAULT_KEEP_VOLUMES,
} FaultType;

#define REPLICA_LEADER UINT32_MAX

/* A taint that is put on a node, or taken off it. */
typedef struct {
    char *key, *value; /* value: "" for none */
    int effect;        /* a TaintEffect; -1: every one, of what goes */
    gboolean goes;
} ScenarioTaint;

/* One thing done by the outside world at a time. Generators (count, interarrival) are laid out by
 * the run, not here. */
typedef struct {
    ActionType type;
    SimTime at;
    unsigned line;
    const char *file;
    /* CREATE: these objects, one after the other, @count times. If count is given the copies are
     * numbered: of a manifest named "web", copy 3 is "web-3", and references between objects of one
     * action follow. */
    const json_t *const *manifests; /* (array of n_manifests): one Kubernetes object each */
    unsigned n_manifests;
    unsigned count;
    gboolean numbered;     /* count was given */
    SimDist *interarrival; /* NULL: all at once */
    SimDist *lifetime;     /* of each copy; NULL: for ever */
    double *daily; /* (array of 24): how many times as fast they arrive in each hour of the day;
                      NULL: evenly */
    SimTime lasts_arriving; /* no copy arrives later than so long after @at; negative: all do */
    unsigned keep;          /* the oldest goes when there are more; 0: all stay */
    /* DELETE, PATCH, SCALE */
    ObjectKind kind;
    char *namespace, *name; /* name may be a glob pattern ("web-*") for DELETE, and of the claims
                               whose volumes are lost */
    int32_t grace_s;        /* -1: the object's */
    char *volume_of_claim;  /* DELETE of a PersistentVolume: that of this claim of @namespace; NULL:
                               @name */
    struct {
        gboolean ignore_daemon_sets, delete_empty_dir, force;
        SimTime timeout; /* 0: none */
    } drain;             /* DRAIN, of the node @name or @node_of_pod */
    struct {
        ScenarioTaint *items; /* (array of n) */
        unsigned n;
        gboolean overwrite; /* a taint of the same key and effect; else that is refused */
    } taints; /* TAINT, of the nodes @name (may be a glob pattern) or @node_of_pod, as CORDON and
                 UNCORDON */
    char *node_of_pod; /* PATCH of a Node, DRAIN, TAINT, ...: that of this pod (may be a glob
                          pattern); NULL: @name */
    json_t *patch;
    int32_t replicas;
    /* SET_DRIVER, FAULT */
    char *driver;
    CsiModelledOptions *driver_options;
    char *process, *instance;
    FaultType fault;
    unsigned replica; /* of a process: which; REPLICA_LEADER: the one that leads, or the first */
    char *zone;       /* of nodes: all of this zone; NULL: @instance */
    char *pod_of_instance; /* the instance is the node of this pod (may be a glob pattern); NULL:
                              @instance */
    SimTime lasts;         /* until it is repaired; -1: never */
    double factor;         /* how many times slower */
    unsigned seats;        /* of the API server */
} ScenarioAction;

typedef struct {
    char *stage;     /* "pod-start" */
    double quantile; /* 0..1 */
    SimTime below;
} ScenarioSlo;

/* expect: at a time, the number of objects that meet conditions. */
typedef struct {
    SimTime at;      /* SIM_TIME_MAX: at the end */
    ObjectKind kind; /* of pods, claims, volumes, attachments, nodes */
    char *phase;     /* NULL: any */
    char *reason;    /* part of a pod's PodScheduled message, or a status reason; NULL: any */
    char *name;      /* glob; NULL: any */
    char *on_node, *in_zone; /* of pods, the node also of attachments; NULL: any */
    int ready;               /* of pods: 1 ready, 0 not ready, -1 any; of attachments: attached */
    char *resize_status;     /* of claims; NULL: any, "none": not set */
    int64_t capacity_bytes;  /* of claims (status) and volumes; -1: any */
    int64_t count_min, count_max;
    char *driver; /* volumes in the driver's back end instead of objects; NULL: objects */
    char *text;   /* as the file says it, for messages */
} ScenarioExpect;

struct Scenario {
    char *file; /* as given */
    char *name, *description;
    char hash[65]; /* SHA-256 of all that was read, with the --set changes: hex */
    uint64_t seed;
    SimTime until;       /* SIM_TIME_MAX with until_idle */
    gboolean until_idle; /* no object but Events changed for @idle_for */
    SimTime idle_for;    /* 10 min */
    int32_t minor_version;
    json_t *feature_gates;  /* object of booleans; NULL: none */
    gboolean unlimited_qps; /* spec.kubernetes.unlimitedQPS: no client throttling */
    Timing timing;          /* from the profile */
    ScenarioNodes *nodes;
    unsigned n_nodes;
    ScenarioDriver *drivers;
    unsigned n_drivers;
    GHashTable *components;         /* process name -> GHashTable of flag -> text */
    const json_t *const *manifests; /* (array of n_manifests): the initial state, in order */
    unsigned n_manifests;
    ScenarioAction *actions; /* in the file's order */
    unsigned n_actions;
    ScenarioSlo *slos;
    unsigned n_slos;
    ScenarioExpect *expects;
    unsigned n_expects;
    gboolean
        has_snapshots;  /* an object of snapshot.storage.k8s.io is in it: who works on them runs */
    GPtrArray *ignored; /* of char *: "Service/web (scenario.yaml:12)": kinds that no model knows */
};

typedef struct {
    const char *data_dir; /* where models/profiles/ is; for profile: names */
    const char *const
        *set; /* NULL-terminated "path=value" changes, applied before checking; NULL: none */
    const char *overlay; /* a file whose manifests take the place of those of the same kind and
                            name, or are added; NULL: none */
    gboolean by_hand;    /* what its actions name may exist in a run only: that is not checked */
} ScenarioOptions;

/**
 * scenario_load:
 * @faults: (out): of FileFault, all there are, in the order of the file; empty on success
 * Returns: (owned): %NULL if there are faults
 */
Scenario *scenario_load(const char *file, const ScenarioOptions *options, GPtrArray **faults);
/* The same of a file that nobody will run; a file of manifests alone is checked too, object by
 * object. Returns: (owned): what was read, sound or not: only to give it back, which takes time if
 * it is large */
Scenario *scenario_check(const char *file, const ScenarioOptions *options, GPtrArray **faults);
/* A Node of the group as a manifest. @zone: NULL: none. (owned) */
json_t *scenario_node_manifest(const ScenarioNodes *group, const char *name, const char *zone);
void scenario_free(Scenario *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Scenario, scenario_free)
/* The JSON Schema of scenario files. (owned) */
json_t *scenario_schema(void);
/* The fields of spec as tables in Markdown: what docs/scenario-format.md has. (owned) */
char *scenario_reference(void);
