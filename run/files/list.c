/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "list.h"
#include "sim/strings.h"

#include <string.h>

#include "sim/strings.h"

GPtrArray *
list_files(const char *folder, const char *suffix, GError **error)
{
    g_autoptr(GPtrArray) names = g_ptr_array_new_with_free_func(g_free);
    g_autoptr(GDir) files = g_dir_open(folder, 0, error);
    const char *name;

    if (files == NULL)
        return NULL;
    while ((name = g_dir_read_name(files)) != NULL)
        if (g_str_has_suffix(name, suffix))
            g_ptr_array_add(names, g_strndup(name, strlen(name) - strlen(suffix)));
    g_ptr_array_sort(names, strings_compare);
    return g_steal_pointer(&names);
}
