/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Metrics of a kubelet: pkg/kubelet/metrics and the collectors of the volume manager. Series
 * belong to the job, so all kubelets add to the same ones. Counts of volumes change with each
 * mount instead of being counted at a scrape, as a scrape of 5,000 nodes would walk all of their
 * volumes; the series of the last driver is kept for that. Nothing here costs anything unless the
 * scenario measures. */
#include "measure.h"

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

/* MET-55: the time since the pod wanted the mount. Block volumes are not measured. */
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

/* MET-64: a volume counts once for each pod, in the counts of all kubelets together. */
static gboolean
find_counts(Kubelet *self, const PodMount *mount)
{
    SimMetrics *metrics = sim_metrics(self->base.sim);
    const char *job = process_job(self->base.process);
    const Object *pv = metrics == NULL ? NULL : mount->volume->pv;
    const VolumeSource *source = pv == NULL ? NULL : VOLUME_CONST(pv)->source;

    if (source == NULL || source->driver == NULL)
        return FALSE;
    if (self->counted_driver != source->driver) {
        g_autofree char *plugin = plugin_label(pv);
        self->counted_driver = source->driver;
        self->desired_count =
            metric_series(metrics, METRIC_KUBELET_VOLUMES, job, plugin, desired_state);
        self->actual_count =
            metric_series(metrics, METRIC_KUBELET_VOLUMES, job, plugin, actual_state);
    }
    return TRUE;
}

void
kubelet_count_desired(const PodMount *mount, int n)
{
    Kubelet *self = mount->worker->kubelet;

    if (find_counts(self, mount))
        sim_series_add(self->desired_count, n);
}

void
kubelet_count_actual(const PodMount *mount, int n)
{
    Kubelet *self = mount->worker->kubelet;

    if (n != 0 && find_counts(self, mount))
        sim_series_add(self->actual_count, n);
}

/* CSP-28 */
void
kubelet_count_label(const Kubelet *self, MetricFamily family, const Object *pv)
{
    static const struct {
        AccessModes mode;
        const char *label;
    } modes[] = {
        {ACCESS_RWX,  "RWX" },
        {ACCESS_ROX,  "ROX" },
        {ACCESS_RWO,  "RWO" },
        {ACCESS_RWOP, "RWOP"},
    };
    const Volume *volume = VOLUME_CONST(pv);
    const char *mode = "inline";
    SimMetrics *metrics = sim_metrics(self->base.sim);

    if (metrics == NULL)
        return;
    for (unsigned i = G_N_ELEMENTS(modes); i-- > 0;)
        mode = (volume->access_modes & modes[i].mode) != 0 ? modes[i].label : mode;
    g_autofree char *plugin = g_strconcat("kubernetes.io/csi/", volume->source->driver, NULL);
    sim_series_add(metric_series(metrics, family, process_job(self->base.process), mode, plugin),
                   1);
}

gboolean
kubelet_watches_health(const Kubelet *self)
{
    return release_has_gate(kubelet_release(self), "CSIVolumeHealth");
}

/* KVM-73, KVM-98 */
void
kubelet_measure_usage(const Kubelet *self, const ObjectKey *claim, const VolumeUsage *usage)
{
    static const struct {
        MetricFamily family;
        gsize at;
    } gauges[] = {
        {METRIC_KUBELET_CAPACITY,    offsetof(VolumeUsage, bytes)          },
        {METRIC_KUBELET_AVAILABLE,   offsetof(VolumeUsage, available_bytes)},
        {METRIC_KUBELET_USED,        offsetof(VolumeUsage, used_bytes)     },
        {METRIC_KUBELET_INODES,      offsetof(VolumeUsage, inodes)         },
        {METRIC_KUBELET_INODES_FREE, offsetof(VolumeUsage, free_inodes)    },
        {METRIC_KUBELET_INODES_USED, offsetof(VolumeUsage, used_inodes)    },
        {METRIC_KUBELET_ABNORMAL,    offsetof(VolumeUsage, abnormal)       }, /* the last */
    };
    SimMetrics *metrics = sim_metrics(self->base.sim);
    unsigned n = G_N_ELEMENTS(gauges) - (metrics == NULL || !kubelet_watches_health(self));

    for (unsigned i = 0; metrics != NULL && i < n; i++)
        sim_series_set(metric_series(metrics, gauges[i].family, process_job(self->base.process),
                                     claim->namespace, claim->name),
                       usage != NULL ? G_STRUCT_MEMBER(int64_t, usage, gauges[i].at)
                                     : metric_families[gauges[i].family].untold);
}

/* MET-10: also if the driver said nothing. */
void
kubelet_measure_question(const Kubelet *self, const char *driver, SimTime took)
{
    SimMetrics *metrics = sim_metrics(self->base.sim);

    if (metrics != NULL)
        sim_series_observe(metric_series(metrics, METRIC_KUBELET_QUESTION,
                                         process_job(self->base.process), driver),
                           took);
}

/* MET-161: families without labels are there from the start. */
void
kubelet_measure_begin(Kubelet *self, void (*collect)(void *self))
{
    static const unsigned scalars[] = {
        METRIC_KUBELET_RECONSTRUCTED,  METRIC_KUBELET_RECONSTRUCT_ERRORS,
        METRIC_KUBELET_FORCE_CLEANED,  METRIC_KUBELET_FORCE_CLEAN_ERRORS,
        METRIC_KUBELET_SHUTDOWN_START, METRIC_KUBELET_SHUTDOWN_END,
        METRIC_KUBELET_RUNNING,        METRIC_POD_START,
        METRIC_POD_START_SLI,          METRIC_POD_START_TOTAL,
    };
    SimMetrics *metrics = sim_metrics(self->base.sim);

    if (metrics == NULL)
        return;
    for (unsigned i = 0; i < G_N_ELEMENTS(scalars); i++)
        (void)metric_series(metrics, scalars[i], process_job(self->base.process), NULL);
    sim_metrics_add_collector(metrics, collect, self);
}

/* Its volumes leave the counts with it. */
void
kubelet_measure_end(Kubelet *self)
{
    SimMetrics *metrics = sim_metrics(self->base.sim);

    sim_metrics_remove_collector(metrics, self);
    for (unsigned i = 0; metrics != NULL && i < self->workers->len; i++) {
        const PodWorker *worker = self->workers->pdata[i];
        for (unsigned k = 0; k < worker->n_mounts; k++) {
            const PodMount *mount = &worker->mounts[k];
            if (mount->volume == NULL)
                continue;
            if (mount->desired)
                kubelet_count_desired(mount, -1);
            kubelet_count_actual(mount, -(mount->state == MOUNT_DONE));
        }
    }
}

void
kubelet_count(const Kubelet *self, MetricFamily family)
{
    sim_series_add(
        metric_series(sim_metrics(self->base.sim), family, process_job(self->base.process), NULL),
        1);
}

void
kubelet_count_eviction(const Kubelet *self, const char *signal)
{
    sim_series_add(metric_series(sim_metrics(self->base.sim), METRIC_KUBELET_EVICTIONS,
                                 process_job(self->base.process), signal),
                   1);
}

/* MET-99: the last time of any kubelet. */
void
kubelet_measure_shutdown(const Kubelet *self, MetricFamily family)
{
    sim_series_set(
        metric_series(sim_metrics(self->base.sim), family, process_job(self->base.process), NULL),
        api_time_unix(sim_start(self->base.sim), sim_now(self->base.sim)));
}
