/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The status of a VolumeSnapshotContent: the driver's answer, and errors (SNAP-44, SNAP-45,
 * SNAP-48). The object is read again before the write, and written only if it changes; a value once
 * written stays, but for the readiness. A snapshot that is not ready yet keeps its key in the
 * queue, whose rate limit spaces the driver's answers. */
#include "snapshotter.h"

void
snapshotter_keep_result(Plan *plan)
{
    SnapshotterSync *sync = plan_notes(plan);
    int step = plan_last_step(plan);

    plan_change_result(plan, CHANGE_STORE, step);
    sync->content = SNAPSHOT_CONTENT_CONST(plan_object(plan, step));
}

/* ---- Errors ---- */

static gboolean
set_error(Object *object, const void *data)
{
    SNAPSHOT_CONTENT(object)->error = *(const VolumeError *)data;
    SNAPSHOT_CONTENT(object)->readiness = SNAPSHOT_NOT_READY;
    return TRUE;
}

void
snapshotter_fail(Plan *plan, const char *error)
{
    const SnapshotterSync *sync = plan_notes(plan);
    const SnapshotKinds *kinds = plan_kinds(plan);
    const char *message =
        sync->is_first
            ? plan_internf(plan, "Failed to create %s: %s", kinds->noun, error)
            : plan_internf(plan, "Failed to check and update %s content: %s", kinds->noun, error);
    VolumeError *edit = plan_new_arg(plan, VolumeError);

    plan_use_client(plan, NULL);
    plan_because(plan, "SNAP-45");
    if (g_strcmp0(sync->content->error.message, message) != 0) {
        *edit = (VolumeError){message, plan_now(plan)};
        int step = plan_patch_status(plan, plan_key(plan), set_error, edit, PLAN_GO_ON);
        plan_change_result(plan, CHANGE_STORE, step);
        plan_event(plan, &sync->content->meta, "Warning",
                   plan_internf(plan, "%s%s", kinds->prefix,
                                sync->is_first ? "SnapshotCreationFailed"
                                               : "SnapshotContentCheckandUpdateFailed"),
                   "%s", message);
    }
    plan_fail(plan, "%s", error);
}

/* ---- The annotation that CreateSnapshot may be under way ---- */

void
snapshotter_annotate(Plan *plan, gboolean is_creating)
{
    plan_annotate(plan, plan_key(plan), plan_kinds(plan)->being_created, is_creating ? "yes" : NULL,
                  PLAN_DECIDE);
}

gboolean
snapshotter_is_creating(const SnapshotContent *content)
{
    const SnapshotKinds *kinds = snapshot_kinds_of(object_kind(&content->meta));

    return object_annotation(&content->meta, kinds->being_created) != NULL;
}

/* ---- The status ---- */

typedef struct {
    const char *handle;
    uint32_t readiness;
    int64_t created_ns, restore_bytes;
    gboolean clears_error;
    const char *group_handle;
    StringList *pairs; /* NULL: as they are */
} ContentStatusEdit;

static gboolean
status_set_status(Object *object, const void *data)
{
    const ContentStatusEdit *edit = data;
    SnapshotContent *content = SNAPSHOT_CONTENT(object);

    content->handle = edit->handle;
    content->readiness = edit->readiness;
    content->created_ns = edit->created_ns;
    content->restore_bytes = edit->restore_bytes;
    content->group_handle = edit->group_handle;
    if (edit->clears_error)
        content->error = (VolumeError){.at = TIME_UNSET};
    if (edit->pairs != NULL) {
        string_list_unref(GROUP_CONTENT(object)->pairs);
        GROUP_CONTENT(object)->pairs = string_list_ref(edit->pairs);
    }
    return TRUE;
}

/* A value once written stays, but for the readiness. Returns: whether anything changes */
static gboolean
status_from(const SnapshotAnswer *answer,
            const SnapshotContent *now,
            SimTime start,
            ContentStatusEdit *edit)
{
    int64_t cut_ns = api_time_unix(start, answer->created_at);
    uint32_t readiness = answer->is_ready ? SNAPSHOT_READY : SNAPSHOT_NOT_READY;

    *edit = (ContentStatusEdit){
        .handle = now->handle != NULL ? now->handle : answer->handle,
        .readiness = readiness,
        .created_ns = now->created_ns >= 0 ? now->created_ns : cut_ns,
        .restore_bytes =
            now->restore_bytes >= 0 || answer->bytes <= 0 ? now->restore_bytes : answer->bytes,
        .clears_error = now->readiness != readiness && answer->is_ready,
        .group_handle = now->group_handle != NULL ? now->group_handle : answer->group_handle,
    };
    if (object_kind(&now->meta) == KIND_GROUP_CONTENT) { /* its times have whole seconds */
        edit->created_ns -= edit->created_ns % SIM_SECOND;
        if (GROUP_CONTENT_CONST(now)->pairs == NULL)
            edit->pairs = answer->pairs;
    }
    return edit->pairs != NULL || edit->group_handle != now->group_handle ||
           edit->handle != now->handle || readiness != now->readiness ||
           edit->created_ns != now->created_ns || edit->restore_bytes != now->restore_bytes;
}

