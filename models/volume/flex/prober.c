/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "flex.h"

#include <string.h>

struct FlexProber {
    char *directory;
    gboolean probes_all; /* nothing was looked at yet: events say nothing new (FLX-40) */
    GPtrArray *pending;  /* of FlexProbe: one for each driver's directory, as they came */
};

static void
probe_free(void *data)
{
    FlexProbe *probe = data;

    g_free(probe->directory);
    g_free(probe);
}

static FlexProbe *
probe_new(const char *directory, gboolean is_removal)
{
    FlexProbe *probe = g_new(FlexProbe, 1);

    *probe = (FlexProbe){g_strdup(directory), is_removal};
    return probe;
}

FlexProber *
flex_prober_new(const char *directory)
{
    FlexProber *self = g_new(FlexProber, 1);

    *self = (FlexProber){g_strdup(directory), TRUE, g_ptr_array_new_with_free_func(probe_free)};
    return self;
}

void
flex_prober_free(FlexProber *self)
{
    if (self == NULL)
        return;
    g_free(self->directory);
    g_ptr_array_unref(self->pending);
    g_free(self);
}

static FlexProbe *
find_pending(const FlexProber *self, const char *directory)
{
    for (unsigned i = 0; i < self->pending->len; i++) {
        FlexProbe *probe = self->pending->pdata[i];
        if (strcmp(probe->directory, directory) == 0)
            return probe;
    }
    return NULL;
}

/* The executable, or all of the driver (FLX-42). @parts: of the path below the prober's directory
 */
static gboolean
is_whole_driver(char *const *parts)
{
    const char *tilde = strrchr(parts[0], '~');
    const char *executable = tilde == NULL ? parts[0] : tilde + 1;

    return parts[1] == NULL || (strcmp(parts[1], executable) == 0 && parts[2] == NULL);
}

gboolean
flex_prober_hear(FlexProber *self, FlexFileEvent event, const char *path)
{
    g_autofree char *name = g_path_get_basename(path);
    gsize length = strlen(self->directory);

    if (name[0] == '.' || !g_str_has_prefix(path, self->directory))
        return FALSE;
    if (path[length] == '\0') /* made again at once */
        return event == FLEX_FILE_REMOVED;
    g_auto(GStrv) parts = g_strsplit(path + length + 1, "/", -1);
    FlexProbe *probe = find_pending(self, parts[0]);
    gboolean is_removal = event == FLEX_FILE_REMOVED && is_whole_driver(parts);

    if (!self->probes_all && probe == NULL)
        g_ptr_array_add(self->pending, probe_new(parts[0], is_removal));
    else if (!self->probes_all)
        probe->is_removal = is_removal;
    return event == FLEX_FILE_CREATED;
}

GPtrArray *
flex_prober_due(FlexProber *self, const char *const *directories)
{
    GPtrArray *due = g_ptr_array_new_with_free_func(probe_free);

    for (unsigned i = 0; self->probes_all && directories[i] != NULL; i++)
        if (directories[i][0] != '.')
            g_ptr_array_add(due, probe_new(directories[i], FALSE));
    for (unsigned i = 0; !self->probes_all && i < self->pending->len; i++) {
        const FlexProbe *probe = self->pending->pdata[i];
        g_ptr_array_add(due, probe_new(probe->directory, probe->is_removal));
    }
    self->probes_all = FALSE;
    return due;
}

void
flex_prober_done(FlexProber *self, const char *directory)
{
    FlexProbe *probe = find_pending(self, directory);

    if (probe != NULL)
        g_ptr_array_remove(self->pending, probe);
}

char *
flex_driver_name(const char *directory)
{
    char *name = g_strdup(directory);
    char *tilde = strchr(name, '~'); /* UnescapeQualifiedName() */

    if (tilde != NULL)
        *tilde = '/';
    return name;
}
