/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Notes when objects reach milestones, from writes at the API server and calls of drivers: one log
 * in blocks, packed, with a chain through it for each object, and the cause of each entry. A volume
 * is known by the name that a call gives, before its object exists, or by handle and unique name
 * (volume-names.c). A group's content and a VolumeSnapshotContent count for their snapshot. Looking
 * changes nothing in the run. */
#include "milestones.h"

#include <string.h>

#include "models/api/snapshot.h"
#include "sim/pointer-map.h"
#include "sim/slots.h"
#include "volume-names.h"

/* The log grows by blocks of this size, so that it is never copied. */
#define BLOCK_LENGTH 1024
#define CAUSES_SIZE (BLOCK_LENGTH * sizeof(SimCauseId))

/* A packed milestone: a pod with a claim has some forty. */
typedef struct {
    SimTime at;
    uint32_t slot;     /* of the object; its kind follows from the milestone's kind */
    uint32_t node;     /* in the list of nodes: index + 1; 0: none */
    uint32_t previous; /* as in Milestone, like the following */
    uint16_t incarnation;
    uint8_t kind, code;
} MilestonesEntry;

typedef struct {
    SimCauseId *causes; /* cause of each entry; NULL: no log of causes is kept */
    MilestonesEntry entries[BLOCK_LENGTH];
} MilestonesBlock;

struct Milestones {
    SimCold *cold; /* (borrowed) (nullable): of the log */
    Sim *sim;
    const ApiServer *api;
    Objects *objects;
    GPtrArray *blocks; /* the log: of Block (owned) */
    unsigned n_milestones;
    GPtrArray *nodes;        /* names, in order of appearance */
    PointerMap node_numbers; /* name -> index + 1 */
    const char *last_node;   /* the last name that was looked up, and its number */
    uint32_t last_number;
    SimSlots last[N_KINDS]; /* of uint32_t, by slot: head of the object's chain, index + 1 */
    SimLog *pods;           /* of PodRecord */
    SimSlots last_pods;     /* of uint32_t, by slot: the last record of the pod, index + 1 */
    SimSlots volume_of;     /* of ObjectKey, by the claim's slot: its volume */
    VolumeNames *names;
    PointerMap by_uid; /* interned uid -> ObjectKey of the VolumeSnapshot */
    SimTime last_change;
};

const char *
milestone_name(MilestoneKind kind)
{
    static const char *const names[] = {
#define MILESTONE_NAME(member, text) [MILESTONE_##member] = text,
        MILESTONES(MILESTONE_NAME)
#undef MILESTONE_NAME
    };

    return names[kind];
}

static uint32_t *
chain_head(Milestones *self, const ObjectKey *object)
{
    return sim_slots_place(&self->last[object->kind], object->slot);
}

static ObjectKind
object_kind_of(MilestoneKind kind)
{
    return kind < MILESTONE_VOLUME_PROVISION_STARTED ? KIND_CLAIM
           : kind < MILESTONE_POD_CREATED            ? KIND_VOLUME
           : kind < MILESTONE_SNAPSHOT_CREATED       ? KIND_POD
                                                     : KIND_VOLUME_SNAPSHOT;
}

static MilestonesBlock *
block_of(const Milestones *self, unsigned i)
{
    return self->blocks->pdata[i / BLOCK_LENGTH];
}

static MilestonesEntry *
log_append(Milestones *self, SimCauseId cause)
{
    unsigned at = self->n_milestones % BLOCK_LENGTH;

    if (at == 0) {
        MilestonesBlock *new_block = sim_cold_take(self->cold, sizeof(MilestonesBlock));
        new_block->causes = NULL;
        g_ptr_array_add(self->blocks, new_block);
    }
    MilestonesBlock *block = block_of(self, self->n_milestones++);
    if (cause != 0 && block->causes == NULL)
        block->causes = memset(sim_cold_take(self->cold, CAUSES_SIZE), 0, CAUSES_SIZE);
    if (block->causes != NULL)
        block->causes[at] = cause;
    return &block->entries[at];
}

