/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "history.h"

#include <string.h>

#define TAKES_OVER_WITHIN                                                                          \
    (5 * SIM_MINUTE)           /* a restarted provisioner: its start, and the queue before it */
#define WATCH_DELAY SIM_SECOND /* longer than any */

typedef struct {
    Place place;
    gboolean may_be_staged;
    gboolean attach_pending;
    GPtrArray *directories; /* of target paths, interned */
} PlaceRecord;

struct History {
    const Run *run;
    Sim *sim;
    Objects *objects;
    GHashTable *places;     /* "volume node" -> PlaceRecord */
    GHashTable *asked_at;   /* name of a volume -> SimTime: its first CreateVolume */
    GHashTable *claims;     /* uid of a claim -> SimTime: it has gone */
    GHashTable *registered; /* "driver node" -> SimTime */
};

static void
place_record_free(void *data)
{
    PlaceRecord *record = data;

    g_ptr_array_unref(record->directories);
    g_free(record);
}

static void saw_csi_node(History *self, const CsiNode *csi_node);

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
    for (uint32_t i = 0; i < objects_n_keys(self->objects, KIND_CSI_NODE); i++) {
        const Object *csi_node = api_server_get(cluster_api(run_cluster(run)),
                                                objects_key_at(self->objects, KIND_CSI_NODE, i));
        if (csi_node != NULL)
            saw_csi_node(self, (const CsiNode *)csi_node);
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
    g_free(self);
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
make_place(History *self, const char *volume_id, const char *node)
{
    PlaceRecord *record = find_place(self, volume_id, node);

    if (record != NULL)
        return record;
    record = g_new0(PlaceRecord, 1);
    record->place.attach_asked_at = record->place.bare_since = TIME_UNSET;
    record->directories = g_ptr_array_new();
    g_hash_table_insert(self->places, g_strdup_printf("%s %s", volume_id, node), record);
    return record;
}

Place
history_place(const History *self, const char *volume_id, const char *node)
{
    const PlaceRecord *record = find_place(self, volume_id, node);

    if (record == NULL)
        return (Place){.attach_asked_at = TIME_UNSET, .bare_since = TIME_UNSET};
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

gboolean
history_has_crash(
    const History *self, const char *process, const char *instance, SimTime from, SimTime to)
{
    const Scenario *scenario = run_scenario(self->run);

    for (unsigned i = 0; i < scenario->n_actions; i++) {
        const ScenarioAction *action = &scenario->actions[i];
        if (action->type == ACTION_FAULT && action->fault == FAULT_CRASH && action->at >= from &&
            action->at <= to && g_str_equal(action->process, process) &&
            (instance == NULL || g_strcmp0(action->instance, instance) == 0))
            return TRUE;
    }
    return FALSE;
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

static void
update_bare(const History *self, PlaceRecord *record)
{
    if (!record->may_be_staged || record->directories->len > 0)
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
    PlaceRecord *record = make_place(self, request->volume_id, node);
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
    update_bare(self, record);
}

/* The answer for a dead caller is lost. */
void
history_call_answered(History *self, const CsiCallRecord *call)
{
    const CsiRequest *request = call->request;
    const char *node = request->node_id != NULL ? request->node_id : request->served_by;

    if (request->volume_id == NULL || node == NULL || call->answered_at == SIM_TIME_MAX)
        return;
    PlaceRecord *record = make_place(self, request->volume_id, node);
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
            record->place =
                (Place){.attach_asked_at = TIME_UNSET, .bare_since = record->place.bare_since};
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
    update_bare(self, record);
}

/* ---- Writes ---- */

static void
saw_csi_node(History *self, const CsiNode *csi_node)
{
    for (unsigned i = 0; csi_node->drivers != NULL && i < csi_node->drivers->n_items; i++)
        note_time(
            self, self->registered,
            g_strdup_printf("%s %s", csi_node->drivers->items[i].name, csi_node->meta.key->name));
}

void
history_saw_write(History *self, const Object *before, const Object *after)
{
    char uid[OBJECT_UID_BUFFER];

    if (after == NULL && object_kind(before) == KIND_CLAIM)
        note_time(self, self->claims, g_strdup(object_uid_format(before->uid, uid)));
    else if (after != NULL && object_kind(after) == KIND_CSI_NODE)
        saw_csi_node(self, (const CsiNode *)after);
}

/* ---- Questions ---- */

gboolean
history_is_staging_forgotten(const History *self, const char *volume_id, const char *node)
{
    Place place = history_place(self, volume_id, node);

    return place.bare_since != TIME_UNSET &&
           history_has_crash(self, "kubelet", node, place.bare_since, sim_now(self->sim));
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
