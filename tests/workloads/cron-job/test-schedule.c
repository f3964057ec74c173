/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/api/field.h"
#include "models/workloads/cron-job/cron-job.h"
#include "models/workloads/cron-job/due.h"
#include "tests/lib/test.h"

#include <stdlib.h>
#include <string.h>

/* CRJ-20, CRJ-4, CRJ-10, CRJ-11: the times of CronJobs. */

const ModelClass *const model_classes[] = {&cron_job_controller_class, NULL};

static SimTime
calendar(const char *text)
{
    SimTime time;

    assert_true(api_time_parse(text, &time));
    return time;
}

/* The run begins at 2026-03-01T12:00:00.25Z, a Sunday. */
#define START "2026-03-01T12:00:00.25Z"

static SimTime
at(const char *text)
{
    return calendar(text) - calendar(START);
}

/* ---- The next time ---- */

typedef struct {
    const char *schedule, *time_zone, *after, *next; /* NULL: none within five years */
} NextCase;

static const NextCase next_cases[] = {
    {"* * * * *",                  NULL,                  "2026-03-01T12:00:00Z",   "2026-03-01T12:01:00Z"},
    {"* * * * *",                  NULL,                  "2026-03-01T12:00:59.9Z", "2026-03-01T12:01:00Z"},
    {"*/15 * * * *",               NULL,                  "2026-03-01T12:45:00Z",   "2026-03-01T13:00:00Z"},
    {"7/20 * * * *",               NULL,                  "2026-03-01T12:00:00Z",   "2026-03-01T12:07:00Z"},
    {"7/20 * * * *",               NULL,                  "2026-03-01T12:47:00Z",   "2026-03-01T13:07:00Z"},
    {"30 2 * * *",                 NULL,                  "2026-03-01T02:30:00Z",   "2026-03-02T02:30:00Z"},
    {"0 0 1 * *",                  NULL,                  "2026-12-15T00:00:00Z",   "2027-01-01T00:00:00Z"},
    {"0 0 29 feb *",               NULL,                  "2026-03-01T00:00:00Z",   "2028-02-29T00:00:00Z"},
    {"0 0 31 2 *",                 NULL,                  "2026-03-01T00:00:00Z",   NULL                  },
 /* Both day fields: either of them; with a star both. A star with a step is none. */
    {"0 0 13 * FRI",               NULL,                  "2026-03-01T00:00:00Z",   "2026-03-06T00:00:00Z"},
    {"0 0 13 * FRI",               NULL,                  "2026-03-07T00:00:00Z",   "2026-03-13T00:00:00Z"},
    {"0 0 * * 1-5",                NULL,                  "2026-03-06T00:00:00Z",   "2026-03-09T00:00:00Z"},
    {"0 0 ? * 0",                  NULL,                  "2026-03-01T00:00:00Z",   "2026-03-08T00:00:00Z"},
    {"0 0 */10 * MON",             NULL,                  "2026-03-01T00:00:00Z",   "2026-03-02T00:00:00Z"},
    {"30 6-16/4 * * 1-5",          NULL,                  "2026-03-06T14:30:00Z",   "2026-03-09T06:30:00Z"},
    {"0,30 8,20 * jan-mar *",      NULL,                  "2026-03-01T08:30:00Z",   "2026-03-01T20:00:00Z"},
    {"@hourly",                    NULL,                  "2026-03-01T12:00:00Z",   "2026-03-01T13:00:00Z"},
    {"@weekly",                    NULL,                  "2026-03-01T12:00:00Z",   "2026-03-08T00:00:00Z"},
    {"@yearly",                    NULL,                  "2026-03-01T12:00:00Z",   "2027-01-01T00:00:00Z"},
    {"@every 90m",                 NULL,                  "2026-03-01T12:00:05.5Z", "2026-03-01T13:30:05Z"},
    {"@every 10ms",                NULL,                  "2026-03-01T12:00:05Z",   "2026-03-01T12:00:06Z"},
    {"0 2 * * *",                  "Etc/GMT-3",           "2026-03-01T00:00:00Z",   "2026-03-01T23:00:00Z"},
    {"0 2 * * *",                  "Etc/GMT+3",           "2026-03-01T00:00:00Z",   "2026-03-01T05:00:00Z"},
    {"0 2 * * *",                  "UTC",                 "2026-03-01T00:00:00Z",   "2026-03-01T02:00:00Z"},
    {"30 4 * * *",                 "Asia/Kolkata",        "2026-03-01T12:00:00Z",   "2026-03-01T23:00:00Z"},
    {"0 2 * * *",                  "America/New_York",    "2026-03-01T12:00:00Z",   "2026-03-02T07:00:00Z"},
    {"0 12 * 6 *",                 "America/New_York",    "2026-03-01T12:00:00Z",   "2026-06-01T16:00:00Z"},
    {"0 12 1 1 *",                 "Australia/Sydney",    "2026-03-01T12:00:00Z",   "2027-01-01T01:00:00Z"},
    {"0 12 1 7 *",                 "Australia/Sydney",    "2026-03-01T12:00:00Z",   "2026-07-01T02:00:00Z"},
    {"0 12 1 7 *",                 "Europe/Dublin",       "2026-03-01T12:00:00Z",   "2026-07-01T11:00:00Z"},
    {"TZ=Asia/Shanghai 0 2 * * *", NULL,                  "2026-03-01T12:00:00Z",   "2026-03-01T18:00:00Z"},
 /* 02:30 is skipped on March 29: not due that day. On October 25 it comes twice: due twice. */
    {"30 2 * * *",                 "Europe/Berlin",       "2026-03-28T02:00:00Z",   "2026-03-30T00:30:00Z"},
    {"30 2 * * *",                 "Europe/Berlin",       "2026-10-24T12:00:00Z",   "2026-10-25T00:30:00Z"},
    {"30 2 * * *",                 "Europe/Berlin",       "2026-10-25T00:30:00Z",   "2026-10-25T01:30:00Z"},
    {"*/30 * * * *",               "Europe/Berlin",       "2026-03-29T00:30:00Z",   "2026-03-29T01:00:00Z"},
 /* Midnight is skipped on March 8. */
    {"0 0 * * *",                  "America/Havana",      "2026-03-07T12:00:00Z",   "2026-03-09T04:00:00Z"},
    {"0 1 8 3 *",                  "America/Havana",      "2026-03-07T12:00:00Z",   "2026-03-08T05:00:00Z"},
 /* Faults of the library: a day whose midnight is skipped east of Greenwich may be missed, and
  * an hour   after a change by half an hour. */
    {"0 12 24 4 *",                "Africa/Cairo",        "2026-03-01T12:00:00Z",   "2027-04-24T10:00:00Z"},
    {"0 12 * * *",                 "Africa/Cairo",        "2026-04-23T12:00:00Z",   "2026-04-24T09:00:00Z"},
    {"0 12 4 10 *",                "Australia/Lord_Howe", "2026-03-01T12:00:00Z",   "2027-10-04T01:00:00Z"},
};

