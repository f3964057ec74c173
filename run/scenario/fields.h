/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "run/files/schema.h"
#include "scenario.h"

/* Private to this folder: the fields of a scenario, as the tables read them. */

/* In masks of capabilities: the field was there. Bit 0 is no capability in the CSI spec. */
#define CAPABILITIES_GIVEN 1u

typedef struct {
    ScenarioTopologyKey *keys; /* NULL: not given */
    unsigned n;                /* 0: none */
    gboolean is_default;       /* true */
    gboolean is_mapping;       /* the labels are given, too */
} TopologyFields;

typedef struct {
    CsiModelledOptions model; /* most fields are its members; the others say what becomes of it */
    int attach_required;      /* -1: from the CSIDriver, else from the capabilities */
    const char *profile, *from_manifest;
    TopologyFields topology;
    char **volume_topology, **mutable_keys;
    SchemaList errors;     /* of CsiModelledError */
    SchemaList limits;     /* of LimitFields */
    SchemaList pools;      /* of PoolFields */
    int64_t default_bytes; /* of a volume; 0: the model's */
    uint32_t controller_capabilities, node_capabilities, group_capabilities,
        plugin_capabilities; /* 0: the capabilities of most drivers */
    const json_t *volume_context, *publish_context;
    const json_t *sidecars;
    struct {
        const json_t *node_selector;
        SimDist *registers_after;
        gboolean preregistered;
        SimTime liveness_period;
        const char *removes_taint;
    } node_plugin;
    const json_t *source; /* the mapping with these fields */
    YamlPosition at;
    const char *path;
} DriverFields;

typedef struct {
    uint32_t methods;
    gboolean per_node;
    unsigned concurrent;
    struct {
        double qps;
        unsigned burst;
    } rate;
    CsiModelledQuota per_volume;
} LimitFields;

typedef struct {
    const json_t *topology;
    const char *zone;
    int64_t capacity;
} PoolFields;

typedef struct {
    const json_t *manifest;
    unsigned count; /* 0: not given */
    SimDist *interarrival, *lifetime;
    const json_t *daily;
    SimTime lasts; /* -1: not given */
    unsigned keep;
} CreateFields;

typedef struct {
    const char *node, *node_of_pod;
    int64_t grace_s; /* -1: not given */
    gboolean ignore_daemon_sets, delete_empty_dir, force;
    SimTime timeout;
} DrainFields;

typedef struct {
    const char *namespace, *name;
    double above, by;
    int64_t up_to;
    SimTime every;
} ExpandFields;

/* Of taint, cordon, uncordon. */
typedef struct {
    const char *node, *node_of_pod;
    SchemaList taints; /* of ScenarioTaint */
    gboolean overwrite;
} MarkFields;

typedef struct {
    const char *api_version, *kind, *namespace, *name;
    int64_t grace_s;      /* -1: not given */
    unsigned propagation; /* ApiPropagation */
    const char *node_of_pod;
    const char *volume_of_claim;
    const char *node; /* of pods: only those on it */
    const json_t *patch;
    unsigned subresource; /* ScenarioSubresource */
    unsigned replicas;
    gboolean one;
} TargetFields;

typedef struct {
    SimTime at;
    CreateFields create;
    const char *from;
    unsigned code;
    TargetFields delete, patch, scale, evict;
    DrainFields drain;
    ExpandFields expand;
    MarkFields taint, cordon, uncordon;
    const json_t *set_driver;
    /* Of faults: */
    const char *component, *driver, *node, *zone, *pod_of_node, *what, *claim, *message;
    SimTime restart_after, lasts; /* -1: not given */
    double factor;
    unsigned seats;
    int minor;        /* of a kubelet; 0: not given */
    unsigned replica; /* REPLICA_LEADER: not given */
    const json_t *source;
    YamlPosition place;
    const char *path;
} ActionFields;

extern const FileType scenario_version_type;                     /* int: the minor version */
extern const FileType scenario_slos_type, scenario_expects_type; /* SchemaList: expected.c */

typedef struct {
    SimTime at; /* SIM_TIME_MAX: at the end */
    ScenarioExpect pods, claims, volumes, attachments, nodes, jobs, namespaces, snapshots,
        group_snapshots, events, driver_volumes;
    const json_t *source;
    YamlPosition place;
    const char *path;
} ExpectFields;

typedef struct {
    const char *description;
    int64_t seed;
    const json_t *until;
    SimTime idle_for;
    const char *start;
    unsigned recorded_from; /* UINT_MAX: nothing is recorded */
    struct {
        const char *version;
        const json_t *feature_gates;
        gboolean unlimited_qps;
        double api_server_load;            /* below 0: as in the timing */
        SimDist *pod_sandbox, *image_pull; /* NULL: as in the timing */
    } kubernetes;
    const char *timing;
    SchemaList nodes;    /* of NodeFields */
    SchemaList drivers;  /* of DriverFields */
    SchemaList workload; /* of ActionFields */
    SchemaList faults;   /* of ActionFields */
    SchemaList slo;      /* of ScenarioSlo */
    SchemaList expect;   /* of ExpectFields */
    GHashTable *components;
    const json_t *manifests;
} SpecFields;

typedef struct {
    ScenarioNodes nodes;
    YamlPosition at;
    const char *path;
    const json_t *source;
} NodeFields;

typedef struct {
    const char *api_version, *kind;
    struct {
        const char *name;
        const json_t *labels, *annotations;
    } metadata;
    SpecFields spec;
} ScenarioFields;

/* fields.c */
extern const FileType scenario_file_type;
extern const FileType scenario_timing_type;

/* driver-fields.c */
extern const FileType scenario_driver_type, scenario_set_driver_type, scenario_profile_type;
void scenario_driver_fields_init(void *target);

/* topology.c */
extern const FileType scenario_topology_type;

/* nodes.c */
extern const FileType scenario_taint_type, scenario_cordon_type, scenario_uncordon_type;

/* expand.c */
extern const FileType scenario_expand_type;

/* flags.c */
extern const FileType scenario_kubelet_flags_type, scenario_components_type, scenario_sidecars_type;
/* Reports @name, a member of @value, as no process of this scope. */
void scenario_fault_process(SchemaReader *reader,
                            ProcessScope scope,
                            const json_t *value,
                            const char *name);
/* Flags of a process: "worker-threads: 100" and the like, in a mapping. Returns: (borrowed): name
 * -> text */
GHashTable *
scenario_read_flags(SchemaReader *reader, const ProcessClass *class, const json_t *value);
/* Fills @flags with the defaults of the release in SIDECAR_VERSION, if there is one, and takes that
 * out. @kubernetes: the cluster's minor version */
void scenario_take_defaults(SchemaReader *reader,
                            const ProcessClass *class,
                            GHashTable *flags,
                            int kubernetes);
/* For a flag with a row in docs/fields.md: warns if it is one that is not modelled. */
void scenario_warn_of_flag(SchemaReader *reader, const ProcessClass *class, const char *name);
