/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "models/kubelet/disk.h"
#include "models/kubelet/pods.h"

/* The volume manager: pkg/kubelet/volumemanager. Desired and actual state of the world are one list
 * of volumes here. */

/* A pod whose volumes the populator reads. */
typedef struct {
    PodWorker *worker;   /* NULL: no pass is under way */
    const Object *claim; /* (borrowed): that was read; NULL: none */
    unsigned at;         /* its mount that is read */
    gboolean failed;     /* some of its volumes could not be added */
} Populate;

struct VolumeManager {
    GPtrArray *volumes; /* of NodeVolume (owned): desired and actual state */
    /* The populator. */
    SimTicker *populator;
    GPtrArray *unprocessed; /* workers whose volumes it has to read */
    GPtrArray *populating;  /* workers that the pass under way has not come to; else empty */
    GPtrArray *stopping;    /* workers whose volumes are to leave desired state */
    Populate populate;      /* the pod that the pass is at */
    Plan *populate_plan;
    gboolean driver_changed; /* a CSIDriver has, since the last pass */
    /* The reconciler. */
    SimTicker *reconciler;
    GPtrArray *due;            /* volumes at which the next pass must look */
    GPtrArray *passing;        /* volumes of the pass under way; else empty */
    uint16_t reconciler_label; /* in the log of causes */
    /* After a restart that found volumes on the disk: the Node has not been read yet (KVM-64), the
     * populator has not read all pods yet. Nothing is unmounted meanwhile. */
    gboolean awaits_node;
    gboolean awaits_populator;
    gboolean knows_pods;       /* a restarted kubelet does only after its first look */
    gboolean has_unreadable;   /* it found broken directories of volumes (KVM-62) */
    unsigned n_cleaned_up;     /* tries to unmount these (KVM-75) */
    SimTicker *stats_analyzer; /* NULL: it asks for no statistics */
};

/* ---- volume-manager.c ---- */

/* Makes what a node without volumes does without. */
void volume_manager_ensure(Kubelet *self);
void volume_manager_free(VolumeManager *self); /* NULL is fine */

/* ---- pod-queue.c: pods whose volumes the populator reads or takes out of desired state ---- */

/* The pod was synced: its volumes are to be read. */
void volume_manager_reprocess(PodWorker *worker);
/* The pod was stopped: its volumes are to leave desired state. */
void volume_manager_remove(PodWorker *worker);
/* Its worker is freed. */
void volume_manager_forget(PodWorker *worker);
/* podErrors of desired state (KVM-12): they end the wait of the pod's sync. */
void volume_manager_add_error(PodWorker *worker, const char *text);
void volume_manager_clear_errors(PodWorker *worker);

/* ---- volume-populator.c: desired state ---- */

extern const RuleTable kubelet_claim_rules, kubelet_volume_rules; /* KVM-24 */

/* A pass of the loop: removes volumes, then reads the volumes of pods that were synced. */
gboolean volume_populator_pass(void *kubelet);
/* FLX-45: pods whose volumes had no plugin are read again. */
void volume_populator_plugins_changed(Kubelet *self);
/* An InformerHandler: a CSIDriver object may change whether volumes are attached. */
void volume_populator_on_driver(void *kubelet, const Object *before, const Object *after);
/* What the read of a pod's volume has found. */
void volume_populator_apply(Kubelet *self, const PlanChange *change);

/* ---- volume-state.c: desired and actual state ---- */

/**
 * volume_manager_add:
 * @pv: its newest version; a plugin takes it
 * Returns: (borrowed): the entry of the mount's volume, made if it is new
 */
NodeVolume *volume_manager_add(Kubelet *self, const Object *pv, const PodMount *mount);
/* The same without a mount. Returns: (borrowed): a new entry; NULL: there is one already, or no
 * plugin takes the volume */
NodeVolume *volume_manager_add_device(Kubelet *self, const Object *pv);
void volume_manager_desire(NodeVolume *volume, PodMount *mount);
void volume_manager_undesire(PodMount *mount);
/* A pass must look at it. */
void volume_manager_due(NodeVolume *self);
/* Frees it if neither state has it. */
void volume_manager_maybe_free(NodeVolume *self);
/* An operation on it is over. */
void volume_manager_released(PodMount *mount);
void volume_manager_apply(Kubelet *self, const PlanChange *change);
void node_volume_free(void *volume);
gboolean node_volume_is_listed(const NodeVolume *self); /* in the cached Node's volumesAttached */
gboolean node_volume_requires_remount(const NodeVolume *self); /* KVM-52 */
/* KVM-35.8: it is mounted with another SELinux label than the pods of now want. */
gboolean node_volume_has_other_label(const NodeVolume *self);
void node_volume_remember_label(NodeVolume *self, const PodMount *mount);
/* CSP-28. Returns: (owned): why the mount cannot be desired; NULL: it can */
char *volume_manager_label_conflict(const Kubelet *self,
                                    const Object *pv,
                                    const PodMount *mount,
                                    const char **rule);
