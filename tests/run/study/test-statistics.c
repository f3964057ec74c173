/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <math.h>

#include "run/study/sweep-statistics.h"
#include "tests/lib/test.h"

/* Against printed tables (NIST/SEMATECH e-Handbook of Statistical Methods, 1.3.6.7.2) and sums done
 * by hand. */

static void
near(double found, double wanted, double error)
{
    if (!(fabs(found - wanted) <= error))
        fail_msg("%.9g is not %.9g", found, wanted);
}

TEST(student_as_in_tables)
{
    static const struct {
        double confidence;
        unsigned degrees;
        double t;
    } cases[] = {
        {0.95, 1,   12.706},
        {0.95, 2,   4.303 },
        {0.95, 9,   2.262 },
        {0.95, 30,  2.042 },
        {0.95, 100, 1.984 },
        {0.90, 5,   2.015 },
        {0.99, 10,  3.169 },
    };

    for (unsigned i = 0; i < G_N_ELEMENTS(cases); i++)
        near(student_quantile(cases[i].confidence, cases[i].degrees), cases[i].t, 5e-4);
}

TEST(mean_and_interval)
{
    static const double values[] = {2, 4, 4, 4, 5, 5, 7, 9};
    Estimate found = estimate(values, G_N_ELEMENTS(values), 0.95);

    near(found.mean, 5, 1e-12);
    near(found.deviation, sqrt(32.0 / 7), 1e-12);
    near(found.half, 2.365 * sqrt(32.0 / 7 / 8), 1e-3);
    /* (-3)(-1) + (-1)(-1) + (-1)(-1) + 0 + 0 + 0 + 2 x 4 = 13, of 32 */
    near(found.correlation, 13.0 / 32, 1e-12);
    assert_true(isinf(estimate(values, 1, 0.95).half));
    assert_int_equal(estimate(values, 0, 0.95).n, 0);
}

TEST(pairs)
{
    static const double a[] = {10, 20, 30, 40}, b[] = {11, 22, 31, 42};
    PairedEstimate found = estimate_pairs(a, b, 4, 0.95);

    near(found.difference.mean, 1.5, 1e-12);
    near(found.difference.deviation, sqrt(1.0 / 3), 1e-12);
    /* Variances 500/3 and 521/3 (mean 26.5), and 1/3 of the difference. */
    near(found.gain, 1021, 1e-9);
    assert_int_equal((int)estimate_pairs(a, a, 4, 0.95).gain,
                     0); /* no variance left: no number for it */
}

/* The answer for n values is the same however many more there are, and asking again after each step
 * ends at one number. */
TEST(rule_looks_at_beginnings_only)
{
    double values[300];
    unsigned seed = 1;

    for (unsigned i = 0; i < G_N_ELEMENTS(values); i++) {
        seed = seed * 1103515245 + 12345;
        values[i] = 1 + (seed >> 16 & 1023) / 1024.0;
    }
    unsigned all_at_once = replications_wanted(values, 300, 5, 300, 0.05, 0.95);
    unsigned n = 0, wanted;
    while ((wanted = replications_wanted(values, n, 5, 300, 0.05, 0.95)) > n) {
        n++; /* one by one: what comes in between changes nothing */
    }
    assert_int_equal(n, all_at_once);
    assert_true(n > 5 && n < 300);
    assert_true(estimate(values, n, 0.95).half <= 0.05 * estimate(values, n, 0.95).mean);
    assert_int_equal(replications_wanted(values, 300, 5, 40, 1e-6, 0.95), 40);
    assert_int_equal(replications_wanted(values, 0, 5, 3, 0.1, 0.95), 3);
}
