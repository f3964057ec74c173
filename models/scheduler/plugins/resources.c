/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "plugins.h"

/* NodeResourcesFit and NodeResourcesBalancedAllocation: requests against allocatable, never usage.
 */

/* VF-50; names all resources that are short (SCH-91). */
Verdict
resources_fit_filter(Cycle *cycle, const NodeInfo *node)
{
    const PodSpec *spec = cycle->pod->spec;
    const NodeResources *allocatable = &node->node->allocatable;
    Verdict verdict = VERDICT_OK;

    if (node->n_pods + 1 > allocatable->pods) {
        cycle_refuse(cycle, REFUSED_PODS);
        verdict = VERDICT_UNSCHEDULABLE;
    }
    if (spec->cpu_milli > 0 &&
        spec->cpu_milli > node_info_left(allocatable->cpu_milli, node->requested_cpu_milli)) {
        cycle_refuse(cycle, REFUSED_CPU);
        verdict = VERDICT_UNSCHEDULABLE;
    }
    if (spec->memory_bytes > 0 &&
        spec->memory_bytes >
            node_info_left(allocatable->memory_bytes, node->requested_memory_bytes)) {
        cycle_refuse(cycle, REFUSED_MEMORY);
        verdict = VERDICT_UNSCHEDULABLE;
    }
    return verdict;
}

/* VF-88: containers that ask for nothing count as a little here. */
gboolean
resources_pre_score(Cycle *cycle)
{
    pod_nonzero_requests(cycle->pod->spec, &cycle->nonzero_cpu_milli, &cycle->nonzero_memory_bytes);
    return TRUE;
}

static int64_t
unused_percent(int64_t requested, int64_t allocatable)
{
    __int128 unused = (__int128)allocatable - requested; /* a node may have up to 8 EiB */

    if (requested < 0) /* the sum has wrapped: it is more than any node has */
        return 0;
    return unused < 0 ? 0 : (int64_t)(unused * MAX_NODE_SCORE / allocatable);
}

/* VF-80: the mean over the resources that the node has at all. */
int64_t
least_allocated_score(Cycle *cycle, const NodeInfo *node)
{
    const NodeResources *allocatable = &node->node->allocatable;
    int64_t sum = 0, n = 0;

    if (allocatable->cpu_milli > 0) {
        sum += unused_percent(node->nonzero_cpu_milli + cycle->nonzero_cpu_milli,
                              allocatable->cpu_milli);
        n++;
    }
    if (allocatable->memory_bytes > 0) {
        sum += unused_percent(sim_time_add(node->nonzero_memory_bytes, cycle->nonzero_memory_bytes),
                              allocatable->memory_bytes);
        n++;
    }
    return n == 0 ? 0 : sum / n;
}

static double
fraction(int64_t requested, int64_t allocatable)
{
    double result = (double)requested / (double)allocatable;

    return result > 1 ? 1 : result;
}

/* VF-81: one less the standard deviation of the two fractions. */
int64_t
balanced_allocation_score(Cycle *cycle, const NodeInfo *node)
{
    const NodeResources *allocatable = &node->node->allocatable;
    double deviation = 0;

    if (allocatable->cpu_milli > 0 && allocatable->memory_bytes > 0) {
        double cpu = fraction(node->requested_cpu_milli + cycle->pod->spec->cpu_milli,
                              allocatable->cpu_milli);
        double memory = fraction(node->requested_memory_bytes + cycle->pod->spec->memory_bytes,
                                 allocatable->memory_bytes);
        deviation = (cpu > memory ? cpu - memory : memory - cpu) / 2;
    }
    return (int64_t)((1 - deviation) * (double)MAX_NODE_SCORE);
}

gboolean
resources_ask(const Cycle *cycle, Ask *ask)
{
    const PodSpec *spec = cycle->pod->spec;

    ask->cpu_milli = spec->cpu_milli;
    ask->memory_bytes = spec->memory_bytes;
    ask->n_containers = spec->n_containers;
    return TRUE;
}
