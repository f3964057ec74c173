/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/api/field.h"
#include "tests/lib/test.h"

typedef struct {
    const char *text, *canonical;
    int64_t value, milli;
} QuantityGood;

/* clang-format off */
static const QuantityGood good[] = {
  /* API-V1, API-V2, API-V3, API-V4, API-V5, API-V6, API-V7, API-V8 */
    {"1.5Gi",                                              "1536Mi",              1610612736,                   INT64_C(1610612736000)},
    {"1024Mi",                                             "1Gi",                 1073741824,                   INT64_C(1073741824000)},
    {"1000Mi",                                             "1000Mi",              1048576000,                   INT64_C(1048576000000)},
    {"1000M",                                              "1G",                  1000000000,                   INT64_C(1000000000000)},
    {"0.5",                                                "500m",                1,                            500},
    {"1e3",                                                "1e3",                 1000,                         INT64_C(1000000)},
    {"100Ki",                                              "100Ki",               102400,                       INT64_C(102400000)},
    {"0.5Ki",                                              "512",                 512,                          INT64_C(512000)},
 /* zero, signs, points */
    {"0",                                                  "0",                   0,                            0},
    {"0Gi",                                                "0",                   0,                            0},
    {"-0",                                                 "0",                   0,                            0},
    {"000",                                                "0",                   0,                            0},
    {"+5",                                                 "5",                   5,                            INT64_C(5000)},
    {"-5",                                                 "-5",                  -5,                           -INT64_C(5000)},
    {"-500m",                                              "-500m",               -1,                           -500},
    {"5.",                                                 "5",                   5,                            INT64_C(5000)},
    {".5",                                                 "500m",                1,                            500},
    {"007",                                                "7",                   7,                            INT64_C(7000)},
 /* decimal: a suffix per thousand */
    {"1500m",                                              "1500m",               2,                            1500},
    {"0.1",                                                "100m",                1,                            100},
    {"100m",                                               "100m",                1,                            100},
    {"2000m",                                              "2",                   2,                            INT64_C(2000)},
    {"1024M",                                              "1024M",               1024000000,                   INT64_C(1024000000000)},
    {"12345",                                              "12345",               12345,                        INT64_C(12345000)},
    {"1000",                                               "1k",                  1000,                         INT64_C(1000000)},
    {"1k",                                                 "1k",                  1000,                         INT64_C(1000000)},
    {"1T",                                                 "1T",                  INT64_C(1000000000000),       INT64_C(1000000000000000)},
    {"1P",                                                 "1P",                  INT64_C(1000000000000000),    INT64_C(1000000000000000000)},
    {"1E",                                                 "1E",                  INT64_C(1000000000000000000), INT64_MAX},
    {"1u",                                                 "1u",                  1,                            1},
    {"1n",                                                 "1n",                  1,                            1},
    {"1500u",                                              "1500u",               1,                            2},
 /* finer than 10^-9: rounded up (API-161) */
    {"0.1n",                                               "1n",                  1,                            1},
    {"1.0000000001",                                       "1000000001n",         2,                            1001},
    {"1e-12",                                              "1e-9",                1,                            1},
 /* exponents keep their family */
    {"12e2",                                               "1200",                1200,                         INT64_C(1200000)},
    {"1E3",                                                "1e3",                 1000,                         INT64_C(1000000)},
    {"1e+3",                                               "1e3",                 1000,                         INT64_C(1000000)},
    {"2500e-3",                                            "2500e-3",             3,                            2500},
    {"1e0",                                                "1",                   1,                            1000},
 /* binary */
    {"1Ki",                                                "1Ki",                 1024,                         INT64_C(1024000)},
    {"1Ti",                                                "1Ti",                 INT64_C(1099511627776),       INT64_C(1099511627776000)},
    {"1Pi",                                                "1Pi",                 INT64_C(1125899906842624),    INT64_C(1125899906842624000)},
    {"1Ei",                                                "1Ei",                 INT64_C(1152921504606846976), INT64_MAX},
    {"0.0009765625Ki",                                     "1",                   1,                            1000},
    {"1.1Ki",                                              "1126400m",            1127,                         1126400},
    {"2.5Mi",                                              "2560Ki",              2621440,                      INT64_C(2621440000)},
 /* capped (API-161) */
    {"8Ei",                                                "9223372036854775807", INT64_MAX,                    INT64_MAX},
    {"1024Ei",                                             "9223372036854775807", INT64_MAX,                    INT64_MAX},
    {"9223372036854775807",                                "9223372036854775807", INT64_MAX,                    INT64_MAX},
    {"1e400",                                              "9223372036854775807", INT64_MAX,                    INT64_MAX},
    {"99999999999999999999999999999999999999999999999999", "9223372036854775807", INT64_MAX,                    INT64_MAX},
    {"0.00000000000000000000000000000000000000000000001",  "1n",                  1,                            1},
    {"1.00000000000000000000000000000000000000000000000",  "1",                   1,                            1000},
};
/* clang-format on */

