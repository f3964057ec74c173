/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "models/scheduler/binding.h"
#include "models/scheduler/cache.h"
#include "sim/random.h"

/* The plugins of the default profile, in its order (SCH-51). Filters run in this order on each node
 * and stop at the first rejection, so the order shows in messages; add where the profile has it. */
typedef enum {
    PLUGIN_NODE_UNSCHEDULABLE,
    PLUGIN_NODE_NAME,
    PLUGIN_TAINT_TOLERATION,
    PLUGIN_NODE_AFFINITY,
    PLUGIN_NODE_RESOURCES_FIT,
    PLUGIN_VOLUME_RESTRICTIONS,
    PLUGIN_NODE_VOLUME_LIMITS,
    PLUGIN_VOLUME_BINDING,
    PLUGIN_VOLUME_ZONE,
    PLUGIN_POD_TOPOLOGY_SPREAD,
    PLUGIN_INTER_POD_AFFINITY,
    PLUGIN_BALANCED_ALLOCATION,
    PLUGIN_SCHEDULING_GATES,
    N_PLUGINS,
} PluginId;

typedef enum {
    VERDICT_OK,
    VERDICT_SKIP,          /* of pre_filter: nothing to filter in this cycle */
    VERDICT_ANY_NODE,      /* of pre_filter: a success, and every node will pass */
    VERDICT_UNSCHEDULABLE, /* removing other pods might help */
    VERDICT_UNRESOLVABLE,  /* it could not */
    VERDICT_ERROR,         /* the whole attempt ends */
} Verdict;

/* How a share of used capacity scores: straight lines between points (VB-61). */
typedef struct {
    int64_t utilization; /* percent */
    int64_t score;       /* 0 to 100 */
} ShapePoint;

/* The view that all cycles read; borrowed. */
typedef struct {
    Objects *objects;
    SchedulerCache *cache;
    VolumeBinder *binder;
    Informer *claims, *volumes, *classes, *csi_drivers, *capacities, *services;
    Informer *owners[N_KINDS];       /* of kinds with spec.replicas that own pods; else NULL */
    InformerIndex *free_volumes;     /* by class: volumes without a claimRef */
    InformerIndex *reserved_volumes; /* by the claim that their claimRef names */
    InformerIndex *capacities_by_class;
    InformerIndex *services_by_namespace;
    gboolean attributes_classes; /* gate VolumeAttributesClass */
    gboolean scales_limits;      /* gate VolumeLimitScaling */
    int32_t max_pd_vols;         /* KUBE_MAX_PD_VOLS; 0: not set (VF-7) */
    gboolean min_domains;        /* gate MinDomainsInPodTopologySpread */
    const Release *release;      /* NULL: in tests that do without */
    int minor;                   /* of the release */
    int32_t percentage_of_nodes_to_score;
    const ShapePoint *shape;                 /* of VolumeBinding's score */
    unsigned n_shape;                        /* 0: it does not score */
    const char *hostname_label, *zone_label; /* interned */
    SimStream tie_break, preemption_offset, preemption_order;
} CycleView;

#define NO_BEST UINT32_MAX

/* A driver, or an in-tree plugin, and how many volumes of it the pod brings. */
typedef struct {
    const char *driver;
    uint32_t n_volumes;
    gboolean is_shared; /* another pod uses one of these volumes already */
    gboolean is_needed; /* on the node (VF-93) */
    const char *csi;    /* the driver that takes the plugin's volumes over; else @driver */
    const struct InTreePlugin *plugin; /* of either name; NULL: none */
} LimitedDriver;

