/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The resources of the API: a resource for each kind, with a log of its changes for watches, over
 * the objects of the run. A log begins when a client first lists or watches the resource, and has a
 * fixed number of changes; JSON is made of a change only when a watch reads it. Objects that the
 * run does not have (endpoints, for instance) are kept here as documents.
 *
 * Objects that clients have written get managedFields, with a part for components, so that
 * server-side apply finds conflicts; others have none, and cost nothing. */
#include "store-private.h"

#include <inttypes.h>
#include <string.h>

#include "complete.h"
#include "models/api/fields.h"
#include "run/results/snapshot.h"
#include "serve/api/apply/managed-fields.h"
#include "serve/api/openapi/custom.h"

/* The number of changes that keep their JSON. */
#define JSON_KEPT 512

/* ---- Changes ---- */

static void
change_clear_json(StoreChange *self)
{
    g_clear_pointer(&self->json, json_decref);
    g_clear_pointer(&self->old, json_decref);
    g_datalist_clear(&self->lines);
}

static void
change_clear(StoreChange *self)
{
    change_clear_json(self);
    object_unref(self->before);
    object_unref(self->after);
    *self = (StoreChange){0};
}

static StoreChange *
change_at(const StoreKind *kind, uint64_t i)
{
    return &kind->changes[i % CHANGES_MAX];
}

/* Makes room for the next change. Returns: (borrowed) */
static StoreChange *
change_add(StoreKind *kind)
{
    StoreChange *change = change_at(kind, kind->n_changes++);

    change_clear(change);
    if (kind->n_changes > JSON_KEPT && !change_at(kind, kind->n_changes - JSON_KEPT)->is_made)
        change_clear_json(change_at(kind, kind->n_changes - JSON_KEPT));
    return change;
}

static void
tell_listeners(StoreKind *kind)
{
    for (unsigned i = 0; i < kind->listeners->len; i++) {
        const StoreListener *listener = &g_array_index(kind->listeners, StoreListener, i);
        listener->changed(listener->data);
    }
}

void
store_log(StoreKind *kind)
{
    if (kind->changes != NULL)
        return;
    kind->changes = g_new0(StoreChange, CHANGES_MAX);
    kind->since = store_version(kind);
    if (kind->has_events)
        kind->store->events = kind;
    if (kind->number == 0) {
        kind->store->of_run[kind->kind] = kind;
        return;
    }
    if (kind->number >= kind->store->others->len)
        g_ptr_array_set_size(kind->store->others, (int)kind->number + 1);
    kind->store->others->pdata[kind->number] = kind;
}

gboolean
store_find_change(const StoreKind *kind, uint64_t version, uint64_t *number)
{
    uint64_t low = kind->n_changes > CHANGES_MAX ? kind->n_changes - CHANGES_MAX : 0,
             high = kind->n_changes;
    uint64_t known = low == 0 ? kind->since : change_at(kind, low)->version;

    if (version < known)
        return FALSE;
    while (low < high) {
        uint64_t middle = low + (high - low) / 2;
        if (change_at(kind, middle)->version > version)
            high = middle;
        else
            low = middle + 1;
    }
    *number = low;
    return TRUE;
}

void
store_listen(StoreKind *kind, const StoreListener *listener)
{
    g_array_append_val(kind->listeners, *listener);
}

void
store_unlisten(StoreKind *kind, const void *data)
{
    for (unsigned i = kind->listeners->len; i-- > 0;)
        if (g_array_index(kind->listeners, StoreListener, i).data == data)
            g_array_remove_index_fast(kind->listeners, i);
}

void
serve_store_wake(const ServeStore *self)
{
    GHashTableIter iter;
    void *value;

    g_hash_table_iter_init(&iter, self->kinds);
    while (g_hash_table_iter_next(&iter, NULL, &value)) {
        const StoreKind *kind = value;
        for (unsigned i = 0; i < kind->listeners->len; i++) {
            const StoreListener *listener = &g_array_index(kind->listeners, StoreListener, i);
            listener->changed(listener->data);
        }
    }
}

/* ---- JSON ---- */

char *
serve_store_now(const ServeStore *self)
{
    const Sim *sim = run_sim(self->run);
    char buffer[API_TIME_BUFFER];

    return g_strdup(api_time_format(sim_start(sim) + sim_now(sim), FALSE, buffer));
}

