/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The volume plugins that exist in a release, what each can do, and the unique names that
 * controllers and kubelets give to volumes and attachments. One table; an in-tree plugin that has
 * been migrated to CSI is not found under its old name. */
#include "plugins.h"

#include <string.h>

#define CSI_PREFIX "kubernetes.io/csi/"
#define ANNOTATION_MOUNT_OPTIONS "volume.beta.kubernetes.io/mount-options"

/* The first rows of the table */
enum { CSI, CSI_INLINE };

static const VolumePlugin plugins[] = {
    {"csi",                  "kubernetes.io/csi",             TRUE,  TRUE,  TRUE,  FALSE, TRUE,  0 },
    {"csi",                  "kubernetes.io/csi",             FALSE, FALSE, FALSE, TRUE,  TRUE,  0 },
    {"flexVolume",           "kubernetes.io/flexvolume",      TRUE,  TRUE,  TRUE,  FALSE, FALSE, 0 },
    {"awsElasticBlockStore", "kubernetes.io/aws-ebs",         TRUE,  TRUE,  TRUE,  FALSE, TRUE,  0 },
    {"azureDisk",            "kubernetes.io/azure-disk",      TRUE,  TRUE,  TRUE,  FALSE, TRUE,  0 },
    {"azureFile",            "kubernetes.io/azure-file",      FALSE, FALSE, FALSE, FALSE, TRUE,  0 },
    {"cephfs",               "kubernetes.io/cephfs",          FALSE, FALSE, FALSE, FALSE, TRUE,  31},
    {"cinder",               "kubernetes.io/cinder",          TRUE,  TRUE,  TRUE,  FALSE, TRUE,  0 },
    {"gcePersistentDisk",    "kubernetes.io/gce-pd",          TRUE,  TRUE,  TRUE,  FALSE, TRUE,  0 },
    {"glusterfs",            "kubernetes.io/glusterfs",       FALSE, FALSE, FALSE, FALSE, TRUE,  26},
    {"portworxVolume",       "kubernetes.io/portworx-volume", FALSE, FALSE, FALSE, FALSE, FALSE, 0 },
    {"rbd",                  "kubernetes.io/rbd",             TRUE,  TRUE,  TRUE,  FALSE, TRUE,  31},
    {"vsphereVolume",        "kubernetes.io/vsphere-volume",  TRUE,  TRUE,  TRUE,  FALSE, TRUE,  0 },
    {"iscsi",                "kubernetes.io/iscsi",           TRUE,  TRUE,  TRUE,  FALSE, TRUE,  0 },
    {"fc",                   "kubernetes.io/fc",              TRUE,  TRUE,  TRUE,  FALSE, TRUE,  0 },
    {"local",                "kubernetes.io/local-volume",    FALSE, TRUE,  TRUE,  FALSE, TRUE,  0 },
    {"nfs",                  "kubernetes.io/nfs",             FALSE, FALSE, FALSE, FALSE, TRUE,  0 },
    {"hostPath",             "kubernetes.io/host-path",       FALSE, FALSE, FALSE, FALSE, FALSE, 0 },
    {"flocker",              "kubernetes.io/flocker",         FALSE, FALSE, FALSE, FALSE, FALSE, 25},
    {"quobyte",              "kubernetes.io/quobyte",         FALSE, FALSE, FALSE, FALSE, TRUE,  25},
    {"scaleIO",              "kubernetes.io/scaleio",         FALSE, FALSE, FALSE, FALSE, FALSE, 22},
    {"storageos",            "kubernetes.io/storageos",       FALSE, FALSE, FALSE, FALSE, FALSE, 25},
    {"photonPersistentDisk", "kubernetes.io/photon-pd",       FALSE, FALSE, FALSE, FALSE, TRUE,  16},
};

const VolumePlugin volume_plugin_flex_mounts_only = {
    "flexVolume", "kubernetes.io/flexvolume", FALSE, FALSE, FALSE, FALSE, FALSE, 0};

const VolumePlugin *
volume_plugin_find(const VolumeSource *source)
{
    for (unsigned i = 0; source != NULL && source->plugin != NULL && i < G_N_ELEMENTS(plugins);
         i++) {
        if (strcmp(plugins[i].source, source->plugin) == 0 &&
            plugins[i].is_inline == source->is_inline)
            return &plugins[i];
    }
    return NULL;
}

gboolean
volume_plugin_is_gone(const VolumePlugin *self, const Release *release)
{
    return self->gone > 0 && release->minor >= self->gone;
}

