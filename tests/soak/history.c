/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "history.h"

#include <string.h>

#include "models/api/snapshot.h"
#include "models/api/workload.h"
#include "models/csi/modelled/modelled-test.h"
#include "models/plan/plan.h"

#define TAKES_OVER_WITHIN                                                                          \
    (5 * SIM_MINUTE)           /* a restarted provisioner: its start, and the queue before it */
#define WATCH_DELAY SIM_SECOND /* longer than any */
/* ADC-45: the attach/detach controller no longer waits for a silent node. */
#define GIVES_UP_AFTER (6 * SIM_MINUTE)

typedef struct {
    Place place;
    gboolean may_be_staged;
    gboolean is_imported; /* it was staged already when the run began */
    gboolean attach_pending;
    GPtrArray *directories; /* of target paths, interned */
} PlaceRecord;

struct History {
    const Run *run;
    Sim *sim;
    Objects *objects;
    GHashTable *places;             /* "volume node" -> PlaceRecord */
    GHashTable *asked_at;           /* name of a volume -> SimTime: its first CreateVolume */
    GHashTable *claims;             /* uid of a claim -> SimTime: it has gone */
    GHashTable *registered;         /* "driver node" -> SimTime */
    GHashTable *decided;            /* key of a pod -> SimTime: the scheduler chose a node for it */
    GHashTable *detach_asked;       /* set of names of volumes, interned */
    GHashTable *node_changes;       /* interned node -> SimTime: its taints or cordon changed */
    GHashTable *forgotten_contents; /* set of names of VolumeSnapshotContents, interned */
    GHashTable *out_of_service;     /* set of names of nodes that have had the taint, interned */
    GHashTable *restoring;  /* set of names of volumes that claims were to get from snapshots */
    GHashTable *attached;   /* set of "volume node" */
    GHashTable *suspended;  /* key of a CronJob -> SimTime */
    GHashTable *gone;       /* key of a pod -> SimTime: it went */
    GHashTable *no_execute; /* interned node -> SimTime: since when it drives pods away */
    GHashTable *cramped;    /* set of handles of volumes without room to grow, interned */
    GHashTable *kept;       /* set of handles of volumes that were to be kept, interned */
};

static void
place_record_free(void *data)
{
    PlaceRecord *record = data;

    g_ptr_array_unref(record->directories);
    g_free(record);
}

static void saw_csi_node(History *self, const CsiNode *before, const CsiNode *csi_node);
static void note_taints(const History *self, const Node *node);

History *
history_new(const Run *run)
{
    History *self = g_new0(History, 1);

    self->run = run;
    self->sim = run_sim(run);
    self->objects = run_objects(run);
    self->places = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, place_record_free);
    self->asked_at = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
    self->claims = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
    self->registered = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
    self->decided = g_hash_table_new_full(NULL, NULL, NULL, g_free);
    self->detach_asked = g_hash_table_new(NULL, NULL);
    self->node_changes = g_hash_table_new_full(NULL, NULL, NULL, g_free);
    self->forgotten_contents = g_hash_table_new(NULL, NULL);
    self->out_of_service = g_hash_table_new(g_str_hash, g_str_equal);
    self->restoring = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    self->attached = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    self->suspended = g_hash_table_new_full(NULL, NULL, NULL, g_free);
    self->gone = g_hash_table_new_full(NULL, NULL, NULL, g_free);
    self->no_execute = g_hash_table_new_full(NULL, NULL, NULL, g_free);
    self->cramped = g_hash_table_new(g_str_hash, g_str_equal);
    self->kept = g_hash_table_new(g_str_hash, g_str_equal);
    for (uint32_t i = 0; i < objects_n_keys(self->objects, KIND_CSI_NODE); i++) {
        const Object *csi_node = api_server_get(cluster_api(run_cluster(run)),
                                                objects_key_at(self->objects, KIND_CSI_NODE, i));
        if (csi_node != NULL)
            saw_csi_node(self, NULL, (const CsiNode *)csi_node);
    }
    for (uint32_t i = 0; i < objects_n_keys(self->objects, KIND_NODE); i++) {
        const Object *node = api_server_get(cluster_api(run_cluster(run)),
                                            objects_key_at(self->objects, KIND_NODE, i));
        if (node != NULL)
            note_taints(self, (const Node *)node);
    }
    return self;
}