/* KVM-27: holds volumes that pods want against the CSIDriver objects. */
void volume_manager_check_attachable(Kubelet *self);
gboolean node_volume_is_in_a_pod(const NodeVolume *self); /* or perhaps */
/* It leaves actual state, and is freed if desired state does not have it. Returns: FALSE: it stays,
 * as it is in a pod */
gboolean node_volume_drop(NodeVolume *self);
/* KVM-64: of a volume that was found on the disk; what is known of others stands. */
void node_volume_resolve_attachability(NodeVolume *self, gboolean attachable);
/* One of the two states has the mount from now on. */
void node_volume_link_mount(NodeVolume *volume, PodMount *mount);
/* The mount is in actual state, perhaps mounted: KVM-61. @pv: as above */
void volume_manager_rebuild(PodMount *mount, const Object *pv);

/* ---- volumes-in-use.c ---- */

/* Returns: (owned): their names, sorted; NULL: none */
StringList *volume_manager_in_use(const Kubelet *self);
/* KVM-30: desired state learns which volumes the Node lists. */
void volume_manager_mark_in_use(Kubelet *self, const StringList *reported);
/* For the log of causes: each volume has waited for this round of Node status since it was wanted,
 * as another may have woken the loop.
 * @label: of the loop */
void volume_manager_note_round(Kubelet *self, uint16_t label);

/* ---- adopt.c: with the cluster's start ---- */

/* The volumes of a pod are in both states; of a pod that was stopped, in actual state only. */
void volume_manager_adopt(PodWorker *worker);
/* After all pods: volumes that the Node has in use, and that no pod of it wants, are staged. */
void volume_manager_adopt_devices(Kubelet *self);
void volume_manager_apply_adopted(Kubelet *self, const PlanChange *change);

/* ---- volume-reconciler.c: from desired to actual state ---- */

extern const RuleTable kubelet_mount_rules; /* KVM-35 */

gboolean volume_reconciler_pass(void *kubelet);
void volume_reconciler_on_node(void *kubelet, const Object *before, const Object *after);

/* ---- directories.c: a volume's directory in its pod's ---- */

void volume_directory_add(Kubelet *self, const PodMount *mount);
void volume_directory_remove(Kubelet *self, const PodMount *mount); /* TRUE if there are none */
gboolean volume_directory_is_of(const VolumeDirectory *self, const PodMount *mount);
/* Reads the path. Returns: FALSE: it is no volume's */
gboolean volume_directory_parse(VolumeDirectory *self, Strings *strings);

/* ---- reconstruct.c: what outlives the kubelet ---- */

/* The disk has directories: nothing is unmounted before the Node and all pods have been read. */
void reconstruct_begin(Kubelet *self);
/* ... and have been looked at. @some_failed: some could not be rebuilt */
void reconstruct_end(Kubelet *self, gboolean some_failed);
/* All pods of the node are known. Returns: whether the populator has to read all of them */
gboolean reconstruct_pods_are_known(Kubelet *self);
/* One try to unmount each broken directory. */
void reconstruct_clean_up(Kubelet *self);
/* Nothing is unmounted before the kubelet knows what is wanted and what is attached (KVM-33). */
gboolean reconstruct_may_unmount(const Kubelet *self);
void reconstruct_populated(Kubelet *self); /* the populator has read all pods */
void reconstruct_read_node(Kubelet *self); /* makes the reconciler's pass a long one */
void reconstruct_apply(Kubelet *self, const PlanChange *change);
gboolean reconstruct_awaits_node(const Kubelet *self);

/* ---- volume-stats.c: how full its volumes are ---- */

void volume_stats_pod_added(Kubelet *kubelet);
void volume_stats_free(VolumeStats *self); /* of a pod; NULL is fine */
/* Before a scrape: sets the gauges of all volumes (KVM-73). */
void volume_stats_measure(const Kubelet *self);
void volume_stats_apply(const Kubelet *kubelet, const PlanChange *change);
