/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "token-bucket.h"

/* Credit is the number of tokens of Go's rate.Limiter, times the interval: a time in ns that grows
 * by 1 ns per ns, without fractions. A token costs one interval. */

static gboolean
is_unlimited(const SimTokenBucket *self)
{
    return self->interval == 0;
}

static SimTime
credit_at(const SimTokenBucket *self, SimTime now)
{
    g_assert(now >= self->updated);
    return MIN(self->burst, sim_time_add(self->credit, now - self->updated));
}

void
sim_token_bucket_init(SimTokenBucket *self, double qps, unsigned burst)
{
    *self = (SimTokenBucket){0};
    if (!(qps > 0))
        return;

    /* Rounded: 3 a second is one per 333,333,333 ns. Above 2e9 a second the interval is 0: no
     * limit. */
    double interval = 1e9 / qps + 0.5;
    self->interval = interval < 0x1p63 ? (SimTime)interval : SIM_TIME_MAX;
    if (__builtin_mul_overflow(self->interval, (SimTime)burst, &self->burst))
        self->burst = SIM_TIME_MAX;
    self->credit = self->burst;
}

SimTime
sim_token_bucket_reserve(SimTokenBucket *self, SimTime now)
{
    if (is_unlimited(self))
        return now;
    if (__builtin_sub_overflow(credit_at(self, now), self->interval, &self->credit))
        self->credit = -SIM_TIME_MAX;
    self->updated = now;
    return self->credit >= 0 ? now : sim_time_add(now, -self->credit);
}

double
sim_token_bucket_tokens(const SimTokenBucket *self, SimTime now)
{
    return is_unlimited(self) ? 0 : (double)credit_at(self, now) / (double)self->interval;
}
