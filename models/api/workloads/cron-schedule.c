/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Cron schedules: parsing and the next due time, as the library robfig/cron does it. A field is a
 * set of bits. The next time is searched by day, hour and minute, each from its beginning when a
 * larger one has passed; a time that the zone's clock skips is not due, and one that it shows twice
 * is due twice. The search ends after five years. */
#include "models/api/workloads/cron-schedule.h"

#include <string.h>

#include "models/api/field.h"

#define DAY_S 86400

/* One of the five fields: its name, its values, and their names from the least value on. */
typedef struct {
    const char *name;
    unsigned least, most;
    const char *const *words; /* NULL: none */
} FieldBounds;

static const char *const month_words[] = {"jan", "feb", "mar", "apr", "may", "jun", "jul",
                                          "aug", "sep", "oct", "nov", "dec", NULL};
static const char *const weekday_words[] = {"sun", "mon", "tue", "wed", "thu", "fri", "sat", NULL};

enum {
    MINUTE,
    HOUR,
    DAY,
    MONTH,
    WEEKDAY,
    N_FIELDS,
};

static const FieldBounds bounds[N_FIELDS] = {
    {"minute",       0, 59, NULL         },
    {"hour",         0, 23, NULL         },
    {"day of month", 1, 31, NULL         },
    {"month",        1, 12, month_words  },
    {"day of week",  0, 6,  weekday_words},
};

static const struct {
    const char *name, *fields;
} descriptors[] = {
    {"@yearly",   "0 0 1 1 *"},
    {"@annually", "0 0 1 1 *"},
    {"@monthly",  "0 0 1 * *"},
    {"@weekly",   "0 0 * * 0"},
    {"@daily",    "0 0 * * *"},
    {"@midnight", "0 0 * * *"},
    {"@hourly",   "0 * * * *"},
};

static gboolean G_GNUC_PRINTF(2, 3) fault(GError **error, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    if (error != NULL)
        *error = g_error_new_valist(G_CONVERT_ERROR, G_CONVERT_ERROR_FAILED, format, args);
    va_end(args);
    return FALSE;
}

/* ---- Parsing ---- */

static gboolean
parse_value(const FieldBounds *field, const char *text, unsigned *value, GError **error)
{
    guint64 number;

    for (unsigned i = 0; field->words != NULL && field->words[i] != NULL; i++)
        if (g_ascii_strcasecmp(field->words[i], text) == 0) {
            *value = field->least + i;
            return TRUE;
        }
    if (!g_ascii_string_to_unsigned(text, 10, 0, G_MAXINT32, &number, NULL))
        return fault(error, "failed to parse int from %s", text);
    *value = (unsigned)number;
    return TRUE;
}

/* "5", "1-5" or "*" before a "/". @has_end: a range or "*" */
static gboolean
parse_range(const FieldBounds *field,
            const char *text,
            unsigned *first,
            unsigned *last,
            gboolean *has_end,
            GError **error)
{
    g_auto(GStrv) ends = g_strsplit(text, "-", 3);

    *has_end = TRUE;
    if (strcmp(text, "*") == 0 || strcmp(text, "?") == 0) {
        *first = field->least;
        *last = field->most;
        return TRUE;
    }
    if (g_strv_length(ends) > 2)
        return fault(error, "too many hyphens: %s", text);
    if (!parse_value(field, ends[0] == NULL ? "" : ends[0], first, error))
        return FALSE;
    *last = *first;
    *has_end = ends[1] != NULL;
    return ends[1] == NULL || parse_value(field, ends[1], last, error);
}

