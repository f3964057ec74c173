/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Numbers and JSON texts written into a GString without printf, for result files of millions of
 * rows. All output is that of "%u", "%.6f", "%.6g" and of JSON's escapes; a test compares them.
 * Eight characters are searched for escapes at once. */
#include "append.h"

#include <inttypes.h>

#define DIGITS_MAX 20

/* Two digits at once. */
static const char pairs[] = "0001020304050607080910111213141516171819"
                            "2021222324252627282930313233343536373839"
                            "4041424344454647484950515253545556575859"
                            "6061626364656667686970717273747576777879"
                            "8081828384858687888990919293949596979899";

/* The digits of @number, at most DIGITS_MAX, in front of @end. Returns: the first */
static char *
write_before(char *end, uint64_t number)
{
    for (; number >= 100; number /= 100)
        memcpy(end -= 2, &pairs[number % 100 * 2], 2);
    if (number >= 10)
        memcpy(end -= 2, &pairs[number * 2], 2);
    else
        *--end = (char)('0' + number);
    return end;
}

void
append_unsigned(GString *text, uint64_t number)
{
    char digits[DIGITS_MAX], *end = digits + DIGITS_MAX, *first = write_before(end, number);

    append_bytes(text, first, (gsize)(end - first));
}

void
append_integer(GString *text, int64_t number)
{
    if (number < 0)
        append_literal(text, "-");
    append_unsigned(text, number < 0 ? -(uint64_t)number : (uint64_t)number);
}

void
append_hex(GString *text, uint64_t number)
{
    char digits[16], *end = digits + sizeof digits, *first = end;

    do
        *--first = "0123456789abcdef"[number & 0xf];
    while ((number >>= 4) != 0);
    append_bytes(text, first, (gsize)(end - first));
}

/* @number, then a point and @n_digits of @fraction. */
static void
append_fixed(GString *text, uint64_t number, uint32_t fraction, unsigned n_digits)
{
    char digits[DIGITS_MAX + 10], *end = digits + sizeof digits, *place = end;

    for (; n_digits > 1; n_digits -= 2, fraction /= 100)
        memcpy(place -= 2, &pairs[fraction % 100 * 2], 2);
    *--place = (char)('0' + fraction);
    *--place = '.';
    place = write_before(place, number);
    append_bytes(text, place, (gsize)(end - place));
}

void
append_seconds(GString *text, SimTime time)
{
    if (time < 0) /* only imported objects have such times */
        g_string_append_printf(text, "%" PRId64 ".%09" PRId64, time / SIM_SECOND,
                               time % SIM_SECOND);
    else
        append_fixed(text, (uint64_t)(time / SIM_SECOND), (uint32_t)(time % SIM_SECOND), 9);
}

void
append_us(GString *text, SimTime time)
{
    if (time < 0)
        g_string_append_printf(text, "%" PRId64 ".%03d", time / SIM_US, (int)(time % SIM_US));
    else
        append_fixed(text, (uint64_t)(time / SIM_US), (uint32_t)(time % SIM_US), 3);
}

/* 999999 s and more would have an exponent. */
#define BILLIONTHS_MAX UINT64_C(999999000000000)
#define BILLIONTHS_MIN UINT64_C(100000) /* smaller numbers would have an exponent, too */

gboolean
append_six_digits(GString *text, uint64_t number, uint32_t divisor)
{
    uint64_t unit = divisor, whole = number / divisor;

    if (number == 0) {
        append_literal(text, "0");
        return TRUE;
    }
    if (whole < BILLIONTHS_MIN || whole >= BILLIONTHS_MAX / divisor)
        return FALSE;
    for (uint64_t rest = whole; rest >= 1000000; rest /= 10)
        unit *= 10;
    /* A value that is not exactly a half differs from it by at least 1 / (2 * divisor): by more
     * than three roundings of such doubles. */
    uint64_t digits = number / unit, twice = number % unit * 2;
    if (twice == unit)
        return FALSE;
    uint64_t rounded = (digits + (twice > unit)) * (unit / divisor);
    append_fixed(text, rounded / SIM_SECOND, (uint32_t)(rounded % SIM_SECOND), 9);
    while (text->str[text->len - 1] == '0')
        text->len--;
    if (text->str[text->len - 1] == '.')
        text->len--;
    text->str[text->len] = '\0';
    return TRUE;
}

/* ---- JSON ---- */

#define EACH(byte) (UINT64_C(0x0101010101010101) * (byte))

/* Whether one of eight characters needs an escape: sets the high bit of each control character,
 * quote and backslash. The first test may also set the bit of the character that follows one (a
 * borrow), which does no harm. Bytes above 0x7f set no bit. */
static inline gboolean
needs_escape(uint64_t eight)
{
    uint64_t quote = eight ^ EACH('"'), backslash = eight ^ EACH('\\');

    return (((eight - EACH(0x20)) | (quote - EACH(1)) | (backslash - EACH(1))) & ~eight &
            EACH(0x80)) != 0;
}

static char *
write_escaped(char *place, unsigned char c)
{
    static const char letters[0x20] = {
        ['\b'] = 'b', ['\f'] = 'f', ['\n'] = 'n', ['\r'] = 'r', ['\t'] = 't',
    };

    if (c >= 0x20 && c != '"' && c != '\\') {
        *place = (char)c;
        return place + 1;
    }
    *place++ = '\\';
    if (c >= 0x20 || letters[c] != '\0') {
        *place = c >= 0x20 ? (char)c : letters[c];
        return place + 1;
    }
    memcpy(place, "u00", 3);
    place[3] = (char)('0' + c / 16);
    place[4] = "0123456789ABCDEF"[c % 16];
    return place + 5;
}

#define ESCAPE_MAX 6 /* of output for one of input */

/* @place: has room for ESCAPE_MAX times as many. Returns: what follows */
static char *
write_letters(char *place, const char *value, gsize n)
{
    gsize i = 0;
    uint64_t eight;

    for (; i + sizeof eight <= n; i += sizeof eight) {
        memcpy(&eight, value + i, sizeof eight);
        if (needs_escape(eight)) {
            for (unsigned k = 0; k < sizeof eight; k++)
                place = write_escaped(place, (unsigned char)value[i + k]);
        } else {
            memcpy(place, &eight, sizeof eight);
            place += sizeof eight;
        }
    }
    for (; i < n; i++)
        place = write_escaped(place, (unsigned char)value[i]);
    return place;
}

void
append_json_letters(GString *text, const char *value)
{
    gsize n = strlen(value);
    char *first = append_place(text, n * ESCAPE_MAX);

    append_took(text, (gsize)(write_letters(first, value, n) - first));
}

void
append_json_text(GString *text, const char *value)
{
    gsize n = strlen(value);
    char *first = append_place(text, n * ESCAPE_MAX + 2), *place = first;

    *place++ = '"';
    place = write_letters(place, value, n);
    *place++ = '"';
    append_took(text, (gsize)(place - first));
}
