/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "models/api/field.h"
#include "run/files/schema.h"
#include "scenario.h"

/* Loading a scenario, by file: loader.c reads files into documents; scenario.c goes through the
 * steps; fields.c, driver-fields.c, nodes.c and flags.c have the tables of fields; driver.c builds
 * the drivers from fields and profiles; faults.c builds the faults; objects.c reads the manifests;
 * check*.c checks that names refer to something; set.c applies --set. */

/* In masks of capabilities: the field was there. Bit 0 is no capability in the CSI spec. */
#define CAPABILITIES_GIVEN 1u

typedef struct {
    int attach_required; /* -1: as the CSIDriver says, else as the capabilities do */
    const char *name, *profile, *from_manifest, *vendor_version;
    const json_t *topology; /* false: none; text: the key */
    SimDist *latency[CSI_N_LATENCIES];
    CsiSlowdown slowdown[CSI_N_LATENCIES];
    SchemaList errors; /* of CsiModelledError */
    SchemaList limits; /* of LimitFields */
    SchemaList pools;  /* of PoolFields */
    struct {
        int64_t min, max, step, def;
    } volume_size;
    uint32_t controller_capabilities, node_capabilities,
        plugin_capabilities; /* 0: as most drivers */
    unsigned attach_limit, attach_limit_reported, topologies_per_volume;
    char **mutable_keys;
    const json_t *volume_context, *publish_context;
    int lock; /* CsiModelledLock */
    SimTime ready_at;
    gboolean needs_secrets, random_ids, adopts_unknown_volumes, checks_mounts,
        keeps_snapshot_sources, snapshots_take_room, aborts_with_caller;
    const json_t *sidecars;
    struct {
        const json_t *node_selector;
        SimDist *registers_after;
        gboolean preregistered;
        SimTime liveness_period;
    } node_plugin;
    const json_t *source; /* the mapping they stand in */
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

/* Of taint, cordon, uncordon. */
typedef struct {
    const char *node, *node_of_pod;
    SchemaList taints; /* of ScenarioTaint */
    gboolean overwrite;
} MarkFields;

typedef struct {
    const char *kind, *namespace, *name;
    int64_t grace_s; /* -1: not given */
    const char *node_of_pod;
    const char *volume_of_claim;
    const json_t *patch;
    unsigned replicas;
} TargetFields;

typedef struct {
    SimTime at;
    CreateFields create;
    TargetFields delete, patch, scale;
    DrainFields drain;
    MarkFields taint, cordon, uncordon;
    const json_t *set_driver;
    /* Of faults: */
    const char *component, *driver, *node, *zone, *pod_of_node, *what, *claim;
    SimTime restart_after, lasts; /* -1: not given */
    double factor;
    unsigned seats;
    unsigned replica; /* REPLICA_LEADER: not given */
    const json_t *source;
    YamlPosition place;
    const char *path;
} ActionFields;

typedef struct {
    int64_t min, max; /* -1: not given */
} CountFields;

/* What one expectation wants of one kind. */
typedef struct {
    const char *phase, *reason, *name, *node, *zone, *driver, *resize_status;
    int64_t capacity; /* -1: any */
    int ready;        /* -1: any */
    CountFields count;
    gboolean is_given;
} ExpectedFields;

typedef struct {
    SimTime at; /* SIM_TIME_MAX: at the end */
    ExpectedFields pods, claims, volumes, attachments, nodes, jobs, snapshots, driver_volumes;
    const json_t *source;
    YamlPosition place;
    const char *path;
} ExpectFields;

typedef struct {
    const char *stage;
    double quantile;
    SimTime below;
    YamlPosition place;
} SloFields;

typedef struct {
    const char *description;
    int64_t seed;
    const json_t *until;
    SimTime idle_for;
    struct {
        const char *version;
        const json_t *feature_gates;
        gboolean unlimited_qps;
    } kubernetes;
    const char *timing;
    SchemaList nodes;    /* of NodeFields */
    SchemaList drivers;  /* of DriverFields */
    SchemaList workload; /* of ActionFields */
    SchemaList faults;   /* of ActionFields */
    SchemaList slo;      /* of SloFields */
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

/* A manifest that was found, and what a check needs to know of it. */
typedef struct {
    const json_t *json; /* borrowed from the documents */
    Object *object;     /* (owned): parsed for the checks; NULL: it could not be */
    int action;         /* index of the action that creates it; -1: there from the start */
    YamlPosition at;
    const char *path; /* "StatefulSet/web" */
} ManifestInfo;

typedef struct {
    Scenario scenario; /* first: what the caller gets */
    SchemaReader reader;
    YamlPositions *positions;
    GPtrArray *files;       /* of char *, in the order read */
    GHashTable *texts;      /* path -> GBytes (borrowed): of the files read */
    GHashTable *files_read; /* path -> GPtrArray of json_t (owned): a file is read once */
    gboolean is_located;    /* JSON is read with the places of its values, as YAML always is */
    gboolean lacks_places;  /* some JSON was read without */
    GPtrArray *made;        /* of json_t (owned): values that no file has */
    gboolean is_incomplete; /* something could not be read: what is missing may be there */
    GString *directory;     /* of the scenario file: where other files are looked for */
    const ScenarioOptions *options;
    GChecksum *checksum; /* of all that decides what a run does; NULL: it is only checked */
    GPtrArray *faults;
    ScenarioFields fields;
    GArray *manifests; /* of ManifestInfo */
    Objects *objects;  /* for the checks */
    /* What is being worked on: */
    const ManifestInfo *parsing;
    const ActionFields *acting;
} Loader;

/* loader.c */
/* Adds what a run depends on to the scenario's hash. */
void loader_hash(Loader *self, const char *data, gsize length);
gboolean loader_is_scenario(const json_t *document);
/* Returns: (borrowed): the documents of a file; NULL after a fault at the reader's place */
GPtrArray *loader_read_path(Loader *self, const char *path);
/* The same of a file that the scenario names. */
GPtrArray *loader_read_file(Loader *self, const char *name);
/* A profile's only document. Returns: (borrowed): NULL after a fault */
const json_t *loader_read_profile(Loader *self, const char *name);

/* fields.c */
extern const SchemaType scenario_file_type;
extern const SchemaType scenario_timing_type;

/* driver-fields.c */
extern const SchemaType scenario_driver_type, scenario_set_driver_type, scenario_profile_type;
void scenario_driver_fields_init(void *target);

/* flags.c */
extern const SchemaType scenario_kubelet_flags_type, scenario_components_type,
    scenario_sidecars_type;
/* Flags of a process: "worker-threads: 100" and the like, in a mapping. Returns: (borrowed): name
 * -> text */
GHashTable *
scenario_read_flags(SchemaReader *reader, const ProcessClass *class, const json_t *value);

/* driver.c */
void loader_build_drivers(Loader *self);
/* faults.c: of the fault that the loader is acting on */
void loader_build_fault(Loader *self, ScenarioAction *action);

/* nodes.c: taint, cordon and uncordon */
extern const SchemaType scenario_taint_type, scenario_cordon_type, scenario_uncordon_type;
void loader_build_mark(ActionType type, const MarkFields *fields, ScenarioAction *action);

/* The driver of that name, or the only one if @name is NULL. Returns: (borrowed): NULL after a
 * fault at @member of @where */
const char *
loader_driver_named(Loader *self, const char *name, const json_t *where, const char *member);
/* Returns: (owned): what a wrong driver's name may have meant; NULL: no idea */
char *loader_driver_hint(Loader *self, const char *name);
/* The options of setDriver: those of the driver with changes; the next change builds on them. NULL
 * after a fault */
CsiModelledOptions *
loader_change_driver(Loader *self, const ActionFields *action, const char **driver);

/* objects.c */
/* A file of manifests alone, to check them. */
void loader_collect_file(Loader *self, const GPtrArray *documents);
void loader_collect_manifests(Loader *self, const GPtrArray *documents);
void loader_build_actions(Loader *self);

/* check.c */
void loader_check_references(Loader *self);
/* Manifests without a scenario: what they name may be elsewhere. */
void loader_check_duplicates(Loader *self);

/* set.c */
/* Those of the scenario's own document, before it is read; those of objects, before they are
 * parsed. */
void loader_apply_sets(Loader *self, GPtrArray *documents);
void loader_apply_object_sets(Loader *self);
