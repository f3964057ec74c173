/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Values of JSON objects by path, and texts of values as Go and kubectl print them: %v, durations,
 * ages, dates, quantities. A missing value, null and a value of another type are treated alike.
 * Dates are printed in English in every locale. An age has two parts while the smaller one still
 * matters (HumanDuration). */
#include <string.h>

#include "models/api/field.h"
#include "run/kubectl/kubectl-test.h"
#include "sim/strings.h"
#include "value.h"

json_t *
value_at(json_t *object, const char *path)
{
    while (object != NULL && *path != '\0') {
        gsize length = strcspn(path, ".");

        object = json_object_getn(object, path, length);
        path += length;
        if (*path == '.')
            path++;
    }
    return json_is_null(object) ? NULL : object;
}

const char *
value_text(json_t *object, const char *path)
{
    const char *text = json_string_value(value_at(object, path));

    return text != NULL ? text : "";
}

int64_t
value_integer(json_t *object, const char *path, int64_t missing)
{
    json_t *value = value_at(object, path);

    return json_is_integer(value) ? json_integer_value(value) : missing;
}

gboolean
value_is_true(json_t *object, const char *path)
{
    return json_is_true(value_at(object, path));
}

gsize
value_length(json_t *object, const char *path)
{
    json_t *value = value_at(object, path);

    return json_is_array(value) ? json_array_size(value) : json_object_size(value);
}

char **
value_keys(json_t *map)
{
    GPtrArray *keys = g_ptr_array_new();
    const char *key;
    json_t *value;

    json_object_foreach(map, key, value)
        g_ptr_array_add(keys, g_strdup(key));
    g_ptr_array_sort(keys, strings_compare);
    g_ptr_array_add(keys, NULL);
    return (char **)g_ptr_array_free(keys, FALSE);
}

json_t *
value_find(json_t *list, const char *key, const char *text)
{
    json_t *item;
    gsize i;

    json_array_foreach(list, i, item)
        if (strcmp(value_text(item, key), text) == 0)
            return item;
    return NULL;
}

json_t *
value_controller(json_t *object)
{
    json_t *owner;
    gsize i;

    json_array_foreach(value_at(object, "metadata.ownerReferences"), i, owner)
        if (value_is_true(owner, "controller"))
            return owner;
    return NULL;
}

gboolean
value_has_word(json_t *list, const char *word)
{
    json_t *item;
    gsize i;

    json_array_foreach(list, i, item)
        if (json_is_string(item) && strcmp(json_string_value(item), word) == 0)
            return TRUE;
    return FALSE;
}

/* %v of a float64: the fewest digits that give the number back; Go writes exponents from 1e21 on */
static void
append_real(GString *out, double real)
{
    char text[G_ASCII_DTOSTR_BUF_SIZE];

    for (int digits = 1; digits <= 17; digits++) {
        char format[8];

        g_snprintf(format, sizeof format, "%%.%dg", digits);
        g_ascii_formatd(text, sizeof text, format, real);
        if (g_ascii_strtod(text, NULL) == real)
            break;
    }
    g_string_append(out, text);
}

void
value_append_go(GString *out, json_t *value)
{
    if (json_is_string(value)) {
        g_string_append_len(out, json_string_value(value), (gssize)json_string_length(value));
    } else if (json_is_integer(value)) {
        g_string_append_printf(out, "%" JSON_INTEGER_FORMAT, json_integer_value(value));
    } else if (json_is_real(value)) {
        append_real(out, json_real_value(value));
    } else if (json_is_boolean(value)) {
        g_string_append(out, json_is_true(value) ? "true" : "false");
    } else if (json_is_array(value)) {
        json_t *item;
        gsize i;

        g_string_append_c(out, '[');
        json_array_foreach(value, i, item) {
            if (i > 0)
                g_string_append_c(out, ' ');
            value_append_go(out, item);
        }
        g_string_append_c(out, ']');
    } else if (json_is_object(value)) {
        g_auto(GStrv) keys = value_keys(value);

        g_string_append(out, "map[");
        for (unsigned i = 0; keys[i] != NULL; i++) {
            g_string_append_printf(out, "%s%s:", i > 0 ? " " : "", keys[i]);
            value_append_go(out, json_object_get(value, keys[i]));
        }
        g_string_append_c(out, ']');
    } else {
        g_string_append(out, "<nil>");
    }
}

