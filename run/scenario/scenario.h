/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "models/cluster/cluster.h"
#include "models/csi/modelled/modelled-driver.h"
#include "run/files/file-fault.h"

/* A scenario, fully checked, in the units of a run. Manifests stay JSON here, because each run
 * parses them into its own objects. A loaded scenario never changes, and many runs may share it. It
 * owns all its strings, distributions and maps; runs intern strings and make maps of their own,
 * because reference counts are not atomic. */
typedef struct Scenario Scenario;

/* Releases of Kubernetes 1.x that spec.kubernetes.version takes: those whose changes the rule books
 * know */
#define SCENARIO_MINOR_MIN 18
#define SCENARIO_MINOR_MAX 36
#define SCENARIO_VERSIONS                                                                          \
    "1." G_STRINGIFY(SCENARIO_MINOR_MIN) " to 1." G_STRINGIFY(                                     \
        SCENARIO_MINOR_MAX) ", such as \"1.32\""

/* "1.32", "v1.32.4". @minor: (out). Returns: %FALSE: none, or one that is not modelled */
gboolean scenario_parse_version(const char *version, int32_t *minor);

#define LABEL_HOSTNAME "kubernetes.io/hostname"
#define LABEL_OS "kubernetes.io/os"
#define LABEL_ARCH "kubernetes.io/arch"
#define LABEL_ZONE "topology.kubernetes.io/zone"
#define LABEL_REGION "topology.kubernetes.io/region"

/* What an autoscaler knows of the attach limits of future nodes. */
typedef enum {
    LIMITS_UNLIMITED,
    LIMITS_KNOWN,
    LIMITS_CSI_NODE, /* of the CSINode of a node of the group (KEP-5030) */
} ScenarioLimits;

/* spec.nodes[]: a group of nodes. Node i (counted over all groups) is named by the pattern. */
typedef struct {
    unsigned count;
    char *name;     /* with one "%d", or none if count is 1 */
    unsigned first; /* the number that the first one's "%d" takes; default 0 */
    char **zones;   /* NULL-terminated; round robin; label topology.kubernetes.io/zone */
    json_t *labels; /* object of strings; NULL: none */
    json_t *annotations;
    json_t *taints;      /* as in a Node; NULL: none */
    json_t *allocatable; /* as in a Node; NULL: cpu 8, memory 32Gi, pods 110 */
    int kubelet_minor;   /* release of the kubelets; 0: the cluster's */
    GHashTable
        *kubelet; /* flag -> text; NULL: all default; looked up by the names in the flag table */
    struct {
        unsigned max;          /* nodes of the group at most; 0: none are added */
        SimTime scan_interval; /* between two checks for unschedulable pods */
        SimDist *delay;        /* from the decision to the Node; NULL: none */
        int limits;            /* a ScenarioLimits */
    } autoscaler;
} ScenarioNodes;

/* A key of a driver's topology. The value on a node is the node's label of that key; a node without
 * it has the value of the label @label. */
typedef struct {
    char *key;
    char *label; /* TOPOLOGY_NODE_NAME: the node's name; NULL: no other label */
} ScenarioTopologyKey;
#define TOPOLOGY_NODE_NAME "metadata.name"

/* What a CSINode of the manifests says about a driver. */
typedef struct {
    char *node_id; /* NULL: the driver is not on this node */
    char **keys;   /* topologyKeys, NULL-terminated; NULL: none */
    int limit;     /* allocatable.count; -1: none */
} ScenarioNodeInfo;

/* A workload of the manifests that runs a driver: see DriverWorkload. */
typedef struct {
    const char *kind, *name, *namespace;
    const json_t *labels; /* of its pods */
    gboolean has_registrar, has_driver;
    const ProcessClass **sidecars;
    unsigned n_sidecars;
    unsigned manifest; /* only while the scenario is loaded */
} ScenarioWorkload;