/* A claim of the pod. */
typedef struct {
    const ObjectKey *key;
    const PodVolume *volume;   /* of the pod */
    const Claim *claim;        /* as assumed (VB-75); NULL: missing */
    const StorageClass *class; /* NULL: none or missing */
    gboolean is_bound;
    const Volume *bound;                    /* bound: its volume; NULL: missing */
    const char *selected_node;              /* unbound: NULL: none yet */
    const Volume *reserved;                 /* unbound: a volume whose claimRef is for it */
    unsigned first_candidate, n_candidates; /* unbound: in Cycle.candidates, best first */
    unsigned first_best;                    /* in Cycle.best; NO_BEST: not known */
    gboolean refused;                       /* VB-40.5 */
    gboolean checks_capacity;               /* VB-51 */
} CycleClaim;

/* Why nodes were rejected, and how many. */
typedef struct {
    const char *text; /* static; of a taint: a format for the two below */
    const char *key, *value;
    unsigned n_nodes;
} Reason;

/* The nodes that a plugin will reject, known before any node is looked at: all for the same reason,
 * and without hope. */
typedef struct {
    PluginId plugin;
    const char *reason; /* static */
    NodeSet nodes;      /* all other nodes are rejected, by this plugin or an earlier one */
} Narrowing;

#define MAX_NARROWINGS 8

/* A topology spread constraint in effect. */
typedef struct {
    PodCounter *counter;
    unsigned topology;
    int32_t max_skew, min_domains, min_count;
    gboolean do_not_schedule, is_hostname, matches_itself;
    double weight; /* of a count in the score */
    unsigned first_outside,
        n_outside; /* in Cycle.outside, by domain: pods on nodes that do not count */
} SpreadState;

/* A term of pod affinity in effect: what the count of a node's domain means. */
typedef enum {
    TERM_REQUIRED,  /* the pod's affinity terms: matching pods must be there */
    TERM_FORBIDDEN, /* the pod's anti-affinity terms: matching pods must not be there */
    TERM_FORBIDS,   /* anti-affinity terms of other pods that match the pod */
    TERM_SCORED,
} TermKind;

typedef struct {
    TermKind kind;
    PodCounter *counter;
    int64_t weight;
} TermState;

/* One attempt. Reused from cycle to cycle: nothing is allocated per node. */
typedef struct {
    const CycleView *view;
    const Pod *pod;
    uint32_t attempts;
    GArray *claims;        /* of CycleClaim, in the order of the pod's volumes */
    GArray *by_size;       /* of unsigned: unbound claims, the smallest first (VB-23) */
    GPtrArray *candidates; /* of Volume */
    GArray *best;          /* of unsigned, by place of a node: the first candidate in its reach;
                              n_candidates: none */
    GArray *zones;         /* of ZoneRequirement, in volumes.c */
    GArray *spread;        /* of SpreadState */
    GArray *outside;       /* of int32_t: see SpreadState */
    GArray *terms;         /* of TermState */
    GArray *choices;       /* of VolumeChoice (items borrowed): for the node that was asked last */
    GPtrArray
        *taken;      /* of ObjectKey: the volumes chosen for the pod's claims on the present node */
    GArray *limited; /* of LimitedDriver */
    GArray
        *names; /* of VolumeName: the pod's volumes, under the names by which limits count them */
    GArray *marks; /* of unsigned: the last count that met the domain */
    unsigned n_marks;
    const CycleClaim
        *unknown_volume; /* a claim whose volume cannot be counted (VF-1); NULL: none */
    unsigned n_rwop_conflicts;
    gboolean has_disks;   /* named in the pod, that pods of a node do not share (VF-34) */
    gboolean self_affine; /* the pod matches its own required affinity terms */
    int64_t nonzero_cpu_milli, nonzero_memory_bytes;
    AskMemo *memo; /* (borrowed): what is known about pods with the same request */
    uint32_t
        ask_plugins; /* 1 << PluginId: their filters and scores depend on that and the node alone */
    uint32_t refusals;  /* 1 << Refusal: of the node that is asked; to be emptied before */
    gboolean remembers; /* refusals are remembered by node, not counted */
    Narrowing narrowings[MAX_NARROWINGS]; /* those in use come first, in the order of the plugins */
    unsigned n_narrowings;
    uint32_t narrowed_plugins; /* 1 << PluginId: their filters reject nothing that their narrowings
                                  leave */
    NodeSet set, covered;      /* of questions at hand */
    NodeSet special;           /* nodes that are asked all, in this cycle */
    NodeSet named;             /* with has_names: the only nodes that are looked at (SCH-52) */
    gboolean has_names;
    NodeSet helpable; /* nodes that might do without some of their pods; filled if there is no
                         feasible one */

    GArray *reasons;         /* of Reason */
    GString *text;           /* why pre_filter rejected the pod, or what the error is */
    GPtrArray *feasible;     /* of NodeInfo */
    GArray *totals, *scores; /* of int64_t, by feasible node */
} Cycle;

