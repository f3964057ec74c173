/* SPDX-License-Identifier: GPL-3.0-or-later */
/* outside the model: of measurements, not of runs */
/* Estimates how concurrent calls slow each other down, from the beginning and end of each call. A
 * call is divided into parts with a constant number of concurrent calls; for an exponent and a
 * number of undisturbed calls each part is divided by its slowdown. The values under which the
 * calls of all numbers of workers look most alike are taken. Calls that share nothing measurable
 * get no slowdown. */
#include "calibration.h"

#include "fit.h"
#include "run/measure/measure-test.h"

#include <math.h>

#define EXPONENT_MIN (-1.)
#define EXPONENT_MAX 2.
#define EXPONENT_STEP 0.02
#define UNDISTURBED_STEP 0.25
#define SAMPLES_MIN 10 /* for a number of workers; fewer tell nothing */
#define ALONE_MIN 40   /* samples of the fewest workers that suffice alone */
#define WORTH 0.9      /* improvement that more undisturbed calls need, against chance */
#define WARM_S 0.001   /* shorter calls speed up in company only because of warm caches */

/* A part of a call with a constant number of concurrent calls. */
typedef struct {
    unsigned n;
    double seconds;
} CalibrationSlowdownPart;

struct CalibrationShares {
    const GArray *samples;
    GPtrArray *parts; /* of GArray of Part, for each sample */
};

static double
end_of(const CalibrationSample *sample)
{
    return sample->began + sample->seconds;
}

/* The parts of sample @i, from the samples that overlap it. Samples are in the order of their
 * beginning; none lasts longer than @longest. */
static GArray *
parts_of(const GArray *samples, unsigned i, double longest)
{
    const CalibrationSample *self = &g_array_index(samples, CalibrationSample, i);
    GArray *parts = g_array_new(FALSE, FALSE, sizeof(CalibrationSlowdownPart));
    g_autoptr(GArray) begins = g_array_new(FALSE, FALSE, sizeof(double));
    g_autoptr(GArray) ends = g_array_new(FALSE, FALSE, sizeof(double));
    double from = self->began, until = end_of(self);
    unsigned first = i;

    while (first > 0 &&
           g_array_index(samples, CalibrationSample, first - 1).began >= from - longest)
        first--;
    for (unsigned k = first; k < samples->len; k++) {
        const CalibrationSample *other = &g_array_index(samples, CalibrationSample, k);
        double begin = MAX(other->began, from), end = MIN(end_of(other), until);
        if (other->began >= until)
            break;
        if (k == i || begin >= end)
            continue;
        g_array_append_val(begins, begin);
        g_array_append_val(ends, end);
    }
    g_array_sort(begins, fit_compare);
    g_array_sort(ends, fit_compare);
    unsigned b = 0, e = 0;
    while (from < until) {
        while (b < begins->len && g_array_index(begins, double, b) <= from)
            b++;
        while (e < ends->len && g_array_index(ends, double, e) <= from)
            e++;
        double next = until;
        if (b < begins->len)
            next = MIN(next, g_array_index(begins, double, b));
        if (e < ends->len)
            next = MIN(next, g_array_index(ends, double, e));
        const CalibrationSlowdownPart part = {1 + b - e, next - from};
        g_array_append_val(parts, part);
        from = next;
    }
    return parts;
}

CalibrationShares *
calibration_shares_new(const GArray *samples)
{
    CalibrationShares *self = g_new0(CalibrationShares, 1);
    double longest = 0;

    self->samples = samples;
    self->parts = g_ptr_array_new_with_free_func((GDestroyNotify)g_array_unref);
    for (unsigned i = 0; i < samples->len; i++)
        longest = MAX(longest, g_array_index(samples, CalibrationSample, i).seconds);
    for (unsigned i = 0; i < samples->len; i++)
        g_ptr_array_add(self->parts, parts_of(samples, i, longest));
    return self;
}

void
calibration_shares_free(CalibrationShares *self)
{
    if (self != NULL)
        g_ptr_array_unref(self->parts);
    g_free(self);
}

GArray *
calibration_shares_alone(const CalibrationShares *self,
                         CsiLatency kind,
                         unsigned workers,
                         CsiSlowdown slowdown)
{
    GArray *seconds = g_array_new(FALSE, FALSE, sizeof(double));

    for (unsigned i = 0; i < self->samples->len; i++) {
        const CalibrationSample *sample = &g_array_index(self->samples, CalibrationSample, i);
        const GArray *parts = self->parts->pdata[i];
        double alone = 0;
        if (sample->kind != kind || sample->code != CSI_OK ||
            (workers != 0 && sample->workers != workers))
            continue;
        for (unsigned k = 0; k < parts->len; k++) {
            const CalibrationSlowdownPart *part = &g_array_index(parts, CalibrationSlowdownPart, k);
            alone += part->seconds / csi_slowdown_factor(slowdown, part->n);
        }
        g_array_append_val(seconds, alone);
    }
    return seconds;
}

