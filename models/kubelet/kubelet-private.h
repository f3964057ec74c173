/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "kubelet.h"
#include "models/api/container-life.h"
#include "models/cluster/cluster.h"
#include "models/metrics/metrics.h"
#include "models/plan/plan.h"
#include "models/volume/plugins.h"
#include "sim/ticker.h"

/* A kubelet's parts. Who owns what:
 *
 *   Kubelet -> PodWorker (of a pod as long as something of it is on the node) -> PodMount (in the
 * worker's own memory) Kubelet -> NodeVolume (as long as desired or actual state knows it) ->
 * PendingOperation (while it runs or backs off)
 *
 * A NodeVolume lists the PodMounts that desired or actual state has; those are detached before
 * their worker goes. Everything but the Kubelet itself and the ticker of its status loop comes with
 * the first pod, so that an idle node is small. */
typedef struct Kubelet Kubelet;
typedef struct NodeVolume NodeVolume;
typedef struct PodMount PodMount;
typedef struct PodRun PodRun;
typedef struct PodWorker PodWorker;
typedef struct PendingOperation PendingOperation;

/* KVM-13. What actual state knows of a mount into a pod, and of a volume's staging. */
typedef enum {
    MOUNT_NONE,
    MOUNT_UNCERTAIN, /* perhaps: it must be undone all the same */
    MOUNT_DONE,
} MountState;

/* A volume in a pod that some container uses: KVM-12, KVM-13. */
struct PodMount {
    PodWorker *worker;
    const PodVolume *spec;   /* in the pod's volumes; kept by worker->volumes */
    NodeVolume *volume;      /* NULL: neither in desired nor in actual state */
    PodMount *next;          /* of the same volume */
    const char *target_path; /* CSI: set with the first SetUp */
    StringMap *context; /* volume_context with the pod's particulars; NULL: the volume's (KVM-43) */
    SimTime desired_at; /* since when it is */
    MountState state;
    gboolean desired;
    gboolean remount_required; /* KVM-52 */
    gboolean rebuilt;          /* found on the disk, and not mounted since (KVM-61) */
};

/* Names of operations, KVM-39. */
typedef enum {
    OPERATION_VERIFY,
    OPERATION_MOUNT,
    OPERATION_UNMOUNT,
    OPERATION_UNMOUNT_DEVICE,
    OPERATION_EXPAND,
    OPERATION_ATTACH, /* these by a kubelet that manages attachments (KVM-69) */
    OPERATION_DETACH,
} OperationName;

/* An entry of nestedpendingoperations (OP-1). */
struct PendingOperation {
    PendingOperation *next; /* of the same volume */
    NodeVolume *volume;
    const PodMount *key; /* its pod's part of the key; NULL: "" */
    PodMount *target;    /* what a mount or unmount works on */
    OperationName name;
    gboolean running;
    SimTime backoff; /* 0: no failure yet */
    SimTime failed_at;
    SimTime deadline; /* of the calls of the step at hand (KVM-5) */
};

/* A volume in desired state, actual state, or both: KVM-12, KVM-13. */
struct NodeVolume {
    Kubelet *kubelet;
    const char *name; /* unique, KVM-12 */
    const Object *pv; /* (owned) */
    const VolumePlugin *plugin;
    ObjectKey *attachment;        /* CSI: its VolumeAttachment, once looked for */
    const char *staging_path;     /* CSI: once staged */
    PodMount *mounts;             /* in desired or actual state, in the order of arrival */
    PendingOperation *operations; /* (owned) */
    SimEventId retry;             /* the end of a back-off */
    Informer *pv_informer; /* (owned): tells of a larger PersistentVolume; NULL: not asked for */
    int64_t told_bytes;    /* the PersistentVolume's size as that told */
    int64_t desired_bytes; /* ... as a pod's sync read it; 0: never */
    int64_t actual_bytes;  /* the claim's capacity, as far as this node knows; 0: not yet */
    unsigned n_desired;    /* mounts that are */
    MountState device;
    /* For the log of causes: what made it due last, and wanted in use; the round of Node status
     * that tells so. */
    SimCauseId due_by, wanted_by, told_by;
    gboolean attachable;
    gboolean reported_in_use;
    gboolean in_actual;               /* attached, as far as the kubelet minds (KVM-14) */
    gboolean size_known;              /* of the claim (KVM-36) */
    gboolean rebuilt;                 /* some mount of it was found on the disk (KVM-61) */
    gboolean attachability_uncertain; /* ... and the Node has not been read since (KVM-64) */
    gboolean due;                     /* in kubelet->due */
    gboolean only_offline;   /* the driver does not expand it while it is in use (KVM-56) */
    gboolean failed_finally; /* the last NodeExpandVolume did (RSZ-54.5) */
};

