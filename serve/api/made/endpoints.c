/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Endpoints and EndpointSlices of Services with selectors (pkg/controller/endpoint, endpointslice):
 * nothing in a run reads them, so they are made from the moment a client asks for them, and follow
 * the logs of pods and Services from then on. They are stored as other plain objects are: watches
 * see them change. Those of a dump, or of a client, stay as they are while they tell the same.
 *
 * The keeper knows of each pod only what endpoints tell, so a change costs a look at the Services
 * of its namespace, and one at the pods there for each Service that selects it. While nobody
 * watches endpoints, changes wait in the logs for the next client that asks. */
#include <string.h>

#include "made.h"
#include "models/api/fields.h"
#include "serve/api/store-private.h"

#define SLICE_MAX 100      /* --max-endpoints-per-slice of kube-controller-manager */
#define ENDPOINTS_MAX 1000 /* maxCapacity of pkg/controller/endpoint */

struct EndpointsKeeper {
    ServeApi *api;
    StoreKind *pods, *services, *endpoints;
    StoreKind *slices; /* NULL: the release has no discovery.k8s.io/v1 */
    GTree *facts;      /* "namespace/name" -> json_t: what endpoints tell of a pod */
    GTree *known;      /* ... of Services -> json_t */
    GTree *dirty;      /* ... of Services whose endpoints may have changed -> itself */
    uint64_t next_pod, next_service; /* the next changes in their logs */
    guint source;                    /* 0: none */
    gboolean is_full;                /* it has read all pods and Services */
};

static char *
place_of_object(const json_t *object)
{
    return g_strdup_printf("%s/%s", json_path_string(object, "metadata.namespace"),
                           json_path_string(object, "metadata.name"));
}

/* ---- What endpoints tell of a pod ---- */

static gboolean
is_ready(const json_t *pod)
{
    return g_strcmp0(json_path_string(pod, "status.conditions[Ready].status"), "True") == 0;
}

/* Returns: (owned): named ports: name -> number */
static json_t *
named_ports(const json_t *pod)
{
    const json_t *containers = json_path_get(pod, "spec.containers");
    json_t *named = json_object();

    for (gsize i = 0; i < json_array_size(containers); i++) {
        const json_t *ports = json_object_get(json_array_get(containers, i), "ports");
        for (gsize k = 0; k < json_array_size(ports); k++) {
            const json_t *port = json_array_get(ports, k);
            const char *name = json_path_string(port, "name");
            if (name != NULL && json_object_get(named, name) == NULL)
                json_object_set(named, name, json_object_get(port, "containerPort"));
        }
    }
    return named;
}

/* Returns: (owned): NULL: it has no endpoint */
static json_t *
endpoints_facts_of(const json_t *pod)
{
    const char *phase = json_path_string(pod, "status.phase"),
               *address = json_path_string(pod, "status.podIP");
    json_t *labels = json_object_get(json_object_get(pod, "metadata"), "labels");

    if (address == NULL || *address == '\0' || g_strcmp0(phase, "Succeeded") == 0 ||
        g_strcmp0(phase, "Failed") == 0)
        return NULL;
    return json_pack("{s:O?, s:s, s:O?, s:O?, s:O?, s:O?, s:b, s:b, s:o, s:O?, s:O?}", "labels",
                     labels, "ip", address, "node", json_path_get(pod, "spec.nodeName"), "name",
                     json_path_get(pod, "metadata.name"), "namespace",
                     json_path_get(pod, "metadata.namespace"), "uid",
                     json_path_get(pod, "metadata.uid"), "ready", is_ready(pod), "leaves",
                     json_path_get(pod, "metadata.deletionTimestamp") != NULL, "ports",
                     named_ports(pod), "hostname", json_path_get(pod, "spec.hostname"), "subdomain",
                     json_path_get(pod, "spec.subdomain"));
}

/* ---- What changed ---- */

static gboolean
selects(const json_t *service, const json_t *facts)
{
    json_t *selector = json_object_get(json_object_get(service, "spec"), "selector"), *value;
    const json_t *labels = json_object_get(facts, "labels");
    const char *key;

    if (facts == NULL || json_object_size(selector) == 0)
        return FALSE;
    json_object_foreach(selector, key, value)
        if (!json_equal(value, json_object_get(labels, key)))
            return FALSE;
    return TRUE;
}

