/* SPDX-License-Identifier: GPL-3.0-or-later */
/* DeleteSnapshot, and then the finalizer (SNAP-42, SNAP-47). After the driver's answer the status
 * is cleared first, so that a further sync finds nothing to delete at the driver; then the
 * finalizer goes. A failure of that last write is forgotten, and nothing tries again, as in the
 * original. */
#include "snapshotter.h"

static void
decide_finalizer_removed(const void *data, Plan *plan)
{
    (void)data;
    if (plan_has_failed(plan))
        plan_fail(plan, "%s",
                  snapshot_update_error(plan, plan_key(plan)->name, plan_last_message(plan)));
    else
        plan_change_result(plan, CHANGE_STORE, plan_last_step(plan));
}

void
snapshotter_let_go(Plan *plan)
{
    plan_because(plan, "SNAP-42.2");
    plan_patch(plan, plan_key(plan), edit_remove_finalizer, plan_kinds(plan)->content_finalizer,
               PLAN_DECIDE);
    plan_then(plan, decide_finalizer_removed);
}

static void
plan_deletion_failed(Plan *plan, const char *event, const char *error)
{
    const SnapshotterSync *sync = plan_notes(plan);

    plan_event(plan, &sync->content->meta, "Warning",
               plan_internf(plan, "%sSnapshotDeleteError", plan_kinds(plan)->prefix), "%s", event);
    plan_fail(plan, "%s", error);
}

static gboolean
clear_status(Object *object, const void *data)
{
    SnapshotContent *content = SNAPSHOT_CONTENT(object);

    (void)data;
    content->handle = NULL;
    content->readiness = SNAPSHOT_STATUS_EMPTY;
    content->created_ns = -1;
    content->restore_bytes = -1;
    return TRUE;
}

/* SNAP-47: a failure of this is forgotten, and nothing tries again. */
static void
decide_let_go(const void *data, Plan *plan)
{
    (void)data;
    plan_change_result(plan, CHANGE_STORE, plan_last_step(plan));
}

static void
decide_cleared(const void *data, Plan *plan)
{
    (void)data;
    if (plan_has_failed(plan)) {
        plan_deletion_failed(
            plan, "Failed to clear content status",
            snapshot_update_error(plan, plan_key(plan)->name, plan_last_message(plan)));
        return;
    }
    snapshotter_keep_result(plan);
    if (!object_has_finalizer(&snapshotter_content(plan)->meta,
                              plan_kinds(plan)->content_finalizer))
        return;
    plan_because(plan, "SNAP-42.2");
    plan_patch(plan, plan_key(plan), edit_remove_finalizer, plan_kinds(plan)->content_finalizer,
               PLAN_DECIDE);
    plan_then(plan, decide_let_go);
}

static void
decide_clear(const void *data, Plan *plan)
{
    (void)data;
    plan_because(plan, "SNAP-47");
    if (plan_has_failed(plan)) {
        plan_deletion_failed(plan, "Failed to clear content status",
                             plan_internf(plan, "error get %s content %s from api server: %s",
                                          plan_kinds(plan)->noun, plan_key(plan)->name,
                                          plan_last_message(plan)));
        return;
    }
    plan_update_result_status(plan, plan_last_step(plan), clear_status, NULL, PLAN_DECIDE);
    plan_then(plan, decide_cleared);
}

static void
decide_deleted(const void *data, Plan *plan)
{
    const ExternalSnapshotter *self = data;
    const CsiResponse *response = plan_response(plan, plan_last_step(plan));

    plan_because(plan, "SNAP-47");
    if (response->code != CSI_OK) {
        const char *error = csi_response_error(response, self->base.strings);
        if (plan_key(plan)->kind == KIND_GROUP_CONTENT)
            plan_deletion_failed(plan, "Failed to delete group snapshot",
                                 plan_internf(plan,
                                              "failed to delete group snapshot \"%s\", err: %s",
                                              plan_key(plan)->name, error));
        else
            plan_deletion_failed(plan, "Failed to delete snapshot",
                                 plan_internf(plan,
                                              "failed to delete snapshot \"%s\", err: failed to "
                                              "delete snapshot content %s: %s",
                                              plan_key(plan)->name, plan_key(plan)->name,
                                              plan_quote(plan, error)));
        return;
    }
    plan_get(plan, plan_key(plan), PLAN_DECIDE);
    plan_then(plan, decide_clear);
}

/* The Secret was read. */
static void
decide_with_secret(const void *data, Plan *plan)
{
    const ExternalSnapshotter *self = data;
    const SnapshotterSync *sync = plan_notes(plan);

    plan_because(plan, "SNAP-47");
    if (sync->secret_error != NULL) {
        plan_deletion_failed(plan, "Failed to get snapshot credentials",
                             plan_internf(plan,
                                          "failed to get input parameters to delete %s for "
                                          "%scontent %s: %s",
                                          plan_kinds(plan)->noun, snapshotter_noun(plan),
                                          plan_key(plan)->name,
                                          plan_quote(plan, sync->secret_error)));
        return;
    }
    if (plan_key(plan)->kind == KIND_GROUP_CONTENT) {
        const CsiRequest request = group_deletion_request(self, plan);
        plan_call(plan, self->base.driver, &request, PLAN_DECIDE);
        plan_then(plan, decide_deleted);
        return;
    }
    plan_call(plan, self->base.driver,
              &(CsiRequest){.method = CSI_DELETE_SNAPSHOT,
                            .served_by = self->base.node_name,
                            .timeout_ns = self->options->common.timeout,
                            .snapshot_id = sync->content->handle,
                            .has_secrets = sync->has_secrets},
              PLAN_DECIDE);
    plan_then(plan, decide_deleted);
}

void
snapshotter_delete(const ExternalSnapshotter *self, Plan *plan)
{
    snapshotter_with_secret(self, plan, decide_with_secret);
}