/* What the status manager is to tell about a pod (SEQ-9, SEQ-10). */
typedef enum {
    VIEW_NONE,
    VIEW_WAITING, /* Pending: ContainerCreating */
    VIEW_RUNNING,
    VIEW_RESTARTING, /* its containers have ended and will be started again */
    VIEW_ENDED,      /* ... and will not; the phase is told once nothing of it runs (KVM-88) */
    VIEW_SUCCEEDED,
    VIEW_BROKEN,    /* ended with an exit code that is not 0 */
    VIEW_FAILED,    /* its containers never ran */
    VIEW_SHUT_DOWN, /* ended with its machine */
    VIEW_REJECTED,  /* came while its machine was being shut down */
} PodView;

/* KVM-84. */
typedef enum {
    WORKER_SYNC,
    WORKER_TERMINATING,
    WORKER_TERMINATED,
    WORKER_FINISHED, /* nothing is left but the object */
} WorkerStep;

struct PodWorker {
    Kubelet *kubelet;
    ObjectKey *key;
    ObjectUid uid;
    const Object *pod;   /* (owned): the newest seen */
    PodVolumes *volumes; /* (owned): what mounts[].spec lies in */
    Plan *plan;          /* the step under way; NULL: none */
    GPtrArray *errors;   /* of interned strings: podErrors of desired state (KVM-12); NULL: none */
    SimTime synced_at;   /* the end of the last step; TIME_UNSET: none yet */
    SimTime seen_at;     /* status.startTime */
    SimEventId retry;    /* the next sync after a failed one */
    uint32_t n_retries;  /* of draws */
    WorkerStep step;
    PodView view;
    SimTime viewed_at;
    gboolean wants_step;    /* as soon as the pod cache is new enough */
    gboolean awaits_relist; /* in kubelet->awaiting */
    SimCauseId awaits_by;   /* what made it wait there */
    PodRun *run;            /* (owned): how its containers end by themselves; NULL: they do not */
    gboolean running;       /* its containers */
    gboolean was_running;
    gboolean stopped; /* its runtime is to be removed: nothing of it runs or will */
    /* In kubelet->unprocessed: not read by the populator since its last sync (KVM-23). */
    gboolean queued;
    gboolean rebuilt;       /* found on the disk, and not yet in the API */
    gboolean gone;          /* the object is not in the API any more */
    gboolean shut_down;     /* it ends because its machine does */
    gboolean rejected;      /* it was never let in */
    gboolean report_queued; /* in kubelet->reports */
    GList report_link;
    gboolean reporting;
    unsigned n_mounts;
    PodMount mounts[];
};

/* A container of a driver's pod: when it may be started again (REG-4). */
typedef struct {
    SimTime started_at;
    unsigned n_exits; /* since it ran for long */
} PluginContainer;

/* How a plugin stands on this node, REG §State machine. */
typedef struct {
    Kubelet *kubelet;
    unsigned driver;     /* of the cluster */
    gboolean registered; /* in the list of registered drivers: mounts may use it */
    SimEventId event;    /* its registrar begins */
    unsigned n_tries;    /* to write the Node, then the CSINode (REG-20) */
    int info_step;       /* of the registration's plan: NodeGetInfo */
    const char *failure; /* interned: why the registration that is being withdrawn failed */
    /* Numbers of its registrar's socket: the one that is there, and the one that is registered,
     * well or in vain (REG-16). 0: none */
    unsigned desired, actual;
    gboolean running; /* an operation */
    SimTime backoff;  /* 0: the last operation did not fail */
    SimTime failed_at;
    SimEventId restart; /* of its registrar, which has exited */
    PluginContainer registrar_container, driver_container;
    uint64_t n_draws;
    SimEventId probe; /* the next liveness probe; 0: none, or one is under way */
    SimTime probed_from;
    unsigned n_failed_probes;                /* in a row */
    SimSeries *desired_count, *actual_count; /* MET-98; NULL: not measured yet */
} NodePlugin;