void
store_set_version(json_t *object, uint64_t version)
{
    char text[24];

    g_snprintf(text, sizeof text, "%" PRIu64, version);
    json_object_set_new(json_object_get(object, "metadata"), "resourceVersion", json_string(text));
}

static gboolean
is_definition(const ServeStore *self, const Object *object)
{
    const ObjectKey *key = object->key;

    return key->resource != 0 && strcmp(objects_resource_name(run_objects(self->run), key),
                                        "customresourcedefinitions") == 0;
}

/* Returns: (owned): an object of the run with its managedFields */
static json_t *
print_object(const ServeStore *self, const Object *object)
{
    json_t *json = snapshot_object(self->run, object);
    json_t *metadata = json_object_get(json, "metadata");
    const char *uid = json_path_string(metadata, "uid");
    json_t *fields = uid == NULL ? NULL : g_hash_table_lookup(self->managers, uid);

    complete_object(self->run, object, json);
    if (is_definition(self, object))
        custom_complete_definition(json, json_path_string(metadata, "creationTimestamp"));
    if (fields != NULL)
        json_object_set(metadata, "managedFields", fields);
    return json;
}

json_t *
store_print(const StoreKind *kind, const Object *object)
{
    return print_object(kind->store, object);
}

StoreChange *
store_change(StoreKind *kind, uint64_t i)
{
    if (i >= kind->n_changes || i + CHANGES_MAX < kind->n_changes)
        return NULL;
    StoreChange *change = change_at(kind, i);
    if (change->json == NULL) {
        change->json =
            change->event != 0
                ? snapshot_event(kind->store->run, change->event - 1)
                : print_object(kind->store, change->is_gone ? change->before : change->after);
        store_set_version(change->json, change->version);
    }
    return change;
}

void
store_change_old(StoreKind *kind, StoreChange *change)
{
    if (change->old != NULL || change->is_new)
        return;
    if (change->event != 0)
        change->old = json_incref(change->json);
    else if (change->before != NULL)
        change->old = print_object(kind->store, change->before);
}

/* ---- managedFields of objects that both clients and components write ----
 * Without the components' part, server-side apply would find no conflict with them. Objects that no
 * client has written have none, and cost nothing. */

/* The name of the clients of a session, and of a scenario's workload. */
#define CLIENT "kubectl"

/* Bindings and deletions leave managedFields alone; writes of clients come with their own. */
static gboolean
is_managed(const ApiRequest *request)
{
    return request != NULL && request->client != NULL && strcmp(request->client, CLIENT) != 0 &&
           (request->verb == API_UPDATE || request->verb == API_UPDATE_STATUS ||
            request->verb == API_PATCH || request->verb == API_PATCH_STATUS);
}

/* A component of the run has written an object. */
static void
note_component(ServeStore *self, const Object *before, const Object *after)
{
    const ApiRequest *request = api_server_committing(self->api);
    char uid[OBJECT_UID_BUFFER];

    if (before == NULL || after == NULL || !is_managed(request) ||
        g_hash_table_lookup(self->managers, object_uid_format(after->uid, uid)) == NULL)
        return;
    gboolean is_status = request->verb == API_UPDATE_STATUS || request->verb == API_PATCH_STATUS;
    g_autofree char *now = serve_store_now(self);
    const FieldWriter writer = {.manager = manager_of_component(request->client),
                                .time = now,
                                .subresource = is_status ? "status" : NULL,
                                .has_status = TRUE};
    json_auto_t *live = print_object(self, before), *written = print_object(self, after);
    const SchemaType *type =
        schema_find(json_path_string(live, "apiVersion"), json_path_string(live, "kind"));
    json_auto_t *managed = managed_fields_update(live, written, type, &writer);
    json_t *fields = json_object_get(json_object_get(managed, "metadata"), "managedFields");

    if (fields != NULL)
        g_hash_table_replace(self->managers, g_strdup(uid), json_incref(fields));
}

/* ---- The run's objects ---- */

static void read_definitions(ServeStore *self);

/* Returns: (borrowed): the resource of the object, if it keeps a log; else NULL */
static StoreKind *
store_kind_of(const ServeStore *self, const ObjectKey *key)
{
    if (key->resource == 0)
        return self->of_run[key->kind];
    return key->resource < self->others->len ? self->others->pdata[key->resource] : NULL;
}

