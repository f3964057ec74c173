/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "metric-samples.h"
#include "models/csi/modelled/modelled-driver.h"

/* Histograms of storage operations as clusters export them: csi_sidecar_operations_seconds of the
 * sidecars, csi_operations_seconds and storage_operation_duration_seconds of kubelet and
 * kube-controller-manager. From a scrape in Prometheus' text format, or from the JSON of its query
 * API. Those of one operation are added up over all other labels; only successes count. */
typedef struct Histograms Histograms;

/**
 * histograms_read:
 * @driver: only of this driver; %NULL: of all
 * Returns: (owned): %NULL with %SIM_ERROR_INVALID (file:line) or a file error
 */
Histograms *histograms_read(const char *file, const char *driver, GError **error);
void histograms_free(Histograms *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Histograms, histograms_free)
/* The histogram of one operation: bounds in seconds, the last one infinite, and cumulative counts.
 * Returns: the number of buckets; 0: none */
unsigned histograms_get(const Histograms *self,
                        CsiLatency kind,
                        const double **upper,
                        const double **cumulative);
/* The mean in seconds, from the sum; 0: unknown. */
double histograms_mean(const Histograms *self, CsiLatency kind);
/* The name of its metric. */
const char *histograms_metric(const Histograms *self, CsiLatency kind);

/* ---- One sample ---- */

/* The names of the metrics, the one nearest to the driver first; ends with NULL. */
extern const char *const storage_metrics[];

/* A bucket or the sum of one of these histograms; strings are the sample's. */
typedef struct {
    unsigned metric; /* its place in storage_metrics */
    CsiLatency kind;
    const char *driver; /* as the metric has it; NULL: not told */
    const char *result; /* "OK" for a success, else the metric's own word */
    const char *bound;  /* of a bucket, in seconds; NULL: the sum */
} StorageSample;

/* Returns: FALSE: it is no bucket or sum of such a histogram, or its operation is none of CSI's */
gboolean storage_sample_of(const MetricSample *sample, StorageSample *storage);
/* Of "0.25" or "+Inf"; FALSE: no number. */
gboolean storage_bound_parse(const char *text, double *bound);
