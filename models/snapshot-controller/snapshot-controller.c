/* SPDX-License-Identifier: GPL-3.0-or-later */
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
apply_change(void *data, const PlanChange *change)
{
    SnapshotController *self = data;

    switch ((Change)change->what) {
    case CHANGE_STORE:
        if (change->object != NULL) /* else the write failed */
            object_store_update(store_of(self, object_kind(change->object)), change->object);
        return;
    case CHANGE_FORGET:
        object_store_remove(store_of(self, change->key->kind), change->key);
        return;
    case CHANGE_ENQUEUE_SNAPSHOT:
        workers_add(snapshot_side(self, change->key->kind)->snapshot_workers, change->key);
        return;
    case CHANGE_ENQUEUE_CONTENT:
        workers_add(snapshot_side(self, change->key->kind)->content_workers, change->key);
        return;
    }
    g_assert_not_reached();
}

/* ---- What it hears of ---- */

static void
snapshot_changed(void *data, const Object *before, const Object *after)
{
    SnapshotController *self = data;
    const ObjectKey *key = (after != NULL ? after : before)->key;

    workers_add(snapshot_side(self, key->kind)->snapshot_workers, key);
    sim_ticker_wake(self->resync);
}

static void
content_changed(void *data, const Object *before, const Object *after)
{
    SnapshotController *self = data;
    const ObjectKey *key = (after != NULL ? after : before)->key;

    workers_add(snapshot_side(self, key->kind)->content_workers, key);
    sim_ticker_wake(self->resync);
}

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
resync_pass(void *data)
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

static Workers *
make_workers(SnapshotController *self, const char *name, PlanDecide sync)
{
    const SnapshotControllerOptions *options = self->options;

    return workers_new(&self->base, &(WorkersOptions){
                                        .name = name,
                                        .n_workers = (unsigned)options->worker_threads,
                                        .limit = {.base = options->retry_interval_start,
                                                  .max = options->retry_interval_max},
                                        .retry = TRUE,
                                        .sync = sync,
    });
}

static void
fill_store(ObjectStore *store, const Informer *informer)
{
    InformerIter iter;
    const Object *object;

    informer_iter_init(&iter, informer);
    while ((object = informer_iter_next(&iter)) != NULL)
        object_store_update(store, object);
}

static void
make_side(SnapshotController *self,
          SnapshotSide *side,
          ObjectKind kind,
          const char *snapshot_queue,
          const char *content_queue)
{
    const SnapshotKinds *kinds = snapshot_kinds_of(kind);
    Process *process = self->base.process;

    side->snapshot_store = object_store_new();
    side->content_store = object_store_new();
    side->snapshots = process_informer(process, kinds->snapshot, NULL);
    side->contents = process_informer(process, kinds->content, NULL);
    side->classes = process_informer(process, kinds->class, NULL);
    side->snapshot_workers = make_workers(self, snapshot_queue, snapshot_controller_sync_snapshot);
    side->content_workers = make_workers(self, content_queue, snapshot_controller_sync_content);
}

static void
listen(SnapshotController *self, const SnapshotSide *side)
{
    informer_add_handler(side->snapshots, snapshot_changed, self);
    informer_add_handler(side->contents, content_changed, self);
}

static void
init(void *data)
{
    SnapshotController *self = data;
    Process *process = self->base.process;

    self->options = self->base.options;
    make_side(self, &self->single, KIND_VOLUME_SNAPSHOT, "snapshot-controller-snapshot",
              "snapshot-controller-content");
    self->claims = process_informer(process, KIND_CLAIM, NULL);
    if (self->options->enable_distributed_snapshotting)
        self->nodes = process_informer(process, KIND_NODE, NULL);
    self->snapshots_by_claim = informer_add_index(self->single.snapshots, index_by_claim);
    self->restores = informer_add_index(self->claims, index_restores);
    if (process_gate(&snapshot_controller_process, self->options->feature_gates,
                     "CSIVolumeGroupSnapshot")) {
        make_side(self, &self->group, KIND_GROUP_SNAPSHOT, "snapshot-controller-group-snapshot",
                  "snapshot-controller-group-content");
        self->volumes = process_informer(process, KIND_VOLUME, NULL);
        self->snapshots_by_group = informer_add_index(self->single.snapshots, index_by_group);
    }
    self->resync =
        sim_ticker_new(self->base.sim, &(SimTickerOptions){
                                           .name = "snapshot-controller/resync",
                                           .period = self->options->resync_period,
                                           .cost = process_timing(self->base.process)->loop_pass,
                                           .phase = self->options->resync_period,
                                           .order = self->base.order,
                                           .wait = WAIT_POLL,
                                           .pass = resync_pass,
                                           .self = self,
                                       });
    fill_store(self->single.snapshot_store, self->single.snapshots);
    fill_store(self->single.content_store, self->single.contents);
    listen(self, &self->single);
    if (self->group.snapshots != NULL) /* SNAP-87: its copies are not filled */
        listen(self, &self->group);
}

static void
clear(void *data)
{
    SnapshotController *self = data;

    sim_ticker_free(self->resync);
    object_store_free(self->single.snapshot_store);
    object_store_free(self->single.content_store);
    object_store_free(self->group.snapshot_store);
    object_store_free(self->group.content_store);
}

#define AT(member) offsetof(SnapshotControllerOptions, member)

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
client_qps(const void *data, unsigned *burst)
{
    const SnapshotControllerOptions *options = data;

    *burst = (unsigned)options->kube_api_burst;
    return options->kube_api_qps;
}

/* Its second client, for claims and volumes, is the client of its Events. */
const ModelClass snapshot_controller_class = {
    .name = "snapshot-controller",
    .process = &snapshot_controller_process,
    .size = sizeof(SnapshotController),
    .event_source = "snapshot-controller",
    .event_style = EVENTS_CORE,
    .separate_event_client = TRUE,
    .client_qps = client_qps,
    .rule_tables = RULE_TABLES(&snapshot_class_rules,
                               &snapshot_rules,
                               &snapshot_binding_rules,
                               &snapshot_source_rules,
                               &snapshot_creation_rules,
                               &snapshot_deletion_rules,
                               &group_deletion_rules,
                               &content_sync_rules),
    .init = init,
    .clear = clear,
    .apply_change = apply_change,
};
