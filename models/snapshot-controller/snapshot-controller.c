/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The snapshot-controller as a component: two sides, for snapshots and for groups, each with queues
 * of snapshots and contents and private copies of both. A resync queues all objects. Claims are
 * found by indexes: snapshots of a claim, claims to be restored from a snapshot in the same
 * namespace, members of a group. Only drivers with groups need the second side, which a feature
 * gate switches on. */
#include "controller.h"

#include "models/timing/waits.h"
#include "models/volume/sidecar.h"

/* ---- For the syncs ---- */

const SnapshotSide *
snapshot_side(const SnapshotController *self, ObjectKind kind)
{
    return snapshot_kinds_of(kind)->snapshot == KIND_GROUP_SNAPSHOT ? &self->group : &self->single;
}

const SnapshotContent *
stored_content(const SnapshotController *self, const Plan *plan, const char *name)
{
    const ObjectKey *key =
        name == NULL ? NULL
                     : objects_find_key(self->base.objects, plan_kinds(plan)->content, NULL, name);

    return SNAPSHOT_CONTENT_CONST(object_store_get(plan_side(self, plan)->content_store, key));
}

gboolean
snapshot_waits_for_deletion(const VolumeSnapshot *snapshot)
{
    const Object *meta = &snapshot->meta;

    return object_is_deleted(meta) && (object_has_finalizer(meta, FINALIZER_SNAPSHOT_SOURCE) ||
                                       object_has_finalizer(meta, FINALIZER_SNAPSHOT_BOUND));
}

void
plan_store_result(Plan *plan, int step)
{
    plan_change_result(plan, CHANGE_STORE, step);
}

static ObjectStore *
store_of(const SnapshotController *self, ObjectKind kind)
{
    const SnapshotSide *side = snapshot_side(self, kind);

    return kind == snapshot_kinds_of(kind)->snapshot ? side->snapshot_store : side->content_store;
}

static void
snapshot_controller_apply_change(void *data, const PlanChange *change)
{
    SnapshotController *self = data;

    switch ((SnapshotControllerChange)change->what) {
    case CHANGE_STORE:
        if (change->object != NULL) /* else the write failed */
            object_store_update(store_of(self, object_kind(change->object)), change->object);
        return;
    case CHANGE_FORGET:
        object_store_remove(store_of(self, change->key->kind), change->key);
        return;
    }
    g_assert_not_reached();
}

/* ---- The resync ---- */

/* Returns: how many objects there are */
static unsigned
add_all(Workers *workers, const Informer *informer)
{
    InformerIter iter;
    const Object *object;

    if (informer == NULL)
        return 0;
    informer_iter_init(&iter, informer);
    while ((object = informer_iter_next(&iter)) != NULL)
        workers_add(workers, object->key);
    return informer_count(informer);
}

/* Queues every object. Without objects the ticker sleeps. */
static gboolean
snapshot_controller_resync_pass(void *data)
{
    SnapshotController *self = data;
    unsigned n = 0;

    n += add_all(self->single.snapshot_workers, self->single.snapshots);
    n += add_all(self->single.content_workers, self->single.contents);
    n += add_all(self->group.snapshot_workers, self->group.snapshots);
    n += add_all(self->group.content_workers, self->group.contents);
    return n > 0;
}

static void
index_by_claim(InformerIndex *index, const Object *object, Objects *objects)
{
    const char *claim = VOLUME_SNAPSHOT_CONST(object)->claim_name;

    if (claim != NULL)
        index_emit(index, objects_key(objects, KIND_CLAIM, object->key->namespace, claim));
}

static void
index_by_group(InformerIndex *index, const Object *object, Objects *objects)
{
    const char *group = snapshot_group(VOLUME_SNAPSHOT_CONST(object));

    if (group != NULL)
        index_emit(index, objects_key(objects, KIND_GROUP_SNAPSHOT, object->key->namespace, group));
}

static void
index_restores(InformerIndex *index, const Object *object, Objects *objects)
{
    const DataSource *source = &CLAIM_CONST(object)->data_source;

    /* Claims of other namespaces do not hold the snapshot (SNAP-31). */
    if (source->name != NULL && g_strcmp0(source->kind, "VolumeSnapshot") == 0 &&
        (source->namespace == NULL || source->namespace[0] == '\0') &&
        g_strcmp0(source->api_group, SNAPSHOT_API_GROUP) == 0)
        index_emit(index, objects_key(objects, KIND_VOLUME_SNAPSHOT, object->key->namespace,
                                      source->name));
}

/* ---- Start and end ---- */

static gboolean
is_distributed(const void *data)
{
    return ((const SnapshotController *)data)->options->enable_distributed_snapshotting;
}

static gboolean
handles_groups(const void *data)
{
    return process_gate(&snapshot_controller_process,
                        ((const SnapshotController *)data)->options->feature_gates,
                        "CSIVolumeGroupSnapshot");
}

/* SNAP-87: the copies of groups are not filled. */
static void
snapshot_controller_filled(void *data)
{
    SnapshotController *self = data;

    object_store_fill(self->single.snapshot_store, self->single.snapshots);
    object_store_fill(self->single.content_store, self->single.contents);
}

#define AT(member) offsetof(SnapshotControllerOptions, member)

static RateLimit
rate_limit(const void *data)
{
    const SnapshotControllerOptions *options = data;

    return (RateLimit){.base = options->retry_interval_start, .max = options->retry_interval_max};
}

