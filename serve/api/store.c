/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "store-private.h"

#include <inttypes.h>
#include <string.h>

#include "complete.h"
#include "models/api/fields.h"
#include "run/results/snapshot.h"
#include "serve/api/apply/managed-fields.h"
#include "serve/api/openapi/custom.h"

/* How many changes keep the JSON that was made of them. */
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
    if (kind->n_changes > JSON_KEPT && !change_at(kind, kind->n_changes - JSON_KEPT)->is_plain)
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
    if (kind->keeper == KEPT_BY_RUN)
        kind->store->of_run[kind->kind] = kind;
    else if (kind->keeper == KEPT_AS_EVENT)
        kind->store->events = kind;
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

/* Returns: (owned): an object of the run with its managedFields */
static json_t *
print_object(const ServeStore *self, const Object *object)
{
    json_t *json = snapshot_object(self->run, object);
    json_t *metadata = json_object_get(json, "metadata");
    const char *uid = json_string_value(json_object_get(metadata, "uid"));
    json_t *fields = uid == NULL ? NULL : g_hash_table_lookup(self->managers, uid);

    complete_object(self->run, object, json);
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
            kind->keeper == KEPT_AS_EVENT
                ? snapshot_event(kind->store->run, change->event)
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
    if (kind->keeper == KEPT_AS_EVENT)
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

static void see_gone_namespace(ServeStore *self, const char *name);

static void
see_write(void *data, const Object *before, const Object *after)
{
    ServeStore *self = data;
    StoreKind *kind = self->of_run[object_kind(before != NULL ? before : after)];

    if (after == NULL && object_kind(before) == KIND_NAMESPACE)
        see_gone_namespace(self, object_name(before));
    else if (before == NULL && object_kind(after) == KIND_NAMESPACE)
        store_add_first_objects_in(self, object_name(after));
    note_component(self, before, after);
    if (kind == NULL)
        return;
    if (before == NULL || after == NULL)
        g_clear_pointer(&kind->sorted, g_ptr_array_unref);
    StoreChange *change = change_add(kind);
    change->version = api_server_resource_version(self->api);
    change->before = before == NULL ? NULL : object_ref(before);
    change->after = after == NULL ? NULL : object_ref(after);
    change->is_new = before == NULL;
    change->is_gone = after == NULL;
    if (after == NULL) {
        char uid[OBJECT_UID_BUFFER];
        g_hash_table_remove(self->managers, object_uid_format(before->uid, uid));
    }
    tell_listeners(kind);
}

/* Told before the Event is stored, so its JSON is made later. */
static void
see_event(void *data, const ApiEventWrite *write, SimTime responds_at)
{
    ServeStore *self = data;
    StoreKind *kind = self->events;

    (void)responds_at;
    self->n_event_changes++; /* whether or not somebody has listed them yet */
    if (kind == NULL)
        return;
    StoreChange *change = change_add(kind);
    change->version = store_version(kind);
    change->is_new = write->index == API_NEW_EVENT;
    change->event = change->is_new ? api_server_n_events(self->api) : write->index;
    tell_listeners(kind);
}

uint64_t
store_version(const StoreKind *kind)
{
    const ServeStore *self = kind->store;

    if (kind->keeper == KEPT_PLAIN)
        return self->plain_version;
    return api_server_resource_version(self->api) +
           (kind->keeper == KEPT_AS_EVENT ? self->n_event_changes : 0);
}

const Object *
store_object(const StoreKind *kind, const char *namespace, const char *name)
{
    if (kind->keeper != KEPT_BY_RUN)
        return NULL;
    const ObjectKey *key =
        objects_find_key(run_objects(kind->store->run), kind->kind, namespace, name);
    return key == NULL ? NULL : api_server_get(kind->store->api, key);
}

/* ---- Plain objects ---- */

/* Discovery has the resources of stored CustomResourceDefinitions. */
static gboolean
add_definition(void *key, void *value, void *data)
{
    (void)key;
    json_array_append(data, value);
    return FALSE;
}

static gboolean
has_definitions(const StoreKind *kind)
{
    return strcmp(kind->resource, "customresourcedefinitions") == 0;
}

static void
read_definitions(StoreKind *kind)
{
    ServeStore *self = kind->store;

    if (!has_definitions(kind))
        return;
    json_t *definitions = json_array();
    self->generation++;
    g_tree_foreach(kind->plain, add_definition, definitions);
    custom_resources_unref(self->custom);
    self->apis.custom = self->custom = custom_resources_new(definitions);
}

static void
log_plain(StoreKind *kind, json_t *old, json_t *object, gboolean is_gone)
{
    if (kind->changes != NULL) {
        StoreChange *change = change_add(kind);
        change->version = store_version(kind);
        change->is_plain = TRUE;
        change->is_new = old == NULL;
        change->is_gone = is_gone;
        change->old = json_incref(old);
        change->json = json_incref(object);
    }
    tell_listeners(kind);
    read_definitions(kind);
}

void
serve_store_complete_new(const ServeStore *self, json_t *metadata)
{
    char uid[OBJECT_UID_BUFFER];
    g_autofree char *now = serve_store_now(self);
    uint64_t high = sim_hash_combine(sim_hash_string("serve/uid"), self->n_plain + 1);
    ObjectUid made = {(high & ~UINT64_C(0xf000)) | UINT64_C(0x4000),
                      (sim_hash_combine(high, 1) >> 2) | UINT64_C(2) << 62};

    json_object_set_new(metadata, "uid", json_string(object_uid_format(made, uid)));
    json_object_set_new(metadata, "creationTimestamp", json_string(now));
}

static char *
place_of(const StoreKind *kind, const json_t *object)
{
    const char *name = json_path_string(object, "metadata.name");

    return kind->namespaced
               ? g_strdup_printf("%s/%s", json_path_string(object, "metadata.namespace"), name)
               : g_strdup(name);
}

json_t *
store_plain(const StoreKind *kind, const char *namespace, const char *name)
{
    g_autofree char *place =
        *namespace == '\0' ? g_strdup(name) : g_strdup_printf("%s/%s", namespace, name);

    return kind->plain == NULL ? NULL : g_tree_lookup(kind->plain, place);
}

/* A watch from a list on sees what comes after it: each change has a later version. */
static void
count_change(StoreKind *kind)
{
    kind->store->plain_version++;
    if (kind->keeper == KEPT_AS_EVENT)
        kind->store->n_event_changes++;
}

json_t *
store_put(StoreKind *kind, json_t *object)
{
    ServeStore *self = kind->store;
    g_autofree char *place = place_of(kind, object);
    json_auto_t *old = json_incref(g_tree_lookup(kind->plain, place));

    if (old == NULL && json_path_get(object, "metadata.uid") == NULL) {
        serve_store_complete_new(self, json_object_get(object, "metadata"));
        self->n_plain++;
    }
    if (has_definitions(kind)) {
        g_autofree char *now = serve_store_now(self);
        custom_complete_definition(object, now);
    }
    count_change(kind);
    store_set_version(object, store_version(kind));
    g_tree_replace(kind->plain, g_steal_pointer(&place), object);
    log_plain(kind, old, object, FALSE);
    return object;
}

void
store_remove(StoreKind *kind, const char *namespace, const char *name)
{
    g_autofree char *place =
        *namespace == '\0' ? g_strdup(name) : g_strdup_printf("%s/%s", namespace, name);
    json_t *old = g_tree_lookup(kind->plain, place);

    if (old == NULL)
        return;
    json_auto_t *last = json_deep_copy(old);
    count_change(kind);
    store_set_version(last, store_version(kind));
    json_incref(old);
    g_tree_remove(kind->plain, place);
    log_plain(kind, old, last, TRUE);
    json_decref(old);
}

static gboolean
collect_place(void *key, void *value, void *data)
{
    (void)value;
    g_ptr_array_add(data, g_strdup(key));
    return FALSE;
}

/* The namespace controller of the run has deleted its own objects; these go with them. */
static void
see_gone_namespace(ServeStore *self, const char *name)
{
    GHashTableIter iter;
    void *value;

    g_hash_table_iter_init(&iter, self->kinds);
    while (g_hash_table_iter_next(&iter, NULL, &value)) {
        StoreKind *kind = value;
        g_autoptr(GPtrArray) places = g_ptr_array_new_with_free_func(g_free);
        if (kind->plain != NULL)
            g_tree_foreach(kind->plain, collect_place, places);
        for (unsigned i = 0; i < places->len; i++)
            if (store_is_in(places->pdata[i], name))
                store_remove(kind, name, strchr(places->pdata[i], '/') + 1);
    }
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
    g_clear_pointer(&self->plain, g_tree_unref);
    g_array_unref(self->listeners);
    g_free(self->group);
    g_free(self->resource);
    g_free(self);
}

static int
compare_places(const void *a, const void *b, void *data)
{
    (void)data;
    return strcmp(a, b);
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
                        .group = g_strdup(row->group),
                        .resource = g_strdup(row->resource),
                        .namespaced = row->namespaced,
                        .listeners = g_array_new(FALSE, FALSE, sizeof(StoreListener))};
    if (strcmp(row->kind, "Event") == 0) {
        kind->keeper = KEPT_AS_EVENT;
    } else if (kind_find(api_version, row->kind, &kind->kind)) {
        kind->keeper = KEPT_BY_RUN;
    } else {
        kind->keeper = KEPT_PLAIN;
    }
    if (kind->keeper != KEPT_BY_RUN)
        kind->plain = g_tree_new_full(compare_places, NULL, g_free, (GDestroyNotify)json_decref);
    return kind;
}

