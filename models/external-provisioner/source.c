/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Where the data of a new volume comes from: another claim's volume, or a snapshot. A rule table
 * checks the source claim; a finalizer keeps it until no pending claim copies it (SRC-2, SRC-3). A
 * source in another namespace needs a ReferenceGrant (SRC-6). Errors here change nothing at the
 * driver, and the back-off tries again (SRC-1, SRC-4). */
#include "attempt.h"

#include <string.h>

#include "models/api/reference-grant.h"
#include "models/api/snapshot.h"

static void
source_failed(const ExternalProvisioner *self, Plan *plan, const char *error)
{
    const Claim *claim = provisioner_attempt(self, plan)->claim;

    provision_failed(self, plan, claim, PROVISION_NO_CHANGE,
                     plan_internf(plan,
                                  "error getting handle for DataSource Type %s by Name %s: %s",
                                  claim->data_source.kind, claim->data_source.name, error));
}

static void
source_found(Plan *plan, CsiSourceKind kind, const char *id)
{
    plan_change(
        plan,
        &(PlanChange){.what = CHANGE_SOURCE, .key = plan_key(plan), .number = kind, .text = id});
    plan_then(plan, decide_placed);
}

/* ---- Clones ---- */

static const char not_valid[] = "claim in dataSource not bound or invalid";

static const char *
source_namespace(const Claim *claim)
{
    return is_set(claim->data_source.namespace) ? claim->data_source.namespace
                                                : claim->meta.key->namespace;
}

/* SRC-6: IsGranted() of external-provisioner's util.go. */
gboolean
source_is_granted(const ExternalProvisioner *self, const Claim *claim)
{
    const char *namespace = source_namespace(claim);
    InformerIter iter;
    const Object *grant;

    if (claim->data_source.kind == NULL || namespace == claim->meta.key->namespace)
        return TRUE;
    informer_iter_init(&iter, self->grants);
    while ((grant = informer_iter_next(&iter)) != NULL)
        if (grant->key->namespace == namespace &&
            reference_grant_admits((const ReferenceGrant *)grant, claim))
            return TRUE;
    return FALSE;
}

static ObjectKey *
source_key(Objects *objects, const Claim *claim, ObjectKind kind)
{
    const char *name = claim->data_source.name; /* an import may bring one without */

    return objects_key(objects, kind, source_namespace(claim), name == NULL ? "" : name);
}

static const Claim *
source_claim(const ExternalProvisioner *self, const Claim *claim)
{
    return CLAIM_CONST(
        informer_find(self->claims, source_namespace(claim), claim->data_source.name));
}

static void
decide_held(const void *data, Plan *plan)
{
    const ExternalProvisioner *self = data;
    const ProvisionAttempt *attempt = provisioner_attempt(self, plan);
    int step = plan_last_step(plan);

    if (plan_code(plan, step) != API_OK)
        provision_failed(self, plan, attempt->claim, PROVISION_NO_CHANGE, plan_message(plan, step));
    else
        plan_then(plan, decide_placed);
}

/* SRC-2: a finalizer keeps the source while it is copied. */
static void
hold_source(const ExternalProvisioner *self, Plan *plan, const Claim *source, const char *handle)
{
    source_found(plan, CSI_SOURCE_VOLUME, handle);
    if (object_has_finalizer(&source->meta, FINALIZER_CLONE))
        return;
    plan_because(plan, "SRC-2");
    plan_update(plan, &source->meta, edit_add_finalizer, self->clone_finalizer, PLAN_DECIDE);
    plan_then(plan, decide_held);
}

/* SRC-1: Returns: why the volume of the source must not be copied; NULL: it may be */
static const char *
check_source_volume(const ProvisionAttempt *attempt, const Claim *source, const Volume *volume)
{
    const ClaimReference *reference = &volume->claim_ref;

    if (volume->source == NULL || volume->source->driver == NULL ||
        volume->source->driver != attempt->class->class->provisioner)
        return not_valid;
    if (reference->claim != source->meta.key ||
        !object_uid_equal(reference->uid, source->meta.uid) || volume->phase != VOLUME_BOUND)
        return not_valid;
    if (volume->volume_mode == attempt->claim->volume_mode)
        return NULL;
    return volume->volume_mode == VOLUME_BLOCK
               ? "the source PVC and destination PVCs must have the same volume mode for cloning.  "
                 "Source is Block, but new PVC requested Filesystem"
               : "the source PVC and destination PVCs must have the same volume mode for cloning.  "
                 "Source is Filesystem, but new PVC requested Block";
}

