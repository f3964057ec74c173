/* SPDX-License-Identifier: GPL-3.0-or-later */
/* kvolsim fit: latencies of a profile from histograms of a cluster's metrics, from samples of a
 * calibration, or from a driver's journal. Calls that are all in one bucket have no spread to fit:
 * a profile then takes their mean, else a value between the bounds, and says so. */
#include <math.h>
#include <stdio.h>

#include "cli/common/cli.h"
#include "commands.h"
#include "run/measure/calibration.h"
#include "run/measure/fit.h"
#include "run/measure/histograms.h"
#include "run/world/call-log.h"

/* Whether all calls are in one bucket; @low, @high: its bounds. */
static gboolean
is_in_one(const double *upper, const double *cumulative, unsigned n, double *low, double *high)
{
    unsigned i = 0;

    while (cumulative[i] <= 0)
        i++;
    *low = i > 0 ? upper[i - 1] : 0;
    *high = upper[i];
    return cumulative[i] >= cumulative[n - 1];
}

/* Calls in one bucket have no spread to fit: a profile takes their mean, else any value between the
 * bounds. (owned) */
static char *
one_bucket_text(double low, double high, double mean, char **comment)
{
    g_autofree char *range = isfinite(high) ? g_strdup_printf("from %g to %g s", low, high)
                                            : g_strdup_printf("above %g s", low);

    if (mean > 0) {
        *comment = g_strdup_printf("all in one bucket, %s: the mean, without a spread", range);
        return g_strdup_printf("%.0fns", mean * 1e9);
    }
    *comment = g_strdup_printf("all in one bucket, %s: anything within", range);
    if (!isfinite(high))
        return g_strdup_printf("%.0fns", low * 1e9);
    return g_strdup_printf("{uniform: {min: %.0fns, max: %.0fns}}", low * 1e9, high * 1e9);
}

static void
print_histogram(const Histograms *histograms, CsiLatency kind)
{
    const double *upper, *cumulative;
    unsigned n = histograms_get(histograms, kind, &upper, &cumulative);
    double low, high, mean = histograms_mean(histograms, kind);
    g_autofree char *comment = NULL;
    g_autofree char *text = NULL;
    g_autofree char *average = mean > 0 ? g_strdup_printf(", mean %g s", mean) : g_strdup("");
    Fit fit;

    if (n == 0)
        return;
    if (is_in_one(upper, cumulative, n, &low, &high)) {
        g_autofree char *where = NULL;
        text = one_bucket_text(low, high, mean, &where);
        comment = g_strdup_printf("n=%.0f; %s", cumulative[n - 1], where);
    } else {
        fit_histogram(upper, cumulative, n, mean, &fit);
        comment = fit_comment(&fit);
        text = fit_histogram_text(&fit, upper, cumulative, n);
    }
    printf("  # measured; %s; from the buckets of %s%s\n  %s: %s\n", comment,
           histograms_metric(histograms, kind), average, csi_latency_name(kind), text);
}

static ExitCode
fit_metrics(const char *file, const char *driver)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(Histograms) histograms = histograms_read(file, driver, &error);
    const double *upper, *cumulative;
    gboolean any = FALSE;

    if (histograms == NULL)
        return cli_bad_input("fit: %s", error->message);
    for (CsiLatency kind = 0; kind < CSI_N_LATENCIES; kind++)
        any = any || histograms_get(histograms, kind, &upper, &cumulative) > 0;
    if (!any)
        return cli_bad_input("fit: %s: no histogram of a storage operation%s%s", file,
                             driver != NULL ? " of " : "", driver != NULL ? driver : "");
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

/* Returns: (owned): of CalibrationSample: the calls of a journal */
static GArray *
read_journal(const char *file, GError **error)
{
    json_auto_t *head = NULL;
    g_autoptr(CallLog) log = call_log_read(file, &head, error);
    GArray *samples = log == NULL ? NULL : g_array_new(FALSE, TRUE, sizeof(CalibrationSample));

    for (unsigned i = 0; samples != NULL && i < call_log_n(log); i++) {
        const CallRow *row = call_log_at(log, i);
        const CalibrationSample sample = {.kind = row->kind,
                                          .workers = 1,
                                          .in_flight = 1,
                                          .began = (double)row->started_at / SIM_SECOND,
                                          .seconds = (double)row->work_ns / SIM_SECOND,
                                          .code = row->code};
        if (row->ended_at >= 0 && row->work_ns > 1) /* else the answer came at once */
            g_array_append_val(samples, sample);
    }
    return samples;
}

static ExitCode
fit_calls(const char *file)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(GArray) samples = g_str_has_suffix(file, ".jsonl") ? read_journal(file, &error)
                                                                 : calibration_read(file, &error);

    if (samples == NULL)
        return cli_bad_input("fit: %s", error->message);
    if (samples->len == 0)
        return cli_bad_input("fit: %s: no samples", file);
    g_autofree char *name = g_path_get_basename(file);
    g_autofree char *text = calibration_latencies(samples);
    printf("# Fitted to the samples of %s.\nlatency:\n%s", name, text);
    return EXIT_DONE;
}

int
cmd_fit(int argc, char **argv)
{
    g_autofree char *driver = NULL;
    const GOptionEntry entries[] = {
        CLI_OPTION("driver", STRING, &driver, "Use only metrics of this driver", "NAME"),
        G_OPTION_ENTRY_NULL,
    };

    if (!cli_parse(
            &argc, &argv, entries, "FILE",
            "Fit a latency profile to measurements of a cluster, and print it as YAML.",
            "FILE is a scrape in Prometheus' text format or the JSON of its query API, with "
            "the buckets of\n"
            "csi_sidecar_operations_seconds, csi_operations_seconds or "
            "storage_operation_duration_seconds; a .csv with\n"
            "columns method and seconds; or a .jsonl, the journal of kvolsim csi or validate."))
        return EXIT_BAD_INPUT;
    if (!cli_has_one("fit", argc, "file"))
        return EXIT_BAD_INPUT;
    return g_str_has_suffix(argv[1], ".csv") || g_str_has_suffix(argv[1], ".jsonl")
               ? fit_calls(argv[1])
               : fit_metrics(argv[1], driver);
}
