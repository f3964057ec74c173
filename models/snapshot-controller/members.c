/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The members of a group: a VolumeSnapshot and a VolumeSnapshotContent for each snapshot that the
 * driver has told (SNAP-83): createSnapshotsForGroupSnapshotContent(). Each member takes five
 * requests in order, and the first error ends the sync. Names are a checksum of the group content's
 * uid and the volume's handle, so a repeated sync finds the objects of an earlier one; the original
 * then sends writes with an empty name, which fail, and so do these (SNAP-88). */
#include "controller.h"

#define FAILURE "createSnapshotsForGroupSnapshotContent: "

const Object *
group_of_member(const SnapshotController *self, const VolumeSnapshot *snapshot)
{
    return self->group.snapshots == NULL
               ? NULL
               : informer_find(self->group.snapshots, snapshot->meta.key->namespace,
                               snapshot->group_name);
}

const char *
group_with_handle(const SnapshotController *self, const char *handle)
{
    const Object *content;
    InformerIter iter;

    if (handle == NULL || self->group.contents == NULL)
        return NULL;
    informer_iter_init(&iter, self->group.contents);
    while ((content = informer_iter_next(&iter)) != NULL)
        if (g_strcmp0(SNAPSHOT_CONTENT_CONST(content)->handle, handle) == 0)
            return SNAPSHOT_CONTENT_CONST(content)->snapshot.name;
    return NULL;
}

/* ---- One member ---- */

static const char *
handle_of(const SnapshotSync *sync, unsigned which)
{
    return GROUP_CONTENT_CONST(sync->content)->pairs->items[2 * sync->member + which];
}

/* "snapshot-<sum>", "snapcontent-<sum>" */
static const ObjectKey *
member_key(const SnapshotController *self, const SnapshotSync *sync, ObjectKind kind)
{
    const char *prefix = kind == KIND_VOLUME_SNAPSHOT ? "snapshot" : "snapcontent";
    char uid[OBJECT_UID_BUFFER];
    g_autofree char *text =
        g_strconcat(object_uid_format(sync->content->meta.uid, uid), handle_of(sync, 0), NULL);
    g_autofree char *sum = g_compute_checksum_for_string(G_CHECKSUM_SHA256, text, -1);

    return objects_key(self->base.objects, kind,
                       kind == KIND_VOLUME_SNAPSHOT ? sync->content->snapshot.namespace : NULL,
                       strings_internf(self->base.strings, "%s-%s", prefix, sum));
}

/* The only volume of the driver with this handle. Returns: NULL: none or several */
static const Volume *
members_volume_of(const SnapshotController *self, const SnapshotSync *sync)
{
    const Volume *found = NULL;
    const Object *object;
    InformerIter iter;

    informer_iter_init(&iter, self->volumes);
    while ((object = informer_iter_next(&iter)) != NULL) {
        const Volume *volume = VOLUME_CONST(object);
        if (volume_driver(volume) != sync->content->driver ||
            volume->source->handle != handle_of(sync, 0))
            continue;
        if (found != NULL)
            return NULL;
        found = volume;
    }
    return found;
}

static Object *
member_content_new(const SnapshotController *self, const SnapshotSync *sync)
{
    const ObjectKey *snapshot = member_key(self, sync, KIND_VOLUME_SNAPSHOT);
    Object *object = object_new((ObjectKey *)member_key(self, sync, KIND_SNAPSHOT_CONTENT));
    SnapshotContent *content = SNAPSHOT_CONTENT(object);
    const Volume *volume = members_volume_of(self, sync);
    Strings *strings = self->base.strings;

    object_set_annotation(object, strings_intern(strings, ANNOTATION_SNAPSHOT_GROUP_HANDLE),
                          sync->content->handle);
    if (sync->secret.name != NULL) {
        object_set_annotation(object, strings_intern(strings, ANNOTATION_SNAPSHOT_SECRET_NAME),
                              sync->secret.name);
        object_set_annotation(object, strings_intern(strings, ANNOTATION_SNAPSHOT_SECRET_NAMESPACE),
                              sync->secret.namespace);
    }
    content->snapshot = (SnapshotReference){
        snapshot->namespace, snapshot->name, {0, 0}
    };
    content->deletion_policy = sync->content->deletion_policy;
    content->driver = sync->content->driver;
    content->volume_handle = handle_of(sync, 0);
    if (volume != NULL)
        content->source_volume_mode =
            strings_intern(strings, volume->volume_mode == VOLUME_BLOCK ? "Block" : "Filesystem");
    return object;
}

