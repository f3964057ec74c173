/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The containers of a pod: names, images, mounts, and requests of cpu and memory; the rest stays in
 * the manifest. Requests are summed as by PodRequests(): containers and sidecars together, or the
 * largest init container beside the sidecars that started before it, whichever is more. A missing
 * request is the limit. */
#include <string.h>

#include "pod-private.h"

typedef struct {
    int64_t cpu_milli, memory_bytes;
} Requests;

typedef struct {
    const char *name, *image, *restart_policy;
    Requests requests, limits; /* -1: not given */
    StringList *mounts, *devices;
} Container;

typedef struct {
    const char *name, *path;
} Mount;

static const Field mount_fields[] = {
    FIELD("name", field_string, Mount, name, FIELD_REQUIRED),
    FIELD("mountPath", field_string, Mount, path, FIELD_REQUIRED),
    FIELDS_END,
};
static const Field device_fields[] = {
    FIELD("name", field_string, Mount, name, FIELD_REQUIRED),
    FIELD("devicePath", field_string, Mount, path, FIELD_REQUIRED),
    FIELDS_END,
};

/* Adds the names in a list of mounts to the names of earlier containers. */
static void
mount_names_parse(ApiParser *parser, const json_t *value, const Field *fields, StringList **names)
{
    unsigned n;
    g_autofree Mount *mounts = items_parse(parser, value, fields, sizeof *mounts, &n);

    for (unsigned i = 0; i < n; i++) {
        if (mounts[i].name == NULL)
            continue;
        StringList *old = *names;
        *names = string_list_with(old, mounts[i].name);
        string_list_unref(old);
    }
}

static void
mounts_parse(ApiParser *parser, const json_t *value, void *field)
{
    mount_names_parse(parser, value, mount_fields, field);
}

static void
devices_parse(ApiParser *parser, const json_t *value, void *field)
{
    mount_names_parse(parser, value, device_fields, field);
}

static const FieldType mounts_type = {.parse = mounts_parse};
static const FieldType devices_type = {.parse = devices_parse};

static const Field container_fields[] = {
    FIELD("name", field_string, Container, name, FIELD_REQUIRED),
    FIELD("image", field_word, Container, image, FIELD_SPEC),
    FIELD("restartPolicy", field_word, Container, restart_policy, FIELD_SPEC),
    FIELD("resources.requests.cpu", field_milli, Container, requests.cpu_milli, FIELD_SPEC),
    FIELD(
        "resources.requests.memory", field_quantity, Container, requests.memory_bytes, FIELD_SPEC),
    FIELD("resources.limits.cpu", field_milli, Container, limits.cpu_milli, FIELD_SPEC),
    FIELD("resources.limits.memory", field_quantity, Container, limits.memory_bytes, FIELD_SPEC),
    FIELD("volumeMounts", mounts_type, Container, mounts, FIELD_SPEC),
    FIELD("volumeDevices", devices_type, Container, devices, FIELD_SPEC),
    FIELDS_END,
};

/* The scheduler counts requests; the API server takes limits for missing requests. */
static Requests
container_requests(const Container *container)
{
    Requests requests = container->requests;

    if (requests.cpu_milli < 0)
        requests.cpu_milli = MAX(container->limits.cpu_milli, 0);
    if (requests.memory_bytes < 0)
        requests.memory_bytes = MAX(container->limits.memory_bytes, 0);
    return requests;
}

static Requests
requests_sum(Requests a, Requests b)
{
    return (Requests){sim_time_add(a.cpu_milli, b.cpu_milli),
                      sim_time_add(a.memory_bytes, b.memory_bytes)}; /* saturates */
}

static Requests
requests_max(Requests a, Requests b)
{
    return (Requests){MAX(a.cpu_milli, b.cpu_milli), MAX(a.memory_bytes, b.memory_bytes)};
}

/* PodRequests() of Kubernetes' component-helpers/resource: containers and sidecars run together;
 * before that the init containers, one after the other, each beside the sidecars that started
 * before it. */
typedef struct {
    Requests running, sidecars, init;
} RequestSums;

