/* SPDX-License-Identifier: GPL-3.0-or-later */
/* outside the model: of measurements, not of runs */
/* Files of a calibration: the calls as CSV, and profiles made of them. A profile's latency is a
 * fitted distribution or, where none fits, quantiles; with several numbers of workers it is the
 * latency of an undisturbed call and a slowdown for concurrent ones. Samples of one size and number
 * of workers can be chosen. */
#include "calibration.h"

#include "fit.h"
#include "run/files/csv.h"
#include "run/files/input.h"
#include "run/files/rows.h"
#include "sim/order.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---- Files ---- */

/* clang-format off */
#define SAMPLE_COLUMNS(X) \
    X("method",    text,    NULL,      "the latency of a profile that was measured", csi_latency_name(sample->kind)) \
    X("bytes",     count,   "bytes",   "the size of the volume", sample->bytes) \
    X("workers",   count,   "volumes", "that did the same at once", sample->workers) \
    X("in_flight", count,   "calls",   "at once as this one began, itself included", sample->in_flight) \
    X("began",     decimal, "seconds", "when it began, since the calibration did", sample->began) \
    X("seconds",   decimal, "seconds", "how long it took", sample->seconds) \
    X("code",      text,    NULL,      "the gRPC code", csi_code_name(sample->code))
const ResultTable calibration_table = RESULT_TABLE("calibration.csv", "kvolsim calibrate: a row for each call", NULL, SAMPLE_COLUMNS(COLUMN));
/* clang-format on */

gboolean
calibration_write(const GArray *samples, const char *path, const char *comment, GError **error)
{
    g_autofree char *folder = g_path_get_dirname(path), *name = g_path_get_basename(path);
    g_autoptr(ResultFile) file = result_file_new(folder, name);

    g_string_append_printf(file->text, "# %s\n", comment);
    row_header(file, &calibration_table);
    for (unsigned i = 0; i < samples->len; i++) {
        const CalibrationSample *sample = &g_array_index(samples, CalibrationSample, i);
        SAMPLE_COLUMNS(CSV_CELL);
        row_end(file);
    }
    return result_file_finish(file, error);
}

static gboolean
read_sample(const CsvReader *row, CalibrationSample *sample)
{
    char *end;
    const char *seconds = csv_reader_cell(row, "seconds"), *code = csv_reader_cell(row, "code");

    *sample = (CalibrationSample){
        .bytes = g_ascii_strtoll(csv_reader_cell(row, "bytes"), NULL, 10),
        .workers = (unsigned)g_ascii_strtoull(csv_reader_cell(row, "workers"), NULL, 10),
        .in_flight = (unsigned)g_ascii_strtoull(csv_reader_cell(row, "in_flight"), NULL, 10),
        .began = g_ascii_strtod(csv_reader_cell(row, "began"), NULL),
        .seconds = g_ascii_strtod(seconds, &end),
    };
    return *seconds != '\0' && *end == '\0' && sample->seconds >= 0 && isfinite(sample->seconds) &&
           csi_latency_parse(csv_reader_cell(row, "method"), &sample->kind) &&
           (*code == '\0' || csi_code_parse(code, &sample->code));
}

GArray *
calibration_read(const char *path, GError **error)
{
    g_autoptr(GArray) samples = g_array_new(FALSE, FALSE, sizeof(CalibrationSample));
    g_autofree char *text = NULL;

    if (!input_get_contents(path, &text, NULL, error))
        return NULL;
    g_autoptr(CsvReader) rows = csv_reader_new(text);
    if (rows->names != NULL &&
        (!csv_reader_has(rows, "method") || !csv_reader_has(rows, "seconds"))) {
        g_set_error(error, SIM_ERROR, SIM_ERROR_INVALID,
                    "%s:%u: no columns \"method\" and \"seconds\"", path, rows->line);
        return NULL;
    }
    while (csv_reader_next(rows)) {
        CalibrationSample sample;
        if (!read_sample(rows, &sample)) {
            g_set_error(error, SIM_ERROR, SIM_ERROR_INVALID,
                        "%s:%u: no method, duration in seconds or code: %s", path, rows->line,
                        rows->lines[rows->line - 1]);
            return NULL;
        }
        g_array_append_val(samples, sample);
    }
    return g_steal_pointer(&samples);
}

/* ---- Profiles ---- */

GArray *
calibration_select(const GArray *samples, CsiLatency kind, int64_t bytes, unsigned workers)
{
    GArray *seconds = g_array_new(FALSE, FALSE, sizeof(double));

    for (unsigned i = 0; i < samples->len; i++) {
        const CalibrationSample *sample = &g_array_index(samples, CalibrationSample, i);
        if (sample->kind == kind && sample->code == CSI_OK &&
            (bytes == 0 || sample->bytes == bytes) && (workers == 0 || sample->workers == workers))
            g_array_append_val(seconds, sample->seconds);
    }
    return seconds;
}

/* @seconds: sorted here. */
static void
append_latency(GString *text, GArray *seconds, CsiLatency kind)
{
    Fit fit;

    fit_samples((double *)seconds->data, seconds->len, &fit);
    g_autofree char *comment = fit_comment(&fit);
    g_autofree char *latency = fit_text(&fit, (const double *)seconds->data, seconds->len);
    const double *sorted = (const double *)seconds->data;
    g_string_append_printf(text, "  # p50 %.3f ms, p99 %.3f ms; measured; %s\n  %s: %s\n",
                           fit_quantile(sorted, seconds->len, 0.5) * 1e3,
                           fit_quantile(sorted, seconds->len, 0.99) * 1e3, comment,
                           csi_latency_name(kind), latency);
}

