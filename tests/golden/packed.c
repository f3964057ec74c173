/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "packed.h"

#include <string.h>

#include "run/files/packed.h"
#include "sim/sim-time.h"

static const char *const suffixes[] = {"", ".gz", ".xz"};

/* Returns: (owned): the path of the file, packed or not; NULL: there is none */
static char *
find_file(const char *folder, const char *name)
{
    for (unsigned i = 0; i < G_N_ELEMENTS(suffixes); i++) {
        g_autofree char *file = g_strconcat(name, suffixes[i], NULL);
        g_autofree char *path = g_build_filename(folder, file, NULL);
        if (g_file_test(path, G_FILE_TEST_EXISTS))
            return g_steal_pointer(&path);
    }
    return NULL;
}

gboolean
packed_exists(const char *folder, const char *name)
{
    g_autofree char *path = find_file(folder, name);

    return path != NULL;
}

char *
packed_text(const char *folder, const char *name, GError **error)
{
    g_autofree char *found = find_file(folder, name);
    g_autofree char *path = found != NULL ? g_strdup(found) : g_build_filename(folder, name, NULL);
    char *text = NULL;

    packed_get_contents(path, &text, NULL, error);
    return text;
}

gboolean
packed_lines(const char *folder,
             const char *name,
             const char *containing,
             void (*see)(void *data, json_t *line),
             void *data,
             GError **error)
{
    g_autofree char *text = packed_text(folder, name, error);
    unsigned number = 0;

    if (text == NULL)
        return FALSE;
    for (char *line = text, *next; line != NULL && *line != '\0'; line = next) {
        json_error_t fault;
        next = strchr(line, '\n');
        if (next != NULL)
            *next++ = '\0';
        number++;
        if (*line == '\0' || (containing != NULL && strstr(line, containing) == NULL))
            continue;
        json_auto_t *value = json_loads(line, 0, &fault);
        if (value == NULL) {
            g_set_error(error, SIM_ERROR, SIM_ERROR_INVALID, "%s/%s:%u: %s", folder, name, number,
                        fault.text);
            return FALSE;
        }
        see(data, value);
    }
    return TRUE;
}