static void
store_see_write(void *data, const RunRecord *record)
{
    ServeStore *self = data;
    const Object *before = record->before, *after = record->after;
    const Object *object = before != NULL ? before : after;
    StoreKind *kind = store_kind_of(self, object->key);

    note_component(self, before, after);
    if (kind != NULL) {
        if (before == NULL || after == NULL)
            g_clear_pointer(&kind->sorted, g_ptr_array_unref);
        StoreChange *change = change_add(kind);
        change->version = api_server_resource_version(self->api);
        change->before = before == NULL ? NULL : object_ref(before);
        change->after = after == NULL ? NULL : object_ref(after);
        change->is_new = before == NULL;
        change->is_gone = after == NULL;
    }
    if (is_definition(self, object))
        read_definitions(self);
    if (kind == NULL)
        return;
    if (after == NULL) {
        char uid[OBJECT_UID_BUFFER];
        g_hash_table_remove(self->managers, object_uid_format(before->uid, uid));
    }
    tell_listeners(kind);
}

/* Told before the Event is stored, so its JSON is made later. */
static void
store_see_event(void *data, const RunRecord *record)
{
    ServeStore *self = data;
    const ApiEventWrite *write = record->event;
    StoreKind *kind = self->events;

    if (kind == NULL)
        return;
    StoreChange *change = change_add(kind);
    change->version = store_version(kind);
    change->is_new = write->index == API_NEW_EVENT;
    change->event = 1 + (change->is_new ? api_server_n_events(self->api) : write->index);
    tell_listeners(kind);
}

uint64_t
store_version(const StoreKind *kind)
{
    return api_server_resource_version(kind->store->api);
}

const Object *
store_object(const StoreKind *kind, const char *namespace, const char *name)
{
    Objects *objects = run_objects(kind->store->run);
    const ObjectKey *key = kind->number == 0
                               ? objects_find_key(objects, kind->kind, namespace, name)
                               : objects_find_other_key(objects, kind->number, namespace, name);

    return key == NULL ? NULL : api_server_get(kind->store->api, key);
}

/* ---- Objects that are made of others ---- */

static int
store_compare_places(const void *a, const void *b, void *data)
{
    (void)data;
    return strcmp(a, b);
}

GTree *
store_places_new(void)
{
    return g_tree_new_full(store_compare_places, NULL, g_free, (GDestroyNotify)json_decref);
}

static char *
store_place_of(const char *namespace, const char *name)
{
    return *namespace == '\0' ? g_strdup(name) : g_strdup_printf("%s/%s", namespace, name);
}

json_t *
store_made(const StoreKind *kind, const char *namespace, const char *name)
{
    g_autofree char *place = store_place_of(namespace, name);

    return kind->made == NULL ? NULL : g_tree_lookup(kind->made, place);
}

static void
log_made(StoreKind *kind, json_t *old, json_t *object, gboolean is_gone)
{
    if (kind->changes != NULL) {
        StoreChange *change = change_add(kind);
        change->version = store_version(kind);
        change->is_made = TRUE;
        change->is_new = old == NULL;
        change->is_gone = is_gone;
        change->old = json_incref(old);
        change->json = json_incref(object);
    }
    tell_listeners(kind);
}

static void
complete_made(const StoreKind *kind, const char *place, json_t *metadata)
{
    uint64_t hash = sim_hash_combine(sim_hash_string(kind->resource), sim_hash_string(place));
    char uid[OBJECT_UID_BUFFER];
    g_autofree char *now = serve_store_now(kind->store);
    ObjectUid made = {(hash & ~UINT64_C(0xf000)) | UINT64_C(0x4000),
                      (sim_hash_combine(hash, 1) >> 2) | UINT64_C(2) << 62};

    json_object_set_new(metadata, "uid", json_string(object_uid_format(made, uid)));
    json_object_set_new(metadata, "creationTimestamp", json_string(now));
}

json_t *
store_put_made(StoreKind *kind, json_t *object)
{
    json_t *metadata = json_object_get(object, "metadata");
    const char *namespace = json_path_string(metadata, "namespace");
    g_autofree char *place =
        store_place_of(namespace != NULL ? namespace : "", json_path_string(metadata, "name"));

    if (kind->made == NULL)
        kind->made = store_places_new();
    json_auto_t *old = json_incref(g_tree_lookup(kind->made, place));
    if (json_object_get(metadata, "uid") == NULL)
        complete_made(kind, place, metadata);
    store_set_version(object, store_version(kind));
    g_tree_replace(kind->made, g_steal_pointer(&place), object);
    log_made(kind, old, object, FALSE);
    return object;
}