void
history_free(History *self)
{
    if (self == NULL)
        return;
    g_hash_table_unref(self->places);
    g_hash_table_unref(self->asked_at);
    g_hash_table_unref(self->claims);
    g_hash_table_unref(self->registered);
    g_hash_table_unref(self->decided);
    g_hash_table_unref(self->detach_asked);
    g_hash_table_unref(self->node_changes);
    g_hash_table_unref(self->forgotten_contents);
    g_hash_table_unref(self->out_of_service);
    g_hash_table_unref(self->restoring);
    g_hash_table_unref(self->attached);
    g_hash_table_unref(self->suspended);
    g_hash_table_unref(self->gone);
    g_hash_table_unref(self->no_execute);
    g_hash_table_unref(self->cramped);
    g_hash_table_unref(self->kept);
    g_free(self);
}

static void
note_now(const History *self, GHashTable *table, const void *key)
{
    SimTime *at = g_new(SimTime, 1);

    *at = sim_now(self->sim);
    g_hash_table_insert(table, (void *)key, at);
}

/* The first time counts. */
static void
note_time(const History *self, GHashTable *table, char *key /* taken */)
{
    if (g_hash_table_contains(table, key)) {
        g_free(key);
        return;
    }
    SimTime *at = g_new(SimTime, 1);
    *at = sim_now(self->sim);
    g_hash_table_insert(table, key, at);
}

static SimTime
noted_time(GHashTable *table, const char *key)
{
    const SimTime *at = g_hash_table_lookup(table, key);

    return at == NULL ? TIME_UNSET : *at;
}

static PlaceRecord *
find_place(const History *self, const char *volume_id, const char *node)
{
    g_autofree char *key = g_strdup_printf("%s %s", volume_id, node);

    return g_hash_table_lookup(self->places, key);
}

static PlaceRecord *
make_place(History *self, const CsiCallRecord *call, const char *node)
{
    const char *volume_id = call->request->volume_id;
    PlaceRecord *record = find_place(self, volume_id, node);

    if (record != NULL)
        return record;
    record = g_new0(PlaceRecord, 1);
    record->place.attach_asked_at = record->place.bare_since = TIME_UNSET;
    record->place.left_at = TIME_UNSET;
    record->is_imported = record->may_be_staged = csi_modelled_driver_is_staged(
        csi_modelled_driver_cast((CsiDriver *)call->driver), volume_id, node);
    record->directories = g_ptr_array_new();
    g_hash_table_insert(self->places, g_strdup_printf("%s %s", volume_id, node), record);
    return record;
}

Place
history_place(const History *self, const char *volume_id, const char *node)
{
    const PlaceRecord *record = find_place(self, volume_id, node);

    if (record == NULL)
        return (Place){
            .attach_asked_at = TIME_UNSET, .bare_since = TIME_UNSET, .left_at = TIME_UNSET};
    Place place = record->place;
    place.attach_failed |= record->attach_pending;
    return place;
}

SimTime
history_registered_at(const History *self, const char *driver, const char *node)
{
    g_autofree char *key = g_strdup_printf("%s %s", driver, node);

    return noted_time(self->registered, key);
}

/* How long a process needs at most to be up again after its fault is over. */
#define IS_BACK_WITHIN SIM_MINUTE
/* A leader that cannot renew its Lease for so long exits (CGO-62). */
#define EXITS_AFTER (10 * SIM_SECOND)

static gboolean
is_victim(const RunFault *fault, const char *name)
{
    for (unsigned i = 0; i < fault->victims->len; i++)
        if (name == NULL || g_strcmp0(fault->victims->pdata[i], name) == 0 ||
            (fault->victims->pdata[i] != NULL && g_str_has_prefix(fault->victims->pdata[i], name) &&
             ((const char *)fault->victims->pdata[i])[strlen(name)] == '#')) /* a replica */
            return TRUE;
    return FALSE;
}

/* Whether the fault ends the process: its memory is gone then. */
static gboolean
ends_process(const RunFault *fault, const char *process, const char *instance)
{
    const ScenarioAction *action = fault->action;
    gboolean is_long = fault->until - fault->since > EXITS_AFTER;

    switch ((unsigned)action->fault) {
    case FAULT_CRASH:
        return g_str_equal(action->process, process) && is_victim(fault, instance);
    case FAULT_LOSE_LEADERSHIP:
        return g_str_equal(action->process, process);
    case FAULT_HANG:
        return g_str_equal(action->process, process) && is_victim(fault, instance) && is_long;
    case FAULT_POWER_OFF:
    case FAULT_SHUT_DOWN:
    case FAULT_STOP_KUBELET:
        return g_str_equal(process, "kubelet") && is_victim(fault, instance);
    case FAULT_API_OUTAGE:
        return !g_str_equal(process, "kubelet") && is_long;
    default:
        return FALSE;
    }
}

