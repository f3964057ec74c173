/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Kinds of processes by name, and their flags: finds a flag or a feature gate, parses its value in
 * Go's way, and writes it into the options struct at the place that the flag's row names. An
 * unknown gate or a bad value is an error with the words that the real program prints. */
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

/* One of the settings that @setting is a list of. @value: (out): what follows "=", NULL: nothing.
 * Returns: (owned): the name of the gate */
static char *
gate_name(char *setting, const char **value)
{
    char *equals = strchr(setting, '=');

    *value = equals == NULL ? NULL : g_strstrip(equals + 1);
    return g_strstrip(equals == NULL ? g_strdup(setting)
                                     : g_strndup(setting, (gsize)(equals - setting)));
}

static const ProcessGate *
find_gate(const ProcessClass *class, const char *name)
{
    for (const ProcessGate *gate = class->gates; gate->name != NULL; gate++)
        if (strcmp(gate->name, name) == 0)
            return gate;
    return NULL;
}

static const char *const gate_on[] = {"1", "t", "T", "TRUE", "true", "True", NULL};
static const char *const gate_off[] = {"0", "f", "F", "FALSE", "false", "False", NULL};

gboolean
process_gate(const ProcessClass *class, const char *setting, const char *name)
{
    const ProcessGate *gate = find_gate(class, name);
    g_auto(GStrv) settings = g_strsplit(setting != NULL ? setting : "", ",", -1);
    gboolean is_on;

    if (gate == NULL)
        g_error("%s has no gate %s", class->name, name);
    is_on = gate->is_on;
    for (unsigned i = 0; settings[i] != NULL; i++) {
        const char *value;
        g_autofree char *set = gate_name(settings[i], &value);
        if (value != NULL && strcmp(set, name) == 0)
            is_on = g_strv_contains(gate_on, value);
    }
    return is_on;
}

gboolean
process_gates_check(const ProcessClass *class, const char *setting, char **name, GError **error)
{
    g_auto(GStrv) settings = g_strsplit(setting, ",", -1);

    *name = NULL;
    for (unsigned i = 0; settings[i] != NULL; i++) {
        const char *value;
        g_autofree char *set = gate_name(settings[i], &value);
        if (*set == '\0' && value == NULL)
            continue;
        if (value == NULL)
            g_set_error(error, SIM_ERROR, SIM_ERROR_INVALID, "missing bool value for %s", set);
        else if (!g_strv_contains(gate_on, value) && !g_strv_contains(gate_off, value))
            g_set_error(error, SIM_ERROR, SIM_ERROR_INVALID,
                        "invalid value of %s=%s, err: strconv.ParseBool: parsing \"%s\": invalid "
                        "syntax",
                        set, value, value);
        else if (find_gate(class, set) == NULL)
            g_set_error(error, SIM_ERROR, SIM_ERROR_INVALID, "unrecognized feature gate: %s",
                        *name = g_strdup(set));
        else
            continue;
        return FALSE;
    }
    return TRUE;
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
    case FLAG_MAP:
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
