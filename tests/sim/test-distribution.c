/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sim/distribution.h"
#include "sim/portable-math.h"
#include "sim/sim-test.h"
#include "tests/lib/test.h"

#include <gsl/gsl_cdf.h>
#include <gsl/gsl_sf_gamma.h>
#include <math.h>
#include <string.h>

#define TIME(name_, ns)                                                                            \
    {                                                                                              \
        .name = (name_), .is_time = TRUE, .time = (ns)                                             \
    }
#define NUMBER(name_, value)                                                                       \
    {                                                                                              \
        .name = (name_), .number = (value)                                                         \
    }
#define S SIM_SECOND
#define ARGS_MAX 5

/* ---- Moments and shape ---- */

typedef struct {
    const char *name;
    const char *kind;
    SimDistArg args[ARGS_MAX];
    double mean, stddev;           /* seconds; stddev 0: not tested */
    double (*cdf)(double seconds); /* NULL: moments only */
} ShapeCase;

static double
uniform_cdf(double x)
{
    return gsl_cdf_flat_P(x, 1, 3);
}
static double
exponential_cdf(double x)
{
    return gsl_cdf_exponential_P(x, 2);
}
static double
shifted_exponential_cdf(double x)
{
    return x < 5 ? 0 : gsl_cdf_exponential_P(x - 5, 2);
}
static double
normal_cdf(double x)
{
    return gsl_cdf_gaussian_P(x - 10, 1);
}
static double
cut_normal_cdf(double x) /* mean 1, stddev 1, cut at 0 */
{
    double below = gsl_cdf_ugaussian_P(-1);
    return x < 0 ? 0 : (gsl_cdf_ugaussian_P(x - 1) - below) / (1 - below);
}
static double
tail_normal_cdf(double x) /* mean 0, stddev 1, cut to 3 … 5 */
{
    double above = gsl_cdf_ugaussian_Q(3), rest = gsl_cdf_ugaussian_Q(5);
    return x < 3 ? 0 : (above - gsl_cdf_ugaussian_Q(x)) / (above - rest);
}
static double
lognormal_cdf(double x) /* median 1, p99 4 */
{
    return gsl_cdf_lognormal_P(x, 0, log(4) / gsl_cdf_ugaussian_Pinv(0.99));
}
static double
gamma_cdf(double x)
{
    return gsl_cdf_gamma_P(x, 2.5, 0.4);
}
static double
small_gamma_cdf(double x)
{
    return gsl_cdf_gamma_P(x, 0.25, 4);
}
static double
weibull_cdf(double x)
{
    return gsl_cdf_weibull_P(x, 2, 1.5);
}
static double
pareto_cdf(double x)
{
    return gsl_cdf_pareto_P(x, 3, 2);
}
static double
empirical_cdf(double x) /* 0: 1 s, 1/2: 2 s, 1: 6 s */
{
    if (x < 1)
        return 0;
    return x < 2 ? (x - 1) / 2 : fmin(0.5 + (x - 2) / 8, 1);
}
static double
mixture_cdf(double x)
{
    return 0.75 * exponential_cdf(x) + 0.25 * uniform_cdf(x);
}

static const SimDistArg empirical_list[] = {{.number = 0},   TIME(NULL, 1 * S),
                                            {.number = 0.5}, TIME(NULL, 2 * S),
                                            {.number = 1},   TIME(NULL, 6 * S)};
static const SimDistArg empirical_pairs[] = {
    {.items = &empirical_list[0], .n_items = 2},
    {.items = &empirical_list[2], .n_items = 2},
    {.items = &empirical_list[4], .n_items = 2},
};
static const SimDistArg empirical_both[] = {
    {.is_time = TRUE, .number = 0,   .time = S    },
    {.is_time = TRUE, .number = 0.5, .time = 2 * S},
    {.is_time = TRUE, .number = 1,   .time = 6 * S},
};
static const SimDistArg level_list[] = {
    {.number = 0.25}, TIME(NULL, 1 * S), {.number = 0.75}, TIME(NULL, 3 * S)};

#define LIST(name_, list)                                                                          \
    {                                                                                              \
        .name = (name_), .items = (list), .n_items = G_N_ELEMENTS(list)                            \
    }

