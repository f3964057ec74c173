/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "label-index.h"
#include "pod-counts.h"
#include "volume-names.h"

/* The scheduler's cache: nodes, the pods on them or assumed there, and sums over those, kept as
 * things change so that a cycle looks at nothing twice. A cycle decides at one instant, so the
 * cache itself is its snapshot. */
typedef struct SchedulerCache SchedulerCache;
typedef struct NodeInfo NodeInfo;
typedef struct CachedPod CachedPod;

struct NodeInfo {
    const ObjectKey *key;
    const Node *node; /* (owned): NULL: pods are there, but the node is not known (any more) */
    const CsiNode *csi_node; /* (owned): NULL: none */
    int64_t requested_cpu_milli, requested_memory_bytes;
    int64_t nonzero_cpu_milli,
        nonzero_memory_bytes; /* with a default for containers that ask for nothing (VF-88) */
    int32_t n_pods;
    CachedPod *pods;
    NodeVolumes volumes;
    NodeDomains domains;
    unsigned zone;            /* index into the cache's zones */
    gboolean has_soft_taints; /* PreferNoSchedule */
    unsigned place;           /* in the list of nodes; NO_PLACE: not in it, or not yet */
    /* The score that the last pod got here, by the number of its Ask; 0: the node has changed
     * since. */
    uint32_t scored_ask;
    int64_t ask_score;
};

#define NO_PLACE UINT32_MAX

/* Returns: what is left of @allocatable. Sums of requests wrap around beyond 8 EiB, as int64 does
 * in Go: pods that name their node add up to anything. The difference wraps back. */
static inline int64_t
node_info_left(int64_t allocatable, int64_t requested)
{
    int64_t left;

    (void)__builtin_sub_overflow(allocatable, requested, &left);
    return left;
}

/* The part of a pod that some plugins look at beside the node, and at nothing else: equal for most
 * pods. */
typedef struct {
    int64_t cpu_milli, memory_bytes;
    unsigned n_containers;
    const char *driver; /* with a volume limit, interned; NULL: none */
    uint32_t n_volumes; /* of that driver, and new to every node */
    gboolean is_taken;  /* wants a ReadWriteOncePod claim that another pod has */
    uint32_t plugins;   /* 1 << PluginId: plugins that look at nothing else */
} Ask;

/* Why a node refuses an ask. */
typedef enum {
    REFUSED_PODS,
    REFUSED_CPU,
    REFUSED_MEMORY,
    REFUSED_CLAIM,
    REFUSED_VOLUMES,
    N_REFUSALS,
} Refusal;

/* The answers of nodes to an ask, each true until the node changes. The cycle adds to it. */
typedef struct {
    Ask ask;
    uint32_t number;                /* 0: none yet */
    NodeSet passed, refused;        /* nodes that would take it, or would not */
    NodeSet refused_by[N_REFUSALS]; /* for what; may be several */
} AskMemo;

/* A pod on a node. */
struct CachedPod {
    const Pod *pod; /* (owned) */
    NodeInfo *node;
    CachedPod *next_on_node, *previous_on_node;
    CachedPod *next_of_name; /* another life of the same name */
    void *attempt; /* borrowed: the attempt that binds an assumed pod; NULL: the API has the pod on
                      the node */
};

typedef struct {
    VolumeSources sources; /* borrowed */
    Informer *attachments;
    Strings *strings;
} CacheOptions;

SchedulerCache *scheduler_cache_new(const CacheOptions *options);
void scheduler_cache_free(SchedulerCache *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(SchedulerCache, scheduler_cache_free)

/* ---- What informers tell. @before, @after as in InformerHandler ---- */
void scheduler_cache_set_node(SchedulerCache *self,
                              const ObjectKey *key,
                              const Node *node); /* NULL: gone */
void scheduler_cache_set_csi_node(SchedulerCache *self,
                                  const ObjectKey *node_key,
                                  const CsiNode *csi_node); /* NULL: gone */
void scheduler_cache_claim_changed(SchedulerCache *self, const ObjectKey *claim);
void
scheduler_cache_volume_changed(SchedulerCache *self, const Object *before, const Object *after);
void
scheduler_cache_attachment_changed(SchedulerCache *self, const Object *before, const Object *after);

/* ---- Pods ---- */
/* @attempt: not NULL: assumed (SCH-50.9). An assumed pod of the same uid becomes the added one
 * (SCH-76). */
CachedPod *
scheduler_cache_add_pod(SchedulerCache *self, const Pod *pod, const char *node_name, void *attempt);
/* Makes the pod an assumed one, or (NULL) no longer one. */
void scheduler_cache_set_attempt(SchedulerCache *self, CachedPod *cached, void *attempt);
void scheduler_cache_remove_pod(SchedulerCache *self, CachedPod *cached);
/* Returns: (borrowed): NULL: this life of the pod is on no node */
CachedPod *
scheduler_cache_find_pod(const SchedulerCache *self, const ObjectKey *key, ObjectUid uid);

/* Returns: how many pods are on nodes, assumed ones included. @n_assumed: (out): how many are
 * assumed */
unsigned scheduler_cache_count_pods(const SchedulerCache *self, unsigned *n_assumed);

/* The lowest priority of a pod on any node; INT32_MAX: there is none. */
int32_t scheduler_cache_lowest_priority(const SchedulerCache *self);

/* A pod without a node, for which victims had to leave one (SCH-59). */
typedef struct {
    const Pod *pod; /* (owned) */
    NodeInfo *node;
} NominatedPod;
/* @node_name NULL: the nomination ends. */
void scheduler_cache_nominate(SchedulerCache *self, const Pod *pod, const char *node_name);
/* Returns: (borrowed): @n of them, in the order of their nomination */
const NominatedPod *scheduler_cache_nominated(const SchedulerCache *self, unsigned *n);

/* VF-88: requests as scores count them: containers that ask for nothing stand in with 100 m and 200
 * MiB each. */
void pod_nonzero_requests(const PodSpec *spec, int64_t *cpu_milli, int64_t *memory_bytes);

/* ---- What a cycle reads ---- */
/* Nodes in the order in which a cycle looks at them (SCH-56): zones take turns. */
NodeInfo *const *scheduler_cache_nodes(SchedulerCache *self, unsigned *n);
/* Returns: (borrowed): NULL: not known */
NodeInfo *scheduler_cache_find_node(const SchedulerCache *self, const ObjectKey *key);
/* How many pods on nodes use the claim (VF-31). */
unsigned scheduler_cache_claim_users(const SchedulerCache *self, const ObjectKey *claim);
PodCounts *scheduler_cache_pod_counts(const SchedulerCache *self);
/* Returns: (borrowed): the answers so far, under a number of their own; valid until the next ask */
AskMemo *scheduler_cache_recall_ask(SchedulerCache *self, const Ask *ask);
/* Nodes that repel some pods: cordoned, or with a taint of effect NoSchedule or NoExecute. */
const NodeSet *scheduler_cache_special_nodes(const SchedulerCache *self);
/* For questions about labels; places are as in scheduler_cache_nodes(). */
LabelIndex *scheduler_cache_labels(SchedulerCache *self);
/* How many nodes there are of each kind that some plugin looks for. */
typedef struct {
    unsigned n_unschedulable, n_tainted, n_soft_tainted;
} NodeCounts;
const NodeCounts *scheduler_cache_node_counts(const SchedulerCache *self);
