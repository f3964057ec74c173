/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <stdlib.h>
#include <string.h>

#include "schema-private.h"

const ApiResource *
api_resource(unsigned n)
{
    return api_resources[n].group != NULL ? &api_resources[n] : NULL;
}

const ApiResource *
api_resource_find(const char *group, const char *version, const char *resource)
{
    const ApiResource *row = api_resources;

    while (row->group != NULL &&
           (strcmp(row->group, group) != 0 || strcmp(row->version, version) != 0 ||
            strcmp(row->resource, resource) != 0))
        row++;
    return row->group != NULL ? row : NULL;
}

gboolean
api_resource_is_in(const ApiResource *self, int minor)
{
    return minor == 0 || (self->since <= minor && (self->until == 0 || minor <= self->until));
}

char **
api_resource_subresources(const ApiResource *self, int minor)
{
    g_auto(GStrv) words = g_strsplit(self->subresources != NULL ? self->subresources : "", " ", -1);
    GStrvBuilder *kept = g_strv_builder_new();

    for (char **word = words; *word != NULL; word++) {
        char *since = strchr(*word, ':');
        if (since != NULL)
            *since++ = '\0';
        if (since == NULL || minor == 0 || atoi(since) <= minor)
            g_strv_builder_add(kept, *word);
    }
    char **list = g_strv_builder_end(kept);
    g_strv_builder_unref(kept);
    return list;
}

const ApiResource *
api_resource_of_kind(const char *group, const char *kind)
{
    for (const ApiResource *row = api_resources; row->group != NULL; row++)
        if (strcmp(row->group, group) == 0 && strcmp(row->kind, kind) == 0)
            return row;
    return NULL;
}