void
store_remove_made(StoreKind *kind, const char *namespace, const char *name)
{
    g_autofree char *place = store_place_of(namespace, name);
    json_auto_t *old = json_incref(store_made(kind, namespace, name));

    if (old == NULL)
        return;
    json_auto_t *last = json_deep_copy(old);
    store_set_version(last, store_version(kind));
    g_tree_remove(kind->made, place);
    log_made(kind, old, last, TRUE);
}

gboolean
serve_store_has_namespace(const ServeStore *self, const char *name)
{
    const ObjectKey *key = objects_find_key(run_objects(self->run), KIND_NAMESPACE, NULL, name);

    return key != NULL && api_server_get(self->api, key) != NULL;
}

/* Discovery has the resources of stored CustomResourceDefinitions. */
static void
read_definitions(ServeStore *self)
{
    Objects *objects = run_objects(self->run);
    json_t *definitions = json_array();

    for (uint32_t slot = 0; slot < objects_n_keys(objects, KIND_OTHER); slot++) {
        const Object *object = api_server_get(self->api, objects_key_at(objects, KIND_OTHER, slot));
        if (object != NULL && is_definition(self, object))
            json_array_append_new(definitions, print_object(self, object));
    }
    self->generation++;
    custom_resources_unref(self->custom);
    self->apis.custom = self->custom = custom_resources_new(definitions);
}

void
store_set_managers(StoreKind *kind, const json_t *object, json_t *fields)
{
    const char *uid = json_path_string(object, "metadata.uid");

    if (uid != NULL && fields != NULL)
        g_hash_table_replace(kind->store->managers, g_strdup(uid), fields);
    else
        json_decref(fields);
}

/* ---- Resources ---- */

static void
kind_free(void *data)
{
    StoreKind *self = data;

    for (unsigned i = 0; self->changes != NULL && i < CHANGES_MAX; i++)
        change_clear(&self->changes[i]);
    g_free(self->changes);
    g_clear_pointer(&self->sorted, g_ptr_array_unref);
    g_clear_pointer(&self->made, g_tree_unref);
    g_array_unref(self->listeners);
    g_free(self->group);
    g_free(self->resource);
    g_free(self);
}

char *
store_api_version(const char *group, const char *version)
{
    return *group == '\0' ? g_strdup(version) : g_strdup_printf("%s/%s", group, version);
}

static StoreKind *
kind_new(ServeStore *self, const ApiResource *row)
{
    StoreKind *kind = g_new0(StoreKind, 1);
    g_autofree char *api_version = store_api_version(row->group, row->version);

    *kind = (StoreKind){.store = self,
                        .group = g_strdup(row->stored_in != NULL ? row->stored_in : row->group),
                        .resource = g_strdup(row->resource),
                        .namespaced = row->namespaced,
                        .listeners = g_array_new(FALSE, FALSE, sizeof(StoreListener))};
    kind->has_events = strcmp(row->kind, "Event") == 0;
    if (!kind_find(api_version, row->kind, &kind->kind)) {
        kind->kind = KIND_OTHER;
        kind->number =
            objects_resource(run_objects(self->run), kind->group, row->kind, row->resource);
    }
    return kind;
}

/* Whether somebody has applied the resource's CustomResourceDefinition. */
static gboolean
has_definition(const ServeStore *self, const ApiResource *row)
{
    Objects *objects = run_objects(self->run);
    g_autofree char *name = g_strdup_printf("%s.%s", row->resource, row->group);
    unsigned definitions =
        objects_resource(objects, "apiextensions.k8s.io", "CustomResourceDefinition", NULL);
    const ObjectKey *key = objects_find_other_key(objects, definitions, NULL, name);

    return key != NULL && api_server_get(self->api, key) != NULL;
}

/* Kinds that a cluster has only if somebody has installed or enabled them: the snapshot
 * controller's kinds, others' kinds, kinds behind a gate. */
