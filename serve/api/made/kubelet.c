/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The kubelet's own server, behind /api/v1/nodes/NAME/proxy/: health, pods, metrics and the summary
 * of usage (k8s.io/kubelet/pkg/apis/stats/v1alpha1). No container runs, so usage is made up from
 * requests and names, alike at each question. A node whose kubelet is lost answers as an
 * unreachable one. */
#include <inttypes.h>
#include <string.h>

#include "made.h"
#include "models/api/field.h"
#include "models/api/fields.h"
#include "run/results/snapshot.h"

#define GI (INT64_C(1024) * 1024 * 1024)

typedef struct {
    ServeApi *api;
    Exchange *exchange;
    json_t *node; /* (owned) */
    char *now;    /* (owned) */
} MadeKubelet;

/* ---- /stats/summary ---- */

static int64_t
kubelet_quantity_of(const json_t *object, const char *path)
{
    const char *text = json_path_string(object, path);
    int64_t value = 0;

    return text != NULL && quantity_parse(text, &value, NULL, NULL) ? value : 0;
}

/* Since an object's start. Returns: s, at least 1 */
static int64_t
age_of(const MadeKubelet *self, const char *start)
{
    SimTime then = 0, now = 0;

    if (start == NULL || !api_time_parse(start, &then) || !api_time_parse(self->now, &now))
        return 1;
    return MAX(1, (now - then) / SIM_SECOND);
}

static void
add_usage(const MadeKubelet *self, json_t *to, Usage usage, const char *start, int64_t limit)
{
    json_object_set_new(to, "cpu",
                        json_pack("{s:s, s:I, s:I}", "time", self->now, "usageNanoCores",
                                  (json_int_t)usage.cpu_n, "usageCoreNanoSeconds",
                                  (json_int_t)(usage.cpu_n * age_of(self, start))));
    json_t *memory = json_pack(
        "{s:s, s:I, s:I, s:I, s:i, s:i}", "time", self->now, "usageBytes",
        (json_int_t)(usage.memory / 8 * 9), "workingSetBytes", (json_int_t)usage.memory, "rssBytes",
        (json_int_t)(usage.memory / 8 * 7), "pageFaults", 0, "majorPageFaults", 0);
    if (limit > 0)
        json_object_set_new(memory, "availableBytes",
                            json_integer((json_int_t)MAX(0, limit - usage.memory)));
    json_object_set_new(to, "memory", memory);
}

/* Returns: (owned): a file system, used by a share that @name decides */
static json_t *
file_system(const MadeKubelet *self, const char *name, int64_t capacity)
{
    int64_t used = capacity / 100 * (int64_t)(5 + sim_hash_string(name) % 60);
    int64_t inodes = capacity / 16384;

    return json_pack("{s:s, s:I, s:I, s:I, s:I, s:I, s:I}", "time", self->now, "availableBytes",
                     (json_int_t)(capacity - used), "capacityBytes", (json_int_t)capacity,
                     "usedBytes", (json_int_t)used, "inodesFree",
                     (json_int_t)(inodes - inodes / 50), "inodes", (json_int_t)inodes, "inodesUsed",
                     (json_int_t)(inodes / 50));
}

/* Returns: (owned): the claim's capacity; NULL: it has none */
static json_t *
volume_stats(const MadeKubelet *self, const json_t *pod, const json_t *volume)
{
    const char *claim = json_path_string(volume, "persistentVolumeClaim.claimName"),
               *namespace = json_path_string(pod, "metadata.namespace"),
               *name = json_path_string(volume, "name");
    g_autofree char *own =
        json_object_get(volume, "ephemeral") == NULL
            ? NULL
            : g_strdup_printf("%s-%s", json_path_string(pod, "metadata.name"), name);
    const ApiResource *row;

    if (claim == NULL && (claim = own) == NULL)
        return NULL;
    json_auto_t *object =
        store_get(serve_store_kind(self->api->store, "", "v1", "persistentvolumeclaims", &row),
                  namespace, claim);
    int64_t capacity = kubelet_quantity_of(object, "status.capacity.storage");
    if (capacity == 0)
        return NULL;
    json_t *stats = file_system(self, claim, capacity);
    json_object_set_new(stats, "name", json_string(name));
    json_object_set_new(stats, "pvcRef",
                        json_pack("{s:s, s:s}", "name", claim, "namespace", namespace));
    return stats;
}