/* clang-format off */
static const ShapeCase shape_cases[] = {
    {"constant", "constant", {TIME("value", 3 * S)}, 3, 0, NULL},
    {"constant, shifted back", "constant", {TIME("value", 3 * S), TIME("shift", -S)}, 2, 0, NULL},
    {"uniform", "uniform", {TIME("min", S), TIME("max", 3 * S)}, 2, 0.5773502691896258, uniform_cdf},
    {"uniform by place", "uniform", {TIME(NULL, S), TIME(NULL, 3 * S)}, 2, 0.5773502691896258, uniform_cdf},
    {"exponential", "exponential", {TIME("mean", 2 * S)}, 2, 2, exponential_cdf},
    {"exponential, shifted", "exponential", {TIME("mean", 2 * S), TIME("shift", 5 * S)}, 7, 2, shifted_exponential_cdf},
    {"normal", "normal", {TIME("mean", 10 * S), TIME("stddev", S)}, 10, 1, normal_cdf},
    {"normal by cv", "normal", {TIME("mean", 10 * S), NUMBER("cv", 0.1)}, 10, 1, normal_cdf},
    {"normal, cut at 0", "normal", {TIME("mean", S), TIME("stddev", S)}, 1.2875999709391784, 0.7935263203466, cut_normal_cdf},
    {"normal, far tail", "normal", {TIME("mean", 0), TIME("stddev", S), TIME("min", 3 * S), TIME("max", 5 * S)}, 3.28269437994, 0, tail_normal_cdf},
    {"lognormal by quantiles", "lognormal", {TIME("p50", S), TIME("p99", 4 * S)}, 1.19429310496, 0, lognormal_cdf},
    {"lognormal by mean and cv", "lognormal", {TIME("mean", 2 * S), NUMBER("cv", 0.5)}, 2, 1, NULL},
    {"lognormal by mu", "lognormal", {NUMBER("mu", 0), NUMBER("sigma", 0.595910171728)}, 1.19429310496, 0, NULL},
    {"lognormal by median", "lognormal", {TIME("median", S), NUMBER("sigma", 0.595910171728)}, 1.19429310496, 0, NULL},
    {"gamma by scale", "gamma", {NUMBER("shape", 2.5), TIME("scale", 400 * SIM_MS)}, 1, 0.6324555320336759, gamma_cdf},
    {"gamma by mean", "gamma", {NUMBER("shape", 2.5), TIME("mean", S)}, 1, 0.6324555320336759, gamma_cdf},
    {"gamma by cv", "gamma", {TIME("mean", S), NUMBER("cv", 2)}, 1, 2, small_gamma_cdf},
    {"weibull", "weibull", {NUMBER("shape", 1.5), TIME("scale", 2 * S)}, 1.8054905859, 1.2260027, weibull_cdf},
    {"pareto", "pareto", {TIME("min", 2 * S), NUMBER("shape", 3)}, 3, 0, pareto_cdf},
    {"empirical, flat list", "empirical", {LIST("quantiles", empirical_list)}, 2.75, 0, empirical_cdf},
    {"empirical, list of pairs", "empirical", {LIST("quantiles", empirical_pairs)}, 2.75, 0, empirical_cdf},
    {"empirical, one item each", "empirical", {LIST("quantiles", empirical_both)}, 2.75, 0, empirical_cdf},
    {"empirical, level beyond", "empirical", {LIST("quantiles", level_list)}, 2, 0, NULL},
    {"bounds move, they do not cut", "exponential", {TIME("mean", 2 * S), TIME("min", S), TIME("max", S)}, 2, -1, NULL},
};
/* clang-format on */

static unsigned
count_args(const SimDistArg *args)
{
    unsigned n = 0;

    while (n < ARGS_MAX && (args[n].name != NULL || args[n].is_time || args[n].items != NULL))
        n++;
    return n;
}

#define N_DRAWS 20000u

static int
distribution_compare_times(const void *a, const void *b)
{
    SimTime left = *(const SimTime *)a, right = *(const SimTime *)b;
    return (left > right) - (left < right);
}

/* Kolmogorov and Smirnov: the largest distance to the distribution function, times sqrt(n);
 * beyond 2.2 once in 8,000. */
static void
assert_follows(SimTime *draws, double (*cdf)(double seconds))
{
    double distance = 0;

    qsort(draws, N_DRAWS, sizeof *draws, distribution_compare_times);
    for (unsigned i = 0; i < N_DRAWS; i++) {
        double p = cdf((double)draws[i] / S);
        distance = fmax(distance, fmax(p - (double)i / N_DRAWS, (i + 1.0) / N_DRAWS - p));
    }
    assert_true(distance * sqrt(N_DRAWS) < 2.2);
}

