/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "external-attacher.h"

#include "models/plan/plan.h"
#include "models/volume/sidecar.h"
#include "sim/ticker.h"

/* Within the attacher: external-attacher.c holds its state and hears of changes, attach.c and
 * detach.c decide what becomes of attachments. */

#define ANNOTATION_NODE_ID "csi.alpha.kubernetes.io/node-id" /* EA-8 */

typedef struct {
    Component base;
    const ExternalAttacherOptions *options; /* borrowed, of the process */
    Sidecar *sidecar;
    gboolean attaches;         /* PUBLISH_UNPUBLISH_VOLUME; else the trivial handler (EA-11) */
    gboolean passes_read_only; /* PUBLISH_READONLY */
    gboolean multi_writer;     /* SINGLE_NODE_MULTI_WRITER */
    gboolean tells_codes;      /* gate MutableCSINodeAllocatableCount */
    gboolean marks_first;      /* SREL-12: before 4.9 */

    Informer *attachments, *volumes, *csi_nodes;
    InformerIndex *attachments_by_volume;
    Workers *attachment_workers, *volume_workers;

    SimTicker *reconciler; /* EA-25; NULL: the driver does not list publications */
    GHashTable *published; /* volume id -> StringList of node ids, from the driver */
    GHashTable *forced;    /* ObjectKey of attachments that the driver's list contradicts */

    const char *finalizer;   /* EA-7, of attachments and volumes; interned */
    const char *node_id_key; /* interned */
} ExternalAttacher;

/* ---- attach.c ---- */

extern const RuleTable attacher_attach_rules; /* EA-19.1 to EA-19.5 */

/* @attachment is live. */
void plan_attach(const ExternalAttacher *self, Plan *plan, const Attachment *attachment);

/* EA-19.1: the volume to attach: an object, or the one inside the attachment. Returns: (borrowed):
 * NULL with @error */
const Volume *attacher_volume_of(const ExternalAttacher *self,
                                 Plan *plan,
                                 const Attachment *attachment,
                                 const char **error);

/* ---- detach.c ---- */

/* @attachment is being deleted. */
void plan_detach(const ExternalAttacher *self, Plan *plan, const Attachment *attachment);

/* ---- external-attacher.c: for both ---- */

const Attachment *attacher_find_attachment(const ExternalAttacher *self, const Plan *plan);
const Volume *attacher_find_volume(const ExternalAttacher *self, const char *name);
/* EA-19.6: the secret of the volume for ControllerPublish and its counterpart. Returns: (borrowed):
 * NULL: it has none */
const SecretReference *attacher_secret_of(const Volume *volume);
void plan_read_secret(const ExternalAttacher *self, Plan *plan, const Volume *volume);
/* After that. Returns: (borrowed): as attacher_volume_of(); with @error also if the secret was not
 * read */
const Volume *attacher_volume_with_secret(const ExternalAttacher *self,
                                          Plan *plan,
                                          const Attachment *attachment,
                                          const char **error);
/* Whether this plan has read a secret with data in it. */
gboolean attacher_has_secret(const Plan *plan);

/* ---- reconcile.c ---- */

gboolean reconciler_pass(void *self);                        /* of the ticker */
void reconciler_apply(void *self, const PlanChange *change); /* ModelClass.apply_change */

/* Private changes, for plan_change(). */
typedef enum {
    CHANGE_LIST_BEGIN,
    CHANGE_LISTED,  /* pointer: CsiResponse */
    CHANGE_COMPARE, /* the list is complete */
} AttacherChange;

/* Returns: (borrowed): NULL with @error: the driver is not on the node */
const char *attacher_node_id(const ExternalAttacher *self,
                             Plan *plan,
                             const char *node_name,
                             const char **error);

/* A merge patch of the whole list of finalizers: the cache's list with our change (EA-37). */
typedef struct {
    const char *node_id_key, *node_id; /* NULL: no annotation */
    unsigned n_finalizers;
    const char *finalizers[];
} MetadataPatch;

MetadataPatch *
metadata_patch_new(Plan *plan, const Object *in_hand, const char *finalizer, gboolean add);
gboolean metadata_patch_apply(Object *object, const void *patch); /* an ObjectEdit */

/* EA-22, EA-24: writes the error into the status and fails. The key comes again even if that write
 * fails, too. @code: of the call that failed (EA-40); CSI_OK: not told */
void plan_attachment_failed(Plan *plan, gboolean is_detach, const char *error, CsiCode code);
