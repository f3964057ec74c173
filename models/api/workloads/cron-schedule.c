/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/api/workloads/cron-schedule.h"

#include <string.h>

#include "models/api/field.h"

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

gboolean
cron_time_zone_is_fixed(const char *name, SimTime *offset)
{
    gint64 hours = 0;

    /* POSIX counts westwards: Etc/GMT-3 is three hours east of UTC. */
    if (g_str_has_prefix(name, "Etc/GMT") && name[7] != '\0') {
        if ((name[7] != '+' && name[7] != '-') ||
            !g_ascii_string_to_signed(name + 8, 10, 0, name[7] == '-' ? 14 : 12, &hours, NULL))
            return FALSE;
        hours = name[7] == '-' ? hours : -hours;
    } else if (strcmp(name, "UTC") != 0 && strcmp(name, "GMT") != 0 &&
               strcmp(name, "Etc/UTC") != 0 && strcmp(name, "Etc/GMT") != 0) {
        return FALSE;
    }
    if (offset != NULL)
        *offset = hours * SIM_HOUR;
    return TRUE;
}

gboolean
cron_schedule_parse(const char *text, const char *time_zone, CronSchedule *self, GError **error)
{
    *self = (CronSchedule){0};
    if (*text == '\0')
        return fault(error, "empty spec string");
    if (time_zone != NULL)
        cron_time_zone_is_fixed(time_zone, &self->offset);
    return *text == '@' ? parse_descriptor(text, self, error) : parse_fields(text, self, error);
}

/* ---- The next time ---- */

static gboolean
has(uint64_t bits, int value)
{
    return (bits >> value & 1) != 0;
}

/* If one of the two day fields is any, both must match, else one of them. */
static gboolean
day_matches(const CronSchedule *self, GDateTime *day)
{
    gboolean by_day = has(self->days, g_date_time_get_day_of_month(day));
    gboolean by_weekday = has(self->weekdays, g_date_time_get_day_of_week(day) % 7);

    return self->any_day || self->any_weekday ? by_day && by_weekday : by_day || by_weekday;
}

/* Returns: the first due minute of the day, from minute @from on; -1: none */
static int
minute_of_day(const CronSchedule *self, int from)
{
    for (int minute = from; minute < 24 * 60; minute++)
        if (has(self->hours, minute / 60) && has(self->minutes, minute % 60))
            return minute;
    return -1;
}

SimTime
cron_schedule_next(const CronSchedule *self, SimTime start, SimTime after)
{
    /* In whole seconds of the zone's clock, from 1970 on. */
    gint64 local = (api_time_unix(start, after) + self->offset) / SIM_SECOND;
    gint64 zero = (api_time_unix(start, 0) + self->offset) / SIM_SECOND;
    gint64 seconds_off = api_time_unix(start, 0) % SIM_SECOND;

    if (self->every > 0)
        return (local - zero) * SIM_SECOND - seconds_off + self->every;
    gint64 minute = local / 60 + 1;
    g_autoptr(GDateTime) day = g_date_time_new_from_unix_utc(minute / 1440 * 86400);
    int from = (int)(minute % 1440);
    int last_year = g_date_time_get_year(day) + 5;
    while (g_date_time_get_year(day) <= last_year) {
        int found = has(self->months, g_date_time_get_month(day)) && day_matches(self, day)
                        ? minute_of_day(self, from)
                        : -1;
        if (found >= 0)
            return (g_date_time_to_unix(day) + found * 60 - zero) * SIM_SECOND - seconds_off;
        GDateTime *next = g_date_time_add_days(day, 1);
        g_date_time_unref(day);
        day = next;
        from = 0;
    }
    return SIM_TIME_MAX;
}
