/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "kubelet.h"
#include "models/cluster/cluster.h"
#include "models/metrics/metrics.h"
#include "models/plan/plan.h"
#include "models/volume/in-process.h"
#include "sim/ticker.h"

/* A kubelet's parts, each with its own header:
 *
 *   pod-worker.h          pod workers, the status manager, containers that end
 *   volume-manager.h      desired and actual state of volumes, populator, reconciler
 *   operation-executor.h  operations on volumes, and the CSI calls in them
 *   plugin-manager.h      registration of drivers, and their containers
 *   node-status.h         status of the Node, pressure, shutdown
 *   eviction/             eviction of pods under pressure
 *
 * Who owns what:
 *
 *   Kubelet -> PodWorker (as long as something of the pod is on the node)
 *           -> PodMount (in the worker's own memory)
 *   Kubelet -> NodeVolume (as long as desired or actual state has it)
 *           -> PendingOperation (while it runs or backs off)
 *
 * A NodeVolume lists the PodMounts that desired or actual state has; they leave the list before
 * their worker goes. An idle node is small: most members are made with the first pod. */
typedef struct Eviction Eviction;
typedef struct Kubelet Kubelet;
typedef struct NodePlugin NodePlugin;
typedef struct NodeVolume NodeVolume;
typedef struct PendingOperation PendingOperation;
typedef struct PodMount PodMount;
typedef struct PodRun PodRun;
typedef struct PodUse PodUse;
typedef struct PodWorker PodWorker;
typedef struct VolumeStats VolumeStats;

/* A pod whose volumes the populator reads. */
typedef struct {
    PodWorker *worker;   /* NULL: no pass is under way */
    const Object *claim; /* (borrowed): that was read; NULL: none */
    unsigned at;         /* its mount that is read */
    gboolean failed;     /* some of its volumes could not be added */
} Populate;

struct Kubelet {
    Component base;
    const KubeletOptions *options;
    SimTime born_at;
    ObjectKey *node_key;
    Informer *nodes; /* its own Node only */
    /* Node status has a client without limit (KVM-10); made with the first report. */
    ApiClient *heartbeats;
    SimTicker *status_loop;
    NodePlugin *plugins;    /* that run on this node */
    SimTicker *plugin_loop; /* NULL: not needed yet */
    unsigned n_plugins;
    SimEventId first_look; /* at its pods, after a restart */
    gboolean reporting_status;
    gboolean reporting_pod;
    /* After a restart that found volumes on the disk: the Node has not been read yet (KVM-64), the
     * populator has not read all pods yet. Nothing is unmounted meanwhile. */
    gboolean awaits_node;
    gboolean awaits_populator;
    gboolean knows_pods; /* a restarted kubelet does only after its first look */
    /* Its machine is being shut down: only critical pods are left. */
    gboolean shutting_down, only_critical_left;
    SimEventId report_retry;   /* reports wait for it */
    SimEventId shutdown_event; /* the end of the time that the pods under way may take */
    /* Masks of 1 << NodeTrouble: what its machine runs short of; what the Node is to tell. */
    unsigned shortages, pressures;
    SimTime short_until[N_NODE_PRESSURES]; /* the last look that saw a shortage that is over */
    SimEventId pressure_event;             /* the next look */
    Eviction *eviction;                    /* (owned): NULL: nobody tells what anything uses */
    gboolean told_unschedulable;           /* NL-27: the last Event about that */
    gboolean has_unreadable;               /* it found broken directories of volumes (KVM-62) */
    unsigned n_cleaned_up;                 /* tries to unmount these (KVM-75) */

    StringList *told_in_use; /* KVM-96: volumesInUse as the cluster starts, until a report */

