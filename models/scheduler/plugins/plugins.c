/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "plugins.h"

/* Weights: VF-80, VF-81, VF-82, VF-83, VF-84, VF-85. No row for ImageLocality: no images are
 * modelled, so it would add 0 to all nodes; nor for NodePorts. */
const Plugin plugins[N_PLUGINS] = {
    [PLUGIN_NODE_UNSCHEDULABLE] = {.name = "NodeUnschedulable",
                                   .pre_filter = node_unschedulable_pre_filter,
                                   .filter = node_unschedulable_filter},
    [PLUGIN_NODE_NAME] = {.name = "NodeName",
                                   .pre_filter = node_name_pre_filter,
                                   .filter = node_name_filter},
    [PLUGIN_TAINT_TOLERATION] = {.name = "TaintToleration",
                                   .pre_filter = taint_toleration_pre_filter,
                                   .filter = taint_toleration_filter,
                                   .pre_score = taint_toleration_pre_score,
                                   .score = taint_toleration_score,
                                   .normalise = taint_toleration_normalise,
                                   .weight = 3},
    [PLUGIN_NODE_AFFINITY] = {.name = "NodeAffinity",
                                   .pre_filter = node_affinity_pre_filter,
                                   .filter = node_affinity_filter,
                                   .pre_score = node_affinity_pre_score,
                                   .score = node_affinity_score,
                                   .normalise = node_affinity_normalise,
                                   .weight = 2},
    [PLUGIN_NODE_RESOURCES_FIT] = {.name = "NodeResourcesFit",
                                   .filter = resources_fit_filter,
                                   .pre_score = resources_pre_score,
                                   .score = least_allocated_score,
                                   .ask = resources_ask,
                                   .weight = 1},
    [PLUGIN_VOLUME_RESTRICTIONS] = {.name = "VolumeRestrictions",
                                   .pre_filter = volume_restrictions_pre_filter,
                                   .filter = volume_restrictions_filter,
                                   .ask = volume_restrictions_ask},
    [PLUGIN_NODE_VOLUME_LIMITS] = {.name = "NodeVolumeLimits",
                                   .pre_filter = volume_limits_pre_filter,
                                   .filter = volume_limits_filter,
                                   .ask = volume_limits_ask},
    [PLUGIN_VOLUME_BINDING] = {.name = "VolumeBinding",
                                   .pre_filter = volume_binding_pre_filter,
                                   .filter = volume_binding_filter,
                                   .pre_score = volume_binding_pre_score,
                                   .score = volume_binding_score,
                                   .weight = 1},
    [PLUGIN_VOLUME_ZONE] = {.name = "VolumeZone",
                                   .pre_filter = volume_zone_pre_filter,
                                   .filter = volume_zone_filter},
    [PLUGIN_POD_TOPOLOGY_SPREAD] = {.name = "PodTopologySpread",
                                   .pre_filter = topology_spread_pre_filter,
                                   .filter = topology_spread_filter,
                                   .pre_score = topology_spread_pre_score,
                                   .score = topology_spread_score,
                                   .normalise = topology_spread_normalise,
                                   .weight = 2},
    [PLUGIN_INTER_POD_AFFINITY] = {.name = "InterPodAffinity",
                                   .pre_filter = pod_affinity_pre_filter,
                                   .filter = pod_affinity_filter,
                                   .pre_score = pod_affinity_pre_score,
                                   .score = pod_affinity_score,
                                   .normalise = pod_affinity_normalise,
                                   .weight = 2},
    [PLUGIN_BALANCED_ALLOCATION] = {.name = "NodeResourcesBalancedAllocation",
                                   .pre_score = resources_pre_score,
                                   .score = balanced_allocation_score,
                                   .ask = resources_ask,
                                   .weight = 1},
    [PLUGIN_SCHEDULING_GATES] = {.name = "SchedulingGates"         },
};

void
normalise_by_max(int64_t *scores, unsigned n, gboolean reversed)
{
    int64_t max = 0;

    for (unsigned i = 0; i < n; i++)
        max = MAX(max, scores[i]);
    for (unsigned i = 0; i < n; i++) {
        if (max > 0)
            scores[i] = MAX_NODE_SCORE * scores[i] / max;
        if (reversed)
            scores[i] = MAX_NODE_SCORE - scores[i];
    }
}
