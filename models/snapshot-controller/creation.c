/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controller.h"

/* The content for a snapshot of a claim (SNAP-6). */

static void
plan_creation_failed(Plan *plan, const char *error)
{
    plan_snapshot_error(
        plan, TRUE, "SnapshotContentCreationFailed",
        plan_internf(plan, "Failed to create snapshot content with error %s", error));
    plan_fail(plan, "%s", error);
}

static void
decide_content_created(const void *data, Plan *plan)
{
    const SnapshotSync *sync = plan_notes(plan);
    int step = plan_last_step(plan);
    const char *key = plan_key(plan)->text;

    (void)data;
    if (plan_code(plan, step) != API_OK && plan_code(plan, step) != API_EXISTS) {
        plan_event(plan, &sync->snapshot->meta, "Warning", "CreateSnapshotContentFailed",
                   "Error creating volume snapshot content object for snapshot %s: %s.", key,
                   plan_message(plan, step));
        plan_creation_failed(plan, snapshot_update_error(plan, key, plan_message(plan, step)));
        return;
    }
    plan_because(plan, "SNAP-6");
    plan_event(plan, &sync->snapshot->meta, "Normal", "CreatingSnapshot",
               "Waiting for a snapshot %s to be created by the CSI driver.", key);
    plan_store_result(plan, step);
    plan_snapshot_status(plan, plan_object(plan, step) == NULL
                                   ? sync->content
                                   : SNAPSHOT_CONTENT_CONST(plan_object(plan, step)));
}

/* SNAP-70. Returns: (borrowed): interned; NULL: the class has no such parameter */
static const char *
resolve_template(const SnapshotController *self,
                 const SnapshotClass *class,
                 const char *parameter,
                 const ObjectKey *content,
                 const ObjectKey *snapshot)
{
    const char *template = string_map_get(class->parameters, parameter);

    if (template == NULL)
        return NULL;
    g_autoptr(GString) text = g_string_new(template);
    g_string_replace(text, "${volumesnapshotcontent.name}", content->name, 0);
    g_string_replace(text, "${volumesnapshot.namespace}", snapshot->namespace, 0);
    g_string_replace(text, "${volumesnapshot.name}", snapshot->name, 0);
    return strings_intern(self->base.strings, text->str);
}

/* Returns: (owned) */
static Object *
content_new(const SnapshotController *self,
            const VolumeSnapshot *snapshot,
            const SnapshotClass *class,
            const Volume *volume)
{
    const ObjectKey *of = snapshot->meta.key;
    Object *object = object_new(dynamic_content_key(self, snapshot));
    SnapshotContent *content = SNAPSHOT_CONTENT(object);
    const char *name = resolve_template(self, class, "csi.storage.k8s.io/snapshotter-secret-name",
                                        object->key, of);
    const char *namespace = resolve_template(
        self, class, "csi.storage.k8s.io/snapshotter-secret-namespace", object->key, of);

    content->driver = class->driver;
    content->deletion_policy = class->deletion_policy;
    content->class_name = object_name(&class->meta);
    content->volume_handle = volume->source->handle;
    content->snapshot = (SnapshotReference){of->namespace, of->name, snapshot->meta.uid};
    if (self->options->prevent_volume_mode_conversion)
        content->source_volume_mode = strings_intern(
            self->base.strings, volume->volume_mode == VOLUME_BLOCK ? "Block" : "Filesystem");
    if (name != NULL && namespace != NULL) {
        object_set_annotation(
            object, strings_intern(self->base.strings, ANNOTATION_SNAPSHOT_SECRET_NAME), name);
        object_set_annotation(
            object, strings_intern(self->base.strings, ANNOTATION_SNAPSHOT_SECRET_NAMESPACE),
            namespace);
    }
    return object;
}

/* Returns: (borrowed): the error of getCreateSnapshotInput() */
static const char *
input_error(Plan *plan, const char *error)
{
    return plan_internf(plan, "failed to get input parameters to create snapshot %s: %s",
                        plan_key(plan)->name, plan_quote(plan, error));
}

