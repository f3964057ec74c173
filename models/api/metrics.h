/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "sim/metrics.h"

/* Kubernetes' own metrics, as far as a model can know them: names, types, labels and buckets as release 1.32 and its sidecars
 * print them (checked against their scrapes). Labels stand in order of the alphabet; each series has a job besides. */
typedef enum {
    METRIC_API_REQUESTS,
    METRIC_API_DURATION,
    METRIC_API_SLI,
    METRIC_API_OBJECTS,
    METRIC_API_CACHE_EVENTS,
    METRIC_API_CACHE_VERSION,
    METRIC_QUEUE_ADDS,
    METRIC_QUEUE_DEPTH,
    METRIC_QUEUE_DURATION,
    METRIC_QUEUE_WORK,
    METRIC_QUEUE_RETRIES,
    METRIC_QUEUE_UNFINISHED,
    METRIC_QUEUE_LONGEST,
    METRIC_CLIENT_REQUESTS,
    METRIC_CLIENT_DURATION,
    METRIC_CLIENT_LIMITER,
    METRIC_SCHEDULER_ATTEMPTS,
    METRIC_SCHEDULER_ATTEMPT,
    METRIC_SCHEDULER_SLI,
    METRIC_SCHEDULER_POD_ATTEMPTS,
    METRIC_SCHEDULER_PENDING,
    METRIC_SCHEDULER_CACHE,
    METRIC_STORAGE_OPERATION,
    METRIC_VOLUME_OPERATION,
    METRIC_CSI_SIDECAR,
    METRIC_CSI_KUBELET,
    METRIC_PROVISIONED,
    METRIC_PROVISION_FAILED,
    METRIC_PROVISION_DURATION,
    METRIC_VOLUME_DELETED,
    METRIC_VOLUME_DELETE_FAILED,
    METRIC_VOLUME_DELETE_DURATION,
    METRIC_PV_TOTAL,
    METRIC_PV_BOUND,
    METRIC_PV_UNBOUND,
    METRIC_PVC_BOUND,
    METRIC_PVC_UNBOUND,
    METRIC_FORCED_DETACHES,
    METRIC_ADC_VOLUMES,
    METRIC_VOLUMES_IN_USE,
    METRIC_KUBELET_VOLUMES,
    METRIC_KUBELET_CAPACITY,
    METRIC_POD_START,
    METRIC_POD_START_SLI,
    METRIC_POD_START_TOTAL,
    METRIC_KUBELET_RUNNING,
    METRIC_ZONE_SIZE,
    METRIC_ZONE_HEALTH,
    METRIC_ZONE_UNHEALTHY,
    METRIC_PROCESS_START,
    N_METRICS,
} MetricFamily;

extern const SimFamily metric_families[N_METRICS];

/* As the HTTP label says it. */
#define METRIC_HOST "127.0.0.1:6443"

/* The series of a family: see sim_metrics_series(). Values are of the family's labels. */
#define metric_series(metrics, family, job, ...)                                                   \
    sim_metrics_series(metrics, &metric_families[family], job, (const char *const[]){__VA_ARGS__})
