/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "volume-names.h"

#include "in-tree-limits.h"

/* Drivers inside of Kubernetes: without migration some have limits of their own (VF-5, VF-7). */
#define IN_TREE_PREFIX "kubernetes.io/"

/* VF-5, VF-7: the plugin of a provisioner of Kubernetes' own. NULL: its volumes do not count */
static const char *
in_tree_driver(const VolumeSources *sources, const char *provisioner)
{
    const InTreePlugin *plugin = in_tree_plugin_find(provisioner);

    if (plugin != NULL && sources->release != NULL &&
        in_tree_plugin_is_migrated(plugin, sources->release))
        return in_tree_plugin_name(plugin);
    return in_tree_limit_counts(plugin) ? in_tree_plugin_name(plugin) : NULL;
}

/* VF-94: the volumes of a plugin have its name even if they have migrated. */
VolumeName
volume_name_of_source(const VolumeSource *source)
{
    if (source == NULL || source->is_inline)
        return (VolumeName){NULL, NULL};
    if (source->origin != NULL || in_tree_limit_counts(source->in_tree))
        return (VolumeName){in_tree_plugin_name(source->in_tree), source->handle};
    return (VolumeName){source->driver, source->driver == NULL ? NULL : source->handle};
}

VolumeName
volume_name_of_claim(const VolumeSources *sources, const ObjectKey *claim_key)
{
    const VolumeName none = {NULL, NULL};
    const Claim *claim = CLAIM_CONST(informer_get(sources->claims, claim_key));

    if (claim == NULL)
        return none;
    const Volume *volume =
        VOLUME_CONST(informer_find(sources->volumes, NULL, claim_volume_name(claim)));
    if (volume != NULL)
        return volume_name_of_source(volume->source);
    const StorageClass *class =
        (const StorageClass *)informer_find(sources->classes, NULL, claim_class(claim));
    if (class == NULL || class->provisioner == NULL)
        return none;
    const char *driver = g_str_has_prefix(class->provisioner, IN_TREE_PREFIX)
                             ? in_tree_driver(sources, class->provisioner)
                             : class->provisioner;
    return driver == NULL ? none : (VolumeName){driver, claim_key};
}

void
node_volumes_clear(NodeVolumes *self)
{
    if (self->volumes != NULL)
        g_array_unref(g_steal_pointer(&self->volumes));
    if (self->drivers != NULL)
        g_array_unref(g_steal_pointer(&self->drivers));
}

static VolumeInUse *
volume_names_find_volume(const NodeVolumes *self, VolumeName name)
{
    for (unsigned i = 0; self->volumes != NULL && i < self->volumes->len; i++) {
        VolumeInUse *volume = &g_array_index(self->volumes, VolumeInUse, i);
        if (volume_name_equal(volume->name, name))
            return volume;
    }
    return NULL;
}

static void
count_driver(NodeVolumes *self, const char *driver, int change)
{
    for (unsigned i = 0; i < self->drivers->len; i++) {
        DriverCount *count = &g_array_index(self->drivers, DriverCount, i);
        if (count->driver == driver) {
            count->n_volumes += (uint32_t)change;
            return;
        }
    }
    DriverCount count = {driver, (uint32_t)change};
    g_array_append_val(self->drivers, count);
}

void
node_volumes_add(NodeVolumes *self, VolumeName name, int n_pods, int n_attachments)
{
    if (name.driver == NULL)
        return;
    if (self->volumes == NULL) {
        self->volumes = g_array_new(FALSE, TRUE, sizeof(VolumeInUse));
        self->drivers = g_array_new(FALSE, TRUE, sizeof(DriverCount));
    }
    VolumeInUse *volume = volume_names_find_volume(self, name);
    if (volume == NULL) {
        VolumeInUse new_volume = {.name = name};
        g_array_append_val(self->volumes, new_volume);
        volume = &g_array_index(self->volumes, VolumeInUse, self->volumes->len - 1);
        count_driver(self, name.driver, 1);
    }
    volume->n_pods += (uint32_t)n_pods;
    volume->n_attachments += (uint32_t)n_attachments;
    if (volume->n_pods == 0 && volume->n_attachments == 0) {
        g_array_remove_index_fast(self->volumes,
                                  (unsigned)(volume - (VolumeInUse *)(void *)self->volumes->data));
        count_driver(self, name.driver, -1);
    }
}

gboolean
node_volumes_used_by_pods(const NodeVolumes *self, VolumeName name)
{
    const VolumeInUse *volume = volume_names_find_volume(self, name);

    return volume != NULL && volume->n_pods > 0;
}

static uint32_t
count_of(const NodeVolumes *self, const char *driver)
{
    for (unsigned i = 0; self->drivers != NULL && i < self->drivers->len; i++) {
        const DriverCount *count = &g_array_index(self->drivers, DriverCount, i);
        if (count->driver == driver)
            return count->n_volumes;
    }
    return 0;
}

uint32_t
node_volumes_count(const NodeVolumes *self, const char *driver, const char *other)
{
    uint32_t n = count_of(self, driver), n_other = other == NULL ? 0 : count_of(self, other);

    for (unsigned i = 0; n > 0 && n_other > 0 && i < self->volumes->len; i++) {
        VolumeName name = g_array_index(self->volumes, VolumeInUse, i).name;
        if (name.driver == other &&
            volume_names_find_volume(self, (VolumeName){driver, name.handle}) != NULL)
            n--; /* by both names */
    }
    return n + n_other;
}
