/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <string.h>

#include "models/api/fields.h"
#include "models/api/namespace.h"
#include "run/results/snapshot.h"
#include "store-private.h"

/* ---- Namespaces that nobody made ---- */

static const char *const first_namespaces[] = {"default", "kube-node-lease", "kube-public",
                                               "kube-system"};

static gboolean
is_first_namespace(const char *name)
{
    for (gsize i = 0; i < G_N_ELEMENTS(first_namespaces); i++)
        if (strcmp(first_namespaces[i], name) == 0)
            return TRUE;
    return FALSE;
}

/* Returns: (owned): set of the namespaces (borrowed) that objects of the run are in */
static GHashTable *
used_namespaces(const ServeStore *self)
{
    Objects *objects = run_objects(self->run);
    GHashTable *used = g_hash_table_new(g_str_hash, g_str_equal);

    for (unsigned kind = 0; kind < N_KINDS; kind++)
        for (uint32_t slot = 0; slot < objects_n_keys(objects, (ObjectKind)kind); slot++) {
            const ObjectKey *key = objects_key_at(objects, (ObjectKind)kind, slot);
            if (*key->namespace != '\0' && api_server_get(self->api, key) != NULL)
                g_hash_table_add(used, (char *)key->namespace);
        }
    return used;
}

/* Returns: whether the run stores it, or has stored and deleted it */
static gboolean
is_known_namespace(const ServeStore *self, const char *name)
{
    return objects_find_key(run_objects(self->run), KIND_NAMESPACE, NULL, name) != NULL;
}

gboolean
serve_store_has_namespace(ServeStore *self, const char *name)
{
    const ObjectKey *key = objects_find_key(run_objects(self->run), KIND_NAMESPACE, NULL, name);

    if (key != NULL)
        return api_server_get(self->api, key) != NULL;
    if (is_first_namespace(name))
        return TRUE;
    g_autoptr(GHashTable) used = used_namespaces(self);
    return g_hash_table_contains(used, name);
}

GHashTable *
store_namespaces(const ServeStore *self)
{
    GHashTable *names = used_namespaces(self);

    for (gsize i = 0; i < G_N_ELEMENTS(first_namespaces); i++)
        g_hash_table_add(names, (char *)first_namespaces[i]);
    return names;
}

/* Returns: (owned): a Namespace as old as the run */
static json_t *
first_namespace(const ServeStore *self, const char *name)
{
    char time[API_TIME_BUFFER], uid[OBJECT_UID_BUFFER];
    uint64_t hash = sim_hash_string(name);

    return json_pack("{s:s, s:s, s:{s:s, s:s, s:s, s:s, s:{s:s}}, s:{s:[s]}, s:{s:s}}",
                     "apiVersion", "v1", "kind", "Namespace", "metadata", "name", name, "uid",
                     object_uid_format((ObjectUid){hash, sim_hash_combine(hash, 1)}, uid),
                     "resourceVersion", "1", "creationTimestamp",
                     api_time_format(sim_start(run_sim(self->run)), FALSE, time), "labels",
                     "kubernetes.io/metadata.name", name, "spec", "finalizers", "kubernetes",
                     "status", "phase", "Active");
}

/* ---- Lists ---- */

static int
compare_keys(const void *a, const void *b)
{
    const ObjectKey *x = *(const ObjectKey *const *)a, *y = *(const ObjectKey *const *)b;

    return strcmp(x->text, y->text);
}

/* etcd lists by the bytes of "namespace/name". */
static GPtrArray *
sorted_keys(StoreKind *kind)
{
    const ServeStore *self = kind->store;
    Objects *objects = run_objects(self->run);

    if (kind->sorted != NULL)
        return kind->sorted;
    GPtrArray *keys = g_ptr_array_new();
    for (uint32_t slot = 0; slot < objects_n_keys(objects, kind->kind); slot++) {
        ObjectKey *key = objects_key_at(objects, kind->kind, slot);
        if (api_server_get(self->api, key) != NULL)
            g_ptr_array_add(keys, key);
    }
    g_ptr_array_sort(keys, compare_keys);
    if (kind->changes != NULL) /* else nobody tells when it is outdated */
        kind->sorted = keys;
    return keys;
}

