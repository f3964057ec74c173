/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Quantities: resource.Quantity of Kubernetes' apimachinery, ParseQuantity() and
 * CanonicalizeBytes(). A value is held in units of 10^-9 in 128 bits; digits that cannot change the
 * result are dropped while reading. Values are rounded away from zero (API-163) and end at int64.
 * The format (binary, decimal, exponent) of the text decides how it is printed. */
#include <string.h>

#include "field.h"

typedef unsigned __int128 wide_uint;

typedef enum {
    QUANTITY_DECIMAL,  /* 500m, 1G */
    QUANTITY_EXPONENT, /* 1e3 */
    QUANTITY_BINARY,   /* 1Gi */
} QuantityFormat;

typedef struct {
    gboolean negative;
    wide_uint nanos; /* at most NANOS_MAX */
    QuantityFormat format;
} Quantity;

#define NANOS_PER_UNIT 1000000000u
#define NANOS_PER_MILLI 1000000u
#define NANOS_MAX ((wide_uint)INT64_MAX * NANOS_PER_UNIT)

typedef struct {
    char text[4];
    unsigned exponent2;
    int exponent10;
} QuantitySuffix;

static const QuantitySuffix suffixes[] = {
    {"",   0,  0 },
    {"n",  0,  -9},
    {"u",  0,  -6},
    {"m",  0,  -3},
    {"k",  0,  3 },
    {"M",  0,  6 },
    {"G",  0,  9 },
    {"T",  0,  12},
    {"P",  0,  15},
    {"E",  0,  18},
    {"Ki", 10, 0 },
    {"Mi", 20, 0 },
    {"Gi", 30, 0 },
    {"Ti", 40, 0 },
    {"Pi", 50, 0 },
    {"Ei", 60, 0 },
};

/* The number before the suffix: digits * 10^-n_fraction, and a little more if inexact. */
typedef struct {
    wide_uint digits;
    unsigned n_digits; /* without leading zeros */
    int exponent10;
    gboolean inexact;
} Mantissa;

/* Digits beyond these cannot change a result: a mantissa of 27 and a power of ten of up to 27
 * digits would not fit NANOS_MAX; a mantissa of 19 times 2^60 still fits 128 bits. */
#define DECIMAL_DIGITS_MAX 27
#define BINARY_DIGITS_MAX 19

static void
mantissa_add_digit(Mantissa *self, char digit, gboolean is_fraction, unsigned digits_max)
{
    if (self->n_digits >= digits_max) {
        self->inexact |= digit != '0';
        self->exponent10 += is_fraction ? 0 : 1;
        return;
    }
    self->digits = self->digits * 10 + (unsigned)(digit - '0');
    self->n_digits += self->digits != 0;
    self->exponent10 -= is_fraction ? 1 : 0;
}

static wide_uint
saturating_multiply(wide_uint value, wide_uint factor)
{
    wide_uint product;
    return __builtin_mul_overflow(value, factor, &product) ? ~(wide_uint)0 : product;
}

/* Rounded up, so that a small request is not 0. */
static wide_uint
scale10(wide_uint value, int exponent, gboolean inexact)
{
    for (; exponent > 0 && value != 0 && value <= NANOS_MAX; exponent--)
        value = saturating_multiply(value, 10);
    for (; exponent < 0 && value != 0; exponent++) {
        inexact |= value % 10 != 0;
        value /= 10;
    }
    return inexact ? value + 1 : value;
}

static gboolean
quantity_format_error(GError **error)
{
    g_set_error_literal(error, SIM_ERROR, SIM_ERROR_INVALID,
                        "quantities must match the regular expression "
                        "'^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'");
    return FALSE;
}

static gboolean
quantity_suffix_error(GError **error)
{
    g_set_error_literal(error, SIM_ERROR, SIM_ERROR_INVALID, "unable to parse quantity's suffix");
    return FALSE;
}

/* "e3", "E-2": Returns: whether it is an exponent */
static gboolean
exponent_parse(const char *text, int *exponent)
{
    gboolean negative = text[1] == '-';
    const char *digit = text + 1 + (text[1] == '-' || text[1] == '+');

    if ((text[0] != 'e' && text[0] != 'E') || *digit == '\0')
        return FALSE;
    *exponent = 0;
    for (; g_ascii_isdigit(*digit); digit++)
        *exponent = MIN(*exponent * 10 + (*digit - '0'), 10000); /* far beyond every limit */
    if (negative)
        *exponent = -*exponent;
    return *digit == '\0';
}

static const QuantitySuffix *
suffix_find(const char *text)
{
    for (unsigned i = 0; i < G_N_ELEMENTS(suffixes); i++)
        if (strcmp(suffixes[i].text, text) == 0)
            return &suffixes[i];
    return NULL;
}

/* Whether @text has the form of a suffix, known or not. */
static gboolean
suffix_is_well_formed(const char *text)
{
    text += strspn(text, "eEinumkKMGTP");
    text += *text == '-' || *text == '+';
    return text[strspn(text, "0123456789")] == '\0';
}

