/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "provisioner.h"

#include <string.h>

#define PREFIX "csi.storage.k8s.io/"
#define FS_TYPE_KEY PREFIX "fstype"

/* SEC-1: what may stand before "-secret-name" and "-secret-namespace". */
static const char *const secret_users[] = {
    "",
    "provisioner-",
    "controller-publish-",
    "node-stage-",
    "node-publish-",
    "controller-expand-",
    "node-expand-",
};

/* SEC-1. @for_creation: (out): set if it is the secret of CreateVolume */
static gboolean
is_secret_key(const char *key, gboolean *for_creation)
{
    const char *name = key + strlen(PREFIX);

    for (unsigned i = 0; i < G_N_ELEMENTS(secret_users); i++) {
        size_t length = strlen(secret_users[i]);
        if (strncmp(name, secret_users[i], length) != 0)
            continue;
        if (strcmp(name + length, "secret-name") != 0 &&
            strcmp(name + length, "secret-namespace") != 0)
            continue;
        *for_creation |= i <= 1;
        return TRUE;
    }
    return FALSE;
}

/* One parameter. Returns: whether the driver gets it */
static gboolean
read_parameter(ExternalProvisioner *self,
               ClassInfo *info,
               const StringPair *pair,
               unsigned *n_fs_types)
{
    Strings *strings = self->base.strings;

    if (g_ascii_strcasecmp(pair->key, "fstype") == 0 ||
        g_ascii_strcasecmp(pair->key, FS_TYPE_KEY) == 0) {
        info->fs_type = pair->value;
        if (++*n_fs_types > 1)
            info->parameter_error = strings_intern(
                strings,
                "fstype specified in parameters with both \"fstype\" and \"" FS_TYPE_KEY "\" keys");
    } else if (g_str_has_prefix(pair->key, PREFIX) &&
               !is_secret_key(pair->key, &info->has_secrets)) {
        info->parameter_error = strings_internf(
            strings, "found unknown parameter key \"%s\" with reserved namespace " PREFIX,
            pair->key);
    }
    return !g_str_has_prefix(pair->key, PREFIX);
}

ClassInfo *
class_info_new(ExternalProvisioner *self, const StorageClass *class)
{
    ClassInfo *info = g_new0(ClassInfo, 1);
    const StringMap *parameters = class->parameters;
    unsigned n_pairs = parameters == NULL ? 0 : parameters->n_pairs, n_fs_types = 0;
    g_autoptr(GArray) passed = g_array_new(FALSE, FALSE, sizeof(StringPair));

    info->class = (const StorageClass *)object_ref(&class->meta);
    if (self->options->default_fstype != NULL && self->options->default_fstype[0] != '\0')
        info->fs_type = self->options->default_fstype;
    for (unsigned i = 0; i < n_pairs; i++)
        if (read_parameter(self, info, &parameters->pairs[i], &n_fs_types))
            g_array_append_val(passed, parameters->pairs[i]);
    info->parameters = string_map_new((const StringPair *)(const void *)passed->data, passed->len);
    topology_terms_flatten(&info->allowed, class->allowed_topologies);
    return info;
}

void
class_info_free(ClassInfo *info)
{
    if (info == NULL)
        return;
    object_unref(&info->class->meta);
    string_map_unref(info->parameters);
    topology_terms_clear(&info->allowed);
    g_free(info);
}

const ClassInfo *
provisioner_class_info(const ExternalProvisioner *self, const char *class_name)
{
    const ObjectKey *key =
        objects_find_key(self->base.objects, KIND_STORAGE_CLASS, NULL, class_name);

    if (key == NULL || key->slot >= self->class_infos->len ||
        informer_get(self->classes, key) == NULL)
        return NULL;
    return self->class_infos->pdata[key->slot];
}
