/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "fields.h"
#include "models/api/field.h"

/* Loading a scenario, by file: scenario.c goes through the stages; loader.c reads files into
 * documents; set.c applies --set; fields.c, driver-fields.c, nodes.c, flags.c and expected.c have
 * the tables of fields; objects.c reads the manifests and builds actions; driver.c builds the
 * drivers from fields and profiles, faults.c the faults; check*.c checks that names refer to
 * something; start.c finds the time of t = 0; warnings.c gathers warnings. */

/* A manifest and the data for its checks. */
typedef struct {
    const json_t *json; /* borrowed from the documents */
    Object *object;     /* (owned): parsed for the checks; NULL: it has a fault */
    int action;         /* index of the action that creates it; -1: there from the start */
    gboolean is_other;  /* of a kind that no model has */
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
    gboolean is_located;    /* JSON is read with positions of values, as YAML always is */
    gboolean lacks_places;  /* some JSON was read without positions */
    GPtrArray *made;        /* of json_t (owned): values that are in no file */
    gboolean is_incomplete; /* a file could not be read: a missing object may be in it */
    GString *directory;     /* folder of the scenario file; other files are relative to it */
    const ScenarioOptions *options;
    GChecksum *
        checksum; /* hash of everything that a run depends on; NULL: the scenario is only checked */
    GPtrArray *faults;
    GPtrArray *warnings;        /* see warnings.c */
    const GPtrArray *documents; /* of the scenario's own file */
    const json_t *document;     /* the Scenario among them; NULL: there is none */
    ScenarioFields fields;
    GArray *manifests; /* of ManifestInfo */
    Objects *objects;  /* for the checks */
    unsigned n_names;  /* made of generateName */
    SimTime newest;    /* time stamp of objects with a uid; TIME_UNSET: none */
    /* Current work: */
    const ManifestInfo *parsing;
    const ActionFields *acting;
} Loader;

/* loader.c */
/* Adds to the hash of everything that a run depends on. */
void loader_hash(Loader *self, const char *data, gsize length);
gboolean loader_is_scenario(const json_t *document);
/* Returns: (borrowed): the documents of a file; NULL after a fault at the reader's place */
GPtrArray *loader_read_path(Loader *self, const char *path);
/* The same for a file that the scenario names. */
GPtrArray *loader_read_file(Loader *self, const char *name);
/* A profile's only document. Returns: (borrowed): NULL after a fault */
const json_t *loader_read_profile(Loader *self, const char *name);

/* expected.c */
void loader_build_expects(Loader *self);

/* driver.c */
void loader_build_drivers(Loader *self);
/* Whether its external-provisioner writes CSIStorageCapacity objects. */
gboolean scenario_driver_publishes_capacity(const ScenarioDriver *driver);

/* local-drivers.c: checks of drivers for the nodes' own disks */
void
loader_check_local_driver(Loader *self, const DriverFields *fields, const ScenarioDriver *driver);
void loader_check_local_components(Loader *self, const json_t *spec);
/* Returns: (borrowed): the provisioner of the local-path-provisioner; NULL: that does not run */
const char *scenario_local_path_provisioner(const Scenario *scenario);

/* driver-workloads.c: finds the workloads that run the driver */
void loader_build_workloads(Loader *self, ScenarioDriver *driver);
/* Returns: (borrowed): its containers, an array */
const json_t *loader_workload_containers(const Loader *self, const ScenarioWorkload *workload);
/* After all drivers: workloads that are none's. */
void loader_warn_of_workloads(Loader *self);

/* topology.c: the keys of a driver's topology and what CSINodes say about it */
void loader_build_topology(Loader *self, DriverFields *fields, ScenarioDriver *driver);
/* Returns: (borrowed): the key for the zone of a pool; NULL: the driver has no topology */
const char *loader_zone_key(const ScenarioDriver *driver);
/* Checks that the nodes have values for the keys of all drivers. */
void loader_check_topology(Loader *self);
/* faults.c: builds the loader's current fault */
void loader_build_fault(Loader *self, ScenarioAction *action);

/* expand.c */
void loader_build_expand(const ExpandFields *fields, ScenarioAction *action);

/* nodes.c: taint, cordon and uncordon */
void loader_build_mark(ActionType type, const MarkFields *fields, ScenarioAction *action);

/* The driver of that name, or the only one if @name is NULL. Returns: (borrowed): NULL after a
 * fault at @member of @where */
const char *
loader_driver_named(Loader *self, const char *name, const json_t *where, const char *member);
/* Returns: (owned): a hint for a wrong name of a driver; NULL: none */
char *loader_driver_hint(Loader *self, const char *name);
/* The options of setDriver: the driver's options with changes; the next change builds on them. NULL
 * after a fault */
CsiModelledOptions *
loader_change_driver(Loader *self, const ActionFields *action, const char **driver);

/* warnings.c */
GPtrArray *loader_warnings_new(void);
/* Notes what differs because of an object ("StatefulSet/web"); one cause makes one warning. @hint:
 * NULL: none */
void loader_warn(Loader *self,
                 const YamlPosition *at,
                 const char *object,
                 const char *hint,
                 const char *format,
                 ...) G_GNUC_PRINTF(5, 6);
/* Puts the warnings into the scenario, as text. */
void loader_tell_warnings(Loader *self);

/* effects.c */
/* Warns of fields that Kubernetes acts upon and kvolsim does not. */
void loader_tell_effects(Loader *self, const ManifestInfo *info);
/* The same for a whole @object of a kind that is left out. */
void loader_tell_kind_effect(Loader *self, const char *kind, const char *object);
/* Whether docs/fields.md lists this kind as left out. */
gboolean loader_knows_kind_effect(const char *kind);

/* start.c */
/* Looks for the newest time stamp in an object of the start. */
void loader_see_times(Loader *self, const json_t *manifest);
/* The time of t = 0: from spec.start, otherwise the newest time stamp in the input, otherwise the
 * calendar's 0. */
void loader_read_start(Loader *self);

/* objects.c */
/* Reports what an API server refuses in an object, which replaces @old (nullable). An object with a
 * uid was stored once: another server may have let in more. */
void loader_check_manifest(ApiParser *parser, const json_t *manifest, const json_t *old);
/* Collects the manifests of a file without a scenario, to check them. */
void loader_collect_file(Loader *self, const GPtrArray *documents);
void loader_collect_manifests(Loader *self);
void loader_build_actions(Loader *self);

/* include.c: puts the items of files that spec.workload names into the document, before it is read.
 */
void loader_include_workload(Loader *self);

/* check.c */
void loader_check_references(Loader *self);
/* For manifests without a scenario: the objects that they name may be elsewhere. */
void loader_check_duplicates(Loader *self);

/* set.c */
/* Applies --set to the scenario's own document before it is read; and to objects before they are
 * parsed. */
void loader_apply_sets(Loader *self, GPtrArray *documents);
void loader_apply_object_sets(Loader *self);
