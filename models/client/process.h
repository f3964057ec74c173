/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "models/apiserver/apiserver.h"

/* A process of the control plane or of a node as the API server sees it: its informers (one watch
 * per kind, shared by all that runs in the process) and, while it lives, its clients. */
typedef struct Process Process;
typedef struct Informer Informer;

typedef struct {
    Sim *sim; /* all borrowed */
    Objects *objects;
    ApiServer *api;
    const Timing *timing;
    const char *name; /* "kube-controller-manager", "kubelet/node-1"; interned */
} ProcessOptions;

Process *process_new(const ProcessOptions *options);
void process_free(Process *self); /* ends its watches; nothing of it happens any more */
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Process, process_free)
const char *process_name(const Process *self);
/* "kubelet" of "kubelet/node-1": whose its metrics are. */
const char *process_job(const Process *self);

/* ---- What may go wrong between a process and the world. None of it costs anything while all is
 * well. ---- */

typedef enum {
    PROCESS_RUNS,
    PROCESS_CUT, /* nothing gets through to the API server or back: requests wait, and fail after 30
                    s */
    PROCESS_STOPPED, /* it hangs: nothing leaves it, what comes waits */
} ProcessState;

/* Back to PROCESS_RUNS: what waits goes on at once, in order; watches as
 * @api_server_repair_watches() says. */
void process_set_state(Process *self, ProcessState state);
ProcessState process_state(const Process *self);
/* Its own time before each request is @factor times as long; 1: as ever. */
void process_set_slowness(Process *self, double factor);
/* For one that does not run: @go_on is called when it does again, in the order of these calls;
 * @drop instead if it ends before. Returns: what process_give_up() takes back */
typedef struct ProcessHeld ProcessHeld;
ProcessHeld *
process_hold(Process *self, void (*go_on)(void *data), GDestroyNotify drop, void *data);
/* It is not waited for any more; nothing is called. */
void process_give_up(Process *self, ProcessHeld *held);

/**
 * process_informer:
 * @filter: as api_server_watch(); one informer per kind and process, so always the same
 * Returns: (borrowed): the informer, synced: its cache is what is stored now
 */
Informer *process_informer(Process *self, ObjectKind kind, const char *filter);

/* ---- Informer: the process's view of a kind. Lags behind the store; per kind in order (CGO-10).
 * ---- */

/* @before NULL: added; @after NULL: deleted. The cache has changed already (CGO-12). A resync calls
 * with both the same. */
typedef void (*InformerHandler)(void *self, const Object *before, const Object *after);

/* Also calls @handler at once, as added, for each object that is in the cache (CGO-18). */
void informer_add_handler(Informer *self, InformerHandler handler, void *data);
/* Returns: (borrowed): what the cache holds, NULL: nothing */
const Object *informer_get(const Informer *self, const ObjectKey *key);
unsigned informer_count(const Informer *self);
/* A controller stores the answer to a write of its own in its cache (CGO-19). No handler hears of
 * it; the watch event of that write then comes as a change between equal versions, unless it was
 * there first. */
void informer_put(Informer *self, const Object *object);

/* Walks the cache in the order of slots (that is: of first appearance in the run). Do not change
 * the cache meanwhile. */
typedef struct {
    const Informer *informer;
    uint32_t next;
} InformerIter;
void informer_iter_init(InformerIter *iter, const Informer *informer);
const Object *informer_iter_next(InformerIter *iter); /* NULL: the end */

/* An index: the objects of a value, as client-go's indexers: pods by node, pods by claim, volumes
 * by class. */
typedef struct InformerIndex InformerIndex;
/* Emits each value of @object by index_emit(); values are addresses: interned strings or keys. */
typedef void (*InformerIndexFunc)(InformerIndex *index, const Object *object, Objects *objects);
InformerIndex *
informer_add_index(Informer *self,
                   InformerIndexFunc function); /* (borrowed): the same for the same function */
void index_emit(InformerIndex *self, const void *value);
/* Returns: (borrowed): the objects in a fixed order (of becoming such), valid until the cache
 * changes; NULL with 0 */
const Object *const *informer_index_get(const InformerIndex *self, const void *value, unsigned *n);

/* Indexes that several components use. */
void index_pods_by_node(InformerIndex *index,
                        const Object *object,
                        Objects *objects); /* value: node name */
void index_pods_by_claim(InformerIndex *index,
                         const Object *object,
                         Objects *objects); /* value: ObjectKey of the claim */
void index_volumes_by_class(InformerIndex *index,
                            const Object *object,
                            Objects *objects); /* value: volume_class() */
void index_attachments_by_node(InformerIndex *index,
                               const Object *object,
                               Objects *objects); /* value: node name */