/* What a cluster has only if somebody has installed or enabled it: the snapshot controller's kinds,
 * others' kinds, kinds behind a gate. */
static gboolean
is_installed(const ServeStore *self, const ApiResource *row, ObjectKind kind)
{
    const Scenario *scenario = run_scenario(self->run);

    if (g_str_has_suffix(row->group, "snapshot.storage.k8s.io"))
        return scenario->has_snapshots;
    if (kind == KIND_REFERENCE_GRANT || kind == KIND_LOCAL_VOLUME)
        return objects_n_keys(run_objects(self->run), kind) > 0;
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

Run *
serve_store_run(const ServeStore *self)
{
    return self->run;
}

/* Returns: the resource of a manifest; NULL: none is known */
static const ApiResource *
find_row(const ServeStore *self, const json_t *manifest)
{
    const char *kind = json_path_string(manifest, "kind"),
               *version = json_path_string(manifest, "apiVersion");
    const char *slash = version == NULL ? NULL : strchr(version, '/');
    g_autofree char *group =
        slash == NULL ? g_strdup("") : g_strndup(version, (gsize)(slash - version));
    const ApiResource *row;

    for (unsigned i = 0; kind != NULL && version != NULL && (row = api_resource(i)) != NULL; i++)
        if (strcmp(row->kind, kind) == 0 && strcmp(row->group, group) == 0 && is_served(row, self))
            return row;
    return NULL;
}

/* Takes an object that the scenario has from its start; it keeps its version. */
static void
take_manifest(ServeStore *self, StoreKind *kind, const json_t *manifest)
{
    json_t *object = json_deep_copy(manifest), *metadata = json_object_get(object, "metadata");
    const char *text = json_path_string(metadata, "resourceVersion");
    uint64_t version = text == NULL ? 0 : g_ascii_strtoull(text, NULL, 10);

    if (kind->namespaced && json_path_string(metadata, "namespace") == NULL)
        json_object_set_new(metadata, "namespace", json_string("default"));
    if (kind->keeper != KEPT_BY_RUN) {
        object = store_put(kind, object);
        self->plain_version = MAX(self->plain_version, version);
        if (version > 0)
            store_set_version(object, version);
    } else {
        json_decref(object);
    }
}

/* What the scenario has beside the models' objects. */
static void
take_plain(ServeStore *self)
{
    json_t *manifest;
    gsize i;

    json_array_foreach(run_scenario(self->run)->plain, i, manifest) {
        const ApiResource *row = find_row(self, manifest), *served;
        StoreKind *kind =
            row == NULL ? NULL
                        : serve_store_kind(self, row->group, row->version, row->resource, &served);
        if (kind != NULL && json_path_string(manifest, "metadata.name") != NULL)
            take_manifest(self, kind, manifest);
    }
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
        .plain_version = 1,
        .managers =
            g_hash_table_new_full(g_str_hash, g_str_equal, g_free, (GDestroyNotify)json_decref),
    };
    self->apis = (ServedApis){.minor = self->minor, .serves = is_served, .data = self};
    take_plain(self);
    store_add_first_objects(self);
    api_server_observe(self->api, see_write, self);
    api_server_observe_events(self->api, see_event, self);
    return self;
}

void
serve_store_free(ServeStore *self)
{
    if (self == NULL)
        return;
    g_hash_table_unref(self->kinds);
    g_hash_table_unref(self->managers);
    custom_resources_unref(self->custom);
    g_free(self);
}