/* Returns: the first of @keys whose place comes after @place */
static unsigned
first_behind(const GPtrArray *keys, const char *place)
{
    unsigned low = 0, high = keys->len;

    while (low < high) {
        unsigned middle = low + (high - low) / 2;
        if (strcmp(((const ObjectKey *)keys->pdata[middle])->text, place) > 0)
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

/* The keys of a namespace stand together: "shop/a" to "shop/z", and '0' is the character behind
 * '/'.
 * @begin, @end: (out): the range of them behind @after */
static void
find_range(
    const GPtrArray *keys, const char *namespace, const char *after, unsigned *begin, unsigned *end)
{
    *begin = 0;
    *end = keys->len;
    if (namespace != NULL) {
        g_autofree char *first = g_strdup_printf("%s/", namespace);
        g_autofree char *last = g_strdup_printf("%s0", namespace);
        *begin = first_behind(keys, first);
        *end = first_behind(keys, last);
        if (*end > *begin && strcmp(((const ObjectKey *)keys->pdata[*end - 1])->text, last) == 0)
            (*end)--;
    }
    if (after != NULL)
        *begin = MAX(*begin, first_behind(keys, after));
}

static void
list_run(StoreKind *kind, const char *namespace, const char *after, StoreSee see, void *data)
{
    g_autoptr(GPtrArray) keys = sorted_keys(kind);
    unsigned begin, end;

    if (keys == kind->sorted)
        g_ptr_array_ref(keys);
    find_range(keys, namespace, after, &begin, &end);
    for (unsigned i = begin; i < end; i++) {
        const ObjectKey *key = keys->pdata[i];
        const Object *object = api_server_get(kind->store->api, key);
        if (object != NULL && !see(data, key->text, store_print(kind, object)))
            return;
    }
}

/* Whether the run stores all objects of the kind. */
static gboolean
is_whole_in_run(const StoreKind *kind)
{
    return kind->keeper == KEPT_BY_RUN && kind->kind != KIND_NAMESPACE &&
           kind->kind != KIND_LEASE && kind->kind != KIND_SERVICE;
}

/* Whether the Service that every cluster has is not one of the run. */
static gboolean
lacks_first_service(const StoreKind *kind)
{
    return kind->keeper == KEPT_BY_RUN && kind->kind == KIND_SERVICE &&
           store_object(kind, "default", "kubernetes") == NULL;
}

static gboolean
count_one(void *data, const char *place, json_t *object)
{
    (void)place;
    json_decref(object);
    ++*(unsigned *)data;
    return TRUE;
}

unsigned
store_count(StoreKind *kind, const char *namespace, const char *after)
{
    unsigned begin, end, n = 0;

    if (!is_whole_in_run(kind)) {
        store_list(kind, namespace, after, count_one, &n);
        return n;
    }
    g_autoptr(GPtrArray) keys = sorted_keys(kind);
    if (keys == kind->sorted)
        g_ptr_array_ref(keys);
    find_range(keys, namespace, after, &begin, &end);
    return end > begin ? end - begin : 0;
}

typedef struct {
    char *place;
    json_t *object;
} Placed;

static void
placed_clear(void *data)
{
    Placed *self = data;

    g_free(self->place);
    json_decref(self->object);
}

static int
compare_placed(const void *a, const void *b)
{
    return strcmp(((const Placed *)a)->place, ((const Placed *)b)->place);
}

static void
add_placed(GArray *array, json_t *object /* taken */)
{
    const char *namespace = json_path_string(object, "metadata.namespace");
    const char *name = json_path_string(object, "metadata.name");
    Placed row = {g_strdup_printf("%s%s%s", namespace != NULL ? namespace : "",
                                  namespace != NULL ? "/" : "", name),
                  object};

    g_array_append_val(array, row);
}

/* Returns: (owned): a kubelet's lease, which the run does not store */
static json_t *
kubelet_lease(const ServeStore *self, const ObjectKey *node)
{
    json_t *lease = snapshot_lease(self->run, node->name);
    char uid[OBJECT_UID_BUFFER];

    store_set_version(lease, api_server_resource_version(self->api));
    json_object_set_new(json_object_get(lease, "metadata"), "ownerReferences",
                        json_pack("[{s:s, s:s, s:s, s:s}]", "apiVersion", "v1", "kind", "Node",
                                  "name", node->name, "uid",
                                  object_uid_format(api_server_get(self->api, node)->uid, uid)));
    return lease;
}

static void
add_leases(const ServeStore *self, GArray *array)
{
    Objects *objects = run_objects(self->run);

    for (uint32_t slot = 0; slot < objects_n_keys(objects, KIND_NODE); slot++) {
        const ObjectKey *key = objects_key_at(objects, KIND_NODE, slot);
        if (api_server_get(self->api, key) != NULL)
            add_placed(array, kubelet_lease(self, key));
    }
}

/* Returns: (borrowed): the node whose kubelet's lease has that name; NULL: none */
static const ObjectKey *
lease_node(const StoreKind *kind, const char *namespace, const char *name)
{
    const ObjectKey *node;

    if (kind->keeper != KEPT_BY_RUN || kind->kind != KIND_LEASE ||
        strcmp(namespace, "kube-node-lease") != 0)
        return NULL;
    node = objects_find_key(run_objects(kind->store->run), KIND_NODE, NULL, name);
    return node != NULL && api_server_get(kind->store->api, node) != NULL ? node : NULL;
}

static gboolean
add_plain(void *key, void *value, void *data)
{
    (void)key;
    add_placed(data, json_incref(value));
    return FALSE;
}

/* Events, namespaces, services and leases: few, or not all of them stored. */
static GArray *
collect(StoreKind *kind)
{
    const ServeStore *self = kind->store;
    GArray *array = g_array_new(FALSE, FALSE, sizeof(Placed));

    g_array_set_clear_func(array, placed_clear);
    if (kind->keeper == KEPT_AS_EVENT) {
        g_tree_foreach(kind->plain, add_plain, array);
        for (unsigned i = 0; i < api_server_n_events(self->api); i++)
            if (api_server_event(self->api, i)->count > 0) {
                json_t *event = snapshot_event(self->run, i);
                store_set_version(event, i + 1);
                add_placed(array, event);
            }
    } else if (kind->kind == KIND_LEASE) {
        add_leases(self, array);
    } else if (lacks_first_service(kind)) {
        add_placed(array, store_first_service(self));
    } else if (kind->kind == KIND_NAMESPACE) {
        g_autoptr(GHashTable) names = store_namespaces(self);
        GHashTableIter iter;
        void *name;
        g_hash_table_iter_init(&iter, names);
        while (g_hash_table_iter_next(&iter, &name, NULL))
            if (!is_known_namespace(self, name))
                add_placed(array, first_namespace(self, name));
    }
    g_autoptr(GPtrArray) keys = kind->keeper == KEPT_BY_RUN ? sorted_keys(kind) : NULL;
    if (keys != NULL && keys == kind->sorted)
        g_ptr_array_ref(keys);
    for (unsigned i = 0; keys != NULL && i < keys->len; i++)
        if (!snapshot_is_old_lease(self->run, keys->pdata[i]))
            add_placed(array, store_print(kind, api_server_get(self->api, keys->pdata[i])));
    g_array_sort(array, compare_placed);
    return array;
}

typedef struct {
    const char *namespace, *after;
    StoreSee see;
    void *data;
} PlainWalk;

gboolean
store_is_in(const char *place, const char *namespace)
{
    gsize length = namespace == NULL ? 0 : strlen(namespace);

    return namespace == NULL || (strncmp(place, namespace, length) == 0 && place[length] == '/');
}

static gboolean
walk_plain(void *key, void *value, void *data)
{
    const PlainWalk *walk = data;

    if (!store_is_in(key, walk->namespace) ||
        (walk->after != NULL && strcmp(key, walk->after) <= 0))
        return FALSE;
    return !walk->see(walk->data, key, json_incref(value));
}

void
store_list(StoreKind *kind, const char *namespace, const char *after, StoreSee see, void *data)
{
    PlainWalk walk = {namespace, after, see, data};

    if (kind->keeper == KEPT_PLAIN) {
        g_tree_foreach(kind->plain, walk_plain, &walk);
        return;
    }
    if (is_whole_in_run(kind)) {
        list_run(kind, namespace, after, see, data);
        return;
    }
    g_autoptr(GArray) array = collect(kind);
    for (unsigned i = 0; i < array->len; i++) {
        const Placed *row = &g_array_index(array, Placed, i);
        if (!store_is_in(row->place, namespace) ||
            (after != NULL && strcmp(row->place, after) <= 0))
            continue;
        if (!see(data, row->place, json_incref(row->object)))
            return;
    }
}

typedef struct {
    const char *name;
    json_t *found;
} Wanted;

static gboolean
see_wanted(void *data, const char *place, json_t *object)
{
    Wanted *self = data;
    const char *slash = strchr(place, '/');

    if (strcmp(slash != NULL ? slash + 1 : place, self->name) != 0) {
        json_decref(object);
        return TRUE;
    }
    self->found = object;
    return FALSE;
}

json_t *
store_get(StoreKind *kind, const char *namespace, const char *name)
{
    const Object *object = store_object(kind, namespace, name);
    Wanted wanted = {name, NULL};

    if (object != NULL)
        return store_print(kind, object);
    json_t *plain = store_plain(kind, namespace, name);
    if (plain != NULL || kind->keeper == KEPT_PLAIN)
        return json_incref(plain);
    if (kind->keeper == KEPT_AS_EVENT)
        store_list(kind, namespace, NULL, see_wanted, &wanted);
    else if (kind->kind == KIND_NAMESPACE && serve_store_has_namespace(kind->store, name))
        return first_namespace(kind->store, name);
    else if (lacks_first_service(kind) && strcmp(name, "kubernetes") == 0 &&
             strcmp(namespace, "default") == 0)
        return store_first_service(kind->store);
    else if (lease_node(kind, namespace, name) != NULL)
        return kubelet_lease(kind->store, lease_node(kind, namespace, name));
    return wanted.found;
}