gboolean
history_has_crash(
    const History *self, const char *process, const char *instance, SimTime from, SimTime to)
{
    const GArray *faults = run_faults(self->run);

    for (unsigned i = 0; faults != NULL && i < faults->len; i++) {
        const RunFault *fault = &g_array_index(faults, RunFault, i);
        SimTime until = MIN(fault->until, SIM_TIME_MAX - IS_BACK_WITHIN) + IS_BACK_WITHIN;
        if (fault->since <= to && until >= from && ends_process(fault, process, instance))
            return TRUE;
    }
    return FALSE;
}

gboolean
history_was_deposed(const History *self, const char *process)
{
    const GArray *faults = run_faults(self->run);

    for (unsigned i = 0; faults != NULL && i < faults->len; i++) {
        const RunFault *fault = &g_array_index(faults, RunFault, i);
        if (fault->action->fault == FAULT_HANG && fault->until - fault->since > EXITS_AFTER &&
            g_str_equal(fault->action->process, process))
            return TRUE;
    }
    return FALSE;
}

/* Whether the node has been silent, or the API server or the controllers: since when, at least. */
gboolean
history_was_silent(const History *self, const char *node, SimTime at_least)
{
    const GArray *faults = run_faults(self->run);

    for (unsigned i = 0; faults != NULL && i < faults->len; i++) {
        const RunFault *fault = &g_array_index(faults, RunFault, i);
        FaultType type = fault->action->fault;
        SimTime until = MIN(fault->until, sim_now(self->sim));
        gboolean is_node = type == FAULT_POWER_OFF || type == FAULT_SHUT_DOWN ||
                           type == FAULT_STOP_KUBELET || type == FAULT_CUT_NETWORK ||
                           (type == FAULT_HANG && g_str_equal(fault->action->process, "kubelet"));
        if (is_node && is_victim(fault, node) && until - fault->since >= at_least)
            return TRUE;
    }
    return FALSE;
}

gboolean
history_is_given_up(const History *self, const char *node)
{
    const ObjectKey *key = objects_find_key(self->objects, KIND_NODE, NULL, node);
    const Object *object =
        key == NULL ? NULL : api_server_get(cluster_api(run_cluster(self->run)), key);

    return object == NULL || g_hash_table_contains(self->out_of_service, node) ||
           history_was_silent(self, node, GIVES_UP_AFTER);
}

gboolean
history_is_clock_over(const History *self, const char *volume_id, const char *node)
{
    const ObjectKey *key = objects_find_key(self->objects, KIND_NODE, NULL, node);
    const Object *object =
        key == NULL ? NULL : api_server_get(cluster_api(run_cluster(self->run)), key);
    const SimTime left_at = history_place(self, volume_id, node).left_at;

    return object != NULL && ((const Node *)object)->ready.status != CONDITION_TRUE &&
           (left_at == TIME_UNSET || left_at + GIVES_UP_AFTER <= sim_now(self->sim));
}

/* ---- Calls ---- */

/* Whether a pod older than the limit of its node has the volume on this node (VF-9, VF-W6). */
static gboolean
is_for_early_pod(const History *self, const char *driver, const CsiRequest *request)
{
    SimTime registered_at = history_registered_at(self, driver, request->node_id);
    ApiServer *api = cluster_api(run_cluster(self->run));

    for (uint32_t i = 0; i < objects_n_keys(self->objects, KIND_POD); i++) {
        const Pod *pod = POD_CONST(api_server_get(api, objects_key_at(self->objects, KIND_POD, i)));
        if (pod != NULL && g_strcmp0(pod->node_name, request->node_id) == 0 &&
            (registered_at == TIME_UNSET || pod->meta.created_at <= registered_at + WATCH_DELAY))
            return TRUE;
    }
    return FALSE;
}

/* Whether the directory of a pod has it. The publish of an imported volume was not seen. */
static gboolean
has_directory(const PlaceRecord *record, const CsiCallRecord *call, const char *node)
{
    const CsiModelledDriver *driver = csi_modelled_driver_cast((CsiDriver *)call->driver);

    return record->directories->len > 0 ||
           (record->is_imported &&
            csi_modelled_driver_n_targets(driver, call->request->volume_id, node) > 0);
}

