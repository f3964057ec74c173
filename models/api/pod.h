/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "storage.h"
#include "taint.h"

typedef enum {
    POD_PENDING,
    POD_RUNNING,
    POD_SUCCEEDED,
    POD_FAILED,
    POD_UNKNOWN,
} PodPhase;

/* A volume of a pod that is a claim, a generic ephemeral volume, or an inline volume of CSI, an
 * in-tree plugin or FlexVolume. Others (configMap, emptyDir, hostPath, ...) are left out. */
typedef struct {
    const char *name;       /* spec.volumes[].name */
    const char *claim_name; /* of an ephemeral volume: "<pod>-<volume>" (VB-9); NULL: inline */
    gboolean read_only;
    gboolean ephemeral;
    Claim *claim_template; /* of an ephemeral volume; owned by the list */
    /* some container has it in volumeMounts or volumeDevices; other volumes are not set up */
    gboolean mounted;
    gboolean device; /* in volumeDevices */
    /* An inline volume; of csi without a handle. Owned by the list. NULL: a claim */
    VolumeSource *source;
    ObjectKey *claim; /* what pod_claim_key() found last; NULL: nothing yet */
} PodVolume;

typedef struct {
    RefCount refs;
    unsigned n_items;  /* claims */
    unsigned n_inline; /* inline volumes: they stand in @items behind the claims */
    PodVolume items[];
} PodVolumes; /* immutable, shared; NULL: none */

/* Claims that a StatefulSet makes: their names, labels, annotations and specs. Their keys are of no
 * real claims. */
typedef Claim *ClaimTemplate;
REF_LIST(ClaimTemplates, ClaimTemplate);

/* A term of pod (anti-)affinity. */
typedef struct {
    LabelSelector *selector;
    StringList *namespaces; /* NULL: the pod's own */
    const char *topology_key;
    int32_t weight; /* 0: required */
    gboolean anti;
} PodAffinityTerm;

typedef struct {
    LabelSelector *selector;
    const char *topology_key;
    int32_t max_skew;
    int32_t min_domains;      /* 0: not given */
    gboolean do_not_schedule; /* whenUnsatisfiable */
} SpreadConstraint;

typedef struct {
    const char *name, *image; /* interned */
} PodContainer;

typedef enum {
    PREEMPT_LOWER_PRIORITY,
    PREEMPT_NEVER,
} PreemptionPolicy;

/* The part of a pod that never changes. All pods of a template share it. */
typedef struct {
    RefCount refs;
    const char *scheduler_name; /* default "default-scheduler" */
    const char *restart_policy; /* default "Always" */
    int64_t cpu_milli; /* sum of the containers' requests; init containers count as in Kubernetes */
    int64_t memory_bytes;
    unsigned n_containers;
    /* (owned): spec.containers, for the kubelet's events; NULL: unknown */
    PodContainer *containers;
    int32_t grace_s; /* terminationGracePeriodSeconds, default 30 */
    int32_t priority;
    gboolean gives_priority;    /* the manifest has one */
    const char *priority_class; /* priorityClassName; NULL: none */
    uint32_t preemption_policy; /* PreemptionPolicy */
    StringMap *node_selector;
    NodeSelector *required_nodes;  /* nodeAffinity.requiredDuringScheduling...; NULL: none */
    NodeSelector *preferred_nodes; /* terms with weights */
    Tolerations *tolerations;
    StringList *scheduling_gates;
    unsigned n_pod_terms;
    PodAffinityTerm *pod_terms; /* owned */
    unsigned n_spread;
    SpreadConstraint *spread;    /* owned */
    const char *service_account; /* serviceAccountName; NULL: "default", as admission sets it */
    int64_t fs_group;            /* securityContext.fsGroup; -1: none */
    const char *fs_group_policy; /* securityContext.fsGroupChangePolicy; NULL: Always */
    const char *selinux_policy;  /* securityContext.seLinuxChangePolicy; NULL: MountOption */
    struct {
        const char *user, *role, *type, *level; /* NULL: not given */
    } selinux;                                  /* securityContext.seLinuxOptions */
    gboolean has_empty_dir;                     /* some volume is an emptyDir */
    StringList *mounts, *devices; /* names in the containers' volumeMounts and volumeDevices */
    json_t *manifest; /* (owned): as it was read, for the output of a template's pods; NULL: none */
} PodSpec;