/* One item of a list: "*", "*" "/5", "10-20/2", "MON". */
static gboolean
parse_item(const FieldBounds *field, const char *text, uint64_t *bits, GError **error)
{
    g_auto(GStrv) parts = g_strsplit(text, "/", 3);
    const FieldBounds number = {.name = field->name};
    unsigned first = 0, last = 0, step = 1;
    gboolean has_end;

    if (g_strv_length(parts) > 2)
        return fault(error, "too many slashes: %s", text);
    if (!parse_range(field, parts[0] == NULL ? "" : parts[0], &first, &last, &has_end, error))
        return FALSE;
    if (parts[0] != NULL && parts[1] != NULL) {
        if (!parse_value(&number, parts[1], &step, error))
            return FALSE;
        last = has_end ? last : field->most; /* "N/step" means "N-max/step" */
    }
    if (first < field->least)
        return fault(error, "beginning of range (%u) below minimum (%u): %s", first, field->least,
                     text);
    if (last > field->most)
        return fault(error, "end of range (%u) above maximum (%u): %s", last, field->most, text);
    if (first > last)
        return fault(error, "beginning of range (%u) beyond end of range (%u): %s", first, last,
                     text);
    if (step == 0)
        return fault(error, "step of range should be a positive number: %s", text);
    for (unsigned i = first; i <= last; i += step)
        *bits |= UINT64_C(1) << i;
    return TRUE;
}

static gboolean
parse_field(const FieldBounds *field, const char *text, uint64_t *bits, GError **error)
{
    g_auto(GStrv) items = g_strsplit(text, ",", -1);

    for (unsigned i = 0; items[i] != NULL; i++)
        if (*items[i] != '\0' && !parse_item(field, items[i], bits, error))
            return FALSE;
    return TRUE;
}

/* Whether an item of the list is all values. With a step it is none. */
static gboolean
is_any(const char *text)
{
    g_auto(GStrv) items = g_strsplit(text, ",", -1);

    for (unsigned i = 0; items[i] != NULL; i++)
        if ((items[i][0] == '*' || items[i][0] == '?') &&
            (items[i][1] == '\0' || strcmp(items[i] + 1, "/1") == 0))
            return TRUE;
    return FALSE;
}

static gboolean
parse_fields(const char *text, CronSchedule *self, GError **error)
{
    uint64_t *const bits[N_FIELDS] = {&self->minutes, &self->hours, &self->days, &self->months,
                                      &self->weekdays};
    g_auto(GStrv) words = g_strsplit_set(text, " \t\n", -1);
    const char *fields[N_FIELDS + 1] = {0};
    unsigned n = 0;

    for (unsigned i = 0; words[i] != NULL; i++)
        if (*words[i] != '\0') {
            fields[MIN(n, N_FIELDS)] = words[i];
            n++;
        }
    if (n != N_FIELDS)
        return fault(error, "expected exactly 5 fields, found %u: %s", n, text);
    for (unsigned i = 0; i < N_FIELDS; i++)
        if (!parse_field(&bounds[i], fields[i], bits[i], error))
            return FALSE;
    self->any_day = is_any(fields[DAY]);
    self->any_weekday = is_any(fields[WEEKDAY]);
    return TRUE;
}

/* "@every 1h30m": whole seconds, one at least. */
static gboolean
parse_descriptor(const char *text, CronSchedule *self, GError **error)
{
    SimTime every;

    for (unsigned i = 0; i < G_N_ELEMENTS(descriptors); i++)
        if (strcmp(descriptors[i].name, text) == 0)
            return parse_fields(descriptors[i].fields, self, error);
    if (!g_str_has_prefix(text, "@every "))
        return fault(error, "unrecognized descriptor: %s", text);
    if (!sim_time_parse(text + strlen("@every "), &every, NULL))
        return fault(error, "failed to parse duration %s", text);
    self->every = MAX(every - every % SIM_SECOND, SIM_SECOND);
    return TRUE;
}

/* "TZ=Europe/Berlin 0 2 * * *". Returns: the rest of @text; NULL: with a fault */
static const char *
parse_zone(const char *text, CronSchedule *self, GError **error)
{
    const char *equals = strchr(text, '='), *blank = strchr(text, ' ');

    if (!g_str_has_prefix(text, "TZ=") && !g_str_has_prefix(text, "CRON_TZ="))
        return text;
    g_autofree char *name = g_strndup(equals + 1, blank == NULL ? 0 : (gsize)(blank - equals - 1));
    self->zone = time_zone_find(name);
    if (self->zone != NULL)
        return blank + strspn(blank, " ");
    fault(error, "provided bad location %s: unknown time zone %s", name, name);
    return NULL;
}

