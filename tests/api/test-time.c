/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/api/field.h"
#include "tests/lib/test.h"

typedef struct {
    const char *text;
    SimTime time;
    const char *formatted; /* NULL: as @text */
} TimeGood;

#define DAY (24 * SIM_HOUR)

static const TimeGood good[] = {
    {"2026-01-01T00:00:00Z",            0,                                                            NULL                  },
    {"2026-01-01T00:00:01Z",            SIM_SECOND,                                                   NULL                  },
    {"2025-12-31T23:59:59Z",            -SIM_SECOND,                                                  NULL                  },
    {"2026-01-02T00:00:00Z",            DAY,                                                          NULL                  },
    {"2026-02-28T12:34:56Z",            58 * DAY + 12 * SIM_HOUR + 34 * SIM_MINUTE + 56 * SIM_SECOND, NULL                  },
    {"2028-02-29T00:00:00Z",            (365 + 365 + 31 + 28) * DAY,                                  NULL                  },
    {"2024-02-29T00:00:00Z",            -(366 - 31 - 28 + 365) * DAY,                                 NULL                  },
    {"1970-01-01T00:00:00Z",            -API_EPOCH_S *SIM_SECOND,                                     NULL                  },
    {"2026-01-01t00:00:00z",            0,                                                            "2026-01-01T00:00:00Z"},
    {"2026-01-01T01:00:00+01:00",       0,                                                            "2026-01-01T00:00:00Z"},
    {"2025-12-31T18:30:00-05:30",       0,                                                            "2026-01-01T00:00:00Z"},
    {"2026-01-01T00:00:00.5Z",          SIM_SECOND / 2,                                               "2026-01-01T00:00:00Z"},
    {"2026-01-01T00:00:00.123456789Z",  123456789,                                                    "2026-01-01T00:00:00Z"},
    {"2026-01-01T00:00:00.1234567891Z", 123456789,                                                    "2026-01-01T00:00:00Z"},
    {"2025-12-31T23:59:59.75Z",         -SIM_SECOND / 4,                                              "2025-12-31T23:59:59Z"},
};

static void
reads_and_writes(void **state)
{
    const TimeGood *row = *state;
    char buffer[API_TIME_BUFFER];
    SimTime time = 42;

    assert_true(api_time_parse(row->text, &time));
    assert_int_equal(time, row->time);
    assert_string_equal(api_time_format(time, FALSE, buffer),
                        row->formatted == NULL ? row->text : row->formatted);
}
TEST_ROWS(good, reads_and_writes);

static const char *const bad[] = {
    "",
    "now",
    "2026-01-01",
    "2026-01-01 00:00:00Z",
    "2026-01-01T00:00:00",
    "2026-01-01T00:00Z",
    "2026-1-1T00:00:00Z",
    "2026-13-01T00:00:00Z",
    "2026-00-01T00:00:00Z",
    "2026-01-32T00:00:00Z",
    "2026-02-29T00:00:00Z",
    "2026-01-01T24:00:00Z",
    "2026-01-01T00:60:00Z",
    "2026-01-01T00:00:60Z",
    "2026-01-01T00:00:00.Z",
    "2026-01-01T00:00:00+1",
    "2026-01-01T00:00:00+25:00",
    "2026-01-01T00:00:00Z ",
    "9999-01-01T00:00:00Z", /* more than 292 years away */
};

static void
refuses(void **state)
{
    const char *const *row = *state;
    SimTime time;

    assert_false(api_time_parse(*row, &time));
}
TEST_ROWS(bad, refuses);

TEST(prints_microseconds)
{
    char buffer[API_TIME_BUFFER];

    assert_string_equal(api_time_format(1500 * SIM_US + 999, TRUE, buffer),
                        "2026-01-01T00:00:00.001500Z");
    assert_string_equal(api_time_format(-1, TRUE, buffer), "2025-12-31T23:59:59.999999Z");
}

TEST(every_day_survives_the_round_trip)
{
    char buffer[API_TIME_BUFFER];

    for (SimTime time = -DAY * 365 * 200; time < DAY * 365 * 200; time += DAY + 7 * SIM_SECOND) {
        SimTime back = 0;
        assert_true(api_time_parse(api_time_format(time, FALSE, buffer), &back));
        assert_int_equal(back, time);
    }
}