struct Kubelet {
    Component base;
    const KubeletOptions *options;
    SimTime born_at;
    ObjectKey *node_key;
    Informer *nodes; /* its own Node only */
    /* Node status has a client without limit (KVM-10); made with the first report. */
    ApiClient *heartbeats;
    SimTicker *status_loop;
    NodePlugin *plugins;    /* those that run on this node */
    SimTicker *plugin_loop; /* NULL: never needed yet */
    unsigned n_plugins;
    SimEventId first_look; /* at its pods, after a restart */
    gboolean reporting_status;
    gboolean reporting_pod;
    /* Volumes were found on the disk, and since then the Node has not been read (KVM-64), the
     * populator has not been through. */
    gboolean awaits_node;
    gboolean awaits_populator;
    gboolean knows_pods; /* a restarted one does only after its first look */
    /* Its machine is being shut down: critical pods are what is left. */
    gboolean shutting_down, only_critical_left;
    SimEventId report_retry;   /* reports wait for it */
    SimEventId shutdown_event; /* the end of what the pods under way may take */
    /* Masks of 1 << NodeTrouble: what its machine runs short of; what the Node is to tell of that.
     */
    unsigned shortages, pressures;
    SimTime short_until[N_NODE_PRESSURES]; /* of what is over: the last look that found it so */
    SimEventId pressure_event;             /* the next look */
    gboolean told_unschedulable;           /* NL-27: the last Event about that */
    gboolean has_unreadable;               /* directories of volumes, found at its start (KVM-62) */
    unsigned n_cleaned_up;                 /* tries to unmount those (KVM-75:
                                              force_cleaned_failed_volume_operations_total) */

    /* From here on NULL or empty until the first pod arrives. */
    Informer *drivers;      /* CSIDriver objects */
    GPtrArray *workers;     /* of PodWorker, in the order of arrival (owned) */
    GPtrArray *volumes;     /* of NodeVolume (owned) */
    GPtrArray *awaiting;    /* workers that wait for a relist */
    GPtrArray *unprocessed; /* workers whose volumes the populator has to read */
    GPtrArray *images;      /* of const char *, interned: those that the node has; NULL: none */
    GPtrArray *stopping; /* workers whose volumes the populator has to take out of desired state */
    GPtrArray *due;      /* volumes at which the next reconciler pass must look */
    GPtrArray *passing;  /* those of the pass under way; else empty */
    GQueue reports;      /* workers whose status is to be written; by their report_link */
    gboolean driver_changed; /* a CSIDriver has, since the populator looked */
    GPtrArray *populating;   /* workers of the pass under way; NULL: none */
    PodWorker *populated;    /* the one it is at */
    Plan *populate_plan;
    SimTicker *relist;
    SimTicker *populator;
    SimTicker *reconciler;
    SimTime relist_period;
    uint16_t status_label, reconciler_label, relist_label; /* of loops, in the log of causes */
    /* MET-64: the series of the driver that was counted last. */
    const char *counted_driver;
    SimSeries *desired_count, *actual_count;
};

