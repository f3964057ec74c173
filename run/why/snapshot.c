/* SPDX-License-Identifier: GPL-3.0-or-later */
/* VolumeSnapshots, groups of them, and their contents. A snapshot leads to its content or to the
 * obstacle (claim, class, a content that is taken); a content to the sidecar, its secret and the
 * last call. Sidecars on nodes (--node-deployment) are looked for on the node of the content. A
 * group that no process handles, because the gate is off, is told so. */
#include "question.h"

#include <string.h>

#include "models/api/field.h"
#include "models/external-snapshotter/external-snapshotter.h"
#include "models/snapshot-controller/snapshot-controller.h"

static gboolean
runs_on_node(const Question *self, const char *driver, const char *node)
{
    g_autofree char *instance = g_strdup_printf("%s/%s", driver, node);

    return cluster_model(self->cluster, &external_snapshotter_class, instance) != NULL;
}

/* Whether a sidecar of the driver runs on some node (--node-deployment). */
static gboolean
snapshot_runs_on_nodes(Question *self, const char *driver)
{
    const GPtrArray *nodes = why_list(self, KIND_NODE);

    for (unsigned i = 0; i < nodes->len; i++)
        if (runs_on_node(self, driver, object_name(nodes->pdata[i])))
            return TRUE;
    return FALSE;
}

/* Returns: whether no csi-snapshotter handles the content */
static gboolean
ask_snapshotter(Question *self, const SnapshotContent *content)
{
    const char *driver = content->driver;
    const char *node = content->meta.labels == NULL
                           ? NULL
                           : string_map_get(content->meta.labels, LABEL_SNAPSHOT_MANAGED_BY);

    if (why_ask_driver(self, driver, &external_snapshotter_process, NULL))
        return TRUE;
    if (!snapshot_runs_on_nodes(self, driver))
        return FALSE;
    if (node == NULL) {
        why_link(self, &content->meta, content->meta.created_at, "waits: it names no node");
        return why_because(self, "snapshot-not-on-node");
    }
    if (runs_on_node(self, driver, node))
        return FALSE;
    why_link(self, &content->meta, content->meta.created_at,
             "waits: no csi-snapshotter of %s runs on %s", driver, node);
    return why_because(self, "no-snapshotter");
}

/* Nobody works on a group: the process lacks the gate. */
static gboolean
tell_no_groups(Question *self, const char *process)
{
    why_link_named(self, process, TIME_UNSET,
                   "handles no groups: its --feature-gates lack CSIVolumeGroupSnapshot");
    return why_because(self, "group-not-handled");
}

/* The Secret in the content's annotations. */
static gboolean
ask_secret(Question *self, const SnapshotContent *content)
{
    const char *name = object_annotation(&content->meta, ANNOTATION_SNAPSHOT_SECRET_NAME);
    const char *namespace = object_annotation(&content->meta, ANNOTATION_SNAPSHOT_SECRET_NAMESPACE);

    if (name == NULL || namespace == NULL || why_get(self, KIND_SECRET, namespace, name) != NULL)
        return FALSE;
    why_link(self, &content->meta, TIME_UNSET, "needs the Secret %s/%s, which does not exist",
             namespace, name);
    return why_because(self, "snapshot-secret-missing");
}

/* SNAP-48: the snapshot is cut, and the sidecar asks again and again whether it is ready. */
static gboolean
ask_readiness(Question *self, const SnapshotContent *content)
{
    const Doing *doing =
        why_doing(self, &external_snapshotter_class, content->driver, content->meta.key);

    return content->handle != NULL && doing != NULL && doing->kind == DOING_DELAYED &&
           why_because(self, "snapshotting");
}

static gboolean
ask_content_once(Question *self, const Object *object)
{
    const SnapshotContent *content = SNAPSHOT_CONTENT_CONST(object);
    const char *driver = content->driver;
    const gboolean is_group = object_kind(&content->meta) == KIND_GROUP_CONTENT;
    const char *name = content->snapshot.name;
    char uid[OBJECT_UID_BUFFER];
    g_autofree char *made = g_strdup_printf("%s-%s", is_group ? "groupsnapshot" : "snapshot",
                                            object_uid_format(content->snapshot.uid, uid));

    if (object_is_deleted(&content->meta)) {
        why_link(self, &content->meta, why_deleted_since(&content->meta), "is being deleted");
        return why_ask_deletion(self, &content->meta);
    }
    if (content->readiness == SNAPSHOT_READY)
        return FALSE;
    if (ask_snapshotter(self, content) || ask_secret(self, content))
        return TRUE;
    if (is_group && content->handle == NULL && content->error.message == NULL &&
        why_doing(self, &external_snapshotter_class, driver, content->meta.key) == NULL &&
        why_calls_under_way(cluster_find_driver(self->cluster, driver),
                            CSI_CREATE_VOLUME_GROUP_SNAPSHOT, made, NULL) == NULL) {
        g_autofree char *process = g_strconcat("process/external-snapshotter/", driver, NULL);
        return tell_no_groups(self, process);
    }
    why_link(self, &content->meta, content->meta.created_at,
             content->handle != NULL ? N_("is not ready: %s has cut %s, and works on it")
                                     : N_("is not ready: %s is taking %s"),
             driver, name == NULL ? why_words(self, N_("it")) : name);
    return why_ask_call(self, driver,
                        is_group ? CSI_CREATE_VOLUME_GROUP_SNAPSHOT : CSI_CREATE_SNAPSHOT, made,
                        NULL) ||
           why_ask_driver_fault(self, driver, NULL) || ask_readiness(self, content) ||
           why_ask_work(self, &external_snapshotter_class, driver, content->meta.key,
                        "snapshotting");
}