static void
assert_moments(const SimTime *draws, const ShapeCase *row)
{
    double mean = 0, variance = 0;

    for (unsigned i = 0; i < N_DRAWS; i++)
        mean += (double)draws[i] / S / N_DRAWS;
    for (unsigned i = 0; i < N_DRAWS; i++)
        variance += pow((double)draws[i] / S - mean, 2) / (N_DRAWS - 1);
    if (row->stddev > 0) {
        assert_true(fabs(mean - row->mean) < 4.5 * row->stddev / sqrt(N_DRAWS));
        assert_true(fabs(sqrt(variance) / row->stddev - 1) < 0.1);
    } else if (row->stddev == 0) {
        assert_true(fabs(mean - row->mean) <= 4.5 * sqrt(variance / N_DRAWS) + 1e-9);
    }
}

static void
has_its_shape(void **state)
{
    const ShapeCase *row = *state;
    g_autofree SimTime *draws = g_new(SimTime, N_DRAWS);
    g_autoptr(GError) error = NULL;
    g_autoptr(SimDist) dist = sim_dist_new(row->kind, row->args, count_args(row->args), &error);
    SimStream stream = sim_stream_from(1, 0, row->name);

    assert_non_null(dist);
    assert_true(fabs(sim_dist_mean(dist) / S / row->mean - 1) < 1e-6);
    for (unsigned i = 0; i < N_DRAWS; i++) {
        draws[i] = sim_dist_draw(dist, stream, i, 0);
        assert_int_equal(draws[i], sim_dist_quantile(dist, sim_random_uniform(stream, i, 0)));
        assert_true(draws[i] >= 0);
    }
    assert_moments(draws, row);
    if (row->cdf != NULL)
        assert_follows(draws, row->cdf);
}
TEST_ROWS(shape_cases, has_its_shape);

/* A slower distribution makes each draw slower; variants of a sweep rely on that. */
static void
grows_with_u(void **state)
{
    const ShapeCase *row = *state;
    g_autoptr(SimDist) dist = sim_dist_new(row->kind, row->args, count_args(row->args), NULL);
    SimTime last = 0;

    for (unsigned i = 0; i < 4096; i++) {
        double u = i / 4096.0 + 0x1p-53;
        SimTime next = sim_dist_quantile(dist, u);
        assert_true(next >= last);
        last = next;
    }
    assert_true(sim_dist_quantile(dist, 1 - 0x1p-53) >= last);
}
TEST_ROWS(shape_cases, grows_with_u);

TEST(quantiles_are_where_they_were_asked_for)
{
    const SimDistArg args[] = {TIME("p50", 1200 * SIM_MS), TIME("p99", 4 * S)};
    g_autoptr(SimDist) lognormal = sim_dist_new("lognormal", args, 2, NULL);
    const SimDistArg bounded[] = {TIME("mean", 2 * S), TIME("min", S), TIME("max", 3 * S),
                                  TIME("shift", -S)};
    g_autoptr(SimDist) exponential = sim_dist_new("exponential", bounded, 4, NULL);
    g_autoptr(SimDist) level =
        sim_dist_new("empirical", (const SimDistArg[]){LIST("quantiles", level_list)}, 1, NULL);

    assert_int_equal(sim_dist_quantile(lognormal, 0.5), 1200 * SIM_MS);
    assert_int_equal(sim_dist_quantile(lognormal, 0.99), 4 * S);
    assert_int_equal(sim_dist_quantile(exponential, 0.01), S);
    assert_int_equal(sim_dist_quantile(exponential, 0.99), 3 * S);
    assert_int_equal(sim_dist_quantile(level, 0.1), S);
    assert_int_equal(sim_dist_quantile(level, 0.25), S);
    assert_int_equal(sim_dist_quantile(level, 0.5), 2 * S);
    assert_int_equal(sim_dist_quantile(level, 0.9), 3 * S);
}

TEST(too_long_is_never)
{
    const SimDistArg args[] = {TIME("min", 1000 * S), NUMBER("shape", 0.01)};
    g_autoptr(SimDist) pareto = sim_dist_new("pareto", args, 2, NULL);

    assert_int_equal(sim_dist_quantile(pareto, 0.9), SIM_TIME_MAX);
    assert_true(isinf(sim_dist_mean(pareto)));
}

TEST(a_negative_bound_lets_values_be_negative)
{
    const SimDistArg args[] = {TIME("mean", 0), TIME("stddev", S), TIME("min", -5 * S)};
    g_autoptr(SimDist) normal = sim_dist_new("normal", args, 3, NULL);
    g_autoptr(SimDist) uniform = sim_dist_new_uniform(-10, 10);
    g_autoptr(SimDist) lowest = sim_dist_new_uniform(INT64_MIN, 0);

    assert_int_equal(sim_dist_quantile(uniform, 0.125), -8); /* -7.5, away from 0 */
    assert_int_equal(sim_dist_quantile(uniform, 0.33), -3);  /* -3.4 */
    assert_int_equal(sim_dist_quantile(uniform, 0.875), 8);
    assert_true(sim_dist_quantile(normal, 0.01) < -2 * S);
    assert_true(sim_dist_quantile(normal, 0x1p-53) >= -5 * S);
    assert_true(sim_dist_quantile(lowest, 0x1p-53) < -SIM_TIME_MAX / 2);
}