/* The driver is asked again after the rate limit, until the snapshot is ready (SNAP-48). Before 7.0
 * (SREL-33) the sync is simply over. */
static void
status_plan_end(const ExternalSnapshotter *self, Plan *plan)
{
    const SnapshotterSync *sync = plan_notes(plan);

    plan_because(plan, "SNAP-48");
    if (sync->content->readiness != SNAPSHOT_READY &&
        sidecar_is_since(&self->options->common, 7, 0, TRUE))
        plan_requeue_rate_limited(plan);
}

static void
decide_unannotated(const void *data, Plan *plan)
{
    plan_because(plan, "SNAP-44");
    if (plan_has_failed(plan)) {
        snapshotter_fail(
            plan,
            plan_internf(
                plan,
                "failed to remove Volume%sSnapshotBeingCreated annotation on the %scontent %s: %s",
                plan_kinds(plan)->prefix, snapshotter_noun(plan), plan_key(plan)->name,
                plan_quote(plan, snapshot_update_error(plan, plan_key(plan)->name,
                                                       plan_last_message(plan)))));
        return;
    }
    snapshotter_keep_result(plan);
    status_plan_end(data, plan);
}

/* The status is as the driver says. */
static void
plan_told(const ExternalSnapshotter *self, Plan *plan)
{
    const SnapshotterSync *sync = plan_notes(plan);

    if (!snapshotter_is_creating(sync->content)) {
        status_plan_end(self, plan);
        return;
    }
    plan_because(plan, "SNAP-44");
    snapshotter_annotate(plan, FALSE);
    plan_then(plan, decide_unannotated);
}

static void
plan_status_failed(Plan *plan, const char *error)
{
    const SnapshotterSync *sync = plan_notes(plan);

    snapshotter_fail(plan,
                     sync->answer.is_listed
                         ? error
                         : plan_internf(plan, "error updating status for volume %s content %s: %s",
                                        plan_kinds(plan)->noun, plan_key(plan)->name, error));
}

static void
decide_status_written(const void *data, Plan *plan)
{
    if (plan_has_failed(plan)) {
        plan_status_failed(
            plan, snapshot_update_error(plan, plan_key(plan)->name, plan_last_message(plan)));
        return;
    }
    snapshotter_keep_result(plan);
    plan_told(data, plan);
}

static void
decide_status(const void *data, Plan *plan)
{
    const SnapshotterSync *sync = plan_notes(plan);
    ContentStatusEdit *edit = plan_new_arg(plan, ContentStatusEdit);

    plan_because(plan, "SNAP-44");
    if (plan_has_failed(plan)) {
        plan_status_failed(plan, plan_internf(plan, "error get %s content %s from api server: %s",
                                              plan_kinds(plan)->noun, plan_key(plan)->name,
                                              plan_last_message(plan)));
        return;
    }
    const Object *now = plan_object(plan, plan_last_step(plan));
    if (!status_from(&sync->answer, SNAPSHOT_CONTENT_CONST(now), plan_run_start(plan), edit)) {
        snapshotter_keep_result(plan);
        plan_told(data, plan);
        return;
    }
    if (plan_key(plan)->kind == KIND_GROUP_CONTENT)
        plan_update_result_status(plan, plan_last_step(plan), status_set_status, edit, PLAN_DECIDE);
    else
        plan_patch_status(plan, plan_key(plan), status_set_status, edit, PLAN_DECIDE);
    plan_then(plan, decide_status_written);
}

void
snapshotter_take_answer(Plan *plan, const SnapshotAnswer *answer)
{
    SnapshotterSync *sync = plan_notes(plan);

    sync->answer = *answer;
    if (answer->created_at == TIME_UNSET)
        sync->answer.created_at = plan_now(plan);
    plan_get(plan, plan_key(plan), PLAN_DECIDE);
    plan_then(plan, decide_status);
}
