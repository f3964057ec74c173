/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The content for a snapshot of a claim (SNAP-6): first the finalizer on the claim, then the class,
 * the volume and the Secret, then the object. Its name comes from the snapshot's uid, so a second
 * creation finds the first (API_EXISTS) and is a success. The node that manages the volume is
 * written as a label if snapshotting is distributed (SNAP-71). An error is written into the
 * snapshot's status and the sync is tried again. */
#include "controller.h"
#include "models/snapshot-controller/snapshot-controller-test.h"

void
plan_creation_failed(Plan *plan, const char *error)
{
    const SnapshotKinds *kinds = plan_kinds(plan);

    plan_snapshot_error(plan, TRUE, plan_reason(plan, "SnapshotContentCreationFailed"),
                        plan_internf(plan, "%s to create %s content with error %s",
                                     *kinds->prefix == '\0' ? "Failed" : "failed", kinds->noun,
                                     error));
    plan_fail(plan, "%s", error);
}

/* getCreateSnapshotInput(), getCreateGroupSnapshotInput(). */
void
plan_input_failed(Plan *plan, const char *error)
{
    plan_creation_failed(
        plan, plan_internf(plan, "failed to get input parameters to create %s %s: %s",
                           plan_kinds(plan)->noun, plan_key(plan)->name, plan_quote(plan, error)));
}

static void
decide_content_created(const void *data, Plan *plan)
{
    const SnapshotSync *sync = plan_notes(plan);
    int step = plan_last_step(plan);
    const char *key = plan_key(plan)->text;
    const SnapshotKinds *kinds = plan_kinds(plan);

    if (plan_code(plan, step) != API_OK && plan_code(plan, step) != API_EXISTS) {
        plan_event(plan, &sync->snapshot->meta, "Warning",
                   plan_internf(plan, "Create%sSnapshotContentFailed", kinds->prefix),
                   "Error creating volume %s content object for %s %s: %s.", kinds->noun,
                   kinds->noun, key, plan_message(plan, step));
        plan_creation_failed(plan, snapshot_update_error(plan, key, plan_message(plan, step)));
        return;
    }
    plan_because(plan, kinds->snapshot == KIND_GROUP_SNAPSHOT ? "SNAP-82" : "SNAP-6");
    plan_event(plan, &sync->snapshot->meta, "Normal",
               plan_internf(plan, "Creating%sSnapshot", kinds->prefix),
               "Waiting for a %s %s to be created by the CSI driver.", kinds->noun, key);
    plan_store_result(plan, step);
    plan_snapshot_status(data, plan,
                         plan_object(plan, step) == NULL
                             ? sync->content
                             : SNAPSHOT_CONTENT_CONST(plan_object(plan, step)));
}

void
plan_content_creation(Plan *plan, Object *content)
{
    take_content(plan, SNAPSHOT_CONTENT_CONST(content));
    plan_create(plan, content, PLAN_DECIDE);
    plan_then(plan, decide_content_created);
}

/* SNAP-71.1: getManagedByNode(). Returns: NULL: the volume is not tied to nodes, or no node fits */
static const char *
managing_node(const SnapshotController *self, const Volume *volume)
{
    InformerIter iter;
    const Object *node;

    if (self->nodes == NULL || volume->node_affinity == NULL)
        return NULL;
    informer_iter_init(&iter, self->nodes);
    while ((node = informer_iter_next(&iter)) != NULL)
        if (node_selector_matches(volume->node_affinity, node->labels, object_name(node)))
            return object_name(node);
    return NULL;
}

/* Returns: (owned) */
static Object *
content_new(const SnapshotController *self,
            const VolumeSnapshot *snapshot,
            const SnapshotClass *class,
            const Volume *volume,
            const SecretReference *secret)
{
    const ObjectKey *of = snapshot->meta.key;
    Object *object = object_new(dynamic_content_key(self, snapshot));
    SnapshotContent *content = SNAPSHOT_CONTENT(object);

    content->driver = class->driver;
    content->deletion_policy = class->deletion_policy;
    content->class_name = object_name(&class->meta);
    content->volume_handle = volume->source->handle;
    content->snapshot = (SnapshotReference){of->namespace, of->name, snapshot->meta.uid};
    if (self->options->prevent_volume_mode_conversion)
        content->source_volume_mode = strings_intern(
            self->base.strings, volume->volume_mode == VOLUME_BLOCK ? "Block" : "Filesystem");
    const char *node = managing_node(self, volume);
    if (node != NULL)
        object_set_label(object, strings_intern(self->base.strings, LABEL_SNAPSHOT_MANAGED_BY),
                         node);
    if (secret->name != NULL) {
        object_set_annotation(object,
                              strings_intern(self->base.strings, ANNOTATION_SNAPSHOT_SECRET_NAME),
                              secret->name);
        object_set_annotation(
            object, strings_intern(self->base.strings, ANNOTATION_SNAPSHOT_SECRET_NAMESPACE),
            secret->namespace);
    }
    return object;
}

static void
decide_volume_read(const void *data, Plan *plan)
{
    const SnapshotController *self = data;
    const SnapshotSync *sync = plan_notes(plan);
    const SnapshotClass *class =
        SNAPSHOT_CLASS_CONST(informer_find(self->single.classes, NULL, sync->snapshot->class_name));
    const char *error = NULL;
    SecretReference secret;
    const Volume *volume = volume_read(self, plan, &error);

    plan_because(plan, "SNAP-6");
    if (volume == NULL) {
        plan_input_failed(plan, error);
        return;
    }
    if (class == NULL) { /* deleted meanwhile */
        error = snapshot_class_error(plan, sync->snapshot->class_name);
        plan_input_failed(plan, error);
        return;
    }
    g_autofree char *secret_error = snapshot_secret_resolve(
        self->base.strings, SNAPSHOT_SECRET, class->parameters,
        dynamic_content_key(self, sync->snapshot)->name, plan_key(plan), &secret);
    if (secret_error != NULL) {
        plan_because(plan, "SNAP-70");
        plan_input_failed(plan, secret_error);
        return;
    }
    if (volume_driver(volume) == NULL) {
        error = plan_internf(plan, "cannot find CSI PersistentVolumeSource for volume %s",
                             object_name(&volume->meta));
        plan_creation_failed(plan, error);
        return;
    }
    plan_content_creation(plan, content_new(self, sync->snapshot, class, volume, &secret));
}