static void
update_bare(const History *self, PlaceRecord *record, const CsiCallRecord *call, const char *node)
{
    if (!record->may_be_staged || has_directory(record, call, node))
        record->place.bare_since = TIME_UNSET;
    else if (record->place.bare_since == TIME_UNSET)
        record->place.bare_since = sim_now(self->sim);
}

static void
remove_directory(PlaceRecord *record, const char *path)
{
    g_ptr_array_remove(record->directories, (void *)path);
}

void
history_call_started(History *self, const CsiCallRecord *call)
{
    const CsiRequest *request = call->request;
    const char *node = request->node_id != NULL ? request->node_id : request->served_by;

    if (request->method == CSI_CREATE_VOLUME)
        note_time(self, self->asked_at, g_strdup(request->name));
    if (request->volume_id == NULL || node == NULL)
        return;
    PlaceRecord *record = make_place(self, call, node);
    switch ((unsigned)request->method) {
    case CSI_CONTROLLER_PUBLISH_VOLUME:
        if (record->place.attach_asked_at == TIME_UNSET) {
            record->place.attach_asked_at = sim_now(self->sim);
            record->place.came_early =
                is_for_early_pod(self, csi_driver_name(call->driver), request);
        }
        record->attach_pending = TRUE;
        break;
    case CSI_CONTROLLER_UNPUBLISH_VOLUME:
        record->place.detach_failed = TRUE;
        break;
    case CSI_NODE_STAGE_VOLUME:
        record->may_be_staged = TRUE;
        break;
    case CSI_NODE_PUBLISH_VOLUME:
        remove_directory(record, request->target_path);
        g_ptr_array_add(record->directories, (void *)request->target_path);
        break;
    }
    update_bare(self, record, call, node);
}

/* The answer for a dead caller is lost. */
void
history_call_answered(History *self, const CsiCallRecord *call)
{
    const CsiRequest *request = call->request;
    const char *node = request->node_id != NULL ? request->node_id : request->served_by;

    if (request->method == CSI_CONTROLLER_EXPAND_VOLUME && call->answer == CSI_RESOURCE_EXHAUSTED)
        g_hash_table_add(self->cramped, (void *)request->volume_id);
    else if (request->method == CSI_CONTROLLER_EXPAND_VOLUME)
        g_hash_table_remove(self->cramped, request->volume_id);
    if (request->volume_id == NULL || node == NULL || call->answered_at == SIM_TIME_MAX)
        return;
    PlaceRecord *record = make_place(self, call, node);
    gboolean is_done = call->answer == CSI_OK;
    switch ((unsigned)request->method) {
    case CSI_CONTROLLER_PUBLISH_VOLUME:
        record->attach_pending = FALSE;
        /* Stays TRUE: the controller knows of the failure, and perhaps not yet of a later success.
         */
        record->place.attach_failed |= !is_done;
        break;
    case CSI_CONTROLLER_UNPUBLISH_VOLUME:
        if (is_done)
            record->place = (Place){.attach_asked_at = TIME_UNSET,
                                    .bare_since = record->place.bare_since,
                                    .left_at = record->place.left_at};
        break;
    case CSI_NODE_PUBLISH_VOLUME:
        if (!is_done) /* a final error removes the directory (KVM-15); does not look at which errors
                         are final */
            remove_directory(record, request->target_path);
        break;
    case CSI_NODE_UNPUBLISH_VOLUME:
        if (is_done)
            remove_directory(record, request->target_path);
        break;
    case CSI_NODE_UNSTAGE_VOLUME:
        record->may_be_staged &= !is_done;
        break;
    }
    update_bare(self, record, call, node);
}

/* ---- Writes ---- */

static gboolean
has_driver(const CsiNode *csi_node, const char *name)
{
    for (unsigned i = 0; csi_node->drivers != NULL && i < csi_node->drivers->n_items; i++)
        if (csi_node->drivers->items[i].name == name)
            return TRUE;
    return FALSE;
}

/* REG-24: between two registrations of a driver its node has no limit (VF-3). */
static void
saw_csi_node(History *self, const CsiNode *before, const CsiNode *csi_node)
{
    for (unsigned i = 0; before != NULL && before->drivers != NULL && i < before->drivers->n_items;
         i++) {
        const char *name = before->drivers->items[i].name;
        g_autofree char *key = g_strdup_printf("%s %s", name, csi_node->meta.key->name);
        if (!has_driver(csi_node, name))
            g_hash_table_remove(self->registered, key);
    }
    for (unsigned i = 0; csi_node->drivers != NULL && i < csi_node->drivers->n_items; i++)
        note_time(
            self, self->registered,
            g_strdup_printf("%s %s", csi_node->drivers->items[i].name, csi_node->meta.key->name));
}

