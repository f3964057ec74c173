/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sim/metrics.h"
#include "sim/random.h"
#include "test-list.h"

#include <math.h>
#include <stdlib.h>

/* Series by name and labels, and the text that Prometheus reads. */

/* ---- Numbers ---- */

typedef struct {
    const char *text; /* MET-160 */
    double number;
} NumberCase;

static const NumberCase numbers[] = {
    {"0",                      0                     },
    {"-0",                     -0.0                  },
    {"1",                      1                     },
    {"-1.5",                   -1.5                  },
    {"10",                     10                    },
    {"120000",                 120000                },
    {"999999",                 999999                },
    {"1e+06",                  1e6                   },
    {"1.048576e+06",           1048576               },
    {"1.073741824e+09",        1073741824            },
    {"0.1",                    0.1                   },
    {"0.0001",                 0.0001                },
    {"0.00025",                0.00025               },
    {"1e-05",                  0.00001               },
    {"1e-08",                  1e-8                  },
    {"9.999999999999999e-06",  9.999999999999999e-06 },
    {"1.5000000000000002e-05", 1.5000000000000002e-05},
    {"0.30000000000000004",    0.1 + 0.2             },
    {"123456.789",             123456.789            },
    {"9.007199254740992e+15",  9007199254740992.0    },
    {"1e+22",                  1e22                  },
    {"1.7976931348623157e+308", 1.7976931348623157e+308},
    {"5e-324",                 5e-324                },
};

static void
prints(void **state)
{
    const NumberCase *row = *state;
    g_autoptr(GString) text = g_string_new("x ");

    sim_metrics_append_number(text, row->number);
    assert_string_equal(text->str + 2, row->text);
}

/* The rule in plain words: one digit more until it reads as the same. */
static char *
shortest(double number)
{
    char digits[G_ASCII_DTOSTR_BUF_SIZE], format[8];
    int precision = 0;

    do {
        g_snprintf(format, sizeof format, "%%.%de", precision);
        g_ascii_formatd(digits, sizeof digits, format, number);
    } while (g_ascii_strtod(digits, NULL) != number && ++precision < 17);
    int exponent = atoi(strchr(digits, 'e') + 1);
    if (number == 0 || (exponent >= -4 && exponent < 6)) {
        g_snprintf(format, sizeof format, "%%.%df", MAX(precision - exponent, 0));
        g_ascii_formatd(digits, sizeof digits, number == 0 ? "%.0f" : format, number);
    }
    return g_strdup(digits);
}

static void
check_number(GString *text, double number)
{
    g_autofree char *want = shortest(number);

    g_string_truncate(text, 0);
    sim_metrics_append_number(text, number);
    if (strcmp(text->str, want) != 0)
        fail_msg("%.17g is printed as %s, not %s", number, text->str, want);
}

/* Numbers of all magnitudes, small ones among them; times as sums of nanoseconds; whole numbers; few digits at any place. */
static void
no_text_is_shorter_and_all_read_as_the_same(void **state)
{
    SimStream stream = sim_stream_from(1, 0, "numbers");
    g_autoptr(GString) text = g_string_new(NULL);

    (void)state;
    for (unsigned i = 0; i < 17000; i++) {
        uint64_t bits = sim_random_bits(stream, 0, i), small = bits & 0x800FFFFFFFFFFFFF;
        int64_t integer = (int64_t)bits >> (i % 63);
        double number;

        memcpy(&number, &bits, sizeof number);
        if (isfinite(number))
            check_number(text, number);
        small >>= i % 52;
        memcpy(&number, &small, sizeof number);
        check_number(text, number);
        check_number(text, (double)integer * 1e-9);
        check_number(text, (double)integer);
        check_number(text, (double)(integer % 100000) / pow(10, i % 20));
        check_number(text, (double)(integer % 100000) * pow(10, i % 20));
    }
}

int
main(void)
{
    TestList tests = {0};

    TEST_ROWS(tests, numbers, prints);
    TEST(tests, no_text_is_shorter_and_all_read_as_the_same);
    return test_list_run("sim-metrics", tests);
}