/* ---- The source claim ---- */

/* Facts of the source claim. */
enum {
    CLAIM_KNOWN = 1 << 0,
    HELD = 1 << 1,  /* it has our finalizer */
    GOING = 1 << 2, /* it has a deletionTimestamp */
    SOURCE_FACTS_END = 1 << 3,
};

enum {
    FAIL_NO_CLAIM,
    FAIL_GOING,
    HOLD,
    GO_ON,
};

/* ensurePVCFinalizer(). Columns: all of these hold, none of these, then. */
static const Rule source_table[] = {
    {"SNAP-6", 0,                   CLAIM_KNOWN,  FAIL_NO_CLAIM},
    {"SNAP-6", CLAIM_KNOWN | GOING, HELD,         FAIL_GOING   },
    {"SNAP-6", CLAIM_KNOWN,         HELD | GOING, HOLD         },
    {"SNAP-6", CLAIM_KNOWN | HELD,  0,            GO_ON        },
};
const RuleTable snapshot_source_rules =
    RULE_TABLE("claims of snapshots", SOURCE_FACTS_END, source_table);

static void
decide_claim_held(const void *data, Plan *plan)
{
    const SnapshotSync *sync = plan_notes(plan);

    plan_use_client(plan, NULL);
    if (plan_has_failed(plan))
        plan_creation_failed(
            plan, snapshot_update_error(plan, sync->snapshot->claim_name, plan_last_message(plan)));
    else
        sync->with_claim(data, plan);
}

void
plan_hold_claim(const SnapshotController *self, Plan *plan)
{
    const SnapshotSync *sync = plan_notes(plan);
    const char *error = NULL;
    const Claim *claim = snapshot_claim(self, plan, sync->snapshot, &error);
    uint32_t facts = 0;

    if (claim != NULL) {
        facts |= CLAIM_KNOWN;
        facts |= object_has_finalizer(&claim->meta, FINALIZER_SNAPSHOT_CLAIM) ? HELD : 0;
        facts |= object_is_deleted(&claim->meta) ? GOING : 0;
    }
    switch (plan_judge(plan, &snapshot_source_rules, facts)) {
    case FAIL_NO_CLAIM:
        plan_creation_failed(plan, snapshot_update_error(plan, plan_key(plan)->name,
                                                         "cannot get claim from snapshot"));
        return;
    case FAIL_GOING:
        plan_creation_failed(
            plan,
            snapshot_update_error(plan, object_name(&claim->meta),
                                  "cannot add finalizer on claim because it is being deleted"));
        return;
    case HOLD:
        plan_use_client(plan, self->base.event_client);
        plan_update(plan, &claim->meta, edit_add_finalizer,
                    strings_intern(self->base.strings, FINALIZER_SNAPSHOT_CLAIM), PLAN_DECIDE);
        plan_then(plan, decide_claim_held);
        return;
    case GO_ON:
        sync->with_claim(self, plan);
        return;
    }
    g_assert_not_reached();
}

/* ---- createSnapshotContent() ---- */

/* Facts of the class. */
enum {
    CLASSED = 1 << 0,
    CLASS_KNOWN = 1 << 1,
    CREATION_FACTS_END = 1 << 2,
};

enum {
    FAIL_NO_CLASS,
    FAIL_UNKNOWN_CLASS,
    READ_VOLUME,
};

/* getCreateSnapshotInput(). Columns: all of these hold, none of these, then. */
static const Rule creation_table[] = {
    {"SNAP-6", 0,                     CLASSED,     FAIL_NO_CLASS     },
    {"SNAP-6", CLASSED,               CLASS_KNOWN, FAIL_UNKNOWN_CLASS},
    {"SNAP-6", CLASSED | CLASS_KNOWN, 0,           READ_VOLUME       },
};
const RuleTable snapshot_creation_rules =
    RULE_TABLE("contents to create", CREATION_FACTS_END, creation_table);

/* The claim has our finalizer. */
static void
decide_creation(const void *data, Plan *plan)
{
    const SnapshotController *self = data;
    const char *class_name = snapshot_of(plan)->class_name, *error = NULL;
    uint32_t facts = class_name != NULL ? CLASSED : 0;

    if (informer_find(self->single.classes, NULL, class_name) != NULL)
        facts |= CLASS_KNOWN;
    switch (plan_judge(plan, &snapshot_creation_rules, facts)) {
    case FAIL_NO_CLASS:
        plan_input_failed(plan, snapshot_no_class_error(plan, plan_key(plan)->name));
        return;
    case FAIL_UNKNOWN_CLASS:
        plan_input_failed(plan, snapshot_class_error(plan, class_name));
        return;
    case READ_VOLUME:
        if (plan_read_volume(self, plan, &error))
            plan_then(plan, decide_volume_read);
        else
            plan_input_failed(plan, error);
        return;
    }
    g_assert_not_reached();
}

void
plan_creation(const SnapshotController *self, Plan *plan)
{
    SnapshotSync *sync = plan_notes(plan);

    sync->with_claim = decide_creation;
    plan_use_client(plan, NULL);
    plan_hold_claim(self, plan);
}