/* A row of the table. Functions may be missing. */
typedef struct {
    const char *name;
    Verdict (*pre_filter)(Cycle *cycle);
    Verdict (*filter)(Cycle *cycle, const NodeInfo *node);
    gboolean (*pre_score)(Cycle *cycle); /* FALSE: adds nothing to anybody */
    int64_t (*score)(Cycle *cycle, const NodeInfo *node);
    void (*normalise)(const Cycle *cycle, int64_t *scores, unsigned n);
    /* Fills in the Ask, which is then all that its filter and score look at beside the node; the
     * plugin always scores, without normalise(). FALSE: it looks at more. NULL: always. */
    gboolean (*ask)(const Cycle *cycle, Ask *ask);
    int64_t weight;
} Plugin;

extern const Plugin plugins[N_PLUGINS]; /* plugins.c */

#define MAX_NODE_SCORE INT64_C(100) /* SCH-10 */

/* ---- For plugins: why this node is rejected ---- */
void cycle_reason(Cycle *cycle, const char *text);
void cycle_reason_taint(Cycle *cycle, const Taint *taint);
/* ... or the pod, or what went wrong. */
void cycle_text(Cycle *cycle, const char *format, ...) G_GNUC_PRINTF(2, 3);

/* 100 * score / max, as most plugins have it; all 0 stays 0. @reversed: 100 minus that. */
void normalise_by_max(int64_t *scores, unsigned n, gboolean reversed);

/* The same of several nodes. */
void cycle_reason_of_nodes(Cycle *cycle, const char *text, unsigned n_nodes);
/* As cycle_reason(), of a plugin that goes by the ask. */
const char *refusal_text(const Cycle *self, Refusal refusal);
void cycle_refuse(Cycle *cycle, Refusal refusal);
/* The nodes that @plugin leaves, at first all; @reason: of the others (static). For pre_filter, in
 * the order in which the filter would find its reasons. NULL: there are too many narrowings; the
 * filter must decide */
NodeSet *cycle_narrow(Cycle *cycle, PluginId plugin, const char *reason);
/* Takes back all narrowings by @plugin. */
void cycle_widen(Cycle *cycle, PluginId plugin);
/* The narrowings are exact: the filter need not look at the nodes that are left. */
void cycle_narrow_exactly(Cycle *cycle, PluginId plugin);

/* The class that a claim names. (borrowed): NULL: none, or missing */
const StorageClass *cycle_find_class(const Cycle *cycle, const Claim *claim);

/* ---- nodes.c ---- */
Verdict node_unschedulable_pre_filter(Cycle *cycle);
Verdict node_unschedulable_filter(Cycle *cycle, const NodeInfo *node);
Verdict node_name_pre_filter(Cycle *cycle);
Verdict node_name_filter(Cycle *cycle, const NodeInfo *node);
Verdict taint_toleration_pre_filter(Cycle *cycle);
Verdict taint_toleration_filter(Cycle *cycle, const NodeInfo *node);
gboolean taint_toleration_pre_score(Cycle *cycle);
int64_t taint_toleration_score(Cycle *cycle, const NodeInfo *node);
void taint_toleration_normalise(const Cycle *cycle, int64_t *scores, unsigned n);
Verdict node_affinity_pre_filter(Cycle *cycle);
Verdict node_affinity_filter(Cycle *cycle, const NodeInfo *node);
gboolean node_affinity_pre_score(Cycle *cycle);
int64_t node_affinity_score(Cycle *cycle, const NodeInfo *node);
void node_affinity_normalise(const Cycle *cycle, int64_t *scores, unsigned n);
/* Whether the pod's selector and required affinity admit the node (VF-47). */
gboolean pod_wants_node(const Pod *pod, const Node *node);
/* The first taint that keeps the pod away (VF-42); NULL: none */
const Taint *pod_untolerated_taint(const Pod *pod, const Node *node);

