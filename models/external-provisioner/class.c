/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/external-provisioner/provisioner-test.h"
#include "provisioner.h"

#include <string.h>

#define PREFIX "csi.storage.k8s.io/"
#define FS_TYPE_KEY PREFIX "fstype"

StringMap *
class_pass_parameters(const StringMap *parameters, char **error)
{
    g_autoptr(GArray) passed = g_array_new(FALSE, FALSE, sizeof(StringPair));

    *error = NULL;
    for (unsigned i = 0; parameters != NULL && i < parameters->n_pairs; i++) {
        const char *key = parameters->pairs[i].key;
        if (!g_str_has_prefix(key, PREFIX))
            g_array_append_val(passed, parameters->pairs[i]);
        else if (*error == NULL && strcmp(key, FS_TYPE_KEY) != 0 && !secret_key_is_known(key))
            *error = g_strdup_printf(
                "found unknown parameter key \"%s\" with reserved namespace " PREFIX, key);
    }
    return string_map_new((const StringPair *)(const void *)passed->data, passed->len);
}

/* PROV-20.6 */
static void
find_fs_type(ExternalProvisioner *self, ClassInfo *info)
{
    const StringMap *parameters = info->class->parameters;
    unsigned n_found = 0;

    for (unsigned i = 0; parameters != NULL && i < parameters->n_pairs; i++) {
        const StringPair *pair = &parameters->pairs[i];
        if (g_ascii_strcasecmp(pair->key, "fstype") != 0 && strcmp(pair->key, FS_TYPE_KEY) != 0)
            continue;
        info->fs_type = pair->value;
        n_found++;
    }
    if (n_found > 1)
        info->fs_type_error = strings_intern(
            self->base.strings,
            "fstype specified in parameters with both \"fstype\" and \"" FS_TYPE_KEY "\" keys");
    if (info->fs_type == NULL || info->fs_type[0] == '\0')
        info->fs_type = self->options->default_fstype;
    if (info->fs_type[0] == '\0')
        info->fs_type = NULL;
}

/* Most classes name no secret: then nothing is resolved for their claims. */
static gboolean
names_secrets(const StringMap *parameters)
{
    for (unsigned i = 0; parameters != NULL && i < parameters->n_pairs; i++)
        if (strstr(parameters->pairs[i].key, "ecret") != NULL)
            return TRUE;
    return FALSE;
}

ClassInfo *
class_info_new(ExternalProvisioner *self, const StorageClass *class)
{
    ClassInfo *info = g_new0(ClassInfo, 1);
    g_autofree char *error = NULL;

    info->class = (const StorageClass *)object_ref(&class->meta);
    if (provisioner_migrate_class(self, info))
        class = info->class;
    find_fs_type(self, info);
    info->parameters = class_pass_parameters(class->parameters, &error);
    if (error != NULL)
        info->parameter_error = strings_internf(
            self->base.strings, "failed to strip CSI Parameters of prefixed keys: %s", error);
    info->names_secrets = names_secrets(class->parameters);
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