static void
requests_add(RequestSums *sums, Requests requests, gboolean is_init, gboolean is_sidecar)
{
    if (!is_init) {
        sums->running = requests_sum(sums->running, requests);
        return;
    }
    if (is_sidecar) {
        sums->running = requests_sum(sums->running, requests);
        sums->sidecars = requests_sum(sums->sidecars, requests);
        requests = sums->sidecars;
    } else {
        requests = requests_sum(requests, sums->sidecars);
    }
    sums->init = requests_max(sums->init, requests);
}

static void
container_parse(
    ApiParser *parser, const json_t *value, PodSpec *spec, gboolean is_init, RequestSums *sums)
{
    static const Requests not_given = {-1, -1};
    Container container = {
        .requests = not_given,
        .limits = not_given,
        .mounts = g_steal_pointer(&spec->mounts), /* the container adds its own */
        .devices = g_steal_pointer(&spec->devices),
    };

    fields_parse(parser, value, container_fields, &container);
    spec->mounts = container.mounts;
    spec->devices = container.devices;
    requests_add(sums, container_requests(&container), is_init,
                 g_strcmp0(container.restart_policy, "Always") == 0);
    if (!is_init)
        spec->containers[spec->n_containers++] = (PodContainer){container.name, container.image};
}

static void
containers_parse(
    ApiParser *parser, const json_t *spec_json, const char *key, PodSpec *spec, RequestSums *sums)
{
    const json_t *array = json_path_get(spec_json, key);
    gboolean is_init = strcmp(key, "initContainers") == 0;
    gsize length = api_parser_enter(parser, key);

    if (!is_init && (array == NULL || (json_is_array(array) && json_array_size(array) == 0)))
        api_parser_required(parser, array == NULL ? spec_json : array, NULL);
    else if (array != NULL && api_parser_expect(parser, array, JSON_ARRAY)) {
        if (!is_init)
            spec->containers = g_new0(PodContainer, json_array_size(array));
        for (size_t i = 0; i < json_array_size(array); i++) {
            gsize inner = api_parser_enter_index(parser, (unsigned)i);
            container_parse(parser, json_array_get(array, i), spec, is_init, sums);
            api_parser_leave(parser, inner);
        }
    }
    api_parser_leave(parser, length);
}

static void
overhead_parse(ApiParser *parser, const json_t *spec_json, Requests *overhead)
{
    static const Field fields[] = {
        FIELD("cpu", field_milli, Requests, cpu_milli, FIELD_SPEC),
        FIELD("memory", field_quantity, Requests, memory_bytes, FIELD_SPEC),
        FIELDS_END,
    };
    const json_t *value = json_path_get(spec_json, "overhead");

    if (value == NULL)
        return;
    gsize length = api_parser_enter(parser, "overhead");
    fields_parse(parser, value, fields, overhead);
    api_parser_leave(parser, length);
}

void
pod_containers_parse(ApiParser *parser, const json_t *spec_json, PodSpec *spec)
{
    RequestSums sums = {0};
    Requests overhead = {0};

    containers_parse(parser, spec_json, "initContainers", spec, &sums);
    containers_parse(parser, spec_json, "containers", spec, &sums);
    overhead_parse(parser, spec_json, &overhead);
    Requests total = requests_sum(requests_max(sums.running, sums.init), overhead);
    spec->cpu_milli = total.cpu_milli;
    spec->memory_bytes = total.memory_bytes;
}

gboolean
pod_containers_equal(const PodSpec *a, const PodSpec *b)
{
    if (a->n_containers != b->n_containers || (a->containers == NULL) != (b->containers == NULL))
        return FALSE;
    for (unsigned i = 0; a->containers != NULL && i < a->n_containers; i++)
        if (g_strcmp0(a->containers[i].name, b->containers[i].name) != 0 ||
            g_strcmp0(a->containers[i].image, b->containers[i].image) != 0)
            return FALSE;
    return TRUE;
}

json_t *
pod_containers_to_json(const PodSpec *spec)
{
    json_t *array = json_array();

    for (unsigned i = 0; i < spec->n_containers; i++) {
        json_t *container = json_pack("{s:s}", "name", spec->containers[i].name);
        if (spec->containers[i].image != NULL)
            json_object_set_new(container, "image", json_string(spec->containers[i].image));
        json_array_append_new(array, container);
    }
    return array;
}
