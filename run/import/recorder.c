/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Records a simulated run in the form of recorded.json, as an audit log of a real cluster would
 * show it: milestones from the writes at the API server, requests by the names that clients have in
 * a log. A milestone is noted when a fact becomes true for the first time in an object's life.
 * Looking changes nothing in the run. */
#include "recorder.h"

#include "models/api/storage.h"

#include <string.h>

struct Recorder {
    Run *run;
    Recorded *recorded;
    GPtrArray *sources;  /* of RecordedSource (owned), in the order of the recorded objects */
    GHashTable *current; /* ObjectKey -> RecordedSource: its present incarnation */
    ApiLoad *load;       /* its requests are recorded at the first question */
};

static const int recorded_kinds[N_KINDS] = {
    [KIND_POD] = RECORDED_POD + 1,
    [KIND_CLAIM] = RECORDED_CLAIM + 1,
    [KIND_VOLUME] = RECORDED_VOLUME + 1,
    [KIND_ATTACHMENT] = RECORDED_ATTACHMENT + 1,
};

static const Object *
recorder_stored(const Recorder *self, const ObjectKey *key)
{
    return key == NULL ? NULL : api_server_get(cluster_api(run_cluster(self->run)), key);
}

/* "StatefulSet/cache": of a ReplicaSet that a Deployment made, the Deployment. Returns: (borrowed):
 * NULL: nobody controls the pod */
static const char *
workload_of(const Recorder *self, const Object *pod)
{
    const OwnerReference *owner = object_controller(pod), *above = NULL;

    if (owner == NULL)
        return NULL;
    const Object *set = recorder_stored(self, owner->key);
    if (set != NULL)
        above = object_controller(set);
    if (above != NULL)
        owner = above;
    g_autofree char *text = g_strdup_printf("%s/%s", owner->kind, owner->name);
    return recorded_text(self->recorded, text);
}

static const char **
claims_of(const Recorder *self, const Pod *pod)
{
    if (pod->volumes == NULL || pod->volumes->n_items == 0)
        return NULL;
    g_autoptr(GPtrArray) names = g_ptr_array_new();
    for (unsigned i = 0; i < pod->volumes->n_items; i++)
        g_ptr_array_add(
            names,
            (char *)pod_claim_key(run_objects(self->run), pod, &pod->volumes->items[i])->name);
    return recorded_texts(self->recorded, (const char *const *)names->pdata, names->len);
}

static const char *
claim_text(const Recorder *self, const ObjectKey *claim)
{
    if (claim == NULL)
        return NULL;
    g_autofree char *text = g_strdup_printf("%s/%s", claim->namespace, claim->name);
    return recorded_text(self->recorded, text);
}

/* Members that do not change in an object's life, and members that come with time. */
static void
describe(Recorder *self, RecordedObject *record, const Object *object)
{
    switch (record->kind) {
    case RECORDED_POD:
        if (record->node == NULL)
            record->node = recorded_text(self->recorded, POD_CONST(object)->node_name);
        break;
    case RECORDED_CLAIM:
        if (record->volume == NULL && claim_volume_name(CLAIM_CONST(object))[0] != '\0')
            record->volume = recorded_text(self->recorded, claim_volume_name(CLAIM_CONST(object)));
        break;
    case RECORDED_VOLUME:
        if (record->claim == NULL)
            record->claim = claim_text(self, VOLUME_CONST(object)->claim_ref.claim);
        break;
    }
}

static void
describe_first(Recorder *self, RecordedObject *record, const Object *object)
{
    if (record->kind == RECORDED_VOLUME && VOLUME_CONST(object)->source != NULL)
        record->driver = recorded_text(self->recorded, VOLUME_CONST(object)->source->driver);
    if (record->kind == RECORDED_POD) {
        record->workload = workload_of(self, object);
        record->claims = claims_of(self, POD_CONST(object));
    } else if (record->kind == RECORDED_ATTACHMENT) {
        const Attachment *attachment = ((const Attachment *)object);
        const ObjectKey *key = attachment->volume_name == NULL
                                   ? NULL
                                   : objects_find_key(run_objects(self->run), KIND_VOLUME, NULL,
                                                      attachment->volume_name);
        const Volume *volume = VOLUME_CONST(recorder_stored(self, key));
        record->node = recorded_text(self->recorded, attachment->node_name);
        record->volume = recorded_text(self->recorded, attachment->volume_name);
        record->claim = volume == NULL ? NULL : claim_text(self, volume->claim_ref.claim);
    }
}