static uint32_t
number_node(Milestones *self, const char *node)
{
    if (node == NULL || node == self->last_node)
        return node == NULL ? 0 : self->last_number;
    uint32_t number = GPOINTER_TO_UINT(pointer_map_get(&self->node_numbers, node));
    if (number == 0) {
        g_ptr_array_add(self->nodes, (void *)node);
        number = self->nodes->len;
        pointer_map_set(&self->node_numbers, node, GUINT_TO_POINTER(number));
    }
    self->last_node = node;
    self->last_number = number;
    return number;
}

static void
add_with_code(Milestones *self,
              MilestoneKind kind,
              const ObjectKey *object,
              const char *node,
              SimTime at,
              SimCauseId cause,
              CsiCode code)
{
    uint32_t *head = chain_head(self, object);

    *log_append(self, cause) = (MilestonesEntry){
        .at = at,
        .slot = object->slot,
        .node = number_node(self, node),
        .previous = *head,
        .incarnation = (uint16_t)object->incarnation,
        .kind = (uint8_t)kind,
        .code = (uint8_t)code,
    };

    *head = self->n_milestones;
}

static void
milestones_add(Milestones *self, MilestoneKind kind, const ObjectKey *object, const char *node)
{
    gboolean is_old = api_server_is_importing(self->api);

    add_with_code(self, kind, object, node, is_old ? TIME_UNSET : sim_now(self->sim),
                  sim_cause(self->sim), CSI_OK);
}

/* ---- At the API server ---- */

static void
see_end(Milestones *self,
        const Object *before,
        const Object *after,
        MilestoneKind deleted,
        MilestoneKind gone)
{
    const Object *object = before != NULL ? before : after;

    if (after != NULL && object_is_deleted(after) && (before == NULL || !object_is_deleted(before)))
        milestones_add(self, deleted, object->key, NULL);
    else if (after == NULL && !object_is_deleted(before)) /* nothing blocked the pod */
        milestones_add(self, deleted, object->key, NULL);
    if (after == NULL)
        milestones_add(self, gone, object->key, NULL);
}

static gboolean
annotation_appeared(const Object *before, const Object *after, const char *annotation)
{
    return object_annotation(after, annotation) != NULL &&
           (before == NULL || object_annotation(before, annotation) == NULL);
}

static void
remember_volume_of(Milestones *self, const Claim *claim)
{
    const ObjectKey **volume = sim_slots_place(&self->volume_of, claim->meta.key->slot);

    *volume = claim->volume_name == NULL
                  ? NULL /* bound as of a dump only */
                  : objects_key(self->objects, KIND_VOLUME, NULL, claim->volume_name);
}

static void
see_growth(Milestones *self, const Claim *before, const Claim *after)
{
    const ObjectKey *key = after->meta.key;

    if (before == NULL || before->phase != CLAIM_BOUND)
        return;
    if (after->request_bytes > before->request_bytes)
        milestones_add(self, MILESTONE_CLAIM_EXPANSION_ASKED, key, NULL);
    if (after->resize_status != before->resize_status &&
        g_strcmp0(after->resize_status, "NodeResizePending") == 0)
        milestones_add(self, MILESTONE_CLAIM_NODE_AWAITED, key, NULL);
    if (after->capacity_bytes > before->capacity_bytes)
        milestones_add(self, MILESTONE_CLAIM_EXPANDED, key, NULL);
}

/* Releases before 1.23 write only the beta annotation. */
static gboolean
provisioner_was_asked(const Object *before, const Object *after)
{
    return annotation_appeared(before, after, ANNOTATION_STORAGE_PROVISIONER) ||
           (object_annotation(after, ANNOTATION_STORAGE_PROVISIONER) == NULL &&
            annotation_appeared(before, after, ANNOTATION_BETA_STORAGE_PROVISIONER));
}

static void
see_annotations(Milestones *self, const Object *before, const Object *after)
{
    if (annotation_appeared(before, after, ANNOTATION_SELECTED_NODE))
        milestones_add(self, MILESTONE_CLAIM_SELECTED, after->key,
                       object_annotation(after, ANNOTATION_SELECTED_NODE));
    if (provisioner_was_asked(before, after))
        milestones_add(self, MILESTONE_CLAIM_ANNOTATED, after->key, NULL);
}

