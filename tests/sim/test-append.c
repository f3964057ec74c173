/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <inttypes.h>
#include <string.h>

#include "sim/append.h"
#include "tests/lib/test.h"

/* Numbers as printf() has them, texts as JSON wants them. */

#define N_RANDOM 20000

/* Numbers of every length, as many small ones as large ones. */
static uint64_t
random_number(GRand *random)
{
    uint64_t bits = (uint64_t)g_rand_int(random) << 32 | g_rand_int(random);

    return bits >> g_rand_int_range(random, 0, 64);
}

static void
assert_numbers(uint64_t number)
{
    g_autoptr(GString) text = g_string_new(NULL);
    SimTime time = (SimTime)(number & INT64_MAX);
    g_autofree char *wanted = g_strdup_printf(
        "%" PRIu64 " %" PRIx64 " %" PRId64 ".%09d %" PRId64 ".%03d", number, number,
        time / SIM_SECOND, (int)(time % SIM_SECOND), time / 1000, (int)(time % 1000));

    append_unsigned(text, number);
    append_literal(text, " ");
    append_hex(text, number);
    append_literal(text, " ");
    append_seconds(text, time);
    append_literal(text, " ");
    append_us(text, time);
    assert_string_equal(text->str, wanted);
    assert_int_equal(text->len, strlen(wanted));
}

TEST(numbers_are_as_printf_has_them)
{
    g_autoptr(GRand) random = g_rand_new_with_seed(1);

    assert_numbers(0);
    assert_numbers(UINT64_MAX);
    for (uint64_t power = 1; power < UINT64_MAX / 10; power *= 10) {
        assert_numbers(power - 1);
        assert_numbers(power);
        assert_numbers(power + 1);
    }
    for (unsigned i = 0; i < N_RANDOM; i++)
        assert_numbers(random_number(random));
}

/* Objects that are older than the run. */
TEST(times_before_the_start_are_as_printf_has_them)
{
    static const SimTime times[] = {-1, -999, -1000, -1500, -SIM_SECOND, -SIM_HOUR - 7};

    for (unsigned i = 0; i < G_N_ELEMENTS(times); i++) {
        g_autoptr(GString) text = g_string_new(NULL);
        g_autofree char *wanted =
            g_strdup_printf("%" PRId64 ".%09" PRId64 " %" PRId64 ".%03d", times[i] / SIM_SECOND,
                            times[i] % SIM_SECOND, times[i] / 1000, (int)(times[i] % 1000));
        append_seconds(text, times[i]);
        append_literal(text, " ");
        append_us(text, times[i]);
        assert_string_equal(text->str, wanted);
    }
}

/* Compares with %.6g; FALSE must append nothing. Returns: whether it was appended */
static gboolean
assert_six_digits(uint64_t number, uint32_t divisor)
{
    g_autoptr(GString) text = g_string_new("x");
    double value = (double)number / divisor / 1e9;
    g_autofree char *wanted = g_strdup_printf("x%.6g", value);

    if (append_six_digits(text, number, divisor)) {
        assert_string_equal(text->str, wanted);
        assert_int_equal(text->len, strlen(wanted));
        return TRUE;
    }
    assert_string_equal(text->str, "x");
    return FALSE;
}

/* Times of every size, percentages as in plots, and values at which %.6g rounds up to another
 * digit. */
