/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>

/* Makes a scenario of a cluster: a folder with its objects, what people did, what happened, and a
 * report. */

typedef struct {
    const char *const *dumps;            /* all lists end with NULL, and may be empty but this */
    const char *const *audit;            /* audit logs */
    const char *const *metrics;          /* scrapes */
    const char *const *driver_manifests; /* Deployments and DaemonSets of drivers */
    const char *start;                   /* RFC 3339: t = 0; NULL: newest time stamp of the dump */
    const char *data_dir;                /* the folder of models/profiles/ */
    gboolean anonymize;
    /* Is told what is done now. Returns: FALSE: the import ends with G_FILE_ERROR_INTR. NULL: none
     */
    gboolean (*go_on)(void *data, const char *doing);
    void *data;
    gboolean *is_incomplete; /* (out): objects that others name are missing */
} ImportOptions;

/**
 * import_make:
 * @folder: exists; gets scenario.yaml, objects.json.xz, import.md and, with an audit log,
 * workload.json and recorded.json
 * @error: %SIM_ERROR_INVALID or %G_FILE_ERROR with file and line. The folder may have some of the
 * files then
 */
gboolean import_make(const char *folder, const ImportOptions *options, GError **error);
