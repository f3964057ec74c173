/* SPDX-License-Identifier: GPL-3.0-or-later */
/* NodeMetrics and PodMetrics, as metrics-server has them: of nodes that are Ready and of pods that
 * run, each with the name of its node or pod. They are made at the question from the stored
 * objects; a node's usage is the sum over its pods. Nothing of it is stored or watched. */
#include <inttypes.h>
#include <string.h>

#include "made.h"
#include "models/api/fields.h"

#define WINDOW "15s"

gboolean
made_has(const Target *target)
{
    return strcmp(target->row->group, "metrics.k8s.io") == 0;
}

/* The nodes or pods themselves. */
static StoreKind *
measured_kind(const Target *target)
{
    const ApiResource *row;

    return serve_store_kind(target->api->store, "", "v1", target->row->resource, &row);
}

static json_t *
usage_json(Usage usage)
{
    g_autofree char *cpu = g_strdup_printf("%" PRId64 "n", usage.cpu_n),
                    *memory = g_strdup_printf("%" PRId64 "Ki", usage.memory / 1024);

    return json_pack("{s:s, s:s}", "cpu", cpu, "memory", memory);
}

/* Returns: (owned): what both have in common */
static json_t *
metrics_of(const Target *target, const json_t *object)
{
    g_autofree char *now = serve_store_now(target->api->store);
    const json_t *metadata = json_object_get(object, "metadata");
    json_t *own = json_pack("{s:O, s:s}", "name", json_object_get(metadata, "name"),
                            "creationTimestamp", now);

    if (json_object_get(metadata, "namespace") != NULL)
        json_object_set(own, "namespace", json_object_get(metadata, "namespace"));
    if (json_object_get(metadata, "labels") != NULL)
        json_object_set(own, "labels", json_object_get(metadata, "labels"));
    return json_pack("{s:o, s:s, s:s}", "metadata", own, "timestamp", now, "window", WINDOW);
}

/* Returns: (owned): NULL: it does not run */
static json_t *
pod_metrics(const Target *target, const json_t *pod)
{
    const json_t *containers = json_path_get(pod, "spec.containers");
    json_t *list, *metrics;

    if (!usage_pod_runs(pod))
        return NULL;
    list = json_array();
    for (gsize i = 0; i < json_array_size(containers); i++) {
        const json_t *container = json_array_get(containers, i);
        json_array_append_new(list,
                              json_pack("{s:O, s:o}", "name", json_object_get(container, "name"),
                                        "usage", usage_json(usage_of_container(pod, container))));
    }
    metrics = metrics_of(target, pod);
    json_object_set_new(metrics, "containers", list);
    return metrics;
}

static gboolean
node_is_ready(const json_t *node)
{
    return g_strcmp0(json_path_string(node, "status.conditions[Ready].status"), "True") == 0;
}

static void
add_to_node(void *data, const json_t *pod)
{
    GHashTable *nodes = data;
    const char *name = json_path_string(pod, "spec.nodeName");
    Usage *sum = name == NULL ? NULL : g_hash_table_lookup(nodes, name), one = usage_of_pod(pod);

    if (name == NULL)
        return;
    if (sum == NULL)
        g_hash_table_insert(nodes, g_strdup(name), sum = g_new0(Usage, 1));
    sum->cpu_n += one.cpu_n;
    sum->memory += one.memory;
}

/* Returns: (owned): name -> Usage (owned): of the pods on each node, or on the one that is asked
 * for */
static GHashTable *
usage_by_node(const Target *target)
{
    GHashTable *nodes = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);

    if (strcmp(target->row->resource, "nodes") == 0)
        usage_each_pod(target->api, target->name, add_to_node, nodes);
    return nodes;
}

/* Returns: (owned): NULL: nothing is known of it */
static json_t *
node_metrics(const Target *target, const json_t *node, GHashTable *nodes)
{
    Usage usage = usage_of_system(node);
    const Usage *pods = g_hash_table_lookup(nodes, json_path_string(node, "metadata.name"));

    if (!node_is_ready(node))
        return NULL;
    if (pods != NULL)
        usage = (Usage){usage.cpu_n + pods->cpu_n, usage.memory + pods->memory};
    json_t *metrics = metrics_of(target, node);
    json_object_set_new(metrics, "usage", usage_json(usage));
    return metrics;
}

typedef struct {
    const Target *target;
    GHashTable *nodes;
    StoreSee see;
    void *data;
} MadeList;

static json_t *
make(const MadeList *self, const json_t *object)
{
    return self->target->row->namespaced ? pod_metrics(self->target, object)
                                         : node_metrics(self->target, object, self->nodes);
}

static gboolean
see_measured(void *data, const char *place, json_t *object)
{
    const MadeList *self = data;
    json_t *metrics = make(self, object);

    json_decref(object);
    return metrics == NULL || self->see(self->data, place, metrics);
}

json_t *
made_get(const Target *target)
{
    g_autoptr(GHashTable) nodes = usage_by_node(target);
    const MadeList list = {.target = target, .nodes = nodes};
    json_auto_t *object = store_get(measured_kind(target), target->namespace, target->name);

    return object == NULL ? NULL : make(&list, object);
}

void
made_list(const Target *target, const char *namespace, const char *after, StoreSee see, void *data)
{
    g_autoptr(GHashTable) nodes = usage_by_node(target);
    MadeList list = {target, nodes, see, data};

    store_list(measured_kind(target), namespace, after, see_measured, &list);
}

json_t *
made_not_found(const Target *target)
{
    g_autofree char *name = *target->namespace == '\0'
                                ? g_strdup(target->name)
                                : g_strdup_printf("%s/%s", target->namespace, target->name);
    g_autofree char *resource = g_ascii_strdown(target->row->kind, -1); /* "podmetrics" */

    return status_not_found(
        &(StatusSubject){target->row->group, resource, target->row->kind, name});
}