static void
decide_cloned_volume(const void *data, Plan *plan)
{
    const ExternalProvisioner *self = data;
    const ProvisionAttempt *attempt = provisioner_attempt(self, plan);
    const Claim *source = source_claim(self, attempt->claim);
    int step = plan_last_step(plan);
    const char *error = not_valid;

    plan_because(plan, "SRC-1");
    if (source != NULL && plan_code(plan, step) == API_OK)
        error = check_source_volume(attempt, source, VOLUME_CONST(plan_object(plan, step)));
    if (error != NULL)
        source_failed(self, plan, error);
    else
        hold_source(self, plan, source, VOLUME_CONST(plan_object(plan, step))->source->handle);
}

/* Facts of the source, the claim to copy. */
enum {
    KNOWN = 1 << 0,
    BOUND = 1 << 1,   /* its phase is */
    GOING = 1 << 2,   /* it has a deletionTimestamp */
    CLASSED = 1 << 3, /* both claims name a class in their spec */
    FITS = 1 << 4,    /* the new claim asks for as much, at least */
    NAMED = 1 << 5,   /* it names its volume */
    CLONE_FACTS_END = 1 << 6,
};

enum {
    FAIL_UNKNOWN,
    FAIL_NOT_BOUND,
    FAIL_GOING,
    FAIL_NO_CLASS,
    FAIL_TOO_SMALL,
    FAIL_NO_VOLUME,
    READ_VOLUME,
};

/* getPVCSource() of external-provisioner's controller.go. Columns: all of these hold, none of
 * these, then. */
static const Rule clone_table[] = {
    {"SRC-1", 0,                                      KNOWN,           FAIL_UNKNOWN  },
    {"SRC-1", KNOWN,                                  BOUND,           FAIL_NOT_BOUND},
    {"SRC-1", KNOWN | BOUND | GOING,                  0,               FAIL_GOING    },
    {"SRC-1", KNOWN | BOUND,                          GOING | CLASSED, FAIL_NO_CLASS },
    {"SRC-1", KNOWN | BOUND | CLASSED,                GOING | FITS,    FAIL_TOO_SMALL},
    {"SRC-1", KNOWN | BOUND | CLASSED | FITS,         GOING | NAMED,   FAIL_NO_VOLUME},
    {"SRC-1", KNOWN | BOUND | CLASSED | FITS | NAMED, GOING,           READ_VOLUME   },
};
const RuleTable provisioner_clone_rules =
    RULE_TABLE("claims to copy", CLONE_FACTS_END, clone_table);

/* @source: NULL: not there */
static uint32_t
clone_facts(const Claim *claim, const Claim *source)
{
    uint32_t facts = 0;

    if (source == NULL)
        return 0;
    facts |= KNOWN;
    facts |= source->phase == CLAIM_BOUND ? BOUND : 0;
    facts |= object_is_deleted(&source->meta) ? GOING : 0;
    facts |= source->class_name != NULL && claim->class_name != NULL ? CLASSED : 0;
    facts |= claim->request_bytes >= source->request_bytes ? FITS : 0;
    facts |= is_set(source->volume_name) ? NAMED : 0;
    return facts;
}