static GTreeNode *
first_in(GTree *places, const char *namespace)
{
    g_autofree char *place = g_strdup_printf("%s/", namespace);

    return g_tree_lower_bound(places, place);
}

static void
endpoints_mark(EndpointsKeeper *self, const char *place)
{
    g_tree_replace(self->dirty, g_strdup(place), json_null());
}

/* @facts: (taken) (nullable): of the pod from now on */
static void
take_facts(EndpointsKeeper *self, const json_t *pod, json_t *facts)
{
    g_autofree char *place = place_of_object(pod);
    const json_t *old = g_tree_lookup(self->facts, place);
    const char *namespace = json_path_string(pod, "metadata.namespace");

    if (old == NULL ? facts == NULL : facts != NULL && json_equal(old, facts)) {
        json_decref(facts);
        return;
    }
    for (GTreeNode *node = first_in(self->known, namespace); node != NULL;
         node = g_tree_node_next(node)) {
        if (!store_is_in(g_tree_node_key(node), namespace))
            break;
        const json_t *service = g_tree_node_value(node);
        if (selects(service, old) || selects(service, facts))
            endpoints_mark(self, g_tree_node_key(node));
    }
    if (facts != NULL)
        g_tree_replace(self->facts, g_steal_pointer(&place), facts);
    else
        g_tree_remove(self->facts, place);
}

static void
take_service(EndpointsKeeper *self, json_t *service, gboolean is_gone)
{
    g_autofree char *place = place_of_object(service);

    endpoints_mark(self, place);
    if (is_gone)
        g_tree_remove(self->known, place);
    else
        g_tree_replace(self->known, g_steal_pointer(&place), json_incref(service));
}

static gboolean
endpoints_see_pod(void *data, const char *place, json_t *pod)
{
    (void)place;
    take_facts(data, pod, endpoints_facts_of(pod));
    json_decref(pod);
    return TRUE;
}

static gboolean
see_service(void *data, const char *place, json_t *service)
{
    (void)place;
    take_service(data, service, FALSE);
    json_decref(service);
    return TRUE;
}

static void
endpoints_read_all(EndpointsKeeper *self)
{
    store_log(self->pods);
    store_log(self->services);
    g_tree_remove_all(self->facts);
    g_tree_remove_all(self->known);
    store_list(self->services, NULL, NULL, see_service, self);
    store_list(self->pods, NULL, NULL, endpoints_see_pod, self);
    self->next_pod = self->pods->n_changes;
    self->next_service = self->services->n_changes;
    self->is_full = TRUE;
}

/* Reads the logs; reads everything again if they have forgotten too much. */
static void
take_changes(EndpointsKeeper *self)
{
    for (; self->is_full && self->next_service < self->services->n_changes; self->next_service++) {
        StoreChange *change = store_change(self->services, self->next_service);
        if (change == NULL)
            self->is_full = FALSE;
        else
            take_service(self, change->json, change->is_gone);
    }
    for (; self->is_full && self->next_pod < self->pods->n_changes; self->next_pod++) {
        StoreChange *change = store_change(self->pods, self->next_pod);
        if (change == NULL)
            self->is_full = FALSE;
        else
            take_facts(self, change->json,
                       change->is_gone ? NULL : endpoints_facts_of(change->json));
    }
    if (!self->is_full)
        endpoints_read_all(self);
}

/* ---- Endpoints of a Service ---- */

static int
compare_facts(const void *a, const void *b)
{
    const json_t *x = *(const json_t *const *)a, *y = *(const json_t *const *)b;

    return strcmp(json_path_string(x, "ip"), json_path_string(y, "ip"));
}

/* Returns: (owned): of the facts (borrowed) of the pods that the Service selects, by their
 * addresses */
static GPtrArray *
selected(const EndpointsKeeper *self, const json_t *service)
{
    const char *namespace = json_path_string(service, "metadata.namespace");
    GPtrArray *found = g_ptr_array_new();

    for (GTreeNode *node = first_in(self->facts, namespace); node != NULL;
         node = g_tree_node_next(node)) {
        if (!store_is_in(g_tree_node_key(node), namespace))
            break;
        if (selects(service, g_tree_node_value(node)))
            g_ptr_array_add(found, g_tree_node_value(node));
    }
    g_ptr_array_sort(found, compare_facts);
    return found;
}

