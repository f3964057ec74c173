/* SPDX-License-Identifier: GPL-3.0-or-later */
/* CreateSnapshot, for one volume or for a group, with its arguments: class, Secret and the
 * annotation that a call may be under way (SNAP-44). The annotation is written before the call and
 * comes off when the driver has answered for good; as long as it is there, the content cannot be
 * deleted. Errors before the call are written into the status and tried again. */
#include "snapshotter.h"

static const char *
creation_error(Plan *plan, const char *error)
{
    const SnapshotterSync *sync = plan_notes(plan);

    if (plan_key(plan)->kind == KIND_GROUP_CONTENT)
        return plan_internf(plan, "failed to take group snapshot of the volumes %s: %s",
                            group_volumes_text(plan, sync->content), plan_quote(plan, error));
    return plan_internf(plan, "failed to take snapshot of the volume %s: %s",
                        sync->content->volume_handle, plan_quote(plan, error));
}

/* The driver refused for good, and the annotation is off. */
static void
decide_refused(const void *data, Plan *plan)
{
    const SnapshotterSync *sync = plan_notes(plan);

    (void)data;
    if (plan_has_failed(plan)) {
        snapshotter_fail(
            plan,
            plan_internf(
                plan,
                "failed to remove Volume%sSnapshotBeingCreated annotation from the %scontent %s: "
                "%s",
                plan_kinds(plan)->prefix, snapshotter_noun(plan), plan_key(plan)->name,
                snapshot_update_error(plan, plan_key(plan)->name, plan_last_message(plan))));
        return;
    }
    snapshotter_keep_result(plan);
    snapshotter_fail(plan, sync->refusal);
}

static void
plan_refused(const ExternalSnapshotter *self, Plan *plan, const CsiResponse *response)
{
    SnapshotterSync *sync = plan_notes(plan);
    const char *error = creation_error(plan, csi_response_error(response, self->base.strings));

    plan_because(plan, "SNAP-44");
    if (!snapshotter_error_is_final(response->code) || !snapshotter_is_creating(sync->content)) {
        snapshotter_fail(plan, error);
        return;
    }
    sync->refusal = error;
    snapshotter_annotate(plan, FALSE);
    plan_then(plan, decide_refused);
}

static void
decide_taken(const void *data, Plan *plan)
{
    const CsiResponse *response = plan_response(plan, plan_last_step(plan));

    if (response->code != CSI_OK) {
        plan_refused(data, plan, response);
        return;
    }
    plan_because(plan, "SNAP-44");
    if (plan_key(plan)->kind == KIND_GROUP_CONTENT) {
        const SnapshotAnswer answer = group_answer(data, plan, response);
        snapshotter_take_answer(plan, &answer);
        return;
    }
    snapshotter_take_answer(plan, &(SnapshotAnswer){
                                      .handle = response->snapshot_id,
                                      .is_ready = response->ready_to_use,
                                      .created_at = response->creation_time,
                                      .bytes = response->size_bytes,
                                  });
}

/* The class's parameters without those for the sidecar. Returns: (owned): NULL: none, or @error */
static StringMap *
driver_parameters(const ExternalSnapshotter *self, Plan *plan, char **error)
{
    const SnapshotContent *content = snapshotter_content(plan);
    gboolean is_group = plan_key(plan)->kind == KIND_GROUP_CONTENT;
    const SnapshotClass *class = SNAPSHOT_CLASS_CONST(
        informer_find(plan_side(self, plan)->classes, NULL, content->class_name));
    const StringPair metadata[] = {
        {"/name",        content->snapshot.name     },
        {"/namespace",   content->snapshot.namespace},
        {"content/name", object_name(&content->meta)},
    };
    StringMap *map = snapshot_driver_parameters(class == NULL ? NULL : class->parameters, error);

    for (unsigned i = 0;
         *error == NULL && self->options->extra_create_metadata && i < G_N_ELEMENTS(metadata);
         i++) {
        g_autoptr(StringMap) before = map;
        map = string_map_with(before,
                              strings_internf(self->base.strings, "csi.storage.k8s.io/%s%s",
                                              is_group ? "volumegroupsnapshot" : "volumesnapshot",
                                              metadata[i].key),
                              metadata[i].value);
    }
    return map;
}

static void
unref_map(void *map)
{
    string_map_unref(map);
}

/* The snapshot's uid in the driver's name for it: whole, or so many of its letters. */
static const char *
name_part(const ExternalSnapshotter *self, ObjectUid uid, char *buffer)
{
    int32_t length = self->options->snapshot_name_uuid_length, n = 0;

    object_uid_format(uid, buffer);
    for (const char *from = buffer; length >= 0 && n < length && *from != '\0'; from++)
        if (*from != '-')
            buffer[n++] = *from;
    if (length >= 0)
        buffer[n] = '\0';
    return buffer;
}

