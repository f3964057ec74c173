/* SPDX-License-Identifier: GPL-3.0-or-later */
/* outside the model: fits what was measured; nothing of a run comes here */
/* Fits distributions to durations: lognormal, shifted lognormal, gamma and Weibull, by maximum
 * likelihood, from samples or from the buckets of a histogram. The family with the smallest
 * Kolmogorov-Smirnov distance is taken; if that is too large, quantiles are better. A shift keeps a
 * distance from the smallest sample, since its likelihood grows without bound there. A histogram's
 * mean counts as one more observation. */
#include "fit.h"
#include "sim/order.h"

#include <gsl/gsl_cdf.h>
#include <gsl/gsl_errno.h>
#include <gsl/gsl_multimin.h>
#include <gsl/gsl_randist.h>
#include <gsl/gsl_sf_psi.h>
#include <math.h>
#include <stdlib.h>

#define GOOD_P 0.01
#define ITERATIONS 200
#define SHIFTS 100
#define TINY 1e-9 /* below what is measured: a nanosecond */

static const struct {
    const char *name;
    unsigned n_parameters;
} families[FIT_N_FAMILIES] = {
    [FIT_LOGNORMAL] = {"lognormal",         2},
    [FIT_SHIFTED] = {"shifted lognormal", 3},
    [FIT_GAMMA] = {"gamma",             2},
    [FIT_WEIBULL] = {"weibull",           2},
    [FIT_EXPONENTIAL] = {"exponential",       1},
};

/* The distribution function of a fitted family. */
static double
cdf(const FitResult *result, FitFamily family, double x)
{
    switch (family) {
    case FIT_LOGNORMAL:
        return x <= 0 ? 0 : gsl_cdf_lognormal_P(x, result->a, result->b);
    case FIT_SHIFTED:
        return x <= result->shift ? 0
                                  : gsl_cdf_lognormal_P(x - result->shift, result->a, result->b);
    case FIT_GAMMA:
        return x <= 0 ? 0 : gsl_cdf_gamma_P(x, result->a, result->b);
    case FIT_WEIBULL:
        return x <= 0 ? 0 : gsl_cdf_weibull_P(x, result->b, result->a);
    case FIT_EXPONENTIAL:
        return x <= 0 ? 0 : gsl_cdf_exponential_P(x, result->a);
    case FIT_N_FAMILIES:
        break;
    }
    g_assert_not_reached();
}

static double
density(const FitResult *result, FitFamily family, double x)
{
    switch (family) {
    case FIT_LOGNORMAL:
        return gsl_ran_lognormal_pdf(x, result->a, result->b);
    case FIT_SHIFTED:
        return gsl_ran_lognormal_pdf(x - result->shift, result->a, result->b);
    case FIT_GAMMA:
        return gsl_ran_gamma_pdf(x, result->a, result->b);
    case FIT_WEIBULL:
        return gsl_ran_weibull_pdf(x, result->b, result->a);
    case FIT_EXPONENTIAL:
        return gsl_ran_exponential_pdf(x, result->a);
    case FIT_N_FAMILIES:
        break;
    }
    g_assert_not_reached();
}

/* ---- Tests ---- */

/* Kolmogorov's limit, with Stephens' correction for few samples. */
double
fit_ks_probability(double d, double n)
{
    double root = sqrt(n), x = (root + 0.12 + 0.11 / root) * d, sum = 0;

    if (x < 0.2)
        return 1;
    for (int k = 1; k <= 100; k++)
        sum += (k % 2 == 1 ? 2 : -2) * exp(-2. * k * k * x * x);
    return CLAMP(sum, 0, 1);
}

double
fit_ks_two(const double *a, unsigned n_a, const double *b, unsigned n_b)
{
    unsigned i = 0, j = 0;
    double d = 0;

    while (i < n_a && j < n_b) {
        double x = MIN(a[i], b[j]);
        while (i < n_a && a[i] <= x)
            i++;
        while (j < n_b && b[j] <= x)
            j++;
        d = MAX(d, fabs((double)i / n_a - (double)j / n_b));
    }
    return d;
}