static void
reads_and_writes(void **state)
{
    const QuantityGood *row = *state;
    char buffer[QUANTITY_BUFFER], again[QUANTITY_BUFFER];
    int64_t value = -1, milli = -1;

    assert_true(quantity_parse(row->text, &value, &milli, NULL));
    assert_int_equal(value, row->value);
    assert_int_equal(milli, row->milli);
    assert_true(quantity_canonical(row->text, buffer, NULL));
    assert_string_equal(buffer, row->canonical);
    assert_true(quantity_canonical(buffer, again, NULL)); /* API-163: the canonical one stays */
    assert_string_equal(again, buffer);
}
TEST_ROWS(good, reads_and_writes);

typedef struct {
    const char *text, *complaint;
} Bad;

#define FORMAT                                                                                     \
    "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
#define SUFFIX "unable to parse quantity's suffix"

static const Bad bad[] = {
    {"1K",      SUFFIX                                    }, /* API-V9 */
    {"1 Gi",    FORMAT                                    }, /* API-V10 */
    {"",        FORMAT                                    },
    {"Gi",      FORMAT                                    },
    {"-",       FORMAT                                    },
    {"ten",     FORMAT                                    },
    {"1g",      FORMAT                                    },
    {"1KB",     FORMAT                                    },
    {"1GB",     FORMAT                                    },
    {" 1",      FORMAT                                    },
    {"1 ",      FORMAT                                    },
    {"1Gi ",    FORMAT                                    },
    {"1.2.3",   FORMAT                                    },
    {"1.2.3Gi", FORMAT                                    },
    {"--1",     FORMAT                                    },
    {"0x10",    FORMAT                                    },
    {"1gi",     FORMAT                                    },
    {"1GI",     FORMAT                                    },
    {"1ki",     SUFFIX                                    },
    {"1mi",     SUFFIX                                    },
    {"1MM",     SUFFIX                                    },
    {"1i",      SUFFIX                                    },
    {"1e",      SUFFIX                                    },
    {"1e-",     SUFFIX                                    },
    {"1Gi5",    SUFFIX                                    },
    {"1G-5",    SUFFIX                                    },
    {"1G5",     SUFFIX                                    },
    {".",       "unable to parse numeric part of quantity"},
};

static void
quantity_complains(void **state)
{
    const Bad *row = *state;
    g_autoptr(GError) error = NULL;
    char buffer[QUANTITY_BUFFER];
    int64_t value = 42;

    assert_false(quantity_parse(row->text, &value, NULL, &error));
    assert_string_equal(error->message, row->complaint);
    assert_int_equal(value, 42);
    assert_false(quantity_canonical(row->text, buffer, NULL));
}
TEST_ROWS(bad, quantity_complains);

typedef struct {
    const char *text;
    int64_t value;
} Formatted;

static const Formatted formatted[] = {
    {"0",                   0                     },
    {"1",                   1                     },
    {"1k",                  1000                  },
    {"1023",                1023                  },
    {"1Ki",                 1024                  },
    {"1025",                1025                  },
    {"1000000000",          1000000000            },
    {"1Gi",                 INT64_C(1073741824)   },
    {"1536Mi",              INT64_C(1610612736)   },
    {"-1Gi",                -(INT64_C(1073741824))},
    {"9223372036854775807", INT64_MAX             },
    {"1Ei",                 INT64_C(1) << 60      },
};

static void
formats_binary(void **state)
{
    const Formatted *row = *state;
    char buffer[QUANTITY_BUFFER];

    assert_string_equal(quantity_format(row->value, buffer), row->text);
}
TEST_ROWS(formatted, formats_binary);

TEST(every_size_survives_the_round_trip)
{
    char buffer[QUANTITY_BUFFER];

    for (unsigned shift = 0; shift < 63; shift++)
        for (int64_t factor = 1; factor < 3000; factor += 7) {
            int64_t value, back = -1;
            if (__builtin_mul_overflow(INT64_C(1) << shift, factor, &value))
                break;
            assert_true(quantity_parse(quantity_format(value, buffer), &back, NULL, NULL));
            assert_int_equal(back, value);
        }
}

TEST(formats_thousandths)
{
    char buffer[QUANTITY_BUFFER];

    assert_string_equal(quantity_format_milli(500, buffer), "500m");
    assert_string_equal(quantity_format_milli(2000, buffer), "2");
    assert_string_equal(quantity_format_milli(0, buffer), "0");
    assert_string_equal(quantity_format_milli(64000000, buffer), "64k");
}