gboolean
cron_schedule_parse(const char *text, const char *time_zone, CronSchedule *self, GError **error)
{
    *self = (CronSchedule){.zone = time_zone == NULL ? NULL : time_zone_find(time_zone)};
    text = parse_zone(text, self, error);
    if (text == NULL)
        return FALSE;
    if (*text == '\0')
        return fault(error, "empty spec string");
    return *text == '@' ? parse_descriptor(text, self, error) : parse_fields(text, self, error);
}

/* ---- The next time ---- */

static gboolean
has(uint64_t bits, int value)
{
    return (bits >> value & 1) != 0;
}

/* An instant, in seconds since 1970, and what the zone's clock shows then. */
typedef struct {
    int64_t at;
    int64_t day; /* since 1970 */
    GDate date;
    int hour, minute;
} Clock;

static Clock
clock_at(const TimeZone *zone, int64_t at)
{
    int64_t local = at + time_zone_offset(zone, at);
    int64_t day = local / DAY_S - (local % DAY_S < 0);
    Clock clock = {.at = at,
                   .day = day,
                   .hour = (int)(local - day * DAY_S) / 3600,
                   .minute = (int)(local - day * DAY_S) / 60 % 60};

    g_date_clear(&clock.date, 1);
    g_date_set_julian(&clock.date, (guint32)(day + TIME_ZONE_JULIAN_1970));
    return clock;
}

/* time.Date() of Go: of an hour that the clock skips or has twice, this is the instant. */
static Clock
clock_on(const TimeZone *zone, int64_t day, int hour)
{
    int64_t local = day * DAY_S + hour * 3600;

    return clock_at(zone, local - time_zone_offset(zone, local - time_zone_offset(zone, local)));
}

/* If one of the two day fields is "any", both must match, otherwise one suffices. */
static gboolean
day_matches(const CronSchedule *self, const GDate *day)
{
    gboolean by_day = has(self->days, g_date_get_day(day));
    gboolean by_weekday = has(self->weekdays, (int)g_date_get_weekday(day) % 7);

    return has(self->months, (int)g_date_get_month(day)) &&
           (self->any_day || self->any_weekday ? by_day && by_weekday : by_day || by_weekday);
}

/* The next day's midnight. If the clock skips it, there are two cases, as in the library: east of
 * Greenwich the last hour of the day before, and the day may be missed; west of it the first hour.
 */
static Clock
next_day(const TimeZone *zone, const Clock *clock)
{
    Clock next = clock_on(zone, clock->day + 1, clock->hour);

    if (next.hour == 0)
        return next;
    return clock_at(zone, next.at + (next.hour > 12 ? 24 - next.hour : -next.hour) * 3600);
}

/* SpecSchedule.Next(): day, hour and minute, each from the first one on that matches, and from the
 * beginning whenever a larger one has passed. Thus a time that the clock skips is not due, and one
 * that it shows twice is due twice. @at: the first minute that may be due
 * Returns: the due minute; -1: there is none within five years */
static int64_t
next_minute(const CronSchedule *self, int64_t at)
{
    const TimeZone *zone = self->zone;
    Clock clock = clock_at(zone, at);
    int last_year = g_date_get_year(&clock.date) + 5;
    gboolean is_begun = FALSE; /* smaller units are at their beginning */

    while (g_date_get_year(&clock.date) <= last_year) {
        if (!day_matches(self, &clock.date)) {
            if (!is_begun)
                clock = clock_on(zone, clock.day, 0);
            clock = next_day(zone, &clock);
            is_begun = TRUE;
        } else if (!has(self->hours, clock.hour)) {
            if (!is_begun)
                clock = clock_on(zone, clock.day, clock.hour);
            clock = clock_at(zone, clock.at + 3600);
            is_begun = TRUE;
        } else if (!has(self->minutes, clock.minute)) {
            clock = clock_at(zone, clock.at + 60);
            is_begun = TRUE;
        } else {
            return clock.at;
        }
    }
    return -1;
}

SimTime
cron_schedule_next(const CronSchedule *self, SimTime start, SimTime after)
{
    int64_t now = api_time_unix(start, after) / SIM_SECOND;
    int64_t due =
        self->every > 0 ? now + self->every / SIM_SECOND : next_minute(self, (now / 60 + 1) * 60);

    return due < 0 ? SIM_TIME_MAX : due * SIM_SECOND - api_time_unix(start, 0);
}
