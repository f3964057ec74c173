/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Logarithm, exponential, power, normal and gamma quantiles from additions, multiplications and
 * divisions alone, with tables and series whose sources stand beside them. IEEE arithmetic gives
 * the same bits everywhere; libm does not. Accuracy is a few ulps, and tests compare with GSL. */
#include "portable-math.h"

#include <float.h>
#include <stdint.h>
#include <string.h>

#define SQRT_2 1.41421356237309504880
#define SQRT_2PI 2.5066282746310005024
#define LOG_SQRT_2PI 0.91893853320467274178
#define EULER_COMPLEMENT 0.42278433509846713939 /* 1 - Euler's constant */
/* ln 2 in two parts: the first has few enough bits that any exponent times it is exact. */
#define LN2_HIGH 0x1.62e42feep-1
#define LN2_LOW 0x1.a39ef35793c76p-33
#define LN2 0.69314718055994530942
#define LN2_INVERSE 0x1.71547652b82fep+0

static uint64_t
bits_of(double x)
{
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

static double
from_bits(uint64_t bits)
{
    double x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

/* Sum of coefficients[i] x^i. */
static double
polynomial(const double *coefficients, int n, double x)
{
    double sum = coefficients[n - 1];
    for (int i = n - 2; i >= 0; i--)
        sum = sum * x + coefficients[i];
    return sum;
}

/* Places near which logarithms are known: all numbers of six binary digits after the first from
 * 91/128 to 91/64, that is, from sqrt(1/2) to sqrt(2), rounded. Made with 40 digits. */
static const struct {
    double inverse, log;
} log_places[] = {
  /* clang-format off */
    {0x1.6816816816817p+0, -0x1.5d5bddf595f30p-2}, {0x1.642c8590b2164p+0, -0x1.522ae0738a3d8p-2},
    {0x1.6058160581606p+0, -0x1.4718dc271c41bp-2}, {0x1.5c9882b931057p+0, -0x1.3c25277333184p-2},
    {0x1.58ed2308158edp+0, -0x1.314f1e1d35ce4p-2}, {0x1.5555555555555p+0, -0x1.269621134db92p-2},
    {0x1.51d07eae2f815p+0, -0x1.1bf99635a6b95p-2}, {0x1.4e5e0a72f0539p+0, -0x1.1178e8227e47cp-2},
    {0x1.4afd6a052bf5bp+0, -0x1.07138604d5862p-2}, {0x1.47ae147ae147bp+0, -0x1.f991c6cb3b379p-3},
    {0x1.446f86562d9fbp+0, -0x1.e530effe71012p-3}, {0x1.4141414141414p+0, -0x1.d1037f2655e7bp-3},
    {0x1.3e22cbce4a902p+0, -0x1.bd087383bd8adp-3}, {0x1.3b13b13b13b14p+0, -0x1.a93ed3c8ad9e3p-3},
    {0x1.3813813813814p+0, -0x1.95a5adcf7017fp-3}, {0x1.3521cfb2b78c1p+0, -0x1.823c16551a3c2p-3},
    {0x1.323e34a2b10bfp+0, -0x1.6f0128b756abcp-3}, {0x1.2f684bda12f68p+0, -0x1.5bf406b543db2p-3},
    {0x1.2c9fb4d812ca0p+0, -0x1.4913d8333b561p-3}, {0x1.29e4129e4129ep+0, -0x1.365fcb0159016p-3},
    {0x1.27350b8812735p+0, -0x1.23d712a49c202p-3}, {0x1.2492492492492p+0, -0x1.1178e8227e47cp-3},
    {0x1.21fb78121fb78p+0, -0x1.fe89139dbd566p-4}, {0x1.1f7047dc11f70p+0, -0x1.da727638446a2p-4},
    {0x1.1cf06ada2811dp+0, -0x1.b6ac88dad5b1cp-4}, {0x1.1a7b9611a7b96p+0, -0x1.9335e5d594989p-4},
    {0x1.1811811811812p+0, -0x1.700d30aeac0e1p-4}, {0x1.15b1e5f75270dp+0, -0x1.4d3115d207eacp-4},
    {0x1.135c81135c811p+0, -0x1.2aa04a44717a5p-4}, {0x1.1111111111111p+0, -0x1.08598b59e3a07p-4},
    {0x1.0ecf56be69c90p+0, -0x1.ccb73cdddb2ccp-5}, {0x1.0c9714fbcda3bp+0, -0x1.894aa149fb343p-5},
    {0x1.0a6810a6810a7p+0, -0x1.466aed42de3eap-5}, {0x1.0842108421084p+0, -0x1.0415d89e74444p-5},
    {0x1.0624dd2f1a9fcp+0, -0x1.8492528c8cabfp-6}, {0x1.0410410410410p+0, -0x1.0205658935847p-6},
    {0x1.0204081020408p+0, -0x1.010157588de71p-7}, {0x1.0000000000000p+0, 0x0.0p+0},
    {0x1.f81f81f81f820p-1, 0x1.fc0a8b0fc03e4p-7}, {0x1.f07c1f07c1f08p-1, 0x1.f829b0e783300p-6},
    {0x1.e9131abf0b767p-1, 0x1.77458f632dcfcp-5}, {0x1.e1e1e1e1e1e1ep-1, 0x1.f0a30c01162a6p-5},
    {0x1.dae6076b981dbp-1, 0x1.341d7961bd1d1p-4}, {0x1.d41d41d41d41dp-1, 0x1.6f0d28ae56b4cp-4},
    {0x1.cd85689039b0bp-1, 0x1.a926d3a4ad563p-4}, {0x1.c71c71c71c71cp-1, 0x1.e27076e2af2e6p-4},
    {0x1.c0e070381c0e0p-1, 0x1.0d77e7cd08e59p-3}, {0x1.bacf914c1bad0p-1, 0x1.29552f81ff523p-3},
    {0x1.b4e81b4e81b4fp-1, 0x1.44d2b6ccb7d1ep-3}, {0x1.af286bca1af28p-1, 0x1.5ff3070a793d4p-3},
    {0x1.a98ef606a63bep-1, 0x1.7ab890210d909p-3}, {0x1.a41a41a41a41ap-1, 0x1.9525a9cf456b4p-3},
    {0x1.9ec8e951033d9p-1, 0x1.af3c94e80bff3p-3}, {0x1.999999999999ap-1, 0x1.c8ff7c79a9a22p-3},
    {0x1.948b0fcd6e9e0p-1, 0x1.e27076e2af2e6p-3}, {0x1.8f9c18f9c18fap-1, 0x1.fb9186d5e3e2bp-3},
    {0x1.8acb90f6bf3aap-1, 0x1.0a324e27390e3p-2}, {0x1.8618618618618p-1, 0x1.1675cababa60ep-2},
    {0x1.8181818181818p-1, 0x1.22941fbcf7966p-2}, {0x1.7d05f417d05f4p-1, 0x1.2e8e2bae11d31p-2},
    {0x1.78a4c8178a4c8p-1, 0x1.3a64c556945eap-2}, {0x1.745d1745d1746p-1, 0x1.4618bc21c5ec2p-2},
    {0x1.702e05c0b8170p-1, 0x1.51aad872df82dp-2}, {0x1.6c16c16c16c17p-1, 0x1.5d1bdbf5809cap-2},
    {0x1.6816816816817p-1, 0x1.686c81e9b14afp-2},
  /* clang-format on */
};
#define LOG_PLACE_FIRST (91.0 / 128)
#define LOG_PLACE_SHIFT 46 /* 52 - 6 binary digits */

/* ln(1 + r) for |r| <= 1/90: Taylor's series, the first term left out is below 2^-61 of the sum.
 * Summed in pairs, so that the processor can work on several at once. */
static inline double
log1p_reduced(double r)
{
    double r2 = r * r;
    double low = 1.0 / 3 - r * (1.0 / 4);
    double high = (1.0 / 5 - r * (1.0 / 6)) + r2 * (1.0 / 7 - r * (1.0 / 8));
    return r - r2 * (0.5 - r * (low + r2 * high));
}

/* ln x for 2^-1022 <= x < 2^1024, times 2^@exponent */
static inline double
log_normal(double x, int64_t exponent)
{
    /* x = 2^exponent m, with m in [sqrt(1/2), sqrt(2)), next to the place c */
    uint64_t offset = bits_of(x) - bits_of(SQRT_2 / 2);
    uint64_t m = bits_of(x) - (offset & UINT64_C(0xfff) << 52);
    uint64_t place = (m + (UINT64_C(1) << (LOG_PLACE_SHIFT - 1))) >> LOG_PLACE_SHIFT;
    double c = from_bits(place << LOG_PLACE_SHIFT);
    place -= bits_of(LOG_PLACE_FIRST) >> LOG_PLACE_SHIFT;
    exponent += (int64_t)offset >> 52;

    /* m - c is exact, and c = 1 where m is near 1: so the result keeps its digits there. */
    double r = (from_bits(m) - c) * log_places[place].inverse;
    return ((double)exponent * LN2 + log_places[place].log) + log1p_reduced(r);
}

double
pm_log(double x)
{
    if (__builtin_expect(x >= DBL_MIN && x <= DBL_MAX, 1))
        return log_normal(x, 0);
    if (x > 0 && x < DBL_MIN)
        return log_normal(x * 0x1p54, -54);
    if (x == 0)
        return -__builtin_inf();
    return x < 0 ? __builtin_nan("") : x;
}

double
pm_exponential_quantile(double mean, double p)
{
    return -mean * log_normal(1 - p, 0);
}

/* ln(1 + x) of numbers near 0 keeps its digits, too. x > -1 */
static double
log1p_near_zero(double x)
{
    return x > -1.0 / 128 && x < 1.0 / 128 ? log1p_reduced(x) : pm_log(1.0 + x);
}

/* 2 (atanh(s) - s) / s as a series of q = s^2. |s| <= 0.172: the first term left out is below 2^-60
 */
static double
atanh_tail(double q)
{
    double sum = 0;
    for (int i = 21; i > 1; i -= 2)
        sum = q * (2.0 / i + sum);
    return sum;
}

/* 2^(i / 32), rounded. */
static const double powers_of_two[] = {
    /* clang-format off */
    0x1.0000000000000p+0, 0x1.059b0d3158574p+0, 0x1.0b5586cf9890fp+0, 0x1.11301d0125b51p+0,
    0x1.172b83c7d517bp+0, 0x1.1d4873168b9aap+0, 0x1.2387a6e756238p+0, 0x1.29e9df51fdee1p+0,
    0x1.306fe0a31b715p+0, 0x1.371a7373aa9cbp+0, 0x1.3dea64c123422p+0, 0x1.44e086061892dp+0,
    0x1.4bfdad5362a27p+0, 0x1.5342b569d4f82p+0, 0x1.5ab07dd485429p+0, 0x1.6247eb03a5585p+0,
    0x1.6a09e667f3bcdp+0, 0x1.71f75e8ec5f74p+0, 0x1.7a11473eb0187p+0, 0x1.82589994cce13p+0,
    0x1.8ace5422aa0dbp+0, 0x1.93737b0cdc5e5p+0, 0x1.9c49182a3f090p+0, 0x1.a5503b23e255dp+0,
    0x1.ae89f995ad3adp+0, 0x1.b7f76f2fb5e47p+0, 0x1.c199bdd85529cp+0, 0x1.cb720dcef9069p+0,
    0x1.d5818dcfba487p+0, 0x1.dfc97337b9b5fp+0, 0x1.ea4afa2a490dap+0, 0x1.f50765b6e4540p+0,
    /* clang-format on */
};
#define N_POWERS 32

/* e^r - 1 for |r| <= ln(2) / 64: Taylor's series, the first term left out is below 2^-57 of e^r. */
static inline double
expm1_reduced(double r)
{
    double r2 = r * r;
    return r + r2 * ((1.0 / 2 + r * (1.0 / 6)) +
                     r2 * ((1.0 / 24 + r * (1.0 / 120)) + r2 * (1.0 / 720)));
}

static double
power_of_two(int64_t exponent) /* -1022 … 1023 */
{
    return from_bits((uint64_t)(exponent + 1023) << 52);
}

double
pm_exp(double x)
{
    if (__builtin_expect(!(x < 709.79 && x > -745.14), 0)) {
        if (x != x)
            return x;
        return x > 0 ? __builtin_inf() : 0.0;
    }

    /* x = n ln(2) / 32 + r, n = 32 exponent + place */
    int64_t n = (int64_t)(x * (N_POWERS * LN2_INVERSE) + (x < 0 ? -0.5 : 0.5));
    double r = (x - (double)n * (LN2_HIGH / N_POWERS)) - (double)n * (LN2_LOW / N_POWERS);
    int64_t exponent = n >> 5; /* rounded down */
    double power = powers_of_two[n & (N_POWERS - 1)];
    double value = power + power * expm1_reduced(r);
    if (__builtin_expect(x < 700 && x > -700, 1))
        return value * power_of_two(exponent);
    int64_t half =
        exponent / 2; /* in two steps: the result may be subnormal, 2^1024 is no number */
    return value * power_of_two(half) * power_of_two(exponent - half);
}

double
pm_pow(double x, double y)
{
    if (y == 0 || x == 1)
        return 1.0;
    return pm_exp(y * pm_log(x));
}

/* P. J. Wichura, Algorithm AS 241 (PPND16), Applied Statistics 37 (1988): relative accuracy about
 * 1e-16. */
static const double quantile_centre_above[] = {
    3.3871328727963666080e0, 1.3314166789178437745e2, 1.9715909503065514427e3,
    1.3731693765509461125e4, 4.5921953931549871457e4, 6.7265770927008700853e4,
    3.3430575583588128105e4, 2.5090809287301226727e3,
};
static const double quantile_centre_below[] = {
    1.0,
    4.2313330701600911252e1,
    6.8718700749205790830e2,
    5.3941960214247511077e3,
    2.1213794301586595867e4,
    3.9307895800092710610e4,
    2.8729085735721942674e4,
    5.2264952788528545610e3,
};
static const double quantile_tail_above[] = {
    1.42343711074968357734e0,  4.63033784615654529590e0,  5.76949722146069140550e0,
    3.64784832476320460504e0,  1.27045825245236838258e0,  2.41780725177450611770e-1,
    2.27238449892691845833e-2, 7.74545014278341407640e-4,
};
static const double quantile_tail_below[] = {
    1.0,
    2.05319162663775882187e0,
    1.67638483018380384940e0,
    6.89767334985100004550e-1,
    1.48103976427480074590e-1,
    1.51986665636164571966e-2,
    5.47593808499534494600e-4,
    1.05075007164441684324e-9,
};
static const double quantile_far_above[] = {
    6.65790464350110377720e0,  5.46378491116411436990e0,  1.78482653991729133580e0,
    2.96560571828504891230e-1, 2.65321895265761230930e-2, 1.24266094738807843860e-3,
    2.71155556874348757815e-5, 2.01033439929228813265e-7,
};
static const double quantile_far_below[] = {
    1.0,
    5.99832206555887937690e-1,
    1.36929880922735805310e-1,
    1.48753612908506148525e-2,
    7.86869131145613259100e-4,
    1.84631831751005468180e-5,
    1.42151175831644588870e-7,
    2.04426310338993978564e-15,
};

double
pm_normal_quantile(double p)
{
    double from_centre = p - 0.5;

    if (from_centre >= -0.425 && from_centre <= 0.425) {
        double r = 0.180625 - from_centre * from_centre;
        return from_centre * polynomial(quantile_centre_above, 8, r) /
               polynomial(quantile_centre_below, 8, r);
    }
    if (!(p > 0 && p < 1)) {
        if (p == 0 || p == 1)
            return p == 0 ? -__builtin_inf() : __builtin_inf();
        return __builtin_nan("");
    }

    double r = __builtin_sqrt(-pm_log(from_centre < 0 ? p : 1.0 - p));
    double distance = r <= 5.0 ? polynomial(quantile_tail_above, 8, r - 1.6) /
                                     polynomial(quantile_tail_below, 8, r - 1.6)
                               : polynomial(quantile_far_above, 8, r - 5.0) /
                                     polynomial(quantile_far_below, 8, r - 5.0);
    return from_centre < 0 ? -distance : distance;
}

static double
normal_density(double x)
{
    /* The square's rounding error would grow with it: so split off the part of x whose square is
     * exact. */
    double high = (double)(int64_t)(x * 16.0) / 16.0;
    double low = x - high;
    return pm_exp(-high * high / 2) * pm_exp(-low * (x + high) / 2) / SQRT_2PI;
}

/* Beyond 2 by Laplace's continued fraction, below by the series around 0 (Abramowitz and
 * Stegun 26.2.11, 26.2.14). */
double
pm_normal_cdf(double x)
{
    if (!(x >= -40 && x <= 40)) {
        if (x != x)
            return x;
        return x > 0 ? 1.0 : 0.0;
    }

    double distance = x < 0 ? -x : x;
    double density = normal_density(distance);
    if (distance < 2) {
        double term = distance, sum = distance;
        for (int i = 3; term > sum * 1e-18; i += 2) {
            term *= distance * distance / i;
            sum += term;
        }
        return x < 0 ? 0.5 - density * sum : 0.5 + density * sum;
    }
    double fraction = distance;
    for (int i = 12 + (int)(400 / (distance * distance)); i > 0; i--)
        fraction = distance + i / fraction;
    return x < 0 ? density / fraction : 1.0 - density / fraction;
}

/* (-1)^k (zeta(k) - 1) / k, for k = 2, 3, … */
static const double log_gamma_series[] = {
    0.32246703342411321824,    -0.067352301053198095133,   0.020580808427784547879,
    -0.0073855510286739852663, 0.0028905103307415232858,   -0.0011927539117032609771,
    0.00050966952474304242234, -0.00022315475845357937976, 9.9457512781808533715e-5,
    -4.49262367381331417e-5,   2.0507212775670691553e-5,   -9.439488275268395904e-6,
    4.3748667899074878042e-6,  -2.0392157538013662368e-6,  9.5514121304074198329e-7,
    -4.4924691987645660433e-7, 2.1207184805554665869e-7,   -1.0043224823968099609e-7,
    4.7698101693639805658e-8,  -2.271109460894316491e-8,   1.0838659214896954091e-8,
    -5.1834750419700466551e-9, 2.4836745438024783172e-9,   -1.1921401405860912074e-9,
    5.7313672416788620133e-10, -2.7595228851242331452e-10,
};

/* ln Gamma(2 + z), |z| <= 1/2, with a small relative error: it is 0 at z = 0 (Abramowitz and
 * Stegun 6.1.33). */
static double
log_gamma_near_two(double z)
{
    int n = sizeof log_gamma_series / sizeof *log_gamma_series;
    return z * (EULER_COMPLEMENT + z * polynomial(log_gamma_series, n, z));
}

/* The error of Stirling's formula: ln Gamma(x + 1) - ln(sqrt(2 pi x) (x / e)^x). x >= 10 */
static double
stirling_rest(double x)
{
    static const double coefficients[] = {
        1.0 / 12,   -1.0 / 360,      1.0 / 1260, -1.0 / 1680,
        1.0 / 1188, -691.0 / 360360, 1.0 / 156,  -3617.0 / 122400,
    };
    return polynomial(coefficients, 8, 1 / (x * x)) / x;
}

double
pm_log_gamma(double x)
{
    if (!(x > 0 && x <= DBL_MAX))
        return x == 0 || x > 0 ? __builtin_inf() : __builtin_nan("");
    if (x >= 10)
        return (x - 0.5) * (pm_log(x) - 1.0) + (LOG_SQRT_2PI - 0.5 + stirling_rest(x));
    if (x < 0.5) /* Gamma(x) = Gamma(x + 1) / x, twice */
        return log_gamma_near_two(x) - (x < 0x1p-60 ? 0 : log1p_near_zero(x)) - pm_log(x);
    if (x < 1.5)
        return log_gamma_near_two(x - 1) - log1p_near_zero(x - 1);

    double product = 1.0;
    while (x >= 2.5)
        product *= x -= 1.0;
    return log_gamma_near_two(x - 2) + pm_log(product);
}

/* x - ln(1 + x) without the cancellation near 0; x > -1 */
static double
log1p_shortfall(double x)
{
    double s = x / (2.0 + x);
    if (s > -0.17 && s < 0.17)
        return s * (x - atanh_tail(s * s));
    return x - pm_log(1.0 + x);
}

/* x^shape e^-x / Gamma(shape + 1); for large shapes from the distance to the mode, as the powers
 * themselves are huge (C. Loader, Fast and Accurate Computation of Binomial Probabilities, 2000).
 */
static double
gamma_term(double shape, double x)
{
    if (shape < 10)
        return pm_exp(shape * pm_log(x) - x - pm_log_gamma(shape + 1));
    return pm_exp(-shape * log1p_shortfall((x - shape) / shape) - stirling_rest(shape)) /
           (SQRT_2PI * __builtin_sqrt(shape));
}

/* The lower tail over gamma_term(): a series (Abramowitz and Stegun 6.5.29). Meant for x < shape
 * + 1. */
static double
gamma_lower_series(double shape, double x)
{
    double term = 1.0, sum = 1.0;

    for (double n = shape + 1; term > sum * 1e-17; n += 1.0) {
        term *= x / n;
        sum += term;
    }
    return sum;
}

/* The upper tail over gamma_term(): a continued fraction (6.5.31), by Lentz's method. Meant for x
 * >= shape + 1. */
static double
gamma_upper_fraction(double shape, double x)
{
    double b = x + 1 - shape;
    double c = 1e300, d = 1 / b, product = d;

    for (int i = 1; i < 100000; i++) {
        double a = -i * (i - shape);
        b += 2;
        d = 1 / (a * d + b);
        c = b + a / c;
        product *= c * d;
        if (c * d - 1 < 1e-16 && c * d - 1 > -1e-16)
            break;
    }
    return shape * product;
}

static double
gamma_tail(double shape, double x, double term, int upper)
{
    if (x >= shape + 1) {
        double above = term * gamma_upper_fraction(shape, x);
        return upper ? above : 1 - above;
    }
    double below = term * gamma_lower_series(shape, x);
    return upper ? 1 - below : below;
}

/* ln of a first guess: Wilson and Hilferty's cube, or, where that fails, the first term of the
 * series. */
static double
gamma_quantile_guess(double shape, double p)
{
    double root = 1 - 1 / (9 * shape) + pm_normal_quantile(p) / (3 * __builtin_sqrt(shape));

    if (shape > 0.5 && root > 0.3)
        return pm_log(shape * root * root * root);
    return (pm_log(p) + pm_log_gamma(shape + 1)) / shape;
}

double
pm_gamma_quantile(double shape, double p)
{
    if (!(shape > 0 && shape <= DBL_MAX && p >= 0 && p <= 1))
        return __builtin_nan("");
    if (p == 0 || p == 1)
        return p == 0 ? 0.0 : __builtin_inf();

    /* Newton's method on the logarithm of the smaller tail as a function of y = ln x. Both are
     * concave, so it closes in on the root from one side, after one step at most beyond it. */
    double y = gamma_quantile_guess(shape, p);
    int upper = p >= 0.5;
    if (y < -40) /* the other terms vanish */
        return pm_exp(y);
    for (int i = 0; i < 200; i++) {
        double x = pm_exp(y);
        double term = gamma_term(shape, x);
        double tail = gamma_tail(shape, x, term, upper);
        double slope = shape * term / tail;
        double step = pm_log(tail / (upper ? 1 - p : p)) / (upper ? slope : -slope);
        step = step > 2 ? 2 : step < -2 ? -2 : step;
        y += step;
        if (step < 1e-9 && step > -1e-9)
            break;
    }
    return pm_exp(y);
}