/* Changes of private state by plans. */
typedef enum {
    CHANGE_STATUS,             /* pointer: worker */
    CHANGE_REPROCESS,          /* pointer: worker */
    CHANGE_CLEAR_ERRORS,       /* pointer: worker */
    CHANGE_STARTED,            /* pointer: worker */
    CHANGE_ENDED,              /* pointer: worker */
    CHANGE_STOPPED,            /* pointer: worker */
    CHANGE_FINISHED,           /* pointer: worker */
    CHANGE_POPULATE_ERROR,     /* pointer: Populate; text */
    CHANGE_POPULATE_VOLUME,    /* pointer: Populate; object: the PersistentVolume */
    CHANGE_POPULATE_NEXT,      /* pointer: Populate */
    CHANGE_POPULATE_DONE,      /* pointer: Populate */
    CHANGE_IN_ACTUAL,          /* pointer: PendingOperation */
    CHANGE_DETACHED,           /* pointer: PendingOperation */
    CHANGE_DEVICE,             /* pointer: PendingOperation; number: MountState */
    CHANGE_MOUNT,              /* pointer: PendingOperation; number: MountState */
    CHANGE_DIRECTORY,          /* pointer: PendingOperation: its mount has one on the disk */
    CHANGE_DEADLINE,           /* pointer: PendingOperation; number: an instant */
    CHANGE_ADOPTED,            /* pointer: PodMount; object: its volume; number: its claim's size */
    CHANGE_NODE_READ,          /* object: the Node */
    CHANGE_REPORTED_IN_USE,    /* pointer: StringList */
    CHANGE_CONNECTED,          /* pointer: NodePlugin: this and the following; number: the step of
                                  NodeGetInfo */
    CHANGE_UNREGISTERED,       /* from the list of drivers alone */
    CHANGE_FORGOTTEN,          /* from actual state, too */
    CHANGE_REFUSED,            /* its registrar is told so */
    CHANGE_REGISTRATION_TRIED, /* number: how often, for what is being written */
    CHANGE_REGISTRATION_FAILED, /* text: why */
    CHANGE_PROBED,              /* number: whether it is well */
    CHANGE_EXPANDED,            /* pointer: PendingOperation; this and the following */
    CHANGE_EXPANSION_FAILED,    /* a final error */
    CHANGE_ONLY_OFFLINE,
} KubeletChange;

/* ---- kubelet.c ---- */

/* Loops and their numbers: of draws, and of places among tickers. */
enum {
    LOOP_RELIST = 1,
    LOOP_POPULATOR,
    LOOP_RECONCILER,
    LOOP_PLUGINS,
    LOOP_EVICTION, /* no ticker */
};

/* A loop whose period counts from the end of a pass. Made late it still ticks where it would have
 * ticked, had it been there from the kubelet's start: at phase + k period. */
SimTicker *kubelet_make_loop(
    Kubelet *self, const char *name, unsigned number, SimTime period, gboolean (*pass)(void *self));
/* Phases of loops: fixed by the kubelet's start, so with the cluster's start as good as random
 * (TIM-61), independent per node. Draws U[0, @below) with a number @n of its own for each loop. */
SimTime kubelet_draw_phase(const Kubelet *self, uint64_t n, SimTime below);
void kubelet_ensure_loops(Kubelet *self);

/* ---- pod-worker.c ---- */

void pod_worker_on_pod(void *self, const Object *before, const Object *after);
void pod_worker_free(void *worker);
gboolean pod_worker_relist(void *kubelet);
void pod_worker_apply(Kubelet *self, const PlanChange *change);
/* Something that its step under way may wait for has changed. */
void pod_worker_wake(PodWorker *self);
/* Of this life of the pod. Returns: (borrowed): NULL: none */
PodWorker *pod_worker_find(const Kubelet *self, const Object *pod);
/* For a pod of which only the directories are known. */
PodWorker *pod_worker_rebuild(Kubelet *self, const Object *pod);
/* All pods are known: if this one is not, it has gone. */
void pod_worker_sources_ready(PodWorker *self);
/* Frees it if nothing is left of the pod. */
void pod_worker_maybe_free(PodWorker *self);
/* Its next periodic sync (KVM-8) will find something. */
void pod_worker_sync_in_time(PodWorker *self);
/* Its machine is shut down: it is to end. */
void pod_worker_shut_down(PodWorker *self);
void pod_worker_add_error(PodWorker *self, const char *text);
void pod_worker_clear_errors(PodWorker *self);

/* Its containers have: the next relist sees it. */
void pod_worker_container_ended(PodWorker *self);

/* ---- pod-run.c: containers that end by themselves ---- */