/* ---- resources.c ---- */
Verdict resources_fit_filter(Cycle *cycle, const NodeInfo *node);
gboolean resources_pre_score(Cycle *cycle);
int64_t least_allocated_score(Cycle *cycle, const NodeInfo *node);
int64_t balanced_allocation_score(Cycle *cycle, const NodeInfo *node);
gboolean resources_ask(const Cycle *cycle, Ask *ask);

/* ---- volumes.c ---- */
Verdict volume_restrictions_pre_filter(Cycle *cycle);
Verdict volume_restrictions_filter(Cycle *cycle, const NodeInfo *node);
gboolean volume_restrictions_ask(const Cycle *cycle, Ask *ask);
Verdict volume_limits_pre_filter(Cycle *cycle);
Verdict volume_limits_filter(Cycle *cycle, const NodeInfo *node);
gboolean volume_limits_ask(const Cycle *cycle, Ask *ask);
Verdict volume_zone_pre_filter(Cycle *cycle);
Verdict volume_zone_filter(Cycle *cycle, const NodeInfo *node);
/* VF-21..23: whether the zones and regions in the labels of two versions of a volume differ. */
gboolean volume_zones_differ(const StringMap *before, const StringMap *after);

/* ---- volume-binding.c ---- */
Verdict volume_binding_pre_filter(Cycle *cycle);
Verdict volume_binding_filter(Cycle *cycle, const NodeInfo *node);
/* Fills cycle->choices for @node, which passed the filter. */
void volume_binding_choose(Cycle *cycle, const NodeInfo *node);
/* VB-51: the largest volume that a capacity object admits; -1: it says nothing */
int64_t storage_capacity_limit(const StorageCapacity *capacity);

/* VB-13; VB-21 to VB-23 */
extern const RuleTable scheduler_claim_rules, scheduler_narrowing_rules;

/* ---- capacity-score.c ---- */
gboolean volume_binding_pre_score(Cycle *cycle);
int64_t volume_binding_score(Cycle *cycle, const NodeInfo *node);
/* Of one class: what claims ask for, and what the volumes that they would get have. */
typedef struct {
    const char *class; /* interned */
    int64_t requested_bytes, capacity_bytes;
} ClassUse;
/* "0:0,100:10": percent and score of up to 10 of each point. @shape: (out): of ShapePoint. Returns:
 * FALSE: it is none */
gboolean capacity_shape_parse(const char *text, GArray *shape);

/* ---- pod-topology-spread.c ---- */
Verdict topology_spread_pre_filter(Cycle *cycle);
Verdict topology_spread_filter(Cycle *cycle, const NodeInfo *node);
gboolean topology_spread_pre_score(Cycle *cycle);
int64_t topology_spread_score(Cycle *cycle, const NodeInfo *node);
void topology_spread_normalise(const Cycle *cycle, int64_t *scores, unsigned n);

/* ---- inter-pod-affinity.c ---- */
Verdict pod_affinity_pre_filter(Cycle *cycle);
Verdict pod_affinity_filter(Cycle *cycle, const NodeInfo *node);
gboolean pod_affinity_pre_score(Cycle *cycle);
int64_t pod_affinity_score(Cycle *cycle, const NodeInfo *node);
void pod_affinity_normalise(const Cycle *cycle, int64_t *scores, unsigned n);