static void
decide_volume_read(const void *data, Plan *plan)
{
    const SnapshotController *self = data;
    const SnapshotSync *sync = plan_notes(plan);
    const SnapshotClass *class =
        SNAPSHOT_CLASS_CONST(informer_find(self->classes, NULL, sync->snapshot->class_name));
    const char *error = NULL;
    const Volume *volume = volume_read(self, plan, &error);

    plan_because(plan, "SNAP-6");
    if (volume == NULL) {
        plan_creation_failed(plan, input_error(plan, error));
        return;
    }
    if (class == NULL) { /* deleted meanwhile */
        error = snapshot_class_error(plan, sync->snapshot->class_name);
        plan_creation_failed(plan, input_error(plan, error));
        return;
    }
    if (volume_driver(volume) == NULL) {
        error = plan_internf(plan, "cannot find CSI PersistentVolumeSource for volume %s",
                             object_name(&volume->meta));
        plan_creation_failed(plan, error);
        return;
    }
    Object *content = content_new(self, sync->snapshot, class, volume);
    take_content(plan, SNAPSHOT_CONTENT_CONST(content));
    plan_create(plan, content, PLAN_DECIDE);
    plan_then(plan, decide_content_created);
}

/* What is known of the source claim and of the class. */
enum {
    CLAIM_KNOWN = 1 << 0,
    HELD = 1 << 1,  /* the claim has our finalizer */
    GOING = 1 << 2, /* the claim has a deletionTimestamp */
    CLASSED = 1 << 3,
    CLASS_KNOWN = 1 << 4,
    CREATION_FACTS_END = 1 << 5,
};

enum {
    FAIL_NO_CLAIM,
    FAIL_GOING,
    FAIL_NO_CLASS,
    FAIL_UNKNOWN_CLASS,
    HOLD, /* put our finalizer on the claim first */
    READ_VOLUME,
};

/* createSnapshotContent(). Columns: all of these hold, none of these, then. */
static const Rule creation_table[] = {
    {"SNAP-6", 0,                                          CLAIM_KNOWN,  FAIL_NO_CLAIM     },
    {"SNAP-6", CLAIM_KNOWN | GOING,                        HELD,         FAIL_GOING        },
    {"SNAP-6", CLAIM_KNOWN,                                HELD | GOING, HOLD              },
    {"SNAP-6", CLAIM_KNOWN | HELD,                         CLASSED,      FAIL_NO_CLASS     },
    {"SNAP-6", CLAIM_KNOWN | HELD | CLASSED,               CLASS_KNOWN,  FAIL_UNKNOWN_CLASS},
    {"SNAP-6", CLAIM_KNOWN | HELD | CLASSED | CLASS_KNOWN, 0,            READ_VOLUME       },
};
const RuleTable snapshot_creation_rules =
    RULE_TABLE("contents to create", CREATION_FACTS_END, creation_table);

static void decide_claim_held(const void *data, Plan *plan);

/* @given: facts that hold by now, whatever the cache says */
static void
plan_creation_with(const SnapshotController *self, Plan *plan, uint32_t given)
{
    const VolumeSnapshot *snapshot = snapshot_of(plan);
    const char *class_name = snapshot->class_name, *error = NULL;
    const Claim *claim = snapshot_claim(self, plan, snapshot, &error);
    uint32_t facts = given;

    if (claim != NULL) {
        facts |= CLAIM_KNOWN;
        facts |= object_has_finalizer(&claim->meta, FINALIZER_SNAPSHOT_CLAIM) ? HELD : 0;
        facts |= object_is_deleted(&claim->meta) ? GOING : 0;
    }
    facts |= class_name != NULL ? CLASSED : 0;
    if (informer_find(self->classes, NULL, class_name) != NULL)
        facts |= CLASS_KNOWN;
    plan_use_client(plan, NULL);
    switch (plan_judge(plan, &snapshot_creation_rules, facts)) {
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
    case FAIL_NO_CLASS:
        plan_creation_failed(
            plan, input_error(plan, snapshot_no_class_error(plan, plan_key(plan)->name)));
        return;
    case FAIL_UNKNOWN_CLASS:
        plan_creation_failed(plan, input_error(plan, snapshot_class_error(plan, class_name)));
        return;
    case HOLD:
        plan_use_client(plan, self->base.event_client);
        plan_update(plan, &claim->meta, edit_add_finalizer,
                    strings_intern(self->base.strings, FINALIZER_SNAPSHOT_CLAIM), PLAN_DECIDE);
        plan_then(plan, decide_claim_held);
        return;
    case READ_VOLUME:
        if (plan_read_volume(self, plan, &error))
            plan_then(plan, decide_volume_read);
        else
            plan_creation_failed(plan, input_error(plan, error));
        return;
    }
    g_assert_not_reached();
}

static void
decide_claim_held(const void *data, Plan *plan)
{
    if (plan_has_failed(plan))
        plan_creation_failed(plan, snapshot_update_error(plan, snapshot_of(plan)->claim_name,
                                                         plan_last_message(plan)));
    else
        plan_creation_with(data, plan, CLAIM_KNOWN | HELD);
}

void
plan_creation(const SnapshotController *self, Plan *plan)
{
    plan_creation_with(self, plan, 0);
}