static gboolean
is_installed(const ServeStore *self, const ApiResource *row, ObjectKind kind)
{
    const Scenario *scenario = run_scenario(self->run);

    if (g_str_has_suffix(row->group, "snapshot.storage.k8s.io"))
        return scenario->has_snapshots || has_definition(self, row);
    if (kind == KIND_REFERENCE_GRANT || kind == KIND_LOCAL_VOLUME)
        return objects_n_keys(run_objects(self->run), kind) > 0 || has_definition(self, row);
    return kind != KIND_ATTRIBUTES_CLASS ||
           release_has_gate(cluster_release(run_cluster(self->run)), "VolumeAttributesClass");
}

/* A cluster of a dump has the metrics-server if it was there; a scenario's own nodes have one. */
static gboolean
has_metrics_server(const ServeStore *self)
{
    const Scenario *scenario = run_scenario(self->run);
    gboolean has_dump = FALSE;

    for (unsigned i = 0; i < scenario->n_manifests; i++) {
        const char *name = json_path_string(scenario->manifests[i], "metadata.name");
        has_dump |= json_path_get(scenario->manifests[i], "metadata.uid") != NULL;
        if (g_strcmp0(name, "metrics-server") == 0)
            return TRUE;
    }
    return !has_dump;
}

/* Whether the run's release serves it. */
static gboolean
is_served(const ApiResource *row, const void *data)
{
    const ServeStore *self = data;
    g_autofree char *api_version = store_api_version(row->group, row->version);
    ObjectKind kind;

    if (strcmp(row->group, "metrics.k8s.io") == 0)
        return has_metrics_server(self);
    if (!api_resource_is_in(row, self->minor))
        return FALSE;
    return kind_find(api_version, row->kind, &kind) ? is_installed(self, row, kind) : !row->is_off;
}

/* Returns: (borrowed): the resource of a CustomResourceDefinition; NULL: none serves it */
static const ApiResource *
custom_row(const ServeStore *self, const char *group, const char *version, const char *resource)
{
    const ApiResource *row;

    for (unsigned i = 0; (row = custom_resource(self->apis.custom, i)) != NULL; i++)
        if (strcmp(row->group, group) == 0 && strcmp(row->version, version) == 0 &&
            strcmp(row->resource, resource) == 0)
            return row;
    return NULL;
}

StoreKind *
serve_store_kind(ServeStore *self,
                 const char *group,
                 const char *version,
                 const char *resource,
                 const ApiResource **row)
{
    *row = api_resource_find(group, version, resource);
    if (*row == NULL || !is_served(*row, self))
        *row = custom_row(self, group, version, resource);
    if (*row == NULL)
        return NULL;
    g_autofree char *key =
        g_strdup_printf("%s/%s", (*row)->stored_in != NULL ? (*row)->stored_in : group, resource);
    StoreKind *kind = g_hash_table_lookup(self->kinds, key);
    if (kind == NULL) {
        kind = kind_new(self, *row);
        g_hash_table_insert(self->kinds, g_steal_pointer(&key), kind);
    }
    return kind;
}

const ServedApis *
serve_store_apis(const ServeStore *self)
{
    return &self->apis;
}

unsigned
serve_store_generation(const ServeStore *self)
{
    const Objects *objects = run_objects(self->run);

    return 4 * self->generation + 2 * (objects_n_keys(objects, KIND_REFERENCE_GRANT) > 0) +
           (objects_n_keys(objects, KIND_LOCAL_VOLUME) > 0);
}

ServeStore *
serve_store_new(Run *run)
{
    ServeStore *self = g_new0(ServeStore, 1);

    *self = (ServeStore){
        .run = run,
        .api = cluster_api(run_cluster(run)),
        .minor = run_scenario(run)->minor_version,
        .kinds = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, kind_free),
        .others = g_ptr_array_new(),
        .managers =
            g_hash_table_new_full(g_str_hash, g_str_equal, g_free, (GDestroyNotify)json_decref),
    };
    self->apis = (ServedApis){.minor = self->minor, .serves = is_served, .data = self};
    read_definitions(self);
    records_watch(run_records(run), RECORD_WRITE, store_see_write, self);
    records_watch(run_records(run), RECORD_EVENT, store_see_event, self);
    return self;
}

void
serve_store_free(ServeStore *self)
{
    if (self == NULL)
        return;
    g_hash_table_unref(self->kinds);
    g_hash_table_unref(self->managers);
    g_ptr_array_unref(self->others);
    custom_resources_unref(self->custom);
    g_free(self);
}
