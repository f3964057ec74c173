/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sim/random.h"
#include "sim/token-bucket.h"
#include "tests/lib/test.h"

typedef struct {
    const char *name;
    double qps;
    unsigned burst;
    unsigned n_each;
    SimTime at[4];        /* of the requests, in turns of @n_each */
    SimTime last_granted; /* when the last one is granted */
} BucketCase;

/* CGO-40: tokens = min(burst, tokens + elapsed x qps) - 1; granted when the debt is paid. */
/* clang-format off */
static const BucketCase bucket_cases[] = {
    {"30 at once at 5/10",               5,         10, 30,     {0, -1},                    4 * SIM_SECOND},
    {"the burst is free",                5,         10, 10,     {0, -1},                    0},
    {"the first beyond the burst",       5,         10, 11,     {0, -1},                    200 * SIM_MS},
    {"refills while nobody asks",        5,         10, 8,      {0, 1 * SIM_SECOND, -1},    SIM_SECOND + 200 * SIM_MS},
    {"never holds more than the burst",  5,         10, 11,     {0, 1000 * SIM_SECOND, -1}, 1000 * SIM_SECOND + 200 * SIM_MS},
    {"reservations are kept",            5,         10, 30,     {0, 1 * SIM_SECOND, -1},    10 * SIM_SECOND},
    {"20/30 of kube-controller-manager", 20,        30, 100,    {0, -1},                    3500 * SIM_MS},
    {"a third of a second, rounded",     3,         1,  4,      {0, -1},                    3 * INT64_C(333333333)},
    {"slower than one a second",         0.1,       1,  3,      {0, -1},                    20 * SIM_SECOND},
    {"one in 300 s",                     1.0 / 300, 25, 26,     {0, -1},                    300 * SIM_SECOND},
    {"no burst at all",                  5,         0,  1,      {0, -1},                    200 * SIM_MS},
    {"no limit",                         0,         10, 100000, {7, -1},                    7},
    {"less than no limit",               -1,        0,  100000, {7, -1},                    7},
    {"faster than the clock",            1e10,      1,  100000, {7, -1},                    7},
    {"so slow that it is never",         1e-300,    1,  4,      {5, -1},                    SIM_TIME_MAX},
};
/* clang-format on */

static void
grants(void **state)
{
    const BucketCase *row = *state;
    SimTokenBucket bucket;
    SimTime granted = -1;

    sim_token_bucket_init(&bucket, row->qps, row->burst);
    for (unsigned i = 0; row->at[i] >= 0; i++)
        for (unsigned k = 0; k < row->n_each; k++) {
            SimTime next = sim_token_bucket_reserve(&bucket, row->at[i]);
            assert_true(next >= granted && next >= row->at[i]); /* no overtaking */
            granted = next;
        }
    assert_int_equal(granted, row->last_granted);
}
TEST_ROWS(bucket_cases, grants);

/* Grants in any window are at most the burst and what the window refills. */
TEST(never_grants_more_than_burst_and_rate)
{
    enum { N = 400 };
    SimStream stream = sim_stream_from(1, 0, "bucket");
    SimTime granted[N];

    for (uint64_t seed = 0; seed < 50; seed++) {
        double qps = 0.5 + 50 * sim_random_uniform(stream, seed, 0);
        unsigned burst = 1 + (unsigned)sim_random_below(stream, seed, 1, 20);
        SimTime now = 0;
        SimTokenBucket bucket;

        sim_token_bucket_init(&bucket, qps, burst);
        for (unsigned i = 0; i < N; i++) {
            if (sim_random_below(stream, seed, 2 * i + 2, 4) == 0) /* several at the same instant */
                now += (SimTime)sim_random_below(stream, seed, 2 * i + 3, 2 * SIM_SECOND);
            granted[i] = sim_token_bucket_reserve(&bucket, now);
        }
        for (unsigned i = 0; i < N; i++)
            for (unsigned k = i; k < N; k++) {
                double refilled = (double)(granted[k] - granted[i]) / (double)bucket.interval;
                assert_true(k - i + 1 <= burst + refilled + 1e-9);
            }
    }
}
