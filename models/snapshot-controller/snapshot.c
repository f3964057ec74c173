/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controller.h"

#include <string.h>

/* One sync of a VolumeSnapshot: syncSnapshotByKey() and syncSnapshot() of the snapshot-controller.
 */

#define MESSAGE_MISSING "VolumeSnapshotContent is missing"

static const SnapshotController *
controller(const void *data)
{
    return data;
}

void
snapshot_sync_clear(void *data)
{
    SnapshotSync *sync = data;

    if (sync->snapshot != NULL)
        object_unref(&sync->snapshot->meta);
    if (sync->content != NULL)
        object_unref(&sync->content->meta);
    *sync = (SnapshotSync){0};
}

static void
take_snapshot(SnapshotSync *sync, const Object *snapshot)
{
    const Object *before = sync->snapshot == NULL ? NULL : &sync->snapshot->meta;

    sync->snapshot = VOLUME_SNAPSHOT_CONST(object_ref(snapshot));
    if (before != NULL)
        object_unref(before);
}

void
snapshot_sync_take_content(SnapshotSync *sync, const SnapshotContent *content)
{
    const Object *before = sync->content == NULL ? NULL : &sync->content->meta;

    sync->content = SNAPSHOT_CONTENT_CONST(object_ref(&content->meta));
    if (before != NULL)
        object_unref(before);
}

/* ---- What it tells of errors ---- */

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
plan_snapshot_error(const SnapshotController *self,
                    Plan *plan,
                    gboolean is_not_ready,
                    const char *reason,
                    const char *message)
{
    const SnapshotSync *sync = plan_operation(plan);
    const Object *snapshot = &sync->snapshot->meta;
    ErrorEdit *edit = plan_new_arg(plan, ErrorEdit);

    (void)self;
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
    plan_event(plan, snapshot, "Warning", reason, "%s", message);
}

/* ---- The claim and its volume ---- */

const Claim *
snapshot_claim(const SnapshotController *self,
               Plan *plan,
               const VolumeSnapshot *snapshot,
               const char **error)
{
    const ObjectKey *key =
        snapshot->claim_name == NULL
            ? NULL
            : objects_find_key(self->base.objects, KIND_CLAIM, snapshot->meta.key->namespace,
                               snapshot->claim_name);
    const Object *claim = key == NULL ? NULL : informer_get(self->claims, key);

    if (claim == NULL)
        *error = plan_internf(
            plan, "failed to retrieve PVC %s from the lister: %s", snapshot->claim_name,
            plan_quote(plan, plan_internf(plan, "persistentvolumeclaim \"%s\" not found",
                                          snapshot->claim_name)));
    return claim == NULL ? NULL : CLAIM_CONST(claim);
}

/* Reads the volume of the claim. Returns: FALSE with @error: there is none to read */
static gboolean
plan_read_volume(const SnapshotController *self, Plan *plan, const char **error)
{
    const SnapshotSync *sync = plan_operation(plan);
    const Claim *claim = snapshot_claim(self, plan, sync->snapshot, error);

    if (claim == NULL)
        return FALSE;
    if (claim->phase != CLAIM_BOUND) {
        *error = plan_internf(
            plan, "the PVC %s is not yet bound to a PV, will not attempt to take a snapshot",
            object_name(&claim->meta));
        return FALSE;
    }
    plan_use_client(plan, self->base.event_client);
    plan_get(plan, objects_key(self->base.objects, KIND_VOLUME, NULL, claim_volume_name(claim)),
             PLAN_DECIDE);
    return TRUE;
}

/* ... as it was read. Returns: (borrowed): NULL with @error */
static const Volume *
volume_read(const SnapshotController *self, Plan *plan, const char **error)
{
    const SnapshotSync *sync = plan_operation(plan);
    const Object *object = plan_object(plan, plan_last_step(plan));
    const Claim *claim = snapshot_claim(self, plan, sync->snapshot, error);

    plan_use_client(plan, NULL);
    if (claim == NULL)
        return NULL;
    if (object == NULL) {
        *error = plan_internf(plan, "failed to retrieve PV %s from the API server: %s",
                              claim_volume_name(claim), plan_quote(plan, plan_last_message(plan)));
        return NULL;
    }
    const ClaimReference *reference = &VOLUME_CONST(object)->claim_ref;
    if (reference->claim != claim->meta.key ||
        (object_uid_is_set(reference->uid) && !object_uid_equal(reference->uid, claim->meta.uid))) {
        *error = "claim in dataSource not bound or invalid";
        return NULL;
    }
    return VOLUME_CONST(object);
}

