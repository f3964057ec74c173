/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "snapshotter.h"

gboolean
snapshotter_should_delete(const SnapshotContent *content)
{
    const Object *meta = &content->meta;

    if (!object_is_deleted(meta))
        return FALSE;
    if (content->given_handle != NULL && !object_uid_is_set(content->snapshot.uid))
        return TRUE;
    return object_annotation(meta, ANNOTATION_SNAPSHOT_BEING_CREATED) == NULL &&
           object_annotation(meta, ANNOTATION_SNAPSHOT_BEING_DELETED) != NULL;
}

gboolean
snapshotter_error_is_final(CsiCode code)
{
    return code != CSI_CANCELLED && code != CSI_DEADLINE_EXCEEDED && code != CSI_UNAVAILABLE &&
           code != CSI_RESOURCE_EXHAUSTED && code != CSI_ABORTED;
}

/* Without the annotation that the sidecar itself puts on and takes off. */
static gboolean
annotations_equal(const Object *before, const Object *after)
{
    g_autoptr(Object) a = object_edit(before);
    g_autoptr(Object) b = object_edit(after);

    object_set_annotation(a, ANNOTATION_SNAPSHOT_BEING_CREATED, NULL);
    object_set_annotation(b, ANNOTATION_SNAPSHOT_BEING_CREATED, NULL);
    return string_map_equal(a->annotations, b->annotations);
}

gboolean
snapshotter_queues_change(const SnapshotContent *before, const SnapshotContent *after)
{
    return before->meta.deleted_at != after->meta.deleted_at ||
           !object_spec_equal(&before->meta, &after->meta) ||
           !string_map_equal(before->meta.labels, after->meta.labels) ||
           !annotations_equal(&before->meta, &after->meta);
}

static void
content_changed(void *data, const Object *before, const Object *after)
{
    ExternalSnapshotter *self = data;

    if (before == NULL || after == NULL ||
        snapshotter_queues_change(SNAPSHOT_CONTENT_CONST(before), SNAPSHOT_CONTENT_CONST(after)))
        workers_add(self->workers, (after != NULL ? after : before)->key);
}

static void
apply_change(void *data, const PlanChange *change)
{
    ExternalSnapshotter *self = data;

    switch ((Change)change->what) {
    case CHANGE_STORE:
        if (change->object != NULL) /* else the write failed */
            object_store_update(self->store, change->object);
        return;
    case CHANGE_FORGET:
        object_store_remove(self->store, change->key);
        return;
    }
    g_assert_not_reached();
}

/* ---- Start and end ---- */

/* The driver's capabilities are known. If it takes no snapshots, the real process ends and starts
 * again and again. */
static void
start_working(void *data)
{
    ExternalSnapshotter *self = data;
    const ExternalSnapshotterOptions *options = self->options;
    InformerIter iter;
    const Object *content;

    if ((sidecar_controller_capabilities(self->sidecar) & CSI_CONTROLLER_CREATE_DELETE_SNAPSHOT) ==
        0)
        return;
    self->workers = workers_new(&self->base, &(WorkersOptions){
                                                 .name = "csi-snapshotter-content",
                                                 .n_workers = (unsigned)options->common.n_workers,
                                                 .limit = sidecar_rate_limit(&options->common),
                                                 .retry = TRUE,
                                                 .sync = snapshotter_sync,
                                             });
    self->classes = process_informer(self->base.process, KIND_SNAPSHOT_CLASS, NULL);
    self->contents = process_informer(self->base.process, KIND_SNAPSHOT_CONTENT, NULL);
    informer_iter_init(&iter, self->contents);
    while ((content = informer_iter_next(&iter)) != NULL)
        object_store_update(self->store, content);
    informer_add_handler(self->contents, content_changed, self);
}

static void
init(void *data)
{
    ExternalSnapshotter *self = data;

    self->options = self->base.options;
    self->store = object_store_new();
    self->sidecar = sidecar_new(&(SidecarOptions){
        .component = &self->base,
        .n_sync_polls = 1,
        .ready = start_working,
    });
}

static void
clear(void *data)
{
    ExternalSnapshotter *self = data;

    sidecar_free(self->sidecar);
    object_store_free(self->store);
}

#define AT(member) offsetof(ExternalSnapshotterOptions, member)

G_STATIC_ASSERT(offsetof(ExternalSnapshotterOptions, common) == 0); /* SIDECAR_FLAGS */
static const ProcessFlag flags[] = {
    SIDECAR_FLAGS("worker-threads",
                  "10",
                  "Contents processed at once",
                  "1m",
                  "Deadline of a call of the driver"),
    {"snapshot-name-prefix",  FLAG_STRING, AT(snapshot_name_prefix),  "snapshot",
       "Prefix of the driver's name for a snapshot; the VolumeSnapshot's uid follows"   },
    {"extra-create-metadata", FLAG_BOOL,   AT(extra_create_metadata), "false",
       "Pass the names of snapshot and content to the driver (SNAP-44)"                 },
    SIDECAR_ELECTION_FLAGS(ExternalSnapshotterOptions),
    {NULL,                    FLAG_BOOL,   0,                         NULL,       NULL},
};

static const ProcessElection election = {
    .offset = offsetof(ExternalSnapshotterOptions, election),
    .lock = "external-snapshotter-leader-",
    .has_host_name = TRUE,
};

const ProcessClass external_snapshotter_process = {
    SIDECAR_PROCESS("external-snapshotter", ExternalSnapshotterOptions, flags, election),
    .startup = offsetof(Timing, sidecar_start), /* as the attacher's, TIM-91 */
};

/* Its second client, for Secrets, is the client of its Events. */
const ModelClass external_snapshotter_class = {
    .name = "external-snapshotter",
    .process = &external_snapshotter_process,
    .size = sizeof(ExternalSnapshotter),
    .event_source = "csi-snapshotter",
    .event_style = EVENTS_CORE,
    .event_source_names_driver = TRUE,
    .separate_event_client = TRUE,
    .client_qps = sidecar_client_qps,
    .rule_tables = RULE_TABLES(&snapshotter_content_rules),
    .init = init,
    .clear = clear,
    .apply_change = apply_change,
};
