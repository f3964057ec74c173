/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "snapshotter.h"

/* A snapshot that was taken elsewhere: its content names it by its handle (SNAP-46). */

static void
plan_list_error(Plan *plan, const char *error)
{
    snapshotter_fail(plan, plan_internf(plan, "failed to list snapshot for content %s: %s",
                                        plan_key(plan)->name, plan_quote(plan, error)));
}

static void
decide_listed(const void *data, Plan *plan)
{
    const ExternalSnapshotter *self = data;
    const SnapshotterSync *sync = plan_notes(plan);
    const CsiResponse *response = plan_response(plan, plan_last_step(plan));

    plan_because(plan, "SNAP-46");
    if (response->code != CSI_OK) {
        plan_list_error(plan, csi_response_error(response, self->base.strings));
        return;
    }
    if (response->n_entries == 0) {
        plan_list_error(plan, plan_internf(plan, "can not find snapshot for snapshotID %s",
                                           sync->content->given_handle));
        return;
    }
    const CsiEntry *entry = &response->entries[0];
    snapshotter_take_answer(plan, &(SnapshotAnswer){
                                      .handle = sync->content->given_handle,
                                      .is_ready = entry->ready_to_use,
                                      .created_ns = API_EPOCH_S * SIM_SECOND + entry->creation_time,
                                      .bytes = entry->capacity_bytes,
                                  });
}

static void
decide_list(const void *data, Plan *plan)
{
    const ExternalSnapshotter *self = data;
    const SnapshotterSync *sync = plan_notes(plan);
    const CsiResponse *response = plan_response(plan, plan_last_step(plan));

    plan_because(plan, "SNAP-46");
    if (response->code != CSI_OK) {
        plan_list_error(plan, csi_response_error(response, self->base.strings));
        return;
    }
    if ((response->controller_capabilities & CSI_CONTROLLER_LIST_SNAPSHOTS) == 0) {
        snapshotter_take_answer(plan, &(SnapshotAnswer){.handle = sync->content->given_handle,
                                                        .is_ready = TRUE,
                                                        .created_ns = -1});
        return;
    }
    plan_call(plan, self->base.driver,
              &(CsiRequest){.method = CSI_LIST_SNAPSHOTS,
                            .deadline = sync->deadline,
                            .snapshot_id = sync->content->given_handle},
              PLAN_DECIDE);
    plan_then(plan, decide_listed);
}

void
snapshotter_look(const ExternalSnapshotter *self, Plan *plan)
{
    SnapshotterSync *sync = plan_notes(plan);
    const SnapshotContent *content = sync->content;

    plan_because(plan, "SNAP-46");
    if (content->class_name != NULL &&
        informer_find(self->classes, NULL, content->class_name) == NULL) {
        snapshotter_fail(plan,
                         plan_internf(plan,
                                      "failed to get snapshot class %s for snapshot content %s: "
                                      "volumesnapshotclass." SNAPSHOT_API_GROUP " \"%s\" not found",
                                      content->class_name, object_name(&content->meta),
                                      content->class_name));
        return;
    }
    sync->deadline = plan_now(plan) + self->options->common.timeout;
    plan_call(plan, self->base.driver,
              &(CsiRequest){.method = CSI_CONTROLLER_GET_CAPABILITIES, .deadline = sync->deadline},
              PLAN_DECIDE);
    plan_then(plan, decide_list);
}