TEST(the_next_time)
{
    for (unsigned i = 0; i < G_N_ELEMENTS(next_cases); i++) {
        const NextCase *c = &next_cases[i];
        CronSchedule schedule;
        g_autoptr(GError) error = NULL;

        print_message("%s after %s\n", c->schedule, c->after);
        assert_true(cron_schedule_parse(c->schedule, c->time_zone, &schedule, &error));
        SimTime next = cron_schedule_next(&schedule, calendar(START), at(c->after));
        if (c->next == NULL)
            assert_true(next == SIM_TIME_MAX);
        else
            assert_int_equal(next, at(c->next));
    }
}

static const struct {
    const char *schedule, *fault;
} faults[] = {
    {"",                       "empty spec string"                                           },
    {"* * * *",                "expected exactly 5 fields, found 4: * * * *"                 },
    {"* * * * * *",            "expected exactly 5 fields, found 6: * * * * * *"             },
    {"60 * * * *",             "end of range (60) above maximum (59): 60"                    },
    {"* * 0 * *",              "beginning of range (0) below minimum (1): 0"                 },
    {"* 5-2 * * *",            "beginning of range (5) beyond end of range (2): 5-2"         },
    {"*/0 * * * *",            "step of range should be a positive number: */0"              },
    {"1-2-3 * * * *",          "too many hyphens: 1-2-3"                                     },
    {"*/2/3 * * * *",          "too many slashes: */2/3"                                     },
    {"* * * * MOON",           "failed to parse int from MOON"                               },
    {"* * * * 7",              "end of range (7) above maximum (6): 7"                       },
    {"-1 * * * *",             "failed to parse int from "                                   },
    {"99999999999 * * * *",    "failed to parse int from 99999999999"                        },
    {"@fortnightly",           "unrecognized descriptor: @fortnightly"                       },
    {"@every noon",            "failed to parse duration @every noon"                        },
    {"TZ=Mars/Base * * * * *", "provided bad location Mars/Base: unknown time zone Mars/Base"},
};