/* Returns: (owned): the ports of the Service on this pod */
static json_t *
ports_on(const json_t *service, const json_t *facts)
{
    const json_t *ports = json_path_get(service, "spec.ports");
    json_t *list = json_array();

    for (gsize i = 0; i < json_array_size(ports); i++) {
        const json_t *port = json_array_get(ports, i);
        json_t *target = json_object_get(port, "targetPort"), *name = json_object_get(port, "name");
        const char *protocol = json_path_string(port, "protocol");
        if (json_is_string(target))
            target = json_object_get(json_object_get(facts, "ports"), json_string_value(target));
        else if (target == NULL || json_integer_value(target) == 0)
            target = json_object_get(port, "port");
        if (target == NULL)
            continue;
        json_t *one = json_pack("{s:O, s:s}", "port", target, "protocol",
                                protocol != NULL ? protocol : "TCP");
        if (name != NULL)
            json_object_set(one, "name", name);
        json_array_append_new(list, one);
    }
    return list;
}

static json_t *
target_reference(const json_t *facts)
{
    return json_pack("{s:s, s:O?, s:O?, s:O?}", "kind", "Pod", "name",
                     json_object_get(facts, "name"), "namespace",
                     json_object_get(facts, "namespace"), "uid", json_object_get(facts, "uid"));
}

/* Whether the pod has its own name behind the Service. */
static json_t *
hostname_in(const json_t *service, const json_t *facts)
{
    const char *subdomain = json_path_string(facts, "subdomain");

    return g_strcmp0(subdomain, json_path_string(service, "metadata.name")) == 0
               ? json_object_get(facts, "hostname")
               : NULL;
}

static gboolean
publishes_all(const json_t *service)
{
    return json_is_true(json_path_get(service, "spec.publishNotReadyAddresses"));
}

static void
add_address(json_t *subsets, const json_t *service, const json_t *facts)
{
    json_t *ports = ports_on(service, facts), *subset = NULL, *list;
    gboolean ready = json_is_true(json_object_get(facts, "ready")) || publishes_all(service);
    const char *member = ready ? "addresses" : "notReadyAddresses";
    json_t *address =
        json_pack("{s:O, s:O?, s:o}", "ip", json_object_get(facts, "ip"), "nodeName",
                  json_object_get(facts, "node"), "targetRef", target_reference(facts));

    if (hostname_in(service, facts) != NULL)
        json_object_set(address, "hostname", hostname_in(service, facts));
    for (gsize i = 0; i < json_array_size(subsets) && subset == NULL; i++)
        if (json_equal(json_object_get(json_array_get(subsets, i), "ports"), ports))
            subset = json_array_get(subsets, i);
    if (subset == NULL)
        json_array_append_new(subsets, subset = json_pack("{s:O}", "ports", ports));
    list = json_object_get(subset, member);
    if (list == NULL)
        json_object_set_new(subset, member, list = json_array());
    json_array_append_new(list, address);
    json_decref(ports);
}

/* Returns: (owned) */
static json_t *
make_subsets(const json_t *service, const GPtrArray *pods)
{
    json_t *subsets = json_array();

    for (unsigned i = 0; i < pods->len && i < ENDPOINTS_MAX; i++)
        if (!json_is_true(json_object_get(pods->pdata[i], "leaves")) || publishes_all(service))
            add_address(subsets, service, pods->pdata[i]);
    return subsets;
}

static json_t *
make_endpoint(const json_t *service, const json_t *facts)
{
    gboolean serves = json_is_true(json_object_get(facts, "ready")),
             leaves = json_is_true(json_object_get(facts, "leaves"));
    json_t *endpoint = json_pack("{s:[O], s:{s:b, s:b, s:b}, s:O?, s:o}", "addresses",
                                 json_object_get(facts, "ip"), "conditions", "ready",
                                 publishes_all(service) || (serves && !leaves), "serving", serves,
                                 "terminating", leaves, "nodeName", json_object_get(facts, "node"),
                                 "targetRef", target_reference(facts));

    if (hostname_in(service, facts) != NULL)
        json_object_set(endpoint, "hostname", hostname_in(service, facts));
    return endpoint;
}

