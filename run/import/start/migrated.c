/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "migrated.h"

#include <string.h>

#include "models/api/claim.h"
#include "models/api/fields.h"
#include "models/api/migration/migration.h"

/* Returns: (borrowed): NULL: there are none */
static json_t *
annotations_of(const json_t *object)
{
    return json_object_get(json_object_get(object, "metadata"), "annotations");
}

static const char *
annotation(const json_t *object, const char *key)
{
    return json_string_value(json_object_get(annotations_of(object), key));
}

/* Without the driver's labels on nodes, its topology would leave the volume nowhere to go: the
 * dump is of a cluster whose driver has none.
 * Returns: (owned): the volume as its driver has it; NULL: it stays as it is */
static json_t *
volume_of_driver(const Dump *dump, const json_t *volume, const InTreePlugin *plugin)
{
    const char *key = in_tree_plugin_zone_key(plugin);
    json_t *translated = in_tree_plugin_volume_to_csi(plugin, volume, NULL);
    json_t *affinity = json_object_get(json_object_get(volume, "spec"), "nodeAffinity");

    if (translated == NULL || key == NULL || dump_has_node_label(dump, key))
        return translated;
    if (affinity != NULL)
        json_object_set(json_object_get(translated, "spec"), "nodeAffinity", affinity);
    else
        json_object_del(json_object_get(translated, "spec"), "nodeAffinity");
    return translated;
}

static void
translate_volume(const Dump *dump, json_t *volume, ImportReport *report)
{
    const InTreePlugin *plugin = in_tree_plugin_of_source(json_object_get(volume, "spec"));
    const char *driver = plugin == NULL ? NULL : in_tree_plugin_driver(plugin);

    if (driver == NULL || g_strcmp0(annotation(volume, ANNOTATION_MIGRATED_TO), driver) != 0)
        return;
    json_t *translated = volume_of_driver(dump, volume, plugin);
    if (translated == NULL)
        return;
    json_t *annotations = annotations_of(translated);
    json_object_del(annotations, ANNOTATION_MIGRATED_TO);
    if (json_object_get(annotations, ANNOTATION_PROVISIONED_BY) != NULL)
        json_object_set_new(annotations, ANNOTATION_PROVISIONED_BY, json_string(driver));
    json_object_update(volume, translated);
    json_decref(translated);
    if (report == NULL)
        return;
    g_autofree char *reason =
        g_strdup_printf("Volumes of %s, taken as those of %s", in_tree_plugin_name(plugin), driver);
    import_report_count(report, REPORT_TAKEN, reason, dump_meta(volume, "name"));
}

static void
translate_class(const Dump *dump, json_t *class)
{
    const char *provisioner = json_path_string(class, "provisioner");
    const InTreePlugin *plugin = provisioner == NULL ? NULL : in_tree_plugin_find(provisioner);
    const char *driver = plugin == NULL ? NULL : in_tree_plugin_driver(plugin);

    if (driver != NULL && dump_find(dump, "CSIDriver", NULL, driver) != NULL)
        json_object_set_new(class, "provisioner", json_string(driver));
}

static void
translate_claim(json_t *claim)
{
    json_t *annotations = annotations_of(claim), *value;
    const char *key;
    void *next;

    json_object_foreach_safe(annotations, next, key, value)
    {
        const char *text = json_string_value(value);
        const InTreePlugin *plugin = text == NULL ? NULL : in_tree_plugin_find(text);
        if (plugin != NULL && g_str_has_suffix(key, "/storage-provisioner"))
            json_object_set_new(annotations, key, json_string(in_tree_plugin_driver(plugin)));
    }
}

void
migrated_translate(const Dump *dump, ImportReport *report)
{
    for (unsigned i = 0; i < dump->objects->len; i++) {
        json_t *object = dump->objects->pdata[i];
        const char *kind = dump_kind(object);

        if (strcmp(kind, "PersistentVolume") == 0)
            translate_volume(dump, object, report);
        else if (strcmp(kind, "StorageClass") == 0)
            translate_class(dump, object);
        else if (strcmp(kind, "PersistentVolumeClaim") == 0)
            translate_claim(object);
    }
}