static void
note_taints(const History *self, const Node *node)
{
    const char *name = node->meta.key->name;

    if (taints_find(node->taints, NULL, TAINT_NO_EXECUTE) == NULL)
        g_hash_table_remove(self->no_execute, name);
    else if (!g_hash_table_contains(self->no_execute, name))
        note_now(self, self->no_execute, name);
}

static void
saw_node(History *self, const Node *before, const Node *node)
{
    note_taints(self, node);
    if (before == NULL || before->unschedulable != node->unschedulable ||
        before->taints != node->taints) {
        SimTime *at = g_new(SimTime, 1);
        *at = sim_now(self->sim);
        g_hash_table_insert(self->node_changes, (void *)node->meta.key->name, at);
    }
    for (unsigned i = 0; node->taints != NULL && i < node->taints->n_items; i++)
        if (g_str_equal(node->taints->items[i].key, "node.kubernetes.io/out-of-service"))
            g_hash_table_add(self->out_of_service, (void *)node->meta.key->name);
}

/* It comes again with a new limit. */
static void
forget_csi_node(History *self, const char *node)
{
    g_autofree char *end = g_strdup_printf(" %s", node);
    GHashTableIter iter;
    void *key;

    g_hash_table_iter_init(&iter, self->registered);
    while (g_hash_table_iter_next(&iter, &key, NULL))
        if (g_str_has_suffix(key, end))
            g_hash_table_iter_remove(&iter);
}

/* ADC-30 to ADC-34, roughly. */
static gboolean
wants_volumes(const Pod *pod)
{
    return pod != NULL && pod->node_name != NULL && !pod_is_terminal(pod) &&
           !object_is_deleted(&pod->meta);
}

/* The pod no longer wants its volumes. */
static void
saw_pod_leave(const History *self, const Pod *pod)
{
    for (unsigned i = 0; pod->volumes != NULL && i < pod->volumes->n_items; i++) {
        const ObjectKey *key = pod_claim_key(self->objects, pod, &pod->volumes->items[i]);
        const Object *claim =
            key == NULL ? NULL : api_server_get(cluster_api(run_cluster(self->run)), key);
        const ObjectKey *name = claim == NULL
                                    ? NULL
                                    : objects_find_key(self->objects, KIND_VOLUME, NULL,
                                                       claim_volume_name(CLAIM_CONST(claim)));
        const Object *volume =
            name == NULL ? NULL : api_server_get(cluster_api(run_cluster(self->run)), name);
        PlaceRecord *record =
            volume == NULL || VOLUME_CONST(volume)->source->handle == NULL
                ? NULL
                : find_place(self, VOLUME_CONST(volume)->source->handle, pod->node_name);
        if (record != NULL)
            record->place.left_at = sim_now(self->sim);
    }
}

void
history_saw_write(History *self, const Object *before, const Object *after)
{
    char uid[OBJECT_UID_BUFFER];

    if (after != NULL && object_kind(after) == KIND_ATTACHMENT &&
        ((const Attachment *)after)->attached)
        g_hash_table_add(self->attached,
                         g_strdup_printf("%s %s", ((const Attachment *)after)->volume_name,
                                         ((const Attachment *)after)->node_name));
    if (before != NULL && after != NULL && object_kind(after) == KIND_CRON_JOB &&
        CRON_JOB_CONST(after)->suspend && !CRON_JOB_CONST(before)->suspend)
        note_now(self, self->suspended, after->key);
    if (before != NULL && object_kind(before) == KIND_POD && wants_volumes(POD_CONST(before)) &&
        (after == NULL || !wants_volumes(POD_CONST(after))))
        saw_pod_leave(self, POD_CONST(before));
    if (after == NULL && object_kind(before) == KIND_POD)
        note_now(self, self->gone, before->key);
    if (after == NULL && object_kind(before) == KIND_CSI_NODE)
        forget_csi_node(self, before->key->name);
    if (after == NULL && object_kind(before) == KIND_VOLUME &&
        VOLUME_CONST(before)->reclaim_policy == RECLAIM_RETAIN)
        g_hash_table_add(self->kept, (void *)VOLUME_CONST(before)->source->handle);
    if (after == NULL && object_kind(before) == KIND_CLAIM &&
        CLAIM_CONST(before)->phase == CLAIM_PENDING &&
        g_strcmp0(CLAIM_CONST(before)->data_source.kind, "VolumeSnapshot") == 0)
        g_hash_table_add(self->restoring,
                         g_strdup_printf("pvc-%s", object_uid_format(before->uid, uid)));
    if (after == NULL && object_kind(before) == KIND_CLAIM)
        note_time(self, self->claims, g_strdup(object_uid_format(before->uid, uid)));
    else if (after != NULL && object_kind(after) == KIND_CSI_NODE)
        saw_csi_node(self, (const CsiNode *)before, (const CsiNode *)after);
    else if (after != NULL && object_kind(after) == KIND_SNAPSHOT_CONTENT &&
             object_is_deleted(after) &&
             object_annotation(after, ANNOTATION_SNAPSHOT_BEING_CREATED))
        g_hash_table_add(self->forgotten_contents, (void *)after->key->name);
    else if (after != NULL && object_kind(after) == KIND_NODE)
        saw_node(self, (const Node *)before, (const Node *)after);
}