TEST(faulty_schedules)
{
    for (unsigned i = 0; i < G_N_ELEMENTS(faults); i++) {
        CronSchedule schedule;
        g_autoptr(GError) error = NULL;

        print_message("%s\n", faults[i].schedule);
        assert_false(cron_schedule_parse(faults[i].schedule, NULL, &schedule, &error));
        assert_string_equal(error->message, faults[i].fault);
    }
}

/* ---- Time zones ---- */

static const struct {
    const char *name;
    gboolean is_known;
} names[] = {
    {"Europe/Berlin",        TRUE },
    {"UTC",                  TRUE },
    {"Etc/GMT-14",           TRUE },
    {"Asia/Ho_Chi_Minh",     TRUE },
    {"America/Indiana/Knox", TRUE },
    {"",                     FALSE},
    {"Europe",               FALSE},
    {"europe/berlin",        FALSE},
    {"Local",                FALSE},
    {"Berlin",               FALSE},
    {"UTC GMT",              FALSE},
    {"Etc/GMT-1",            TRUE },
};

/* Each zone of the table against GLib's reader of the rule that tzdata gives for a few of them. */
static const struct {
    const char *name, *rule;
} rules[] = {
    {"Europe/Berlin",      "CET-1CEST,M3.5.0,M10.5.0/3"    },
    {"Europe/London",      "GMT0BST,M3.5.0/1,M10.5.0"      },
    {"America/New_York",   "EST5EDT,M3.2.0,M11.1.0"        },
    {"Australia/Adelaide", "ACST-9:30ACDT,M10.1.0,M4.1.0/3"},
    {"Pacific/Auckland",   "NZST-12NZDT,M9.5.0,M4.1.0/3"   },
    {"Asia/Tokyo",         "JST-9"                         },
};

TEST(time_zones)
{
    for (unsigned i = 0; i < G_N_ELEMENTS(names); i++) {
        print_message("%s\n", names[i].name);
        assert_int_equal(time_zone_find(names[i].name) != NULL, names[i].is_known);
    }
    for (unsigned i = 0; i < G_N_ELEMENTS(rules); i++) {
        g_autoptr(GTimeZone) zone = g_time_zone_new_identifier(rules[i].rule);
        const TimeZone *ours = time_zone_find(rules[i].name);

        print_message("%s\n", rules[i].name);
        assert_non_null(zone);
        /* Every half hour of the years 2024 to 2028. */
        for (int64_t at = 1704067200; at < 1861920000; at += 1800) {
            int interval = g_time_zone_find_interval(zone, G_TIME_TYPE_UNIVERSAL, at);
            assert_int_equal(time_zone_offset(ours, at), g_time_zone_get_offset(zone, interval));
        }
    }
}

