/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "snapshotter.h"

#include <string.h>

#include "models/api/secret.h"

/* One sync of a VolumeSnapshotContent: syncContent() in the sidecar's snapshot_controller.go. */

void
snapshotter_sync_clear(void *data)
{
    SnapshotterSync *sync = data;

    if (sync->content != NULL)
        object_unref(&sync->content->meta);
    *sync = (SnapshotterSync){0};
}

static void
take(SnapshotterSync *sync, const Object *content)
{
    const Object *before = sync->content == NULL ? NULL : &sync->content->meta;

    sync->content = SNAPSHOT_CONTENT_CONST(object_ref(content));
    if (before != NULL)
        object_unref(before);
}

/* Keeps what was written, in the store and in hand. */
static void
keep_result(Plan *plan)
{
    int step = plan_last_step(plan);

    plan_change_result(plan, CHANGE_STORE, step);
    take(plan_operation(plan), plan_object(plan, step));
}

static const char *
update_error(Plan *plan, const char *error)
{
    return plan_internf(plan, "snapshot controller failed to update %s on API server: %s",
                        plan_key(plan)->name, error);
}

/* ---- What it tells of errors ---- */

static gboolean
set_error(Object *object, const void *data)
{
    SNAPSHOT_CONTENT(object)->error = *(const VolumeError *)data;
    SNAPSHOT_CONTENT(object)->readiness = SNAPSHOT_NOT_READY;
    return TRUE;
}

/* SNAP-44, SNAP-46: once for each text; tried again in any case. */
static void
plan_error(Plan *plan, const char *error)
{
    const SnapshotterSync *sync = plan_operation(plan);
    const char *message =
        sync->is_first
            ? plan_internf(plan, "Failed to create snapshot: %s", error)
            : plan_internf(plan, "Failed to check and update snapshot content: %s", error);
    VolumeError *edit = plan_new_arg(plan, VolumeError);

    plan_use_client(plan, NULL);
    plan_because(plan, "SNAP-45");
    if (g_strcmp0(sync->content->error.message, message) != 0) {
        *edit = (VolumeError){message, plan_now(plan)};
        int step = plan_patch_status(plan, plan_key(plan), set_error, edit, PLAN_GO_ON);
        plan_change_result(plan, CHANGE_STORE, step);
        plan_event(plan, &sync->content->meta, "Warning",
                   sync->is_first ? "SnapshotCreationFailed"
                                  : "SnapshotContentCheckandUpdateFailed",
                   "%s", message);
    }
    plan_fail(plan, "%s", error);
}

/* ---- The annotation that says that a snapshot is being made ---- */

static gboolean
annotate(Object *object, const void *data)
{
    const char *const *words = data;

    return object_set_annotation(object, words[0], words[1]);
}

static void
plan_annotate(const ExternalSnapshotter *self, Plan *plan, gboolean is_being_created)
{
    const char **words = plan_alloc(plan, 2 * sizeof *words);

    words[0] = strings_intern(self->base.strings, ANNOTATION_SNAPSHOT_BEING_CREATED);
    words[1] = is_being_created ? strings_intern(self->base.strings, "yes") : NULL;
    plan_patch(plan, plan_key(plan), annotate, words, PLAN_DECIDE);
}

static gboolean
is_annotated(const SnapshotContent *content)
{
    return object_annotation(&content->meta, ANNOTATION_SNAPSHOT_BEING_CREATED) != NULL;
}

/* ---- The status ---- */

typedef struct {
    const char *handle;
    uint32_t readiness;
    int64_t created_ns, restore_bytes;
    gboolean clears_error;
} StatusEdit;

static gboolean
set_status(Object *object, const void *data)
{
    const StatusEdit *edit = data;
    SnapshotContent *content = SNAPSHOT_CONTENT(object);

    content->handle = edit->handle;
    content->readiness = edit->readiness;
    content->created_ns = edit->created_ns;
    content->restore_bytes = edit->restore_bytes;
    if (edit->clears_error)
        content->error = (VolumeError){NULL, TIME_UNSET};
    return TRUE;
}

