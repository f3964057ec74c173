/* SPDX-License-Identifier: GPL-3.0-or-later */
/* outside the model: of measurements, not of runs */
#include "calibration.h"

#include "fit.h"

#include <math.h>
#include <stdlib.h>

/* Two calibrations of one machine: their distance is the machine's noise. No model of the first can
 * be nearer to the second than that. */

#define DRAWS 300
#define OF_DRAWS 0.95 /* of the draws are within the noise */
#define SEED 1

static GArray *
sorted(const GArray *samples, CsiLatency kind)
{
    GArray *seconds = calibration_select(samples, kind, 0, 0);

    g_array_sort(seconds, fit_compare);
    return seconds;
}

GArray *
calibration_compare(const GArray *before, const GArray *now)
{
    GArray *rows = g_array_new(FALSE, FALSE, sizeof(CalibrationDifference));

    for (CsiLatency kind = 0; kind < CSI_N_LATENCIES; kind++) {
        g_autoptr(GArray) a = sorted(before, kind);
        g_autoptr(GArray) b = sorted(now, kind);
        const double *x = (const double *)a->data, *y = (const double *)b->data;
        if (a->len == 0 || b->len == 0)
            continue;
        CalibrationDifference row = {
            .kind = kind, .n = {a->len, b->len}
        };
        row.p50[0] = fit_quantile(x, a->len, 0.5);
        row.p50[1] = fit_quantile(y, b->len, 0.5);
        row.ks = fit_ks_two(x, a->len, y, b->len);
        row.ks_p = fit_ks_probability(row.ks, (double)a->len * b->len / (a->len + b->len));
        g_array_append_val(rows, row);
    }
    return rows;
}

/* Draws @n of @some again and again, and compares them with all of @others. Adds to @ratios and
 * @distances. */
static void
calibration_compare_draw(const GArray *some,
                         const GArray *others,
                         unsigned n,
                         const char *stream,
                         GArray *ratios,
                         GArray *distances)
{
    const double *x = (const double *)some->data, *y = (const double *)others->data;
    double median = fit_quantile(y, others->len, 0.5);
    g_autofree double *drawn = g_new(double, n);
    SimStream random = sim_stream_from(SEED, 0, stream);

    for (unsigned i = 0; i < DRAWS; i++) {
        for (unsigned k = 0; k < n; k++) {
            double at = sim_random_uniform(random, i, k) * some->len;
            drawn[k] = x[MIN((unsigned)at, some->len - 1)];
        }
        qsort(drawn, n, sizeof *drawn, fit_compare);
        double ratio = fabs(log(fit_quantile(drawn, n, 0.5) / median));
        double distance = fit_ks_two(drawn, n, y, others->len);
        g_array_append_val(ratios, ratio);
        g_array_append_val(distances, distance);
    }
}

gboolean
calibration_noise(
    const GArray *before, const GArray *now, CsiLatency kind, unsigned n, CalibrationNoise *noise)
{
    g_autoptr(GArray) a = sorted(before, kind);
    g_autoptr(GArray) b = sorted(now, kind);
    g_autoptr(GArray) ratios = g_array_new(FALSE, FALSE, sizeof(double));
    g_autoptr(GArray) distances = g_array_new(FALSE, FALSE, sizeof(double));

    if (a->len == 0 || b->len == 0 || n == 0)
        return FALSE;
    calibration_compare_draw(b, a, n, "calibration/later", ratios, distances);
    calibration_compare_draw(a, b, n, "calibration/earlier", ratios, distances);
    g_array_sort(ratios, fit_compare);
    g_array_sort(distances, fit_compare);
    noise->ratio = exp(fit_quantile((const double *)ratios->data, ratios->len, OF_DRAWS));
    noise->ks = fit_quantile((const double *)distances->data, distances->len, OF_DRAWS);
    return TRUE;
}
