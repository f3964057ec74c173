/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Against libm in long double, which is good to 1e-18 here, over wide ranges. */
#include "sim/portable-math.h"
#include "sim/random.h"
#include "tests/lib/test.h"

#include <gsl/gsl_cdf.h>
#include <gsl/gsl_randist.h>
#include <math.h>
#include <string.h>

#define N_POINTS 200000u
#define TOLERANCE 1e-12
/* As doubles: those of math.h are floats. */
#define INFINITE __builtin_inf()
#define NOT_A_NUMBER __builtin_nan("")

typedef struct {
    const char *name;
    double low, high;
    gboolean by_exponent; /* arguments are spread evenly over exponents of 2: 2^low … 2^high */
    double (*portable)(double x);
    long double (*reference)(long double x);
} FunctionCase;

static long double
normal_cdf_reference(long double x)
{
    return erfcl(-x / sqrtl(2)) / 2;
}

static long double
log_gamma_reference(long double x)
{
    return lgammal(x);
}

/* The right argument gives p back: Newton's step from the result must be small. */
static double
normal_quantile_error(double p)
{
    double x = pm_normal_quantile(p);
    long double density = expl(-(long double)x * (long double)x / 2) / sqrtl(2 * acosl(-1));
    long double below = normal_cdf_reference((long double)x),
                above = normal_cdf_reference(-(long double)x);
    long double step = p < 0.5 ? below - (long double)p : (1 - (long double)p) - above;
    return x == 0 ? 0 : (double)(step / density / (long double)x) + 1;
}

static long double
one(long double x)
{
    (void)x;
    return 1;
}

/* clang-format off */
static const FunctionCase function_cases[] = {
    {"log: all magnitudes",                    -1074,    1023.9,    TRUE,  pm_log,                logl},
    {"log: around 1",                          0.5,      2,         FALSE, pm_log,                logl},
    {"log: very close to 1",                   1 - 1e-6, 1 + 1e-6,  FALSE, pm_log,                logl},
    {"exp: all results but the subnormal",     -708,     709.7,     FALSE, pm_exp,                expl},
    {"exp: close to 0",                        -60,      -1,        TRUE,  pm_exp,                expl},
    {"normal cdf: all results",                -37,      9,         FALSE, pm_normal_cdf,         normal_cdf_reference},
    {"normal cdf: close to 0",                 -60,      1,         TRUE,  pm_normal_cdf,         normal_cdf_reference},
    {"normal quantile: lower tail",            -1000,    -2,        TRUE,  normal_quantile_error, one},
    {"normal quantile: centre and upper tail", 0.001,    1 - 1e-12, FALSE, normal_quantile_error, one},
    {"log gamma: all magnitudes",              -300,     300,       TRUE,  pm_log_gamma,          log_gamma_reference},
    {"log gamma: common shapes",               0.01,     30,        FALSE, pm_log_gamma,          log_gamma_reference},
    {"log gamma: close to its zero at 1",      1 - 1e-4, 1 + 1e-4,  FALSE, pm_log_gamma,          log_gamma_reference},
    {"log gamma: close to its zero at 2",      2 - 1e-4, 2 + 1e-4,  FALSE, pm_log_gamma,          log_gamma_reference},
};
/* clang-format on */

static double
relative_error(double value, long double reference)
{
    return value == (double)reference ? 0
                                      : (double)fabsl(((long double)value - reference) / reference);
}

static void
is_close_to_libm(void **state)
{
    const FunctionCase *row = *state;
    SimStream stream = sim_stream_from(1, 0, row->name);
    double worst = 0;

    for (unsigned i = 0; i < N_POINTS; i++) {
        double x = row->low + (row->high - row->low) * sim_random_uniform(stream, 0, i);
        x = row->by_exponent ? exp2(x) : x;
        worst = fmax(worst, relative_error(row->portable(x), row->reference((long double)x)));
    }
    assert_true(worst < TOLERANCE);
}
TEST_ROWS(function_cases, is_close_to_libm);

TEST(powers_are_close_to_libm)
{
    SimStream stream = sim_stream_from(1, 0, "pow");

    for (unsigned i = 0; i < N_POINTS; i++) {
        double x = exp2(200 * sim_random_uniform(stream, 0, i) - 100);
        double y = 10 * sim_random_uniform(stream, 1, i) - 5;
        assert_true(relative_error(pm_pow(x, y), powl((long double)x, (long double)y)) < TOLERANCE);
    }
}

/* GSL's own gamma functions are good to about 1e-14 for shapes below a thousand. */
TEST(gamma_quantiles_give_the_probability_back)
{
    static const double shapes[] = {0.05, 0.3, 0.5, 1, 1.5, 3, 9.99, 10, 30, 100, 500};
    SimStream stream = sim_stream_from(1, 0, "gamma");

    for (unsigned k = 0; k < G_N_ELEMENTS(shapes); k++)
        for (unsigned i = 0; i < 1000; i++) {
            double p = sim_random_uniform(stream, k, i);
            p = i % 3 == 0 ? p * 1e-9 : p;
            double x = pm_gamma_quantile(shapes[k], p);
            double slope = x * gsl_ran_gamma_pdf(x, shapes[k], 1); /* of the probability by ln x */
            double miss = p < 0.5 ? gsl_cdf_gamma_P(x, shapes[k], 1) - p
                                  : 1 - p - gsl_cdf_gamma_Q(x, shapes[k], 1);
            if (x > 1e-300)
                assert_true(fabs(miss) < TOLERANCE * slope);
        }
}

