/* SPDX-License-Identifier: GPL-3.0-or-later */
/* kube-scheduler's Prometheus metrics: attempts by result and stage, moves between queues with the
 * event that caused them, and pods that wait by plugin. Counters change with the events, gauges of
 * the queue are counted before a scrape. A run without metrics returns at once and counts nothing.
 */
#include "models/metrics/metrics.h"
#include "scheduler-private.h"

#define PROFILE "default-scheduler"

/* The event's resource as Kubernetes' labels have it: with its group, if it is not of the core. */
static const char *const resource_labels[] = {
    [EVENT_NODE] = "Node",
    [EVENT_POD] = "AssignedPod",
    [EVENT_OWN_POD] = "UnschedulablePod",
    [EVENT_CLAIM] = "PersistentVolumeClaim",
    [EVENT_VOLUME] = "PersistentVolume",
    [EVENT_CLASS] = "storage.k8s.io/StorageClass",
    [EVENT_CSI_NODE] = "storage.k8s.io/CSINode",
    [EVENT_CAPACITY] = "storage.k8s.io/CSIStorageCapacity",
    [EVENT_ATTACHMENT] = "storage.k8s.io/VolumeAttachment",
    [EVENT_CSI_DRIVER] = "storage.k8s.io/CSIDriver",
};

/* In the order in which an update's parts are looked at. */
static const struct {
    EventActions action;
    const char *label;
} action_labels[] = {
    {ACTION_ADD,              "Add"                  },
    {ACTION_DELETE,           "Delete"               },
    {ACTION_NODE_ALLOCATABLE, "UpdateNodeAllocatable"},
    {ACTION_NODE_LABEL,       "UpdateNodeLabel"      },
    {ACTION_NODE_TAINT,       "UpdateNodeTaint"      },
};

static void
measure_count(const Scheduler *self, const char *event, const char *queue)
{
    sim_series_add(metric_series(sim_metrics(self->base.sim), METRIC_SCHEDULER_INCOMING,
                                 process_job(self->base.process), event, queue),
                   1);
}

/* MET-27 */
void
scheduler_count_move(const Scheduler *self, const QueuedPod *entry, const char *event)
{
    if (sim_metrics(self->base.sim) != NULL)
        measure_count(self, event,
                      entry->place == PLACE_UNSCHEDULABLE ? "unschedulable"
                      : entry->place == PLACE_BACKOFF || entry->place == PLACE_ERRORS ? "backoff"
                                                                                      : "active");
}

void
scheduler_count_moved_by(const Scheduler *self, const QueuedPod *entry, const ClusterEvent *event)
{
    const char *action = "Update";

    if (sim_metrics(self->base.sim) == NULL)
        return;
    for (unsigned i = 0; i < G_N_ELEMENTS(action_labels) && event->resource != EVENT_OWN_POD; i++) {
        if ((event->actions & (uint32_t)action_labels[i].action) != 0) {
            action = action_labels[i].label;
            break;
        }
    }
    g_autofree char *label = g_strconcat(resource_labels[event->resource], action, NULL);
    scheduler_count_move(self, entry, label);
}

/* MET-22, MET-31, MET-32. After a failed cycle other nodes are tried for victims each time, even if
 * none would help. */
void
scheduler_measure_cycle(const Scheduler *self, const CycleResult *result, SimTime duration)
{
    SimMetrics *metrics = sim_metrics(self->base.sim);
    const char *job = process_job(self->base.process);

    if (metrics == NULL)
        return;
    if (result->node_name != NULL)
        sim_series_observe(metric_series(metrics, METRIC_SCHEDULER_ALGORITHM, job, NULL), duration);
    else if (!result->is_error)
        sim_series_add(metric_series(metrics, METRIC_PREEMPTION_ATTEMPTS, job, NULL), 1);
    if (result->victims != NULL && result->victims->len > 0)
        sim_series_observe(metric_series(metrics, METRIC_PREEMPTION_VICTIMS, job, NULL),
                           result->victims->len);
}

