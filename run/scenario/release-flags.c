/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "release-defaults.h"

#include <stdio.h>
#include <string.h>

gboolean
program_version_parse(const char *text, ProgramVersion *version)
{
    const char *digits = text + (*text == 'v');
    int end = 0;

    if (!g_ascii_isdigit(*digits) ||
        sscanf(digits, "%5d.%5d%n", &version->major, &version->minor, &end) != 2)
        return FALSE;
    return strspn(digits, "0123456789.") == strlen(digits) ||
           strchr("-+", digits[strspn(digits, "0123456789.")]) != NULL;
}

gboolean
release_defaults_know(const ProcessClass *class)
{
    for (const ReleaseDefault *row = release_defaults; row->id != NULL; row++)
        if (row->id[0] == 'S' && g_str_equal(row->process, class->name))
            return TRUE;
    return FALSE;
}

static gboolean
is_reached(const ReleaseDefault *row, ProgramVersion version, int kubernetes)
{
    return (version.major > row->major ||
            (version.major == row->major && version.minor >= row->minor)) &&
           kubernetes >= row->kubernetes;
}

const char *
release_default(const ProcessClass *class, const char *name, ProgramVersion version, int kubernetes)
{
    const char *text = NULL;

    for (const ReleaseDefault *row = release_defaults; row->id != NULL; row++) {
        if (!g_str_equal(row->process, class->name) || !g_str_equal(row->name, name))
            continue;
        if (is_reached(row, version, kubernetes))
            text = row->then;
        else if (text == NULL)
            text = row->before;
    }
    return text;
}

char *
release_default_gates(const ProcessClass *class,
                      ProgramVersion version,
                      int kubernetes,
                      const char *given)
{
    g_autoptr(GString) text = g_string_new(NULL);

    for (const ProcessGate *gate = class->gates; gate != NULL && gate->name != NULL; gate++) {
        const char *value = release_default(class, gate->name, version, kubernetes);
        if (value != NULL && g_str_equal(value, "true") != gate->is_on)
            g_string_append_printf(text, "%s%s=%s", text->len > 0 ? "," : "", gate->name, value);
    }
    if (text->len == 0)
        return NULL;
    if (given != NULL && *given != '\0')
        g_string_append_printf(text, ",%s", given); /* later settings win */
    return g_string_free(g_steal_pointer(&text), FALSE);
}