static gboolean
has_source(const Claim *claim)
{
    const char *kind = claim->data_source.kind;

    return g_strcmp0(kind, "VolumeSnapshot") == 0 || g_strcmp0(kind, "PersistentVolumeClaim") == 0;
}

static void
milestones_see_claim(Milestones *self, const Claim *before, const Claim *after)
{
    const Object *old = before == NULL ? NULL : &before->meta;

    if (after != NULL) {
        const ObjectKey *key = after->meta.key;
        if (before == NULL)
            milestones_add(self, MILESTONE_CLAIM_CREATED, key, NULL);
        if (before == NULL && has_source(after))
            milestones_add(self, MILESTONE_CLAIM_SOURCE_NAMED, key, NULL);
        if (old == NULL || old->annotations != after->meta.annotations)
            see_annotations(self, old, &after->meta);
        if (after->phase == CLAIM_BOUND && (before == NULL || before->phase != CLAIM_BOUND)) {
            remember_volume_of(self, after);
            milestones_add(self, MILESTONE_CLAIM_BOUND, key, NULL);
        }
        if (after->phase == CLAIM_LOST && (before == NULL || before->phase != CLAIM_LOST))
            milestones_add(self, MILESTONE_CLAIM_LOST, key, NULL);
        see_growth(self, before, after);
    }
    see_end(self, old, after == NULL ? NULL : &after->meta, MILESTONE_CLAIM_DELETED,
            MILESTONE_CLAIM_GONE);
}

static void
milestones_see_volume(Milestones *self, const Volume *before, const Volume *after)
{
    if (after != NULL) {
        ObjectKey *key = (ObjectKey *)after->meta.key;
        if (before == NULL) {
            milestones_add(self, MILESTONE_VOLUME_CREATED, key, NULL);
            volume_names_add(self->names, after);
        }
        if (after->phase == VOLUME_BOUND && (before == NULL || before->phase != VOLUME_BOUND))
            milestones_add(self, MILESTONE_VOLUME_BOUND, key, NULL);
        if (after->phase == VOLUME_RELEASED && (before == NULL || before->phase != VOLUME_RELEASED))
            milestones_add(self, MILESTONE_VOLUME_RELEASED, key, NULL);
        if (before != NULL && after->capacity_bytes > before->capacity_bytes)
            milestones_add(self, MILESTONE_VOLUME_GROWN, key, NULL);
    }
    see_end(self, before == NULL ? NULL : &before->meta, after == NULL ? NULL : &after->meta,
            MILESTONE_VOLUME_DELETED, MILESTONE_VOLUME_GONE);
}

static void
milestones_add_pod(Milestones *self, const Pod *pod)
{
    const ObjectKey *key = pod->meta.key;

    uint32_t *last = sim_slots_place(&self->last_pods, key->slot);
    PodRecord record = {.pod = key,
                        .volumes = pod_volumes_keep(pod->volumes, self->cold),
                        .inline_volumes = volume_names_add_pod(self->names, pod),
                        .labels = string_map_keep(pod->meta.labels, self->cold),
                        .incarnation = (uint16_t)key->incarnation,
                        .previous = *last};
    *(PodRecord *)sim_log_append(self->pods) = record;
    *last = self->pods->len;
}

static void
milestones_see_pod(Milestones *self, const Pod *before, const Pod *after)
{
    const PodPhase old_phase = before == NULL ? POD_PENDING : before->phase;

    if (after != NULL) {
        const ObjectKey *key = after->meta.key;
        if (before == NULL) {
            milestones_add_pod(self, after);
            milestones_add(self, MILESTONE_POD_CREATED, key, NULL);
        }
        if (after->scheduled.status == CONDITION_FALSE &&
            (before == NULL || before->scheduled.status != CONDITION_FALSE))
            milestones_add(self, MILESTONE_POD_UNSCHEDULABLE, key, NULL);
        if (after->node_name != NULL && (before == NULL || before->node_name == NULL))
            milestones_add(self, MILESTONE_POD_SCHEDULED, key, after->node_name);
        if (after->phase == POD_RUNNING && old_phase != POD_RUNNING)
            milestones_add(self, MILESTONE_POD_RUNNING, key, after->node_name);
        if (pod_is_ready(after) && (before == NULL || !pod_is_ready(before)))
            milestones_add(self, MILESTONE_POD_READY, key, after->node_name);
        if (before != NULL && pod_is_ready(before) && !pod_is_ready(after) &&
            !pod_is_terminal(after))
            milestones_add(self, MILESTONE_POD_NOT_READY, key, after->node_name);
        if (pod_is_terminal(after) && (before == NULL || !pod_is_terminal(before)))
            milestones_add(self, MILESTONE_POD_STOPPED, key, after->node_name);
    }
    see_end(self, before == NULL ? NULL : &before->meta, after == NULL ? NULL : &after->meta,
            MILESTONE_POD_DELETED, MILESTONE_POD_GONE);
}

