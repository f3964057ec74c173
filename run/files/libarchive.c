/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "libarchive.h"

#include <dlfcn.h>

/* The same since libarchive 3.0 of 2011. */
#define LIBRARY "libarchive.so.13"

gboolean
libarchive_load(Libarchive *self, const char *path, GError **error)
{
    void *library = dlopen(LIBRARY, RTLD_LAZY | RTLD_NODELETE); /* cheap but for the first time */
    gboolean has_all = library != NULL;

#define LOAD(name) has_all = has_all && (self->name = dlsym(library, #name)) != NULL;
    LIBARCHIVE_FUNCTIONS(LOAD)
#undef LOAD
    if (!has_all)
        g_set_error(error, G_FILE_ERROR, G_FILE_ERROR_NOSYS, "%s: packed files need libarchive: %s",
                    path, dlerror());
    if (library != NULL)
        dlclose(library);
    return has_all;
}
