/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "field.h"
#include "selector.h"

/* Access modes as a set, in Kubernetes' order. */
typedef enum {
    ACCESS_RWO = 1 << 0,  /* ReadWriteOnce */
    ACCESS_ROX = 1 << 1,  /* ReadOnlyMany */
    ACCESS_RWX = 1 << 2,  /* ReadWriteMany */
    ACCESS_RWOP = 1 << 3, /* ReadWriteOncePod */
} AccessModes;

typedef enum {
    VOLUME_FILESYSTEM,
    VOLUME_BLOCK,
} VolumeMode;

typedef enum {
    CLAIM_PENDING,
    CLAIM_BOUND,
    CLAIM_LOST,
} ClaimPhase;

/* Which of the two fields hold the data source, as flags. No flag: both fields, unless it has a
 * namespace. */
typedef enum {
    DATA_SOURCE_OLD = 1 << 0, /* spec.dataSource */
    DATA_SOURCE_REF = 1 << 1, /* spec.dataSourceRef */
} DataSourceForm;

/* spec.dataSource or dataSourceRef. */
typedef struct {
    const char *api_group, *kind, *namespace, *name; /* interned; kind NULL: none */
    uint32_t forms;                                  /* DataSourceForm */
} DataSource;

/* The state of a claim's expansion or modification: an item of status.conditions. */
typedef struct {
    const char *type;             /* "Resizing"; interned */
    const char *status;           /* "True" */
    const char *reason, *message; /* NULL: none */
    SimTime changed_at;           /* lastTransitionTime; TIME_UNSET: none */
} ClaimCondition;

/* Immutable, shared, oldest first; NULL: none. */
REF_LIST(ClaimConditions, ClaimCondition);

/* PersistentVolumeClaim. */
typedef struct {
    Object meta;
    const char *class_name;  /* spec.storageClassName; NULL: absent; "" asks for volumes without a
                                class. See claim_class() */
    const char *volume_name; /* spec.volumeName; NULL or "": none. See claim_volume_name() */
    const char *attributes_class; /* spec.volumeAttributesClassName; NULL: none */
    int64_t request_bytes;        /* spec.resources.requests.storage */
    LabelSelector *selector;
    DataSource data_source;
    uint32_t access_modes; /* AccessModes */
    uint32_t volume_mode;  /* VolumeMode */
    uint32_t phase;        /* ClaimPhase */
    uint32_t status_access_modes;
    int64_t capacity_bytes;    /* status.capacity.storage; 0: none */
    int64_t allocated_bytes;   /* status.allocatedResources.storage; 0: none */
    const char *resize_status; /* status.allocatedResourceStatuses.storage; NULL: none */
    /* status.currentVolumeAttributesClassName; NULL: none */
    const char *current_attributes_class;
    const char *modify_target, *modify_status; /* status.modifyVolumeStatus; NULL: none */
    ClaimConditions *conditions;               /* Resizing, FileSystemResizePending, ... */
} Claim;

#define CLAIM(object) ((Claim *)(object))
#define CLAIM_CONST(object) ((const Claim *)(object))

#define ANNOTATION_BIND_COMPLETED "pv.kubernetes.io/bind-completed"
#define ANNOTATION_BOUND_BY_CONTROLLER "pv.kubernetes.io/bound-by-controller"
#define ANNOTATION_PROVISIONED_BY "pv.kubernetes.io/provisioned-by"
#define ANNOTATION_STORAGE_RESIZER "volume.kubernetes.io/storage-resizer"
#define ANNOTATION_MIGRATED_TO "pv.kubernetes.io/migrated-to"
#define ANNOTATION_STORAGE_PROVISIONER "volume.kubernetes.io/storage-provisioner"
#define ANNOTATION_BETA_STORAGE_PROVISIONER "volume.beta.kubernetes.io/storage-provisioner"
#define ANNOTATION_SELECTED_NODE "volume.kubernetes.io/selected-node"
/* The number of files in the volume, for drivers that model files: "1M", "250000" */
#define ANNOTATION_FILES "kvolsim.io/files"
#define ANNOTATION_BETA_STORAGE_CLASS "volume.beta.kubernetes.io/storage-class"
#define ANNOTATION_DEFAULT_CLASS "storageclass.kubernetes.io/is-default-class"
#define ANNOTATION_BETA_DEFAULT_CLASS "storageclass.beta.kubernetes.io/is-default-class"
#define FINALIZER_PVC_PROTECTION "kubernetes.io/pvc-protection"
#define FINALIZER_PV_PROTECTION "kubernetes.io/pv-protection"
#define FINALIZER_VAC_PROTECTION "kubernetes.io/vac-protection"  /* of a VolumeAttributesClass */
#define FINALIZER_IN_TREE_DELETION "kubernetes.io/pv-controller" /* of a PersistentVolume */
#define FINALIZER_PROVISIONER "external-provisioner.volume.kubernetes.io/finalizer"
#define FINALIZER_CLONE "provisioner.storage.kubernetes.io/cloning-protection" /* SRC-2 */
#define PROVISIONER_NONE "kubernetes.io/no-provisioner"

/* Which of the two fields the object has (API-182): spec.dataSource is empty if the source has a
 * namespace. */
gboolean data_source_has_form(const DataSource *source, DataSourceForm form);

/* API-184: the faults that the API server finds in a claim's status. */
void claim_check_status(ApiParser *parser, const json_t *manifest);
/* API-185: appends the warnings (char *) that the API server answers a claim with. */
void claim_warnings(const json_t *manifest, GPtrArray *warnings);

/* The class: the beta annotation wins over the spec; "" if neither is set. */
const char *claim_class(const Claim *self);
int64_t claim_files(const Claim *self); /* of its annotation; -1: none */
/* spec.volumeName, "" if none. */
const char *claim_volume_name(const Claim *self);
gboolean claim_is_bind_completed(const Claim *self);
/* bind-completed and a volume name (VB-14). */
gboolean claim_is_fully_bound(const Claim *self);

ClaimConditions *claim_conditions_new(const ClaimCondition *items,
                                      unsigned n_items); /* NULL if empty */
void claim_conditions_unref(ClaimConditions *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(ClaimConditions, claim_conditions_unref)
/* Returns: (borrowed): NULL: there is none of this type. @type need not be interned */
const ClaimCondition *claim_conditions_find(const ClaimConditions *self, const char *type);
/* Takes @conditions. Returns: whether that changed something */
gboolean claim_set_conditions(Claim *self, ClaimConditions *conditions);
gboolean claim_condition_is_true(const Claim *self, const char *type);

extern const FieldType field_access_modes; /* uint32_t: AccessModes */
/* Reports ReadWriteOncePod beside other modes. @value: of spec.accessModes */
void access_modes_check(ApiParser *parser, const json_t *value, uint32_t modes);
extern const FieldType field_volume_mode; /* uint32_t: VolumeMode */