/* What is told once stays; readiness may change. Returns: whether anything does */
static gboolean
status_from(const SnapshotAnswer *answer, const SnapshotContent *now, StatusEdit *edit)
{
    uint32_t readiness = answer->is_ready ? SNAPSHOT_READY : SNAPSHOT_NOT_READY;

    *edit = (StatusEdit){
        .handle = now->handle != NULL ? now->handle : answer->handle,
        .readiness = readiness,
        .created_ns = now->created_ns >= 0 ? now->created_ns : answer->created_ns,
        .restore_bytes =
            now->restore_bytes >= 0 || answer->bytes <= 0 ? now->restore_bytes : answer->bytes,
        .clears_error = now->readiness != readiness && answer->is_ready,
    };
    return edit->handle != now->handle || readiness != now->readiness ||
           edit->created_ns != now->created_ns || edit->restore_bytes != now->restore_bytes;
}

/* The driver is asked again after the rate limit, until the snapshot is ready (SNAP-48). */
static void
plan_end(Plan *plan)
{
    const SnapshotterSync *sync = plan_operation(plan);

    plan_because(plan, "SNAP-48");
    if (sync->content->readiness != SNAPSHOT_READY)
        plan_requeue_rate_limited(plan);
}

static void
decide_unannotated(const void *data, Plan *plan)
{
    (void)data;
    plan_because(plan, "SNAP-44");
    if (plan_has_failed(plan)) {
        plan_error(
            plan,
            plan_internf(
                plan,
                "failed to remove VolumeSnapshotBeingCreated annotation on the content %s: %s",
                plan_key(plan)->name,
                plan_quote(plan, update_error(plan, plan_last_message(plan)))));
        return;
    }
    keep_result(plan);
    plan_end(plan);
}

/* The status is as the driver says. */
static void
plan_told(const ExternalSnapshotter *self, Plan *plan)
{
    const SnapshotterSync *sync = plan_operation(plan);

    if (!is_annotated(sync->content)) {
        plan_end(plan);
        return;
    }
    plan_because(plan, "SNAP-44");
    plan_annotate(self, plan, FALSE);
    plan_then(plan, decide_unannotated);
}

static void
plan_status_failed(Plan *plan, const char *error)
{
    plan_error(plan, plan_internf(plan, "error updating status for volume snapshot content %s: %s",
                                  plan_key(plan)->name, error));
}

static void
decide_status_written(const void *data, Plan *plan)
{
    if (plan_has_failed(plan)) {
        plan_status_failed(plan, update_error(plan, plan_last_message(plan)));
        return;
    }
    keep_result(plan);
    plan_told(data, plan);
}

static void
decide_status(const void *data, Plan *plan)
{
    const SnapshotterSync *sync = plan_operation(plan);
    StatusEdit *edit = plan_new_arg(plan, StatusEdit);

    plan_because(plan, "SNAP-44");
    if (plan_has_failed(plan)) {
        plan_status_failed(plan,
                           plan_internf(plan, "error get snapshot content %s from api server: %s",
                                        plan_key(plan)->name, plan_last_message(plan)));
        return;
    }
    const Object *now = plan_object(plan, plan_last_step(plan));
    if (!status_from(&sync->answer, SNAPSHOT_CONTENT_CONST(now), edit)) {
        keep_result(plan);
        plan_told(data, plan);
        return;
    }
    plan_patch_status(plan, plan_key(plan), set_status, edit, PLAN_DECIDE);
    plan_then(plan, decide_status_written);
}

/* @answer->created_ns may be unknown: then it was cut now. */
static void
plan_answer(Plan *plan, const SnapshotAnswer *answer)
{
    SnapshotterSync *sync = plan_operation(plan);

    sync->answer = *answer;
    if (answer->created_ns < 0)
        sync->answer.created_ns = API_EPOCH_S * SIM_SECOND + plan_now(plan);
    plan_get(plan, plan_key(plan), PLAN_DECIDE);
    plan_then(plan, decide_status);
}

/* ---- SNAP-44: CreateSnapshot ---- */

