/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <stdio.h>
#include <string.h>

#include "cli.h"
#include "run/calibration.h"
#include "run/fit.h"
#include "run/histograms.h"

static void
print_histogram(const Histograms *histograms, CsiLatency kind)
{
    const double *upper, *cumulative;
    unsigned n = histograms_get(histograms, kind, &upper, &cumulative);
    Fit fit;

    if (n == 0)
        return;
    fit_histogram(upper, cumulative, n, &fit);
    g_autofree char *comment = fit_comment(&fit);
    g_autofree char *text = fit_histogram_text(&fit, upper, cumulative, n);
    printf("  # measured; %s; from the buckets of %s\n  %s: %s\n", comment,
           histograms_metric(histograms, kind), csi_latency_name(kind), text);
}

static ExitCode
fit_metrics(const char *file, const char *driver)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(Histograms) histograms = histograms_read(file, driver, &error);
    const double *upper, *cumulative;
    gboolean any = FALSE;

    if (histograms == NULL) {
        cli_error("fit: %s", error->message);
        return EXIT_BAD_INPUT;
    }
    for (CsiLatency kind = 0; kind < CSI_N_LATENCIES; kind++)
        any = any || histograms_get(histograms, kind, &upper, &cumulative) > 0;
    if (!any) {
        cli_error("fit: %s: no histogram of a storage operation%s%s", file,
                  driver != NULL ? " of " : "", driver != NULL ? driver : "");
        return EXIT_BAD_INPUT;
    }
    g_autofree char *name = g_path_get_basename(file);
    printf("# Fitted to the histograms of %s%s%s.\n", name, driver != NULL ? ", driver " : "",
           driver != NULL ? driver : "");
    printf("# Operations that Kubernetes names itself (storage_operation_duration_seconds) last "
           "longer than the driver's call.\n");
    printf("latency:\n");
    for (CsiLatency kind = 0; kind < CSI_N_LATENCIES; kind++)
        print_histogram(histograms, kind);
    return EXIT_DONE;
}

static ExitCode
fit_csv(const char *file)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(GArray) samples = calibration_read(file, &error);

    if (samples == NULL) {
        cli_error("fit: %s", error->message);
        return EXIT_BAD_INPUT;
    }
    if (samples->len == 0) {
        cli_error("fit: %s: no samples", file);
        return EXIT_BAD_INPUT;
    }
    g_autofree char *name = g_path_get_basename(file);
    g_autofree char *what = g_strdup_printf("Fitted to the samples of %s.", name);
    g_autofree char *text = calibration_latencies(samples, 0);
    printf("# %s\nlatency:\n%s", what, text);
    return EXIT_DONE;
}

int
cmd_fit(int argc, char **argv)
{
    g_autofree char *driver = NULL;
    const GOptionEntry entries[] = {
        {"driver", 0, 0, G_OPTION_ARG_STRING, &driver, "Only what is of this driver", "NAME"},
        G_OPTION_ENTRY_NULL,
    };

    if (!cli_parse(&argc, &argv, entries, "FILE",
                   "Fit a latency profile to what was measured in a cluster, and print it as YAML.",
                   "FILE is a scrape in Prometheus' text format or the JSON of its query API, with "
                   "the buckets of\n"
                   "csi_sidecar_operations_seconds, csi_operations_seconds or "
                   "storage_operation_duration_seconds; or a .csv with\n"
                   "columns method and seconds."))
        return EXIT_BAD_INPUT;
    if (argc != 2) {
        cli_error("fit: give one file (see kvolsim fit --help)");
        return EXIT_BAD_INPUT;
    }
    return g_str_has_suffix(argv[1], ".csv") ? fit_csv(argv[1]) : fit_metrics(argv[1], driver);
}