static const char *
volume_driver(const Volume *volume)
{
    return volume->source == NULL ? NULL : volume->source->driver;
}

/* ---- SNAP-8: the status is copied from the content ---- */

typedef struct {
    const char *bound_content;
    uint32_t readiness;
    int64_t restore_bytes;
    SimTime created_at;
    VolumeError error;
} StatusEdit;

static gboolean
set_status(Object *object, const void *data)
{
    const StatusEdit *edit = data;
    VolumeSnapshot *snapshot = VOLUME_SNAPSHOT(object);

    snapshot->bound_content = edit->bound_content;
    snapshot->readiness = edit->readiness;
    snapshot->restore_bytes = edit->restore_bytes;
    snapshot->created_at = edit->created_at;
    snapshot->error = edit->error;
    return TRUE;
}

static SimTime
cut_at(const SnapshotContent *content)
{
    return content->created_ns < 0 ? TIME_UNSET : content->created_ns - API_EPOCH_S * SIM_SECOND;
}

/* Returns: whether anything changes. An error that is there on either side is always copied. */
static gboolean
status_from(const SnapshotContent *content, const VolumeSnapshot *now, StatusEdit *edit)
{
    uint32_t readiness = content->readiness == SNAPSHOT_READY ? SNAPSHOT_READY : SNAPSHOT_NOT_READY;
    gboolean changes = FALSE;

    *edit = (StatusEdit){now->bound_content, now->readiness, now->restore_bytes, now->created_at,
                         now->error};
    if (edit->bound_content == NULL) {
        edit->bound_content = object_name(&content->meta);
        changes = TRUE;
    }
    if (edit->created_at == TIME_UNSET && content->created_ns >= 0) {
        edit->created_at = cut_at(content);
        changes = TRUE;
    }
    if (edit->readiness != readiness) {
        edit->readiness = readiness;
        if (readiness == SNAPSHOT_READY)
            edit->error = (VolumeError){NULL, TIME_UNSET};
        changes = TRUE;
    }
    if (edit->restore_bytes == 0 && content->restore_bytes > 0) {
        edit->restore_bytes = content->restore_bytes;
        changes = TRUE;
    }
    if (edit->error.message != NULL || content->error.message != NULL) {
        edit->error = content->error;
        changes = TRUE;
    }
    return changes;
}

static void
decide_status_written(const void *data, Plan *plan)
{
    const char *error;

    if (!plan_has_failed(plan)) {
        plan_because(plan, "SNAP-8");
        plan_store_result(plan, plan_last_step(plan));
        return;
    }
    error = update_error(plan, plan_key(plan)->text, plan_last_message(plan));
    plan_snapshot_error(controller(data), plan, FALSE, "SnapshotStatusUpdateFailed",
                        plan_internf(plan, "Snapshot status update failed, %s", error));
    plan_fail(plan, "%s", error);
}

static void
decide_status(const void *data, Plan *plan)
{
    const SnapshotSync *sync = plan_operation(plan);
    int step = plan_last_step(plan);
    const VolumeSnapshot *now = VOLUME_SNAPSHOT_CONST(plan_object(plan, step));
    StatusEdit *edit = plan_new_arg(plan, StatusEdit);
    const char *key = plan_key(plan)->text;

    (void)data;
    plan_because(plan, "SNAP-8");
    if (now == NULL) {
        plan_fail(plan, "error get snapshot %s from api server: %s", key, plan_message(plan, step));
        return;
    }
    if (!status_from(sync->content, now, edit)) {
        plan_store_result(plan, step);
        return;
    }
    if (now->created_at == TIME_UNSET && edit->created_at != TIME_UNSET)
        plan_event(plan, &sync->snapshot->meta, "Normal", "SnapshotCreated",
                   "Snapshot %s was successfully created by the CSI driver.", key);
    if (now->readiness != SNAPSHOT_READY && edit->readiness == SNAPSHOT_READY)
        plan_event(plan, &sync->snapshot->meta, "Normal", "SnapshotReady",
                   "Snapshot %s is ready to use.", key);
    plan_update_result_status(plan, step, set_status, edit, PLAN_DECIDE | PLAN_SEND_ALWAYS);
    plan_then(plan, decide_status_written);
}

