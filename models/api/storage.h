/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "volume.h"

/* The kinds of storage.k8s.io: StorageClass, CSIDriver, CSINode, VolumeAttachment,
 * VolumeAttributesClass, CSIStorageCapacity. */

typedef enum {
    BINDING_IMMEDIATE,
    BINDING_WAIT_FOR_FIRST_CONSUMER,
    BINDING_UNSET, /* never in a stored class: the API server sets Immediate */
} BindingMode;

typedef struct {
    Object meta;
    const char *provisioner;
    StringMap *parameters;
    NodeSelector *allowed_topologies; /* NULL: all */
    StringList *mount_options;
    uint32_t reclaim_policy; /* ReclaimPolicy; default Delete (API-135) */
    uint32_t binding_mode;   /* BindingMode; default Immediate */
    gboolean allow_expansion;
} StorageClass;

/* CSIDriver.spec.tokenRequests. */
typedef struct {
    const char *audience; /* "": the API server's own */
    int64_t expiration_s; /* -1: an hour */
} TokenRequest;

REF_LIST(TokenRequests, TokenRequest);

/* VolumeAttributesClass. */
typedef struct {
    Object meta;
    const char *driver;
    StringMap *parameters; /* never empty */
} AttributesClass;

typedef struct {
    Object meta;
    gboolean attach_required; /* default true */
    gboolean pod_info_on_mount;
    gboolean storage_capacity;
    gboolean requires_republish;
    gboolean selinux_mount;
    gboolean prevents_scheduling_if_missing; /* preventPodSchedulingIfMissing */
    int32_t allocatable_period_s;            /* nodeAllocatableUpdatePeriodSeconds; 0: none */
    const char *fs_group_policy;             /* default ReadWriteOnceWithFSType */
    StringList *lifecycle_modes;             /* NULL: Persistent */
    TokenRequests *token_requests;           /* NULL: none */
} CsiDriverObject;

typedef struct {
    const char *name;
    const char *node_id;
    StringList *topology_keys;
    int32_t allocatable_count; /* -1: none given, so no limit */
} CsiNodeDriver;

REF_LIST(CsiNodeDrivers, CsiNodeDriver);

typedef struct {
    Object meta;
    CsiNodeDrivers *drivers; /* NULL: none */
} CsiNode;

/* Returns: (borrowed): NULL if the driver is not on the node; @self may be NULL */
const CsiNodeDriver *csi_node_find_driver(const CsiNode *self, const char *driver);
/* Adds or replaces (@entry, topology keys taken), or removes (@entry NULL). Returns: whether it
 * changed */
gboolean csi_node_set_driver(CsiNode *self, const char *driver, const CsiNodeDriver *entry);

/* VolumeError; the errors of snapshots have the same form. */
typedef struct {
    const char *message; /* NULL: no error */
    SimTime at;
    int32_t code; /* errorCode: gRPC's; 0: not given */
} VolumeError;

/* VolumeAttachment. */
typedef struct {
    Object meta;
    const char *attacher; /* the driver */
    const char *node_name;
    const char *volume_name; /* spec.source.persistentVolumeName */
    /* spec.source.inlineVolumeSpec, as a Volume without a name; NULL: none */
    Object *inline_volume;
    gboolean attached;
    StringMap *metadata; /* status.attachmentMetadata: the publish context */
    VolumeError attach_error, detach_error;
} Attachment;

typedef struct {
    Object meta;
    const char *class_name;
    LabelSelector *topology; /* nodeTopology; NULL: no node */
    int64_t capacity_bytes;  /* -1: not given */
    int64_t maximum_bytes;   /* maximumVolumeSize; -1: not given */
} StorageCapacity;

extern const FieldType field_volume_error; /* VolumeError; no message: absent */

/* Whether an annotation makes it a default class. */
gboolean storage_class_is_default(const StorageClass *self);

#define STORAGE_CLASS(object) ((StorageClass *)(object))
#define ATTRIBUTES_CLASS_CONST(object) ((const AttributesClass *)(object))
#define CSI_DRIVER_OBJECT(object) ((CsiDriverObject *)(object))
#define CSI_NODE(object) ((CsiNode *)(object))
#define ATTACHMENT(object) ((Attachment *)(object))
#define STORAGE_CAPACITY(object) ((StorageCapacity *)(object))