static void
decide_take(const void *data, Plan *plan)
{
    const ExternalSnapshotter *self = data;
    const SnapshotterSync *sync = plan_notes(plan);
    const CsiResponse *info = plan_response(plan, plan_last_step(plan));
    char uid[OBJECT_UID_BUFFER];

    if (info->code != CSI_OK) {
        plan_refused(self, plan, info);
        return;
    }
    plan_because(plan, "SNAP-44");
    if (plan_key(plan)->kind == KIND_GROUP_CONTENT) {
        const CsiRequest request = group_creation_request(self, plan);
        plan_call(plan, self->base.driver, &request, PLAN_DECIDE);
        plan_then(plan, decide_taken);
        return;
    }
    plan_call(plan, self->base.driver,
              &(CsiRequest){
                  .method = CSI_CREATE_SNAPSHOT,
                  .served_by = self->base.node_name,
                  .deadline = sync->deadline,
                  .name = plan_internf(plan, "%s-%s", self->options->snapshot_name_prefix,
                                       name_part(self, sync->content->snapshot.uid, uid)),
                  .volume_id = sync->content->volume_handle,
                  .parameters = sync->parameters,
                  .has_secrets = sync->has_secrets,
              },
              PLAN_DECIDE);
    plan_then(plan, decide_taken);
}

/* The annotation is on. */
static void
plan_take(const ExternalSnapshotter *self, Plan *plan)
{
    SnapshotterSync *sync = plan_notes(plan);
    g_autofree char *error = NULL;
    StringMap *parameters = driver_parameters(self, plan, &error);

    sync->parameters = parameters;
    plan_own(plan, parameters, unref_map);
    plan_because(plan, "SNAP-73");
    if (error != NULL) {
        snapshotter_fail(
            plan,
            plan_internf(plan, "failed to remove CSI Parameters of prefixed keys: %s", error));
        return;
    }
    plan_because(plan, "SNAP-44");
    if (!object_uid_is_set(sync->content->snapshot.uid)) { /* not final: no call was made */
        snapshotter_fail(
            plan, creation_error(
                      plan, plan_internf(plan, "cannot create %s. %s content %s not bound to a %s",
                                         plan_kinds(plan)->noun,
                                         *plan_kinds(plan)->prefix == '\0' ? "Snapshot"
                                                                           : "Group snapshot",
                                         plan_key(plan)->name, plan_kinds(plan)->noun)));
        return;
    }
    sync->deadline = plan_now(plan) + self->options->common.timeout;
    plan_call(plan, self->base.driver,
              &(CsiRequest){.method = CSI_GET_PLUGIN_INFO,
                            .served_by = self->base.node_name,
                            .deadline = sync->deadline},
              PLAN_DECIDE);
    plan_then(plan, decide_take);
}

static void
decide_annotated(const void *data, Plan *plan)
{
    if (plan_has_failed(plan)) {
        snapshotter_fail(
            plan,
            plan_internf(
                plan,
                "failed to add Volume%sSnapshotBeingCreated annotation on the %scontent %s: %s",
                plan_kinds(plan)->prefix, snapshotter_noun(plan), plan_key(plan)->name,
                plan_quote(plan, snapshot_update_error(plan, plan_key(plan)->name,
                                                       plan_last_message(plan)))));
        return;
    }
    snapshotter_keep_result(plan);
    plan_take(data, plan);
}

static void
plan_input_error(Plan *plan, const char *error)
{
    snapshotter_fail(
        plan, plan_internf(plan, "failed to get input parameters to create %s for %scontent %s: %s",
                           plan_kinds(plan)->noun, snapshotter_noun(plan), plan_key(plan)->name,
                           plan_quote(plan, error)));
}

/* The class is known, and the Secret was read. */
static void
decide_with_secret(const void *data, Plan *plan)
{
    const SnapshotterSync *sync = plan_notes(plan);

    if (sync->secret_error != NULL) {
        plan_input_error(plan, sync->secret_error);
        return;
    }
    plan_because(plan, "SNAP-44");
    if (snapshotter_is_creating(sync->content)) {
        plan_take(data, plan);
        return;
    }
    snapshotter_annotate(plan, TRUE);
    plan_then(plan, decide_annotated);
}

/* createSnapshotWrapper(). */
void
snapshotter_create(const ExternalSnapshotter *self, Plan *plan)
{
    const SnapshotContent *content = snapshotter_content(plan);
    const char *class_name = content->class_name;

    plan_because(plan, "SNAP-44");
    plan_use_client(plan, NULL);
    if (class_name == NULL)
        plan_input_error(plan, snapshot_no_class_error(plan, object_name(&content->meta)));
    else if (informer_find(plan_side(self, plan)->classes, NULL, class_name) == NULL)
        plan_input_error(plan, snapshot_class_error(plan, class_name));
    else
        snapshotter_with_secret(self, plan, decide_with_secret);
}