double
fit_quantile(const double *sorted, unsigned n, double q)
{
    double rank = ceil(q * n);

    return sorted[(unsigned)CLAMP(rank, 1, (double)n) - 1];
}

static double
ks_of(const FitResult *result, FitFamily family, const double *x, unsigned n)
{
    double d = 0;

    for (unsigned i = 0; i < n; i++) {
        double f = cdf(result, family, x[i]);
        d = MAX(d, MAX(f - (double)i / n, (double)(i + 1) / n - f));
    }
    return d;
}

int
fit_compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return ORDER(x, y);
}

/* ---- Samples ---- */

typedef struct {
    const double *x;
    unsigned n;
    double mean, mean_log;
} FitSamples;

/* Returns: FALSE: all are alike */
static gboolean
lognormal_of(const FitSamples *s, double shift, double *mu, double *sigma)
{
    double sum = 0, squares = 0;

    for (unsigned i = 0; i < s->n; i++)
        sum += log(s->x[i] - shift);
    *mu = sum / s->n;
    for (unsigned i = 0; i < s->n; i++)
        squares += (log(s->x[i] - shift) - *mu) * (log(s->x[i] - shift) - *mu);
    *sigma = sqrt(squares / s->n);
    return *sigma > 1e-6;
}

static double
minus_log_likelihood(const FitResult *result, FitFamily family, const FitSamples *s)
{
    double sum = 0;

    for (unsigned i = 0; i < s->n; i++)
        sum -= log(MAX(density(result, family, s->x[i]), 1e-300));
    return sum;
}

static double
shifted_likelihood(double shift, const FitSamples *s)
{
    FitResult result = {.shift = shift};

    return lognormal_of(s, shift, &result.a, &result.b)
               ? minus_log_likelihood(&result, FIT_SHIFTED, s)
               : 1e300;
}

/* The likelihood of a shift that comes close to the smallest sample grows without bound: it keeps a
 * fiftieth of the distance to the median. Tried are shifts that come closer and closer. */
static void
fit_shifted(const FitSamples *s, FitResult *result)
{
    double lowest = s->x[0], nearest = 0.02 * (s->x[s->n / 2] - lowest);
    double best = 0, best_value = shifted_likelihood(0, s);
    double ratio = nearest > 0 ? pow(nearest / lowest, 1. / SHIFTS) : 1;

    for (double gap = lowest * ratio; nearest > 0 && gap >= nearest; gap *= ratio) {
        double value = shifted_likelihood(lowest - gap, s);
        if (value < best_value) {
            best = lowest - gap;
            best_value = value;
        }
    }
    result->shift = best;
    result->is_possible = best > 0 && lognormal_of(s, best, &result->a, &result->b);
}

static double
gamma_equation(double shape, const FitSamples *s)
{
    return log(shape) - gsl_sf_psi(shape) - (log(s->mean) - s->mean_log);
}

static double
weibull_equation(double shape, const FitSamples *s)
{
    double top = 0, bottom = 0;

    for (unsigned i = 0; i < s->n; i++) {
        double power = pow(s->x[i] / s->x[s->n - 1], shape); /* of the largest: else it overflows */
        top += power * log(s->x[i]);
        bottom += power;
    }
    return top / bottom - 1 / shape - s->mean_log;
}

/* A root between the bounds, on a logarithmic scale. Returns: FALSE: there is none */
static gboolean
solve(double (*equation)(double x, const FitSamples *s), const FitSamples *s, double *root)
{
    double low = 1e-3, high = 1e4;
    gboolean falls = equation(low, s) > 0;

    if (!isfinite(equation(low, s)) || (equation(high, s) > 0) == falls)
        return FALSE;
    for (unsigned i = 0; i < ITERATIONS; i++) {
        double middle = sqrt(low * high);
        if ((equation(middle, s) > 0) == falls)
            low = middle;
        else
            high = middle;
    }
    *root = sqrt(low * high);
    return TRUE;
}

static void
fit_weibull(const FitSamples *s, FitResult *result)
{
    double sum = 0;

    result->is_possible = solve(weibull_equation, s, &result->a);
    for (unsigned i = 0; result->is_possible && i < s->n; i++)
        sum += pow(s->x[i] / s->x[s->n - 1], result->a);
    if (result->is_possible)
        result->b = s->x[s->n - 1] * pow(sum / s->n, 1 / result->a);
    result->is_possible = result->is_possible && isfinite(result->b) && result->b > 0;
}