/* ---- Objects ---- */

/* Returns: (owned): labels of the Service and @more (taken) */
static json_t *
endpoints_labels_of(const json_t *service, json_t *more)
{
    json_t *own = json_object_get(json_object_get(service, "metadata"), "labels");
    json_t *labels = own == NULL ? json_object() : json_copy(own);

    if (g_strcmp0(json_path_string(service, "spec.clusterIP"), "None") == 0)
        json_object_set_new(labels, "service.kubernetes.io/headless", json_string(""));
    json_object_update_new(labels, more);
    return labels;
}

/* Stores @object (taken), as old as @created (nullable), unless what is there tells the same.
 * @members ends with NULL */
static void
endpoints_put(StoreKind *kind, json_t *object, json_t *created, const char *const *members)
{
    json_t *metadata = json_object_get(object, "metadata");
    json_auto_t *old = json_incref(store_made(kind, json_path_string(metadata, "namespace"),
                                              json_path_string(metadata, "name")));
    gboolean is_same = old != NULL;

    for (; *members != NULL; members++)
        is_same &= json_equal(json_object_get(old, *members), json_object_get(object, *members)) ||
                   (json_object_get(old, *members) == NULL &&
                    json_array_size(json_object_get(object, *members)) == 0);
    if (is_same) {
        json_decref(object);
        return;
    }
    if (old != NULL) { /* the same object */
        json_t *kept = json_copy(json_object_get(old, "metadata"));
        json_object_set(kept, "labels", json_object_get(metadata, "labels"));
        json_object_set_new(object, "metadata", kept);
    }
    object = store_put_made(kind, object);
    if (old == NULL && created != NULL)
        json_object_set(json_object_get(object, "metadata"), "creationTimestamp", created);
}

static json_t *
created_at(const json_t *object)
{
    return json_object_get(json_object_get(object, "metadata"), "creationTimestamp");
}

static void
put_endpoints(const EndpointsKeeper *self, const json_t *service, const GPtrArray *pods)
{
    static const char *const members[] = {"subsets", NULL};
    json_t *subsets = make_subsets(service, pods);
    json_t *object =
        json_pack("{s:s, s:s, s:{s:O, s:O, s:o}}", "apiVersion", "v1", "kind", "Endpoints",
                  "metadata", "name", json_path_get(service, "metadata.name"), "namespace",
                  json_path_get(service, "metadata.namespace"), "labels",
                  endpoints_labels_of(service, json_object()));

    if (json_object_size(json_path_get(object, "metadata.labels")) == 0)
        json_object_del(json_object_get(object, "metadata"), "labels");

    if (json_array_size(subsets) > 0)
        json_object_set(object, "subsets", subsets);
    json_decref(subsets);
    endpoints_put(self->endpoints, object, created_at(service), members);
}

typedef struct {
    const char *service;
    GPtrArray *names; /* of char * (owned) */
} OwnSlices;

static gboolean
see_slice(void *data, const char *place, json_t *slice)
{
    const OwnSlices *self = data;
    const json_t *labels = json_path_get(slice, "metadata.labels");
    const char *service = json_string_value(json_object_get(labels, "kubernetes.io/service-name"));

    (void)place;
    if (g_strcmp0(service, self->service) == 0)
        g_ptr_array_add(self->names, g_strdup(json_path_string(slice, "metadata.name")));
    json_decref(slice);
    return TRUE;
}

/* Returns: (owned): the names of the slices that the Service has */
static GPtrArray *
slices_of(const EndpointsKeeper *self, const char *namespace, const char *service)
{
    OwnSlices own = {service, g_ptr_array_new_with_free_func(g_free)};

    if (self->slices != NULL)
        store_list(self->slices, namespace, NULL, see_slice, &own);
    return own.names;
}

