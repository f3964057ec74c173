/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>

/* The samples of a scrape in Prometheus' text format, or of the JSON that its query API answers. */

typedef struct {
    const char *name;   /* "csi_operations_seconds_bucket" */
    GHashTable *labels; /* name -> value */
    double value;
} MetricSample;

/* Returns: FALSE: the sample is not of the right form, which ends the reading with an error */
typedef gboolean (*MetricSampleSeen)(const MetricSample *sample, void *data);

/**
 * metric_samples_read:
 * @file: what to call it in errors
 * @text: of @length bytes, and terminated; is changed
 * @names: prefixes of the names that are wanted; ends with %NULL. Other samples are passed over
 * @seen: called for each wanted one, in the file's order; all its arguments are borrowed
 * Returns: %FALSE with %SIM_ERROR_INVALID: file, line, and the text that is no sample
 */
gboolean metric_samples_read(const char *file,
                             char *text,
                             gsize length,
                             const char *const *names,
                             MetricSampleSeen seen,
                             void *data,
                             GError **error);