PodSpec *pod_spec_new(void); /* with defaults */
PodSpec *pod_spec_ref(const PodSpec *self);
void pod_spec_unref(PodSpec *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(PodSpec, pod_spec_unref)
/* Returns: (owned): a copy with these tolerations (nullable) in place of its own */
PodSpec *pod_spec_with_tolerations(const PodSpec *self, const Tolerations *tolerations);
/* The same, and these required nodes (nullable) */
PodSpec *pod_spec_for_nodes(const PodSpec *self,
                            const Tolerations *tolerations,
                            const NodeSelector *required);

/* The same, without schedulingGates */
PodSpec *pod_spec_without_gates(const PodSpec *self);
/* Whether an update from one to the other asks nothing new of a kubelet (API-3): it may name the
 * account "default" and mount its token, as the server prints them. */
gboolean pod_spec_asks_same(const PodSpec *self, const PodSpec *other);
/* What admission makes of priorityClassName. */
typedef struct {
    const char *class; /* interned; NULL: none */
    int32_t value;
    uint32_t preemption_policy; /* PreemptionPolicy */
} PodPriority;

/* Returns: (owned): a copy with this priority */
PodSpec *pod_spec_with_priority(const PodSpec *self, const PodPriority *priority);

typedef struct {
    const char *reason; /* NULL: none */
    const char *message;
    SimTime changed_at; /* lastTransitionTime */
    uint32_t status;    /* ConditionStatus */
} PodCondition;

typedef enum {
    CONDITION_ABSENT,
    CONDITION_FALSE,
    CONDITION_TRUE,
    CONDITION_UNKNOWN,
} ConditionStatus;

typedef struct {
    Object meta;
    PodSpec *spec; /* never NULL; see pod_set_spec() */
    PodVolumes *volumes;
    const char *node_name;        /* spec.nodeName; NULL: not bound */
    const char *hostname;         /* spec.hostname, of a StatefulSet's pod */
    const char *nominated_node;   /* status.nominatedNodeName; NULL: none */
    const char *reason, *message; /* status.reason, message */
    PodCondition scheduled, initialized, containers_ready, ready,
        ready_to_start;      /* status.conditions */
    PodCondition disruption; /* DisruptionTarget */
    SimTime started_at;      /* status.startTime; TIME_UNSET: the kubelet has not seen it */
    /* How often each container was restarted because its definition changed (counted apart from
     * other restarts): numbers with blanks between, in the containers' order; NULL: never */
    const char *restarts_alone;
    gboolean disruption_first;   /* ... stands before the conditions of the kubelet (WL-95) */
    uint32_t phase;              /* PodPhase */
    int32_t restarts;            /* of all its containers, which end together */
    int32_t exit_code;           /* of its containers; 0 also before that */
    int32_t observed_generation; /* status.observedGeneration; 0: not told */
} Pod;

#define POD(object) ((Pod *)(object))
#define POD_CONST(object) ((const Pod *)(object))

/* Also with @n_inline inline volumes behind the claims: takes their sources. */
PodVolumes *pod_volumes_new_with_inline(const PodVolume *items, unsigned n, unsigned n_inline);
/* Returns: (owned): the items of a list (nullable) as the functions above take them, to be changed
 * first */
PodVolume *pod_volumes_copy_items(const PodVolumes *self);
/* For a log. Returns: (owned): a copy in memory for logs; without @cold a reference */
PodVolumes *pod_volumes_keep(const PodVolumes *self, SimCold *cold);
/* Gives back what pod_volumes_keep() returned. */
void pod_volumes_unkeep(PodVolumes *self, const SimCold *cold);
/* Whether a CSI inline volume is of this driver. @self may be NULL */
gboolean pod_volumes_has_inline(const PodVolumes *self, const char *driver);
/* An inline volume of an in-tree plugin or of FlexVolume as a component of this release sees it: as
 * the PersistentVolume that it becomes for its CSI driver (MIG-45), else as one without modes,
 * called as the volume in the pod. Returns: (owned) */
Object *
pod_volume_as_volume(Objects *objects, const PodVolume *self, const struct Release *release);
PodVolumes *pod_volumes_ref(const PodVolumes *self);
void pod_volumes_unref(PodVolumes *self);

/* Replaces the spec and the volumes (nullable), with a reference to each. */
void pod_set_spec(Pod *self, const PodSpec *spec, const PodVolumes *volumes);
gboolean pod_is_terminal(const Pod *self); /* Succeeded or Failed */
gboolean pod_is_ready(const Pod *self);
/* The condition DisruptionTarget; @wanted: true since its changed_at, with interned words. Returns:
 * whether the pod says something else */
gboolean pod_disruption_differs(const Pod *self, const PodCondition *wanted);
/* UpdatePodCondition(): since when stays if it was true before. Returns: whether it changed */
gboolean pod_set_disruption(Pod *self, const PodCondition *wanted);
/* The key of the claim of a volume of this pod. */
ObjectKey *pod_claim_key(Objects *objects, const Pod *self, const PodVolume *volume);
const char *pod_phase_name(PodPhase phase);

/* Disks that a node takes: attachable-volumes-aws-ebs and so on. */
typedef enum {
    NODE_EBS_DISKS,
    NODE_AZURE_DISKS,
    NODE_CINDER_DISKS,
    NODE_GCE_DISKS,
    N_NODE_DISKS,
} NodeDisks;

typedef struct {
    int64_t cpu_milli, memory_bytes;
    int32_t pods;
    int32_t disks[N_NODE_DISKS]; /* negative: the node tells no number */
} NodeResources;

/* Conditions of a Node beside Ready: each is bad if it is true, and has a taint (NL-25). The
 * kubelet writes the first three. */
typedef enum {
    NODE_MEMORY_PRESSURE,
    NODE_DISK_PRESSURE,
    NODE_PID_PRESSURE,
    NODE_NETWORK_UNAVAILABLE,
    N_NODE_TROUBLES,
    N_NODE_PRESSURES = NODE_NETWORK_UNAVAILABLE,
} NodeTrouble;

/* Node. */
typedef struct {
    Object meta;
    gboolean unschedulable;
    Taints *taints;
    NodeResources allocatable;
    const char *provider_id;
    PodCondition ready;                     /* status.conditions[Ready] */
    SimTime heartbeat_at;                   /* of that condition */
    PodCondition troubles[N_NODE_TROUBLES]; /* absent: counts as healthy */
    StringList *volumes_in_use;             /* status.volumesInUse: unique volume names, sorted */
    /* status.volumesAttached: unique volume names, in the order reported */
    StringList *volumes_attached;
} Node;

#define NODE(object) ((Node *)(object))

/* The pod template of a workload, with labels. */
typedef struct {
    RefCount refs;
    StringMap *labels, *annotations;
    PodSpec *spec;
    PodVolumes *volumes;
    json_t *manifest; /* the template as given; for output */
} PodTemplate;

PodTemplate *pod_template_new(void); /* with defaults */
PodTemplate *pod_template_ref(const PodTemplate *self);
void pod_template_unref(PodTemplate *self);

typedef struct {
    Object meta;
    int32_t replicas; /* default 1 */
    int32_t ordinals_start;
    int32_t min_ready_s;
    int32_t partition;                                /* updateStrategy.rollingUpdate.partition */
    int32_t revision_history_limit;                   /* default 10 */
    gboolean parallel;                                /* podManagementPolicy */
    gboolean on_delete;                               /* updateStrategy.type */
    gboolean delete_when_deleted, delete_when_scaled; /* persistentVolumeClaimRetentionPolicy */
    const char *service_name;
    LabelSelector *selector;
    PodTemplate *template;
    ClaimTemplates *claim_templates;
    int32_t observed_generation, status_replicas, ready_replicas, available_replicas,
        current_replicas, updated_replicas;
    const char *current_revision, *update_revision;
} StatefulSet;

typedef struct {
    Object meta;
    int64_t revision;
    PodTemplate *template; /* the template that it keeps; NULL: none is known */
} ControllerRevision;

#define STATEFUL_SET(object) ((StatefulSet *)(object))
#define CONTROLLER_REVISION(object) ((ControllerRevision *)(object))

extern const FieldType field_pod_spec, field_pod_volumes, field_pod_template, field_claim_templates;