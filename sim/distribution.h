/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "random.h"

/* A distribution of durations. A draw is the inverse of its distribution function at one uniform
 * number. Immutable, and shared between threads. The table of kinds is in distribution.c: constant
 * (value), uniform (min and max), exponential (mean), normal (mean and stddev or cv), lognormal
 * (p50 and p99; mean and cv; mu and sigma, of ln(seconds); median and sigma), gamma (shape and
 * scale or mean; mean and cv), weibull (shape and scale), pareto (min and shape), empirical
 * (quantiles: straight lines between them, level beyond), mixture (parts). Each takes shift, which
 * is added, then min (default 0; may be negative) and max. Values beyond a bound are moved to the
 * bound; a normal distribution is cut there instead. */
typedef struct SimDist SimDist;

/* An argument as the file gave it: a number, a duration, or a list. */
typedef struct SimDistArg SimDistArg;
struct SimDistArg {
    const char *name; /* "p50", "mean", "shape"; borrowed. NULL: by its place (uniform's min, then
                         max), and in lists */
    gboolean is_time; /* TRUE: @time is valid; FALSE: @number */
    SimTime time;
    double number;
    const SimDistArg
        *items; /* the list: pairs (probability, duration) of an empirical in order, each a list of
                   two, one item with @number and @time, or two items; else NULL */
    unsigned n_items;
    const SimDist *dist; /* of a part of a mixture, whose weight is @number; borrowed, the mixture
                            takes a reference */
};

/**
 * sim_dist_new:
 * @kind: a row of the table, e.g. "lognormal"
 * @args: borrowed for the call
 * Returns: (owned): %NULL with %SIM_ERROR_INVALID, which names the argument that is missing,
 * unknown, of the wrong type or impossible
 */
SimDist *sim_dist_new(const char *kind, const SimDistArg *args, unsigned n_args, GError **error);
SimDist *sim_dist_new_constant(SimTime value);
/**
 * sim_dist_tabulate:
 * For distributions that are drawn from very often: 512 quantiles with straight lines between them,
 * where the lines are off by no more than a thousandth or 1 us; elsewhere, as in the tails, the
 * distribution itself. Costs about as much as 2,000 draws. Returns: (owned): a distribution with
 * the mean of @self; it keeps a reference to @self
 */
SimDist *sim_dist_tabulate(SimDist *self);
SimDist *sim_dist_ref(SimDist *self);
void sim_dist_unref(SimDist *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(SimDist, sim_dist_unref)

/* The @u quantile in ns, rounded to the nearest; 0 < u < 1. Grows with u, except for mixtures. */
SimTime sim_dist_quantile(const SimDist *self, double u);
/* sim_dist_quantile() at the uniform number of this key. */
SimTime sim_dist_draw(const SimDist *self, SimStream stream, uint64_t entity, uint64_t n);

/* Comma-separated names of all kinds, for messages; static. */
const char *sim_dist_kinds(void);
/* Comma-separated argument names of @kind, for messages and the schema; NULL if unknown. */
const char *sim_dist_kind_args(const char *kind);