TEST(six_digits_are_as_printf_has_them)
{
    static const uint64_t edges[] = {0,
                                     1,
                                     99999,
                                     100000,
                                     999999,
                                     1000000,
                                     999999499,
                                     999999500,
                                     999999501,
                                     1000000000,
                                     123456500,
                                     9999995000,
                                     99999950000,
                                     999999500000,
                                     1500000000,
                                     999998999999999,
                                     999999000000000,
                                     1000000000000000,
                                     UINT64_MAX};
    g_autoptr(GRand) random = g_rand_new_with_seed(1);
    unsigned n_told = 0;

    for (unsigned i = 0; i < G_N_ELEMENTS(edges); i++)
        assert_six_digits(edges[i], 1);
    for (unsigned i = 0; i < N_RANDOM; i++)
        n_told += assert_six_digits(random_number(random) >> 14, 1);
    assert_true(n_told > N_RANDOM / 3);
    for (uint32_t n = 1; n <= 3000; n += 7)
        for (uint32_t i = 0; i <= n; i += 1 + n / 100) {
            g_autoptr(GString) text = g_string_new(NULL);
            g_autofree char *wanted = g_strdup_printf("%.6g", 100 * ((double)i / n));
            if (append_six_digits(text, i * UINT64_C(100000000000), n))
                assert_string_equal(text->str, wanted);
        }
}

static const struct {
    const char *title, *value, *wanted;
} texts[] = {
    {"nothing",             "",                    "\"\""                       },
    {"a name",              "web-0",               "\"web-0\""                  },
    {"eight letters",       "abcdefgh",            "\"abcdefgh\""               },
    {"quotes",              "a \"b\" c",           "\"a \\\"b\\\" c\""          },
    {"a quote at the end",  "12345678\"",          "\"12345678\\\"\""           },
    {"a backslash",         "region:\\x00:zone",   "\"region:\\\\x00:zone\""    },
    {"short escapes",       "\b\f\n\r\t",          "\"\\b\\f\\n\\r\\t\""        },
    {"control characters",  "\x01\x1f\x0b",        "\"\\u0001\\u001F\\u000B\""  },
    {"a space, a tilde",    " ~\x7f",              "\" ~\x7f\""                 },
    {"slashes stay",        "a/b",                 "\"a/b\""                    },
    {"UTF-8 stays",         "größer als 漢字", "\"größer als 漢字\""    },
    {"escapes among UTF-8", "漢\"字\n漢\\字",  "\"漢\\\"字\\n漢\\\\字\""},
};

TEST(texts_have_the_escapes_of_json)
{
    for (unsigned i = 0; i < G_N_ELEMENTS(texts); i++) {
        g_autoptr(GString) text = g_string_new("before ");
        g_autofree char *wanted = g_strconcat("before ", texts[i].wanted, NULL);
        print_message("%s\n", texts[i].title);
        append_json_text(text, texts[i].value);
        assert_string_equal(text->str, wanted);
        assert_int_equal(text->len, strlen(wanted));
    }
}

/* Every character at every place of its word of eight: one at a time. */
TEST(each_character_is_escaped_alike_everywhere)
{
    for (unsigned c = 1; c < 256; c++)
        for (unsigned place = 0; place < 12; place++) {
            char value[] = "xxxxxxxxxxxx", alone[] = {(char)c, '\0'};
            g_autoptr(GString) text = g_string_new(NULL), one = g_string_new(NULL);
            value[place] = (char)c;
            append_json_text(text, value);
            append_json_text(one, alone);
            assert_int_equal(text->len, one->len + strlen(value) - 1);
            assert_memory_equal(text->str + 1 + place, one->str + 1, one->len - 2);
            gboolean is_escaped = c < 0x20 || c == '"' || c == '\\';
            assert_int_equal(one->len, !is_escaped                                 ? 3
                                       : c >= 0x20 || strchr("\b\f\n\r\t", (int)c) ? 4
                                                                                   : 8);
        }
}

/* The text stays complete and ends with a NUL, however much room there was. */
TEST(room_is_made_where_there_is_none)
{
    g_autoptr(GString) text = g_string_sized_new(1), wanted = g_string_new(NULL);

    for (unsigned i = 0; i < 3000; i++) {
        append_unsigned(text, i);
        append_literal(text, ";");
        g_string_append_printf(wanted, "%u;", i);
        assert_int_equal(text->str[text->len], '\0');
    }
    assert_string_equal(text->str, wanted->str);
}
