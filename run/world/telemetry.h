/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "models/cluster/cluster.h"
#include "record.h"
#include "run/files/result-file.h"

/* Kubernetes' own metrics as far as they can be seen from outside the components: answers of the
 * API server, calls of drivers, states of objects. The components measure the other metrics
 * themselves. Times are virtual. Values of several programs of one kind (all kubelets, the same
 * sidecar of several drivers) are added up. */
typedef struct Telemetry Telemetry;

/* Measures into the engine's metrics from now on. Returns: (owned): NULL: metrics are off */
Telemetry *telemetry_new(Cluster *cluster, Records *records, Sim *sim, Objects *objects);
void telemetry_free(Telemetry *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Telemetry, telemetry_free)
/* See census_leave_usage(). NULL is fine. */
void telemetry_leave_usage(Telemetry *self, const char *node);

/* The time of the next scrape: scrapes come at every interval, which doubles when there are too
 * many. */
SimTime telemetry_next_scrape(const Telemetry *self);
void telemetry_scrape(Telemetry *self);

/* The metrics at the end in Prometheus' text format, with a comment on how to repeat the run. */
void telemetry_append_text(Telemetry *self, ResultFile *file);
/* All scrapes as OpenMetrics with timestamps; of histograms only count and sum. */
void telemetry_append_open_metrics(Telemetry *self, ResultFile *file);