/* The distance of the calls of each number of workers from the calls of the fewest, weighted by the
 * number of samples. */
static double
unlikeness(const CalibrationShares *self,
           CsiLatency kind,
           const unsigned *workers,
           unsigned n_workers,
           CsiSlowdown slowdown)
{
    g_autoptr(GArray) base = calibration_shares_alone(self, kind, workers[0], slowdown);
    double sum = 0;

    g_array_sort(base, fit_compare);
    for (unsigned i = 1; i < n_workers; i++) {
        g_autoptr(GArray) some = calibration_shares_alone(self, kind, workers[i], slowdown);
        g_array_sort(some, fit_compare);
        double d = fit_ks_two((const double *)base->data, base->len, (const double *)some->data,
                              some->len);
        sum += d * d * some->len;
    }
    return sum;
}

GArray *
calibration_shares_base(const CalibrationShares *self, CsiLatency kind, CsiSlowdown slowdown)
{
    unsigned fewest = 0;

    for (unsigned i = 0; slowdown.exponent != 0 && i < self->samples->len; i++) {
        unsigned found = g_array_index(self->samples, CalibrationSample, i).workers;
        fewest = fewest == 0 || found < fewest ? found : fewest;
    }
    GArray *base = calibration_shares_alone(self, kind, fewest, slowdown);
    if (base->len >= ALONE_MIN)
        return base;
    g_array_unref(base);
    return calibration_shares_alone(self, kind, 0, slowdown);
}

/* Numbers of workers with enough calls of this kind, ascending. Returns: how many */
static unsigned
workers_tried(const CalibrationShares *self, CsiLatency kind, unsigned *workers, unsigned n_max)
{
    unsigned n = 0;

    for (unsigned last = 0; n < n_max;) {
        unsigned next = 0;
        for (unsigned i = 0; i < self->samples->len; i++) {
            unsigned found = g_array_index(self->samples, CalibrationSample, i).workers;
            if (found > last && (next == 0 || found < next))
                next = found;
        }
        if (next == 0)
            break;
        g_autoptr(GArray) some = calibration_shares_alone(self, kind, next, (CsiSlowdown){0});
        if (some->len >= SAMPLES_MIN)
            workers[n++] = next;
        last = next;
    }
    return n;
}

/* The best exponent for this number of undisturbed calls. @value: (out): its unlikeness */
static CsiSlowdown
best_exponent(const CalibrationShares *self,
              CsiLatency kind,
              const unsigned *workers,
              unsigned n_workers,
              double undisturbed,
              double *value)
{
    double sum = 0;
    unsigned n_best = 0;

    *value = HUGE_VAL;
    /* Takes the middle of equally good values: distances of samples go in steps. */
    for (int i = 0; EXPONENT_MIN + i * EXPONENT_STEP <= EXPONENT_MAX; i++) {
        const CsiSlowdown tried = {EXPONENT_MIN + i * EXPONENT_STEP, undisturbed};
        double found = unlikeness(self, kind, workers, n_workers, tried);
        if (found > *value)
            continue;
        if (found < *value)
            sum = n_best = 0;
        *value = found;
        sum += tried.exponent;
        n_best++;
    }
    return (CsiSlowdown){round(sum / n_best * 100) / 100, undisturbed};
}

CsiSlowdown
calibration_shares_fit(const CalibrationShares *self, CsiLatency kind)
{
    unsigned workers[16], n = workers_tried(self, kind, workers, G_N_ELEMENTS(workers));
    CsiSlowdown best = {0, 1};
    double least = HUGE_VAL;

    for (double u = 1; n > 1 && u < workers[n - 1]; u += UNDISTURBED_STEP) {
        double value;
        CsiSlowdown found = best_exponent(self, kind, workers, n, u, &value);
        if (value >= (best.undisturbed > 1 ? least : least * WORTH))
            continue;
        best = found;
        least = value;
    }
    if (best.exponent < 0) {
        g_autoptr(GArray) base = calibration_shares_base(self, kind, best);
        g_array_sort(base, fit_compare);
        if (fit_quantile((const double *)base->data, base->len, 0.5) < WARM_S)
            best.exponent = 0;
    }
    if (fabs(best.exponent) < 3 * EXPONENT_STEP)
        best.exponent = 0;
    return best;
}
