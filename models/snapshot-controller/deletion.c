/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controller.h"

/* The deletion of a VolumeSnapshot: its content first, then the finalizers. */

/* ---- SNAP-33: the snapshot's own finalizers ---- */

static gboolean
remove_source_finalizer(Object *object, const void *data)
{
    (void)data;
    return object_remove_finalizer(object, FINALIZER_SNAPSHOT_SOURCE);
}

static gboolean
remove_finalizers(Object *object, const void *data)
{
    gboolean changed = remove_source_finalizer(object, data);

    return object_remove_finalizer(object, FINALIZER_SNAPSHOT_BOUND) || changed;
}

static void
decide_removed(const void *data, Plan *plan)
{
    (void)data;
    if (plan_has_failed(plan))
        plan_fail(plan, "%s",
                  snapshot_update_error(plan, plan_key(plan)->name, plan_last_message(plan)));
    else
        plan_store_result(plan, plan_last_step(plan));
}

/* The finalizer as bound stays until the content has gone (SNAP-34). */
static void
decide_released(const void *data, Plan *plan)
{
    const SnapshotSync *sync = plan_notes(plan);
    gboolean waits =
        sync->content != NULL && g_strcmp0(sync->content->deletion_policy, "Delete") == 0;

    (void)data;
    plan_because(plan, "SNAP-33");
    plan_update(plan, &sync->snapshot->meta, waits ? remove_source_finalizer : remove_finalizers,
                NULL, PLAN_DECIDE | PLAN_SEND_ALWAYS);
    plan_then(plan, decide_removed);
}

void
plan_remove_finalizers(const SnapshotController *self, Plan *plan)
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

    if (!plan_has_failed(plan)) {
        plan_remove_finalizers(data, plan);
        return;
    }
    plan_because(plan, "SNAP-32");
    plan_event(plan, &sync->snapshot->meta, "Warning", "SnapshotContentObjectDeleteError",
               "Failed to delete snapshot content API object");
    plan_fail(plan, "failed to delete VolumeSnapshotContent %s from API server: %s",
              object_name(&sync->content->meta), plan_quote(plan, plan_last_message(plan)));
}

/* The content is annotated. */
static void
plan_content_deletion(const SnapshotController *self, Plan *plan)
{
    const SnapshotSync *sync = plan_notes(plan);

    if (g_strcmp0(sync->content->deletion_policy, "Delete") != 0) {
        plan_remove_finalizers(self, plan);
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

static gboolean
is_being_restored(const SnapshotController *self, const VolumeSnapshot *snapshot)
{
    unsigned n;
    const Object *const *claims = informer_index_get(self->restores, snapshot->meta.key, &n);

    for (unsigned i = 0; i < n; i++)
        if (CLAIM_CONST(claims[i])->phase == CLAIM_PENDING)
            return TRUE;
    return FALSE;
}

/* SNAP-30: the content in the status, or the one that was made for the snapshot; only a content
 * that points back counts. */
static const SnapshotContent *
content_that_goes(const SnapshotController *self, const VolumeSnapshot *snapshot)
{
    const char *name = snapshot->bound_content;

    if (name == NULL && snapshot->claim_name != NULL)
        name = dynamic_content_key(self, snapshot)->name;
    const SnapshotContent *content = stored_content(self, name);
    return content != NULL && snapshot_content_is_of(content, snapshot) ? content : NULL;
}

/* What is known of a snapshot that has a deletionTimestamp. */
enum {
    HELD = 1 << 0,      /* by one of our finalizers */
    FOUND = 1 << 1,     /* its content */
    RESTORED = 1 << 2,  /* a pending claim is to be restored from it */
    ANNOTATED = 1 << 3, /* the content is: the sidecar may delete it */
    DELETION_FACTS_END = 1 << 4,
};

enum {
    LEAVE,
    TELL_RESTORED, /* no retry: the next event or resync looks again */
    ANNOTATE,
    DELETE_CONTENT,
    TAKE_FINALIZERS_OFF,
};

/* processSnapshotWithDeletionTimestamp(). Columns: all of these hold, none of these, then. */
static const Rule deletion_table[] = {
    {"SNAP-30", 0,                        HELD,                 LEAVE              },
    {"SNAP-31", HELD | FOUND | RESTORED,  0,                    TELL_RESTORED      },
    {"SNAP-32", HELD | FOUND,             RESTORED | ANNOTATED, ANNOTATE           },
    {"SNAP-32", HELD | FOUND | ANNOTATED, RESTORED,             DELETE_CONTENT     },
    {"SNAP-33", HELD,                     FOUND,                TAKE_FINALIZERS_OFF},
};
const RuleTable snapshot_deletion_rules =
    RULE_TABLE("snapshots to delete", DELETION_FACTS_END, deletion_table);

static uint32_t
deletion_facts(const SnapshotController *self,
               const VolumeSnapshot *snapshot,
               const SnapshotContent *content)
{
    uint32_t facts = snapshot_waits_for_deletion(snapshot) ? HELD : 0;

    if (content == NULL)
        return facts;
    facts |= FOUND;
    facts |= is_being_restored(self, snapshot) ? RESTORED : 0;
    if (object_annotation(&content->meta, ANNOTATION_SNAPSHOT_BEING_DELETED) != NULL)
        facts |= ANNOTATED;
    return facts;
}

void
plan_snapshot_deletion(const SnapshotController *self, Plan *plan)
{
    const VolumeSnapshot *snapshot = snapshot_of(plan);
    const SnapshotContent *content = content_that_goes(self, snapshot);
    uint32_t facts = deletion_facts(self, snapshot, content);

    switch (plan_judge(plan, &snapshot_deletion_rules, facts)) {
    case LEAVE:
        return;
    case TELL_RESTORED:
        plan_event(plan, &snapshot->meta, "Warning", "SnapshotDeletePending",
                   "Snapshot is being used to restore a PVC");
        return;
    case ANNOTATE:
        take_content(plan, content);
        plan_annotate_deletion(plan, content, PLAN_DECIDE);
        plan_then(plan, decide_annotated);
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
