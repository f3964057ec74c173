/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "diagnose.h"

#include "cycle.h"
#include "scheduler-private.h"

/* Returns: FALSE: the plugin rejects the pod on every node */
static gboolean
begin_plugin(Cycle *cycle, const Plugin *plugin, gboolean *filters)
{
    Verdict verdict = plugin->pre_filter == NULL ? VERDICT_OK : plugin->pre_filter(cycle);

    *filters = verdict == VERDICT_OK && plugin->filter != NULL;
    return verdict == VERDICT_OK || verdict == VERDICT_SKIP || verdict == VERDICT_ANY_NODE;
}

/* Only nodes that pre_filter has named, and that it has not narrowed away, get to the filter. */
static void
ask_node(Cycle *cycle, PluginId id, const NodeInfo *node, NodeRefused refused, void *data)
{
    g_array_set_size(cycle->reasons, 0);
    for (unsigned i = 0; i < cycle->n_narrowings; i++) {
        const Narrowing *narrowing = &cycle->narrowings[i];
        if (narrowing->plugin == id && !node_set_has(&narrowing->nodes, node->place)) {
            cycle_reason(cycle, narrowing->reason);
            break;
        }
    }
    if (cycle->reasons->len == 0)
        plugins[id].filter(cycle, node);
    for (unsigned i = 0; i < cycle->reasons->len; i++)
        refused(data, node, id, &g_array_index(cycle->reasons, Reason, i));
}

/* Where the pod waits, and until when. */
static void
find_place(const Scheduler *self, const Pod *pod, Diagnosis *diagnosis)
{
    const QueuedPod *queued = scheduling_queue_find(self->queue, pod->meta.key);

    diagnosis->again_at = SIM_TIME_MAX;
    diagnosis->n_ahead = scheduling_queue_length(self->queue, PLACE_ACTIVE);
    diagnosis->place = queued == NULL ? PLACE_NONE : queued->place;
    if (diagnosis->place == PLACE_BACKOFF || diagnosis->place == PLACE_ERRORS)
        diagnosis->again_at = scheduling_queue_backoff_end(self->queue, queued);
    else if (diagnosis->place == PLACE_UNSCHEDULABLE)
        diagnosis->again_at = queued->timestamp + options_of(self)->pod_max_in_unschedulable;
}

gboolean
scheduler_diagnose(
    const Cluster *cluster, const Pod *pod, NodeRefused refused, void *data, Diagnosis *diagnosis)
{
    const Scheduler *self = cluster_model(cluster, &scheduler_class, NULL);
    g_autoptr(Cycle) cycle = self == NULL ? NULL : cycle_new(&self->view);

    *diagnosis = (Diagnosis){0};
    if (self == NULL)
        return FALSE;
    NodeInfo *const *nodes = scheduler_cache_nodes(self->cache, &diagnosis->n_nodes);
    find_place(self, pod, diagnosis);
    cycle_begin(cycle, pod, 0);
    for (PluginId id = 0; id < N_PLUGINS; id++) {
        gboolean filters;
        if (!begin_plugin(cycle, &plugins[id], &filters)) {
            diagnosis->text = g_strdup(cycle->text->str);
            return TRUE;
        }
        for (unsigned i = 0; filters && i < diagnosis->n_nodes; i++)
            ask_node(cycle, id, nodes[i], refused, data);
    }
    return TRUE;
}