/* @content: what the status is copied from */
static void
plan_status(Plan *plan, const SnapshotContent *content)
{
    snapshot_sync_take_content(plan_operation(plan), content);
    plan_because(plan, "SNAP-8");
    plan_get(plan, plan_key(plan), PLAN_DECIDE);
    plan_then(plan, decide_status);
}

/* A snapshot whose content is there is read twice (bindandUpdateVolumeSnapshot). */
static void
decide_found_read(const void *data, Plan *plan)
{
    SnapshotSync *sync = plan_operation(plan);

    if (plan_has_failed(plan)) {
        decide_status(data, plan);
        return;
    }
    take_snapshot(sync, plan_object(plan, plan_last_step(plan)));
    plan_get(plan, plan_key(plan), PLAN_DECIDE);
    plan_then(plan, decide_status);
}

/* ---- SNAP-6: a content is made ---- */

static void
plan_creation_failed(const SnapshotController *self, Plan *plan, const char *error)
{
    plan_snapshot_error(
        self, plan, TRUE, "SnapshotContentCreationFailed",
        plan_internf(plan, "Failed to create snapshot content with error %s", error));
    plan_fail(plan, "%s", error);
}

static void
decide_content_created(const void *data, Plan *plan)
{
    const SnapshotSync *sync = plan_operation(plan);
    int step = plan_last_step(plan);
    const char *key = plan_key(plan)->text;

    if (plan_code(plan, step) != API_OK && plan_code(plan, step) != API_EXISTS) {
        plan_event(plan, &sync->snapshot->meta, "Warning", "CreateSnapshotContentFailed",
                   "Error creating volume snapshot content object for snapshot %s: %s.", key,
                   plan_message(plan, step));
        plan_creation_failed(controller(data), plan,
                             update_error(plan, key, plan_message(plan, step)));
        return;
    }
    plan_because(plan, "SNAP-6");
    plan_event(plan, &sync->snapshot->meta, "Normal", "CreatingSnapshot",
               "Waiting for a snapshot %s to be created by the CSI driver.", key);
    plan_store_result(plan, step);
    plan_status(plan, plan_object(plan, step) == NULL
                          ? sync->content
                          : SNAPSHOT_CONTENT_CONST(plan_object(plan, step)));
}

/* SNAP-70. Returns: (borrowed): interned; NULL: the class has no such parameter */
static const char *
resolve_template(const SnapshotController *self,
                 const SnapshotClass *class,
                 const char *parameter,
                 const ObjectKey *content,
                 const ObjectKey *snapshot)
{
    const char *template = string_map_get(class->parameters, parameter);

    if (template == NULL)
        return NULL;
    g_autoptr(GString) text = g_string_new(template);
    g_string_replace(text, "${volumesnapshotcontent.name}", content->name, 0);
    g_string_replace(text, "${volumesnapshot.namespace}", snapshot->namespace, 0);
    g_string_replace(text, "${volumesnapshot.name}", snapshot->name, 0);
    return strings_intern(self->base.strings, text->str);
}

/* Returns: (owned) */
static Object *
content_new(const SnapshotController *self,
            const VolumeSnapshot *snapshot,
            const SnapshotClass *class,
            const Volume *volume)
{
    const ObjectKey *of = snapshot->meta.key;
    Object *object = object_new(dynamic_content_key(self, snapshot));
    SnapshotContent *content = SNAPSHOT_CONTENT(object);
    const char *name = resolve_template(self, class, "csi.storage.k8s.io/snapshotter-secret-name",
                                        object->key, of);
    const char *namespace = resolve_template(
        self, class, "csi.storage.k8s.io/snapshotter-secret-namespace", object->key, of);

    content->driver = class->driver;
    content->deletion_policy = class->deletion_policy;
    content->class_name = object_name(&class->meta);
    content->volume_handle = volume->source->handle;
    content->snapshot = (SnapshotReference){of->namespace, of->name, snapshot->meta.uid};
    if (self->options->prevent_volume_mode_conversion)
        content->source_volume_mode = strings_intern(
            self->base.strings, volume->volume_mode == VOLUME_BLOCK ? "Block" : "Filesystem");
    if (name != NULL && namespace != NULL) {
        object_set_annotation(
            object, strings_intern(self->base.strings, ANNOTATION_SNAPSHOT_SECRET_NAME), name);
        object_set_annotation(
            object, strings_intern(self->base.strings, ANNOTATION_SNAPSHOT_SECRET_NAMESPACE),
            namespace);
    }
    return object;
}