static gboolean
quantity_read(const char *text, Quantity *quantity, GError **error)
{
    const char *number = text + (*text == '-' || *text == '+');
    size_t n_whole = strspn(number, "0123456789");
    const char *fraction = number + n_whole + (number[n_whole] == '.');
    size_t n_fraction = number[n_whole] == '.' ? strspn(fraction, "0123456789") : 0;
    const char *rest = fraction + n_fraction;
    Mantissa mantissa = {0};
    int exponent = 0;

    if (rest == number || !suffix_is_well_formed(rest))
        return quantity_format_error(error);
    const QuantitySuffix *suffix = suffix_find(rest);
    if (suffix == NULL && !exponent_parse(rest, &exponent))
        return quantity_suffix_error(error);
    if (n_whole + n_fraction == 0) { /* "." and ".Gi" */
        g_set_error_literal(error, SIM_ERROR, SIM_ERROR_INVALID,
                            "unable to parse numeric part of quantity");
        return FALSE;
    }

    gboolean binary = suffix != NULL && suffix->exponent2 > 0;
    unsigned digits_max = binary ? BINARY_DIGITS_MAX : DECIMAL_DIGITS_MAX;
    for (size_t i = 0; i < n_whole; i++)
        mantissa_add_digit(&mantissa, number[i], FALSE, digits_max);
    for (size_t i = 0; i < n_fraction; i++)
        mantissa_add_digit(&mantissa, fraction[i], TRUE, digits_max);

    if (suffix != NULL)
        exponent = suffix->exponent10;
    wide_uint value = mantissa.digits << (binary ? suffix->exponent2 : 0);
    value = scale10(value, mantissa.exponent10 + exponent + 9, mantissa.inexact);
    quantity->negative = *text == '-' && value != 0;
    quantity->nanos = MIN(value, NANOS_MAX);
    quantity->format = binary           ? QUANTITY_BINARY
                       : suffix == NULL ? QUANTITY_EXPONENT
                                        : QUANTITY_DECIMAL;
    return TRUE;
}

/* Rounded away from zero (API-163). */
static int64_t
quantity_in(const Quantity *self, unsigned nanos_per_unit)
{
    wide_uint units = (self->nanos + nanos_per_unit - 1) / nanos_per_unit;
    int64_t value = units > (wide_uint)INT64_MAX ? INT64_MAX : (int64_t)units;

    return self->negative ? -value : value;
}

gboolean
quantity_parse(const char *text, int64_t *value, int64_t *milli, GError **error)
{
    Quantity quantity;

    if (!quantity_read(text, &quantity, error))
        return FALSE;
    *value = quantity_in(&quantity, NANOS_PER_UNIT);
    if (milli != NULL)
        *milli = quantity_in(&quantity, NANOS_PER_MILLI);
    return TRUE;
}

/* Writes the digits of @value before @end. Returns: their start */
static char *
write_digits(char *end, wide_uint value)
{
    do
        *--end = (char)('0' + (unsigned)(value % 10));
    while ((value /= 10) != 0);
    return end;
}

static const char *
decimal_suffix(int exponent)
{
    for (unsigned i = 0; i < G_N_ELEMENTS(suffixes); i++)
        if (suffixes[i].exponent2 == 0 && suffixes[i].exponent10 == exponent)
            return suffixes[i].text;
    g_assert_not_reached();
}

static const char *
quantity_write(const Quantity *self, char *buffer)
{
    char digits[QUANTITY_BUFFER], suffix[8];
    char *end = digits + sizeof digits - 1;
    wide_uint amount = self->nanos;
    QuantityFormat format = self->format;

    *end = '\0';
    if (amount == 0) {
        g_strlcpy(buffer, "0", QUANTITY_BUFFER);
        return buffer;
    }
    /* Below 1024 and with parts of a byte Kubernetes falls back to decimal: "512", "1k" for 1000.
     */
    if (format == QUANTITY_BINARY &&
        (amount < (wide_uint)1024 * NANOS_PER_UNIT || amount % NANOS_PER_UNIT != 0))
        format = QUANTITY_DECIMAL;

    if (format == QUANTITY_BINARY) {
        unsigned exponent2 = 0;
        amount /= NANOS_PER_UNIT;
        for (; exponent2 < 60 && amount % 1024 == 0; exponent2 += 10)
            amount /= 1024;
        g_snprintf(suffix, sizeof suffix, "%.1s%s", &"\0KMGTPE"[exponent2 / 10],
                   exponent2 > 0 ? "i" : "");
    } else {
        int exponent = -9;
        for (; exponent < 18 && amount % 10 == 0; exponent++)
            amount /= 10;
        for (; exponent % 3 != 0; exponent--)
            amount *= 10;
        if (format == QUANTITY_EXPONENT && exponent != 0)
            g_snprintf(suffix, sizeof suffix, "e%d", exponent);
        else
            g_strlcpy(suffix, decimal_suffix(exponent), sizeof suffix);
    }
    g_snprintf(buffer, QUANTITY_BUFFER, "%s%s%s", self->negative ? "-" : "",
               write_digits(end, amount), suffix);
    return buffer;
}

static Quantity
quantity_from(int64_t value, unsigned nanos_per_unit, QuantityFormat format)
{
    wide_uint magnitude = value < 0 ? -(wide_uint)value : (wide_uint)value;

    return (Quantity){value < 0, MIN(magnitude * nanos_per_unit, NANOS_MAX), format};
}

const char *
quantity_format(int64_t value, char *buffer)
{
    Quantity quantity = quantity_from(value, NANOS_PER_UNIT, QUANTITY_BINARY);

    return quantity_write(&quantity, buffer);
}

const char *
quantity_format_decimal(int64_t value, char *buffer)
{
    Quantity quantity = quantity_from(value, NANOS_PER_UNIT, QUANTITY_DECIMAL);

    return quantity_write(&quantity, buffer);
}

const char *
quantity_format_milli(int64_t milli, char *buffer)
{
    Quantity quantity = quantity_from(milli, NANOS_PER_MILLI, QUANTITY_DECIMAL);

    return quantity_write(&quantity, buffer);
}

gboolean
quantity_canonical(const char *text, char *buffer, GError **error)
{
    Quantity quantity;

    if (!quantity_read(text, &quantity, error))
        return FALSE;
    quantity_write(&quantity, buffer);
    return TRUE;
}