typedef struct {
    char *name;
    json_t *manifest; /* of its CSIDriver, made from the fields if no manifest has it; (owned) */
    CsiModelledOptions model; /* name, latencies, errors, limits, topology keys, ... complete */
    int attach_limit;         /* maxVolumesPerNode of NodeGetInfo; 0: none */
    ScenarioTopologyKey
        *topology; /* (array of n_topology): none: every node reaches every volume */
    unsigned n_topology;
    GHashTable *node_infos; /* node -> ScenarioNodeInfo, of CSINodes in the manifests; NULL: these
                               do not know the driver */
    GHashTable *absent_on;  /* set of names of nodes; NULL: it may run on all */
    /* the scenario itself gives topology, attachLimit: stronger than the CSINodes */
    gboolean says_topology, says_limit;
    NodePluginOptions node_plugin;
    json_t *node_selector;       /* of the node plugin; NULL: all nodes */
    GHashTable *sidecars;        /* process name -> GHashTable of flag -> text */
    ScenarioWorkload *workloads; /* (array of n_workloads) */
    unsigned n_workloads;
    char **absent_sidecars; /* NULL-terminated: processes that do not run, e.g. external-attacher if
                               the driver has no attach */
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
    ACTION_EVICT,      /* one request for the eviction of one pod */
    ACTION_EXPAND,     /* claims grow whenever they are full enough, from now on */
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
    FAULT_CRASH, /* faults of a process, up to FAULT_LOSE_LEADERSHIP */
    FAULT_HANG,
    FAULT_SLOW,
    FAULT_LOSE_LEADERSHIP,
    FAULT_POWER_OFF, /* faults of a node, up to FAULT_NETWORK_UNAVAILABLE */
    FAULT_SHUT_DOWN,
    FAULT_STOP_KUBELET,
    FAULT_CUT_NETWORK,
    FAULT_MEMORY_PRESSURE,
    FAULT_DISK_PRESSURE,
    FAULT_PID_PRESSURE,
    FAULT_NETWORK_UNAVAILABLE,
    FAULT_API_OUTAGE, /* faults of the API server, up to FAULT_LIMIT_SEATS */
    FAULT_API_SLOW,
    FAULT_DROP_WATCHES,
    FAULT_LIMIT_SEATS,
    FAULT_DRIVER_HANG, /* faults of a driver, up to the end */
    FAULT_DRIVER_SLOW,
    FAULT_DRIVER_AWAY,
    FAULT_REPLACE_PLUGIN, /* of its pod on one node, as the next */
    FAULT_KILL_REGISTRAR,
    FAULT_UNINSTALL,
    FAULT_LOSE_VOLUMES,
    FAULT_KEEP_VOLUMES,
    FAULT_ABNORMAL_VOLUMES,
} FaultType;
const char *scenario_fault_name(FaultType type); /* static: "power-off" */

#define REPLICA_LEADER UINT32_MAX

/* A taint to add to a node, or to remove. */
typedef struct {
    char *key, *value; /* value: "" for none */
    int effect;        /* a TaintEffect; -1: every effect, when a taint is removed */
    gboolean goes;
} ScenarioTaint;

/* The part of an object that a patch writes. */
typedef enum {
    SUBRESOURCE_NONE, /* the object itself */
    SUBRESOURCE_STATUS,
    SUBRESOURCE_BINDING, /* of a pod: the patch uses the pod's node as spec.nodeName */
} ScenarioSubresource;

/* One action from outside the cluster. A run expands generators (count, interarrival), not the
 * loader. */
