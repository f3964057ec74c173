/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "api-load.h"
#include "models/api/field.h"
#include "run.h"

/* Within a run: run.c lives through it, world.c builds what it starts from, workload.c does what
 * the outside world does, faults.c breaks things, expect.c compares. */
struct Run {
    const Scenario *scenario;
    RunOptions options;
    Sim *sim;
    Objects *objects;
    Cluster *cluster;
    Milestones *milestones;
    ApiLoad *load;          /* NULL: untraced */
    Telemetry *telemetry;   /* NULL: not measured */
    GPtrArray *drivers;     /* of CsiDriver (owned), in the scenario's order */
    GPtrArray *performers;  /* of Performer (owned): what the workload is doing */
    GPtrArray *autoscalers; /* of Autoscaler (owned) */

    GPtrArray *drains;     /* of Drain (owned) */
    GArray *expects;       /* of ExpectResult */
    gboolean is_over;      /* run_step() has told of the end */
    unsigned n_unreported; /* events since progress() was called */
    GError *error;         /* the first fault in building the world */
    GPtrArray *notes;      /* of char *: what of the workload was refused, in order */
};

/* Everything that exists at t = 0, and the processes. FALSE with @self->error */
gboolean world_build(Run *self);
/* The options with all strings interned in the run's own table. Free the result with
 * world_options_clear(). */
CsiModelledOptions world_driver_options(Run *self, const CsiModelledOptions *options);
void world_options_clear(CsiModelledOptions *options);
/* Returns: (borrowed): the object as the API server has it; NULL: there is none. @name: NULL: none
 */
const Object *world_find(const Run *self, ObjectKind kind, const char *namespace, const char *name);
/* Returns: (owned): the Node number @i of a group, in @zone (nullable); NULL with @self->error */
Object *world_node_new(Run *self, const ScenarioNodes *group, unsigned i, const char *zone);
/* The volume that a CSI PersistentVolume names exists in its driver from now on. */
void world_adopt_volume(const Run *self, const Object *object);
/* Parses a manifest into the run's objects. Returns: (owned): NULL with @self->error: the loader
 * has checked it, so this is a bug */
Object *world_parse(Run *self, const json_t *manifest);

/* A machine joins the cluster: its Node as it is, and a kubelet with these flags (NULL: defaults).
 * Takes @node. */
void world_join_node(Run *self, Object *node, GHashTable *kubelet);

/* faults.c. Something breaks; @over is called when it is repaired, or at once if it never is. */
void fault_begin(Run *self, const ScenarioAction *action, void (*over)(void *data), void *data);

/* faults.c. The node of the first pod whose name matches. Returns: (interned): NULL: none is on a
 * node */
const char *run_node_of_pod(const Run *self, const char *name);

/* autoscaler.c: of each group of nodes that has one. */
void autoscalers_start(Run *self);
void autoscalers_free(Run *self);

/* drain.c. @over is called when all pods that were evicted are gone, or given up. */
void drain_begin(Run *run, const ScenarioAction *action, void (*over)(void *data), void *data);
GPtrArray *drains_new(void);

/* mark-node.c: what TAINT, CORDON or UNCORDON makes of a Node. Returns: FALSE: it stays as it is;
 * if it should not, @refusal (empty before) tells why */
gboolean node_mark(Strings *strings, const ScenarioAction *action, Node *node, GString *refusal);

/* lifetimes.c. Deletes the objects of these keys (of const ObjectKey; taken), the last first; @over
 * is called after the last. */
void
lifetime_end(Run *run, GPtrArray *keys, uint64_t client_hash, void (*over)(void *data), void *data);

/* An action of the workload, or a part of it, came to nothing: with its place in the file and the
 * time. */
void run_note(Run *self, const ScenarioAction *action, const char *format, ...) G_GNUC_PRINTF(3, 4);

void workload_schedule(Run *self);
/* Something planned is still to come: the world is not idle before. */
gboolean workload_is_pending(const Run *self);
void workload_free(Run *self);

void expects_schedule(Run *self);
/* Those that are due at the end. */
void expects_finish(Run *self);
