/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The status of a VolumeSnapshot: errors (SNAP-3), and the news from its content (SNAP-8). A value
 * once written stays, but for the readiness and the error; an error on either side is always
 * copied. The same message is not written twice. The status is read again before it is written, and
 * Events tell of the first time that a snapshot is cut or ready. */
#include "controller.h"

/* ---- SNAP-3 ---- */

typedef struct {
    VolumeError error;
    gboolean is_not_ready;
} ErrorEdit;

static gboolean
set_error(Object *object, const void *data)
{
    const ErrorEdit *edit = data;
    VolumeSnapshot *snapshot = VOLUME_SNAPSHOT(object);

    snapshot->error = edit->error;
    if (edit->is_not_ready)
        snapshot->readiness = SNAPSHOT_NOT_READY;
    return TRUE;
}

void
plan_snapshot_error(Plan *plan, gboolean is_not_ready, const char *reason, const char *message)
{
    const SnapshotSync *sync = plan_notes(plan);
    const Object *snapshot = &sync->snapshot->meta;
    ErrorEdit *edit = plan_new_arg(plan, ErrorEdit);

    plan_because(plan, "SNAP-3");
    plan_use_client(plan, NULL);
    if (g_strcmp0(sync->snapshot->error.message, message) == 0)
        return;
    *edit = (ErrorEdit){
        {plan_internf(plan, "%s", message), plan_now(plan)},
        is_not_ready
    };
    int step = plan_update_status(plan, snapshot, set_error, edit, PLAN_GO_ON);
    plan_store_result(plan, step);
    plan_event_of_result(plan, step, "Warning", reason, message);
}

/* ---- SNAP-8 ---- */

typedef struct {
    const char *bound_content;
    uint32_t readiness;
    int64_t restore_bytes;
    SimTime created_at;
    VolumeError error;
    const char *group_name;
} SnapshotStatusEdit;

static gboolean
snapshot_controller_status_set_status(Object *object, const void *data)
{
    const SnapshotStatusEdit *edit = data;
    VolumeSnapshot *snapshot = VOLUME_SNAPSHOT(object);

    snapshot->bound_content = edit->bound_content;
    snapshot->readiness = edit->readiness;
    snapshot->restore_bytes = edit->restore_bytes;
    snapshot->created_at = edit->created_at;
    snapshot->error = edit->error;
    snapshot->group_name = edit->group_name;
    return TRUE;
}

static SimTime
cut_at(const SnapshotContent *content, SimTime start)
{
    return content->created_ns < 0 ? TIME_UNSET : content->created_ns - api_time_unix(start, 0);
}

/* Returns: whether anything changes. An error on either side is always copied. */
static gboolean
status_from(const SnapshotContent *content,
            const VolumeSnapshot *now,
            const char *group_name,
            SimTime start,
            SnapshotStatusEdit *edit)
{
    uint32_t readiness = content->readiness == SNAPSHOT_READY ? SNAPSHOT_READY : SNAPSHOT_NOT_READY;
    gboolean changes = FALSE;

    *edit = (SnapshotStatusEdit){now->bound_content, now->readiness, now->restore_bytes,
                                 now->created_at,    now->error,     now->group_name};
    if (edit->bound_content == NULL) {
        edit->bound_content = object_name(&content->meta);
        changes = TRUE;
    }
    if (edit->created_at == TIME_UNSET && content->created_ns >= 0) {
        edit->created_at = cut_at(content, start);
        changes = TRUE;
    }
    if (edit->readiness != readiness) {
        edit->readiness = readiness;
        if (readiness == SNAPSHOT_READY)
            edit->error = (VolumeError){.at = TIME_UNSET};
        changes = TRUE;
    }
    if (edit->restore_bytes == 0 && content->restore_bytes > 0) {
        edit->restore_bytes = content->restore_bytes;
        changes = TRUE;
    }
    if (edit->group_name == NULL && group_name != NULL) {
        edit->group_name = group_name;
        changes = TRUE;
    }
    if (edit->error.message != NULL || content->error.message != NULL) {
        edit->error = content->error;
        changes = TRUE;
    }
    return changes;
}