/* Of a pod whose annotations say how long its containers run. */
void pod_run_prepare(PodWorker *worker);
void pod_run_free(PodRun *self);
/* Its containers start now; were found running; did not outlive their machine's power; are stopped
 * before they ended. */
void pod_run_started(PodWorker *worker);
void pod_run_adopted(PodWorker *worker);
void pod_run_lost(PodWorker *worker);
void pod_run_killed(PodWorker *worker);
gboolean pod_run_has_ended(const PodWorker *worker);
gboolean
pod_run_has_ended_for_good(const PodWorker *worker); /* the restart policy wants no other run */
/* A sync that began at @at does not know of it yet: the containers were listed before. */
gboolean pod_run_has_ended_since(const PodWorker *worker, SimTime at);
gboolean pod_run_has_failed(const PodWorker *worker);
/* A sync has seen the end: the pod is to be torn down. */
void pod_run_set_over(PodWorker *worker);
gboolean pod_run_is_over(const PodWorker *worker);
int32_t pod_run_restarts(const PodWorker *worker);
int32_t pod_run_exit_code(const PodWorker *worker); /* of the last run, once it has ended; else 0 */
/* KVM-87: not to be started again yet; and the next time later. */
gboolean pod_run_is_backed_off(const PodWorker *worker);
void pod_run_back_off(PodWorker *worker);

/* ---- pod-sync.c: PlanDecides of a worker's steps ---- */

void pod_sync_decide(const void *self, Plan *plan);
void pod_sync_decide_terminating(const void *self, Plan *plan);
void pod_sync_decide_terminated(const void *self, Plan *plan);
/* The node has its images from now on. */
void pod_sync_remember_images(const PodWorker *worker);

/* ---- pod-status.c: the status manager ---- */

/* Looks at what the worker has to tell by now; tells it if that is new, or if it has finished. */
void pod_status_changed(PodWorker *worker);
/* Somebody else wrote its status: what this kubelet knows is told again. */
void pod_status_reconcile(PodWorker *worker);

/* ---- volume-populator.c: desired state ---- */

gboolean volume_populator_pass(void *kubelet);
void volume_populator_reprocess(PodWorker *worker);
void volume_populator_remove(PodWorker *worker);
void volume_populator_forget(PodWorker *worker);
void volume_populator_on_driver(void *kubelet, const Object *before, const Object *after);
void volume_populator_apply(Kubelet *self, const PlanChange *change);

/* ---- volume-state.c: desired and actual state ---- */

/* The entry of the mount's volume, made if it is new; @pv is its newest version, and a plugin takes
 * it. */
NodeVolume *volume_manager_add(Kubelet *self, const Object *pv, const PodMount *mount);
void volume_manager_desire(NodeVolume *volume, PodMount *mount);
void volume_manager_undesire(PodMount *mount);
/* A pass must look at it. */
void volume_manager_due(NodeVolume *self);
void volume_manager_maybe_free(NodeVolume *self);
/* An operation on it is over. */
void volume_manager_released(PodMount *mount);
void volume_manager_apply(Kubelet *self, const PlanChange *change);
NodeVolume *node_volume_find(const Kubelet *self,
                             const char *name); /* NULL: none; @name: interned */
void node_volume_free(void *volume);
gboolean node_volume_is_listed(const NodeVolume *self); /* in the cached Node's volumesAttached */
gboolean node_volume_requires_remount(const NodeVolume *self); /* KVM-52 */
/* KVM-27: of those that pods want, to the CSIDriver objects. */
void volume_manager_check_attachable(Kubelet *self);
gboolean node_volume_is_in_a_pod(const NodeVolume *self); /* or perhaps */
/* It leaves actual state, and goes if desired state does not know it. Returns: FALSE: not while it
 * is in a pod */
gboolean node_volume_drop(NodeVolume *self);
/* KVM-64: of a volume that was found on the disk; what is known of others stands. */
void node_volume_resolve_attachability(NodeVolume *self, gboolean attachable);
/* One of the two states knows the mount from now on. */
void node_volume_link_mount(NodeVolume *volume, PodMount *mount);
void node_volume_mount_changed(PodMount *mount, MountState state);
/* With the cluster's start the volumes of a pod that runs are in both states; of one that was
 * stopped perhaps. */