static void
decide_clone(const void *data, Plan *plan)
{
    const ExternalProvisioner *self = data;
    const Claim *claim = provisioner_attempt(self, plan)->claim;
    const Claim *source = source_claim(self, claim);

    switch (plan_judge(plan, &provisioner_clone_rules, clone_facts(claim, source))) {
    case FAIL_UNKNOWN:
        source_failed(self, plan,
                      plan_internf(plan,
                                   "error getting PVC %s (namespace \"%s\") from api server: "
                                   "persistentvolumeclaim \"%s\" not found",
                                   claim->data_source.name, source_namespace(claim),
                                   claim->data_source.name));
        return;
    case FAIL_NOT_BOUND: /* the text ends with a Go struct: of a claim that never was bound */
        source_failed(self, plan,
                      plan_internf(plan,
                                   "the PVC DataSource %s must have a status of Bound.  Got {%s [] "
                                   "map[] [] map[] map[] <nil> <nil>}",
                                   claim->data_source.name, claim_phase_name(source->phase)));
        return;
    case FAIL_GOING:
        source_failed(self, plan,
                      plan_internf(plan, "the PVC DataSource %s is currently being deleted",
                                   claim->data_source.name));
        return;
    case FAIL_NO_CLASS:
        source_failed(
            self, plan,
            plan_internf(plan, "the %s PVC (%s) storageclass cannot be empty",
                         source->class_name == NULL ? "source" : "requested",
                         object_name(source->class_name == NULL ? &source->meta : &claim->meta)));
        return;
    case FAIL_NO_VOLUME:
        source_failed(self, plan,
                      plan_internf(plan, "volume name is empty in source PVC %s",
                                   object_name(&source->meta)));
        return;
    case FAIL_TOO_SMALL:
        source_failed(
            self, plan,
            plan_internf(plan,
                         "error, new PVC request must be greater than or equal in size to the "
                         "specified PVC data source, requested %" G_GINT64_FORMAT
                         " but source is %" G_GINT64_FORMAT,
                         claim->request_bytes, source->request_bytes));
        return;
    case READ_VOLUME:
        plan_get(plan, objects_key(self->base.objects, KIND_VOLUME, NULL, source->volume_name),
                 PLAN_DECIDE);
        plan_then(plan, decide_cloned_volume);
        return;
    }
    g_assert_not_reached();
}

/* ---- Snapshots ---- */

static const char *
mode_name(const Claim *claim)
{
    return claim->volume_mode == VOLUME_BLOCK ? "Block" : "Filesystem";
}

static gboolean
mode_is_allowed(const ExternalProvisioner *self, const Claim *claim, const SnapshotContent *content)
{
    return !self->options->prevent_volume_mode_conversion || content->source_volume_mode == NULL ||
           strcmp(content->source_volume_mode, mode_name(claim)) == 0 ||
           g_strcmp0(object_annotation(&content->meta, ANNOTATION_ALLOW_MODE_CHANGE), "true") == 0;
}

/* getSnapshotSource() of external-provisioner's controller.go. @content: NULL: it was not read.
 * Returns: (borrowed): NULL: the snapshot can be restored */
static const char *
restore_error(const ExternalProvisioner *self,
              Plan *plan,
              const VolumeSnapshot *snapshot,
              const SnapshotContent *content)
{
    const ProvisionAttempt *attempt = provisioner_attempt(self, plan);
    const Claim *claim = attempt->claim;
    const char *name = object_name(&snapshot->meta);

    if (content == NULL || !snapshot_content_is_of(content, snapshot) ||
        content->driver != attempt->class->class->provisioner)
        return plan_internf(plan, "snapshot %s not bound", name);
    if (snapshot->readiness != SNAPSHOT_READY)
        return plan_internf(plan, "snapshot %s is not Ready", name);
    if (content->handle == NULL)
        return plan_internf(plan, "snapshot handle %s is not available", name);
    if (claim->request_bytes < snapshot->restore_bytes)
        return plan_internf(plan,
                            "requested volume size %" G_GINT64_FORMAT
                            " is less than the size %" G_GINT64_FORMAT
                            " for the source snapshot %s",
                            claim->request_bytes, snapshot->restore_bytes, name);
    if (!mode_is_allowed(self, claim, content))
        return plan_internf(plan,
                            "requested volume %s modifies the mode of the source volume but does "
                            "not have permission to do so. " ANNOTATION_ALLOW_MODE_CHANGE
                            " annotation is not present on snapshotcontent %s",
                            claim->meta.key->text, object_name(&content->meta));
    return NULL;
}