/* Five letters that no word is made of, as generated names have them. */
static char *
slice_name(const char *service, const char *namespace, unsigned number)
{
    static const char letters[] = "bcdfghjklmnpqrstvwxz2456789";
    uint64_t hash = sim_hash_combine(
        sim_hash_combine(sim_hash_string(service), sim_hash_string(namespace)), number);
    GString *name = g_string_new(service);

    g_string_append_c(name, '-');
    for (unsigned i = 0; i < 5; i++, hash /= sizeof letters - 1)
        g_string_append_c(name, letters[hash % (sizeof letters - 1)]);
    return g_string_free(name, FALSE);
}

static json_t *
make_slice(const json_t *service, const char *name, const GPtrArray *pods, unsigned begin)
{
    const json_t *metadata = json_object_get(service, "metadata");
    const char *service_name = json_path_string(metadata, "name");
    g_autofree char *prefix = g_strdup_printf("%s-", service_name);
    json_t *endpoints = json_array(), *ports;

    for (unsigned i = begin; i < pods->len && i < begin + SLICE_MAX; i++)
        json_array_append_new(endpoints, make_endpoint(service, pods->pdata[i]));
    ports = pods->len == 0 ? json_array() : ports_on(service, pods->pdata[begin]);
    for (gsize i = 0; i < json_array_size(ports); i++)
        if (json_object_get(json_array_get(ports, i), "name") == NULL)
            json_object_set_new(json_array_get(ports, i), "name", json_string(""));
    json_t *labels = endpoints_labels_of(
        service,
        json_pack("{s:s, s:s}", "endpointslice.kubernetes.io/managed-by",
                  "endpointslice-controller.k8s.io", "kubernetes.io/service-name", service_name));
    return json_pack(
        "{s:s, s:s, s:{s:s, s:s, s:O, s:o, s:[{s:s, s:s, s:s, s:O?, s:b, s:b}]}, s:s, s:o, s:o}",
        "apiVersion", "discovery.k8s.io/v1", "kind", "EndpointSlice", "metadata", "name", name,
        "generateName", prefix, "namespace", json_object_get(metadata, "namespace"), "labels",
        labels, "ownerReferences", "apiVersion", "v1", "kind", "Service", "name", service_name,
        "uid", json_object_get(metadata, "uid"), "controller", TRUE, "blockOwnerDeletion", TRUE,
        "addressType", "IPv4", "endpoints", endpoints, "ports", ports);
}

static void
put_slices(const EndpointsKeeper *self, const json_t *service, const GPtrArray *pods)
{
    static const char *const members[] = {"endpoints", "ports", NULL};
    const char *namespace = json_path_string(service, "metadata.namespace"),
               *name = json_path_string(service, "metadata.name");
    g_autoptr(GPtrArray) there = slices_of(self, namespace, name);
    unsigned n = 0;

    do {
        g_autofree char *own = slice_name(name, namespace, n);
        endpoints_put(
            self->slices,
            make_slice(service, n < there->len ? there->pdata[n] : own, pods, n * SLICE_MAX),
            created_at(service), members);
        n++;
    } while (n * SLICE_MAX < pods->len);
    for (; n < there->len; n++)
        store_remove_made(self->slices, namespace, there->pdata[n]);
}

/* The endpoints of the API server itself. */
static void
put_own(const EndpointsKeeper *self, const json_t *service)
{
    static const char *const none[] = {NULL};

    endpoints_put(
        self->endpoints,
        json_pack("{s:s, s:s, s:{s:s, s:s, s:{s:s}}, s:[{s:[{s:s}], s:[{s:s, s:i, s:s}]}]}",
                  "apiVersion", "v1", "kind", "Endpoints", "metadata", "name", "kubernetes",
                  "namespace", "default", "labels", "endpointslice.kubernetes.io/skip-mirror",
                  "true", "subsets", "addresses", "ip", "10.0.0.1", "ports", "name", "https",
                  "port", 6443, "protocol", "TCP"),
        created_at(service), none);
    if (self->slices == NULL)
        return;
    endpoints_put(
        self->slices,
        json_pack(
            "{s:s, s:s, s:{s:s, s:s, s:{s:s}}, s:s, s:[{s:[s], s:{s:b}}], s:[{s:s, s:i, s:s}]}",
            "apiVersion", "discovery.k8s.io/v1", "kind", "EndpointSlice", "metadata", "name",
            "kubernetes", "namespace", "default", "labels", "kubernetes.io/service-name",
            "kubernetes", "addressType", "IPv4", "endpoints", "addresses", "10.0.0.1", "conditions",
            "ready", TRUE, "ports", "name", "https", "port", 6443, "protocol", "TCP"),
        created_at(service), none);
}

