/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "run/files/result-file.h"
#include "sim/metrics.h"

/* The history of metrics that a monitoring system would have: values at each scrape. Scrapes are
 * made at multiples of the interval; when there are too many, every second scrape is removed and
 * the interval doubles. */
typedef struct MetricHistory MetricHistory;

/* @metrics: (borrowed). @cold: (borrowed) (nullable): memory of the values. Returns: (owned) */
MetricHistory *metric_history_new(SimMetrics *metrics, SimCold *cold);
void metric_history_free(MetricHistory *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(MetricHistory, metric_history_free)

/* The time of the next scrape, ns. */
SimTime metric_history_next_scrape(const MetricHistory *self);
/* Makes the scrape: calls the collectors, and keeps the changes since the last one. */
void metric_history_scrape(MetricHistory *self);
/* Writes all remaining scrapes as OpenMetrics with timestamps that begin at @epoch_s; of histograms
 * only count and sum. */
void metric_history_append(const MetricHistory *self, int64_t epoch_s, ResultFile *file);