static void
decide_content(const void *data, Plan *plan)
{
    const ExternalProvisioner *self = data;
    int step = plan_last_step(plan);
    const VolumeSnapshot *snapshot = VOLUME_SNAPSHOT_CONST(plan_object(plan, step - 1));
    const SnapshotContent *content = SNAPSHOT_CONTENT_CONST(plan_object(plan, step));
    const char *error = restore_error(self, plan, snapshot, content);

    plan_because(plan, "SRC-4");
    plan_use_client(plan, NULL);
    if (error != NULL)
        source_failed(self, plan, error);
    else
        source_found(plan, CSI_SOURCE_SNAPSHOT, content->handle);
}

static void
decide_snapshot(const void *data, Plan *plan)
{
    const ExternalProvisioner *self = data;
    const char *name = provisioner_attempt(self, plan)->claim->data_source.name;
    int step = plan_last_step(plan);
    const VolumeSnapshot *snapshot = (const VolumeSnapshot *)plan_object(plan, step);

    plan_because(plan, "SRC-4");
    if (plan_code(plan, step) != API_OK || snapshot->bound_content == NULL)
        plan_use_client(plan, NULL); /* no request follows */
    if (plan_code(plan, step) != API_OK) {
        source_failed(self, plan,
                      plan_internf(plan, "error getting snapshot %s from api server: %s", name,
                                   plan_message(plan, step)));
    } else if (object_is_deleted(&snapshot->meta)) {
        source_failed(self, plan,
                      plan_internf(plan, "snapshot %s is currently being deleted", name));
    } else if (snapshot->bound_content == NULL) {
        source_failed(self, plan, plan_internf(plan, "snapshot %s not bound", name));
    } else {
        plan_get(
            plan,
            objects_key(self->base.objects, KIND_SNAPSHOT_CONTENT, NULL, snapshot->bound_content),
            PLAN_DECIDE);
        plan_then(plan, decide_content);
    }
}

static void
decide_restore(const void *data, Plan *plan)
{
    const ExternalProvisioner *self = data;
    const Claim *claim = provisioner_attempt(self, plan)->claim;

    plan_because(plan, "SRC-4");
    plan_use_client(plan, self->snapshot_client);
    plan_get(plan, source_key(self->base.objects, claim, KIND_VOLUME_SNAPSHOT), PLAN_DECIDE);
    plan_then(plan, decide_snapshot);
}

void
plan_source(Plan *plan, const Claim *claim)
{
    plan_then(plan, strcmp(claim->data_source.kind, "VolumeSnapshot") == 0 ? decide_restore
                                                                           : decide_clone);
}

/* ---- Claims that are copied ---- */

/* SRC-3: by spec.dataSource, as CloningProtectionController looks for them. */
void
index_clones(InformerIndex *index, const Object *object, Objects *objects)
{
    const Claim *claim = CLAIM_CONST(object);

    if (claim->data_source.kind != NULL &&
        strcmp(claim->data_source.kind, "PersistentVolumeClaim") == 0 &&
        data_source_has_form(&claim->data_source, DATA_SOURCE_OLD))
        index_emit(index, source_key(objects, claim, KIND_CLAIM));
}

gboolean
clone_source_is_queued(const Claim *claim)
{
    return object_is_deleted(&claim->meta);
}

/* SRC-3 */
void
decide_clone_source(const void *data, Plan *plan)
{
    const ExternalProvisioner *self = data;
    const Object *source = informer_get(self->claims, plan_key(plan));
    unsigned n_clones = 0;

    plan_because(plan, "SRC-3");
    if (source == NULL || !object_has_finalizer(source, FINALIZER_CLONE))
        return;
    const Object *const *clones = informer_index_get(self->clones, plan_key(plan), &n_clones);
    for (unsigned i = 0; i < n_clones; i++)
        if (CLAIM_CONST(clones[i])->phase == CLAIM_PENDING) {
            plan_fail(plan, "unable to remove finalizer from PVC %s: still in use by %s",
                      source->key->text, object_name(clones[i]));
            return;
        }
    plan_update(plan, source, edit_remove_finalizer, self->clone_finalizer, PLAN_STOP);
}
