/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "plugin-manager.h"

#include <string.h>

/* Versions of CSI that a driver says it speaks: validateVersions() and highestSupportedVersion() of
 * csi_plugin.go (CSP-15). */

#define MAJOR_MAX 1 /* there is no CSI 2.x */

/* "v1.2.3" or "1.2.3", and what follows it. Returns: FALSE: it is no version */
static gboolean
plugin_versions_parse(const char *text, uint64_t number[3])
{
    const char *at = text[0] == 'v' ? text + 1 : text;

    number[0] = number[1] = number[2] = 0;
    for (unsigned i = 0; i < 3; i++) {
        char *end;
        if (!g_ascii_isdigit(*at))
            return FALSE;
        number[i] = g_ascii_strtoull(at, &end, 10);
        if (*end != '.' || i == 2)
            return i > 0;
        at = end + 1;
    }
    return TRUE;
}

static int
plugin_versions_compare(const uint64_t a[3], const uint64_t b[3])
{
    for (unsigned i = 0; i < 3; i++)
        if (a[i] != b[i])
            return a[i] < b[i] ? -1 : 1;
    return 0;
}

/* Returns: FALSE: there is none */
static gboolean
find_highest(const char *const *versions, uint64_t highest[3])
{
    gboolean found = FALSE;
    uint64_t number[3];

    for (unsigned i = 0; versions[i] != NULL; i++) {
        if (!plugin_versions_parse(versions[i], number) || number[0] > MAJOR_MAX)
            continue;
        if (!found || plugin_versions_compare(highest, number) < 0)
            memcpy(highest, number, sizeof number);
        found = TRUE;
    }
    return found;
}

char *
plugin_versions_fault(const char *const *versions, const char *const *existing)
{
    uint64_t highest[3], before[3];

    if (versions[0] == NULL)
        return g_strdup("Plugin returned an empty list for supported versions");
    if (!find_highest(versions, highest) || highest[0] != MAJOR_MAX) {
        g_autofree char *list = g_strjoinv("\" \"", (char **)versions); /* only read */
        return g_strdup_printf("None of the versions specified [\"%s\"] are supported", list);
    }
    if (existing != NULL && find_highest(existing, before) &&
        plugin_versions_compare(before, highest) >= 0)
        return g_strdup("Another driver with the same name is already registered with a higher "
                        "supported version");
    return NULL;
}
