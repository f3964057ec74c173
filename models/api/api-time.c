/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Times of the API: RFC 3339 with an offset and up to nine digits of a second, as Go parses and
 * prints them. Days are counted as in Howard Hinnant's "chrono-compatible low-level date
 * algorithms": years begin in March, so that the leap day is the last one; 400 years are 146097
 * days. Neither the C library's calendar nor its time zone is asked. A time more than 292 years
 * from 1970 does not fit and is refused. */
#include <string.h>

#include "field.h"

typedef struct {
    int64_t year;
    unsigned month, day;
} CivilDate;

static int64_t
days_from_civil(CivilDate date)
{
    int64_t year = date.month <= 2 ? date.year - 1 : date.year;
    int64_t era = (year >= 0 ? year : year - 399) / 400;
    int64_t year_of_era = year - era * 400;
    int64_t day_of_year =
        (153 * (date.month > 2 ? date.month - 3 : date.month + 9) + 2) / 5 + date.day - 1;

    return era * 146097 + year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year -
           719468;
}

static CivilDate
civil_from_days(int64_t days)
{
    days += 719468;
    int64_t era = (days >= 0 ? days : days - 146096) / 146097;
    int64_t day_of_era = days - era * 146097;
    int64_t year_of_era =
        (day_of_era - day_of_era / 1460 + day_of_era / 36524 - day_of_era / 146096) / 365;
    int64_t day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    unsigned month = (unsigned)((5 * day_of_year + 2) / 153);

    return (CivilDate){
        .year = year_of_era + era * 400 + (month >= 10),
        .month = month < 10 ? month + 3 : month - 9,
        .day = (unsigned)(day_of_year - (153 * (int64_t)month + 2) / 5 + 1),
    };
}

/* Reads @n digits at *@text, then the character @follows unless it is 0, and steps over both. */
static gboolean
read_number(const char **text, unsigned n, char follows, unsigned *number)
{
    *number = 0;
    for (; n > 0; n--, (*text)++) {
        if (!g_ascii_isdigit(**text))
            return FALSE;
        *number = *number * 10 + (unsigned)(**text - '0');
    }
    if (follows != '\0' && *(*text)++ != follows)
        return FALSE;
    return TRUE;
}

/* ".123456789": finer digits are dropped, as in Go. */
static gboolean
read_fraction(const char **text, int64_t *ns)
{
    int64_t scale = SIM_SECOND / 10;

    *ns = 0;
    if (**text != '.')
        return TRUE;
    (*text)++;
    if (!g_ascii_isdigit(**text))
        return FALSE;
    for (; g_ascii_isdigit(**text); (*text)++, scale /= 10)
        *ns += (**text - '0') * scale;
    return TRUE;
}

static gboolean
read_zone(const char *text, int64_t *offset_s)
{
    unsigned hours, minutes;
    gboolean west = *text == '-';

    *offset_s = 0;
    if (strcmp(text, "Z") == 0 || strcmp(text, "z") == 0)
        return TRUE;
    if (*text != '+' && *text != '-')
        return FALSE;
    text++;
    if (!read_number(&text, 2, ':', &hours) || !read_number(&text, 2, '\0', &minutes) ||
        *text != '\0' || hours > 23 || minutes > 59)
        return FALSE;
    *offset_s = INT64_C(60) * (hours * 60 + minutes);
    if (west)
        *offset_s = -*offset_s;
    return TRUE;
}

static unsigned
days_in_month(unsigned year, unsigned month)
{
    static const uint8_t days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    gboolean leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;

    return month == 2 && leap ? 29 : days[month - 1];
}

gboolean
api_time_parse(const char *text, SimTime *time)
{
    unsigned year, month, day, hour, minute, second;
    int64_t ns, offset_s;

    if (!read_number(&text, 4, '-', &year) || !read_number(&text, 2, '-', &month) ||
        !read_number(&text, 2, '\0', &day) || (*text != 'T' && *text != 't'))
        return FALSE;
    text++;
    if (!read_number(&text, 2, ':', &hour) || !read_number(&text, 2, ':', &minute) ||
        !read_number(&text, 2, '\0', &second) || !read_fraction(&text, &ns) ||
        !read_zone(text, &offset_s))
        return FALSE;
    if (month < 1 || month > 12 || day < 1 || day > days_in_month(year, month) || hour > 23 ||
        minute > 59 || second > 59)
        return FALSE;

    int64_t days = days_from_civil((CivilDate){year, month, day});
    int64_t seconds = days * 86400 + INT64_C(3600) * hour + INT64_C(60) * minute + second -
                      offset_s - API_EPOCH_S;
    int64_t whole;
    if (__builtin_mul_overflow(seconds, SIM_SECOND, &whole) ||
        __builtin_add_overflow(whole, ns, time))
        return FALSE; /* more than 292 years from the epoch */
    return *time != TIME_UNSET;
}

/* Writes the last @n digits of @number, with leading zeros, then @follows. */
static char *
write_number(char *place, unsigned number, unsigned n, char follows)
{
    for (unsigned i = n; i-- > 0; number /= 10)
        place[i] = (char)('0' + number % 10);
    place[n] = follows;
    return place + n + 1;
}

const char *
api_time_format(SimTime time, gboolean micro, char *buffer)
{
    int64_t ns = time % SIM_SECOND, seconds = time / SIM_SECOND + API_EPOCH_S;
    char *place = buffer;

    if (ns < 0) {
        ns += SIM_SECOND;
        seconds--;
    }
    int64_t of_day = seconds % 86400;
    if (of_day < 0)
        of_day += 86400;
    CivilDate date = civil_from_days((seconds - of_day) / 86400);
    place = write_number(place, (unsigned)date.year, 4, '-'); /* 292 years about 2026 */
    place = write_number(place, date.month, 2, '-');
    place = write_number(place, date.day, 2, 'T');
    place = write_number(place, (unsigned)(of_day / 3600), 2, ':');
    place = write_number(place, (unsigned)(of_day / 60 % 60), 2, ':');
    place = write_number(place, (unsigned)(of_day % 60), 2, micro ? '.' : 'Z');
    if (micro)
        place = write_number(place, (unsigned)(ns / 1000), 6, 'Z');
    *place = '\0';
    return buffer;
}