static void
fit_family(FitFamily family, const FitSamples *s, FitResult *result)
{
    switch (family) {
    case FIT_LOGNORMAL:
        result->is_possible = lognormal_of(s, 0, &result->a, &result->b);
        return;
    case FIT_SHIFTED:
        fit_shifted(s, result);
        return;
    case FIT_GAMMA:
        result->is_possible = solve(gamma_equation, s, &result->a);
        result->b = s->mean / result->a;
        return;
    case FIT_WEIBULL:
        fit_weibull(s, result);
        return;
    case FIT_EXPONENTIAL:
        result->is_possible = s->mean > 0;
        result->a = s->mean;
        return;
    case FIT_N_FAMILIES:
        break;
    }
    g_assert_not_reached();
}

static void
fit_choose(Fit *fit)
{
    fit->best = -1;
    for (int i = 0; i < FIT_N_FAMILIES; i++)
        if (fit->families[i].is_possible && isfinite(fit->families[i].aic) &&
            (fit->best < 0 || fit->families[i].aic < fit->families[fit->best].aic))
            fit->best = i;
    fit->is_good = fit->best >= 0 && fit->families[fit->best].ks_p >= GOOD_P;
}

void
fit_samples(double *seconds, unsigned n, Fit *fit)
{
    FitSamples s = {seconds, n, 0, 0};
    gsl_error_handler_t *handler = gsl_set_error_handler_off(); /* NaN is answer enough */

    *fit = (Fit){.n = n, .best = -1};
    qsort(seconds, n, sizeof *seconds, fit_compare);
    for (unsigned i = 0; i < n; i++) {
        seconds[i] = MAX(seconds[i], TINY);
        s.mean += seconds[i] / n;
        s.mean_log += log(seconds[i]) / n;
    }
    for (FitFamily family = 0; n >= 8 && family < FIT_N_FAMILIES; family++) {
        FitResult *result = &fit->families[family];
        fit_family(family, &s, result);
        if (!result->is_possible)
            continue;
        result->aic =
            2 * minus_log_likelihood(result, family, &s) + 2. * families[family].n_parameters;
        result->ks = ks_of(result, family, seconds, n);
        result->ks_p = fit_ks_probability(result->ks, n);
    }
    fit_choose(fit);
    gsl_set_error_handler(handler);
}

/* ---- Histograms ---- */

typedef struct {
    const double *upper, *cumulative;
    unsigned n;
    double mean; /* seconds; 0: not known */
    FitFamily family;
} FitBuckets;

static FitResult
result_at(const gsl_vector *at, FitFamily family)
{
    double a = gsl_vector_get(at, 0), b = exp(gsl_vector_get(at, 1));

    return family == FIT_LOGNORMAL ? (FitResult){.a = a, .b = b} : (FitResult){.a = exp(a), .b = b};
}

static double
bucket_cdf(const FitBuckets *h, const FitResult *result, unsigned i)
{
    return isinf(h->upper[i]) ? 1 : cdf(result, h->family, h->upper[i]);
}

/* Minus the logarithm of the likelihood of the mean of so many, which is normal; few buckets say
 * less than their mean does. */
static double
mean_likelihood(const FitBuckets *h, const FitResult *result)
{
    double a = result->a, b = result->b, mean, variance;

    if (h->mean <= 0)
        return 0;
    if (h->family == FIT_LOGNORMAL) {
        mean = exp(a + b * b / 2);
        variance = mean * mean * (exp(b * b) - 1);
    } else if (h->family == FIT_GAMMA) {
        mean = a * b;
        variance = a * b * b;
    } else {
        mean = b * tgamma(1 + 1 / a);
        variance = b * b * tgamma(1 + 2 / a) - mean * mean;
    }
    variance = MAX(variance / h->cumulative[h->n - 1], TINY * TINY);
    return (mean - h->mean) * (mean - h->mean) / (2 * variance) + log(variance) / 2;
}

