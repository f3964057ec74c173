/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "external-attacher.h"

#include "models/plan.h"
#include "models/volume/sidecar.h"

/* Within the attacher: external-attacher.c holds its state and hears of changes, attach.c and detach.c decide what becomes of
 * attachments. */

#define ANNOTATION_NODE_ID "csi.alpha.kubernetes.io/node-id" /* EA-8 */

typedef struct {
    Component base;
    const ExternalAttacherOptions *options; /* borrowed, of the process */
    Sidecar *sidecar;
    gboolean attaches;         /* PUBLISH_UNPUBLISH_VOLUME; else the trivial handler (EA-11) */
    gboolean passes_read_only; /* PUBLISH_READONLY */
    gboolean multi_writer;     /* SINGLE_NODE_MULTI_WRITER */

    Informer *attachments, *volumes, *csi_nodes;
    InformerIndex *attachments_by_volume;
    Workers *attachment_workers, *volume_workers;

    const char *finalizer;   /* EA-7, of attachments and volumes; interned */
    const char *node_id_key; /* interned */
} ExternalAttacher;

/* ---- attach.c ---- */

/* @attachment is live, and not attached. */
void plan_attach(const ExternalAttacher *self, Plan *plan, const Attachment *attachment);

/* EA-20: a volume's modes as the one mode of the driver. Returns: CSI_MODE_UNKNOWN with @error in the attacher's words */
CsiAccessMode
attacher_access_mode(uint32_t access_modes, gboolean multi_writer, const char **error);

/* ---- detach.c ---- */

/* @attachment is being deleted, and has our finalizer. */
void plan_detach(const ExternalAttacher *self, Plan *plan, const Attachment *attachment);

/* ---- external-attacher.c: for both ---- */

const Attachment *attacher_find_attachment(const ExternalAttacher *self, const Plan *plan);
const Volume *attacher_find_volume(const ExternalAttacher *self, const char *name);
/* Returns: (borrowed): NULL: the driver is not on the node, and @error says so */
const char *attacher_node_id(const ExternalAttacher *self,
                             Plan *plan,
                             const char *node_name,
                             const char **error);

/* A merge patch replaces the whole list of finalizers by what the cache had, with our change (EA-37). */
typedef struct {
    const char *node_id_key, *node_id; /* NULL: no annotation */
    unsigned n_finalizers;
    const char *finalizers[];
} MetadataPatch;

MetadataPatch *
metadata_patch_new(Plan *plan, const Object *in_hand, const char *finalizer, gboolean add);
gboolean metadata_patch_apply(Object *object, const void *patch); /* an ObjectEdit */

typedef struct {
    const char *message;
    SimTime at;
} ErrorPatch;

const ErrorPatch *error_patch_new(Plan *plan, const char *message);
