/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Pods on nodes, assumed ones included, and the sums that filters and scores read: requests of a
 * node, pods by label and by priority, and nominations. Sums change with each pod that comes or
 * goes and are never counted again from the list. A pod's newer version on the same node changes
 * only its labels, its spec and its deletion. */
#include "cache-private.h"

/* VF-88: what a container without a request counts as in scores. */
#define DEFAULT_CPU_MILLI INT64_C(100)
#define DEFAULT_MEMORY_BYTES (INT64_C(200) * 1024 * 1024)

CachedPod *
scheduler_cache_find_pod(const SchedulerCache *self, const ObjectKey *key, ObjectUid uid)
{
    for (CachedPod *pod = sim_slots_pointer(&self->pods, key->slot); pod != NULL;
         pod = pod->next_of_name) {
        if (object_uid_equal(pod->pod->meta.uid, uid))
            return pod;
    }
    return NULL;
}

void
pod_nonzero_requests(const PodSpec *spec, int64_t *cpu_milli, int64_t *memory_bytes)
{
    *cpu_milli = spec->cpu_milli == 0 ? DEFAULT_CPU_MILLI * spec->n_containers : spec->cpu_milli;
    *memory_bytes =
        spec->memory_bytes == 0 ? DEFAULT_MEMORY_BYTES * spec->n_containers : spec->memory_bytes;
}

static void
count_request(int64_t *sum, int sign, int64_t request)
{
    (void)__builtin_add_overflow(*sum, sign * request, sum); /* wraps: node_info_left() */
}

static void
count_requests(SchedulerCache *self, NodeInfo *node, const PodSpec *spec, int sign)
{
    int64_t cpu, memory;

    pod_nonzero_requests(spec, &cpu, &memory);
    count_request(&node->requested_cpu_milli, sign, spec->cpu_milli);
    count_request(&node->requested_memory_bytes, sign, spec->memory_bytes);
    count_request(&node->nonzero_cpu_milli, sign, cpu);
    count_request(&node->nonzero_memory_bytes, sign, memory);
    node->n_pods += sign;
    cache_forget_asks(self, node);
}

static void
count_labels(SchedulerCache *self, const Pod *pod, NodeInfo *node, int change)
{
    if (!pod_counts_is_used(self->counts) && pod->spec->n_pod_terms == 0)
        return;
    pod_counts_add_pod(self->counts, pod, &node->domains, change);
}

static void
count_priority(SchedulerCache *self, int32_t priority, int change)
{
    unsigned i = 0;

    while (i < self->priorities->len &&
           g_array_index(self->priorities, PriorityCount, i).priority < priority)
        i++;
    if (i == self->priorities->len ||
        g_array_index(self->priorities, PriorityCount, i).priority != priority) {
        PriorityCount count = {.priority = priority};
        g_array_insert_val(self->priorities, i, count);
    }
    PriorityCount *count = &g_array_index(self->priorities, PriorityCount, i);
    count->n_pods += (uint32_t)change;
    if (count->n_pods == 0)
        g_array_remove_index(self->priorities, i);
}

int32_t
scheduler_cache_lowest_priority(const SchedulerCache *self)
{
    return self->priorities->len == 0 ? INT32_MAX
                                      : g_array_index(self->priorities, PriorityCount, 0).priority;
}

void
scheduler_cache_nominate(SchedulerCache *self, const Pod *pod, const char *node_name)
{
    for (unsigned i = 0; i < self->nominated->len; i++) {
        if (object_uid_equal(g_array_index(self->nominated, NominatedPod, i).pod->meta.uid,
                             pod->meta.uid)) {
            g_array_remove_index(self->nominated, i);
            break;
        }
    }
    if (node_name == NULL)
        return;
    NominatedPod nominated = {pod, cache_node_info(self, objects_key(self->options.sources.objects,
                                                                     KIND_NODE, NULL, node_name))};
    object_ref(&pod->meta);
    g_array_append_val(self->nominated, nominated);
}

const NominatedPod *
scheduler_cache_nominated(const SchedulerCache *self, unsigned *n)
{
    *n = self->nominated->len;
    return (const NominatedPod *)(void *)self->nominated->data;
}