static const SnapshotClass *
find_class(const SnapshotController *self, const char *name)
{
    const ObjectKey *key =
        name == NULL ? NULL : objects_find_key(self->base.objects, KIND_SNAPSHOT_CLASS, NULL, name);

    return key == NULL ? NULL : SNAPSHOT_CLASS_CONST(informer_get(self->classes, key));
}

static const char *
class_error(Plan *plan, const char *name)
{
    return plan_internf(plan, "volumesnapshotclass." SNAPSHOT_API_GROUP " \"%s\" not found", name);
}

/* What stands in the way of a content. Returns: (borrowed): what getCreateSnapshotInput() failed
 * with */
static const char *
input_error(Plan *plan, const char *error)
{
    return plan_internf(plan, "failed to get input parameters to create snapshot %s: %s",
                        plan_key(plan)->name, plan_quote(plan, error));
}

static void
decide_volume_read(const void *data, Plan *plan)
{
    const SnapshotController *self = data;
    SnapshotSync *sync = plan_operation(plan);
    const SnapshotClass *class = find_class(self, sync->snapshot->class_name);
    const char *error = NULL;
    const Volume *volume = volume_read(self, plan, &error);

    plan_because(plan, "SNAP-6");
    if (volume == NULL) {
        plan_creation_failed(self, plan, input_error(plan, error));
        return;
    }
    if (class == NULL) { /* it went meanwhile */
        error = class_error(plan, sync->snapshot->class_name);
        plan_creation_failed(self, plan, input_error(plan, error));
        return;
    }
    if (volume_driver(volume) == NULL) {
        error = plan_internf(plan, "cannot find CSI PersistentVolumeSource for volume %s",
                             object_name(&volume->meta));
        plan_creation_failed(self, plan, error);
        return;
    }
    Object *content = content_new(self, sync->snapshot, class, volume);
    snapshot_sync_take_content(sync, SNAPSHOT_CONTENT_CONST(content));
    plan_create(plan, content, PLAN_DECIDE);
    plan_then(plan, decide_content_created);
}

/* The claim has the finalizer. */
static void
plan_input(const SnapshotController *self, Plan *plan)
{
    const SnapshotSync *sync = plan_operation(plan);
    const char *error = NULL;

    plan_because(plan, "SNAP-6");
    plan_use_client(plan, NULL);
    if (sync->snapshot->class_name == NULL)
        error = plan_internf(plan, "failed to take snapshot %s without a snapshot class",
                             plan_key(plan)->name);
    else if (find_class(self, sync->snapshot->class_name) == NULL)
        error = class_error(plan, sync->snapshot->class_name);
    else if (plan_read_volume(self, plan, &error)) {
        plan_then(plan, decide_volume_read);
        return;
    }
    plan_creation_failed(self, plan, input_error(plan, error));
}

static void
decide_claim_held(const void *data, Plan *plan)
{
    const SnapshotController *self = data;
    const SnapshotSync *sync = plan_operation(plan);

    if (plan_has_failed(plan))
        plan_creation_failed(
            self, plan, update_error(plan, sync->snapshot->claim_name, plan_last_message(plan)));
    else
        plan_input(self, plan);
}

static gboolean
add_finalizer(Object *object, const void *finalizer)
{
    return object_add_finalizer(object, finalizer);
}