static double
bucket_likelihood(const gsl_vector *at, void *data)
{
    const FitBuckets *h = data;
    FitResult result = result_at(at, h->family);
    double sum = 0;

    for (unsigned i = 0; i < h->n; i++) {
        double count = h->cumulative[i] - (i > 0 ? h->cumulative[i - 1] : 0);
        double p = bucket_cdf(h, &result, i) - (i > 0 ? bucket_cdf(h, &result, i - 1) : 0);
        if (count > 0)
            sum -= count * log(MAX(p, 1e-12));
    }
    sum += mean_likelihood(h, &result);
    return isfinite(sum) ? sum : 1e300;
}

static double
bucket_distance(const FitBuckets *h, const FitResult *result)
{
    double d = 0;

    for (unsigned i = 0; i < h->n; i++)
        d = MAX(d, fabs(bucket_cdf(h, result, i) - h->cumulative[i] / h->cumulative[h->n - 1]));
    return d;
}

/* Where half of all are. */
static double
middle_of(const FitBuckets *h)
{
    for (unsigned i = 0; i < h->n; i++)
        if (h->cumulative[i] >= h->cumulative[h->n - 1] / 2 && isfinite(h->upper[i]))
            return h->upper[i] * 0.7;
    return h->n > 1 ? h->upper[h->n - 2] : 1;
}

static FitResult
fit_buckets(FitBuckets *h)
{
    gsl_multimin_function function = {bucket_likelihood, 2, h};
    gsl_vector *at = gsl_vector_alloc(2), *step = gsl_vector_alloc(2);
    gsl_multimin_fminimizer *search =
        gsl_multimin_fminimizer_alloc(gsl_multimin_fminimizer_nmsimplex2, 2);

    gsl_vector_set(at, 0, h->family == FIT_LOGNORMAL ? log(middle_of(h)) : 0);
    gsl_vector_set(at, 1, h->family == FIT_LOGNORMAL ? -0.5 : log(middle_of(h)));
    gsl_vector_set_all(step, 0.5);
    gsl_multimin_fminimizer_set(search, &function, at, step);
    for (unsigned i = 0; i < 2000; i++)
        if (gsl_multimin_fminimizer_iterate(search) != 0 ||
            gsl_multimin_test_size(gsl_multimin_fminimizer_size(search), 1e-7) == GSL_SUCCESS)
            break;
    FitResult result = result_at(search->x, h->family);
    result.is_possible = isfinite(search->fval) && search->fval < 1e299;
    result.aic = 2 * search->fval + 2. * families[h->family].n_parameters;
    gsl_multimin_fminimizer_free(search);
    gsl_vector_free(at);
    gsl_vector_free(step);
    return result;
}

void
fit_histogram(
    const double *upper, const double *cumulative, unsigned n_buckets, double mean, Fit *fit)
{
    static const FitFamily tried[] = {FIT_LOGNORMAL, FIT_GAMMA, FIT_WEIBULL};
    double n = n_buckets > 0 ? cumulative[n_buckets - 1] : 0;
    gsl_error_handler_t *handler = gsl_set_error_handler_off();

    *fit = (Fit){.n = (unsigned)n, .best = -1};
    for (unsigned i = 0; n >= 1 && i < G_N_ELEMENTS(tried); i++) {
        FitBuckets h = {upper, cumulative, n_buckets, mean, tried[i]};
        FitResult *result = &fit->families[tried[i]];
        *result = fit_buckets(&h);
        result->ks = bucket_distance(&h, result);
        result->ks_p = fit_ks_probability(result->ks, n);
    }
    fit_choose(fit);
    gsl_set_error_handler(handler);
}

/* ---- Words ---- */

static void
append_time(GString *text, double seconds)
{
    char number[G_ASCII_DTOSTR_BUF_SIZE];

    /* Nanoseconds are what times are counted in; nine significant digits are more than was
     * measured. */
    g_string_append(text, g_ascii_formatd(number, sizeof number, "%.0f", seconds * 1e9));
    g_string_append(text, "ns");
}

static const double table_quantiles[] = {0,   0.01, 0.05, 0.1, 0.2, 0.25, 0.3,  0.4,  0.5,
                                         0.6, 0.7,  0.75, 0.8, 0.9, 0.95, 0.98, 0.99, 1};

