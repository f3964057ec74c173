/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <string.h>

#include "sim-time.h"

/* Builds the rows of result files. A large run has tens of millions of rows, so no format string is
 * parsed and nothing is copied twice. Always in the C locale. */

/* Returns: what the name of @n things ends with: 1 pod, 2 pods */
static inline const char *
plural(uint64_t n)
{
    return n == 1 ? "" : "s";
}

/* Makes room for @n more bytes. Returns: where to write them; append_took() tells how many were
 * written */
static inline char *
append_place(GString *text, gsize n)
{
    if (text->len + n >= text->allocated_len) {
        gsize length = text->len;
        g_string_set_size(text, length + n);
        g_string_truncate(text, length);
    }
    return text->str + text->len;
}

static inline void
append_took(GString *text, gsize n)
{
    text->len += n;
    text->str[text->len] = '\0';
}

static inline void
append_bytes(GString *text, const char *bytes, gsize n)
{
    memcpy(append_place(text, n), bytes, n);
    append_took(text, n);
}

/* For literals: the compiler knows the length. */
#define append_literal(text, literal) append_bytes((text), "" literal "", sizeof(literal) - 1)

static inline void
append_text(GString *text, const char *value)
{
    append_bytes(text, value, strlen(value));
}

void append_unsigned(GString *text, uint64_t number);
void append_integer(GString *text, int64_t number);
/* Without leading zeros, as %x. */
void append_hex(GString *text, uint64_t number);
/* "12.000000345" */
void append_seconds(GString *text, SimTime time);
/* Microseconds: "12.345" */
void append_us(GString *text, SimTime time);

/**
 * append_six_digits:
 * @number: billionths
 * @divisor: at most 4096
 * Appends (double)@number / @divisor / 1e9 as %.6g prints it.
 * Returns: FALSE if whole numbers cannot decide: a half is to be rounded, or there would be an
 * exponent. Nothing is appended then
 */
gboolean append_six_digits(GString *text, uint64_t number, uint32_t divisor);

/* With the escapes of JSON: \" \\ \b \f \n \r \t, and \u001F for other control characters. */
void append_json_letters(GString *text, const char *value);
/* The same in quotes. */
void append_json_text(GString *text, const char *value);
