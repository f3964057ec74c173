/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "plugins.h"

#include <string.h>

/* clang-format off: a table */
static const VolumePlugin plugins[] = {
    {"csi",        "kubernetes.io/csi",          TRUE,  TRUE,  TRUE },
    {"flexVolume", "kubernetes.io/flexvolume",   TRUE,  TRUE,  TRUE },
    {"iscsi",      "kubernetes.io/iscsi",        TRUE,  TRUE,  TRUE },
    {"fc",         "kubernetes.io/fc",           TRUE,  TRUE,  TRUE },
    {"local",      "kubernetes.io/local-volume", FALSE, TRUE,  TRUE },
    {"nfs",        "kubernetes.io/nfs",          FALSE, FALSE, FALSE},
    {"hostPath",   "kubernetes.io/host-path",    FALSE, FALSE, FALSE},
};
/* clang-format on */

const VolumePlugin *
volume_plugin_find(const VolumeSource *source)
{
    for (unsigned i = 0; source != NULL && source->plugin != NULL && i < G_N_ELEMENTS(plugins);
         i++) {
        if (strcmp(plugins[i].source, source->plugin) == 0)
            return &plugins[i];
    }
    return NULL;
}

gboolean
volume_plugin_is_csi(const VolumePlugin *self)
{
    return self == &plugins[0];
}

gboolean
volume_plugin_is_attachable(const VolumePlugin *self, const CsiDriverObject *driver)
{
    if (volume_plugin_is_csi(self))
        return driver == NULL || driver->attach_required;
    return self->attachable;
}

const char *
volume_unique_name(Strings *strings, const VolumePlugin *plugin, const Volume *volume)
{
    const VolumeSource *source = volume->source;

    if (volume_plugin_is_csi(plugin))
        return strings_internf(strings, "%s/%s^%s", plugin->name, source->driver, source->handle);
    /* VPL-7: a local volume is named after its PersistentVolume, others after what they lead to. */
    if (strcmp(plugin->source, "local") == 0 || source->handle == NULL)
        return strings_internf(strings, "%s/%s", plugin->name, volume->meta.key->name);
    return strings_internf(strings, "%s/%s", plugin->name, source->handle);
}

ObjectKey *
volume_attachment_key(Objects *objects, const VolumeSource *source, const char *node_name)
{
    g_autoptr(GChecksum) checksum = g_checksum_new(G_CHECKSUM_SHA256);
    char name[sizeof "csi-" + 64];

    g_checksum_update(checksum, (const guchar *)source->handle, -1);
    g_checksum_update(checksum, (const guchar *)source->driver, -1);
    g_checksum_update(checksum, (const guchar *)node_name, -1);
    g_snprintf(name, sizeof name, "csi-%s", g_checksum_get_string(checksum));
    return objects_key(objects, KIND_ATTACHMENT, NULL, name);
}
