/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The deletion of a VolumeSnapshot: its content first, then the finalizers (SNAP-30 to SNAP-34). A
 * rule table keeps the snapshot while a pending claim is to be restored from it, or while its group
 * is there. The content is annotated before it is deleted, so the sidecar knows that it may delete
 * the snapshot at the driver. The finalizer as bound stays until a content with the policy Delete
 * has gone. */
#include "controller.h"
#include "models/snapshot-controller/snapshot-controller-test.h"

/* ---- SNAP-33: the snapshot's own finalizers ---- */

/* SNAP-85: the group of a member is gone. */
static gboolean
remove_source_finalizer(Object *object, const void *data)
{
    gboolean changed = object_remove_finalizer(object, FINALIZER_SNAPSHOT_SOURCE);

    (void)data;
    return (VOLUME_SNAPSHOT_CONST(object)->group_name != NULL &&
            object_remove_finalizer(object, FINALIZER_SNAPSHOT_IN_GROUP)) ||
           changed;
}

static gboolean
remove_finalizers(Object *object, const void *data)
{
    gboolean changed = remove_source_finalizer(object, data);

    return object_remove_finalizer(object, FINALIZER_SNAPSHOT_BOUND) || changed;
}

void
decide_finalizers_removed(const void *data, Plan *plan)
{
    (void)data;
    if (plan_has_failed(plan))
        plan_fail(plan, "%s",
                  snapshot_update_error(plan, plan_key(plan)->name, plan_last_message(plan)));
    else
        plan_store_result(plan, plan_last_step(plan));
}

gboolean
content_goes_with_snapshot(Plan *plan)
{
    const SnapshotContent *content = ((const SnapshotSync *)plan_notes(plan))->content;

    return content != NULL && g_strcmp0(content->deletion_policy, "Delete") == 0;
}

/* The finalizer as bound stays until the content has gone (SNAP-34). */
static void
decide_released(const void *data, Plan *plan)
{
    const SnapshotSync *sync = plan_notes(plan);

    (void)data;
    plan_because(plan, "SNAP-33");
    plan_update(plan, &sync->snapshot->meta,
                content_goes_with_snapshot(plan) ? remove_source_finalizer : remove_finalizers,
                NULL, PLAN_DECIDE | PLAN_SEND_ALWAYS);
    plan_then(plan, decide_finalizers_removed);
}

void
plan_remove_finalizers(const void *self, Plan *plan)
{
    SnapshotSync *sync = plan_notes(plan);

    sync->deletes = TRUE;
    sync->with_claim = decide_released;
    plan_release_claim(self, plan);
}

/* ---- SNAP-30 to SNAP-32: the content ---- */

static void
decide_content_deleted(const void *data, Plan *plan)
{
    const SnapshotSync *sync = plan_notes(plan);
    const SnapshotKinds *kinds = plan_kinds(plan);

    if (!plan_has_failed(plan)) {
        sync->with_content(data, plan);
        return;
    }
    plan_because(plan, "SNAP-32");
    plan_event(plan, &sync->snapshot->meta, "Warning",
               plan_reason(plan, "SnapshotContentObjectDeleteError"),
               "Failed to delete %s content API object", kinds->noun);
    plan_fail(plan, "failed to delete Volume%sSnapshotContent %s from API server: %s",
              kinds->prefix, object_name(&sync->content->meta),
              plan_quote(plan, plan_last_message(plan)));
}

void
plan_content_deletion(const SnapshotController *self, Plan *plan)
{
    const SnapshotSync *sync = plan_notes(plan);

    if (!content_goes_with_snapshot(plan)) {
        sync->with_content(self, plan);
        return;
    }
    plan_because(plan, "SNAP-32");
    plan_delete(plan, sync->content->meta.key, (ObjectUid){0, 0}, -1, PLAN_DECIDE);
    plan_then(plan, decide_content_deleted);
}

static void
decide_annotated(const void *data, Plan *plan)
{
    const SnapshotSync *sync = plan_notes(plan);

    plan_because(plan, "SNAP-32");
    if (plan_has_failed(plan)) {
        plan_fail(plan, "%s",
                  snapshot_update_error(plan, object_name(&sync->content->meta),
                                        plan_last_message(plan)));
        return;
    }
    plan_content_deletion(data, plan);
}

void
plan_content_annotation(Plan *plan, const SnapshotContent *content)
{
    plan_annotate_deletion(plan, content, PLAN_DECIDE);
    plan_then(plan, decide_annotated);
}

gboolean
snapshot_is_being_restored(const SnapshotController *self, const Object *snapshot)
{
    unsigned n;
    const Object *const *claims = informer_index_get(self->restores, snapshot->key, &n);

    for (unsigned i = 0; i < n; i++)
        if (CLAIM_CONST(claims[i])->phase == CLAIM_PENDING)
            return TRUE;
    return FALSE;
}