/* A plan of the scheduler about a pod: it has decided at its start. And the last look at a Node
 * before a detach. */
void
history_saw_step(
    void *data, const Component *component, const Plan *plan, const char *rule, const char *step)
{
    History *self = data;
    const ObjectKey *key = plan_key(plan);

    (void)step;
    if (key != NULL && g_strcmp0(rule, "ADC-57") == 0)
        g_hash_table_add(self->detach_asked, (void *)key->name);
    if (key == NULL || key->kind != KIND_POD ||
        !g_str_equal(component->class->name, "kube-scheduler"))
        return;
    SimTime *at = g_new(SimTime, 1);
    *at = plan_started_at(plan);
    g_hash_table_insert(self->decided, (void *)key, at);
}

/* ---- Questions ---- */

static SimTime
time_in(GHashTable *table, const void *key)
{
    const SimTime *at = g_hash_table_lookup(table, key);

    return at == NULL ? TIME_UNSET : *at;
}

gboolean
history_is_detach_asked(const History *self, const char *volume)
{
    return g_hash_table_contains(self->detach_asked, volume);
}

SimTime
history_decided_at(const History *self, const ObjectKey *pod)
{
    return time_in(self->decided, pod);
}

SimTime
history_node_changed_at(const History *self, const char *node)
{
    return time_in(self->node_changes, node);
}

gboolean
history_is_staging_forgotten(const History *self, const char *volume_id, const char *node)
{
    Place place = history_place(self, volume_id, node);

    return place.bare_since != TIME_UNSET &&
           history_has_crash(self, "kubelet", node, place.bare_since, sim_now(self->sim));
}

SimTime
history_gone_at(const History *self, const ObjectKey *pod)
{
    return time_in(self->gone, pod);
}

SimTime
history_no_execute_since(const History *self, const char *node)
{
    return time_in(self->no_execute, node);
}

gboolean
history_is_source_forgotten(const History *self, const char *name)
{
    return g_hash_table_contains(self->restoring, name);
}

gboolean
history_was_attached(const History *self, const char *volume, const char *node)
{
    g_autofree char *key = g_strdup_printf("%s %s", volume, node);

    return g_hash_table_contains(self->attached, key);
}

SimTime
history_suspended_at(const History *self, const ObjectKey *cron_job)
{
    return time_in(self->suspended, cron_job);
}

gboolean
history_is_cramped(const History *self, const char *volume_id)
{
    return g_hash_table_contains(self->cramped, volume_id);
}

gboolean
history_is_kept(const History *self, const char *volume_id)
{
    return g_hash_table_contains(self->kept, volume_id);
}

gboolean
history_is_snapshot_forgotten(const History *self, const char *content)
{
    return content != NULL && g_hash_table_contains(self->forgotten_contents, content);
}

gboolean
history_is_creation_forgotten(const History *self, const char *driver, const char *name)
{
    static const char prefix[] = "pvc-";
    SimTime asked_at = noted_time(self->asked_at, name);
    SimTime gone_at = g_str_has_prefix(name, prefix)
                          ? noted_time(self->claims, name + strlen(prefix))
                          : TIME_UNSET;

    if (asked_at == TIME_UNSET || gone_at == TIME_UNSET)
        return FALSE;
    return history_has_crash(self, "external-provisioner", driver,
                             MAX(asked_at, gone_at - TAKES_OVER_WITHIN), sim_now(self->sim));
}
