/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "why-private.h"

#include <string.h>

#include "models/api/snapshot.h"
#include "models/external-snapshotter/external-snapshotter.h"

static gboolean
runs_on_node(const Question *self, const ModelClass *class, const char *driver, const char *node)
{
    g_autofree char *instance = g_strdup_printf("%s/%s", driver, node);

    return cluster_model(run_cluster(self->run), class, instance) != NULL;
}

/* Whether a sidecar of the driver runs on some node (--node-deployment). */
static gboolean
runs_on_nodes(const Question *self, const ModelClass *class, const char *driver)
{
    json_t *object;
    gsize i;

    json_array_foreach(self->objects, i, object)
        if (strcmp(value_text(object, "kind"), "Node") == 0 &&
            runs_on_node(self, class, driver, value_text(object, "metadata.name")))
            return TRUE;
    return FALSE;
}

/* Returns: whether no csi-snapshotter handles the content */
static gboolean
ask_snapshotter(Question *self, json_t *content, const char *driver)
{
    const char *node = json_string_value(
        json_object_get(value_at(content, "metadata.labels"), LABEL_SNAPSHOT_MANAGED_BY));

    self->driver = driver;
    self->node = NULL;
    if (!cluster_is_running(run_cluster(self->run), external_snapshotter_process.name, driver))
        return why_link(self, "no-snapshotter", content, "waits: no csi-snapshotter of %s runs",
                        driver);
    if (!runs_on_nodes(self, &external_snapshotter_class, driver))
        return FALSE;
    if (node == NULL)
        return why_link(self, "snapshot-not-on-node", content, "waits: it names no node");
    if (!runs_on_node(self, &external_snapshotter_class, driver, node))
        return why_link(self, "no-snapshotter", content,
                        "waits: no csi-snapshotter of %s runs on %s", driver, node);
    return FALSE;
}

gboolean
why_ask_content(Question *self, json_t *content)
{
    const char *driver = value_text(content, "spec.driver");
    const char *error = value_text(content, "status.error.message");
    gboolean is_deleting = value_at(content, "metadata.deletionTimestamp") != NULL;

    if (value_is_true(content, "status.readyToUse") && !is_deleting)
        return FALSE;
    if (ask_snapshotter(self, content, driver))
        return TRUE;
    if (*error != '\0')
        return why_link(self, why_cause_of_error(error, "driver-error"), content, "is not %s: %s",
                        is_deleting ? "deleted" : "ready", error);
    if (is_deleting)
        return why_link(self, "snapshot-deleting", content, "is being deleted");
    return why_link(self, "snapshotting", content,
                    *value_text(content, "status.snapshotHandle") != '\0' ||
                            *value_text(content, "status.volumeGroupSnapshotHandle") != '\0'
                        ? "is not ready: %s has cut it, and works on it"
                        : "is not ready: %s is taking it",
                    driver);
}

/* Returns: (borrowed): the content that the snapshot is bound to, or names, or would get */
static json_t *
content_of(const Question *self, json_t *snapshot)
{
    const char *bound = value_text(snapshot, "status.boundVolumeSnapshotContentName");
    const char *given = value_text(snapshot, "spec.source.volumeSnapshotContentName");
    g_autofree char *made = g_strdup_printf("snapcontent-%s", value_text(snapshot, "metadata.uid"));

    return why_find(self, "VolumeSnapshotContent", NULL,
                    *bound != '\0' ? bound : (*given != '\0' ? given : made));
}

/* The snapshot has no content, or one that is not its own. */
static gboolean
ask_new_snapshot(Question *self, json_t *snapshot, json_t *content)
{
    const char *given = value_text(snapshot, "spec.source.volumeSnapshotContentName");
    const char *claim_name = value_text(snapshot, "spec.source.persistentVolumeClaimName");
    const char *class_name = value_text(snapshot, "spec.volumeSnapshotClassName");
    json_t *claim = why_find(self, "PersistentVolumeClaim",
                             value_text(snapshot, "metadata.namespace"), claim_name);

    if (*given != '\0')
        return content == NULL ? why_because(self, "content-missing")
                               : why_link(self, "content-taken", content, "is of %s/%s",
                                          value_text(content, "spec.volumeSnapshotRef.namespace"),
                                          value_text(content, "spec.volumeSnapshotRef.name"));
    if (claim == NULL)
        return why_because(self, "claim-missing");
    if (why_ask_claim(self, claim, FALSE))
        return TRUE;
    if (*class_name == '\0' || why_find(self, "VolumeSnapshotClass", NULL, class_name) == NULL)
        return why_because(self, "no-snapshot-class");
    return why_because(self, "snapshotting");
}

gboolean
why_ask_snapshot(Question *self, json_t *snapshot)
{
    const char *error = value_text(snapshot, "status.error.message");
    const char *pending = why_last_event(self, snapshot, "SnapshotDeletePending");
    json_t *content = content_of(self, snapshot);

    if (value_at(snapshot, "metadata.deletionTimestamp") != NULL) {
        const char *waits_for =
            strstr(pending, "belongs to group") != NULL ? "in-group" : "restore-pending";
        why_link(self, *pending != '\0' ? waits_for : "snapshot-deleting", snapshot,
                 "is being deleted%s%s", *pending != '\0' ? ": " : "", pending);
        return *pending != '\0' || content == NULL || why_ask_content(self, content) || TRUE;
    }
    if (value_is_true(snapshot, "status.readyToUse"))
        return FALSE;
    why_link(self, NULL, snapshot, "is not ready%s%s", *error != '\0' ? ": " : "", error);
    if (content == NULL || strcmp(value_text(content, "spec.volumeSnapshotRef.name"),
                                  value_text(snapshot, "metadata.name")) != 0)
        return ask_new_snapshot(self, snapshot, content);
    return why_ask_content(self, content) || why_because(self, "snapshotting");
}