static void
append_quantile(GString *text, double q, double seconds)
{
    char number[G_ASCII_DTOSTR_BUF_SIZE];

    g_string_append_printf(text, "%s[%s, ", g_str_has_suffix(text->str, "[") ? "" : ", ",
                           g_ascii_formatd(number, sizeof number, "%.4g", q));
    append_time(text, seconds);
    g_string_append(text, "]");
}

static void
append_family(GString *text, const FitResult *result, FitFamily family)
{
    char a[G_ASCII_DTOSTR_BUF_SIZE], b[G_ASCII_DTOSTR_BUF_SIZE];

    g_ascii_formatd(a, sizeof a, "%.6g", result->a);
    g_ascii_formatd(b, sizeof b, "%.6g", result->b);
    switch (family) {
    case FIT_LOGNORMAL:
    case FIT_SHIFTED:
        g_string_append_printf(text, "{lognormal: {mu: %s, sigma: %s", a, b);
        if (family == FIT_SHIFTED) {
            g_string_append(text, ", shift: ");
            append_time(text, result->shift);
        }
        break;
    case FIT_GAMMA:
    case FIT_WEIBULL:
        g_string_append_printf(text, "{%s: {shape: %s, scale: ", families[family].name, a);
        append_time(text, result->b);
        break;
    case FIT_EXPONENTIAL:
        g_string_append(text, "{exponential: {mean: ");
        append_time(text, result->a);
        break;
    case FIT_N_FAMILIES:
        g_assert_not_reached();
    }
    g_string_append(text, "}}");
}

char *
fit_text(const Fit *fit, const double *sorted, unsigned n)
{
    GString *text = g_string_new(NULL);

    if (fit->is_good) {
        append_family(text, &fit->families[fit->best], (FitFamily)fit->best);
        return g_string_free(text, FALSE);
    }
    g_string_append(text, "{empirical: {quantiles: [");
    for (unsigned i = 0; i < G_N_ELEMENTS(table_quantiles); i++)
        append_quantile(text, table_quantiles[i], fit_quantile(sorted, n, table_quantiles[i]));
    g_string_append(text, "]}}");
    return g_string_free(text, FALSE);
}

/* Up to the last finite bound, where the rest is put: a histogram does not say more. */
char *
fit_histogram_text(const Fit *fit, const double *upper, const double *cumulative, unsigned n)
{
    GString *text = g_string_new(NULL);
    double last_q = -1, total = cumulative[n - 1];

    if (fit->is_good) {
        append_family(text, &fit->families[fit->best], (FitFamily)fit->best);
        return g_string_free(text, FALSE);
    }
    g_string_append(text, "{empirical: {quantiles: [");
    for (unsigned i = 0; i < n; i++) {
        double q = cumulative[i] / total;
        if (i == 0 || (cumulative[i] > 0 && last_q < 0)) {
            append_quantile(text, 0, i == 0 ? 0 : upper[i - 1]);
            last_q = 0;
        }
        if (q > last_q && isfinite(upper[i])) {
            append_quantile(text, q, upper[i]);
            last_q = q;
        }
    }
    g_string_append(text, "]}}");
    return g_string_free(text, FALSE);
}

char *
fit_comment(const Fit *fit)
{
    int next = -1;

    if (fit->best < 0)
        return g_strdup_printf("n=%u; too few, or all alike, to fit", fit->n);
    for (int i = 0; i < FIT_N_FAMILIES; i++)
        if (i != fit->best && fit->families[i].is_possible && isfinite(fit->families[i].aic) &&
            (next < 0 || fit->families[i].aic < fit->families[next].aic))
            next = i;
    const FitResult *best = &fit->families[fit->best];
    GString *text = g_string_new(NULL);
    g_string_append_printf(text, "n=%u; %s%s by AIC", fit->n,
                           fit->is_good ? "" : "no family fits; ", families[fit->best].name);
    if (next >= 0)
        g_string_append_printf(text, ", next %s +%.0f", families[next].name,
                               fit->families[next].aic - best->aic);
    g_string_append_printf(text, "; KS %.3f, p %.2g", best->ks, best->ks_p);
    return g_string_free(text, FALSE);
}