/* SNAP-30: the content in the status, or the one that was made for the snapshot; only a content
 * that points back counts. */
static const SnapshotContent *
content_that_goes(const SnapshotController *self, Plan *plan)
{
    const VolumeSnapshot *snapshot = ((const SnapshotSync *)plan_notes(plan))->snapshot;
    const char *name = snapshot->bound_content;

    if (name == NULL && snapshot->claim_name != NULL)
        name = dynamic_content_key(self, snapshot)->name;
    const SnapshotContent *content = stored_content(self, plan, name);
    return content != NULL && snapshot_content_is_of(content, snapshot) ? content : NULL;
}

/* Facts of a snapshot that has a deletionTimestamp. */
enum {
    HELD = 1 << 0,      /* by one of our finalizers */
    FOUND = 1 << 1,     /* its content */
    RESTORED = 1 << 2,  /* a pending claim is to be restored from it */
    ANNOTATED = 1 << 3, /* the content is: the sidecar may delete it */
    IN_GROUP = 1 << 4,  /* its group is still there */
    DELETION_FACTS_END = 1 << 5,
};

enum {
    LEAVE,
    TELL_RESTORED, /* no retry: the next event or resync looks again */
    FAIL_IN_GROUP,
    ANNOTATE,
    DELETE_CONTENT,
    TAKE_FINALIZERS_OFF,
};

/* processSnapshotWithDeletionTimestamp(). Columns: all of these hold, none of these, then. */
static const Rule deletion_table[] = {
    {"SNAP-30", 0,                        HELD,                            LEAVE              },
    {"SNAP-31", HELD | FOUND | RESTORED,  0,                               TELL_RESTORED      },
    {"SNAP-85", HELD | FOUND | IN_GROUP,  RESTORED,                        FAIL_IN_GROUP      },
    {"SNAP-85", HELD | IN_GROUP,          FOUND,                           FAIL_IN_GROUP      },
    {"SNAP-32", HELD | FOUND,             RESTORED | ANNOTATED | IN_GROUP, ANNOTATE           },
    {"SNAP-32", HELD | FOUND | ANNOTATED, RESTORED | IN_GROUP,             DELETE_CONTENT     },
    {"SNAP-33", HELD,                     FOUND | IN_GROUP,                TAKE_FINALIZERS_OFF},
};
const RuleTable snapshot_deletion_rules =
    RULE_TABLE("snapshots to delete", DELETION_FACTS_END, deletion_table);

static uint32_t
deletion_facts(const SnapshotController *self,
               const VolumeSnapshot *snapshot,
               const SnapshotContent *content)
{
    uint32_t facts = snapshot_waits_for_deletion(snapshot) ? HELD : 0;

    facts |= group_of_member(self, snapshot) != NULL ? IN_GROUP : 0;
    if (content == NULL)
        return facts;
    facts |= FOUND;
    facts |= snapshot_is_being_restored(self, &snapshot->meta) ? RESTORED : 0;
    if (object_annotation(&content->meta, ANNOTATION_SNAPSHOT_BEING_DELETED) != NULL)
        facts |= ANNOTATED;
    return facts;
}

static void
plan_in_group(Plan *plan, const VolumeSnapshot *snapshot)
{
    const ObjectKey *key = plan_key(plan);
    const char *message = plan_internf(
        plan,
        "deletion of the individual volume snapshot %s is not allowed as it belongs to group "
        "snapshot %s/%s. Deleting the group snapshot will trigger the deletion of all the "
        "individual volume snapshots that are part of the group.",
        key->text, key->namespace, snapshot->group_name);

    plan_event(plan, &snapshot->meta, "Warning", "SnapshotDeletePending", "%s", message);
    plan_fail(plan, "%s", message);
}

void
plan_snapshot_deletion(const SnapshotController *self, Plan *plan)
{
    const VolumeSnapshot *snapshot = snapshot_of(plan);
    const SnapshotContent *content = content_that_goes(self, plan);
    uint32_t facts = deletion_facts(self, snapshot, content);

    ((SnapshotSync *)plan_notes(plan))->with_content = plan_remove_finalizers;
    switch (plan_judge(plan, &snapshot_deletion_rules, facts)) {
    case LEAVE:
        return;
    case TELL_RESTORED:
        plan_event(plan, &snapshot->meta, "Warning", "SnapshotDeletePending",
                   "Snapshot is being used to restore a PVC");
        return;
    case FAIL_IN_GROUP:
        plan_in_group(plan, snapshot);
        return;
    case ANNOTATE:
        take_content(plan, content);
        plan_content_annotation(plan, content);
        return;
    case DELETE_CONTENT:
        take_content(plan, content);
        plan_content_deletion(self, plan);
        return;
    case TAKE_FINALIZERS_OFF:
        plan_remove_finalizers(self, plan);
        return;
    }
    g_assert_not_reached();
}
