/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <jansson.h>

#include "run/import/recorded.h"
#include "run/import/report.h"

/* Scrapes of /metrics: how long the calls of CSI drivers took, and how often they failed. From
 * sidecars (csi_sidecar_operations_seconds), kubelets (csi_operations_seconds) and, for calls that
 * neither has, storage_operation_duration_seconds, which lasts longer than the call.
 *
 * Scrapes of one process are found by its start, its processor time and its counters; names of
 * files mean nothing. Several scrapes of a process give the calls between the first and the last;
 * a single one, and one of a process that started after the first scrape of all, gives its calls
 * since it started. */
typedef struct Scrapes Scrapes;

/**
 * scrapes_read:
 * @files: NULL-terminated paths: Prometheus' text format, the JSON of its query API, or a tar of
 * such files; plain or packed with gzip, xz or zstd
 * Returns: (owned): %NULL with a file error, or %SIM_ERROR_INVALID with file and line
 */
Scrapes *scrapes_read(const char *const *files, ImportReport *report, GError **error);
void scrapes_free(Scrapes *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Scrapes, scrapes_free)

/**
 * scrapes_latency:
 * @driver: its name
 *
 * The measured mean is kept, and the counts of the buckets agree. Calls in one bucket have no
 * spread, unless the means between many scrapes differ.
 * Returns: (owned): the member "latency" of a scenario's driver; %NULL: no call was measured
 */
json_t *scrapes_latency(const Scrapes *self, const char *driver, ImportReport *report);

/**
 * scrapes_errors:
 * @start: the instant t = 0, as api_time_parse() gives it
 * @recorded: (nullable): what happened from then on
 *
 * Failures that come from outside the model: time-outs, calls given up and refused repeats are not
 * among them, as the simulated driver makes its own. A recording tells when they began and ended,
 * if all calls in between failed: the claims or attachments that had to wait, and the last and
 * first that had not. Else there are so many failures between two scrapes.
 * Returns: (owned): the member "errors" of a scenario's driver; %NULL: none
 */
json_t *scrapes_errors(const Scrapes *self,
                       const char *driver,
                       SimTime start,
                       const Recorded *recorded,
                       ImportReport *report);