TEST(a_mixture_draws_from_its_parts)
{
    g_autoptr(SimDist) fast =
        sim_dist_new("exponential", (const SimDistArg[]){TIME("mean", 2 * S)}, 1, NULL);
    g_autoptr(SimDist) slow = sim_dist_new_uniform(S, 3 * S);
    const SimDistArg parts[] = {
        {.number = 3, .dist = fast},
        {.number = 1, .dist = slow}
    };
    g_autoptr(SimDist) mixture =
        sim_dist_new("mixture", (const SimDistArg[]){LIST("parts", parts)}, 1, NULL);
    g_autofree SimTime *draws = g_new(SimTime, N_DRAWS);

    assert_non_null(mixture);
    assert_true(fabs(sim_dist_mean(mixture) / S - 2) < 1e-9);
    g_clear_pointer(&fast, sim_dist_unref); /* the mixture has a reference of its own */
    for (unsigned i = 0; i < N_DRAWS; i++)
        draws[i] = sim_dist_draw(mixture, sim_stream_from(1, 0, "mixture"), 0, i);
    assert_follows(draws, mixture_cdf);
    assert_int_equal(sim_dist_quantile(mixture, 0.75 / 2), sim_dist_quantile(mixture, 0.375));
    assert_int_equal(sim_dist_quantile(mixture, 0.875), 2 * S); /* the middle of the last part */
}

/* Two bells with a step between them, as in the profile of timings: the worst case for a table. */
TEST(a_table_keeps_to_the_distribution)
{
    g_autoptr(SimDist) early = sim_dist_new_uniform(-S / 1000, 0);
    g_autoptr(SimDist) late = sim_dist_new_lognormal(S / 500, 0.75, S / 100);
    const SimDistArg parts[] = {
        {.number = 1, .dist = early},
        {.number = 7, .dist = late }
    };
    const SimDistArg args[] = {LIST("parts", parts), TIME("min", -S)};
    g_autoptr(SimDist) exact = sim_dist_new("mixture", args, G_N_ELEMENTS(args), NULL);
    g_autoptr(SimDist) table = sim_dist_tabulate(exact);

    assert_non_null(exact);
    assert_true(sim_dist_mean(table) == sim_dist_mean(exact));
    for (unsigned i = 0; i < N_DRAWS; i++) {
        double u = sim_random_uniform(sim_stream_from(1, 0, "table"), 0, i);
        SimTime right = sim_dist_quantile(exact, u), drawn = sim_dist_quantile(table, u);
        assert_true(ABS(drawn - right) <= MAX(1000, ABS(right) / 900));
        assert_int_equal(sim_dist_draw(table, sim_stream_from(1, 0, "table"), 0, i), drawn);
    }
    assert_int_equal(sim_dist_quantile(table, 0x1p-53), sim_dist_quantile(exact, 0x1p-53));
    assert_int_equal(sim_dist_quantile(table, 1 - 0x1p-53), sim_dist_quantile(exact, 1 - 0x1p-53));
}

TEST(shorthands)
{
    g_autoptr(SimDist) constant = sim_dist_new_constant(5);
    g_autoptr(SimDist) uniform = sim_dist_new_uniform(10, 20);
    g_autoptr(SimDist) lognormal = sim_dist_new_lognormal(S, 0.5, 7);

    assert_int_equal(sim_dist_quantile(constant, 0.3), 5);
    assert_int_equal(sim_dist_quantile(uniform, 0.5), 15);
    assert_int_equal(sim_dist_quantile(lognormal, 0.5), S + 7);
}

/* ---- Complaints ---- */

typedef struct {
    const char *name;
    const char *kind;
    SimDistArg args[ARGS_MAX];
    const char *message;
} BadCase;

static const SimDistArg falling_list[] = {
    {.number = 0.5}, TIME(NULL, 2 * S), {.number = 0.9}, TIME(NULL, S)};
static const SimDistArg beyond_list[] = {{.number = 1.5}, TIME(NULL, 2 * S)};
static const SimDistArg lonely_list[] = {{.number = 0.5}};
static const SimDistArg weightless_list[] = {{.number = 1}};

