/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "statistics.h"
#include "sim/order.h"

#include <stdlib.h>

void
sim_sample_init(SimSample *self)
{
    self->values = g_array_new(FALSE, FALSE, sizeof(SimTime));
    self->sorted = TRUE;
}

void
sim_sample_clear(SimSample *self)
{
    g_clear_pointer(&self->values, g_array_unref);
}

void
sim_sample_add(SimSample *self, SimTime value)
{
    g_array_append_val(self->values, value);
    self->sorted = FALSE;
}

unsigned
sim_sample_count(const SimSample *self)
{
    return self->values->len;
}

static const SimTime *
sample_values(const SimSample *self)
{
    return (const SimTime *)(const void *)self->values->data;
}

/* The least rank k of n with k / n >= q. Rounding the product up alone would be wrong: 0.07 * 100
 * is more than 7. */
static unsigned
nearest_rank(double q, unsigned n)
{
    unsigned rank = (unsigned)(q * n);

    while (rank > 1 && (rank - 1) / (double)n >= q)
        rank--;
    while (rank < n && (rank < 1 || rank / (double)n < q))
        rank++;
    return rank;
}

SimTime
sim_sample_quantile(SimSample *self, double q)
{
    unsigned n = sim_sample_count(self);

    g_assert(q >= 0 && q <= 1);
    if (n == 0)
        return 0;
    if (!self->sorted)
        qsort(self->values->data, n, sizeof(SimTime), times_compare);
    self->sorted = TRUE;
    return sample_values(self)[nearest_rank(q, n) - 1];
}

SimTime
sim_sample_mean(const SimSample *self)
{
    unsigned n = sim_sample_count(self);
    __int128 sum = 0;

    if (n == 0)
        return 0;
    for (unsigned i = 0; i < n; i++)
        sum += sample_values(self)[i];
    return (SimTime)(sum / n - (sum % n < 0));
}

SimTime
sim_sample_max(const SimSample *self)
{
    unsigned n = sim_sample_count(self);
    SimTime max = n > 0 ? sample_values(self)[0] : 0;

    for (unsigned i = 1; i < n; i++)
        max = MAX(max, sample_values(self)[i]);
    return max;
}

SimTime
sim_sample_min(const SimSample *self)
{
    unsigned n = sim_sample_count(self);
    SimTime min = n > 0 ? sample_values(self)[0] : 0;

    for (unsigned i = 1; i < n; i++)
        min = MIN(min, sample_values(self)[i]);
    return min;
}
