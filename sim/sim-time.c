/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Times as text: Go's durations are read and written, with all of its units, in whole nanoseconds.
 * A number that does not fit into 63 bits, or is not a whole number of nanoseconds, is an error
 * with the text that caused it. */
#include "sim-time.h"

#include <string.h>

GQuark
sim_error_quark(void)
{
    return g_quark_from_static_string("sim-error-quark");
}

typedef unsigned __int128 u128;

typedef struct {
    const char *name;
    int64_t ns;
} TimeUnit;

/* Go knows both spellings of the micro sign: U+00B5 and the Greek letter. */
static const TimeUnit time_units[] = {
    {"ns",      1         },
    {"us",      SIM_US    },
    {"\u00b5s", SIM_US    },
    {"\u03bcs", SIM_US    },
    {"ms",      SIM_MS    },
    {"s",       SIM_SECOND},
    {"m",       SIM_MINUTE},
    {"h",       SIM_HOUR  },
};

/* How many decimals may be significant: an hour is 3.6e12 ns, so about twelve; more would not be
 * whole ns. */
#define FRACTION_DIGITS_MAX 18

typedef struct {
    uint64_t whole;
    uint64_t fraction;       /* the digits after the point, trailing zeros dropped */
    uint64_t fraction_scale; /* 10 to the number of these digits */
    gboolean has_digits;
    gboolean fits;
} SimTimeDecimal;

static const char *
decimal_read_whole(const char *text, SimTimeDecimal *decimal)
{
    for (; g_ascii_isdigit(*text); text++) {
        decimal->has_digits = TRUE;
        if (__builtin_mul_overflow(decimal->whole, UINT64_C(10), &decimal->whole) ||
            __builtin_add_overflow(decimal->whole, (uint64_t)(*text - '0'), &decimal->whole))
            decimal->fits = FALSE;
    }
    return text;
}

static const char *
decimal_read_fraction(const char *text, SimTimeDecimal *decimal)
{
    const char *end = text;
    while (g_ascii_isdigit(*end))
        end++;
    decimal->has_digits |= end > text;

    const char *significant_end = end;
    while (significant_end > text && significant_end[-1] == '0')
        significant_end--;
    if (significant_end - text > FRACTION_DIGITS_MAX)
        decimal->fits = FALSE;
    else
        for (; text < significant_end; text++) {
            decimal->fraction = decimal->fraction * 10 + (uint64_t)(*text - '0');
            decimal->fraction_scale *= 10;
        }
    return end;
}

static const TimeUnit *
time_unit_find(const char *text, size_t length)
{
    for (unsigned i = 0; i < G_N_ELEMENTS(time_units); i++)
        if (strlen(time_units[i].name) == length && memcmp(time_units[i].name, text, length) == 0)
            return &time_units[i];
    return NULL;
}

/* Everything up to the next number, as Go takes it. */
static size_t
time_unit_length(const char *text)
{
    return strcspn(text, "0123456789.");
}

static gboolean
time_error(GError **error, const char *text, const char *what)
{
    g_set_error(error, SIM_ERROR, SIM_ERROR_INVALID, "\"%s\" is not a duration: %s", text, what);
    return FALSE;
}

/* Reads one number with its unit at *@rest and adds it to @sum. */
static gboolean
time_parse_part(const char *text, const char **rest, uint64_t *sum, GError **error)
{
    SimTimeDecimal decimal = {.fraction_scale = 1, .fits = TRUE};

    *rest = decimal_read_whole(*rest, &decimal);
    if (**rest == '.')
        *rest = decimal_read_fraction(*rest + 1, &decimal);
    if (!decimal.has_digits)
        return time_error(error, text,
                          "expected a number with a unit, as in \"1.5s\" or \"1h30m\"");

    size_t length = time_unit_length(*rest);
    if (length == 0)
        return time_error(error, text, "a unit is missing (ns, us, ms, s, m, h)");
    const TimeUnit *unit = time_unit_find(*rest, length);
    if (unit == NULL) {
        g_autofree char *what = g_strdup_printf(
            "unknown unit \"%.*s\" (known: ns, us, ms, s, m, h)", (int)length, *rest);
        return time_error(error, text, what);
    }
    *rest += length;

    if (!decimal.fits)
        return time_error(error, text, "too many digits");
    u128 fraction = (u128)decimal.fraction * (u128)unit->ns;
    if (fraction % decimal.fraction_scale != 0)
        return time_error(error, text, "finer than a nanosecond");
    u128 total = *sum + (u128)decimal.whole * (u128)unit->ns + fraction / decimal.fraction_scale;
    if (total > (u128)INT64_MAX + 1)
        return time_error(error, text, "too long (at most 292 years)");
    *sum = (uint64_t)total;
    return TRUE;
}

gboolean
sim_time_parse(const char *text, SimTime *time, GError **error)
{
    const char *rest = text;
    gboolean negative = *rest == '-';
    uint64_t magnitude = 0;

    if (*rest == '-' || *rest == '+')
        rest++;
    if (strcmp(rest, "0") == 0) {
        *time = 0;
        return TRUE;
    }
    do {
        if (!time_parse_part(text, &rest, &magnitude, error))
            return FALSE;
    } while (*rest != '\0');

    if (!negative && magnitude > INT64_MAX)
        return time_error(error, text, "too long (at most 292 years)");
    *time = (SimTime)(negative ? -magnitude : magnitude);
    return TRUE;
}

/* Writes backwards from @end: @value as a decimal number whose last @digits digits stand behind the
 * point, without trailing zeros. Returns: its start */
static char *
format_decimal(char *end, uint64_t value, unsigned digits)
{
    gboolean significant = FALSE;

    for (; digits > 0; digits--, value /= 10) {
        significant |= value % 10 != 0;
        if (significant)
            *--end = (char)('0' + value % 10);
    }
    if (significant)
        *--end = '.';
    do
        *--end = (char)('0' + value % 10);
    while ((value /= 10) != 0);
    return end;
}

const char *
sim_time_format(SimTime time, char *buffer)
{
    uint64_t magnitude = time < 0 ? -(uint64_t)time : (uint64_t)time;
    char *start = &buffer[SIM_TIME_BUFFER - 1];

    *start = '\0';
    *--start = 's';
    if (magnitude == 0) {
        *--start = '0';
    } else if (magnitude < SIM_US) {
        *--start = 'n';
        start = format_decimal(start, magnitude, 0);
    } else if (magnitude < SIM_MS) {
        start -= strlen("\u00b5");
        memcpy(start, "\u00b5", strlen("\u00b5"));
        start = format_decimal(start, magnitude, 3);
    } else if (magnitude < SIM_SECOND) {
        *--start = 'm';
        start = format_decimal(start, magnitude, 6);
    } else {
        start = format_decimal(start, magnitude % SIM_MINUTE, 9);
        uint64_t minutes = magnitude / SIM_MINUTE;
        if (minutes > 0) {
            *--start = 'm';
            start = format_decimal(start, minutes % 60, 0);
        }
        if (minutes >= 60) {
            *--start = 'h';
            start = format_decimal(start, minutes / 60, 0);
        }
    }
    if (time < 0)
        *--start = '-';
    return memmove(buffer, start, strlen(start) + 1);
}
