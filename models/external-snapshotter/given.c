/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A snapshot that was taken elsewhere: its content names it by its handle (SNAP-46). The driver is
 * asked for it by ListSnapshots, or by GetVolumeGroupSnapshot for a group; a driver that cannot
 * list is believed, and the snapshot counts as ready. A snapshot that the driver does not know is
 * an error in the status. */
#include "snapshotter.h"

#include "models/api/secret.h"

static void
plan_list_error(Plan *plan, const char *error)
{
    snapshotter_fail(plan, plan_internf(plan, "failed to list %s for %scontent %s: %s",
                                        plan_kinds(plan)->noun, snapshotter_noun(plan),
                                        plan_key(plan)->name, plan_quote(plan, error)));
}

/* The handle that the driver is asked for, and the one that goes into the status: they differ if a
 * given handle was changed. */
static const char *
listed_handle(const SnapshotContent *content)
{
    return content->handle != NULL ? content->handle : content->given_handle;
}

static const char *
own_handle(const SnapshotContent *content)
{
    return content->given_handle != NULL ? content->given_handle : content->handle;
}

static void
given_decide_listed(const void *data, Plan *plan)
{
    const ExternalSnapshotter *self = data;
    const SnapshotterSync *sync = plan_notes(plan);
    const CsiResponse *response = plan_response(plan, plan_last_step(plan));

    plan_because(plan, "SNAP-46");
    if (response->code != CSI_OK) {
        plan_list_error(plan, csi_response_error(response, self->base.strings));
        return;
    }
    if (plan_key(plan)->kind == KIND_GROUP_CONTENT) {
        SnapshotAnswer answer = group_answer(self, plan, response);
        answer.is_listed = TRUE;
        answer.pairs = NULL;
        answer.handle = own_handle(sync->content);
        snapshotter_take_answer(plan, &answer);
        return;
    }
    if (response->n_entries == 0) {
        plan_list_error(plan, plan_internf(plan, "can not find snapshot for snapshotID %s",
                                           listed_handle(sync->content)));
        return;
    }
    const CsiEntry *entry = &response->entries[0];
    snapshotter_take_answer(plan, &(SnapshotAnswer){
                                      .handle = own_handle(sync->content),
                                      .is_ready = entry->ready_to_use,
                                      .is_listed = TRUE,
                                      .created_at = entry->creation_time,
                                      .bytes = entry->capacity_bytes,
                                      .group_handle = entry->group_snapshot_id,
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
        plan_list_error(plan,
                        plan_internf(plan, "failed to check if ListSnapshots is supported: %s",
                                     csi_response_error(response, self->base.strings)));
        return;
    }
    if ((response->controller_capabilities & CSI_CONTROLLER_LIST_SNAPSHOTS) == 0) {
        snapshotter_take_answer(plan, &(SnapshotAnswer){.handle = own_handle(sync->content),
                                                        .is_ready = TRUE,
                                                        .is_listed = TRUE,
                                                        .created_at = TIME_UNSET});
        return;
    }
    plan_call(plan, self->base.driver,
              &(CsiRequest){.method = CSI_LIST_SNAPSHOTS,
                            .served_by = self->base.node_name,
                            .deadline = sync->deadline,
                            .snapshot_id = listed_handle(sync->content),
                            .has_secrets = sync->has_secrets},
              PLAN_DECIDE);
    plan_then(plan, given_decide_listed);
}

static void
plan_look(const ExternalSnapshotter *self, Plan *plan)
{
    SnapshotterSync *sync = plan_notes(plan);

    plan_because(plan, "SNAP-46");
    sync->deadline = plan_now(plan) + self->options->common.timeout;
    if (plan_key(plan)->kind == KIND_GROUP_CONTENT) {
        const CsiRequest request = group_look_request(self, plan);
        plan_call(plan, self->base.driver, &request, PLAN_DECIDE);
        plan_then(plan, given_decide_listed);
        return;
    }
    plan_call(plan, self->base.driver,
              &(CsiRequest){.method = CSI_CONTROLLER_GET_CAPABILITIES,
                            .served_by = self->base.node_name,
                            .deadline = sync->deadline},
              PLAN_DECIDE);
    plan_then(plan, decide_list);
}

static void
given_decide_secret_read(const void *data, Plan *plan)
{
    SnapshotterSync *sync = plan_notes(plan);

    plan_use_client(plan, NULL);
    if (plan_has_failed(plan)) {
        snapshotter_fail(plan, plan_internf(plan,
                                            "failed to get credentials for %s content %s: error "
                                            "getting secret: %s",
                                            plan_kinds(plan)->noun, plan_key(plan)->name,
                                            plan_last_message(plan)));
        return;
    }
    sync->has_secrets = SECRET(plan_object(plan, plan_last_step(plan)))->n_keys > 0;
    plan_look(data, plan);
}

/* SNAP-70: the class names the Secret for ListSnapshots, without any value of the snapshot. */
static void
plan_list_secret(const ExternalSnapshotter *self, Plan *plan, const SnapshotClass *class)
{
    SecretReference secret;
    g_autofree char *error =
        snapshot_secret_resolve(self->base.strings, plan_kinds(plan)->get_secret, class->parameters,
                                plan_key(plan)->name, NULL, &secret);

    plan_because(plan, "SNAP-70");
    if (error != NULL) {
        snapshotter_fail(plan,
                         plan_internf(plan, "failed to get secret reference for %s content %s: %s",
                                      plan_kinds(plan)->noun, plan_key(plan)->name, error));
        return;
    }
    if (secret.name == NULL) {
        plan_look(self, plan);
        return;
    }
    plan_use_client(plan, self->base.event_client);
    plan_get(plan, objects_key(self->base.objects, KIND_SECRET, secret.namespace, secret.name),
             PLAN_DECIDE);
    plan_then(plan, given_decide_secret_read);
}

void
snapshotter_look(const ExternalSnapshotter *self, Plan *plan)
{
    const SnapshotContent *content = snapshotter_content(plan);
    const SnapshotClass *class = SNAPSHOT_CLASS_CONST(
        informer_find(plan_side(self, plan)->classes, NULL, content->class_name));

    plan_because(plan, "SNAP-46");
    if (class != NULL)
        plan_list_secret(self, plan, class);
    else if (content->class_name == NULL)
        plan_look(self, plan);
    else
        snapshotter_fail(plan, plan_internf(plan, "failed to get %s class %s for %s content %s: %s",
                                            plan_kinds(plan)->noun, content->class_name,
                                            plan_kinds(plan)->noun, object_name(&content->meta),
                                            snapshot_class_error(plan, content->class_name)));
}