static RecordedSource *
find_source(Recorder *self, const Object *object, gboolean is_new)
{
    RecordedSource *source = is_new ? NULL : g_hash_table_lookup(self->current, object->key);

    if (source != NULL)
        return source;
    source = g_new0(RecordedSource, 1);
    source->key = object->key;
    source->record =
        recorded_add(self->recorded, (RecordedKind)(recorded_kinds[object_kind(object)] - 1),
                     object->key->namespace, object_name(object));
    describe_first(self, source->record, object);
    g_ptr_array_add(self->sources, source);
    g_hash_table_insert(self->current, (void *)object->key, source);
    return source;
}

/* A time of an object, if it was not so before and is so now. */
static void
recorder_see(
    Recorder *self, RecordedSource *source, RecordedTime time, gboolean before, gboolean after)
{
    if (before || !after || source->record->at[time] != TIME_UNSET)
        return;
    source->record->at[time] = sim_now(run_sim(self->run));
    source->causes[time] = sim_cause(run_sim(self->run));
}

static void
recorder_see_pod(Recorder *self, RecordedSource *source, const Pod *old, const Pod *new)
{
    recorder_see(self, source, RECORDED_UNSCHEDULABLE,
                 old != NULL && old->scheduled.status == CONDITION_FALSE,
                 new->scheduled.status == CONDITION_FALSE);
    recorder_see(self, source, RECORDED_SCHEDULED, old != NULL && old->node_name != NULL,
                 new->node_name != NULL);
    recorder_see(self, source, RECORDED_RUNNING, old != NULL && old->phase == POD_RUNNING,
                 new->phase == POD_RUNNING);
    recorder_see(self, source, RECORDED_READY, old != NULL && pod_is_ready(old), pod_is_ready(new));
    recorder_see(self, source, RECORDED_STOPPED, old != NULL && pod_is_terminal(old),
                 pod_is_terminal(new));
}

static void
recorder_see_claim(Recorder *self, RecordedSource *source, const Claim *old, const Claim *new)
{
    recorder_see(self, source, RECORDED_SELECTED,
                 old != NULL && object_annotation(&old->meta, ANNOTATION_SELECTED_NODE) != NULL,
                 object_annotation(&new->meta, ANNOTATION_SELECTED_NODE) != NULL);
    recorder_see(self, source, RECORDED_ASKED,
                 old != NULL &&
                     object_annotation(&old->meta, ANNOTATION_STORAGE_PROVISIONER) != NULL,
                 object_annotation(&new->meta, ANNOTATION_STORAGE_PROVISIONER) != NULL);
    recorder_see(self, source, RECORDED_BOUND, old != NULL && old->phase == CLAIM_BOUND,
                 new->phase == CLAIM_BOUND);
    recorder_see(self, source, RECORDED_LOST, old != NULL && old->phase == CLAIM_LOST,
                 new->phase == CLAIM_LOST);
    if (old == NULL || old->phase != CLAIM_BOUND)
        return;
    recorder_see(self, source, RECORDED_EXPANSION_ASKED, FALSE,
                 new->request_bytes > old->request_bytes);
    recorder_see(self, source, RECORDED_NODE_AWAITED,
                 g_strcmp0(old->resize_status, "NodeResizePending") == 0,
                 g_strcmp0(new->resize_status, "NodeResizePending") == 0);
    recorder_see(self, source, RECORDED_EXPANDED, FALSE, new->capacity_bytes > old->capacity_bytes);
}

