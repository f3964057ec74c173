/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sim/random.h"
#include "sim/sim-time.h"
#include "tests/lib/test.h"

#include <string.h>

typedef struct {
    const char *text;
    SimTime time;
    const char *formatted; /* NULL: as @text */
} GoodTime;

static const GoodTime good_times[] = {
    {"0s",                        0,                                         NULL                       },
    {"0",                         0,                                         "0s"                       },
    {"-0",                        0,                                         "0s"                       },
    {"1ns",                       1,                                         NULL                       },
    {"999ns",                     999,                                       NULL                       },
    {"1\u00b5s",                  SIM_US,                                    NULL                       },
    {"1.5\u03bcs",                1500,                                      "1.5\u00b5s"               },
    {"10us",                      10 * SIM_US,                               "10\u00b5s"                },
    {"250ms",                     250 * SIM_MS,                              NULL                       },
    {"1.000001ms",                SIM_MS + 1,                                NULL                       },
    {"1.5s",                      1500 * SIM_MS,                             NULL                       },
    {".5s",                       500 * SIM_MS,                              "500ms"                    },
    {"1.s",                       SIM_SECOND,                                "1s"                       },
    {"+3s",                       3 * SIM_SECOND,                            "3s"                       },
    {"-3s",                       -3 * SIM_SECOND,                           NULL                       },
    {"1m30.5s",                   90 * SIM_SECOND + 500 * SIM_MS,            NULL                       },
    {"1h2m3.5s",                  SIM_HOUR + 2 * SIM_MINUTE + 3500 * SIM_MS, NULL                       },
    {"1h",                        SIM_HOUR,                                  "1h0m0s"                   },
    {"1.5h",                      90 * SIM_MINUTE,                           "1h30m0s"                  },
    {"0.25m",                     15 * SIM_SECOND,                           "15s"                      },
    {"1s1s",                      2 * SIM_SECOND,                            "2s"                       },
    {"0.123456789s",              123456789,                                 "123.456789ms"             },
    {"1.0000000000000000000000s", SIM_SECOND,                                "1s"                       },
    {"100000h",                   100000 * SIM_HOUR,                         "100000h0m0s"              },
    {"9223372036854775807ns",     INT64_MAX,                                 "2562047h47m16.854775807s" },
    {"-9223372036854775808ns",    INT64_MIN,                                 "-2562047h47m16.854775808s"},
};

static void
parses_and_formats(void **state)
{
    const GoodTime *row = *state;
    char buffer[SIM_TIME_BUFFER];
    SimTime time = -1;

    assert_true(sim_time_parse(row->text, &time, NULL));
    assert_int_equal(time, row->time);
    assert_string_equal(sim_time_format(time, buffer),
                        row->formatted != NULL ? row->formatted : row->text);
}
TEST_ROWS(good_times, parses_and_formats);

typedef struct {
    const char *text;
    const char *complaint;
} BadTime;

static const BadTime bad_times[] = {
    {"",                       "expected a number"         },
    {"s",                      "expected a number"         },
    {".s",                     "expected a number"         },
    {"-",                      "expected a number"         },
    {"+-1s",                   "expected a number"         },
    {" 1s",                    "expected a number"         },
    {"1",                      "a unit is missing"         },
    {"1.5",                    "a unit is missing"         },
    {"1h1",                    "a unit is missing"         },
    {"1x",                     "unknown unit \"x\""        },
    {"1s ",                    "unknown unit \"s \""       },
    {"1S",                     "unknown unit \"S\""        },
    {"1d",                     "known: ns, us, ms, s, m, h"},
    {"1.5ns",                  "finer than a nanosecond"   },
    {"0.1234567891s",          "finer than a nanosecond"   },
    {"0.000000000001h",        "finer than a nanosecond"   },
    {"0.0000000000000000001h", "too many digits"           },
    {"99999999999999999999s",  "too many digits"           },
    {"9223372036854775808ns",  "too long"                  },
    {"-9223372036854775809ns", "too long"                  },
    {"2562048h",               "too long"                  },
    {"2562047h2562047h",       "too long"                  },
};

static void
time_complains(void **state)
{
    const BadTime *row = *state;
    g_autoptr(GError) error = NULL;
    SimTime time = 42;

    assert_false(sim_time_parse(row->text, &time, &error));
    assert_true(g_error_matches(error, SIM_ERROR, SIM_ERROR_INVALID));
    assert_non_null(strstr(error->message, row->complaint));
    assert_int_equal(time, 42);
}
TEST_ROWS(bad_times, time_complains);

TEST(every_time_survives_the_round_trip)
{
    SimStream stream = sim_stream_from(1, 0, "times");
    char buffer[SIM_TIME_BUFFER];

    for (unsigned i = 0; i < 100000; i++) {
        SimTime time = (SimTime)sim_random_bits(stream, 0, i) >> (i % 64), back = 0;
        assert_true(sim_time_parse(sim_time_format(time, buffer), &back, NULL));
        assert_int_equal(back, time);
    }
}

TEST(sums_stay_at_never)
{
    assert_int_equal(sim_time_add(5, 7), 12);
    assert_int_equal(sim_time_add(-5, 7), 2);
    assert_int_equal(sim_time_add(SIM_TIME_MAX, 1), SIM_TIME_MAX);
    assert_int_equal(sim_time_add(SIM_TIME_MAX - 1, SIM_TIME_MAX), SIM_TIME_MAX);
}