void
value_append_joined(GString *out, json_t *list, const char *separator)
{
    json_t *item;
    gsize i;

    json_array_foreach(list, i, item) {
        if (i > 0)
            g_string_append(out, separator);
        value_append_go(out, item);
    }
}

void
value_append_map(GString *out, json_t *map)
{
    g_auto(GStrv) keys = value_keys(map);

    if (keys[0] == NULL)
        g_string_append(out, "<none>");
    for (unsigned i = 0; keys[i] != NULL; i++)
        g_string_append_printf(out, "%s%s=%s", i > 0 ? "," : "", keys[i],
                               json_string_value(json_object_get(map, keys[i])));
}

void
value_append_quantity(GString *out, json_t *quantity)
{
    g_autofree char *number = NULL;
    const char *text = json_string_value(quantity);
    char buffer[QUANTITY_BUFFER];

    if (json_is_integer(quantity))
        text = number = g_strdup_printf("%" JSON_INTEGER_FORMAT, json_integer_value(quantity));
    if (text == NULL)
        g_string_append_c(out, '0');
    else
        g_string_append(out, quantity_canonical(text, buffer, NULL) ? buffer : text);
}

ValueTime
value_time_parse(const char *text)
{
    SimTime time;

    if (!api_time_parse(text, &time))
        return VALUE_TIME_NONE;
    return time + API_EPOCH_S * SIM_SECOND;
}

ValueTime
value_time(json_t *object, const char *path)
{
    const char *text = value_text(object, path);

    return *text != '\0' ? value_time_parse(text) : VALUE_TIME_NONE;
}

/* "3m4s", or "3m" if the smaller part is 0. */
static void
append_two(GString *out, int64_t large, char large_unit, int64_t small, char small_unit)
{
    g_string_append_printf(out, "%" PRId64 "%c", large, large_unit);
    if (small != 0)
        g_string_append_printf(out, "%" PRId64 "%c", small, small_unit);
}

/* HumanDuration of k8s.io/apimachinery: two parts while the smaller one still matters. */
void
value_append_age(GString *out, ValueTime time, ValueTime now)
{
    if (time == VALUE_TIME_NONE) {
        g_string_append(out, "<unknown>");
        return;
    }

    /* Clocks differ: a time up to two seconds ahead counts as now. */
    int64_t seconds = (now - time) / SIM_SECOND, minutes = seconds / 60, hours = minutes / 60,
            days = hours / 24;

    if (seconds < -1)
        g_string_append(out, "<invalid>");
    else if (seconds < 0)
        g_string_append(out, "0s");
    else if (seconds < 120)
        g_string_append_printf(out, "%" PRId64 "s", seconds);
    else if (minutes < 10)
        append_two(out, minutes, 'm', seconds % 60, 's');
    else if (minutes < 180)
        g_string_append_printf(out, "%" PRId64 "m", minutes);
    else if (hours < 8)
        append_two(out, hours, 'h', minutes % 60, 'm');
    else if (hours < 48)
        g_string_append_printf(out, "%" PRId64 "h", hours);
    else if (hours < 24 * 8)
        append_two(out, days, 'd', hours % 24, 'h');
    else if (days < 2 * 365)
        g_string_append_printf(out, "%" PRId64 "d", days);
    else if (days < 8 * 365)
        append_two(out, days / 365, 'y', days % 365, 'd');
    else
        g_string_append_printf(out, "%" PRId64 "y", days / 365);
}

void
value_append_date(GString *out, ValueTime time)
{
    static const char *const days[] = {"Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"};
    static const char *const months[] = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                         "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};

    if (time == VALUE_TIME_NONE) {
        g_string_append(out, "Mon, 01 Jan 0001 00:00:00 +0000");
        return;
    }

    int64_t seconds = time / SIM_SECOND - (time % SIM_SECOND < 0 ? 1 : 0);
    g_autoptr(GDateTime) date = g_date_time_new_from_unix_utc(seconds);

    /* g_date_time_format() would print the user's language. */
    g_string_append_printf(
        out, "%s, %02d %s %04d %02d:%02d:%02d +0000", days[g_date_time_get_day_of_week(date) - 1],
        g_date_time_get_day_of_month(date), months[g_date_time_get_month(date) - 1],
        g_date_time_get_year(date), g_date_time_get_hour(date), g_date_time_get_minute(date),
        g_date_time_get_second(date));
}
