/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <stdbool.h>

#include "kubelet-private.h"
#include "models/volume/plugins.h"

/* The volume manager: pkg/kubelet/volumemanager. Desired and actual state of the world are one list
 * of volumes here. */

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
    CsiFiles *files;         /* that each start of containers labels (CSP-25); NULL: none */
    SimTime desired_at;      /* since when it is */
    /* The last read of its claim and its volume, if the same versions leave nothing to do
     * (volume-populator.c); versions of 0: none. */
    ObjectKey *claim, *pv;
    uint64_t claim_version, pv_version;
    MountState state;
    bool desired;
    bool remount_required; /* KVM-52 */
    bool rebuilt;          /* found on the disk, and not mounted since (KVM-61) */
};

/* A volume in desired state, actual state, or both: KVM-12, KVM-13. */
struct NodeVolume {
    Kubelet *kubelet;
    const Object *pv; /* (owned) */
    const VolumePlugin *plugin;
    PodMount *mounts;             /* in desired or actual state, in the order of arrival */
    PendingOperation *operations; /* (owned) */
    unsigned n_desired;           /* mounts that are desired */
    MountState device;
    bool attachable;
    bool reported_in_use;
    bool in_actual;               /* the kubelet takes it for attached (KVM-14) */
    bool size_known;              /* of the claim (KVM-36) */
    bool rebuilt;                 /* some mount of it was found on the disk (KVM-61) */
    bool attachability_uncertain; /* ... and the Node has not been read since (KVM-64) */
    bool due;                     /* in kubelet->due */
    bool only_offline;            /* the driver does not expand it while it is in use (KVM-56) */
    bool failed_finally;          /* the last NodeExpandVolume did (RSZ-54.5) */
    const char *name;             /* unique, KVM-12 */
    uint64_t hash;                /* of the name: an entity for random draws */
    ObjectKey *attachment;        /* CSI: its VolumeAttachment, once looked for */
    const char *staging_path;     /* CSI: once staged */
    SimEventId retry;             /* the end of a back-off */
    Informer *pv_informer; /* (owned): tells of a larger PersistentVolume; NULL: not asked for */
    /* SELinux, interned (CSP-28): of the pod that came first; of what is mounted, NULL: nothing. */
    const char *label, *mounted_label;
    int64_t told_bytes;    /* the PersistentVolume's size as that told */
    int64_t desired_bytes; /* ... as a pod's sync read it; 0: never */
    int64_t actual_bytes;  /* the claim's capacity, as far as this node knows; 0: not yet */
    /* For the log of causes: what made it due last, what made it wanted in use, and the round of
     * Node status that tells so. */
    SimCauseId due_by, wanted_by, told_by;
};

/* ---- volume-populator.c: desired state ---- */

extern const RuleTable kubelet_claim_rules, kubelet_volume_rules; /* KVM-24 */

gboolean volume_populator_pass(void *kubelet);
/* The pod was synced: its volumes are to be read. */
void volume_populator_reprocess(PodWorker *worker);
/* The pod was stopped: its volumes are to leave desired state. */
void volume_populator_remove(PodWorker *worker);
/* FLX-45: pods whose volumes had no plugin are read again. */
void volume_populator_plugins_changed(Kubelet *self);
void volume_populator_forget(PodWorker *worker);
/* The next reads of these volumes look at what they find, be it the same or not. */
void volume_populator_forget_versions(const NodeVolume *volume);
void volume_populator_on_driver(void *kubelet, const Object *before, const Object *after);
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

/* ---- reconstruct.c: what outlives the kubelet ---- */

/* A volume's directory in its pod's, with its vol_data.json: there from before it is published
 * until after it has been unpublished. The kubelet finds its path and its file when it starts; here
 * the pod's object stands for the pod, too. */
typedef struct {
    const char *path;   /* "<uid>/volumes/<plugin>/<name>", or with volumeDevices; interned */
    const Object *pod;  /* (owned) */
    const char *volume; /* its name in the pod; interned */
    StringMap *data;    /* (owned): CSI: the file */
    const Object *pv;   /* (owned): of other plugins, which have no file; else NULL */
    gboolean is_spoilt; /* the file cannot be read any more (KVM-62) */
    /* As the kubelet's start has found it. */
    const char *plugin, *name; /* interned */
    gboolean is_block;
    gboolean failed; /* it could not be rebuilt, and was not cleaned up yet */
} VolumeDirectory;

void reconstruct_add_directory(Kubelet *self, const PodMount *mount);
void reconstruct_remove_directory(Kubelet *self, const PodMount *mount); /* none is fine */
GPtrArray *reconstruct_new_directories(void);                            /* of none */
/* One try to unmount each broken directory. */
void reconstruct_clean_up(Kubelet *self);
/* As a kubelet starts: first this, then it hears of its pods, then that. */
void reconstruct_volumes(Kubelet *self);
void reconstruct_sources_ready(Kubelet *self);
/* Nothing is unmounted before the kubelet knows what is wanted and what is attached (KVM-33). */
gboolean reconstruct_may_unmount(const Kubelet *self);
void reconstruct_populated(Kubelet *self); /* the populator has read all pods */
void reconstruct_read_node(Kubelet *self); /* makes the reconciler's pass a long one */
void reconstruct_apply(Kubelet *self, const PlanChange *change);
