/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <stdbool.h>

#include "kubelet-private.h"
#include "models/volume/plugins.h"

/* What the rooms of a kubelet know of a volume: its mounts into pods, and the operations on it. The
 * volume manager owns them. */

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
    bool due;                     /* in VolumeManager.due */
    bool only_offline;            /* the driver does not expand it while it is in use (KVM-56) */
    bool failed_finally;          /* the last NodeExpandVolume did (RSZ-54.5) */
    const char *name;             /* unique, KVM-12 */
    uint64_t hash;                /* of the name: an entity for random draws */
    ObjectKey *attachment;        /* CSI: its VolumeAttachment, once looked for */
    const char *staging_path;     /* CSI: once staged */
    SimEventId retry;             /* the end of a back-off */
    Informer *pv_informer; /* (owned): tells of a larger PersistentVolume; NULL: not asked for */
    /* SELinux labels, interned (CSP-28): of the first pod; of the present mount, NULL: not mounted.
     */
    const char *label, *mounted_label;
    int64_t told_bytes;    /* the PersistentVolume's size as that told */
    int64_t desired_bytes; /* ... as a pod's sync read it; 0: never */
    int64_t actual_bytes;  /* the claim's capacity, if this node knows it; 0: not yet */
    /* For the log of causes: what made it due last, what made it wanted in use, and the round of
     * Node status that tells so. */
    SimCauseId due_by, wanted_by, told_by;
};

/* Names of operations, KVM-39. */
typedef enum {
    OPERATION_NONE,
    OPERATION_VERIFY,
    OPERATION_MOUNT,
    OPERATION_UNMOUNT,
    OPERATION_UNMOUNT_DEVICE,
    OPERATION_EXPAND,
    OPERATION_ATTACH, /* these by a kubelet that manages attachments (KVM-69) */
    OPERATION_DETACH,
} OperationName;

/* A mount or unmount without CSI: a system call, and the thread that waits for it. */
#define MOUNT_CALL SIM_MS

/* An entry of nestedpendingoperations (OP-1). */
struct PendingOperation {
    PendingOperation *next; /* of the same volume */
    NodeVolume *volume;
    const PodMount *key; /* its pod's part of the key; NULL: "" */
    PodMount *target;    /* what a mount or unmount works on */
    OperationName name;  /* whose failure it remembers (OP-2) */
    OperationName doing; /* while it runs */
    gboolean running;
    SimTime backoff; /* 0: no failure yet */
    SimTime failed_at;
};

/* What an operation is about. */
static inline const Volume *
operation_pv(const PendingOperation *self)
{
    return VOLUME_CONST(self->volume->pv);
}

static inline const VolumeSource *
operation_source(const PendingOperation *self)
{
    return operation_pv(self)->source;
}

static inline gboolean
operation_is_csi(const PendingOperation *self)
{
    return volume_plugin_is_csi(self->volume->plugin);
}

static inline gboolean
operation_is_block(const PendingOperation *self)
{
    return operation_pv(self)->volume_mode == VOLUME_BLOCK;
}