gboolean
volume_plugin_exists(const char *name)
{
    for (unsigned i = 0; i < G_N_ELEMENTS(plugins); i++)
        if (strcmp(plugins[i].name, name) == 0)
            return TRUE;
    return FALSE;
}

gboolean
volume_plugin_is_csi(const VolumePlugin *self)
{
    return self == &plugins[CSI] || self == &plugins[CSI_INLINE];
}

gboolean
volume_plugin_is_attachable(const VolumePlugin *self, const CsiDriverObject *driver)
{
    if (volume_plugin_is_csi(self))
        return self->attachable && (driver == NULL || driver->attach_required);
    return self->attachable;
}

static StringList *
add_options(StringList *taken, const char *const *options, unsigned n)
{
    for (unsigned i = 0; i < n; i++) {
        StringList *with = string_list_with(taken, options[i]);
        string_list_unref(taken);
        taken = with;
    }
    return taken;
}

StringList *
volume_mount_options(Strings *strings, const Volume *volume, const StringList *system)
{
    const char *annotation = object_annotation(&volume->meta, ANNOTATION_MOUNT_OPTIONS);
    const StringList *own = volume->mount_options;
    StringList *options = NULL;

    if (annotation != NULL) {
        g_auto(GStrv) words = g_strsplit(annotation, ",", -1);
        for (unsigned i = 0; words[i] != NULL; i++) {
            const char *word = strings_intern(strings, words[i]);
            options = add_options(options, &word, word[0] == '\0' ? 0 : 1);
        }
    } else if (own != NULL) {
        options = add_options(options, own->items, own->n_items);
    }
    return system == NULL ? options : add_options(options, system->items, system->n_items);
}

static const char *
unique_name(Strings *strings,
            const VolumePlugin *plugin,
            const VolumeSource *source,
            const char *name)
{
    if (volume_plugin_is_csi(plugin))
        return strings_internf(strings, "%s/%s^%s", plugin->name, source->driver, source->handle);
    if (source->flex_driver != NULL) /* FLX-13 */
        return strings_internf(strings, "%s/%s", source->flex_driver, name);
    /* VPL-7: a local volume is named after its PersistentVolume, others after their source. */
    if (strcmp(plugin->source, "local") == 0 || source->handle == NULL)
        return strings_internf(strings, "%s/%s", plugin->name, name);
    return strings_internf(strings, "%s/%s", plugin->name, source->handle);
}

const char *
volume_unique_name(Strings *strings, const VolumePlugin *plugin, const Volume *volume)
{
    return unique_name(strings, plugin, volume->source, volume->meta.key->name);
}

const char *
volume_source_unique_name(Strings *strings, const VolumeSource *source, const char *name)
{
    const VolumePlugin *plugin = volume_plugin_find(source);

    return plugin == NULL ? NULL : unique_name(strings, plugin, source, name);
}

const char *
volume_inline_handle(Strings *strings, ObjectUid pod, const char *name)
{
    char uid[OBJECT_UID_BUFFER];
    g_autofree char *text = g_strconcat(object_uid_format(pod, uid), name, NULL);
    g_autofree char *sum = g_compute_checksum_for_string(G_CHECKSUM_SHA256, text, -1);

    return strings_internf(strings, "csi-%s", sum);
}

const char *
volume_unique_name_parse(const char *name, char **driver)
{
    const char *rest = name + strlen(CSI_PREFIX);
    const char *caret = g_str_has_prefix(name, CSI_PREFIX) ? strchr(rest, '^') : NULL;

    if (caret == NULL || strchr(caret + 1, '^') != NULL) /* ADC-61: exactly two parts */
        return NULL;
    *driver = g_strndup(rest, (gsize)(caret - rest));
    return caret + 1;
}

const char *
volume_attachment_name(Strings *strings, const char *driver, const char *handle, const char *node)
{
    g_autofree char *text = g_strconcat(handle, driver, node, NULL);
    g_autofree char *sum = g_compute_checksum_for_string(G_CHECKSUM_SHA256, text, -1);

    return strings_internf(strings, "csi-%s", sum);
}

ObjectKey *
volume_attachment_key(Objects *objects, const char *driver, const char *handle, const char *node)
{
    Strings *strings = objects_strings(objects);
    const char *const parts[ALIAS_PARTS] = {strings_intern(strings, handle),
                                            strings_intern(strings, driver),
                                            strings_intern(strings, node)};
    ObjectKey *key = objects_find_alias(objects, parts);

    if (key == NULL) {
        key = objects_key(objects, KIND_ATTACHMENT, NULL,
                          volume_attachment_name(strings, driver, handle, node));
        objects_add_alias(objects, parts, key);
    }
    return key;
}