static void
plan_status_failed(Plan *plan, const char *error)
{
    const SnapshotKinds *kinds = plan_kinds(plan);

    plan_snapshot_error(
        plan, FALSE, plan_reason(plan, "SnapshotStatusUpdateFailed"),
        plan_internf(plan, "%sSnapshot status update failed, %s", kinds->prefix, error));
    plan_fail(plan, "%s", error);
}

static void
decide_status_written(const void *data, Plan *plan)
{
    (void)data;
    if (!plan_has_failed(plan)) {
        plan_because(plan, "SNAP-8");
        plan_store_result(plan, plan_last_step(plan));
        return;
    }
    plan_status_failed(plan,
                       snapshot_update_error(plan, plan_key(plan)->text, plan_last_message(plan)));
}

static void
decide_status(const void *data, Plan *plan)
{
    const SnapshotController *self = data;
    const SnapshotSync *sync = plan_notes(plan);
    const SnapshotKinds *kinds = plan_kinds(plan);
    int step = plan_last_step(plan);
    const VolumeSnapshot *now = VOLUME_SNAPSHOT_CONST(plan_object(plan, step));
    SnapshotStatusEdit *edit = plan_new_arg(plan, SnapshotStatusEdit);
    const char *key = plan_key(plan)->text;

    plan_because(plan, "SNAP-8");
    if (now == NULL) {
        plan_fail(plan, "error get %s %s from api server: %s", kinds->noun, key,
                  plan_message(plan, step));
        return;
    }
    if (!status_from(sync->content, now, group_with_handle(self, sync->content->group_handle),
                     plan_run_start(plan), edit)) {
        plan_store_result(plan, step);
        return;
    }
    if (now->created_at == TIME_UNSET && edit->created_at != TIME_UNSET)
        plan_event(plan, &sync->snapshot->meta, "Normal", plan_reason(plan, "SnapshotCreated"),
                   "%sSnapshot %s was successfully created by the CSI driver.", kinds->prefix, key);
    if (now->readiness != SNAPSHOT_READY && edit->readiness == SNAPSHOT_READY)
        plan_event(plan, &sync->snapshot->meta, "Normal", plan_reason(plan, "SnapshotReady"),
                   "%sSnapshot %s is ready to use.", kinds->prefix, key);
    plan_update_result_status(plan, step, snapshot_controller_status_set_status, edit,
                              PLAN_DECIDE | PLAN_SEND_ALWAYS);
    plan_then(plan, decide_status_written);
}

/* SNAP-86. Returns: whether the group of a member is known */
static gboolean
takes_content(const SnapshotController *self, Plan *plan, const SnapshotContent *content)
{
    take_content(plan, content);
    plan_because(plan, "SNAP-8");
    if (content->group_handle == NULL || self->group.contents == NULL ||
        group_with_handle(self, content->group_handle) != NULL)
        return TRUE;
    plan_because(plan, "SNAP-86");
    plan_status_failed(plan, plan_internf(plan,
                                          "updateSnapshotStatus: cannot find the group snapshot "
                                          "for VolumeSnapshot [%s], will not update snapshot "
                                          "status",
                                          plan_key(plan)->text));
    return FALSE;
}

void
plan_snapshot_status(const SnapshotController *self, Plan *plan, const SnapshotContent *content)
{
    if (!takes_content(self, plan, content))
        return;
    plan_get(plan, plan_key(plan), PLAN_DECIDE);
    plan_then(plan, decide_status);
}

static void
decide_read_once(const void *data, Plan *plan)
{
    if (plan_has_failed(plan)) {
        decide_status(data, plan);
        return;
    }
    take_snapshot(plan, plan_object(plan, plan_last_step(plan)));
    plan_get(plan, plan_key(plan), PLAN_DECIDE);
    plan_then(plan, decide_status);
}

void
plan_snapshot_status_twice(const SnapshotController *self,
                           Plan *plan,
                           const SnapshotContent *content)
{
    if (!takes_content(self, plan, content))
        return;
    plan_get(plan, plan_key(plan), PLAN_DECIDE);
    plan_then(plan, decide_read_once);
}