    /* From here on NULL or empty until the first pod arrives. */
    Informer *drivers;         /* CSIDriver objects */
    GPtrArray *workers;        /* of PodWorker, in the order of arrival (owned) */
    GPtrArray *volumes;        /* of NodeVolume (owned) */
    GPtrArray *awaiting;       /* workers that wait for a relist */
    GPtrArray *unprocessed;    /* workers whose volumes the populator has to read */
    GPtrArray *images;         /* of const char *, interned: that the node has; NULL: none */
    GPtrArray *stopping;       /* workers whose volumes are to leave desired state */
    GPtrArray *due;            /* volumes at which the next reconciler pass must look */
    GPtrArray *passing;        /* volumes of the pass under way; else empty */
    GQueue reports;            /* workers whose status is to be written; by their report_link */
    unsigned n_in_round;       /* the first of them, which this round writes (KVM-89) */
    FlexDrivers *flex_drivers; /* NULL until one is called */
    SimTime sync_phase;        /* of the ticks of the loop of syncs (TIM-43c) */
    gboolean driver_changed;   /* a CSIDriver has, since the populator's last pass */
    GPtrArray *populating;     /* workers that the pass under way has not come to; else empty */
    Populate populate;         /* the pod that the pass is at */
    Plan *populate_plan;
    SimTicker *relist;
    SimEventId relist_soon; /* KVM-105; 0: none */
    SimTicker *populator;
    SimTicker *reconciler;
    SimTicker *stats_analyzer;                             /* NULL: it asks for no statistics */
    uint16_t status_label, reconciler_label, relist_label; /* of loops, in the log of causes */
    /* MET-64: the series of the driver that was counted last. */
    const char *counted_driver;
    SimSeries *desired_count, *actual_count;
};

/* What its node's disk keeps, across restarts and power cuts. */
typedef struct {
    GPtrArray *directories; /* of VolumeDirectory */
    GArray *images;         /* of PulledImage, by name */
    SimTime pulls_until;    /* the end of all pulls that were asked for */
} KubeletDisk;

/* Changes of private state by plans. Each part carries out its own: kubelet.c hands them over. */
typedef enum {
    /* pod-worker.c; pointer: PodWorker */
    CHANGE_STATUS,
    CHANGE_PULLING,   /* text: an image; number: when it will be there */
    CHANGE_REDEFINED, /* its containers of a changed definition are stopped */
    CHANGE_PULLED,    /* all of its images are there */
    CHANGE_SANDBOX,   /* it has one (KVM-103) */
    CHANGE_REPROCESS,
    CHANGE_WAITED, /* ... for its volumes */
    CHANGE_CLEAR_ERRORS,
    CHANGE_STARTED,
    CHANGE_ENDED,
    CHANGE_REJECTED, /* text: why */
    CHANGE_STOPPED,
    CHANGE_FINISHED,
    /* volume-populator.c; pointer: Populate */
    CHANGE_POPULATE_ERROR,   /* text; object: the volume whose label is another's; else NULL */
    CHANGE_POPULATE_NOTHING, /* all as in the last read */
    CHANGE_POPULATE_CLAIM,   /* object: the claim of the volume that follows */
    CHANGE_POPULATE_VOLUME,  /* object: the PersistentVolume */
    /* volume-state.c; pointer: PendingOperation */
    CHANGE_IN_ACTUAL,
    CHANGE_DETACHED,
    CHANGE_DEVICE,    /* number: MountState */
    CHANGE_MOUNT,     /* number: MountState */
    CHANGE_DIRECTORY, /* the mount has a directory on the disk */
    /* in-process.c */
    CHANGE_FLEX_KNOWN, /* as in_process_note() takes it */
    /* adopt.c; pointer: PodMount, NULL: only the device; object: its volume; number: its claim's
       size */
    CHANGE_ADOPTED,
    /* volume-expansion.c; pointer: PendingOperation */
    CHANGE_EXPANDED,
    CHANGE_EXPANSION_FAILED, /* with a final error */
    CHANGE_ONLY_OFFLINE,
    /* reconstruct.c */
    CHANGE_NODE_READ, /* object: the Node */
    /* node-status.c */
    CHANGE_REPORTED_IN_USE, /* pointer: StringList */
    /* plugin-registration.c; pointer: NodePlugin */
    CHANGE_CONNECTED,           /* number: the step of NodeGetInfo */
    CHANGE_UNREGISTERED,        /* it leaves the list of drivers */
    CHANGE_FORGOTTEN,           /* ... and actual state, too */
    CHANGE_REFUSED,             /* its registrar is told so */
    CHANGE_REGISTRATION_TRIED,  /* number: tries of the write at hand */
    CHANGE_REGISTRATION_FAILED, /* text: why */
    CHANGE_PROBED,              /* number: whether the driver is well */
    /* eviction/; pointer: PodWorker; text: why; number: EvictionCause */
    CHANGE_EVICTED,
    /* volume-stats.c; number: the instant of the question */
    CHANGE_VOLUME_TOLD,
    /* csi-plugin/client.c; pointer: CsiFiles */
    CHANGE_FILES_GROUP, /* number: the root's group */
    CHANGE_FILES_WORK,  /* number: CsiFilesWork */
    CHANGE_FILES_MOUNTED,
} KubeletChange;