static json_t *
container_stats(const MadeKubelet *self, const json_t *pod, const json_t *container)
{
    const char *start = json_path_string(pod, "status.startTime");
    json_t *stats =
        json_pack("{s:O, s:s?}", "name", json_object_get(container, "name"), "startTime", start);

    add_usage(self, stats, usage_of_container(pod, container), start,
              kubelet_quantity_of(container, "resources.limits.memory"));
    json_object_set_new(stats, "rootfs", file_system(self, "rootfs", 100 * GI));
    json_object_set_new(stats, "logs", file_system(self, "logs", 100 * GI));
    return stats;
}

static void
add_pod_stats(void *data, const json_t *pod)
{
    void **both = data;
    const MadeKubelet *self = both[0];
    const json_t *list = json_path_get(pod, "spec.containers"),
                 *volumes = json_path_get(pod, "spec.volumes");
    const char *start = json_path_string(pod, "status.startTime");
    json_t *containers = json_array(), *used = json_array(), *stats;

    for (gsize i = 0; i < json_array_size(list); i++)
        json_array_append_new(containers, container_stats(self, pod, json_array_get(list, i)));
    for (gsize i = 0; i < json_array_size(volumes); i++) {
        json_t *volume = volume_stats(self, pod, json_array_get(volumes, i));
        if (volume != NULL)
            json_array_append_new(used, volume);
    }
    stats = json_pack("{s:{s:O?, s:O?, s:O?}, s:s?, s:o, s:o}", "podRef", "name",
                      json_path_get(pod, "metadata.name"), "namespace",
                      json_path_get(pod, "metadata.namespace"), "uid",
                      json_path_get(pod, "metadata.uid"), "startTime", start, "containers",
                      containers, "ephemeral-storage", file_system(self, "rootfs", 100 * GI));
    add_usage(self, stats, usage_of_pod(pod), start, 0);
    if (json_array_size(used) > 0)
        json_object_set(stats, "volume", used);
    json_decref(used);
    json_array_append_new(both[1], stats);
}

static void
add_sum(void *data, const json_t *pod)
{
    Usage *sum = data, one = usage_of_pod(pod);

    sum->cpu_n += one.cpu_n;
    sum->memory += one.memory;
}

static void
answer_summary(MadeKubelet *self)
{
    const char *name = json_path_string(self->node, "metadata.name"),
               *start = json_path_string(self->node, "metadata.creationTimestamp");
    Usage usage = usage_of_system(self->node);
    json_t *pods = json_array();
    void *both[] = {self, pods};

    usage_each_pod(self->api, name, add_sum, &usage);
    usage_each_pod(self->api, name, add_pod_stats, both);
    json_t *node = json_pack("{s:s, s:s?, s:o, s:{s:o}, s:{s:s, s:i, s:i}}", "nodeName", name,
                             "startTime", start, "fs", file_system(self, name, 100 * GI), "runtime",
                             "imageFs", file_system(self, name, 100 * GI), "rlimit", "time",
                             self->now, "maxpid", 4194304, "curproc", 200);
    add_usage(self, node, usage, start, kubelet_quantity_of(self->node, "status.capacity.memory"));
    exchange_answer_json(self->exchange, 200, json_pack("{s:o, s:o}", "node", node, "pods", pods));
}

/* ---- Other paths ---- */

static void
answer_text(const MadeKubelet *self, GString *text /* taken */)
{
    g_autoptr(GBytes) body = g_string_free_to_bytes(text);

    exchange_answer(self->exchange, 200, "text/plain; version=0.0.4; charset=utf-8", body);
}

static void
answer_metrics(MadeKubelet *self)
{
    GString *text = g_string_new(NULL);

    paths_append_metrics(self->api, "kubelet", text);
    answer_text(self, text);
}

static void
append_pod_metrics(void *data, const json_t *pod)
{
    void **both = data;
    const MadeKubelet *self = both[0];
    Usage usage = usage_of_pod(pod);
    g_autofree char *labels = g_strdup_printf("{namespace=\"%s\",pod=\"%s\"}",
                                              json_path_string(pod, "metadata.namespace"),
                                              json_path_string(pod, "metadata.name"));
    double seconds =
        (double)usage.cpu_n / 1e9 * (double)age_of(self, json_path_string(pod, "status.startTime"));

    g_string_append_printf(both[1],
                           "pod_cpu_usage_seconds_total%s %g\n"
                           "pod_memory_working_set_bytes%s %" PRId64 "\n",
                           labels, seconds, labels, usage.memory);
}

