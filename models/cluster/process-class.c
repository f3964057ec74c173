/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "model.h"

#include <string.h>

const ProcessClass *
process_class_find(const char *name)
{
    for (unsigned i = 0; model_classes[i] != NULL; i++)
        if (g_str_equal(model_classes[i]->process->name, name))
            return model_classes[i]->process;
    return NULL;
}

char *
process_class_names(ProcessScope scope)
{
    g_autoptr(GString) names = g_string_new(NULL);
    const ProcessClass *last = NULL;

    for (unsigned i = 0; model_classes[i] != NULL; i++) {
        const ProcessClass *class = model_classes[i]->process;
        if (class->scope == scope && class != last && strstr(names->str, class->name) == NULL)
            g_string_append_printf(names, "%s%s", names->len == 0 ? "" : ", ", class->name);
        last = class;
    }
    return g_string_free(g_steal_pointer(&names), FALSE);
}

const ProcessFlag *
process_class_flag(const ProcessClass *class, const char *name)
{
    for (const ProcessFlag *flag = class->flags; flag->name != NULL; flag++)
        if (g_str_equal(flag->name, name))
            return flag;
    return NULL;
}

static gboolean
parse_int(const char *text, int32_t least, int32_t *value)
{
    gint64 number;

    if (!g_ascii_string_to_signed(text, 10, least, G_MAXINT32, &number, NULL))
        return FALSE;
    *value = (int32_t)number;
    return TRUE;
}

static gboolean
parse_number(const char *text, double *value)
{
    char *end;

    *value = g_ascii_strtod(text, &end);
    return end != text && *end == '\0' && *value >= -1e12 && *value <= 1e12;
}

static gboolean
parse_bool(const char *text, gboolean *value)
{
    *value = g_str_equal(text, "true");
    return *value || g_str_equal(text, "false");
}

gboolean
process_flag_set(
    const ProcessFlag *flag, void *options, const char *text, Strings *strings, GError **error)
{
    void *place = G_STRUCT_MEMBER_P(options, flag->offset);
    const char *wanted = NULL;

    switch (flag->type) {
    case FLAG_BOOL:
        wanted = parse_bool(text, place) ? NULL : "true or false";
        break;
    case FLAG_INT:
        wanted = parse_int(text, 0, place) ? NULL : "a whole number, 0 or more";
        break;
    case FLAG_SIGNED_INT:
        wanted = parse_int(text, G_MININT32, place) ? NULL : "a whole number";
        break;
    case FLAG_NUMBER:
        wanted = parse_number(text, place) ? NULL : "a number";
        break;
    case FLAG_DURATION: {
        SimTime time;
        if (!sim_time_parse(text, &time, error))
            return FALSE;
        wanted = time >= 0 ? NULL : "a duration that is not negative";
        if (wanted == NULL)
            *(SimTime *)place = time;
        break;
    }
    case FLAG_STRING:
        *(const char **)place = strings_intern(strings, text);
        break;
    }
    if (wanted != NULL)
        g_set_error(error, SIM_ERROR, SIM_ERROR_INVALID, "\"%s\" is not %s", text, wanted);
    return wanted == NULL;
}

void *
process_options_new(const ProcessClass *class, Strings *strings)
{
    void *options = g_malloc0(MAX(class->options_size, 1));

    for (const ProcessFlag *flag = class->flags; flag->name != NULL; flag++)
        if (!process_flag_set(flag, options, flag->default_value, strings, NULL))
            g_error("%s: default of %s", class->name, flag->name); /* a mistake in the table */
    return options;
}