gboolean
why_ask_content(Question *self, const SnapshotContent *content)
{
    return why_once(self, &content->meta, ask_content_once);
}

/* Returns: (borrowed): the content that the snapshot is bound to, or names, or would get */
static const SnapshotContent *
why_snapshot_content_of(const Question *self, const VolumeSnapshot *snapshot, ObjectKind kind)
{
    char uid[OBJECT_UID_BUFFER];
    g_autofree char *made =
        g_strdup_printf("%s-%s", kind == KIND_GROUP_CONTENT ? "groupsnapcontent" : "snapcontent",
                        object_uid_format(snapshot->meta.uid, uid));
    const char *name = snapshot->bound_content != NULL  ? snapshot->bound_content
                       : snapshot->content_name != NULL ? snapshot->content_name
                                                        : made;

    return SNAPSHOT_CONTENT_CONST(why_get(self, kind, NULL, name));
}

/* The class that the snapshot names does not exist; or it names none, and @driver (nullable) has
 * not one default class, but none or several. Returns: whether it is so */
static gboolean
tell_no_class(Question *self, const VolumeSnapshot *snapshot, ObjectKind kind, const char *driver)
{
    const gboolean is_group = kind == KIND_GROUP_CLASS;
    const GPtrArray *classes = why_list(self, kind);
    unsigned n = 0;

    if (snapshot->class_name != NULL && why_get(self, kind, NULL, snapshot->class_name) != NULL)
        return FALSE;
    if (snapshot->class_name != NULL) {
        g_autofree char *name =
            g_strconcat(is_group ? "volumegroupsnapshotclass/" : "volumesnapshotclass/",
                        snapshot->class_name, NULL);
        why_link_named(self, name, snapshot->meta.created_at, "does not exist");
        return why_because(self, "no-snapshot-class");
    }
    for (unsigned i = 0; i < classes->len; i++) {
        const SnapshotClass *class = classes->pdata[i];
        n +=
            (driver == NULL || g_strcmp0(class->driver, driver) == 0) &&
            g_strcmp0(object_annotation(&class->meta, is_group ? ANNOTATION_DEFAULT_GROUP_CLASS
                                                               : ANNOTATION_DEFAULT_SNAPSHOT_CLASS),
                      "true") == 0;
    }
    if (n == 1)
        return FALSE;
    why_link(self, &snapshot->meta, snapshot->meta.created_at,
             "names no class, and %u classes of %s are the default", n,
             driver == NULL ? why_words(self, N_("its driver")) : driver);
    return why_because(self, "no-snapshot-class");
}

/* The snapshot has no content, or one that is not its own. */
static gboolean
ask_new_snapshot(Question *self, const VolumeSnapshot *snapshot, const SnapshotContent *content)
{
    const Claim *claim =
        CLAIM_CONST(why_get(self, KIND_CLAIM, snapshot->meta.key->namespace, snapshot->claim_name));
    const Volume *volume = why_volume_of(self, claim);

    if (snapshot->content_name != NULL && content == NULL)
        return why_because(self, "content-missing");
    if (content != NULL) {
        why_link(self, &content->meta, TIME_UNSET, "is of %s/%s", content->snapshot.namespace,
                 content->snapshot.name);
        return why_because(self, "content-taken");
    }
    if (claim == NULL) {
        g_autofree char *name = g_strconcat("persistentvolumeclaim/", snapshot->claim_name, NULL);
        why_link_named(self, name, snapshot->meta.created_at, "does not exist");
        return why_because(self, "claim-missing");
    }
    if (claim->phase != CLAIM_BOUND)
        return why_ask_claim(self, claim, NULL);
    return tell_no_class(self, snapshot, KIND_SNAPSHOT_CLASS,
                         volume == NULL || volume->source == NULL ? NULL
                                                                  : volume->source->driver) ||
           why_ask_process(self, "snapshot-controller", NULL) ||
           why_ask_work(self, &snapshot_controller_class, NULL, snapshot->meta.key, "snapshotting");
}