void volume_manager_adopt(PodWorker *worker);
void volume_manager_apply_adopted(Kubelet *self, const PlanChange *change);
/* The mount is in actual state, perhaps mounted: KVM-61. @pv: as above */
void volume_manager_rebuild(PodMount *mount, const Object *pv);

/* ---- volume-manager.c: the reconciler ---- */

gboolean volume_manager_reconcile(void *kubelet);
void volume_manager_on_node(void *kubelet, const Object *before, const Object *after);
/* How many of the rules of a mount apply to these facts; for tests: always one. */
unsigned volume_manager_rules_matching(unsigned facts);
extern const unsigned volume_manager_facts_end;

/* ---- volume-operations.c ---- */

void volume_operation_verify(Kubelet *self, NodeVolume *volume);
void volume_operation_mount(Kubelet *self, NodeVolume *volume, PodMount *mount);
void volume_operation_unmount(Kubelet *self, NodeVolume *volume, PodMount *mount);
void volume_operation_unmount_device(Kubelet *self, NodeVolume *volume);
void volume_operation_expand(Kubelet *self, NodeVolume *volume, PodMount *mount);
void volume_operation_attach(Kubelet *self, NodeVolume *volume);
void volume_operation_detach(Kubelet *self, NodeVolume *volume);
/* Whether an operation runs that matches (volume, @mount's pod); NULL: any of the volume (OP-1) */
gboolean volume_operation_is_pending(const NodeVolume *volume, const PodMount *mount);
/* Whether an operation under way has this very mount as its target. */
gboolean volume_operation_works_on(const NodeVolume *volume, const PodMount *mount);
/* The pod never comes back. */
void volume_operation_forget(NodeVolume *volume, const PodMount *mount);
/* KVM-5: see csi_steps_begin(). */
void
volume_operation_set_deadline(NodeVolume *volume, const PendingOperation *which, SimTime deadline);

/* What an operation is about. */
const Volume *operation_pv(const PendingOperation *self);
const VolumeSource *operation_source(const PendingOperation *self);
gboolean operation_is_csi(const PendingOperation *self);
gboolean operation_is_block(const PendingOperation *self);
/* In its plan. */
gboolean operation_has_failed(const Plan *plan); /* the last step has */
void operation_add_change(Plan *plan,
                          KubeletChange what,
                          const PendingOperation *operation,
                          MountState state);

/* ---- attach-operation.c, mount-operation.c, unmount-operation.c: PlanDecides of operations ----
 */

void attach_operation_verify(const void *self, Plan *plan);
void attach_operation_attach(const void *self, Plan *plan);
void attach_operation_detach(const void *self, Plan *plan);
void mount_operation_decide(const void *self, Plan *plan);
void unmount_operation_decide(const void *self, Plan *plan);
void unmount_operation_decide_device(const void *self, Plan *plan);

/* ---- csi-steps.c: steps of an operation on a CSI volume ---- */

#define KUBELET_DIR "/var/lib/kubelet"
/* A mount or unmount without CSI: a system call, and a thread of its own until then. */
#define MOUNT_CALL SIM_MS

/* Returns: (borrowed): NULL: not in the list of registered drivers */
CsiDriver *csi_steps_driver(const Kubelet *self, const PendingOperation *operation);
/* Returns: interned: the words for that; @who: asks */
const char *
csi_steps_not_registered(Plan *plan, const PendingOperation *operation, const char *who);
/* Before the first call of a stage, publish, unpublish, unstage or expansion: KVM-5. Returns: the
 * deadline of its calls; later decisions find it in the operation */
SimTime csi_steps_begin(Plan *plan, const PendingOperation *operation);
void csi_steps_add_call(const Kubelet *self,
                        Plan *plan,
                        const PendingOperation *operation,
                        CsiRequest request,
                        SimTime deadline);
void csi_steps_add_capabilities(const Kubelet *self,
                                Plan *plan,
                                const PendingOperation *operation,
                                SimTime deadline);