#define SELF SnapshotController
#define WORKERS .n_flag = AT(worker_threads), .limit_of = rate_limit
#define SIDE(side, snapshot_kind, content_kind, class_kind, snapshot_queue, content_queue)         \
    HAS_STATE(side.snapshot_store, object_store_new, object_store_free),                           \
        HAS_STATE(side.content_store, object_store_new, object_store_free),                        \
        HAS_INFORMER(side.snapshots, snapshot_kind, WAKES(side.snapshot_workers), TICKS(resync)),  \
        HAS_INFORMER(side.contents, content_kind, WAKES(side.content_workers), TICKS(resync)),     \
        HAS_INFORMER(side.classes, class_kind),                                                    \
        HAS_WORKERS(side.snapshot_workers, snapshot_queue, snapshot_controller_sync_snapshot,      \
                    WORKERS),                                                                      \
        HAS_WORKERS(side.content_workers, content_queue, snapshot_controller_sync_content,         \
                    WORKERS)

static const ComponentPart parts[] = {
    HAS_OPTIONS(options),
    SIDE(single,
         KIND_VOLUME_SNAPSHOT,
         KIND_SNAPSHOT_CONTENT,
         KIND_SNAPSHOT_CLASS,
         "snapshot-controller-snapshot",
         "snapshot-controller-content"),
    HAS_INFORMER(claims, KIND_CLAIM, WITH_INDEX(restores, index_restores)),
    HAS_INFORMER(
        single.snapshots, KIND_VOLUME_SNAPSHOT, WITH_INDEX(snapshots_by_claim, index_by_claim)),
    HAS_TICKER(resync,
               "snapshot-controller/resync",
               snapshot_controller_resync_pass,
               .period_flag = AT(resync_period),
               .phase = ticker_phase_period),
    PARTS_IF(is_distributed),
    HAS_INFORMER(nodes, KIND_NODE),
    PARTS_IF(handles_groups),
    SIDE(group,
         KIND_GROUP_SNAPSHOT,
         KIND_GROUP_CONTENT,
         KIND_GROUP_CLASS,
         "snapshot-controller-group-snapshot",
         "snapshot-controller-group-content"),
    HAS_INFORMER(volumes, KIND_VOLUME),
    HAS_INFORMER(
        single.snapshots, KIND_VOLUME_SNAPSHOT, WITH_INDEX(snapshots_by_group, index_by_group)),
};

static const ProcessFlag flags[] = {
    {"kube-api-qps",                    FLAG_NUMBER,   AT(kube_api_qps),                    "5",
     "Requests per second of each of its two clients: one for snapshots, one for the rest and "
     "Events"                                                                                            },
    {"kube-api-burst",                  FLAG_INT,      AT(kube_api_burst),                  "10",
     "Requests that may exceed that rate at once"                                                        },
    {"worker-threads",                  FLAG_INT,      AT(worker_threads),                  "10",
     "Snapshots processed at once, and as many contents"                                                 },
    {"retry-interval-start",            FLAG_DURATION, AT(retry_interval_start),            "1s",
     "Wait after a first failure; doubles with each"                                                     },
    {"retry-interval-max",              FLAG_DURATION, AT(retry_interval_max),              "5m",
     "Longest wait after a failure"                                                                      },
    {"resync-period",                   FLAG_DURATION, AT(resync_period),                   "15m",
     "Time between two checks of all snapshots and contents (SNAP-31)"                                   },
    {"prevent-volume-mode-conversion",  FLAG_BOOL,     AT(prevent_volume_mode_conversion),  "true",
     "A restored claim must have the volume mode of the snapshot's source (SRC-4)"                       },
    {"enable-distributed-snapshotting", FLAG_BOOL,     AT(enable_distributed_snapshotting), "false",
     "Label each content with the node of its volume, for sidecars with node-deployment (SNAP-71)"       },
    {"feature-gates",                   FLAG_STRING,   AT(feature_gates),                   "",
     "CSIVolumeGroupSnapshot=true: group snapshots (SNAP-80)"                                            },
    SIDECAR_ELECTION_FLAGS(SnapshotControllerOptions),
    {NULL,                              FLAG_BOOL,     0,                                   NULL,    NULL},
};

static const ProcessGate gates[] = {
    {"CSIVolumeGroupSnapshot", FALSE},
    {NULL,                     FALSE},
};

static const ProcessElection election = {
    .offset = offsetof(SnapshotControllerOptions, election),
    .lock = "snapshot-controller-leader",
};

const ProcessClass snapshot_controller_process = {
    .name = "snapshot-controller",
    .scope = PER_CLUSTER,
    .options_size = sizeof(SnapshotControllerOptions),
    .flags = flags,
    .gates = gates,
    .election = &election,
    .startup = offsetof(Timing, sidecar_start),
    .first_look = 100 * SIM_MS, /* CGO-17 */
};

static double
snapshot_controller_client_qps(const void *data, unsigned *burst)
{
    const SnapshotControllerOptions *options = data;

    *burst = (unsigned)options->kube_api_burst;
    return options->kube_api_qps;
}

/* Its second client, for claims and volumes, is the client of its Events. */
const ModelClass snapshot_controller_class = {
    .name = "snapshot-controller",
    .process = &snapshot_controller_process,
    .event_source = "snapshot-controller",
    .event_style = EVENTS_CORE,
    .separate_event_client = TRUE,
    .client_qps = snapshot_controller_client_qps,
    .rule_tables = RULE_TABLES(&snapshot_class_rules,
                               &snapshot_rules,
                               &snapshot_binding_rules,
                               &snapshot_source_rules,
                               &snapshot_creation_rules,
                               &snapshot_deletion_rules,
                               &group_deletion_rules,
                               &content_sync_rules),
    PARTS(parts),
    .filled = snapshot_controller_filled,
    .apply_change = snapshot_controller_apply_change,
};
