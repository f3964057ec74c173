/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sim/statistics.h"
#include "tests/lib/test.h"

typedef struct {
    const char *name;
    unsigned n; /* the values n … 1 */
    double q;
    SimTime quantile;
} QuantileCase;

/* Nearest rank: the least value such that a share q of all values is not larger. */
static const QuantileCase quantile_cases[] = {
    {"nothing",                       0,   0.5,       0  },
    {"one",                           1,   0.5,       1  },
    {"one, q = 0",                    1,   0,         1  },
    {"one, q = 1",                    1,   1,         1  },
    {"median of two is the lower",    2,   0.5,       1  },
    {"median of three",               3,   0.5,       2  },
    {"p99 of 100",                    100, 0.99,      99 },
    {"p99 of 99",                     99,  0.99,      99 },
    {"p99 of 101",                    101, 0.99,      100},
    {"0.07 of 100 is not rounded up", 100, 0.07,      7  },
    {"0.29 of 100 is not rounded up", 100, 0.29,      29 },
    {"0.57 of 100 is not rounded up", 100, 0.57,      57 },
    {"a little more than 0.07 is",    100, 0.0700001, 8  },
    {"q = 0",                         100, 0,         1  },
    {"q = 1",                         100, 1,         100},
    {"a tiny q",                      100, 1e-12,     1  },
};

static void
quantiles(void **state)
{
    const QuantileCase *row = *state;
    SimSample sample;

    sim_sample_init(&sample);
    for (unsigned i = row->n; i > 0; i--)
        sim_sample_add(&sample, i);
    assert_int_equal(sim_sample_count(&sample), row->n);
    assert_int_equal(sim_sample_quantile(&sample, row->q), row->quantile);
    assert_int_equal(sim_sample_max(&sample), row->n);
    assert_int_equal(sim_sample_min(&sample), row->n > 0);
    assert_int_equal(sim_sample_mean(&sample), (row->n + 1) / 2 * (row->n > 0));
    sim_sample_clear(&sample);
}
TEST_ROWS(quantile_cases, quantiles);

TEST(a_sample_may_go_on)
{
    SimSample sample;

    sim_sample_init(&sample);
    sim_sample_add(&sample, 10);
    assert_int_equal(sim_sample_quantile(&sample, 1), 10);
    sim_sample_add(&sample, 5);
    assert_int_equal(sim_sample_quantile(&sample, 0), 5);
    sim_sample_add(&sample, -20);
    assert_int_equal(sim_sample_quantile(&sample, 0), -20);
    assert_int_equal(sim_sample_mean(&sample), -2); /* -5/3, rounded down */
    sim_sample_clear(&sample);
}

TEST(means_do_not_overflow)
{
    SimSample sample;

    sim_sample_init(&sample);
    for (unsigned i = 0; i < 4; i++)
        sim_sample_add(&sample, SIM_TIME_MAX);
    assert_int_equal(sim_sample_mean(&sample), SIM_TIME_MAX);
    sim_sample_clear(&sample);
}
