/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sweep-statistics.h"

#include <gsl/gsl_cdf.h>
#include <math.h>

double
student_quantile(double confidence, unsigned degrees_of_freedom)
{
    double t = gsl_cdf_tdist_Pinv(0.5 + confidence / 2, degrees_of_freedom);

    /* GSL works with libm, whose last digits differ between machines: this number decides when a
     * study stops. */
    return floor(t * 1e6 + 0.5) / 1e6;
}

static double
mean_of(const double *values, unsigned n)
{
    double sum = 0;

    for (unsigned i = 0; i < n; i++)
        sum += values[i];
    return sum / n;
}

/* The sum of (x[i] - mean) (x[i + lag] - mean). */
static double
lagged_sum(const double *values, unsigned n, double mean, unsigned lag)
{
    double sum = 0;

    for (unsigned i = 0; i + lag < n; i++)
        sum += (values[i] - mean) * (values[i + lag] - mean);
    return sum;
}

Estimate
estimate(const double *values, unsigned n, double confidence)
{
    Estimate found = {.n = n, .half = (double)INFINITY};

    if (n == 0)
        return found;
    found.mean = mean_of(values, n);
    if (n < 2)
        return found;
    double squares = lagged_sum(values, n, found.mean, 0);
    found.deviation = sqrt(squares / (n - 1));
    found.half = student_quantile(confidence, n - 1) * found.deviation / sqrt(n);
    if (n > 2 && squares > 0)
        found.correlation = lagged_sum(values, n, found.mean, 1) / squares;
    return found;
}

PairedEstimate
estimate_pairs(const double *a, const double *b, unsigned n, double confidence)
{
    g_autofree double *differences = g_new(double, MAX(n, 1));
    Estimate first = estimate(a, n, confidence), second = estimate(b, n, confidence);
    PairedEstimate found = {0};

    for (unsigned i = 0; i < n; i++)
        differences[i] = b[i] - a[i];
    found.difference = estimate(differences, n, confidence);
    if (found.difference.deviation > 0)
        found.gain = (first.deviation * first.deviation + second.deviation * second.deviation) /
                     (found.difference.deviation * found.difference.deviation);
    return found;
}

unsigned
replications_wanted(const double *values,
                    unsigned n,
                    unsigned minimum,
                    unsigned maximum,
                    double relative_width,
                    double confidence)
{
    unsigned wanted = MIN(minimum, maximum);

    while (n >= wanted && wanted < maximum) {
        Estimate seen = estimate(values, wanted, confidence);
        double allowed = relative_width * fabs(seen.mean);
        if (seen.half <= allowed)
            break;
        /* The width goes with 1 / sqrt(n). */
        double ratio = allowed > 0 ? seen.half / allowed : 2;
        double promised = ceil(wanted * MIN(ratio * ratio, 2));
        wanted = MIN(MAX((unsigned)promised, wanted + 1), maximum);
    }
    return wanted;
}

char *
estimate_text(const Estimate *found, const char *unit)
{
    char mean[G_ASCII_DTOSTR_BUF_SIZE], half[G_ASCII_DTOSTR_BUF_SIZE];
    const char *format = fabs(found->mean) >= 1000 ? "%.0f" : "%.4g";

    if (found->n == 0)
        return g_strdup("-");
    g_ascii_formatd(mean, sizeof mean, format, found->mean);
    if (found->n == 1)
        return g_strdup_printf("%s%s", mean, unit);
    return g_strdup_printf("%s%s ±%s", mean, unit,
                           g_ascii_formatd(half, sizeof half, "%.2g", found->half));
}

void
append_padded(GString *text, const char *cell, unsigned width)
{
    int room = (int)width - (int)g_utf8_strlen(cell, -1);

    g_string_append_printf(text, "%s%*s", cell, MAX(room, 0), "");
}

const ColumnType column_maybe_number = {"{\"type\": \"number\"}", TRUE, "number"};

static void
append_finite(GString *text, const char *format, double value)
{
    char buffer[G_ASCII_DTOSTR_BUF_SIZE];

    if (isfinite(value))
        g_string_append(text, g_ascii_formatd(buffer, sizeof buffer, format, value));
}

void
cell_maybe_number(GString *text, double value)
{
    append_finite(text, "%.9g", value);
}

void
csv_append_number(GString *line, double value)
{
    g_string_append_c(line, ',');
    append_finite(line, "%.12g", value);
}

void
csv_append_estimate(GString *line, const Estimate *found)
{
    csv_append_number(line, found->n > 0 ? found->mean : (double)NAN);
    csv_append_number(line, found->n > 1 ? found->mean - found->half : (double)NAN);
    csv_append_number(line, found->n > 1 ? found->mean + found->half : (double)NAN);
}