static Object *
member_new(const SnapshotController *self, const SnapshotSync *sync)
{
    Object *object = object_new((ObjectKey *)member_key(self, sync, KIND_VOLUME_SNAPSHOT));
    const Volume *volume = members_volume_of(self, sync);

    object_add_finalizer(object, strings_intern(self->base.strings, FINALIZER_SNAPSHOT_IN_GROUP));
    object_set_owner(object, &sync->snapshot->meta, FALSE, FALSE);
    VOLUME_SNAPSHOT(object)->claim_name = volume != NULL && volume->claim_ref.claim != NULL
                                              ? volume->claim_ref.claim->name
                                              : strings_intern(self->base.strings, "");
    return object;
}

/* ---- Its five requests, in order ---- */

/* Objects that were there before the sync. */
enum {
    HAD_CONTENT = 1 << 0,
    HAD_SNAPSHOT = 1 << 1,
};

static gboolean
edit_snapshot_uid(Object *object, const void *uid)
{
    SNAPSHOT_CONTENT(object)->snapshot.uid = *(const ObjectUid *)uid;
    return TRUE;
}

/* A new status with nothing else. */
static gboolean
edit_bound_content(Object *object, const void *name)
{
    VolumeSnapshot *snapshot = VOLUME_SNAPSHOT(object);

    snapshot->readiness = SNAPSHOT_READINESS_UNSET;
    snapshot->restore_bytes = 0;
    snapshot->created_at = TIME_UNSET;
    snapshot->group_name = NULL;
    snapshot->error = (VolumeError){.at = TIME_UNSET};
    snapshot->bound_content = name;
    return TRUE;
}

typedef struct {
    const char *snapshot, *group;
} Handles;

static gboolean
edit_handles(Object *object, const void *data)
{
    const Handles *handles = data;
    SnapshotContent *content = SNAPSHOT_CONTENT(object);

    content->readiness = SNAPSHOT_READINESS_UNSET;
    content->restore_bytes = content->created_ns = -1;
    content->error = (VolumeError){.at = TIME_UNSET};
    content->handle = handles->snapshot;
    content->group_handle = handles->group;
    return TRUE;
}

static void plan_member(const SnapshotController *self, Plan *plan);

static void
plan_member_failed(Plan *plan, const char *doing)
{
    plan_fail(plan, FAILURE "%s %s", doing, plan_last_message(plan));
}

static void
decide_handles(const void *data, Plan *plan)
{
    SnapshotSync *sync = plan_notes(plan);

    if (plan_has_failed(plan)) {
        plan_member_failed(plan, "setting snapshotHandle in volumesnapshotcontent");
        return;
    }
    sync->member++;
    plan_member(data, plan);
}

/* The client returns an empty object with the error that the object is there already. */
#define NO_NAME "resource name may not be empty"

static void
decide_snapshot_bound(const void *data, Plan *plan)
{
    const SnapshotController *self = data;
    const SnapshotSync *sync = plan_notes(plan);
    Handles *handles = plan_new_arg(plan, Handles);

    if (plan_has_failed(plan)) {
        plan_member_failed(plan, "binding volumesnapshot to volumesnapshotcontent");
        return;
    }
    if ((sync->had_member & HAD_CONTENT) != 0) {
        plan_because(plan, "SNAP-88");
        plan_fail(plan, FAILURE "setting snapshotHandle in volumesnapshotcontent " NO_NAME);
        return;
    }
    plan_because(plan, "SNAP-83");
    *handles = (Handles){handle_of(sync, 1), sync->content->handle};
    plan_patch_status(plan, member_key(self, sync, KIND_SNAPSHOT_CONTENT), edit_handles, handles,
                      PLAN_DECIDE);
    plan_then(plan, decide_handles);
}