static void
plan_creation(const SnapshotController *self, Plan *plan)
{
    const SnapshotSync *sync = plan_operation(plan);
    const char *error;
    const Claim *claim = snapshot_claim(self, plan, sync->snapshot, &error);

    plan_because(plan, "SNAP-6");
    if (claim == NULL) {
        plan_creation_failed(
            self, plan, update_error(plan, plan_key(plan)->name, "cannot get claim from snapshot"));
    } else if (object_has_finalizer(&claim->meta, FINALIZER_SNAPSHOT_CLAIM)) {
        plan_input(self, plan);
    } else if (object_is_deleted(&claim->meta)) {
        plan_creation_failed(
            self, plan,
            update_error(plan, object_name(&claim->meta),
                         "cannot add finalizer on claim because it is being deleted"));
    } else {
        plan_use_client(plan, self->base.event_client);
        plan_update(plan, &claim->meta, add_finalizer,
                    strings_intern(self->base.strings, FINALIZER_SNAPSHOT_CLAIM), PLAN_DECIDE);
        plan_then(plan, decide_claim_held);
    }
}

/* ---- The content of a snapshot ---- */

ObjectKey *
dynamic_content_key(const SnapshotController *self, const VolumeSnapshot *snapshot)
{
    char uid[OBJECT_UID_BUFFER];

    return objects_key(self->base.objects, KIND_SNAPSHOT_CONTENT, NULL,
                       strings_internf(self->base.strings, "snapcontent-%s",
                                       object_uid_format(snapshot->meta.uid, uid)));
}

/* Why a content of the right name is not the snapshot's. */
typedef struct {
    const char *reason, *message; /* of the status and its Event */
    const char *error;            /* of the sync */
} ContentFault;

static void
mismatch(Plan *plan, const char *content, gboolean is_dynamic, ContentFault *fault)
{
    fault->reason = "SnapshotContentMismatch";
    fault->message =
        is_dynamic ? plan_internf(plan,
                                  "VolumeSnapshotContent %s is pre-provisioned while expecting a "
                                  "dynamically provisioned one",
                                  content)
                   : "VolumeSnapshotContent is dynamically provisioned while expecting a "
                     "pre-provisioned one";
    fault->error = plan_internf(
        plan, "snapshot %s expects a %s VolumeSnapshotContent %s but gets a %s one",
        plan_key(plan)->text, is_dynamic ? "dynamically provisioned" : "pre-provisioned", content,
        is_dynamic ? "pre-provisioned" : "dynamically provisioned");
}

/* SNAP-5, SNAP-7. Returns: (borrowed): NULL: there is none, or @fault says what is wrong with it */
static const SnapshotContent *
content_of(const SnapshotController *self, Plan *plan, ContentFault *fault)
{
    const VolumeSnapshot *snapshot = ((const SnapshotSync *)plan_operation(plan))->snapshot;
    gboolean is_dynamic = snapshot->content_name == NULL;
    const char *name =
        is_dynamic ? dynamic_content_key(self, snapshot)->name : snapshot->content_name;
    const SnapshotContent *content = stored_content(self, name);

    *fault = (ContentFault){0};
    if (content == NULL)
        return NULL;
    const SnapshotReference *reference = &content->snapshot;
    gboolean is_ours = reference->name == snapshot->meta.key->name &&
                       reference->namespace == snapshot->meta.key->namespace &&
                       ((!is_dynamic && !object_uid_is_set(reference->uid)) ||
                        object_uid_equal(reference->uid, snapshot->meta.uid));
    if (is_dynamic ? content->volume_handle == NULL : content->given_handle == NULL)
        mismatch(plan, name, is_dynamic, fault);
    else if (!is_ours)
        *fault = (ContentFault){
            .reason = "SnapshotContentMisbound",
            .message = plan_internf(
                plan, "VolumeSnapshotContent [%s] is bound to a different snapshot", name),
        };
    if (fault->error == NULL)
        fault->error = fault->message;
    return fault->reason == NULL ? content : NULL;
}

/* ---- SNAP-5, SNAP-7, SNAP-9 ---- */

typedef struct {
    ObjectUid uid;
    const char *class_name; /* NULL: as it is */
} BindEdit;

static gboolean
bind_content(Object *object, const void *data)
{
    const BindEdit *edit = data;
    SnapshotContent *content = SNAPSHOT_CONTENT(object);

    content->snapshot.uid = edit->uid;
    if (edit->class_name != NULL)
        content->class_name = edit->class_name;
    return TRUE;
}

