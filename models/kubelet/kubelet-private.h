/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "kubelet.h"
#include "models/cluster/cluster.h"
#include "models/metrics/metrics.h"
#include "models/plan/plan.h"
#include "models/volume/in-process.h"
#include "sim/ticker.h"

/* A kubelet, as all of its rooms know it. Each room has a struct of its own, which only it writes;
 * tests/repo/insides.txt has their order, from the bottom up:
 *
 *   pods.h, volumes.h, disk.h, measure.h   what all know: pods, volumes, the node's disk, metrics
 *   plugin-manager/                        registration of drivers, and their containers
 *   csi-plugin/, in-process/               what operations on volumes ask of plugins
 *   volume-manager/                        desired and actual state, reconciler, operations
 *   eviction/                              pressure of the node, eviction of pods
 *   shutdown.h                             the end of pods before their machine's
 *   runtime/                               containers, images, relists
 *   status/                                status of pods and of the Node
 *   pod-workers/                           the steps of pods
 *   restart.h                              what a restarted kubelet finds on the disk
 *
 * A room tells those above it through its own hooks (PodCalls) or by waking a loop. Who owns what:
 *
 *   Kubelet -> PodWorker (as long as something of the pod is on the node)
 *           -> PodMount (in the worker's own memory)
 *   VolumeManager -> NodeVolume (as long as desired or actual state has it)
 *                 -> PendingOperation (while it runs or backs off)
 *
 * A NodeVolume lists the PodMounts that desired or actual state has; they leave the list before
 * their worker goes. An idle node is small: the volume manager is made with the first pod. */
typedef struct Eviction Eviction;
typedef struct Kubelet Kubelet;
typedef struct NodePlugin NodePlugin;
typedef struct NodePressure NodePressure;
typedef struct NodeShutdown NodeShutdown;
typedef struct NodeStatus NodeStatus;
typedef struct NodeVolume NodeVolume;
typedef struct PendingOperation PendingOperation;
typedef struct PluginManager PluginManager;
typedef struct PodCalls PodCalls;
typedef struct PodMount PodMount;
typedef struct PodRun PodRun;
typedef struct PodRuntime PodRuntime;
typedef struct PodUse PodUse;
typedef struct PodWorker PodWorker;
typedef struct StatusManager StatusManager;
typedef struct VolumeManager VolumeManager;
typedef struct VolumeStats VolumeStats;

struct Kubelet {
    Component base;
    const KubeletOptions *options;
    ObjectKey *node_key;
    Informer *nodes;    /* its own Node only */
    Informer *drivers;  /* CSIDriver objects; NULL: not needed yet */
    GPtrArray *workers; /* of PodWorker, in the order of arrival (owned) */
    const PodCalls *pod_calls;
    Eviction *eviction;            /* (owned): NULL: nobody tells what anything uses */
    NodePressure *pressure;        /* (owned) */
    StatusManager *status_manager; /* (owned) */
    VolumeManager *volume_manager; /* (owned): NULL: it had no volume yet */
    NodeStatus *node_status;       /* (owned) */
    SimTicker *status_loop;        /* kubelet_status_changed() wakes it */
    StringList *told_in_use;       /* KVM-96: volumesInUse as the cluster starts, until a report */
    PodRuntime *pod_runtime;       /* (owned): NULL: it had no pod yet */
    SimTime born_at;
    SimTime sync_phase;            /* of the ticks of the loop of syncs (TIM-43c) */
    SimEventId first_look;         /* at its pods, after a restart */
    PluginManager *plugin_manager; /* (owned) */
    FlexDrivers *flex_drivers;     /* NULL until one is called */
    NodeShutdown *shutdown;        /* (owned) */
    /* MET-64: the series of the driver that was counted last. */
    const char *counted_driver;
    SimSeries *desired_count, *actual_count;
};

/* Changes of private state by plans. Each part carries out its own: kubelet.c hands them over. */
typedef enum {
    /* pod-workers/; pointer: PodWorker */
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
    /* volume-manager/volume-populator.c; pointer: Populate */
    CHANGE_POPULATE_ERROR,   /* text; object: the volume whose label is another's; else NULL */
    CHANGE_POPULATE_NOTHING, /* all as in the last read */
    CHANGE_POPULATE_CLAIM,   /* object: the claim of the volume that follows */
    CHANGE_POPULATE_VOLUME,  /* object: the PersistentVolume */
    /* volume-manager/volume-state.c; pointer: PendingOperation */
    CHANGE_IN_ACTUAL,
    CHANGE_DETACHED,
    CHANGE_DEVICE,    /* number: MountState */
    CHANGE_MOUNT,     /* number: MountState */
    CHANGE_DIRECTORY, /* the mount has a directory on the disk */
    /* in-process/ */
    CHANGE_FLEX_KNOWN, /* as in_process_note() takes it */
    /* volume-manager/adopt.c; pointer: PodMount, NULL: only the device; object: its volume; number:
       its claim's size */
    CHANGE_ADOPTED,
    /* volume-manager/volume-expansion.c; pointer: PendingOperation */
    CHANGE_EXPANDED,
    CHANGE_EXPANSION_FAILED, /* with a final error */
    CHANGE_ONLY_OFFLINE,
    /* volume-manager/reconstruct.c */
    CHANGE_NODE_READ, /* object: the Node */
    /* status/node-status.c */
    CHANGE_REPORTED_IN_USE, /* pointer: StringList */
    /* plugin-manager/; pointer: NodePlugin */
    CHANGE_CONNECTED,           /* number: the step of NodeGetInfo */
    CHANGE_UNREGISTERED,        /* it leaves the list of drivers */
    CHANGE_FORGOTTEN,           /* ... and actual state, too */
    CHANGE_REFUSED,             /* its registrar is told so */
    CHANGE_REGISTRATION_TRIED,  /* number: tries of the write at hand */
    CHANGE_REGISTRATION_FAILED, /* text: why */
    CHANGE_PROBED,              /* number: whether the driver is well */
    /* eviction/; pointer: PodWorker; text: why; number: EvictionCause */
    CHANGE_EVICTED,
    /* volume-manager/volume-stats.c; number: the instant of the question */
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

/* ---- loops.c ---- */

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
/* Phases of loops: fixed by the kubelet's start. At the cluster's start they are therefore random
 * (TIM-61), independent per node. Draws U[0, @below); each loop has its own number @n. */
SimTime kubelet_draw_phase(const Kubelet *self, uint64_t n, SimTime below);
/* The tick of the sync loop at which a sync starts that is due at @due (KVM-8). */
SimTime kubelet_sync_tick(const Kubelet *self, SimTime due);
/* The Node's status may say something else: its next round looks. */
void kubelet_status_changed(Kubelet *self);

/* Of this node. */
static inline const Release *
kubelet_release(const Kubelet *self)
{
    return cluster_node_release(self->base.cluster, self->base.node_name);
}
