/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "informer.h"
#include "models/apiserver/apiserver.h"

/* A process of the control plane or of a node as the API server sees it: its informers, one watch
 * for each kind, which all controllers of the process share, and its clients while it lives. */
typedef struct Process Process;

typedef struct {
    Sim *sim; /* all borrowed */
    Objects *objects;
    ApiServer *api;
    const Timing *timing;
    const char *name; /* "kube-controller-manager", "kubelet/node-1"; interned */
} ProcessOptions;

Process *process_new(const ProcessOptions *options);
void process_free(Process *self); /* ends its watches and drops everything that waits */
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Process, process_free)
const char *process_name(const Process *self);
/* Borrowed from the options. */
const Timing *process_timing(const Process *self);
/* The name without the instance, "kubelet" of "kubelet/node-1": the job label of its metrics. */
const char *process_job(const Process *self);

/* ---- Faults between a process and the world. They cost nothing as long as there are none. ---- */

typedef enum {
    PROCESS_RUNS,
    PROCESS_CUT,     /* no connection to the API server: requests wait, and fail after 30 s */
    PROCESS_STOPPED, /* it hangs: nothing leaves it, and incoming messages wait */
} ProcessState;

/* Back to PROCESS_RUNS: everything that waits goes on at once, in order; for watches see
 * api_server_repair_watches(). */
void process_set_state(Process *self, ProcessState state);
ProcessState process_state(const Process *self);
/* Its own time before each request takes @factor times as long; 1: the usual time. */
void process_set_slowness(Process *self, double factor);
typedef struct ProcessHeld ProcessHeld;
/* The process does not run. @go_on is called when it runs again, in the order of these calls; @drop
 * if it ends before that. Returns: (borrowed): for process_give_up(), until one of them is called
 */
ProcessHeld *
process_hold(Process *self, void (*go_on)(void *data), GDestroyNotify drop, void *data);
/* Takes back what process_hold() returned; nothing is called. */
void process_give_up(Process *self, ProcessHeld *held);

/**
 * process_informer:
 * @filter: as api_server_watch(); a process has one informer of a kind, so it is always the same
 * Returns: (borrowed): the informer, synced: its cache has what is stored now
 */
Informer *process_informer(Process *self, ObjectKind kind, const char *filter);
/**
 * informer_new_of:
 * @key: of a kind without namespaces
 * @entity: of the watch, for draws; the process's own entity shares the process's connection
 * Returns: (owned): an informer of the object @key alone, beside the process's own informers
 */
Informer *informer_new_of(Process *process, const ObjectKey *key, uint64_t entity);
void informer_free(Informer *self); /* NULL is fine */