static void
see_pulled(void *data, const Object *pod)
{
    milestones_add(data, MILESTONE_POD_PULLED, pod->key, POD_CONST(pod)->node_name);
}

static void
milestones_see_attachment(Milestones *self, const Attachment *before, const Attachment *after)
{
    const Attachment *any = after != NULL ? after : before;

    const ObjectKey *volume = volume_names_of_attachment(self->names, any);
    if (volume == NULL)
        return;
    if (before == NULL)
        milestones_add(self, MILESTONE_VOLUME_ATTACH_REQUESTED, volume, any->node_name);
    if (after != NULL && after->attached && (before == NULL || !before->attached))
        milestones_add(self, MILESTONE_VOLUME_ATTACHED, volume, any->node_name);
    gboolean was_deleted = before != NULL && object_is_deleted(&before->meta);
    if (!was_deleted && (after == NULL || object_is_deleted(&after->meta)))
        milestones_add(self, MILESTONE_VOLUME_DETACH_REQUESTED, volume, any->node_name);
    if (after == NULL)
        milestones_add(self, MILESTONE_VOLUME_DETACHED, volume, any->node_name);
}

static gboolean
milestones_list_has(const StringList *list, const char *name)
{
    for (unsigned i = 0; list != NULL && i < list->n_items; i++) {
        if (strings_same(list->items[i], name))
            return TRUE;
    }
    return FALSE;
}

/* Volumes that are in only one of two lists of a node's status. */
static void
see_list(Milestones *self,
         const StringList *has,
         const StringList *has_not,
         const char *node,
         MilestoneKind kind)
{
    for (unsigned i = 0; has != NULL && i < has->n_items; i++) {
        if (milestones_list_has(has_not, has->items[i]))
            continue;
        const ObjectKey *volume = volume_names_of_unique_name(self->names, has->items[i]);
        if (volume != NULL)
            milestones_add(self, kind, volume, node);
    }
}

static void
milestones_see_node(Milestones *self, const Node *before, const Node *after)
{
    if (before == NULL || after == NULL)
        return;
    const char *name = object_name(&after->meta);
    if (before->volumes_in_use != after->volumes_in_use) {
        see_list(self, after->volumes_in_use, before->volumes_in_use, name,
                 MILESTONE_VOLUME_IN_USE);
        see_list(self, before->volumes_in_use, after->volumes_in_use, name,
                 MILESTONE_VOLUME_NOT_IN_USE);
    }
    if (before->volumes_attached != after->volumes_attached) {
        see_list(self, after->volumes_attached, before->volumes_attached, name,
                 MILESTONE_VOLUME_REPORTED);
        see_list(self, before->volumes_attached, after->volumes_attached, name,
                 MILESTONE_VOLUME_NOT_REPORTED);
    }
}

static void
see_snapshot(Milestones *self, const VolumeSnapshot *before, const VolumeSnapshot *after)
{
    if (after != NULL) {
        const ObjectKey *key = after->meta.key;
        if (before == NULL) {
            char uid[OBJECT_UID_BUFFER];
            milestones_add(self, MILESTONE_SNAPSHOT_CREATED, key, NULL);
            pointer_map_set(&self->by_uid,
                            strings_intern(objects_strings(self->objects),
                                           object_uid_format(after->meta.uid, uid)),
                            (void *)key);
        }
        if (after->readiness == SNAPSHOT_READY &&
            (before == NULL || before->readiness != SNAPSHOT_READY))
            milestones_add(self, MILESTONE_SNAPSHOT_READY, key, NULL);
    }
    see_end(self, before == NULL ? NULL : &before->meta, after == NULL ? NULL : &after->meta,
            MILESTONE_SNAPSHOT_DELETED, MILESTONE_SNAPSHOT_GONE);
}

