/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "run/files/result-file.h"
#include "sim/metrics.h"

/* What a monitoring system would have kept of the metrics: their values at each scrape. Scrapes are
 * made every interval, at its multiples; when there are too many every second one goes, and the
 * interval doubles. */
typedef struct MetricHistory MetricHistory;

/* @metrics: (borrowed). Returns: (owned) */
MetricHistory *metric_history_new(SimMetrics *metrics);
void metric_history_free(MetricHistory *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(MetricHistory, metric_history_free)

/* When the next scrape is due, ns. */
SimTime metric_history_next_scrape(const MetricHistory *self);
/* Makes that one: calls the collectors, and keeps what has changed since the one before. */
void metric_history_scrape(MetricHistory *self);
/* All that are left as OpenMetrics with timestamps, which begin with @epoch_s; of histograms count
 * and sum. */
void metric_history_append(const MetricHistory *self, int64_t epoch_s, ResultFile *file);