/* Adds a change without an object. */
static inline void
kubelet_add_change(Plan *plan, KubeletChange what, const void *pointer, int64_t number)
{
    plan_change(plan, &(PlanChange){.what = (int)what, .pointer = pointer, .number = number});
}

/* ---- kubelet.c ---- */

#define KUBELET_DIR "/var/lib/kubelet"
/* Of a Node: "true" if its processes are confined by SELinux. No field of Kubernetes tells that. */
#define ANNOTATION_SELINUX "kvolsim.io/selinux"

/* Loops and their numbers: of draws, and of places among tickers. */
enum {
    LOOP_RELIST = 1,
    LOOP_POPULATOR,
    LOOP_RECONCILER,
    LOOP_PLUGINS,
    LOOP_EVICTION, /* no ticker, nor has: */
    LOOP_SYNC,
    LOOP_VOLUME_STATS, /* a ticker */
};

/* A loop whose period counts from the end of a pass. A loop that is made late ticks where it would
 * tick if it had been there since the kubelet's start: at phase + k period. */
SimTicker *kubelet_make_loop(
    Kubelet *self, const char *name, unsigned number, SimTime period, gboolean (*pass)(void *self));
/* Phases of loops: fixed by the kubelet's start, so with the cluster's start as good as random
 * (TIM-61), independent per node. Draws U[0, @below); each loop has its own number @n. */
SimTime kubelet_draw_phase(const Kubelet *self, uint64_t n, SimTime below);
/* The tick of the sync loop at which a sync starts that is due at @due (KVM-8). */
SimTime kubelet_sync_tick(const Kubelet *self, SimTime due);
/* Makes what an idle node does without. */
void kubelet_ensure_loops(Kubelet *self);

/* ---- pod-start.c ---- */

KubeletDisk *kubelet_disk(const Kubelet *self); /* makes it if there is none */
void kubelet_free_disk(void *disk);

/* ---- measure.c: metrics, if the scenario asks for them ---- */

void kubelet_measure_begin(Kubelet *self);
void kubelet_measure_end(Kubelet *self);
/* A mount came into desired state or left it; the same of actual state. It has its volume. */
void kubelet_count_desired(const PodMount *mount, int n);
void kubelet_count_actual(const PodMount *mount, int n);
void kubelet_count_label(const Kubelet *self, MetricFamily family, const Object *pv); /* CSP-28 */
/* The operation's mount is done for the first time. */
void kubelet_measure_mount(const Kubelet *self, const PendingOperation *operation);
/* What a driver said of a claim's volume, of which one pod counts (KVM-74); NULL: nothing more. */
typedef struct {
    int64_t bytes, available_bytes, used_bytes;
    int64_t inodes, free_inodes, used_inodes;
    int64_t abnormal; /* 0 or 1; -1: nobody told */
} VolumeUsage;
/* Of this node. */
static inline const Release *
kubelet_release(const Kubelet *self)
{
    return cluster_node_release(self->base.cluster, self->base.node_name);
}

/* The gate CSIVolumeHealth. */
gboolean kubelet_watches_health(const Kubelet *self);
void kubelet_measure_usage(const Kubelet *self, const ObjectKey *claim, const VolumeUsage *usage);
/* It took so long to ask this driver about a volume. */
void kubelet_measure_question(const Kubelet *self, const char *driver, SimTime took);
/* One more of a family without labels; one more evicted pod: @signal: its label, static. */
void kubelet_count(const Kubelet *self, MetricFamily family);
void kubelet_count_eviction(const Kubelet *self, const char *signal);
/* Sets a family without labels to now, in Unix time. */
void kubelet_measure_shutdown(const Kubelet *self, MetricFamily family);