/* clang-format off */
static const BadCase bad_cases[] = {
    {"unknown kind", "zipf", {{0}}, "unknown distribution \"zipf\" (known: constant, uniform, exponential, normal, lognormal, gamma, weibull, pareto, empirical, mixture)"},
    {"nothing given", "lognormal", {{0}}, "lognormal: needs \"p50\" and \"p99\", or \"mean\" and \"cv\", or \"mu\" and \"sigma\", or \"median\" and \"sigma\""},
    {"one of two given", "lognormal", {TIME("p50", S)}, "lognormal: needs \"p99\" beside \"p50\""},
    {"one of two forms given", "lognormal", {NUMBER("sigma", 1)}, "lognormal: needs \"mu\" or \"median\" beside \"sigma\""},
    {"of different forms", "gamma", {TIME("scale", S), NUMBER("cv", 1)}, "gamma: needs either \"shape\" and \"scale\", or \"shape\" and \"mean\", or \"mean\" and \"cv\""},
    {"unknown argument", "exponential", {TIME("p95", S)}, "exponential: unknown argument \"p95\" (known: mean, shift, min, max)"},
    {"given twice", "exponential", {TIME("mean", S), TIME("mean", S)}, "exponential: \"mean\" is given twice"},
    {"too many by place", "constant", {TIME(NULL, S), TIME(NULL, S)}, "constant: too many arguments without a name"},
    {"a number for a time", "exponential", {NUMBER("mean", 2)}, "exponential: \"mean\" must be a duration, as in \"1.5s\""},
    {"a time for a number", "gamma", {TIME("shape", S), TIME("scale", S)}, "gamma: \"shape\" must be a number without a unit"},
    {"a list for a time", "exponential", {LIST("mean", empirical_list)}, "exponential: \"mean\" must not be a list"},
    {"a time for a list", "empirical", {TIME("quantiles", S)}, "empirical: \"quantiles\" must be a list"},
    {"negative time", "constant", {TIME("value", -S)}, "constant: \"value\" must not be negative"},
    {"not a number", "lognormal", {NUMBER("mu", (double)NAN), NUMBER("sigma", 1)}, "lognormal: \"mu\" is not a finite number"},
    {"no shape", "weibull", {NUMBER("shape", 0), TIME("scale", S)}, "weibull: \"shape\" must be greater than 0"},
    {"too sharp", "gamma", {TIME("mean", S), NUMBER("cv", 0.0001)}, "gamma: \"shape\" must be at most 1e6, \"cv\" at least 0.001"},
    {"p99 below p50", "lognormal", {TIME("p50", S), TIME("p99", 1)}, "lognormal: \"p99\" is less than \"p50\""},
    {"mu of a million", "lognormal", {NUMBER("mu", 1e6), NUMBER("sigma", 1)}, "lognormal: \"mu\" is out of range: it is the mean of ln(seconds)"},
    {"upside down", "uniform", {TIME("min", 2 * S), TIME("max", S)}, "uniform: \"min\" is greater than \"max\""},
    {"bounds upside down", "exponential", {TIME("mean", S), TIME("min", 2 * S), TIME("max", S)}, "exponential: \"min\" is greater than \"max\""},
    {"nothing between the bounds", "normal", {TIME("mean", S), TIME("stddev", 1), TIME("min", 10 * S)}, "normal: \"min\" and \"max\" leave nothing of it"},
    {"a quantile table that falls", "empirical", {LIST("quantiles", falling_list)}, "empirical: \"quantiles\": probabilities must grow, and durations not fall"},
    {"a probability beyond 1", "empirical", {LIST("quantiles", beyond_list)}, "empirical: \"quantiles\": a probability must lie between 0 and 1"},
    {"a probability without a time", "empirical", {LIST("quantiles", lonely_list)}, "empirical: \"quantiles\": each probability needs a duration, as in [0.5, \"1.5s\"]"},
    {"a part that is none", "mixture", {LIST("parts", weightless_list)}, "mixture: \"parts\": part 1 is not a distribution"},
};
/* clang-format on */

static void
distribution_complains(void **state)
{
    const BadCase *row = *state;
    g_autoptr(GError) error = NULL;

    assert_null(sim_dist_new(row->kind, row->args, count_args(row->args), &error));
    assert_true(g_error_matches(error, SIM_ERROR, SIM_ERROR_INVALID));
    assert_string_equal(error->message, row->message);
}
TEST_ROWS(bad_cases, distribution_complains);

TEST(names_its_arguments)
{
    assert_string_equal(sim_dist_kind_args("gamma"), "shape, scale, mean, cv, shift, min, max");
    assert_string_equal(sim_dist_kind_args("uniform"), "min, max, shift");
    assert_null(sim_dist_kind_args("zipf"));
}
