/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>

/* Fits distributions to measured durations: families by maximum likelihood, compared by Akaike's
 * criterion and the Kolmogorov-Smirnov test; quantiles where no family fits. Never used within a
 * run. Durations are seconds, above 0. */

typedef enum {
    FIT_LOGNORMAL,   /* a: mu, b: sigma, of ln(seconds) */
    FIT_SHIFTED,     /* a lognormal that begins at @shift, the shortest duration */
    FIT_GAMMA,       /* a: shape, b: scale in seconds */
    FIT_WEIBULL,     /* a: shape, b: scale in seconds */
    FIT_EXPONENTIAL, /* a: mean in seconds */
    FIT_N_FAMILIES,
} FitFamily;

typedef struct {
    gboolean is_possible;
    double a, b, shift;
    double aic;  /* the lower the better; differences count */
    double ks;   /* the largest distance of the two distribution functions */
    double ks_p; /* of a distance this large by chance; too large, because the parameters came from
                    the same samples */
} FitResult;

typedef struct {
    unsigned n;
    FitResult families[FIT_N_FAMILIES];
    int best;         /* the family of the lowest AIC; -1: there is none */
    gboolean is_good; /* its ks_p is at least 1 %: else take the quantiles */
} Fit;

/* @seconds: sorted ascending here. */
void fit_samples(double *seconds, unsigned n, Fit *fit);

/* A histogram: the first counts[i] of n are at most upper[i], ascending; the last bound may be
 * infinite. Likelihoods are those of the buckets and of the mean, distances those at the buckets'
 * bounds. @mean: of the n, in seconds; 0: not known */
void fit_histogram(
    const double *upper, const double *cumulative, unsigned n_buckets, double mean, Fit *fit);

/* Orders doubles, ascending: for qsort() and g_array_sort(). */
int fit_compare(const void *a, const void *b);
/* The distance of two samples' distribution functions; both sorted ascending. */
double fit_ks_two(const double *a, unsigned n_a, const double *b, unsigned n_b);
/* The p of a distance @d between a sample and a known distribution; of two samples: n = n_a n_b /
 * (n_a + n_b). */
double fit_ks_probability(double d, double n);
/* By nearest rank, as in reports. @sorted: ascending, n > 0 */
double fit_quantile(const double *sorted, unsigned n, double q);

/* In the format of profiles and scenarios: "{lognormal: {mu: -3.48, sigma: 0.89}}", or "{empirical:
 * {quantiles: [...]}}". (owned) */
char *fit_text(const Fit *fit, const double *sorted, unsigned n);
/* The quantiles of a histogram instead. (owned) */
char *fit_histogram_text(const Fit *fit,
                         const double *upper,
                         const double *cumulative,
                         unsigned n_buckets);
/* "n=256; lognormal by AIC, next gamma +28; KS 0.084, p 0.05": for the comment beside it. (owned)
 */
char *fit_comment(const Fit *fit);
