/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cluster-private.h"
#include "models/api/migration/migration.h"
#include "models/api/volume.h"

#include <string.h>

/* Volumes that Kubernetes itself attaches and mounts, and nodes of other releases. */

static int
driver_number(const Cluster *self, const char *name)
{
    for (unsigned i = 0; name != NULL && i < self->drivers->len; i++)
        if (strcmp(cluster_driver_name(self, i), name) == 0)
            return (int)i;
    return -1;
}

CsiDriver *
cluster_backend(const Cluster *self, const VolumeSource *source, gboolean *attaches)
{
    const InTreePlugin *plugin = source == NULL ? NULL : source->in_tree;
    int number = source == NULL ? -1 : driver_number(self, source->flex_driver);

    if (plugin != NULL)
        number = driver_number(self, in_tree_plugin_name(plugin));
    if (plugin != NULL && number < 0)
        number = driver_number(self, in_tree_plugin_driver(plugin));
    if (attaches != NULL)
        *attaches = number >= 0 && cluster_node_plugin(self, (unsigned)number)->attaches;
    return number < 0 ? NULL : cluster_driver(self, (unsigned)number);
}

CsiDriver *
cluster_plugin_backend(Cluster *self, const char *name, const char **zone_key)
{
    const InTreePlugin *plugin = in_tree_plugin_find(name);
    int number = driver_number(self, name);

    if (plugin == NULL || in_tree_plugin_is_gone(plugin, &self->release))
        return NULL;
    if (number < 0)
        number = driver_number(self, in_tree_plugin_driver(plugin));
    if (number < 0)
        return NULL;
    if (zone_key != NULL)
        *zone_key = strings_intern(objects_strings(self->options.objects),
                                   cluster_node_plugin(self, (unsigned)number)->zone_key);
    return cluster_driver(self, (unsigned)number);
}

const Release *
cluster_node_release(const Cluster *self, const char *node)
{
    const Release *release =
        self->node_releases == NULL ? NULL : g_hash_table_lookup(self->node_releases, node);

    return release != NULL ? release : &self->release;
}

const char *
cluster_migrated_plugins(Cluster *self, const char *node)
{
    const Release *release = cluster_node_release(self, node);
    g_autoptr(GString) names = NULL;
    const InTreePlugin *plugin;

    if (release == &self->release && self->migrated_plugins != NULL)
        return self->migrated_plugins;
    names = g_string_new(NULL);
    for (unsigned i = 0; (plugin = in_tree_plugin_at(i)) != NULL; i++)
        if (in_tree_plugin_is_migrated(plugin, release))
            g_string_append_printf(names, "%s%s", names->len == 0 ? "" : ",",
                                   in_tree_plugin_name(plugin));
    const char *list = strings_intern(objects_strings(self->options.objects), names->str);
    if (release == &self->release)
        self->migrated_plugins = list;
    return list;
}

void
cluster_set_node_release(Cluster *self, const char *node, int minor)
{
    Release *release = g_new(Release, 1);

    if (self->node_releases == NULL)
        self->node_releases = g_hash_table_new_full(g_direct_hash, g_direct_equal, NULL, g_free);
    *release = (Release){minor, self->release.gates};
    g_hash_table_insert(self->node_releases, (void *)node, release);
}