/* A content counts for its VolumeSnapshot. */
static void
see_content(Milestones *self, const SnapshotContent *before, const SnapshotContent *after)
{
    if (after == NULL || after->snapshot.name == NULL)
        return;
    const ObjectKey *snapshot = objects_key(self->objects, KIND_VOLUME_SNAPSHOT,
                                            after->snapshot.namespace, after->snapshot.name);
    if (before == NULL)
        milestones_add(self, MILESTONE_SNAPSHOT_CONTENT_CREATED, snapshot, NULL);
    if (after->handle != NULL && (before == NULL || before->handle == NULL))
        milestones_add(self, MILESTONE_SNAPSHOT_TAKEN, snapshot, NULL);
}

static void
milestones_see_write(void *data, const RunRecord *record)
{
    Milestones *self = data;
    const Object *before = record->before, *after = record->after;
    ObjectKind kind = record->object->kind;

    if (kind != KIND_LEASE) /* renewed even in an idle cluster */
        self->last_change = sim_now(self->sim);
    switch ((int)kind) {
    case KIND_POD:
        milestones_see_pod(self, (const Pod *)before, (const Pod *)after);
        break;
    case KIND_CLAIM:
        milestones_see_claim(self, (const Claim *)before, (const Claim *)after);
        break;
    case KIND_VOLUME:
        milestones_see_volume(self, (const Volume *)before, (const Volume *)after);
        break;
    case KIND_ATTACHMENT:
        milestones_see_attachment(self, (const Attachment *)before, (const Attachment *)after);
        break;
    case KIND_NODE:
        milestones_see_node(self, (const Node *)before, (const Node *)after);
        break;
    case KIND_VOLUME_SNAPSHOT:
        see_snapshot(self, (const VolumeSnapshot *)before, (const VolumeSnapshot *)after);
        break;
    case KIND_SNAPSHOT_CONTENT:
        see_content(self, (const SnapshotContent *)before, (const SnapshotContent *)after);
        break;
    }
}

/* ---- At the drivers ---- */

/* clang-format off */
#define MILESTONE_CALLS(X) \
    X(CREATE_VOLUME,               VOLUME_PROVISION_STARTED,   VOLUME_PROVISION_ENDED) \
    X(DELETE_VOLUME,               VOLUME_DELETE_STARTED,      VOLUME_DELETE_ENDED) \
    X(CONTROLLER_PUBLISH_VOLUME,   VOLUME_ATTACH_STARTED,      VOLUME_ATTACH_ENDED) \
    X(CONTROLLER_UNPUBLISH_VOLUME, VOLUME_DETACH_STARTED,      VOLUME_DETACH_ENDED) \
    X(NODE_STAGE_VOLUME,           VOLUME_STAGE_STARTED,       VOLUME_STAGED) \
    X(NODE_PUBLISH_VOLUME,         VOLUME_PUBLISH_STARTED,     VOLUME_PUBLISHED) \
    X(NODE_UNPUBLISH_VOLUME,       VOLUME_UNPUBLISH_STARTED,   VOLUME_UNPUBLISHED) \
    X(NODE_UNSTAGE_VOLUME,         VOLUME_UNSTAGE_STARTED,     VOLUME_UNSTAGED) \
    X(CONTROLLER_EXPAND_VOLUME,    VOLUME_EXPAND_STARTED,      VOLUME_EXPAND_ENDED) \
    X(NODE_EXPAND_VOLUME,          VOLUME_NODE_EXPAND_STARTED, VOLUME_NODE_EXPANDED) \
    X(CREATE_SNAPSHOT,             SNAPSHOT_CREATE_STARTED,    SNAPSHOT_CREATE_ENDED)