static const char *
creation_error(Plan *plan, const char *error)
{
    const SnapshotterSync *sync = plan_operation(plan);

    return plan_internf(plan, "failed to take snapshot of the volume %s: %s",
                        sync->content->volume_handle, plan_quote(plan, error));
}

/* The driver refused for good, and the annotation is off. */
static void
decide_refused(const void *data, Plan *plan)
{
    const SnapshotterSync *sync = plan_operation(plan);

    (void)data;
    if (plan_has_failed(plan)) {
        plan_error(
            plan,
            plan_internf(
                plan,
                "failed to remove VolumeSnapshotBeingCreated annotation from the content %s: %s",
                plan_key(plan)->name, update_error(plan, plan_last_message(plan))));
        return;
    }
    keep_result(plan);
    plan_error(plan, sync->refusal);
}

static void
plan_refused(const ExternalSnapshotter *self, Plan *plan, const CsiResponse *response)
{
    SnapshotterSync *sync = plan_operation(plan);
    const char *error = creation_error(plan, csi_response_error(response, self->base.strings));

    plan_because(plan, "SNAP-44");
    if (!snapshotter_error_is_final(response->code) || !is_annotated(sync->content)) {
        plan_error(plan, error);
        return;
    }
    sync->refusal = error;
    plan_annotate(self, plan, FALSE);
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
    plan_answer(plan, &(SnapshotAnswer){
                          .handle = response->snapshot_id,
                          .is_ready = response->ready_to_use,
                          .created_ns = API_EPOCH_S * SIM_SECOND + response->creation_time,
                          .bytes = response->size_bytes,
                      });
}

static const SnapshotClass *
find_class(const ExternalSnapshotter *self, const char *name)
{
    const ObjectKey *key =
        name == NULL ? NULL : objects_find_key(self->base.objects, KIND_SNAPSHOT_CLASS, NULL, name);

    return key == NULL ? NULL : SNAPSHOT_CLASS_CONST(informer_get(self->classes, key));
}

/* What the driver is told: nothing of what is meant for the sidecar. Returns: (owned): NULL:
 * nothing */
static StringMap *
driver_parameters(const ExternalSnapshotter *self, const SnapshotContent *content)
{
    const SnapshotClass *class = find_class(self, content->class_name);
    g_autoptr(GArray) pairs = g_array_new(FALSE, FALSE, sizeof(StringPair));
    const struct {
        const char *key, *value;
    } metadata[] = {
        {"csi.storage.k8s.io/volumesnapshot/name",        content->snapshot.name     },
        {"csi.storage.k8s.io/volumesnapshot/namespace",   content->snapshot.namespace},
        {"csi.storage.k8s.io/volumesnapshotcontent/name", object_name(&content->meta)},
    };

    const StringMap *given = class == NULL ? NULL : class->parameters;
    for (unsigned i = 0; given != NULL && i < given->n_pairs; i++)
        if (!g_str_has_prefix(given->pairs[i].key, "csi.storage.k8s.io/"))
            g_array_append_val(pairs, given->pairs[i]);
    for (unsigned i = 0; self->options->extra_create_metadata && i < G_N_ELEMENTS(metadata); i++) {
        StringPair pair = {strings_intern(self->base.strings, metadata[i].key), metadata[i].value};
        g_array_append_val(pairs, pair);
    }
    return string_map_new((const StringPair *)(void *)pairs->data, pairs->len);
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
    const SnapshotterSync *sync = plan_operation(plan);
    const CsiResponse *info = plan_response(plan, plan_last_step(plan));
    StringMap *parameters = driver_parameters(self, sync->content);
    char uid[OBJECT_UID_BUFFER];

    plan_own(plan, parameters, unref_map);
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
                  .parameters = parameters,
                  .has_secrets = sync->has_secrets,
              },
              PLAN_DECIDE);
    plan_then(plan, decide_taken);
}

