/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <string.h>

#include "made.h"
#include "models/api/field.h"
#include "models/api/fields.h"

/* No container of a run computes anything, so what it uses is an invention that stays the same: a
 * share of its request that its name decides, or a little where it asks for nothing. */

#define MI (1024 * 1024)

gboolean
usage_pod_runs(const json_t *pod)
{
    return g_strcmp0(json_path_string(pod, "status.phase"), "Running") == 0;
}

/* Returns: 0: none, or no quantity */
static int64_t
request_of(const json_t *container, const char *resource, gboolean in_milli)
{
    const json_t *requests = json_path_get(container, "resources.requests");
    const char *text = json_string_value(json_object_get(requests, resource));
    int64_t value = 0, milli = 0;

    if (text == NULL || !quantity_parse(text, &value, &milli, NULL))
        return 0;
    return in_milli ? milli : value;
}

Usage
usage_of_container(const json_t *pod, const json_t *container)
{
    uint64_t luck = sim_hash_combine(sim_hash_string(json_path_string(pod, "metadata.name")),
                                     sim_hash_string(json_path_string(container, "name")));
    int64_t cpu_m = request_of(container, "cpu", TRUE);
    int64_t memory = request_of(container, "memory", FALSE);
    int64_t cpu_share = 30 + (int64_t)(luck % 50), memory_share = 50 + (int64_t)(luck >> 8 & 31);

    return (Usage){
        .cpu_n = cpu_m > 0 ? cpu_m * 10000 * cpu_share : (int64_t)(2 + luck % 9) * 1000000,
        .memory = memory > 0 ? memory / 100 * memory_share : (int64_t)(16 + (luck >> 8 & 31)) * MI,
    };
}

Usage
usage_of_pod(const json_t *pod)
{
    const json_t *containers = json_path_get(pod, "spec.containers");
    Usage sum = {0};

    for (gsize i = 0; i < json_array_size(containers); i++) {
        Usage one = usage_of_container(pod, json_array_get(containers, i));
        sum.cpu_n += one.cpu_n;
        sum.memory += one.memory;
    }
    return sum;
}

Usage
usage_of_system(const json_t *node)
{
    uint64_t luck = sim_hash_string(json_path_string(node, "metadata.name"));

    return (Usage){(int64_t)(80 + luck % 64) * 1000000, (int64_t)(350 + (luck >> 8 & 127)) * MI};
}

typedef struct {
    const char *node;
    void (*see)(void *data, const json_t *pod);
    void *data;
} EachPod;

static gboolean
usage_see_pod(void *data, const char *place, json_t *pod)
{
    const EachPod *self = data;
    const char *node = json_path_string(pod, "spec.nodeName");

    (void)place;
    if (usage_pod_runs(pod) && (self->node == NULL || g_strcmp0(self->node, node) == 0))
        self->see(self->data, pod);
    json_decref(pod);
    return TRUE;
}

void
usage_each_pod(ServeApi *api,
               const char *node,
               void (*see)(void *data, const json_t *pod),
               void *data)
{
    const ApiResource *row;
    EachPod each = {node, see, data};

    store_list(serve_store_kind(api->store, "", "v1", "pods", &row), NULL, NULL, usage_see_pod,
               &each);
}