static void
decide_content_bound(const void *data, Plan *plan)
{
    const SnapshotSync *sync = plan_operation(plan);

    if (!plan_has_failed(plan)) {
        plan_store_result(plan, plan_last_step(plan));
        plan_status(plan, SNAPSHOT_CONTENT_CONST(plan_object(plan, plan_last_step(plan))));
        return;
    }
    plan_snapshot_error(controller(data), plan, TRUE, "SnapshotBindFailed",
                        plan_internf(plan, "Snapshot failed to bind VolumeSnapshotContent, %s",
                                     plan_last_message(plan)));
    plan_fail(plan,
              "snapshot %s is bound, but VolumeSnapshotContent %s is not bound to the "
              "VolumeSnapshot correctly, %s",
              plan_key(plan)->text, sync->snapshot->content_name, plan_last_message(plan));
}

static void
plan_given_content(const SnapshotController *self, Plan *plan, const SnapshotContent *content)
{
    const VolumeSnapshot *snapshot = ((const SnapshotSync *)plan_operation(plan))->snapshot;
    BindEdit *edit = plan_new_arg(plan, BindEdit);

    plan_because(plan, "SNAP-7");
    if (content == NULL) {
        plan_snapshot_error(self, plan, TRUE, "SnapshotContentMissing", MESSAGE_MISSING);
        plan_fail(plan, "snapshot %s requests an non-existing content %s", plan_key(plan)->text,
                  snapshot->content_name);
        return;
    }
    if (object_uid_is_set(content->snapshot.uid) && content->class_name != NULL) {
        plan_status(plan, content);
        return;
    }
    *edit = (BindEdit){snapshot->meta.uid, snapshot->class_name};
    plan_patch(plan, content->meta.key, bind_content, edit, PLAN_DECIDE);
    plan_then(plan, decide_content_bound);
}

static void
plan_dynamic_content(const SnapshotController *self, Plan *plan, const SnapshotContent *content)
{
    plan_because(plan, "SNAP-5");
    if (content == NULL) {
        plan_creation(self, plan);
        return;
    }
    snapshot_sync_take_content(plan_operation(plan), content);
    plan_get(plan, plan_key(plan), PLAN_DECIDE);
    plan_then(plan, decide_found_read);
}

static void
plan_ready(const SnapshotController *self, Plan *plan)
{
    const VolumeSnapshot *snapshot = ((const SnapshotSync *)plan_operation(plan))->snapshot;
    const SnapshotContent *content = stored_content(self, snapshot->bound_content);

    plan_because(plan, "SNAP-9");
    if (content == NULL)
        plan_snapshot_error(self, plan, TRUE, "SnapshotContentMissing", MESSAGE_MISSING);
    else if (!snapshot_content_is_of(content, snapshot))
        plan_snapshot_error(self, plan, TRUE, "SnapshotMisbound",
                            "VolumeSnapshotContent is not bound to the VolumeSnapshot correctly");
}

static void
plan_binding(const SnapshotController *self, Plan *plan)
{
    const VolumeSnapshot *snapshot = ((const SnapshotSync *)plan_operation(plan))->snapshot;
    ContentFault fault;
    const SnapshotContent *content;

    if (snapshot->readiness == SNAPSHOT_READY && snapshot->bound_content != NULL) {
        plan_ready(self, plan);
        return;
    }
    content = content_of(self, plan, &fault);
    if (fault.reason != NULL) {
        plan_snapshot_error(self, plan, TRUE, fault.reason, fault.message);
        plan_fail(plan, "%s", fault.error);
    } else if (snapshot->content_name != NULL) {
        plan_given_content(self, plan, content);
    } else {
        plan_dynamic_content(self, plan, content);
    }
}

/* ---- SNAP-4 ---- */

typedef struct {
    const char *source, *bound; /* NULL: not this one */
} Finalizers;

static gboolean
add_finalizers(Object *object, const void *data)
{
    const Finalizers *finalizers = data;
    gboolean changed = FALSE;

    if (finalizers->source != NULL)
        changed |= object_add_finalizer(object, finalizers->source);
    if (finalizers->bound != NULL)
        changed |= object_add_finalizer(object, finalizers->bound);
    return changed;
}