/* The class is of another driver than the volume. */
static gboolean
tell_class_of_other(Question *self, const VolumeSnapshot *snapshot)
{
    const Object *class = why_get(self, KIND_SNAPSHOT_CLASS, NULL, snapshot->class_name);
    const Volume *volume =
        why_volume_of(self, CLAIM_CONST(why_get(self, KIND_CLAIM, snapshot->meta.key->namespace,
                                                snapshot->claim_name)));
    const char *driver = volume == NULL || volume->source == NULL ? NULL : volume->source->driver;

    if (class == NULL || driver == NULL ||
        g_strcmp0(((const SnapshotClass *)class)->driver, driver) == 0)
        return FALSE;
    why_link(self, class, class->created_at, "is of %s, and the volume of %s",
             ((const SnapshotClass *)class)->driver, driver);
    return why_because(self, "no-snapshot-class");
}

static gboolean
ask_snapshot_once(Question *self, const Object *object)
{
    const VolumeSnapshot *snapshot = VOLUME_SNAPSHOT_CONST(object);
    const SnapshotContent *content = why_snapshot_content_of(self, snapshot, KIND_SNAPSHOT_CONTENT);

    if (object_is_deleted(&snapshot->meta)) {
        why_link(self, &snapshot->meta, why_deleted_since(&snapshot->meta), "is being deleted");
        return why_ask_deletion(self, &snapshot->meta);
    }
    if (snapshot->readiness == SNAPSHOT_READY)
        return FALSE;
    why_link(self, &snapshot->meta, snapshot->meta.created_at, "is not ready");
    if (tell_class_of_other(self, snapshot))
        return TRUE;
    if (content == NULL || g_strcmp0(content->snapshot.name, object_name(&snapshot->meta)) != 0)
        return ask_new_snapshot(self, snapshot, content);
    return why_ask_content(self, content) || why_because(self, "snapshotting");
}

gboolean
why_ask_snapshot(Question *self, const VolumeSnapshot *snapshot)
{
    return why_once(self, &snapshot->meta, ask_snapshot_once);
}

/* SNAP-88: a member's content has lost its snapshot. */
static gboolean
is_stuck(Question *self, const SnapshotContent *group)
{
    const GPtrArray *contents = why_list(self, KIND_SNAPSHOT_CONTENT);

    for (unsigned i = 0; group->handle != NULL && i < contents->len; i++) {
        const SnapshotContent *content = contents->pdata[i];
        if (g_strcmp0(content->group_handle, group->handle) == 0 &&
            !object_uid_is_set(content->snapshot.uid))
            return TRUE;
    }
    return FALSE;
}

/* The claims that the group selects. */
static gboolean
ask_members(Question *self, const GroupSnapshot *group)
{
    const Object *meta = &group->base.meta;
    const GPtrArray *claims = why_list(self, KIND_CLAIM);
    unsigned n = 0;

    for (unsigned i = 0; i < claims->len; i++) {
        const Claim *claim = claims->pdata[i];
        if (claim->meta.key->namespace != meta->key->namespace ||
            !label_selector_matches(group->selector, claim->meta.labels))
            continue;
        n++;
        if (claim->phase != CLAIM_BOUND && why_ask_claim(self, claim, NULL))
            return TRUE;
    }
    if (n > 0)
        return FALSE;
    json_auto_t *json = field_type_to_json(&field_label_selector, &group->selector, NULL, 0);
    g_autofree char *text = why_selector(json);
    why_link(self, meta, meta->created_at, "selects %s, and no claim of its namespace has that",
             text);
    return why_because(self, "claim-missing");
}

gboolean
why_ask_group(Question *self, const GroupSnapshot *group)
{
    const VolumeSnapshot *base = &group->base;
    const SnapshotContent *content = why_snapshot_content_of(self, base, KIND_GROUP_CONTENT);

    if (object_is_deleted(&base->meta)) {
        why_link(self, &base->meta, why_deleted_since(&base->meta), "is being deleted");
        return why_because(self, "snapshot-deleting");
    }
    if (base->readiness == SNAPSHOT_READY)
        return FALSE;
    why_link(self, &base->meta, base->meta.created_at, "is not ready%s%s",
             base->error.message != NULL ? ": " : "",
             base->error.message != NULL ? base->error.message : "");
    if (content != NULL && is_stuck(self, content))
        return why_because(self, "group-stuck");
    if (content != NULL && g_strcmp0(content->snapshot.name, object_name(&base->meta)) != 0)
        return why_because(self, "content-taken");
    if (content != NULL)
        return why_ask_content(self, content) || why_because(self, "snapshotting");
    if (base->content_name != NULL)
        return why_because(self, "content-missing");
    if (base->error.message == NULL &&
        why_doing(self, &snapshot_controller_class, NULL, base->meta.key) == NULL)
        return why_ask_process(self, "snapshot-controller", NULL) ||
               tell_no_groups(self, "process/snapshot-controller");
    if (ask_members(self, group))
        return TRUE;
    return tell_no_class(self, base, KIND_GROUP_CLASS, NULL) || why_because(self, "snapshotting");
}