static void
recorder_see_volume(Recorder *self, RecordedSource *source, const Volume *old, const Volume *new)
{
    recorder_see(self, source, RECORDED_BOUND, old != NULL && old->phase == VOLUME_BOUND,
                 new->phase == VOLUME_BOUND);
    recorder_see(self, source, RECORDED_RELEASED, old != NULL && old->phase == VOLUME_RELEASED,
                 new->phase == VOLUME_RELEASED);
    recorder_see(self, source, RECORDED_GROWN, FALSE,
                 old != NULL && new->capacity_bytes > old->capacity_bytes);
}

static void
recorder_see_write(void *data, const RunRecord *seen)
{
    Recorder *self = data;
    const Object *before = seen->before, *after = seen->after;
    const Object *any = after != NULL ? after : before;

    if (recorded_kinds[object_kind(any)] == 0)
        return;
    RecordedSource *source = find_source(self, any, before == NULL);
    gboolean is_attachment = source->record->kind == RECORDED_ATTACHMENT;
    describe(self, source->record, any);
    recorder_see(self, source, is_attachment ? RECORDED_ATTACH_REQUESTED : RECORDED_CREATED,
                 before != NULL, TRUE);
    if (after != NULL)
        switch (source->record->kind) {
        case RECORDED_POD:
            recorder_see_pod(self, source, (const Pod *)before, (const Pod *)after);
            break;
        case RECORDED_CLAIM:
            recorder_see_claim(self, source, (const Claim *)before, (const Claim *)after);
            break;
        case RECORDED_VOLUME:
            recorder_see_volume(self, source, (const Volume *)before, (const Volume *)after);
            break;
        case RECORDED_ATTACHMENT:
            recorder_see(self, source, RECORDED_ATTACHED,
                         before != NULL && ((const Attachment *)before)->attached,
                         ((const Attachment *)after)->attached);
            break;
        }
    recorder_see(self, source, is_attachment ? RECORDED_DETACH_REQUESTED : RECORDED_DELETED,
                 before != NULL && object_is_deleted(before),
                 after == NULL || object_is_deleted(after));
    recorder_see(self, source, is_attachment ? RECORDED_DETACHED : RECORDED_GONE, FALSE,
                 after == NULL);
}

/* ---- Requests ---- */

/* Clients of the simulation that are connections of one program, and sources of Events, by the name
 * of the program or controller as an audit log has it. */
static const char *
program_of(const char *client)
{
    static const struct {
        const char *client, *program;
    } rows[] = {
        {"default-scheduler",           "kube-scheduler"          },
        {"kubelet-heartbeat",           "kubelet"                 },
        {"persistentvolume-controller", "persistent-volume-binder"},
        {"taint-eviction-controller",   "node-controller"         },
    };

    for (unsigned i = 0; i < G_N_ELEMENTS(rows); i++)
        if (g_str_equal(rows[i].client, client))
            return rows[i].program;
    return client;
}

Recorder *
recorder_new(Run *run)
{
    Recorder *self = g_new0(Recorder, 1);

    self->run = run;
    self->recorded = recorded_new();
    self->sources = g_ptr_array_new_with_free_func(g_free);
    self->current = g_hash_table_new(NULL, NULL);
    self->load = api_load_new(run_records(run), run_sim(run));
    records_watch(run_records(run), RECORD_WRITE, recorder_see_write, self);
    return self;
}

void
recorder_free(Recorder *self)
{
    if (self == NULL)
        return;
    recorded_free(self->recorded);
    g_ptr_array_unref(self->sources);
    g_hash_table_unref(self->current);
    api_load_free(self->load);
    g_free(self);
}

Recorded *
recorder_recorded(const Recorder *self)
{
    const GPtrArray *rows = api_load_rows(self->load);
    gboolean is_known = recorded_requests(self->recorded)->len > 0;

    for (unsigned i = 0; !is_known && i < rows->len; i++) {
        const ApiLoadRow *row = rows->pdata[i];
        recorded_count_requests(self->recorded, program_of(row->client), row->audit, row->resource,
                                (int64_t)row->total, (int64_t)row->failed);
    }
    return self->recorded;
}

const RecordedSource *
recorder_source(const Recorder *self, unsigned i)
{
    return self->sources->pdata[i];
}