static void
plan_finalizer_error(Plan *plan, const char *error)
{
    const SnapshotSync *sync = plan_operation(plan);

    plan_event(plan, &sync->snapshot->meta, "Warning", "SnapshotFinalizerError",
               "Failed to check and update snapshot: %s", error);
    plan_fail(plan, "%s", error);
}

static void
decide_finalizers_added(const void *data, Plan *plan)
{
    plan_because(plan, "SNAP-4");
    if (plan_has_failed(plan)) {
        plan_finalizer_error(plan,
                             update_error(plan, plan_key(plan)->text, plan_last_message(plan)));
        return;
    }
    plan_store_result(plan, plan_last_step(plan));
    plan_binding(data, plan);
}

/* The first finalizers need an update, more of them a patch. */
static void
plan_finalizers(const SnapshotController *self, Plan *plan, const SnapshotContent *content)
{
    const VolumeSnapshot *snapshot = ((const SnapshotSync *)plan_operation(plan))->snapshot;
    const Object *meta = &snapshot->meta;
    Finalizers *add = plan_new_arg(plan, Finalizers);

    if (!object_has_finalizer(meta, FINALIZER_SNAPSHOT_SOURCE))
        add->source = strings_intern(self->base.strings, FINALIZER_SNAPSHOT_SOURCE);
    if (content != NULL && snapshot->bound_content != NULL &&
        g_strcmp0(content->deletion_policy, "Delete") == 0 &&
        !object_has_finalizer(meta, FINALIZER_SNAPSHOT_BOUND))
        add->bound = strings_intern(self->base.strings, FINALIZER_SNAPSHOT_BOUND);
    if (add->source == NULL && add->bound == NULL) {
        plan_binding(self, plan);
        return;
    }
    if (meta->finalizers == NULL)
        plan_update(plan, meta, add_finalizers, add, PLAN_DECIDE);
    else
        plan_patch(plan, plan_key(plan), add_finalizers, add, PLAN_DECIDE);
    plan_then(plan, decide_finalizers_added);
}

void
plan_live_snapshot(const SnapshotController *self, Plan *plan)
{
    const VolumeSnapshot *snapshot = ((const SnapshotSync *)plan_operation(plan))->snapshot;
    ContentFault fault;

    plan_because(plan, "SNAP-4");
    plan_use_client(plan, NULL);
    if (object_is_deleted(&snapshot->meta)) {
        plan_snapshot_deletion(self, plan);
        return;
    }
    if ((snapshot->claim_name == NULL) == (snapshot->content_name == NULL)) {
        static const char error[] = "Exactly one of PersistentVolumeClaimName and "
                                    "VolumeSnapshotContentName should be specified";
        plan_snapshot_error(self, plan, TRUE, "SnapshotValidationError", error);
        plan_fail(plan, "%s", error);
        return;
    }
    const SnapshotContent *content = content_of(self, plan, &fault);
    if (fault.reason == NULL) {
        plan_finalizers(self, plan, content);
        return;
    }
    plan_snapshot_error(self, plan, TRUE, fault.reason, fault.message);
    plan_finalizer_error(plan, fault.error);
}

/* SNAP-1: nothing is done with a version that is older than the copy. */
static void
decide_begin(const void *data, Plan *plan)
{
    const SnapshotController *self = data;
    const Object *snapshot = &((const SnapshotSync *)plan_operation(plan))->snapshot->meta;

    plan_because(plan, "SNAP-1");
    plan_use_client(plan, NULL);
    if (object_store_is_newer(self->snapshot_store, snapshot))
        return;
    plan_change(plan,
                &(PlanChange){.what = CHANGE_STORE, .key = snapshot->key, .object = snapshot});
    plan_release_claim(self, plan);
}

/* ---- SNAP-2: the class ---- */

static void
plan_no_default(const SnapshotController *self, Plan *plan, const char *error)
{
    plan_snapshot_error(
        self, plan, FALSE, "SetDefaultSnapshotClassFailed",
        plan_internf(plan, "Failed to set default snapshot class with error %s", error));
    plan_fail(plan, "%s", error);
}

static gboolean
set_class(Object *object, const void *name)
{
    gboolean changed = VOLUME_SNAPSHOT(object)->class_name != name;

    VOLUME_SNAPSHOT(object)->class_name = name;
    return changed;
}

