/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "run/study/sweep-statistics.h"
#include "sim/portable-math.h"
#include "sim/random.h"

/* Do 95 % confidence intervals hold the true mean 95 % of the time? Small studies of a queue whose
 * mean wait is known: M/M/1 with load 1/2, started as it is in the long run (no wait with
 * probability 1/2, else exponential), so that every customer waits rho / (mu - lambda) on average.
 * Once with replications, once with the batches of one long run, once with a rule to stop. */

#define STUDIES 1000
#define LAMBDA 0.5
#define MU 1.0
#define MEAN_WAIT (LAMBDA / MU / (MU - LAMBDA))

static double
coverage_draw(uint64_t seed, uint32_t replication, const char *name, uint64_t n, double rate)
{
    return -pm_log(sim_random_uniform(sim_stream_from(seed, replication, name), 0, n)) / rate;
}

/* The mean wait of @n_customers in each of @n_batches, one after the other in one run (Lindley's
 * recursion). */
static void
run_queue(
    uint64_t seed, uint32_t replication, unsigned n_batches, unsigned n_customers, double *means)
{
    SimStream start = sim_stream_from(seed, replication, "coverage/start");
    double wait = sim_random_uniform(start, 0, 0) < 1 - LAMBDA / MU
                      ? 0
                      : -pm_log(sim_random_uniform(start, 0, 1)) / (MU - LAMBDA);

    for (unsigned batch = 0; batch < n_batches; batch++) {
        double sum = 0;
        for (unsigned i = 0; i < n_customers; i++) {
            uint64_t n = (uint64_t)batch * n_customers + i;
            sum += wait;
            wait = MAX(wait + coverage_draw(seed, replication, "coverage/service", n, MU) -
                           coverage_draw(seed, replication, "coverage/arrival", n, LAMBDA),
                       0);
        }
        means[batch] = sum / n_customers;
    }
}

static gboolean
coverage_holds(const Estimate *found)
{
    return fabs(found->mean - MEAN_WAIT) <= found->half;
}

static gboolean
by_replications(uint64_t seed)
{
    double means[10];

    for (uint32_t i = 0; i < G_N_ELEMENTS(means); i++)
        run_queue(seed, i, 1, 1000, &means[i]);
    Estimate found = estimate(means, G_N_ELEMENTS(means), 0.95);
    return coverage_holds(&found);
}

static gboolean
by_batches(uint64_t seed)
{
    double means[20];

    run_queue(seed, 0, G_N_ELEMENTS(means), 1000, means);
    Estimate found = estimate(means, G_N_ELEMENTS(means), 0.95);
    return coverage_holds(&found);
}

static gboolean
by_rule(uint64_t seed)
{
    double means[400];
    unsigned n = 0, wanted = 0;

    do {
        for (wanted = replications_wanted(means, n, 20, 400, 0.05, 0.95); n < wanted; n++)
            run_queue(seed, n, 1, 1000, &means[n]);
    } while (replications_wanted(means, n, 20, 400, 0.05, 0.95) > n);
    Estimate found = estimate(means, n, 0.95);
    return coverage_holds(&found);
}

static const struct {
    const char *name;
    gboolean (*study)(uint64_t seed);
} studies[] = {
    {"replications",   by_replications},
    {"batch means",    by_batches     },
    {"a rule to stop", by_rule        },
};

int
main(void)
{
    unsigned n_passed = 0;

    for (unsigned i = 0; i < G_N_ELEMENTS(studies); i++) {
        unsigned n_holding = 0;
        for (uint64_t seed = 1; seed <= STUDIES; seed++)
            n_holding += studies[i].study(seed);
        gboolean ok = n_holding >= 0.93 * STUDIES && n_holding <= 0.97 * STUDIES;
        printf("# %s: %u of %u intervals hold the mean%s\n", studies[i].name, n_holding, STUDIES,
               ok ? "" : ", not 93 to 97 %");
        n_passed += ok;
    }
    printf("%u passed, %zu failed, 0 skipped\n", n_passed, G_N_ELEMENTS(studies) - n_passed);
    return n_passed == G_N_ELEMENTS(studies) ? EXIT_SUCCESS : EXIT_FAILURE;
}