unsigned
scheduler_cache_count_pods(const SchedulerCache *self, unsigned *n_assumed)
{
    *n_assumed = self->n_assumed;
    return self->n_pods;
}

static CachedPod *
place_pod(SchedulerCache *self, const Pod *pod, NodeInfo *node, void *attempt)
{
    const ObjectKey *key = pod->meta.key;
    CachedPod *cached = g_slice_new0(CachedPod);

    object_ref(&pod->meta);
    cached->pod = pod;
    cached->node = node;
    cached->attempt = attempt;
    cached->next_on_node = node->pods;
    if (node->pods != NULL)
        node->pods->previous_on_node = cached;
    node->pods = cached;
    CachedPod **first = sim_slots_place(&self->pods, key->slot);
    cached->next_of_name = *first;
    *first = cached;
    self->n_pods++;
    self->n_assumed += attempt != NULL;
    count_requests(self, node, pod->spec, 1);
    cache_use_claims(self, pod, node, 1);
    count_labels(self, pod, node, 1);
    count_priority(self, pod->spec->priority, 1);
    return cached;
}

/* A newer version of a pod where it is: only its labels and whether it is being deleted count
 * (VF-64). */
static void
replace_pod(SchedulerCache *self, CachedPod *cached, const Pod *pod)
{
    const Pod *before = cached->pod;
    gboolean counts_else = !string_map_equal(before->meta.labels, pod->meta.labels) ||
                           object_is_deleted(&before->meta) != object_is_deleted(&pod->meta);

    if (counts_else)
        count_labels(self, before, cached->node, -1);
    if (before->spec != pod->spec) {
        count_priority(self, before->spec->priority, -1);
        count_priority(self, pod->spec->priority, 1);
        count_requests(self, cached->node, before->spec, -1);
        count_requests(self, cached->node, pod->spec, 1);
    }
    object_ref(&pod->meta);
    cached->pod = pod;
    if (counts_else)
        count_labels(self, pod, cached->node, 1);
    object_unref(&before->meta);
}

void
scheduler_cache_set_attempt(SchedulerCache *self, CachedPod *cached, void *attempt)
{
    self->n_assumed -= cached->attempt != NULL;
    self->n_assumed += attempt != NULL;
    cached->attempt = attempt;
}

CachedPod *
scheduler_cache_add_pod(SchedulerCache *self, const Pod *pod, const char *node_name, void *attempt)
{
    NodeInfo *node = cache_node_info(
        self, objects_key(self->options.sources.objects, KIND_NODE, NULL, node_name));
    CachedPod *cached = scheduler_cache_find_pod(self, pod->meta.key, pod->meta.uid);

    if (cached != NULL && cached->node == node) {
        replace_pod(self, cached, pod);
        scheduler_cache_set_attempt(self, cached, attempt);
        return cached;
    }
    if (cached != NULL) /* assumed on one node, and somebody else put it on another */
        scheduler_cache_remove_pod(self, cached);
    return place_pod(self, pod, node, attempt);
}

void
scheduler_cache_remove_pod(SchedulerCache *self, CachedPod *cached)
{
    const Pod *pod = cached->pod;
    NodeInfo *node = cached->node;

    self->n_pods--;
    self->n_assumed -= cached->attempt != NULL;
    count_priority(self, pod->spec->priority, -1);
    count_labels(self, pod, node, -1);
    cache_use_claims(self, pod, node, -1);
    count_requests(self, node, pod->spec, -1);
    if (cached->previous_on_node != NULL)
        cached->previous_on_node->next_on_node = cached->next_on_node;
    else
        node->pods = cached->next_on_node;
    if (cached->next_on_node != NULL)
        cached->next_on_node->previous_on_node = cached->previous_on_node;

    CachedPod **link = sim_slots_place(&self->pods, pod->meta.key->slot);
    while (*link != cached)
        link = &(*link)->next_of_name;
    *link = cached->next_of_name;
    object_unref(&pod->meta);
    g_slice_free(CachedPod, cached);
}