/* The annotation is on. */
static void
plan_take(const ExternalSnapshotter *self, Plan *plan)
{
    SnapshotterSync *sync = plan_operation(plan);

    plan_because(plan, "SNAP-44");
    sync->deadline = plan_now(plan) + self->options->timeout;
    plan_call(plan, self->base.driver,
              &(CsiRequest){.method = CSI_GET_PLUGIN_INFO, .deadline = sync->deadline},
              PLAN_DECIDE);
    plan_then(plan, decide_take);
}

static void
decide_annotated(const void *data, Plan *plan)
{
    if (plan_has_failed(plan)) {
        plan_error(plan,
                   plan_internf(
                       plan,
                       "failed to add VolumeSnapshotBeingCreated annotation on the content %s: %s",
                       plan_key(plan)->name,
                       plan_quote(plan, update_error(plan, plan_last_message(plan)))));
        return;
    }
    keep_result(plan);
    plan_take(data, plan);
}

/* The class is known, and the secret. */
static void
plan_creation(const ExternalSnapshotter *self, Plan *plan)
{
    const SnapshotterSync *sync = plan_operation(plan);

    plan_use_client(plan, NULL);
    if (is_annotated(sync->content)) {
        plan_take(self, plan);
        return;
    }
    plan_because(plan, "SNAP-44");
    plan_annotate(self, plan, TRUE);
    plan_then(plan, decide_annotated);
}

/* ---- Secrets: SNAP-70 ---- */

/* Reads the secret that the content names. Returns: FALSE: it names none */
static gboolean
plan_secret(const ExternalSnapshotter *self, Plan *plan)
{
    const SnapshotterSync *sync = plan_operation(plan);
    const char *name = object_annotation(&sync->content->meta, ANNOTATION_SNAPSHOT_SECRET_NAME);
    const char *namespace =
        object_annotation(&sync->content->meta, ANNOTATION_SNAPSHOT_SECRET_NAMESPACE);

    if (name == NULL || namespace == NULL)
        return FALSE;
    plan_because(plan, "SNAP-70");
    plan_use_client(plan, self->base.event_client);
    plan_get(plan, objects_key(self->base.objects, KIND_SECRET, namespace, name), PLAN_DECIDE);
    return TRUE;
}

/* Returns: (borrowed): NULL: it was read */
static const char *
secret_error(Plan *plan)
{
    SnapshotterSync *sync = plan_operation(plan);

    plan_use_client(plan, NULL);
    if (plan_has_failed(plan))
        return plan_internf(plan, "cannot get credentials for snapshot content \"%s\"",
                            plan_key(plan)->name);
    sync->has_secrets = SECRET(plan_object(plan, plan_last_step(plan)))->n_keys > 0;
    return NULL;
}

static void
plan_input_error(Plan *plan, const char *error)
{
    plan_error(plan,
               plan_internf(plan,
                            "failed to get input parameters to create snapshot for content %s: %s",
                            plan_key(plan)->name, plan_quote(plan, error)));
}

static void
decide_secret(const void *data, Plan *plan)
{
    const char *error = secret_error(plan);

    if (error != NULL)
        plan_input_error(plan, error);
    else
        plan_creation(data, plan);
}

static void
plan_input(const ExternalSnapshotter *self, Plan *plan)
{
    const SnapshotContent *content = ((const SnapshotterSync *)plan_operation(plan))->content;

    plan_because(plan, "SNAP-44");
    if (content->class_name == NULL)
        plan_input_error(plan,
                         plan_internf(plan, "failed to take snapshot %s without a snapshot class",
                                      object_name(&content->meta)));
    else if (find_class(self, content->class_name) == NULL)
        plan_input_error(
            plan, plan_internf(plan, "volumesnapshotclass." SNAPSHOT_API_GROUP " \"%s\" not found",
                               content->class_name));
    else if (plan_secret(self, plan))
        plan_then(plan, decide_secret);
    else
        plan_creation(self, plan);
}

/* ---- SNAP-46: a snapshot that somebody else took ---- */

static void
plan_list_error(Plan *plan, const char *error)
{
    plan_error(plan, plan_internf(plan, "failed to list snapshot for content %s: %s",
                                  plan_key(plan)->name, plan_quote(plan, error)));
}

