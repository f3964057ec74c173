/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Fits find what the samples were drawn from: known distributions, in and out. */
#include "run/measure/fit.h"
#include "sim/distribution.h"
#include "sim/random.h"
#include "tests/lib/test.h"

#include <math.h>
#include <string.h>

#define N 2000

typedef struct {
    const char *name, *kind;
    SimDistArg args[3];
    FitFamily family;
    double a, b, shift;
} MeasureFitRow;

/* clang-format off */
static const MeasureFitRow rows[] = {
    {"lognormal", "lognormal", {{.name = "mu", .number = -3}, {.name = "sigma", .number = 0.8}}, FIT_LOGNORMAL, -3, 0.8, 0},
    {"lognormal from 20 ms on", "lognormal",
     {{.name = "mu", .number = -5}, {.name = "sigma", .number = 1}, {.name = "shift", .is_time = TRUE, .time = 20 * SIM_MS}},
     FIT_SHIFTED, -5, 1, 0.02},
    {"gamma", "gamma", {{.name = "shape", .number = 3}, {.name = "scale", .is_time = TRUE, .time = 10 * SIM_MS}},
     FIT_GAMMA, 3, 0.01, 0},
    {"weibull", "weibull", {{.name = "shape", .number = 2.5}, {.name = "scale", .is_time = TRUE, .time = 10 * SIM_MS}},
     FIT_WEIBULL, 2.5, 0.01, 0},
    {"exponential", "exponential", {{.name = "mean", .is_time = TRUE, .time = 30 * SIM_MS}}, FIT_EXPONENTIAL, 0.03, 0, 0},
};
/* clang-format on */

static unsigned
n_args(const MeasureFitRow *row)
{
    unsigned n = 0;

    while (n < G_N_ELEMENTS(row->args) && row->args[n].name != NULL)
        n++;
    return n;
}

static SimDist *
dist_of(const MeasureFitRow *row)
{
    GError *error = NULL;
    SimDist *dist = sim_dist_new(row->kind, row->args, n_args(row), &error);

    if (dist == NULL)
        fail_msg("%s", error->message);
    return dist;
}

/* The quantiles themselves, evenly spread: no luck in it. */
static void
fit_draw(const SimDist *dist, double *seconds)
{
    for (unsigned i = 0; i < N; i++)
        seconds[i] = (double)sim_dist_quantile(dist, (i + 0.5) / N) / (double)SIM_SECOND;
}

static void
finds_the_family(void **state)
{
    const MeasureFitRow *row = *state;
    g_autoptr(SimDist) dist = dist_of(row);
    double seconds[N];
    Fit fit;

    fit_draw(dist, seconds);
    fit_samples(seconds, N, &fit);
    const FitResult *found = &fit.families[row->family];
    assert_true(found->is_possible);
    assert_true(fabs(found->a - row->a) < 0.05 * fabs(row->a));
    assert_true(fabs(found->b - row->b) <= 0.05 * fabs(row->b));
    assert_true(fabs(found->shift - row->shift) <= 0.12 * row->shift);
    assert_true(fit.is_good);
    /* An exponential is a gamma and a weibull, too: only what the extra parameters cost lies
     * between them. */
    assert_true(fit.families[fit.best].aic >= found->aic - 2);
    assert_true(found->ks < 0.03);
}
TEST_ROWS(rows, finds_the_family);

/* The same from buckets as Kubernetes' histograms have them. */
static void
finds_it_in_buckets(void **state)
{
    static const double upper[] = {0.001, 0.0025, 0.005, 0.01, 0.025, 0.05,
                                   0.1,   0.25,   0.5,   1,    2.5,   INFINITY};
    const MeasureFitRow *row = *state;
    g_autoptr(SimDist) dist = dist_of(row);
    double seconds[N], cumulative[G_N_ELEMENTS(upper)] = {0};
    Fit fit;

    if (row->family == FIT_SHIFTED || row->family == FIT_EXPONENTIAL)
        return; /* histograms are not fitted with these */
    fit_draw(dist, seconds);
    for (unsigned i = 0; i < N; i++)
        for (unsigned k = 0; k < G_N_ELEMENTS(upper); k++)
            cumulative[k] += seconds[i] <= upper[k] ? 1 : 0;
    fit_histogram(upper, cumulative, G_N_ELEMENTS(upper), 0, &fit);
    assert_int_equal(fit.best, row->family);
    assert_true(fabs(fit.families[fit.best].a - row->a) < 0.05 * fabs(row->a));
    assert_true(fabs(fit.families[fit.best].b - row->b) < 0.05 * row->b);
    assert_true(fit.is_good);
}
TEST_ROWS(rows, finds_it_in_buckets);

/* Buckets as wide as storage_operation_duration_seconds has them say little of what is within them;
 * the mean says more. */
TEST(the_mean_helps_wide_buckets)
{
    static const double upper[] = {0.1, 0.25, INFINITY}, cumulative[] = {96, 100, 100};
    static const double means[] = {0.02, 0.03, 0.05};

    for (unsigned i = 0; i < G_N_ELEMENTS(means); i++) {
        Fit fit;
        fit_histogram(upper, cumulative, G_N_ELEMENTS(upper), means[i], &fit);
        const FitResult *found = &fit.families[FIT_LOGNORMAL];
        double mean = exp(found->a + found->b * found->b / 2);
        if (fabs(mean / means[i] - 1) > 0.15)
            fail_msg("mean %g, wanted %g", mean, means[i]);
    }
}

/* Two humps are no family: quantiles, and they are those of the samples. */
TEST(falls_back_to_quantiles)
{
    double seconds[1000];
    Fit fit;

    for (unsigned i = 0; i < G_N_ELEMENTS(seconds); i++)
        seconds[i] = (i % 2 == 0 ? 1e-5 : 1e-2) * (1 + i * 1e-4);
    fit_samples(seconds, G_N_ELEMENTS(seconds), &fit);
    assert_false(fit.is_good);
    g_autofree char *text = fit_text(&fit, seconds, G_N_ELEMENTS(seconds));
    assert_true(g_str_has_prefix(text, "{empirical: {quantiles: [[0, 10000ns], "));
    assert_non_null(strstr(text, "[1, 10999000ns]"));
}

TEST(distances)
{
    const double a[] = {1, 2, 3, 4}, b[] = {3, 4, 5, 6}, c[] = {1, 1, 2, 2, 3, 3, 4, 4};

    assert_true(fabs(fit_ks_two(a, 4, b, 4) - 0.5) < 1e-12);
    assert_true(fit_ks_two(a, 4, a, 4) < 1e-12);
    assert_true(fit_ks_two(a, 4, c, 8) < 1e-12);
    /* Tables: 1.36 / sqrt(n) is the 5 % point. */
    assert_true(fabs(fit_ks_probability(1.36 / sqrt(1e6), 1e6) - 0.049) < 0.002);
    assert_true(fit_quantile(a, 4, 0.5) == 2);
    assert_true(fit_quantile(a, 4, 0.51) == 3);
}
