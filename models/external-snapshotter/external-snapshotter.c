/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The csi-snapshotter sidecar as a component: contents of snapshots and of groups, each with a
 * private copy of the last version written. It decides which changes are queued (this differs
 * between releases: SNAP-41, SREL-32, SREL-33) and which contents may be deleted. On a node it sees
 * only contents with the label of the node (SNAP-71). A driver that takes no snapshots gives it
 * nothing to do. */
#include "models/external-snapshotter/snapshotter-test.h"
#include "snapshotter.h"

const SnapshotterSide *
snapshotter_side(const ExternalSnapshotter *self, ObjectKind kind)
{
    return kind == KIND_GROUP_CONTENT ? &self->group : &self->single;
}

gboolean
snapshotter_should_delete(const SnapshotContent *content)
{
    const Object *meta = &content->meta;
    const SnapshotKinds *kinds = snapshot_kinds_of(object_kind(meta));

    if (!object_is_deleted(meta))
        return FALSE;
    if (content->given_handle != NULL && !object_uid_is_set(content->snapshot.uid))
        return TRUE;
    return object_annotation(meta, kinds->being_created) == NULL &&
           object_annotation(meta, kinds->being_deleted) != NULL;
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

/* On a node, the label selector of its list and watch: a content whose label changes comes and
 * goes. */
gboolean
snapshotter_sees(const ExternalSnapshotter *self, const SnapshotContent *content)
{
    return self->base.node_name == NULL ||
           g_strcmp0(object_label(&content->meta, LABEL_SNAPSHOT_MANAGED_BY),
                     self->base.node_name) == 0;
}

/* SNAP-41. Before 7.0 (SREL-33) each change counts, but from 6.0 on (SREL-32) no change of a
 * content with an error. */
static gboolean
queues_change(const ExternalSnapshotter *self, const Object *before, const Object *after)
{
    const SidecarFlags *flags = &self->options->common;

    if (before == NULL || after == NULL)
        return TRUE;
    if (sidecar_is_since(flags, 7, 0, TRUE))
        return snapshotter_queues_change(SNAPSHOT_CONTENT_CONST(before),
                                         SNAPSHOT_CONTENT_CONST(after));
    return SNAPSHOT_CONTENT_CONST(after)->error.message == NULL ||
           !sidecar_is_since(flags, 6, 0, TRUE);
}

static void
content_changed(void *data, const Object *before, const Object *after)
{
    ExternalSnapshotter *self = data;

    if (before != NULL && !snapshotter_sees(self, SNAPSHOT_CONTENT_CONST(before)))
        before = NULL;
    if (after != NULL && !snapshotter_sees(self, SNAPSHOT_CONTENT_CONST(after)))
        after = NULL;
    if (before == NULL && after == NULL)
        return;
    if (queues_change(self, before, after))
        workers_add(self->single.workers, (after != NULL ? after : before)->key);
    if (self->resync != NULL)
        sim_ticker_wake(self->resync);
}

/* SREL-34: queues every content. Without contents the ticker sleeps. */
static gboolean
external_snapshotter_resync_pass(void *data)
{
    ExternalSnapshotter *self = data;
    InformerIter iter;
    const Object *content;
    gboolean has_any = FALSE;

    informer_iter_init(&iter, self->single.contents);
    while ((content = informer_iter_next(&iter)) != NULL)
        if (snapshotter_sees(self, SNAPSHOT_CONTENT_CONST(content))) {
            workers_add(self->single.workers, content->key);
            has_any = TRUE;
        }
    return has_any;
}

static void
external_snapshotter_apply_change(void *data, const PlanChange *change)
{
    ExternalSnapshotter *self = data;

    switch ((SnapshotterChange)change->what) {
    case CHANGE_STORE:
        if (change->object != NULL) /* else the write failed */
            object_store_update(snapshotter_side(self, object_kind(change->object))->store,
                                change->object);
        return;
    case CHANGE_FORGET:
        object_store_remove(snapshotter_side(self, change->key->kind)->store, change->key);
        return;
    }
    g_assert_not_reached();
}

/* ---- Start and end ---- */

/* Else the real process ends and starts again and again. */
static gboolean
takes_snapshots(const void *data)
{
    return sidecar_offers(((const ExternalSnapshotter *)data)->sidecar, CSI_USE_CREATE_SNAPSHOT);
}

static gboolean
resyncs(const void *data)
{
    const ExternalSnapshotter *self = data;

    return takes_snapshots(self) && sidecar_is_since(&self->options->common, 8, 3, FALSE);
}

static gboolean
has_gate(const ExternalSnapshotter *self)
{
    return process_gate(&external_snapshotter_process, self->options->feature_gates,
                        "CSIVolumeGroupSnapshot");
}

/* SNAP-90: also for a driver without groups. */
static gboolean
handles_groups(const void *data)
{
    return takes_snapshots(data) && has_gate(data);
}

static void
external_snapshotter_filled(void *data)
{
    ExternalSnapshotter *self = data;

    if (self->single.contents != NULL)
        object_store_fill(self->single.store, self->single.contents);
    if (self->group.contents != NULL)
        object_store_fill(self->group.store, self->group.contents);
}

static void
external_snapshotter_init(void *data)
{
    ExternalSnapshotter *self = data;

    self->sidecar = sidecar_new(&(SidecarOptions){
        .component = &self->base,
        .n_sync_polls = 1,
        .asks_groups = has_gate(self),
        .ready = component_start,
    });
}

#define SELF ExternalSnapshotter
static const ComponentPart parts[] = {
    HAS_OPTIONS(options),
    HAS_STATE(sidecar, NULL, sidecar_free),
    HAS_STATE(single.store, object_store_new, object_store_free),
    HAS_STATE(group.store, object_store_new, object_store_free),
    PARTS_IF(takes_snapshots),
    HAS_INFORMER(single.classes, KIND_SNAPSHOT_CLASS),
    HAS_INFORMER(single.contents, KIND_SNAPSHOT_CONTENT, .changed = content_changed),
    HAS_WORKERS(single.workers, "csi-snapshotter-content", snapshotter_sync, SIDECAR_WORKERS),
    PARTS_IF(handles_groups),
    HAS_INFORMER(group.classes, KIND_GROUP_CLASS),
    HAS_INFORMER(group.contents, KIND_GROUP_CONTENT, WAKES(group.workers)), /* SNAP-89 */
    HAS_WORKERS(
        group.workers, "csi-snapshotter-groupsnapshotcontent", snapshotter_sync, SIDECAR_WORKERS),
    PARTS_IF(resyncs),
    HAS_TICKER(resync,
               "external-snapshotter/resync",
               external_snapshotter_resync_pass,
               .period_flag = offsetof(ExternalSnapshotterOptions, resync_period),
               .phase = ticker_phase_period),
};

#define AT(member) offsetof(ExternalSnapshotterOptions, member)

G_STATIC_ASSERT(offsetof(ExternalSnapshotterOptions, common) == 0); /* SIDECAR_FLAGS */
static const ProcessFlag flags[] = {
    SIDECAR_FLAGS("worker-threads",
                  "10",
                  "Contents processed at once",
                  "1m",
                  "Deadline of a call of the driver"),
    {"snapshot-name-prefix",      FLAG_STRING,     AT(snapshot_name_prefix),      "snapshot",
       "Prefix of the driver's name for a snapshot; the VolumeSnapshot's uid follows"                    },
    {"snapshot-name-uuid-length", FLAG_SIGNED_INT, AT(snapshot_name_uuid_length), "-1",
       "Letters of the uid in that name, without its dashes; -1: the whole uid (SNAP-44)"                },
    {"node-deployment",           FLAG_BOOL,       AT(node_deployment),           "false",
       "Run one instance on each node with the driver's plugin (SNAP-71)"                                },
    {"groupsnapshot-name-prefix", FLAG_STRING,     AT(group_name_prefix),         "groupsnapshot",
       "Prefix of the driver's name for a group; the VolumeGroupSnapshot's uid follows"                  },
    {"feature-gates",             FLAG_STRING,     AT(feature_gates),             "",
       "CSIVolumeGroupSnapshot=true: group snapshots (SNAP-80)"                                          },
    {"extra-create-metadata",     FLAG_BOOL,       AT(extra_create_metadata),     "false",
       "Pass the names of snapshot and content to the driver (SNAP-44)"                                  },
    {"resync-period",             FLAG_DURATION,   AT(resync_period),             "15m",
       "From 8.3 on: time between two checks of all contents (SNAP-41)"                                  },
    SIDECAR_ELECTION_FLAGS(ExternalSnapshotterOptions),
    {NULL,                        FLAG_BOOL,       0,                             NULL,            NULL},
};

static const ProcessGate gates[] = {
    {"CSIVolumeGroupSnapshot", FALSE},
    {NULL,                     FALSE},
};

static const ProcessElection election = {
    .offset = offsetof(ExternalSnapshotterOptions, election),
    .lock = "external-snapshotter-leader-",
    .has_host_name = TRUE,
};

/* SNAP-71.2 */
static gboolean
external_snapshotter_runs_on_nodes(const void *options)
{
    return ((const ExternalSnapshotterOptions *)options)->node_deployment;
}

const ProcessClass external_snapshotter_process = {
    SIDECAR_PROCESS("external-snapshotter", ExternalSnapshotterOptions, flags, election),
    .gates = gates, .runs_on_nodes = external_snapshotter_runs_on_nodes,
    .startup = offsetof(Timing, sidecar_start), /* as the attacher's, TIM-91 */
};

/* Its second client, for Secrets, is the client of its Events. */
const ModelClass external_snapshotter_class = {
    SIDECAR_MODEL("external-snapshotter", external_snapshotter_process),
    .event_source = "csi-snapshotter",
    .event_style = EVENTS_CORE,
    .before_driver = ' ',
    .separate_event_client = TRUE,
    .rule_tables = RULE_TABLES(&snapshotter_content_rules),
    PARTS(parts),
    .init = external_snapshotter_init,
    .filled = external_snapshotter_filled,
    .apply_change = external_snapshotter_apply_change,
};