/* ---- What is due ---- */

typedef struct {
    const char *schedule, *last; /* NULL: it has had none since it was made, at 12:00:10 */
    int32_t deadline_s;
    const char *now, *due; /* NULL: none */
    gboolean is_many;
    const char *again; /* the next look, without its 100 ms */
} DueCase;

/* clang-format off */
static const DueCase due_cases[] = {
    {"*/10 * * * *",      NULL,                   -1, "2026-03-01T12:05:00Z",   NULL,                   FALSE, "2026-03-01T12:10:00Z"},
    {"*/10 * * * *",      NULL,                   -1, "2026-03-01T12:10:00.1Z", "2026-03-01T12:10:00Z", FALSE, "2026-03-01T12:20:00Z"},
    {"*/10 * * * *",      "2026-03-01T12:10:00Z", -1, "2026-03-01T12:10:01Z",   NULL,                   FALSE, "2026-03-01T12:20:00Z"},
 /* Three were missed: only the last one counts. */
    {"*/10 * * * *",      "2026-03-01T12:10:00Z", -1, "2026-03-01T12:45:00Z",   "2026-03-01T12:40:00Z", FALSE, "2026-03-01T12:50:00Z"},
    {"* * * * *",         NULL,                   -1, "2026-03-01T13:41:30Z",   "2026-03-01T13:41:00Z", TRUE,  "2026-03-01T13:42:00Z"},
    {"* * * * *",         NULL,                   60, "2026-03-01T13:41:30Z",   "2026-03-01T13:41:00Z", FALSE, "2026-03-01T13:42:00Z"},
    {"0 * * * *",         NULL,                   60, "2026-03-01T13:30:00Z",   NULL,                   FALSE, "2026-03-01T14:00:00Z"},
 /* An uneven schedule: the estimate begins one period too early. */
    {"30 6-16/4 * * 1-5", "2026-03-02T06:30:00Z", -1, "2026-03-03T09:00:00Z",   "2026-03-03T06:30:00Z", FALSE, "2026-03-03T10:30:00Z"},
    {"@every 90m",        NULL,                   -1, "2026-03-01T15:30:00Z",   "2026-03-01T15:00:10Z", FALSE, "2026-03-01T16:30:10Z"},
};
/* clang-format on */

TEST(what_is_due)
{
    g_autoptr(Objects) objects = objects_new(1);
    Object *object = object_new(objects_key(objects, KIND_CRON_JOB, "default", "work"));
    CronJob *cron = CRON_JOB(object);

    cron->meta.created_at = at("2026-03-01T12:00:10Z");
    for (unsigned i = 0; i < G_N_ELEMENTS(due_cases); i++) {
        const DueCase *c = &due_cases[i];
        CronSchedule schedule;
        gboolean is_many;

        print_message("%s at %s\n", c->schedule, c->now);
        assert_true(cron_schedule_parse(c->schedule, NULL, &schedule, NULL));
        cron->scheduled_at = c->last == NULL ? TIME_UNSET : at(c->last);
        cron->starting_deadline_s = c->deadline_s;
        SimTime due = cron_job_due(cron, &schedule, calendar(START), at(c->now), &is_many);
        assert_int_equal(due, c->due == NULL ? TIME_UNSET : at(c->due));
        assert_int_equal(is_many, c->is_many);
        SimTime wait = cron_job_wait(cron, &schedule, calendar(START), at(c->now));
        assert_int_equal(at(c->now) + wait, at(c->again) + 100 * SIM_MS);
    }
    g_autofree char *name = cron_job_job_name(cron, calendar(START), at("2026-03-01T12:10:00Z"));
    assert_string_equal(name, "work-29539450");
    object_unref(object);
}