/* Of the kubelet's metrics/resource, what metrics-server reads. */
static void
answer_resource_metrics(MadeKubelet *self)
{
    GString *text = g_string_new(NULL);
    const char *name = json_path_string(self->node, "metadata.name");
    Usage usage = usage_of_system(self->node);
    void *both[] = {self, text};

    usage_each_pod(self->api, name, add_sum, &usage);
    g_string_append_printf(
        text, "node_cpu_usage_seconds_total %g\nnode_memory_working_set_bytes %" PRId64 "\n",
        (double)usage.cpu_n / 1e9 *
            (double)age_of(self, json_path_string(self->node, "metadata.creationTimestamp")),
        usage.memory);
    usage_each_pod(self->api, name, append_pod_metrics, both);
    g_string_append(text, "resource_scrape_error 0\n");
    answer_text(self, text);
}

static void
kubelet_add_pod(void *data, const json_t *pod)
{
    json_array_append(data, (json_t *)pod);
}

static void
answer_pods(MadeKubelet *self)
{
    json_t *items = json_array();

    usage_each_pod(self->api, json_path_string(self->node, "metadata.name"), kubelet_add_pod,
                   items);
    exchange_answer_json(self->exchange, 200,
                         json_pack("{s:s, s:s, s:{}, s:o}", "kind", "PodList", "apiVersion", "v1",
                                   "metadata", "items", items));
}

static void
answer_health(MadeKubelet *self)
{
    exchange_answer_text(self->exchange, 200, "ok");
}

static void
answer_configuration(MadeKubelet *self)
{
    exchange_answer_json(self->exchange, 200,
                         json_pack("{s:{s:s, s:s, s:i}}", "kubeletconfig", "kind",
                                   "KubeletConfiguration", "apiVersion",
                                   "kubelet.config.k8s.io/v1beta1", "maxPods", 110));
}

static const struct {
    const char *path;
    void (*answer)(MadeKubelet *self);
} rows[] = {
    {"healthz",          answer_health          },
    {"metrics",          answer_metrics         },
    {"metrics/cadvisor", answer_resource_metrics},
    {"metrics/resource", answer_resource_metrics},
    {"stats/summary",    answer_summary         },
    {"pods",             answer_pods            },
    {"runningpods",      answer_pods            },
    {"configz",          answer_configuration   },
};

static gboolean
is_lost(const json_t *node)
{
    return g_strcmp0(json_path_string(node, "status.conditions[Ready].status"), "Unknown") == 0;
}

static void
answer_of_node(MadeKubelet *self, const char *path)
{
    if (is_lost(self->node)) {
        exchange_answer_json(
            self->exchange, 503,
            status_format(
                503, "error trying to reach service: dial tcp %s:10250: i/o timeout",
                json_path_string(json_array_get(json_path_get(self->node, "status.addresses"), 0),
                                 "address")));
        return;
    }
    for (gsize i = 0; i < G_N_ELEMENTS(rows); i++)
        if (strcmp(rows[i].path, path) == 0) {
            rows[i].answer(self);
            return;
        }
    exchange_answer_text(self->exchange, 404, "404 page not found\n");
}

gboolean
kubelet_answer(ServeApi *self, Exchange *exchange, char **parts)
{
    static const char *const head[] = {"api", "v1", "nodes"};
    const ApiResource *row;

    if (g_strv_length(parts) < 5 || strcmp(parts[4], "proxy") != 0 ||
        strcmp(exchange->request.method, "GET") != 0)
        return FALSE;
    for (gsize i = 0; i < G_N_ELEMENTS(head); i++)
        if (strcmp(parts[i], head[i]) != 0)
            return FALSE;
    g_autofree char *name = g_strndup(parts[3], strcspn(parts[3], ":")); /* "node-0:10250" */
    g_autofree char *path = g_strjoinv("/", parts + 5);
    json_auto_t *node = store_get(serve_store_kind(self->store, "", "v1", "nodes", &row), "", name);
    if (node == NULL) {
        exchange_answer_json(exchange, 404,
                             status_not_found(&(StatusSubject){"", "nodes", "Node", name}));
        return TRUE;
    }
    g_autofree char *now = serve_store_now(self->store);
    MadeKubelet kubelet = {self, exchange, node, now};
    answer_of_node(&kubelet, path);
    return TRUE;
}