TEST(large_shapes_are_nearly_normal)
{
    for (unsigned i = 1; i < 20; i++) {
        double p = i / 20.0;
        double x = pm_gamma_quantile(1e6, p);
        double cube = 1 - 1 / 9e6 + pm_normal_quantile(p) / 3e3; /* Wilson and Hilferty */
        assert_true(fabs(x / (1e6 * cube * cube * cube) - 1) < 1e-8);
    }
}

typedef struct {
    const char *name;
    double x, y;
    double (*one_argument)(double x);
    double (*two_arguments)(double x, double y);
    double result;
} EdgeCase;

static const EdgeCase edge_cases[] = {
    {"log 0",                              0,            0,        pm_log,             NULL,              -INFINITE   },
    {"log 1",                              1,            0,        pm_log,             NULL,              0           },
    {"log -1",                             -1,           0,        pm_log,             NULL,              NOT_A_NUMBER},
    {"log infinity",                       INFINITE,     0,        pm_log,             NULL,              INFINITE    },
    {"log NaN",                            NOT_A_NUMBER, 0,        pm_log,             NULL,              NOT_A_NUMBER},
    {"exp 0",                              0,            0,        pm_exp,             NULL,              1           },
    {"exp 710",                            710,          0,        pm_exp,             NULL,              INFINITE    },
    {"exp -746",                           -746,         0,        pm_exp,             NULL,              0           },
    {"exp -infinity",                      -INFINITE,    0,        pm_exp,             NULL,              0           },
    {"exp NaN",                            NOT_A_NUMBER, 0,        pm_exp,             NULL,              NOT_A_NUMBER},
    {"pow 0 0",                            0,            0,        NULL,               pm_pow,            1           },
    {"pow 0 2",                            0,            2,        NULL,               pm_pow,            0           },
    {"pow 0 -2",                           0,            -2,       NULL,               pm_pow,            INFINITE    },
    {"pow 1 infinity",                     1,            INFINITE, NULL,               pm_pow,            1           },
    {"pow infinity 1",                     INFINITE,     1,        NULL,               pm_pow,            INFINITE    },
    {"pow NaN 0",                          NOT_A_NUMBER, 0,        NULL,               pm_pow,            1           },
    {"normal quantile of 1/2",             0.5,          0,        pm_normal_quantile, NULL,              0           },
    {"normal quantile of 0",               0,            0,        pm_normal_quantile, NULL,              -INFINITE   },
    {"normal quantile of 1",               1,            0,        pm_normal_quantile, NULL,              INFINITE    },
    {"normal quantile of 2",               2,            0,        pm_normal_quantile, NULL,              NOT_A_NUMBER},
    {"normal cdf of 0",                    0,            0,        pm_normal_cdf,      NULL,              0.5         },
    {"normal cdf of -infinity",            -INFINITE,    0,        pm_normal_cdf,      NULL,              0           },
    {"normal cdf of infinity",             INFINITE,     0,        pm_normal_cdf,      NULL,              1           },
    {"log gamma of 1",                     1,            0,        pm_log_gamma,       NULL,              0           },
    {"log gamma of 2",                     2,            0,        pm_log_gamma,       NULL,              0           },
    {"log gamma of infinity",              INFINITE,     0,        pm_log_gamma,       NULL,              INFINITE    },
    {"gamma quantile of 0",                3,            0,        NULL,               pm_gamma_quantile, 0           },
    {"gamma quantile of 1",                3,            1,        NULL,               pm_gamma_quantile, INFINITE    },
    {"gamma quantile of no shape",         0,            0.5,      NULL,               pm_gamma_quantile, NOT_A_NUMBER},
    {"gamma quantile of hardly any shape", 1e-9,         0.9,      NULL,               pm_gamma_quantile, 0           },
};

static void
edge_is_as_in_libm(void **state)
{
    const EdgeCase *row = *state;
    double result =
        row->one_argument != NULL ? row->one_argument(row->x) : row->two_arguments(row->x, row->y);

    assert_true(result == row->result || (isnan(result) && isnan(row->result)));
}
TEST_ROWS(edge_cases, edge_is_as_in_libm);

/* The same bits as by the logarithm, from the smallest to the largest number that is drawn. */
TEST(exponential_quantile_is_a_logarithm)
{
    assert_true(pm_exponential_quantile(3, 0x1p-53) == -3 * pm_log(1 - 0x1p-53));
    assert_true(pm_exponential_quantile(3, 1 - 0x1p-53) == -3 * pm_log(0x1p-53));
    for (unsigned i = 1; i < 10000; i++)
        assert_true(pm_exponential_quantile(1e9, i / 10000.0) == -1e9 * pm_log(1 - i / 10000.0));
}

/* The bits, which no compiler or processor may change. */
TEST(bits_are_golden)
{
    uint64_t hash = 0;
    double values[6];

    for (unsigned i = 1; i < 10000; i++) {
        double p = i / 10000.0;
        values[0] = pm_log(p);
        values[1] = pm_exp(100 * p - 50);
        values[2] = pm_pow(10 * p, 3.3);
        values[3] = pm_normal_quantile(p);
        values[4] = pm_normal_cdf(20 * p - 10);
        values[5] = pm_gamma_quantile(0.1 + 20 * p, p);
        for (unsigned k = 0; k < G_N_ELEMENTS(values); k++) {
            uint64_t bits;
            memcpy(&bits, &values[k], sizeof bits);
            hash = sim_hash_combine(hash, bits);
        }
    }
    assert_int_equal(hash, UINT64_C(0x38d7fb99aa3bd559));
}