typedef struct {
    ActionType type;
    SimTime at;
    unsigned line;
    const char *file;
    /* CREATE: these objects, one after the other, @count times. If count is given, the copies are
     * numbered: copy 3 of a manifest "web" is "web-3", and references between the objects of one
     * action are changed too. */
    const json_t *const *manifests; /* (array of n_manifests): one Kubernetes object each */
    unsigned n_manifests;
    unsigned count;
    gboolean numbered;     /* count was given */
    SimDist *interarrival; /* NULL: all at once */
    SimDist *lifetime;     /* of each copy; NULL: for ever */
    double *daily; /* (array of 24): factor of the arrival rate in each hour of the day; NULL: 1 */
    SimTime
        lasts_arriving; /* the last copy arrives at most this long after @at; negative: no limit */
    unsigned keep;      /* the oldest copy is deleted when there are more; 0: all stay */
    /* DELETE, PATCH, SCALE, EVICT */
    ObjectKind kind;
    char *other_group, *other_kind; /* KIND_OTHER: of the resource; else NULL */
    char *namespace, *name; /* name may be a glob pattern ("web-*") for DELETE, and for claims with
                               lost volumes */
    char *on_node;          /* DELETE and EVICT of pods: only those on it; NULL: any */
    gboolean one;           /* DELETE and EVICT: only the first that is not being deleted */
    unsigned code;          /* the answer of the recording if the request failed; 0: it did not */
    int32_t grace_s;        /* -1: the object's */
    ApiPropagation propagation; /* DELETE */
    char *volume_of_claim;      /* DELETE, PATCH of a PersistentVolume: the volume of this claim in
                                   @namespace;  NULL: @name */
    struct {
        gboolean ignore_daemon_sets, delete_empty_dir, force;
        SimTime timeout; /* 0: none */
    } drain;             /* DRAIN, of the node @name or @node_of_pod */
    struct {
        ScenarioTaint *items; /* (array of n) */
        unsigned n;
        gboolean
            overwrite; /* replaces a taint with the same key and effect; else that is an error */
    } taints; /* TAINT, of the nodes @name (may be a glob pattern) or @node_of_pod, as CORDON and
                 UNCORDON */
    char *node_of_pod; /* PATCH of a Node, DRAIN, TAINT, ...: the node of this pod (may be a glob
                          pattern); NULL: @name */
    json_t *patch;
    ScenarioSubresource subresource; /* PATCH */
    int32_t replicas;
    struct {
        double above, by; /* parts of the capacity */
        int64_t up_to;
        SimTime every;
    } expand; /* EXPAND, of the claims @name (may be a glob pattern) in @namespace */
    /* SET_DRIVER, FAULT */
    char *driver;
    CsiModelledOptions *driver_options;
    char *process, *instance;
    FaultType fault;
    unsigned replica;      /* of a process; REPLICA_LEADER: the leader, or the first replica */
    char *zone;            /* of nodes: all of this zone; NULL: @instance */
    char *pod_of_instance; /* the instance is the node of this pod (may be a glob pattern); NULL:
                              @instance */
    SimTime lasts;         /* until the repair; -1: never */
    double factor;         /* how many times slower */
    unsigned seats;        /* of the API server */
    int minor;             /* the release of the kubelets that start again; 0: as before */
    char *message;         /* of abnormal volumes; NULL: a common one */
} ScenarioAction;

typedef struct {
    char *stage;     /* "pod-start" */
    double quantile; /* 0..1 */
    SimTime below;
    /* Of a stage: only these objects; NULL: any. The name is a glob, the labels a selector. */
    char *name, *namespace, *labels;
    char
        *availability; /* of workloads, in place of a stage: "StatefulSet/web", a glob; else NULL */
    double at_least;   /* 0..1 */
} ScenarioSlo;

typedef struct {
    int64_t min, max;
} ScenarioCount;

/* expect: how many objects meet conditions at some time. */
typedef struct {
    SimTime at;      /* SIM_TIME_MAX: at the end */
    ObjectKind kind; /* of pods, claims, volumes, attachments, nodes */
    char *phase;     /* NULL: any */
    char *reason; /* part of the message of a pod's condition PodScheduled, or of a status reason;
                     NULL: any */
    char *name;   /* glob; NULL: any */
    char *namespace, *labels; /* labels_match(); NULL: any */
    char *on_node, *in_zone;  /* of pods and, on_node only, of attachments; NULL: any */
    int ready;                /* of pods: 1 ready, 0 not ready, -1 any; of attachments: attached */
    /* Of the status of claims; NULL: any, "none": not set. */
    char *resize_status, *attributes_class, *modify_status;
    int64_t capacity_bytes; /* of claims (status) and volumes; -1: any */
    ScenarioCount count;
    char *driver;       /* counts volumes in this driver's back end; NULL: objects */
    gboolean of_events; /* counts Events with this @reason, of objects with this @name */
    char *text;         /* in the file's words, for messages */
} ScenarioExpect;

