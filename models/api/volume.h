/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "claim.h"

typedef enum {
    VOLUME_PENDING,
    VOLUME_AVAILABLE,
    VOLUME_BOUND,
    VOLUME_RELEASED,
    VOLUME_FAILED,
} VolumePhase;

typedef enum {
    RECLAIM_RETAIN,
    RECLAIM_DELETE,
    RECLAIM_RECYCLE,
} ReclaimPolicy;

/* spec.claimRef. */
typedef struct {
    const ObjectKey *claim; /* NULL: no claimRef */
    ObjectUid uid;          /* unset: pre-bound by hand */
    uint64_t resource_version;
} ClaimReference;

/* The calls for which a CSI volume may name a secret. */
typedef enum {
    SECRET_CONTROLLER_PUBLISH,
    SECRET_NODE_STAGE,
    SECRET_NODE_PUBLISH,
    SECRET_CONTROLLER_EXPAND,
    SECRET_NODE_EXPAND,
    N_VOLUME_SECRETS,
} VolumeSecret;

typedef struct {
    const char *namespace, *name; /* interned; name NULL: none */
} SecretReference;

typedef struct {
    RefCount refs;
    SecretReference of[N_VOLUME_SECRETS];
} VolumeSecrets;

/* spec.csi, or another source: immutable, shared. */
typedef struct VolumeSource VolumeSource;
struct VolumeSource {
    RefCount refs;
    const char *plugin;     /* "csi", "local", "hostPath", "nfs", ...: the key in spec */
    const char *driver;     /* csi.driver; NULL unless CSI */
    const char *handle;     /* csi.volumeHandle or a path: the identity of the volume */
    const char *fs_type;    /* NULL: none */
    StringMap *attributes;  /* csi.volumeAttributes */
    VolumeSecrets *secrets; /* csi.*SecretRef; NULL: none */
    gboolean read_only;
    gboolean is_inline; /* it stands in a pod: the kubelet makes up its handle (CSP-10) */
    const struct InTreePlugin *in_tree; /* static: of a source that can migrate, or that has; else
                                           NULL */
    VolumeSource *origin;               /* the in-tree source in spec that this CSI source stands
                                           for (MIG-50); NULL: none */
    NodeSelector *csi_affinity; /* ... and the volume's node affinity in the driver's keys */
    const char *flex_driver;    /* flexVolume.driver: "example.com/lvm"; else NULL */
    const char
        *backend_id;    /* what the back end calls a volume of an in-tree plugin; NULL: handle */
    uint32_t csi_modes; /* ... and its AccessModes as translated (MIG-34); 0: not migrated */
    /* It stands in a pod and has migrated: the PersistentVolume that it is for its driver (MIG-45).
     * NULL: it has not. */
    const char *inline_name;
};

/* PersistentVolume. */
typedef struct {
    Object meta;
    const char *class_name; /* spec.storageClassName; NULL: nil. See volume_class() */
    const char *attributes_class;
    int64_t capacity_bytes;
    VolumeSource *source;
    NodeSelector *node_affinity; /* spec.nodeAffinity.required; NULL: none */
    StringList *mount_options;
    ClaimReference claim_ref;
    uint32_t access_modes;        /* AccessModes */
    uint32_t volume_mode;         /* VolumeMode */
    uint32_t reclaim_policy;      /* ReclaimPolicy */
    uint32_t phase;               /* VolumePhase */
    const char *message, *reason; /* status */
    SimTime phase_changed_at;     /* status.lastPhaseTransitionTime; TIME_UNSET: none */
} Volume;

#define VOLUME(object) ((Volume *)(object))
#define VOLUME_CONST(object) ((const Volume *)(object))

/* A volume of a pod: csi, or a volume of a plugin within Kubernetes, which migrates as a
 * PersistentVolume's. Returns: (owned): NULL: it needs no plugin with work of its own (emptyDir,
 * hostPath, ...), or is faulty */
VolumeSource *volume_source_parse_inline(ApiParser *parser, const json_t *volume);
/* Takes the attributes, and secrets made by volume_secrets_new(). */
VolumeSource *volume_source_new(const VolumeSource *value);
/* A CSI source for itself, without the in-tree source that it stands for. Returns: (owned) */
VolumeSource *volume_source_without_origin(const VolumeSource *self);
VolumeSource *volume_source_ref(const VolumeSource *self);
void volume_source_unref(VolumeSource *self);
/* Of two sources (nullable). */
gboolean volume_source_same(const VolumeSource *a, const VolumeSource *b);

/* Returns: (owned): NULL if all @references (N_VOLUME_SECRETS) are empty */
VolumeSecrets *volume_secrets_new(const SecretReference *references);
/* Returns: (borrowed): NULL: the volume names no secret for these calls */
const SecretReference *volume_source_secret(const VolumeSource *self, VolumeSecret secret);

/* Where the volume can be used, as the components see it that have handed it to its CSI driver
 * (MIG-51). Returns: (borrowed) (nullable) */
const NodeSelector *volume_node_affinity(const Volume *self);

/* The access modes in the same way (MIG-34). */
uint32_t volume_access_modes(const Volume *self);

/* INT-1: the source of a volume that Kubernetes itself attaches and mounts, as long as it has not
 * migrated. Returns: (borrowed): NULL: it is a CSI volume from the start */
const VolumeSource *volume_in_process_source(const Volume *self);
/* What the driver calls the volume, whether it is called as a CSI driver or in process. */
const char *volume_backend_id(const Volume *self);
/* The same of a source (nullable), of a volume of this name. */
const char *volume_source_backend_id(const VolumeSource *self, const char *name);

const char *volume_class(const Volume *self);
/* Whether the volume's claimRef is for this claim: same name and namespace, uid empty or equal
 * (PVC-31). */
gboolean volume_is_bound_to(const Volume *self, const Claim *claim);
const char *volume_phase_name(VolumePhase phase);
const char *claim_phase_name(ClaimPhase phase);

extern const FieldType field_reclaim_policy; /* uint32_t: ReclaimPolicy */