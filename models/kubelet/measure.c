/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "kubelet-private.h"
#include "models/api/metrics.h"

/* What a kubelet counts. Nothing is done where nothing is measured. */

#define SOCKETS "/var/lib/kubelet/plugins_registry/"

static const char actual_state[] = "actual_state_of_world",
                  desired_state[] = "desired_state_of_world";

static char *
plugin_label(const Object *pv)
{
    const VolumeSource *source = VOLUME_CONST(pv)->source;

    return source == NULL || source->driver == NULL
               ? NULL
               : g_strconcat("kubernetes.io/csi:", source->driver, NULL);
}

/* MET-55: from when the pod wanted it; of block volumes nothing is told. */
void
kubelet_measure_mount(const Kubelet *self, const PendingOperation *operation)
{
    SimMetrics *metrics = sim_metrics(self->base.sim);

    if (metrics == NULL || operation_is_block(operation))
        return;
    g_autofree char *plugin = plugin_label(operation->volume->pv);
    if (plugin != NULL)
        sim_series_observe(metric_series(metrics, METRIC_VOLUME_OPERATION,
                                         process_job(self->base.process), "overall_volume_mount",
                                         plugin),
                           sim_now(self->base.sim) - operation->target->desired_at);
}

/* MET-64: a volume counts once for each pod. */
static void
count_volumes(const Kubelet *self, const PodWorker *worker)
{
    SimMetrics *metrics = sim_metrics(self->base.sim);
    const char *job = process_job(self->base.process);

    for (unsigned i = 0; i < worker->n_mounts; i++) {
        const PodMount *mount = &worker->mounts[i];
        g_autofree char *plugin = mount->volume == NULL ? NULL : plugin_label(mount->volume->pv);
        if (plugin == NULL)
            continue;
        if (mount->desired)
            sim_series_add(
                metric_series(metrics, METRIC_KUBELET_VOLUMES, job, plugin, desired_state), 1);
        if (mount->state == MOUNT_DONE)
            sim_series_add(
                metric_series(metrics, METRIC_KUBELET_VOLUMES, job, plugin, actual_state), 1);
    }
}

/* MET-98 */
static void
count_plugin(const Kubelet *self, const NodePlugin *plugin)
{
    SimMetrics *metrics = sim_metrics(self->base.sim);
    const char *job = process_job(self->base.process);
    g_autofree char *socket = g_strconcat(
        SOCKETS, cluster_driver_name(self->base.cluster, plugin->driver), "-reg.sock", NULL);

    if (plugin->desired != 0)
        sim_series_add(metric_series(metrics, METRIC_KUBELET_PLUGINS, job, socket, desired_state),
                       1);
    if (plugin->actual != 0)
        sim_series_add(metric_series(metrics, METRIC_KUBELET_PLUGINS, job, socket, actual_state),
                       1);
}

/* Before a scrape: of all kubelets together. */
static void
measure(void *data)
{
    const Kubelet *self = data;

    for (unsigned i = 0; self->workers != NULL && i < self->workers->len; i++)
        count_volumes(self, self->workers->pdata[i]);
    for (unsigned i = 0; i < self->n_plugins; i++)
        count_plugin(self, &self->plugins[i]);
}

/* MET-161: the scalars are there from the start. Nothing of a kubelet's that was not asked for fails to be cleaned up by force. */
void
kubelet_measure_begin(Kubelet *self)
{
    static const unsigned scalars[] = {
        METRIC_KUBELET_RECONSTRUCTED,  METRIC_KUBELET_RECONSTRUCT_ERRORS,
        METRIC_KUBELET_FORCE_CLEANED,  METRIC_KUBELET_FORCE_CLEAN_ERRORS,
        METRIC_KUBELET_SHUTDOWN_START, METRIC_KUBELET_SHUTDOWN_END,
    };
    SimMetrics *metrics = sim_metrics(self->base.sim);

    if (metrics == NULL)
        return;
    for (unsigned i = 0; i < G_N_ELEMENTS(scalars); i++)
        (void)metric_series(metrics, scalars[i], process_job(self->base.process), NULL);
    sim_metrics_add_collector(metrics, measure, self);
}

void
kubelet_measure_end(Kubelet *self)
{
    sim_metrics_remove_collector(sim_metrics(self->base.sim), self);
}

void
kubelet_count(const Kubelet *self, MetricFamily family)
{
    sim_series_add(
        metric_series(sim_metrics(self->base.sim), family, process_job(self->base.process), NULL),
        1);
}

/* MET-99: the last time of any kubelet. */
void
kubelet_measure_shutdown(const Kubelet *self, MetricFamily family)
{
    sim_series_set(
        metric_series(sim_metrics(self->base.sim), family, process_job(self->base.process), NULL),
        sim_now(self->base.sim) + API_EPOCH_S * SIM_SECOND);
}