struct Scenario {
    char *file; /* as given */
    char *name, *description;
    char hash[65]; /* SHA-256 of everything that was read, with --set applied: hex */
    uint64_t seed;
    SimTime until;       /* SIM_TIME_MAX with until_idle */
    gboolean until_idle; /* no object but Events changed for @idle_for */
    SimTime idle_for;    /* 10 min */
    SimTime start;       /* t = 0, as of api_time_parse() */
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
    ScenarioAction *actions; /* in the file's order: of the workload, then the faults */
    unsigned n_actions;
    unsigned recorded_from; /* actions from this one on are of a recorded session; UINT_MAX: none */
    ScenarioSlo *slos;
    unsigned n_slos;
    ScenarioExpect *expects;
    unsigned n_expects;
    gboolean has_usage;     /* volumes fill, so kubelets ask how full they are */
    gboolean has_snapshots; /* snapshot objects exist, so the snapshot controllers run */
    GPtrArray *warnings;    /* of char *: where the run differs from the cluster of the manifests */
    json_t *others;     /* manifests of kinds that no model has, Events too: of the initial state */
    json_t *document;   /* the Scenario with --set and included items; NULL unless keeps_document */
    GPtrArray *ignored; /* of char *: "Service/web (scenario.yaml:12)": ignored objects */
};

typedef struct {
    const char *data_dir; /* the folder of models/profiles/; for profile: names */
    const char *const
        *set; /* NULL-terminated "path=value" changes, applied before checking; NULL: none */
    const char *overlay; /* a file with manifests that replace objects of the same kind and name, or
                            are added; NULL: none */
    gboolean by_hand;    /* names in actions are not checked: a user steps through the run and may
                            create the objects */
    gboolean keeps_document; /* for scenario_flatten() */
    GHashTable *texts; /* (borrowed): path -> GBytes: files that are here instead of there; NULL */
    gboolean set_is_foreign; /* by a file: paths in it are no better than the scenario's own */
    gboolean
        is_own; /* the program wrote the text: it names files that the user has named already */
    gboolean is_confined; /* other files are read below data_dir only: a stranger named them */
} ScenarioOptions;

/**
 * scenario_load:
 * @faults: (out): of FileFault, all there are, in the order of the file; empty on success
 * Returns: (owned): %NULL if there are faults
 */
Scenario *scenario_load(const char *file, const ScenarioOptions *options, GPtrArray **faults);
/* The same for a file that is only checked; a file of manifests alone is checked object by object.
 * Returns: (owned): the scenario, with or without faults; scenario_free() takes time if it is large
 */
Scenario *scenario_check(const char *file, const ScenarioOptions *options, GPtrArray **faults);
/* Whether a process of the control plane or of a node runs: optional ones only if spec.components
 * names them, the snapshot controllers only if there are snapshot objects; any other does. Which
 * sidecars a driver has, its absent_sidecars tell. */
gboolean scenario_has_process(const Scenario *self, const ProcessClass *class);
/* Labels and values that each kubelet sets, besides kubernetes.io/hostname; the list ends with NULL
 * (pkg/kubelet/kubelet_node_status.go: initialNode). */
extern const char *const scenario_kubelet_labels[];
/* A Node of the group as a manifest. @zone: NULL: none. (owned) */
json_t *scenario_node_manifest(const ScenarioNodes *group, const char *name, const char *zone);
void scenario_free(Scenario *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Scenario, scenario_free)
/* The name of a capability, one bit: "EXPAND_VOLUME". */
const char *scenario_capability_name(CsiService service, uint32_t bit);
/**
 * scenario_flatten:
 * @self: loaded with keeps_document
 * @until: the end, as its text is to be
 * @faults: (nullable): more items for spec.faults
 * The scenario as one file that needs no other but profiles: with all manifests, recordedFrom, and
 * its workload at the end, so that items ("  - {...}") can be appended; behind "  workload:" if it
 * has none. Returns: (owned)
 */
char *scenario_flatten(const Scenario *self, const char *until, const json_t *faults);
/* The JSON Schema of scenario files. (owned) */
json_t *scenario_schema(void);
/* The fields of spec as tables in Markdown, for docs/scenario-format.md. (owned) */
char *scenario_reference(void);