static void
decide_content_bound(const void *data, Plan *plan)
{
    const SnapshotController *self = data;
    const SnapshotSync *sync = plan_notes(plan);

    if (plan_has_failed(plan)) {
        plan_member_failed(plan, "binding volumesnapshotcontent to volumesnapshot");
        return;
    }
    if ((sync->had_member & HAD_SNAPSHOT) != 0) { /* the content has lost its snapshot's uid */
        plan_because(plan, "SNAP-88");
        plan_fail(plan, FAILURE "binding volumesnapshot to volumesnapshotcontent " NO_NAME);
        return;
    }
    plan_because(plan, "SNAP-83");
    plan_patch_status(plan, member_key(self, sync, KIND_VOLUME_SNAPSHOT), edit_bound_content,
                      member_key(self, sync, KIND_SNAPSHOT_CONTENT)->name, PLAN_DECIDE);
    plan_then(plan, decide_snapshot_bound);
}

static void
decide_snapshot_made(const void *data, Plan *plan)
{
    const SnapshotController *self = data;
    SnapshotSync *sync = plan_notes(plan);
    int step = plan_last_step(plan);
    ObjectUid *uid = plan_new_arg(plan, ObjectUid);

    if (plan_code(plan, step) != API_OK && plan_code(plan, step) != API_EXISTS) {
        plan_member_failed(plan, "creating volumesnapshot");
        return;
    }
    plan_because(plan, "SNAP-83");
    if (plan_code(plan, step) == API_OK)
        *uid = plan_object(plan, step)->uid;
    else
        sync->had_member |= HAD_SNAPSHOT;
    plan_patch(plan, member_key(self, sync, KIND_SNAPSHOT_CONTENT), edit_snapshot_uid, uid,
               PLAN_DECIDE);
    plan_then(plan, decide_content_bound);
}

static void
decide_content_made(const void *data, Plan *plan)
{
    SnapshotSync *sync = plan_notes(plan);
    int step = plan_last_step(plan);

    if (plan_code(plan, step) != API_OK && plan_code(plan, step) != API_EXISTS) {
        plan_member_failed(plan, "creating volumesnapshotcontent");
        return;
    }
    plan_because(plan, "SNAP-83");
    sync->had_member = plan_code(plan, step) == API_OK ? 0 : HAD_CONTENT;
    plan_create(plan, member_new(data, sync), PLAN_DECIDE);
    plan_then(plan, decide_snapshot_made);
}

static void
plan_member(const SnapshotController *self, Plan *plan)
{
    const SnapshotSync *sync = plan_notes(plan);
    const StringList *pairs = GROUP_CONTENT_CONST(sync->content)->pairs;

    plan_because(plan, "SNAP-83");
    if (2 * sync->member >= pairs->n_items) {
        plan_snapshot_status_twice(self, plan, sync->content);
        return;
    }
    plan_create(plan, member_content_new(self, sync), PLAN_DECIDE);
    plan_then(plan, decide_content_made);
}

void
plan_group_members(const SnapshotController *self, Plan *plan, const SnapshotContent *content)
{
    SnapshotSync *sync = plan_notes(plan);
    const char *class_name = sync->snapshot->class_name;
    const SnapshotClass *class =
        SNAPSHOT_CLASS_CONST(informer_find(self->group.classes, NULL, class_name));

    take_content(plan, content);
    plan_because(plan, "SNAP-83");
    if (GROUP_CONTENT_CONST(content)->pairs == NULL || content->handle == NULL) {
        plan_snapshot_status_twice(self, plan, content); /* the driver has not answered yet */
        return;
    }
    if (class == NULL) {
        plan_fail(plan, FAILURE "failed to get volume snapshot class %s: %s", class_name,
                  plan_quote(plan, snapshot_class_error(plan, class_name)));
        return;
    }
    g_autofree char *error =
        snapshot_secret_resolve(self->base.strings, SNAPSHOT_SECRET_GROUP, class->parameters,
                                object_name(&content->meta), NULL, &sync->secret);
    if (error != NULL) {
        plan_fail(plan, FAILURE "failed to get secret reference for group snapshot content %s: %s",
                  object_name(&content->meta), error);
        return;
    }
    sync->member = 0;
    plan_member(self, plan);
}