static void
decide_class_set(const void *data, Plan *plan)
{
    int step = plan_last_step(plan);

    take_snapshot(plan_operation(plan), plan_object(plan, step));
    plan_store_result(plan, step);
    decide_begin(data, plan);
}

/* @n: (out): how many. Returns: (borrowed): the last of the driver's default classes */
static const Object *
default_class(const SnapshotController *self, const char *driver, unsigned *n)
{
    const Object *class, *found = NULL;
    InformerIter iter;

    *n = 0;
    informer_iter_init(&iter, self->classes);
    while ((class = informer_iter_next(&iter)) != NULL) {
        if (SNAPSHOT_CLASS_CONST(class)->driver != driver ||
            g_strcmp0(object_annotation(class, ANNOTATION_DEFAULT_SNAPSHOT_CLASS), "true") != 0)
            continue;
        found = class;
        *n += 1;
    }
    return found;
}

static void
decide_default_class(const void *data, Plan *plan)
{
    const SnapshotController *self = data;
    const char *error = NULL;
    unsigned n;
    const Volume *volume = volume_read(self, plan, &error);

    plan_because(plan, "SNAP-2");
    if (volume != NULL && volume_driver(volume) == NULL)
        error = plan_internf(plan, "snapshotting non-CSI volumes is not supported, snapshot:%s",
                             plan_key(plan)->text);
    if (error != NULL) {
        plan_no_default(self, plan, error);
        return;
    }
    const Object *class = default_class(self, volume_driver(volume), &n);
    if (n != 1) {
        plan_no_default(self, plan,
                        n == 0 ? "cannot find default snapshot class"
                               : plan_internf(plan, "%u default snapshot classes were found", n));
        return;
    }
    plan_patch(plan, plan_key(plan), set_class, object_name(class), PLAN_STOP);
    plan_then(plan, decide_class_set);
}

static void
decide_no_class(const void *data, Plan *plan)
{
    const SnapshotSync *sync = plan_operation(plan);

    if (object_is_deleted(&sync->snapshot->meta))
        decide_begin(data, plan);
    else
        plan_fail(plan, "%s", class_error(plan, sync->snapshot->class_name));
}

static void
plan_class(const SnapshotController *self, Plan *plan)
{
    const VolumeSnapshot *snapshot = ((const SnapshotSync *)plan_operation(plan))->snapshot;
    const char *error = NULL;

    plan_because(plan, "SNAP-2");
    if (snapshot->class_name != NULL && find_class(self, snapshot->class_name) == NULL) {
        plan_snapshot_error(self, plan, FALSE, "GetSnapshotClassFailed",
                            plan_internf(plan, "Failed to get snapshot class with error %s",
                                         class_error(plan, snapshot->class_name)));
        plan_then(plan, decide_no_class);
    } else if (snapshot->class_name != NULL || snapshot->content_name != NULL) {
        decide_begin(self, plan);
    } else if (plan_read_volume(self, plan, &error)) {
        plan_then(plan, decide_default_class);
    } else {
        plan_no_default(self, plan, error);
    }
}

/* SNAP-1: it is gone; the copy tells what it was bound to. */
static void
plan_gone(const SnapshotController *self, Plan *plan)
{
    const ObjectKey *key = plan_key(plan);
    const VolumeSnapshot *copy = VOLUME_SNAPSHOT_CONST(object_store_get(self->snapshot_store, key));

    if (copy == NULL)
        return;
    if (copy->bound_content != NULL)
        plan_change(plan, &(PlanChange){
                              .what = CHANGE_ENQUEUE_CONTENT,
                              .key = objects_key(self->base.objects, KIND_SNAPSHOT_CONTENT, NULL,
                                                 copy->bound_content),
                          });
    plan_change(plan, &(PlanChange){.what = CHANGE_FORGET, .key = key});
}

void
snapshot_controller_sync_snapshot(const void *data, Plan *plan)
{
    const SnapshotController *self = data;
    const Object *snapshot = informer_get(self->snapshots, plan_key(plan));

    plan_because(plan, "SNAP-1");
    if (snapshot == NULL) {
        plan_gone(self, plan);
        return;
    }
    take_snapshot(plan_operation(plan), snapshot);
    plan_class(self, plan);
}
