/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/* Functions whose results decide a run: made of + - * / and sqrt only (correctly rounded
 * everywhere), so that every machine and compiler gives the same bits. Within 1e-12 (relative) of
 * the true value. Arguments outside the domain give what libm gives. Build with -ffp-contract=off.
 */
double pm_log(double x);
double pm_exp(double x);
double pm_pow(double x, double y);                     /* x >= 0 */
double pm_exponential_quantile(double mean, double p); /* 0 < p < 1 - 2^-1022 */
double pm_normal_quantile(double p);                   /* of the standard normal; 0 < p < 1 */
double pm_normal_cdf(double x);
double pm_gamma_quantile(double shape, double p); /* scale 1; 0 < p < 1 */
double pm_log_gamma(double x);                    /* x > 0 */