#define CALL_OF_METHOD(method, start, end) [CSI_##method] = {CSI_##method, MILESTONE_##start, MILESTONE_##end},
#define CALL_OF_KIND(method, start, end) \
    [MILESTONE_##start] = &calls_of_methods[CSI_##method], [MILESTONE_##end] = &calls_of_methods[CSI_##method],
/* clang-format on */

/* Methods that are no milestones are 0 throughout. */
static const MilestoneCall calls_of_methods[CSI_N_METHODS] = {MILESTONE_CALLS(CALL_OF_METHOD)};

const MilestoneCall *
milestone_call(MilestoneKind kind)
{
    static const MilestoneCall *const calls[N_MILESTONES] = {MILESTONE_CALLS(CALL_OF_KIND)};

    return calls[kind];
}

#define UID_LENGTH 36

/* The VolumeSnapshot whose uid ends the name. NULL: none, or its uid is shortened (SNAP-71) */
static const ObjectKey *
snapshot_of_call(const Milestones *self, const char *name)
{
    size_t length = name == NULL ? 0 : strlen(name);

    return length < UID_LENGTH
               ? NULL
               : pointer_map_get(&self->by_uid, strings_intern(objects_strings(self->objects),
                                                               name + length - UID_LENGTH));
}

/* The object of a call: for CreateVolume, the PersistentVolume that will have this name. NULL: the
 * call is no milestone */
static const ObjectKey *
object_of_call(const Milestones *self, const CsiCallRecord *call)
{
    const CsiRequest *request = call->request;

    if (calls_of_methods[request->method].ended == 0)
        return NULL;
    if (request->method == CSI_CREATE_VOLUME)
        return objects_key(self->objects, KIND_VOLUME, NULL, request->name);
    if (request->method == CSI_CREATE_SNAPSHOT)
        return snapshot_of_call(self, request->name);
    return volume_names_of_id(self->names, call->driver, request->volume_id);
}

/* A plugin in the controller's own process has no VolumeAttachment that would tell these
 * milestones: its calls do. @attach, @detach: the milestone of each method */
static void
add_in_process(Milestones *self,
               const ObjectKey *object,
               const CsiRequest *request,
               MilestoneKind attach,
               MilestoneKind detach)
{
    if (request->is_in_process && (request->method == CSI_CONTROLLER_PUBLISH_VOLUME ||
                                   request->method == CSI_CONTROLLER_UNPUBLISH_VOLUME))
        milestones_add(self, request->method == CSI_CONTROLLER_PUBLISH_VOLUME ? attach : detach,
                       object, request->node_id);
}

static void
milestones_see_start(void *data, const RunRecord *record)
{
    const CsiCallRecord *call = record->call;
    const ObjectKey *object = object_of_call(data, call);

    if (object == NULL)
        return;
    add_in_process(data, object, call->request, MILESTONE_VOLUME_ATTACH_REQUESTED,
                   MILESTONE_VOLUME_DETACH_REQUESTED);
    add_with_code(data, calls_of_methods[call->request->method].started, object,
                  csi_request_node(call->request), call->started_at, call->cause, CSI_OK);
}

static void
milestones_see_answer(void *data, const RunRecord *record)
{
    const CsiCallRecord *call = record->call;
    const ObjectKey *object = object_of_call(data, call);
    const Sim *sim = ((Milestones *)data)->sim;

    if (object == NULL)
        return;
    add_with_code(data, calls_of_methods[call->request->method].ended, object,
                  csi_request_node(call->request), sim_now(sim), sim_cause(sim), call->answer);
    if (call->answer == CSI_OK)
        add_in_process(data, object, call->request, MILESTONE_VOLUME_ATTACHED,
                       MILESTONE_VOLUME_DETACHED);
}

Milestones *
milestones_new(Cluster *cluster, Records *records, Sim *sim, Objects *objects)
{
    Milestones *self = g_new0(Milestones, 1);

    self->sim = sim;
    self->api = cluster_api(cluster);
    self->objects = objects;
    self->cold = sim_cold(sim);
    self->blocks = g_ptr_array_new();
    self->nodes = g_ptr_array_new();
    self->pods = sim_log_new(self->cold, sizeof(PodRecord));
    self->last_pods = (SimSlots){.cold = self->cold, .element_size = sizeof(uint32_t)};
    self->volume_of = (SimSlots){.cold = self->cold, .element_size = sizeof(const ObjectKey *)};
    self->names = volume_names_new(cluster, objects);
    for (unsigned i = 0; i < N_KINDS; i++)
        self->last[i] = self->last_pods;
    records_watch(records, RECORD_WRITE, milestones_see_write, self);
    records_watch(records, RECORD_CALL_STARTED, milestones_see_start, self);
    records_watch(records, RECORD_CALL_ANSWERED, milestones_see_answer, self);
    cluster_watch_pulls(cluster, see_pulled, self);
    return self;
}

void
milestones_free(Milestones *self)
{
    if (self == NULL)
        return;
    for (unsigned i = 0; i < self->pods->len; i++) {
        pod_volumes_unkeep(sim_log_index(self->pods, PodRecord, i).volumes, self->cold);
        g_free(sim_log_index(self->pods, PodRecord, i).inline_volumes);
        string_map_unkeep(sim_log_index(self->pods, PodRecord, i).labels, self->cold);
    }
    for (unsigned i = 0; i < N_KINDS; i++)
        sim_slots_clear(&self->last[i]);
    for (unsigned i = 0; i < self->blocks->len; i++) {
        sim_cold_give(self->cold, ((MilestonesBlock *)self->blocks->pdata[i])->causes);
        sim_cold_give(self->cold, self->blocks->pdata[i]);
    }
    g_ptr_array_unref(self->blocks);
    g_ptr_array_unref(self->nodes);
    pointer_map_clear(&self->node_numbers, NULL);
    sim_log_free(self->pods);
    sim_slots_clear(&self->last_pods);
    sim_slots_clear(&self->volume_of);
    volume_names_free(self->names);
    pointer_map_clear(&self->by_uid, NULL);
    g_free(self);
}

unsigned
milestones_count(const Milestones *self)
{
    return self->n_milestones;
}

/* @object: whose milestone it is, or NULL: to be looked up */
static inline Milestone
unpack(const Milestones *self, unsigned i, const ObjectKey *object)
{
    const MilestonesBlock *block = block_of(self, i);
    const MilestonesEntry *entry = &block->entries[i % BLOCK_LENGTH];

    return (Milestone){
        .object = object != NULL
                      ? object
                      : objects_key_at(self->objects, object_kind_of((MilestoneKind)entry->kind),
                                       entry->slot),
        .node = entry->node == 0 ? NULL : self->nodes->pdata[entry->node - 1],
        .at = entry->at,
        .previous = entry->previous,
        .cause = block->causes == NULL ? 0 : block->causes[i % BLOCK_LENGTH],
        .incarnation = entry->incarnation,
        .kind = entry->kind,
        .code = entry->code,
    };
}

Milestone
milestones_at(const Milestones *self, unsigned i)
{
    return unpack(self, i, NULL);
}

void
milestones_of(const Milestones *self, const ObjectKey *object, GArray *milestones)
{
    unsigned n = 0;

    for (uint32_t i = milestones_last(self, object); i != 0;) {
        if (n == milestones->len)
            g_array_set_size(milestones, 2 * n + 16);
        Milestone *place = &g_array_index(milestones, Milestone, n++);
        *place = unpack(self, i - 1, object);
        i = place->previous;
    }
    g_array_set_size(milestones, n);
}

uint32_t
milestones_last(const Milestones *self, const ObjectKey *object)
{
    const uint32_t *head = sim_slots_find(&self->last[object->kind], object->slot);

    return head == NULL ? 0 : *head;
}

unsigned
milestones_n_pods(const Milestones *self)
{
    return self->pods->len;
}

const PodRecord *
milestones_pod(const Milestones *self, unsigned i)
{
    return &sim_log_index(self->pods, PodRecord, i);
}

const PodRecord *
milestones_find_pod(const Milestones *self, const ObjectKey *pod, unsigned incarnation)
{
    const uint32_t *last = sim_slots_find(&self->last_pods, pod->slot);
    uint32_t i = last == NULL ? 0 : *last;

    while (i != 0 && milestones_pod(self, i - 1)->incarnation != incarnation)
        i = milestones_pod(self, i - 1)->previous;
    return i == 0 ? NULL : milestones_pod(self, i - 1);
}

const ObjectKey *
milestones_volume_of(const Milestones *self, const ObjectKey *claim)
{
    return sim_slots_pointer(&self->volume_of, claim->slot);
}

SimTime
milestones_last_change(const Milestones *self)
{
    return self->last_change;
}
