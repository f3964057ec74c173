/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "run/files/columns.h"

/* Means and their precision. */

typedef struct {
    unsigned n; /* number of values */
    double mean;
    double deviation; /* the sample's standard deviation; 0 with one value */
    double half; /* of the confidence interval: mean ± half; infinite with fewer than two values */
    double correlation; /* of neighbours (lag 1): near 1, batches are too short; 0 with fewer than
                           three */
} Estimate;

/* The number t with P(|T| <= t) = @confidence for Student's distribution. The same on every
 * machine: six decimals. */
double student_quantile(double confidence, unsigned degrees_of_freedom);
Estimate estimate(const double *values, unsigned n, double confidence);

/* "12.5 s ±0.3": the mean has four digits, since intervals are mostly wider than the rest; "-": no
 * value. (owned) */
char *estimate_text(const Estimate *found, const char *unit);
/* A cell of a table for people, with blanks behind it up to @width. */
void append_padded(GString *text, const char *cell, unsigned width);

/* A cell of CSV with nine digits; empty if there is no such number. */
extern const ColumnType column_maybe_number;
void cell_maybe_number(GString *text, double value);
/* Both append cells to a line of CSV, each after a comma, with twelve digits, empty if there is no
 * such number. */
void csv_append_number(GString *line, double value); /* NaN: no number */
/* The mean and the bounds of its confidence interval. */
void csv_append_estimate(GString *line, const Estimate *found);

/* Two designs with common random numbers: @a[i] and @b[i] are of one replication. */
typedef struct {
    Estimate difference; /* of b - a */
    double gain; /* variance with independent samples / variance of the difference; 0: unknown */
} PairedEstimate;
PairedEstimate estimate_pairs(const double *a, const double *b, unsigned n, double confidence);

/**
 * replications_wanted:
 * Sequential sampling: how many of @values are needed until half the interval is at most
 * @relative_width of the mean. Looks at the first @minimum values, and then at as many as the width
 * seen promises to be enough, at most twice as many; so the answer depends on the values alone, not
 * on who computed them when.
 * @n: how many there are
 * Returns: at most @maximum; more than @n: compute those first, then ask again
 */
unsigned replications_wanted(const double *values,
                             unsigned n,
                             unsigned minimum,
                             unsigned maximum,
                             double relative_width,
                             double confidence);
