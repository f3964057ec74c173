/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controller.h"

/* One sync of a VolumeSnapshotContent: syncContentByKey() and syncContent() of the
 * snapshot-controller. */

static gboolean
annotate_deletion(Object *object, const void *data)
{
    const char *const *words = data;

    return object_set_annotation(object, words[0], words[1]);
}

void
plan_annotate_deletion(const SnapshotController *self,
                       Plan *plan,
                       const SnapshotContent *content,
                       PlanErrors errors)
{
    const char **words = plan_alloc(plan, 2 * sizeof *words);

    plan_because(plan, "SNAP-22");
    words[0] = strings_intern(self->base.strings, ANNOTATION_SNAPSHOT_BEING_DELETED);
    words[1] = strings_intern(self->base.strings, "yes");
    plan_store_result(plan, plan_patch(plan, content->meta.key, annotate_deletion, words, errors));
}

static gboolean
add_finalizer(Object *object, const void *finalizer)
{
    return object_add_finalizer(object, finalizer);
}

static void
decide_finalizer_added(const void *data, Plan *plan)
{
    int step = plan_last_step(plan);

    (void)data;
    plan_because(plan, "SNAP-20");
    if (plan_code(plan, step) != API_OK)
        plan_fail(plan, "%s", update_error(plan, plan_key(plan)->name, plan_message(plan, step)));
    else
        plan_store_result(plan, step);
}

/* SNAP-21. Two pointers to readyToUse are never the same, so a bound pair always differs. */
static gboolean
status_lags(const VolumeSnapshot *snapshot, const SnapshotContent *content)
{
    if (!snapshot_content_has_status(content))
        return FALSE;
    return !volume_snapshot_has_status(snapshot) || snapshot->bound_content == NULL ||
           content->readiness != SNAPSHOT_READINESS_UNSET ||
           (snapshot->created_at == TIME_UNSET && content->created_ns >= 0) ||
           (snapshot->restore_bytes == 0 && content->restore_bytes > 0);
}

static const VolumeSnapshot *
snapshot_of(const SnapshotController *self, const SnapshotContent *content)
{
    const SnapshotReference *reference = &content->snapshot;
    const ObjectKey *key = reference->name == NULL
                               ? NULL
                               : objects_find_key(self->base.objects, KIND_VOLUME_SNAPSHOT,
                                                  reference->namespace, reference->name);

    return VOLUME_SNAPSHOT_CONST(object_store_get(self->snapshot_store, key));
}

static void
plan_bound_content(const SnapshotController *self, Plan *plan, const SnapshotContent *content)
{
    const VolumeSnapshot *snapshot = snapshot_of(self, content);

    plan_because(plan, "SNAP-23"); /* without its snapshot it stays as it is */
    if (snapshot == NULL || !object_uid_equal(snapshot->meta.uid, content->snapshot.uid))
        return;
    if (status_lags(snapshot, content)) {
        plan_because(plan, "SNAP-21");
        plan_change(plan,
                    &(PlanChange){.what = CHANGE_ENQUEUE_SNAPSHOT, .key = snapshot->meta.key});
    }
    if (snapshot_waits_for_deletion(snapshot) &&
        object_annotation(&content->meta, ANNOTATION_SNAPSHOT_BEING_DELETED) == NULL)
        plan_annotate_deletion(self, plan, content, PLAN_STOP);
}

static void
plan_content(const SnapshotController *self, Plan *plan, const SnapshotContent *content)
{
    const Object *meta = &content->meta;

    plan_because(plan, "SNAP-20");
    if ((content->volume_handle == NULL) == (content->given_handle == NULL)) {
        static const char error[] =
            "Exactly one of VolumeHandle and SnapshotHandle should be specified";
        plan_event(plan, meta, "Warning", "ContentValidationError", "%s", error);
        plan_fail(plan, "%s", error);
    } else if (!object_uid_is_set(content->snapshot.uid)) {
        return; /* its snapshot binds it (SNAP-7) */
    } else if (!object_is_deleted(meta) &&
               !object_has_finalizer(meta, FINALIZER_SNAPSHOT_CONTENT)) {
        plan_patch(plan, meta->key, add_finalizer,
                   strings_intern(self->base.strings, FINALIZER_SNAPSHOT_CONTENT), PLAN_DECIDE);
        plan_then(plan, decide_finalizer_added);
    } else {
        plan_bound_content(self, plan, content);
    }
}

/* SNAP-24: it is gone; the copy tells whose it was. */
static void
plan_gone(const SnapshotController *self, Plan *plan)
{
    const ObjectKey *key = plan_key(plan);
    const SnapshotContent *copy =
        SNAPSHOT_CONTENT_CONST(object_store_get(self->content_store, key));

    if (copy == NULL)
        return;
    plan_because(plan, "SNAP-24");
    if (copy->snapshot.name != NULL)
        plan_change(plan, &(PlanChange){
                              .what = CHANGE_ENQUEUE_SNAPSHOT,
                              .key = objects_key(self->base.objects, KIND_VOLUME_SNAPSHOT,
                                                 copy->snapshot.namespace, copy->snapshot.name),
                          });
    plan_change(plan, &(PlanChange){.what = CHANGE_FORGET, .key = key});
}

void
snapshot_controller_sync_content(const void *data, Plan *plan)
{
    const SnapshotController *self = data;
    const Object *content = informer_get(self->contents, plan_key(plan));

    plan_because(plan, "SNAP-20");
    if (content == NULL) {
        plan_gone(self, plan);
        return;
    }
    if (object_store_is_newer(self->content_store, content))
        return;
    plan_change(plan, &(PlanChange){.what = CHANGE_STORE, .key = content->key, .object = content});
    plan_content(self, plan, SNAPSHOT_CONTENT_CONST(content));
}
