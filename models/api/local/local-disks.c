/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "local-disks.h"

#include "models/api/field.h"

int
local_disks_parse(const char *text, int64_t *bytes, GError **error)
{
    g_auto(GStrv) words = g_strsplit_set(text == NULL ? "" : text, " ", -1);
    int n = 0;

    for (unsigned i = 0; words[i] != NULL; i++) {
        if (words[i][0] == '\0')
            continue;
        if (n == LOCAL_DISKS_MAX) {
            g_set_error(error, SIM_ERROR, SIM_ERROR_INVALID, "has more than %d disks",
                        LOCAL_DISKS_MAX);
            return -1;
        }
        g_autoptr(GError) fault = NULL;
        if (!quantity_parse(words[i], &bytes[n], NULL, &fault) || bytes[n] <= 0) {
            g_set_error(error, SIM_ERROR, SIM_ERROR_INVALID, "\"%s\" is no size of a disk",
                        words[i]);
            return -1;
        }
        n++;
    }
    return n;
}
