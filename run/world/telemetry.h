/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "models/cluster/cluster.h"
#include "models/csi/csi.h"
#include "run/files/result-file.h"

/* Kubernetes' own metrics that can be told from outside the components: what the API server
 * answered, what drivers were asked, what became of objects. The rest the components measure
 * themselves. Times are virtual. Values of several programs of one kind (of all kubelets, of the
 * same sidecar of several drivers) are added up. */
typedef struct Telemetry Telemetry;

/* Measures from now on into the engine's metrics. Returns: (owned): NULL if it measures nothing */
Telemetry *telemetry_new(Cluster *cluster, Sim *sim, Objects *objects);
void telemetry_free(Telemetry *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Telemetry, telemetry_free)
void telemetry_watch_driver(Telemetry *self, CsiDriver *driver);

/* The number of a scrape is what time it is made at: every interval, which doubles when there are
 * too many. */
SimTime telemetry_next_scrape(const Telemetry *self);
void telemetry_scrape(Telemetry *self);

/* The state at the end in Prometheus' text format; with a comment that says what repeats the run.
 */
void telemetry_append_text(Telemetry *self, ResultFile *file);
/* All scrapes as OpenMetrics with timestamps; of histograms count and sum. */
void telemetry_append_open_metrics(Telemetry *self, ResultFile *file);
