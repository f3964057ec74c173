/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "api-load.h"
#include "models/api/field.h"
#include "run.h"

/* The state of a run. run.c lets time pass, world.c builds the start, workload.c carries out
 * actions from outside, faults.c carries out faults, expect.c checks expectations. */
struct Run {
    const Scenario *scenario;
    RunOptions options;
    Sim *sim;
    Objects *objects;
    Cluster *cluster;
    Records *records;
    Milestones *milestones;
    Readiness *readiness;
    ApiLoad *load;          /* NULL: untraced */
    Telemetry *telemetry;   /* NULL: not measured */
    GPtrArray *drivers;     /* of CsiDriver (owned), in the scenario's order */
    GPtrArray *performers;  /* of Performer (owned): what the workload is doing */
    GPtrArray *autoscalers; /* of Autoscaler (owned) */

    GPtrArray *workloads;      /* of DriverWorkload (owned); NULL: none */
    GHashTable *topology_keys; /* adopt.c: while the world is built */
    GPtrArray *drains;         /* of Drain (owned) */
    GHashTable *usages;        /* expand.c: interned "driver handle" -> Usage (owned) */
    GArray *expects;           /* of ExpectResult */
    gboolean is_over;          /* run_finish() was called */
    gboolean is_acted_upon;    /* run_perform() was called */
    unsigned n_numbered;       /* actions of the workload so far, faults aside: their numbers */
    unsigned n_unreported;     /* events since progress() was called */
    GError *error;             /* the first fault in building the world */
    GPtrArray *notes;          /* of char *: refused actions, in order */
    GArray *faults;            /* of RunFault; NULL: none yet */
};

/* Builds all objects and processes of t = 0. FALSE with @self->error */
gboolean world_build(Run *self);
/* Copies the options, with all strings interned in the run's own table. Free the result with
 * csi_modelled_options_clear(). */
CsiModelledOptions world_driver_options(Run *self, const CsiModelledOptions *options);
/* Returns: (borrowed): the object as the API server has it; NULL: none. @name: NULL: none */
const Object *world_find(const Run *self, ObjectKind kind, const char *namespace, const char *name);
/* Returns: (owned): of the Node number @i of a group */
char *world_node_name(const ScenarioNodes *group, unsigned i);
/* Returns: (owned): the Node number @i of a group, in @zone (nullable); NULL with @self->error */
Object *world_node_new(Run *self, const ScenarioNodes *group, unsigned i, const char *zone);
/* histories.c: adds the ControllerRevisions of imported sets that are in no manifest. */
void world_add_histories(Run *run);
/* Adds what no model reads: manifests of other kinds, and what each namespace has. Returns: FALSE
 * with @run->error */
gboolean world_add_others(Run *run);
/* adopt.c. The volume that a CSI PersistentVolume names, and the snapshot whose handle a
 * VolumeSnapshotContent has, exist in the driver from now on. */
void world_adopt_source(const Run *self, const Object *object);
/* The same of all objects there are, and what is attached is so for the drivers. Once, before the
 * cluster starts. */
void world_adopt(Run *self);
/* After its start: kubelets that the node controller has lost do not run. */
void world_adopt_silence(const Run *self);
/* files.c. Claims can name the number of their files; and, once the objects of the start have been
 * adopted, the groups of Running pods. */
void world_watch_files(Run *self);
void world_adopt_groups(Run *self);
/* Parses a manifest into the run's objects. Returns: (owned): NULL with @self->error: the loader
 * has checked it, so this is a bug */
Object *world_parse(Run *self, const json_t *manifest);

/* Adds a machine to the cluster: its Node, and a kubelet with these flags (NULL: defaults). Takes
 * @node. */
void world_join_node(Run *self, Object *node, GHashTable *kubelet);

/* faults.c. Begins a fault; @over is called at its end, or at once if it has none. */
void fault_begin(Run *self, const ScenarioAction *action, void (*over)(void *data), void *data);

/* faults.c. Returns: (interned): the node of the first pod with a matching name; NULL: no such pod
 * is on a node */
const char *run_node_of_pod(const Run *self, const char *name);

/* autoscaler.c: starts an autoscaler for each group of nodes that has one. */
void autoscalers_start(Run *self);
void autoscalers_free(Run *self);

/* drain.c. @over is called when all evicted pods are gone or given up. */
void drain_begin(Run *run, const ScenarioAction *action, void (*over)(void *data), void *data);
GPtrArray *drains_new(void);
/* Notes the drains that are not over when the run is. */
void drains_finish(Run *run);

/* mark-node.c: applies TAINT, CORDON or UNCORDON to a Node. Returns: FALSE: no change; for an
 * error, @refusal (empty before) has the reason */
gboolean node_mark(Strings *strings, const ScenarioAction *action, Node *node, GString *refusal);

/* lifetimes.c. Deletes the objects with these keys (of const ObjectKey; taken), the last one first;
 * @over is called at the end. */
void
lifetime_end(Run *run, GPtrArray *keys, uint64_t client_hash, void (*over)(void *data), void *data);

/* notes.c. Notes that an action of the workload, or a part of it, failed: with its place in the
 * file and the time. */
void run_note(Run *self, const ScenarioAction *action, const char *format, ...) G_GNUC_PRINTF(3, 4);
/* ... that nothing is what it names: no node of a pod, no volume of a claim, no node in a zone. */
void run_note_missing(Run *self, const ScenarioAction *action);

/* expand.c: begins to look after claims, to the end of the run. */
void expand_begin(Run *self, const ScenarioAction *action);

/* usage.c: volumes fill as the annotations of their claims say. */
void usage_begin(Run *self);

void workload_schedule(Run *self);
/* Whether actions are still to come: the world is not idle before. */
gboolean workload_is_pending(const Run *self);
void workload_free(Run *self);

void expects_schedule(Run *self);
/* Checks the expectations for the end. */
void expects_finish(Run *self);