/* MET-40 */
void
scheduler_count_stage_error(const Scheduler *self, const char *operation)
{
    sim_series_add(metric_series(sim_metrics(self->base.sim), METRIC_SCHEDULER_STAGE_ERROR,
                                 process_job(self->base.process), operation),
                   1);
}

static void
set_unschedulable(const Scheduler *self, const char *plugin, unsigned n)
{
    if (n > 0)
        sim_series_set(metric_series(sim_metrics(self->base.sim), METRIC_SCHEDULER_UNSCHEDULABLE,
                                     process_job(self->base.process), plugin, PROFILE),
                       n);
}

/* MET-33: pods that a plugin rejected and that have not been tried since. */
static void
measure_unschedulable(const Scheduler *self)
{
    static const QueuePlace places[] = {PLACE_ACTIVE, PLACE_BACKOFF, PLACE_ERRORS,
                                        PLACE_UNSCHEDULABLE};
    unsigned counts[N_PLUGINS] = {0};

    sim_metrics_clear(sim_metrics(self->base.sim),
                      &metric_families[METRIC_SCHEDULER_UNSCHEDULABLE]);
    for (unsigned i = 0; i < G_N_ELEMENTS(places); i++) {
        for (unsigned k = 0; k < scheduling_queue_length(self->queue, places[i]); k++) {
            const QueuedPod *entry = scheduling_queue_at(self->queue, places[i], k);
            counts[PLUGIN_SCHEDULING_GATES] += entry->gated;
            for (uint32_t rest = entry->gated ? 0 : entry->unschedulable_plugins; rest != 0;
                 rest &= rest - 1)
                counts[__builtin_ctz(rest)]++;
        }
    }
    for (unsigned i = 0; i < N_PLUGINS; i++)
        set_unschedulable(self, plugins[i].name, counts[i]);
}

/* MET-26, MET-33, MET-34, before a scrape. */
void
scheduler_measure_queue(void *data)
{
    const Scheduler *self = data;
    SimMetrics *metrics = sim_metrics(self->base.sim);
    const char *job = process_job(self->base.process);
    unsigned n_waiting = scheduling_queue_length(self->queue, PLACE_UNSCHEDULABLE), n_gated = 0;

    for (unsigned i = 0; i < n_waiting; i++)
        n_gated += scheduling_queue_at(self->queue, PLACE_UNSCHEDULABLE, i)->gated;
    sim_series_set(metric_series(metrics, METRIC_SCHEDULER_PENDING, job, "active"),
                   scheduling_queue_length(self->queue, PLACE_ACTIVE));
    sim_series_set(metric_series(metrics, METRIC_SCHEDULER_PENDING, job, "backoff"),
                   scheduling_queue_length(self->queue, PLACE_BACKOFF) +
                       scheduling_queue_length(self->queue, PLACE_ERRORS));
    sim_series_set(metric_series(metrics, METRIC_SCHEDULER_PENDING, job, "gated"), n_gated);
    sim_series_set(metric_series(metrics, METRIC_SCHEDULER_PENDING, job, "unschedulable"),
                   n_waiting - n_gated);
    measure_unschedulable(self);
    unsigned n_assumed, n_pods = scheduler_cache_count_pods(self->cache, &n_assumed);
    sim_series_set(metric_series(metrics, METRIC_SCHEDULER_CACHE, job, "pods"), n_pods);
    sim_series_set(metric_series(metrics, METRIC_SCHEDULER_CACHE, job, "assumed_pods"), n_assumed);
}

/* MET-161: these are there from the start. */
void
scheduler_measure_from_start(const Scheduler *self)
{
    SimMetrics *metrics = sim_metrics(self->base.sim);
    const char *job = process_job(self->base.process);

    (void)metric_series(metrics, METRIC_SCHEDULER_ALGORITHM, job, NULL);
    (void)metric_series(metrics, METRIC_PREEMPTION_ATTEMPTS, job, NULL);
    (void)metric_series(metrics, METRIC_PREEMPTION_VICTIMS, job, NULL);
}
