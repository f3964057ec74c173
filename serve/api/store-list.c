/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Lists and single objects of a resource, in the order of etcd's keys. Objects of the run are
 * listed from sorted keys, which a resource keeps while it has a log of changes; Events, kubelets'
 * Leases and made objects are collected at each question, because the run does not store them as
 * objects. */
#include <string.h>

#include "models/api/fields.h"
#include "models/api/namespace.h"
#include "run/results/snapshot.h"
#include "store-private.h"

/* ---- Lists ---- */

static int
store_list_compare_keys(const void *a, const void *b)
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
        if (key->resource == kind->number && api_server_get(self->api, key) != NULL)
            g_ptr_array_add(keys, key);
    }
    g_ptr_array_sort(keys, store_list_compare_keys);
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
 * '/'. @begin, @end: (out): the range of the keys behind @after */
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
    return !kind->has_events && kind->kind != KIND_LEASE && kind->made == NULL;
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

    if (kind->kind != KIND_LEASE || strcmp(namespace, "kube-node-lease") != 0)
        return NULL;
    node = objects_find_key(run_objects(kind->store->run), KIND_NODE, NULL, name);
    return node != NULL && api_server_get(kind->store->api, node) != NULL ? node : NULL;
}

static void
add_events(const ServeStore *self, GArray *array)
{
    for (unsigned i = 0; i < api_server_n_events(self->api); i++)
        if (api_server_event(self->api, i)->count > 0) {
            json_t *event = snapshot_event(self->run, i);
            store_set_version(event, i + 1);
            add_placed(array, event);
        }
}

static gboolean
add_made(void *key, void *value, void *data)
{
    (void)key;
    add_placed(data, json_incref(value));
    return FALSE;
}

/* Events, leases, endpoints: some of them are no objects of the run. */
static GArray *
store_list_collect(StoreKind *kind)
{
    const ServeStore *self = kind->store;
    GArray *array = g_array_new(FALSE, FALSE, sizeof(Placed));
    g_autoptr(GPtrArray) keys = sorted_keys(kind);

    g_array_set_clear_func(array, placed_clear);
    if (kind->made != NULL)
        g_tree_foreach(kind->made, add_made, array);
    if (kind->has_events)
        add_events(self, array);
    else if (kind->kind == KIND_LEASE)
        add_leases(self, array);
    if (keys == kind->sorted)
        g_ptr_array_ref(keys);
    for (unsigned i = 0; i < keys->len; i++)
        if (!snapshot_is_old_lease(self->run, keys->pdata[i]))
            add_placed(array, store_print(kind, api_server_get(self->api, keys->pdata[i])));
    g_array_sort(array, compare_placed);
    return array;
}

gboolean
store_is_in(const char *place, const char *namespace)
{
    gsize length = namespace == NULL ? 0 : strlen(namespace);

    return namespace == NULL || (strncmp(place, namespace, length) == 0 && place[length] == '/');
}

void
store_list(StoreKind *kind, const char *namespace, const char *after, StoreSee see, void *data)
{
    if (is_whole_in_run(kind)) {
        list_run(kind, namespace, after, see, data);
        return;
    }
    g_autoptr(GArray) array = store_list_collect(kind);
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
} StoreListWanted;

static gboolean
see_wanted(void *data, const char *place, json_t *object)
{
    StoreListWanted *self = data;
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
    StoreListWanted wanted = {name, NULL};

    if (object != NULL)
        return store_print(kind, object);
    if (store_made(kind, namespace, name) != NULL)
        return json_incref(store_made(kind, namespace, name));
    if (kind->has_events)
        store_list(kind, namespace, NULL, see_wanted, &wanted);
    else if (lease_node(kind, namespace, name) != NULL)
        return kubelet_lease(kind->store, lease_node(kind, namespace, name));
    return wanted.found;
}
