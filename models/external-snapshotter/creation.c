/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "snapshotter.h"

/* CreateSnapshot, and what it needs: class, secret and annotation (SNAP-44). */

static const char *
creation_error(Plan *plan, const char *error)
{
    const SnapshotterSync *sync = plan_notes(plan);

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
                "failed to remove VolumeSnapshotBeingCreated annotation from the content %s: %s",
                plan_key(plan)->name,
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
    snapshotter_take_answer(plan, &(SnapshotAnswer){
                                      .handle = response->snapshot_id,
                                      .is_ready = response->ready_to_use,
                                      .created_at = response->creation_time,
                                      .bytes = response->size_bytes,
                                  });
}

/* The class's parameters without those for the sidecar. Returns: (owned): NULL: none, or @error */
static StringMap *
driver_parameters(const ExternalSnapshotter *self, const SnapshotContent *content, char **error)
{
    const SnapshotClass *class =
        SNAPSHOT_CLASS_CONST(informer_find(self->classes, NULL, content->class_name));
    const StringPair metadata[] = {
        {"csi.storage.k8s.io/volumesnapshot/name",        content->snapshot.name     },
        {"csi.storage.k8s.io/volumesnapshot/namespace",   content->snapshot.namespace},
        {"csi.storage.k8s.io/volumesnapshotcontent/name", object_name(&content->meta)},
    };
    StringMap *map = snapshot_driver_parameters(class == NULL ? NULL : class->parameters, error);

    for (unsigned i = 0;
         *error == NULL && self->options->extra_create_metadata && i < G_N_ELEMENTS(metadata);
         i++) {
        g_autoptr(StringMap) before = map;
        map = string_map_with(before, strings_intern(self->base.strings, metadata[i].key),
                              metadata[i].value);
    }
    return map;
}

static void
unref_map(void *map)
{
    string_map_unref(map);
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
    plan_call(plan, self->base.driver,
              &(CsiRequest){
                  .method = CSI_CREATE_SNAPSHOT,
                  .deadline = sync->deadline,
                  .name = plan_internf(plan, "%s-%s", self->options->snapshot_name_prefix,
                                       object_uid_format(sync->content->snapshot.uid, uid)),
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
    StringMap *parameters = driver_parameters(self, sync->content, &error);

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
            plan,
            creation_error(plan, plan_internf(plan,
                                              "cannot create snapshot. Snapshot content %s not "
                                              "bound to a snapshot",
                                              plan_key(plan)->name)));
        return;
    }
    sync->deadline = plan_now(plan) + self->options->common.timeout;
    plan_call(plan, self->base.driver,
              &(CsiRequest){.method = CSI_GET_PLUGIN_INFO, .deadline = sync->deadline},
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
                plan, "failed to add VolumeSnapshotBeingCreated annotation on the content %s: %s",
                plan_key(plan)->name,
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
        plan,
        plan_internf(plan, "failed to get input parameters to create snapshot for content %s: %s",
                     plan_key(plan)->name, plan_quote(plan, error)));
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
    else if (informer_find(self->classes, NULL, class_name) == NULL)
        plan_input_error(plan, snapshot_class_error(plan, class_name));
    else
        snapshotter_with_secret(self, plan, decide_with_secret);
}