static gboolean
endpoints_settle(void *key, void *value, void *data)
{
    const EndpointsKeeper *self = data;
    const char *place = key, *name = strchr(place, '/') + 1;
    const json_t *service = g_tree_lookup(self->known, place);

    (void)value;
    if (strcmp(place, "default/kubernetes") == 0) {
        put_own(self, service);
    } else if (service == NULL) {
        g_autofree char *namespace = g_strndup(place, (gsize)(name - 1 - place));
        g_autoptr(GPtrArray) slices = slices_of(self, namespace, name);
        store_remove_made(self->endpoints, namespace, name);
        for (unsigned i = 0; i < slices->len; i++)
            store_remove_made(self->slices, namespace, slices->pdata[i]);
    } else if (json_object_size(json_path_get(service, "spec.selector")) > 0) {
        g_autoptr(GPtrArray) pods = selected(self, service);
        put_endpoints(self, service, pods);
        if (self->slices != NULL)
            put_slices(self, service, pods);
    }
    return FALSE;
}

/* ---- The keeper ---- */

static gboolean
on_source(void *data)
{
    EndpointsKeeper *self = data;

    self->source = 0;
    endpoints_refresh(self->api);
    return G_SOURCE_REMOVE;
}

static gboolean
is_watched(const StoreKind *kind)
{
    return kind != NULL && kind->listeners->len > 0;
}

/* A pod or Service has changed; the run is in the middle of it. */
static void
on_change(void *data)
{
    EndpointsKeeper *self = data;

    if (self->source == 0 && (is_watched(self->endpoints) || is_watched(self->slices)))
        self->source = g_idle_add(on_source, self);
}

static StoreKind *
endpoints_kind_of(ServeApi *api, const char *group, const char *resource)
{
    const ApiResource *row;

    return serve_store_kind(api->store, group, "v1", resource, &row);
}

static EndpointsKeeper *
keeper_new(ServeApi *api)
{
    EndpointsKeeper *self = g_new0(EndpointsKeeper, 1);
    StoreListener listener = {on_change, self};

    *self = (EndpointsKeeper){
        .api = api,
        .pods = endpoints_kind_of(api, "", "pods"),
        .services = endpoints_kind_of(api, "", "services"),
        .endpoints = endpoints_kind_of(api, "", "endpoints"),
        .slices = endpoints_kind_of(api, "discovery.k8s.io", "endpointslices"),
        .facts = store_places_new(),
        .known = store_places_new(),
        .dirty = store_places_new(),
    };
    store_listen(self->pods, &listener);
    store_listen(self->services, &listener);
    return self;
}

/* Whether a real kube-controller-manager has taken the place of the simulated one. */
static gboolean
is_left_to_others(const ServeApi *self)
{
    GHashTable *components = run_scenario(self->options.run)->components; /* NULL: none is set */
    GHashTable *flags =
        components == NULL ? NULL : g_hash_table_lookup(components, "kube-controller-manager");

    return flags != NULL && g_strcmp0(g_hash_table_lookup(flags, "replicas"), "0") == 0;
}

void
endpoints_refresh(ServeApi *self)
{
    if (self->options.is_past || is_left_to_others(self))
        return;
    if (self->endpoints == NULL)
        self->endpoints = keeper_new(self);
    EndpointsKeeper *keeper = self->endpoints;
    take_changes(keeper);
    g_tree_foreach(keeper->dirty, endpoints_settle, keeper);
    g_tree_remove_all(keeper->dirty);
}

void
endpoints_keeper_free(EndpointsKeeper *self)
{
    if (self == NULL)
        return;
    if (self->source != 0)
        g_source_remove(self->source);
    store_unlisten(self->pods, self);
    store_unlisten(self->services, self);
    g_tree_unref(self->facts);
    g_tree_unref(self->known);
    g_tree_unref(self->dirty);
    g_free(self);
}