/* The VolumeAttachment is read, if there is one. */
void csi_steps_add_get_attachment(Plan *plan, const PendingOperation *operation);
/* KVM-55. After csi_steps_begin(). */
void csi_steps_add_expand(const Kubelet *self,
                          Plan *plan,
                          const PendingOperation *operation,
                          CsiNodeCapabilities can,
                          int64_t bytes);
/* Of a plan whose last steps were csi_steps_add_capabilities() and csi_steps_add_get_attachment().
 */
const StringMap *csi_steps_publish_context(const Plan *plan, const PendingOperation *operation);
CsiNodeCapabilities csi_steps_capabilities(const Plan *plan, const PendingOperation *operation);
/* KVM-42, KVM-44 */
CsiCapability csi_steps_capability(const PendingOperation *operation, CsiNodeCapabilities can);
/* What an operation needs and does not change: names and paths. Of other volumes: nothing. */
void csi_steps_prepare_device(Kubelet *self, NodeVolume *volume);
void csi_steps_prepare_mount(Kubelet *self, NodeVolume *volume, PodMount *mount);

/* ---- volume-expansion.c ---- */

/* The populator has read the volume's PersistentVolume for this pod. */
void volume_expansion_desire(NodeVolume *volume, const PodMount *mount);
void volume_expansion_forget(NodeVolume *volume);           /* it leaves actual state */
gboolean volume_expansion_is_due(const NodeVolume *volume); /* RSZ-51, but for the mount */
/* The PersistentVolume has grown since it was read. */
gboolean volume_expansion_needs_sync(const NodeVolume *volume);
/* RSZ-53: the claim wants to be told how an expansion goes. */
gboolean volume_expansion_is_told(const Claim *claim);
void volume_expansion_decide(const void *self, Plan *plan); /* a PlanDecide: of a volume in use */
/* The end of a mount: the claim is read, and the volume expanded if it should be; then the mount is
 * done. */
void volume_expansion_add_at_mount(Plan *plan, const PendingOperation *operation);
void volume_expansion_apply(const PlanChange *change);
/* How many of its rules apply to these facts; for tests: always one. */
unsigned volume_expansion_rules_matching(unsigned facts);
extern const unsigned volume_expansion_facts_end;

/* ---- reconstruct.c: what outlives the kubelet ---- */

/* A volume's directory in its pod's: there from before it is published until after it has been
 * unpublished. */
void reconstruct_add_directory(Kubelet *self, const PodMount *mount);
void reconstruct_remove_directory(Kubelet *self, const PodMount *mount); /* none is fine */
void reconstruct_free_disk(void *disk);
/* What stands in the volumes' directories cannot be read any more (KVM-62); @disk: Component.disk
 */
void reconstruct_spoil(void *disk);
/* One try to clean up what could not be made sense of; then it is forgotten. */
void reconstruct_clean_up(Kubelet *self);
/* As a kubelet starts: first this, then it hears of its pods, then that. */
void reconstruct_volumes(Kubelet *self);
void reconstruct_sources_ready(Kubelet *self);
/* Nothing is unmounted before it is known what is wanted and what is attached (KVM-33). */
gboolean reconstruct_may_unmount(const Kubelet *self);
void reconstruct_populated(Kubelet *self); /* the populator has been through */
void reconstruct_read_node(Kubelet *self); /* makes the reconciler's pass a long one */
void reconstruct_apply(Kubelet *self, const PlanChange *change);

/* ---- shutdown.c: NL-90 to NL-94 ---- */

void shutdown_begin(Kubelet *self);
/* A pod has ended, or one of its volumes has: perhaps all that was waited for. */
void shutdown_progressed(Kubelet *self);

/* ---- pressure.c ---- */

void pressure_init(Kubelet *self);
void pressure_changed(Kubelet *self); /* MACHINE_PRESSURE_CHANGED */
/* What an imported Node says of its machine is so. */
void pressure_imported(Kubelet *self, const Node *node);
/* The Node says otherwise than its kubelet. */
gboolean pressure_is_told_wrong(const Kubelet *self, const Node *node);
/* For a plan that puts it right: the conditions to be, and an Event of each that changes. @node:
 * NULL: unknown */