static void
append_slowdown(GString *text, CsiLatency kind, CsiSlowdown slowdown)
{
    if (slowdown.exponent == 0)
        return;
    if (slowdown.undisturbed > 1)
        g_string_append_printf(text, "  %s: {exponent: %.2f, undisturbed: %g}\n",
                               csi_latency_name(kind), slowdown.exponent, slowdown.undisturbed);
    else
        g_string_append_printf(text, "  %s: %.2f\n", csi_latency_name(kind), slowdown.exponent);
}

/* Latencies without concurrency. @slowdowns: (out): the slowdowns found */
static void
append_alone(GString *text, const GArray *samples, GString *slowdowns)
{
    g_autoptr(CalibrationShares) shares = calibration_shares_new(samples);

    for (CsiLatency kind = 0; kind < CSI_N_LATENCIES; kind++) {
        CsiSlowdown slowdown = calibration_shares_fit(shares, kind);
        g_autoptr(GArray) seconds = calibration_shares_base(shares, kind, slowdown);
        if (seconds->len == 0)
            continue;
        append_latency(text, seconds, kind);
        append_slowdown(slowdowns, kind, slowdown);
    }
}

static void
append_measured(GString *text, const GArray *samples, unsigned workers)
{
    for (CsiLatency kind = 0; kind < CSI_N_LATENCIES; kind++) {
        g_autoptr(GArray) seconds = calibration_select(samples, kind, 0, workers);
        if (seconds->len > 0)
            append_latency(text, seconds, kind);
    }
}

char *
calibration_latencies(const GArray *samples)
{
    GString *text = g_string_new(NULL);

    append_measured(text, samples, 0);
    return g_string_free(text, FALSE);
}

char *
calibration_profile(const GArray *samples, unsigned workers, const char *what)
{
    GString *text = g_string_new(NULL);
    g_autoptr(GString) slowdowns = g_string_new(NULL);
    g_autofree char *concurrency = calibration_concurrency(samples, "#   ");

    g_string_append_printf(
        text,
        "# %s\n# Times are those of one call in the back end. Each: quantiles of the samples, then "
        "the fit: the family of\n"
        "# the lowest AIC, or a table of quantiles where Kolmogorov-Smirnov rejects it at 1 %%.\n",
        what);
    if (workers == 0)
        g_string_append(
            text,
            "# They are those of calls alone; slowdown: of n at once each takes n to this power as "
            "long; with undisturbed,\n# n / undisturbed to this power.\n");
    if (concurrency[0] != '\0')
        g_string_append_printf(
            text, "# Medians with more volumes at once, against those with the fewest:\n%s",
            concurrency);
    g_string_append(text,
                    "attachRequired: true\ntopology: false\n"
                    "pluginCapabilities: [CONTROLLER_SERVICE, EXPANSION_OFFLINE]\n\nlatency:\n");
    if (workers == 0)
        append_alone(text, samples, slowdowns);
    else
        append_measured(text, samples, workers);
    if (slowdowns->len > 0)
        g_string_append_printf(text, "\nslowdown:\n%s", slowdowns->str);
    return g_string_free(text, FALSE);
}

static int
compare_unsigned(const void *a, const void *b)
{
    unsigned x = *(const unsigned *)a, y = *(const unsigned *)b;

    return ORDER(x, y);
}

/* Of unsigned, ascending, each once. */
static GArray *
worker_numbers(const GArray *samples)
{
    GArray *numbers = g_array_new(FALSE, FALSE, sizeof(unsigned));

    for (unsigned i = 0; i < samples->len; i++) {
        unsigned workers = g_array_index(samples, CalibrationSample, i).workers;
        gboolean known = FALSE;
        for (unsigned k = 0; k < numbers->len; k++)
            known = known || g_array_index(numbers, unsigned, k) == workers;
        if (!known)
            g_array_append_val(numbers, workers);
    }
    g_array_sort(numbers, compare_unsigned);
    return numbers;
}

static double
median_of(const GArray *samples, CsiLatency kind, unsigned workers)
{
    g_autoptr(GArray) seconds = calibration_select(samples, kind, 0, workers);
    Fit fit;

    if (seconds->len == 0)
        return 0;
    fit_samples((double *)seconds->data, seconds->len, &fit); /* sorts */
    return fit_quantile((const double *)seconds->data, seconds->len, 0.5);
}

char *
calibration_concurrency(const GArray *samples, const char *prefix)
{
    g_autoptr(GArray) numbers = worker_numbers(samples);
    GString *text = g_string_new(NULL);

    for (CsiLatency kind = 0; numbers->len > 1 && kind < CSI_N_LATENCIES; kind++) {
        double base = median_of(samples, kind, g_array_index(numbers, unsigned, 0));
        if (base <= 0)
            continue;
        g_string_append_printf(text, "%s%-26s", prefix, csi_latency_name(kind));
        for (unsigned i = 0; i < numbers->len; i++) {
            unsigned workers = g_array_index(numbers, unsigned, i);
            g_string_append_printf(text, "  %u: x%.2f", workers,
                                   median_of(samples, kind, workers) / base);
        }
        g_string_append_c(text, '\n');
    }
    return g_string_free(text, FALSE);
}
