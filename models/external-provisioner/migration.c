/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/api/migration/migration.h"
#include "models/api/fields.h"
#include "models/cluster/cluster.h"
#include "provisioner.h"

#include <string.h>

/* Classes and volumes of the in-tree plugin whose driver this provisioner serves: MIG-70 to MIG-72.
 */

/* A translation keeps valid what was valid before, in all fields that the model reads. */
static void
ignore_fault(ApiParser *parser, const json_t *where, const char *message, const char *hint)
{
    (void)parser;
    (void)where;
    (void)message;
    (void)hint;
}

/* @manifest: taken. Returns: (owned): @old as the manifest has it now */
static Object *
read_again(const ExternalProvisioner *self, const Object *old, json_t *manifest)
{
    ApiParser parser = {.objects = self->base.objects,
                        .report = ignore_fault,
                        .path = g_string_new(NULL),
                        .migrates = cluster_release(self->base.cluster)};
    Object *object = api_parser_template(&parser, manifest, (ObjectKey *)old->key);

    object->uid = old->uid;
    object->resource_version = old->resource_version;
    g_string_free(parser.path, TRUE);
    json_decref(manifest);
    return object;
}

gboolean
provisioner_migrate_class(const ExternalProvisioner *self, ClassInfo *info)
{
    const InTreePlugin *plugin = in_tree_plugin_find(info->class->provisioner);
    g_autoptr(GError) error = NULL;

    if (plugin == NULL || strcmp(in_tree_plugin_driver(plugin), self->base.driver_name) != 0)
        return FALSE;
    json_t *manifest = object_to_json(&info->class->meta);
    json_t *translated = in_tree_plugin_class_to_csi(plugin, manifest, &error);
    json_decref(manifest);
    info->migrates = plugin;
    info->provisioner = info->class->provisioner;
    if (translated == NULL) {
        info->parameter_error = strings_internf(
            self->base.strings, "failed to translate storage class: %s", error->message);
        return TRUE;
    }
    Object *class = read_again(self, &info->class->meta, translated);
    object_unref(&info->class->meta);
    info->class = (const StorageClass *)class;
    return TRUE;
}

Volume *
provisioner_migrate_volume(const ExternalProvisioner *self,
                           const ClassInfo *class,
                           Volume *volume,
                           const char **error)
{
    g_autoptr(GError) fault = NULL;

    *error = NULL;
    if (class->migrates == NULL)
        return volume;
    object_set_annotation(&volume->meta,
                          strings_intern(self->base.strings, ANNOTATION_PROVISIONED_BY),
                          class->provisioner);
    json_t *manifest = object_to_json(&volume->meta);
    json_t *translated = in_tree_plugin_volume_from_csi(class->migrates, manifest, &fault);
    json_decref(manifest);
    if (translated == NULL) {
        *error = strings_intern(self->base.strings, fault->message);
        return volume;
    }
    Object *in_tree = read_again(self, &volume->meta, translated);
    object_unref(&volume->meta);
    return VOLUME(in_tree);
}