void pressure_plan(const Kubelet *self, Plan *plan, const Object *node, PodCondition *conditions);
/* Returns: FALSE: nothing was wrong */
gboolean pressure_set_conditions(const Kubelet *self, Node *node, const PodCondition *conditions);

/* ---- node-status.c ---- */

void node_status_init(Kubelet *self);
/* The volumes in use may differ from what Node status says, or from what was reported. */
void node_status_changed(Kubelet *self);
void node_status_apply(Kubelet *self, const PlanChange *change);

/* ---- node-info.c: edits of a Node and its CSINode ---- */

/* What NodeGetInfo told, and whom it is about. */
typedef struct {
    Strings *strings;
    const char *driver;
    const char *node_id;
    int32_t count;             /* -1: no limit */
    const StringMap *segments; /* borrowed */
    gboolean only_if_absent;   /* an imported CSINode knows better */
} NodeInfo;

ObjectKey *node_info_csi_node_key(const Kubelet *self);
/* It goes with its Node. Returns: (owned) */
Object *node_info_new_csi_node(const Kubelet *self, const Object *node);
/* REG-25. Returns: (owned): the CSINode of a node without drivers */
Object *node_info_first_csi_node(const Kubelet *self, const Object *node);
/* ObjectEdits: of a NodeInfo */
gboolean node_info_set_migrated(Object *csi_node, const void *info);
gboolean node_info_edit_node(Object *node, const void *info);
gboolean node_info_edit_csi_node(Object *csi_node, const void *info);
gboolean node_info_withdraw_from_node(Object *node, const void *info);
gboolean node_info_withdraw_from_csi_node(Object *csi_node, const void *info);
gboolean node_info_needs_patch(const Object *node, const NodeInfo *info);
/* REG-21: a label that says otherwise. Returns: (borrowed): NULL: none */
const StringPair *node_info_find_collision(const Object *node, const StringMap *segments);

/* ---- plugin-registration.c ---- */

void plugin_registration_init(Kubelet *self);
void plugin_registration_clear(Kubelet *self);
/* PlanDecides of operations. */
void plugin_registration_decide_register(const void *self, Plan *plan);
void plugin_registration_decide_unregister(const void *self, Plan *plan);
/* Returns: (borrowed): NULL: not in the list of registered drivers */
CsiDriver *plugin_registration_driver(const Kubelet *self, const char *driver);
void plugin_registration_apply(Kubelet *self, const PlanChange *change);

/* ---- plugin-manager.c ---- */

/* From the initial state, without any call. */
void plugin_manager_is_registered(NodePlugin *plugin);
void plugin_manager_begin(NodePlugin *plugin, SimTime delay);
void plugin_manager_clear(Kubelet *self);
/* It has been told that its registration failed (REG-4). */
void plugin_manager_registrar_exits(NodePlugin *plugin);
void plugin_manager_changed(Kubelet *self, unsigned driver); /* MACHINE_PLUGIN_CHANGED */
/* From a container's exit to its next start. */
SimTime container_restart_delay(NodePlugin *plugin, PluginContainer *container);

/* ---- measure.c: metrics, where they are asked for ---- */

void kubelet_measure_begin(Kubelet *self);
void kubelet_measure_end(Kubelet *self);
/* A mount came into desired state or left it; the same of actual state. It has its volume. */
void kubelet_count_desired(const PodMount *mount, int n);
void kubelet_count_actual(const PodMount *mount, int n);
/* A mount of it is done for the first time. */
void kubelet_measure_mount(const Kubelet *self, const PendingOperation *operation);
/* One more, of a family without labels. */
void kubelet_count(const Kubelet *self, MetricFamily family);
/* Now, in Unix time. */
void kubelet_measure_shutdown(const Kubelet *self, MetricFamily family);

/* ---- plugin-liveness.c ---- */

void plugin_liveness_begin(NodePlugin *plugin); /* if its driver is probed */
void plugin_liveness_apply(NodePlugin *plugin, gboolean is_well);