static void
decide_listed(const void *data, Plan *plan)
{
    const ExternalSnapshotter *self = data;
    const SnapshotterSync *sync = plan_operation(plan);
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
    plan_answer(plan, &(SnapshotAnswer){
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
    const SnapshotterSync *sync = plan_operation(plan);
    const CsiResponse *response = plan_response(plan, plan_last_step(plan));

    plan_because(plan, "SNAP-46");
    if (response->code != CSI_OK) {
        plan_list_error(plan, csi_response_error(response, self->base.strings));
        return;
    }
    if ((response->controller_capabilities & CSI_CONTROLLER_LIST_SNAPSHOTS) == 0) {
        plan_answer(plan, &(SnapshotAnswer){.handle = sync->content->given_handle,
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

static void
plan_check(const ExternalSnapshotter *self, Plan *plan)
{
    SnapshotterSync *sync = plan_operation(plan);
    const SnapshotContent *content = sync->content;

    if (content->given_handle ==
        NULL) { /* the same call again: its answer tells whether it is ready */
        plan_input(self, plan);
        return;
    }
    plan_because(plan, "SNAP-46");
    if (content->class_name != NULL && find_class(self, content->class_name) == NULL) {
        plan_error(plan, plan_internf(plan,
                                      "failed to get snapshot class %s for snapshot content %s: "
                                      "volumesnapshotclass." SNAPSHOT_API_GROUP " \"%s\" not found",
                                      content->class_name, object_name(&content->meta),
                                      content->class_name));
        return;
    }
    sync->deadline = plan_now(plan) + self->options->timeout;
    plan_call(plan, self->base.driver,
              &(CsiRequest){.method = CSI_CONTROLLER_GET_CAPABILITIES, .deadline = sync->deadline},
              PLAN_DECIDE);
    plan_then(plan, decide_list);
}

/* ---- SNAP-47: DeleteSnapshot ---- */

static gboolean
remove_finalizer(Object *object, const void *data)
{
    (void)data;
    return object_remove_finalizer(object, FINALIZER_SNAPSHOT_CONTENT);
}

static void
decide_finalizer_removed(const void *data, Plan *plan)
{
    (void)data;
    if (plan_has_failed(plan))
        plan_fail(plan, "%s", update_error(plan, plan_last_message(plan)));
    else
        plan_change_result(plan, CHANGE_STORE, plan_last_step(plan));
}

static void
plan_remove_finalizer(Plan *plan)
{
    const SnapshotterSync *sync = plan_operation(plan);

    plan_because(plan, "SNAP-42.2");
    if (!object_has_finalizer(&sync->content->meta, FINALIZER_SNAPSHOT_CONTENT))
        return;
    plan_patch(plan, plan_key(plan), remove_finalizer, NULL, PLAN_DECIDE);
    plan_then(plan, decide_finalizer_removed);
}

static void
plan_deletion_failed(Plan *plan, const char *event, const char *error)
{
    const SnapshotterSync *sync = plan_operation(plan);

    plan_event(plan, &sync->content->meta, "Warning", "SnapshotDeleteError", "%s", event);
    plan_fail(plan, "%s", error);
}

static gboolean
clear_status(Object *object, const void *data)
{
    SnapshotContent *content = SNAPSHOT_CONTENT(object);

    (void)data;
    content->handle = NULL;
    content->readiness = SNAPSHOT_READINESS_UNSET;
    content->created_ns = -1;
    content->restore_bytes = -1;
    return TRUE;
}

static void
decide_cleared(const void *data, Plan *plan)
{
    (void)data;
    if (plan_has_failed(plan)) {
        plan_deletion_failed(plan, "Failed to clear content status",
                             update_error(plan, plan_last_message(plan)));
        return;
    }
    keep_result(plan);
    plan_remove_finalizer(plan);
}

static void
decide_clear(const void *data, Plan *plan)
{
    (void)data;
    plan_because(plan, "SNAP-47");
    if (plan_has_failed(plan)) {
        plan_deletion_failed(plan, "Failed to clear content status",
                             plan_internf(plan, "error get snapshot content %s from api server: %s",
                                          plan_key(plan)->name, plan_last_message(plan)));
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
        plan_deletion_failed(plan, "Failed to delete snapshot",
                             plan_internf(plan, "failed to delete snapshot \"%s\", err: %s",
                                          plan_key(plan)->name, error));
        return;
    }
    plan_get(plan, plan_key(plan), PLAN_DECIDE);
    plan_then(plan, decide_clear);
}

static void
plan_delete_snapshot(const ExternalSnapshotter *self, Plan *plan)
{
    const SnapshotterSync *sync = plan_operation(plan);

    plan_because(plan, "SNAP-47");
    plan_call(plan, self->base.driver,
              &(CsiRequest){.method = CSI_DELETE_SNAPSHOT,
                            .timeout_ns = self->options->timeout,
                            .snapshot_id = sync->content->handle,
                            .has_secrets = sync->has_secrets},
              PLAN_DECIDE);
    plan_then(plan, decide_deleted);
}

static void
decide_deletion_secret(const void *data, Plan *plan)
{
    const char *error = secret_error(plan);

    if (error != NULL)
        plan_deletion_failed(plan, "Failed to get snapshot credentials", error);
    else
        plan_delete_snapshot(data, plan);
}

static void
plan_deletion(const ExternalSnapshotter *self, Plan *plan)
{
    const SnapshotContent *content = ((const SnapshotterSync *)plan_operation(plan))->content;

    if (content->handle == NULL || g_strcmp0(content->deletion_policy, "Delete") != 0) {
        plan_remove_finalizer(plan);
        return;
    }
    plan_because(plan, "SNAP-42.1");
    if (plan_secret(self, plan))
        plan_then(plan, decide_deletion_secret);
    else
        plan_delete_snapshot(self, plan);
}

/* ---- SNAP-42 ---- */

static void
plan_ready(const ExternalSnapshotter *self, Plan *plan)
{
    const SnapshotterSync *sync = plan_operation(plan);

    plan_because(plan, "SNAP-42.4");
    if (!is_annotated(sync->content))
        return;
    plan_annotate(self, plan, FALSE);
    plan_then(plan, decide_unannotated);
}

static void
plan_content(const ExternalSnapshotter *self, Plan *plan)
{
    SnapshotterSync *sync = plan_operation(plan);
    const SnapshotContent *content = sync->content;

    sync->is_first = content->volume_handle != NULL && !snapshot_content_has_status(content);
    if (snapshotter_should_delete(content)) {
        plan_because(plan, "SNAP-43");
        plan_deletion(self, plan);
    } else if (sync->is_first) {
        plan_because(plan, "SNAP-42.3");
        plan_input(self, plan);
    } else if (content->readiness == SNAPSHOT_READY) {
        plan_ready(self, plan);
    } else {
        plan_because(plan, "SNAP-42.5");
        plan_check(self, plan);
    }
}

/* SNAP-40. */
static gboolean
is_ours(const ExternalSnapshotter *self, const SnapshotContent *content)
{
    const SnapshotClass *class = find_class(self, content->class_name);

    return (content->volume_handle != NULL || content->given_handle != NULL) &&
           content->driver == self->base.driver_name &&
           (class == NULL || class->driver == self->base.driver_name);
}

void
snapshotter_sync(const void *data, Plan *plan)
{
    const ExternalSnapshotter *self = data;
    const Object *content = informer_get(self->contents, plan_key(plan));

    plan_because(plan, "SNAP-40");
    if (content == NULL) {
        plan_change(plan, &(PlanChange){.what = CHANGE_FORGET, .key = plan_key(plan)});
        return;
    }
    if (!is_ours(self, SNAPSHOT_CONTENT_CONST(content)) ||
        object_store_is_newer(self->store, content))
        return;
    plan_change(plan, &(PlanChange){.what = CHANGE_STORE, .key = content->key, .object = content});
    take(plan_operation(plan), content);
    plan_content(self, plan);
}
