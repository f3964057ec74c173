/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controller.h"

/* What is taken back: the finalizer of a claim that no snapshot is made of any more, and
 * VolumeSnapshots that go. */

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
        plan_fail(plan, "%s", update_error(plan, plan_key(plan)->name, plan_last_message(plan)));
    else
        plan_store_result(plan, plan_last_step(plan));
}

/* A content that goes with it keeps it until it is gone (SNAP-34). */
static void
plan_remove_finalizers(Plan *plan)
{
    const SnapshotSync *sync = plan_operation(plan);
    gboolean waits =
        sync->content != NULL && g_strcmp0(sync->content->deletion_policy, "Delete") == 0;

    plan_because(plan, "SNAP-33");
    plan_update(plan, &sync->snapshot->meta, waits ? remove_source_finalizer : remove_finalizers,
                NULL, PLAN_DECIDE | PLAN_SEND_ALWAYS);
    plan_then(plan, decide_removed);
}

/* ---- SNAP-12: the claim's finalizer ---- */

/* @error: NULL: it is off, or has to stay */
static void
plan_released(const SnapshotController *self, Plan *plan, const char *error)
{
    const SnapshotSync *sync = plan_operation(plan);

    plan_use_client(plan, NULL);
    if (error != NULL)
        plan_event(plan, &sync->snapshot->meta, "Warning", "ErrorPVCFinalizer",
                   "Error check and remove PVC Finalizer for VolumeSnapshot");
    if (!sync->deletes)
        plan_live_snapshot(self, plan);
    else if (error == NULL)
        plan_remove_finalizers(plan);
    else
        plan_fail(plan, "%s", update_error(plan, plan_key(plan)->name, error));
}

static void
decide_claim_written(const void *data, Plan *plan)
{
    const SnapshotSync *sync = plan_operation(plan);

    plan_released(data, plan,
                  plan_has_failed(plan)
                      ? update_error(plan, sync->snapshot->claim_name, plan_last_message(plan))
                      : NULL);
}

static gboolean
remove_claim_finalizer(Object *object, const void *data)
{
    (void)data;
    return object_remove_finalizer(object, FINALIZER_SNAPSHOT_CLAIM);
}

static void
decide_claim_read(const void *data, Plan *plan)
{
    if (plan_has_failed(plan)) {
        plan_released(data, plan, plan_last_message(plan));
        return;
    }
    plan_because(plan, "SNAP-12");
    plan_update_result(plan, plan_last_step(plan), remove_claim_finalizer, NULL,
                       PLAN_DECIDE | PLAN_SEND_ALWAYS);
    plan_then(plan, decide_claim_written);
}

/* As the informer tells: a snapshot that is stuck keeps the claim. */
static gboolean
is_being_copied(const SnapshotController *self, const Claim *claim, const SnapshotSync *sync)
{
    unsigned n;
    const Object *const *snapshots =
        informer_index_get(self->snapshots_by_claim, claim->meta.key, &n);

    for (unsigned i = 0; i < n; i++)
        if (VOLUME_SNAPSHOT_CONST(snapshots[i])->readiness != SNAPSHOT_READY &&
            (!sync->deletes || snapshots[i]->key != sync->snapshot->meta.key))
            return TRUE;
    return FALSE;
}

void
plan_release_claim(const SnapshotController *self, Plan *plan)
{
    const SnapshotSync *sync = plan_operation(plan);
    const char *error;
    const Claim *claim = sync->snapshot->claim_name == NULL
                             ? NULL
                             : snapshot_claim(self, plan, sync->snapshot, &error);

    if (claim == NULL || !object_has_finalizer(&claim->meta, FINALIZER_SNAPSHOT_CLAIM) ||
        is_being_copied(self, claim, sync)) {
        plan_released(self, plan, NULL);
        return;
    }
    plan_because(plan, "SNAP-12");
    plan_use_client(plan, self->base.event_client);
    plan_get(plan, claim->meta.key, PLAN_DECIDE);
    plan_then(plan, decide_claim_read);
}

/* ---- SNAP-30..32: the content ---- */

static void
plan_finalizers_next(const SnapshotController *self, Plan *plan)
{
    ((SnapshotSync *)plan_operation(plan))->deletes = TRUE;
    plan_release_claim(self, plan);
}

static void
decide_content_deleted(const void *data, Plan *plan)
{
    const SnapshotSync *sync = plan_operation(plan);

    if (!plan_has_failed(plan)) {
        plan_finalizers_next(data, plan);
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
    const SnapshotSync *sync = plan_operation(plan);

    if (g_strcmp0(sync->content->deletion_policy, "Delete") != 0) {
        plan_finalizers_next(self, plan);
        return;
    }
    plan_because(plan, "SNAP-32");
    plan_delete(plan, sync->content->meta.key, (ObjectUid){0, 0}, -1, PLAN_DECIDE);
    plan_then(plan, decide_content_deleted);
}

static void
decide_annotated(const void *data, Plan *plan)
{
    const SnapshotSync *sync = plan_operation(plan);

    plan_because(plan, "SNAP-32");
    if (plan_has_failed(plan)) {
        plan_fail(plan, "%s",
                  update_error(plan, object_name(&sync->content->meta), plan_last_message(plan)));
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

/* SNAP-30: bound, or made for it and not yet told; only if it points back. */
static const SnapshotContent *
content_that_goes(const SnapshotController *self, const VolumeSnapshot *snapshot)
{
    const char *name = snapshot->bound_content;

    if (name == NULL && snapshot->claim_name != NULL)
        name = dynamic_content_key(self, snapshot)->name;
    const SnapshotContent *content = stored_content(self, name);
    return content != NULL && snapshot_content_is_of(content, snapshot) ? content : NULL;
}

void
plan_snapshot_deletion(const SnapshotController *self, Plan *plan)
{
    SnapshotSync *sync = plan_operation(plan);
    const Object *snapshot = &sync->snapshot->meta;
    const SnapshotContent *content = content_that_goes(self, sync->snapshot);

    plan_because(plan, "SNAP-30");
    if (!snapshot_waits_for_deletion(sync->snapshot))
        return;
    if (content != NULL && is_being_restored(self, sync->snapshot)) {
        plan_because(plan, "SNAP-31"); /* not queued again: the next event or resync looks */
        plan_event(plan, snapshot, "Warning", "SnapshotDeletePending",
                   "Snapshot is being used to restore a PVC");
        return;
    }
    if (content == NULL) {
        plan_finalizers_next(self, plan);
        return;
    }
    snapshot_sync_take_content(sync, content);
    if (object_annotation(&content->meta, ANNOTATION_SNAPSHOT_BEING_DELETED) != NULL) {
        plan_content_deletion(self, plan);
        return;
    }
    plan_annotate_deletion(self, plan, content, PLAN_DECIDE);
    plan_then(plan, decide_annotated);
}
