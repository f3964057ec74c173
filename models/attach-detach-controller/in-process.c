/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Volumes that this controller attaches without a VolumeAttachment: those of in-tree plugins that
 * have not migrated, as a whole or on the node, and of FlexVolume (INT-10 to INT-12). A node whose
 * kubelet does not migrate a plugin gets the in-tree volume of a translated source (MIG-80).
 * Plugins such as iSCSI attach nothing here: their node logs in as it mounts. */
#include "controller.h"
#include "models/api/migration/migration.h"
#include "models/cluster/cluster.h"
#include "models/volume/plugins.h"

#include <string.h>

/* INT-11: plugins whose attach does nothing: the node logs in as it mounts. */
static gboolean
attaches_on_node(const VolumeSource *source)
{
    return strcmp(source->plugin, "iscsi") == 0 || strcmp(source->plugin, "fc") == 0 ||
           strcmp(source->plugin, "rbd") == 0;
}

const Release *
adc_node_release(const AttachDetachController *self, const AttachNode *node)
{
    return cluster_node_release(self->base.cluster, node->name);
}

gboolean
adc_lacks_flex_driver(const AttachDetachController *self, const char *driver)
{
    return driver != NULL && !cluster_has_flex_driver(self->base.cluster, driver, NULL);
}

gboolean
adc_is_attachable_in_process(const AttachDetachController *self, const VolumeSource *source)
{
    const VolumePlugin *plugin = volume_plugin_find(source);
    gboolean attaches;

    if (plugin == NULL || !plugin->attachable ||
        volume_plugin_is_gone(plugin, cluster_release(self->base.cluster)) ||
        adc_lacks_flex_driver(self, source->flex_driver))
        return FALSE;
    return cluster_backend(self->base.cluster, source, &attaches) == NULL ? attaches_on_node(source)
                                                                          : attaches;
}

/* MIG-80: a node whose kubelet does not migrate the plugin gets the in-tree volume. */
static const VolumeSource *
source_on_node(const AttachDetachController *self, const AttachNode *node, const Volume *spec)
{
    const VolumeSource *source = spec->source;

    if (source->origin != NULL &&
        !in_tree_plugin_is_migrated(source->in_tree, adc_node_release(self, node)))
        return source->origin;
    return source;
}

AttachVolume *
adc_volume_on_node(AttachDetachController *self, const AttachNode *node, const Volume *spec)
{
    const VolumeSource *source = source_on_node(self, node, spec);

    if (source->driver != NULL)
        return adc_volume(self, source->driver, source->handle);
    AttachVolume *volume = adc_volume_named(
        self, volume_source_unique_name(self->base.strings, source, object_name(&spec->meta)), NULL,
        volume_backend_id(spec));
    volume->is_in_process = TRUE;
    volume->handle = volume_backend_id(spec); /* known by its name alone before (ADC-26) */
    volume->backend = cluster_backend(self->base.cluster, source, NULL);
    volume->flex_driver = source->flex_driver;
    return volume;
}

/* The PersistentVolume by whose source a node would list that name. Returns: NULL: none */
static const Volume *
find_volume_of_name(const AttachDetachController *self, const char *unique_name)
{
    InformerIter iter;
    const Object *object;

    informer_iter_init(&iter, self->volumes);
    while ((object = informer_iter_next(&iter)) != NULL) {
        const VolumeSource *source = volume_in_process_source(VOLUME_CONST(object));
        if (source != NULL &&
            strings_same(volume_source_unique_name(self->base.strings, source, object_name(object)),
                         unique_name))
            return VOLUME_CONST(object);
    }
    return NULL;
}

/* ADC-73. Detached without a spec: the plugin and the volume are the parts of the name
 * (SplitUniqueName()).
 */
AttachVolume *
adc_volume_in_process(AttachDetachController *self, const char *unique_name)
{
    g_auto(GStrv) parts = g_strsplit(unique_name, "/", 3);
    Strings *strings = self->base.strings;

    if (g_strv_length(parts) != 3)
        return NULL;
    g_autofree char *plugin = g_strdup_printf("%s/%s", parts[0], parts[1]);
    VolumeSource source = {.in_tree = in_tree_plugin_find(plugin)};
    if (!g_str_has_prefix(plugin, "kubernetes.io/"))
        source.flex_driver = strings_intern(strings, plugin);
    const Volume *spec = find_volume_of_name(self, strings_intern(strings, unique_name));
    AttachVolume *volume = adc_volume_named(self, strings_intern(strings, unique_name), NULL,
                                            spec != NULL ? volume_backend_id(spec)
                                                         : strings_intern(strings, parts[2]));
    volume->is_in_process = TRUE;
    volume->backend = cluster_backend(self->base.cluster, &source, NULL);
    volume->flex_driver = source.flex_driver;
    return volume;
}

void
adc_plan_in_process(const AttachDetachController *self,
                    Plan *plan,
                    FlexOperation operation,
                    InProcessThen then)
{
    const AttachPair *pair = plan_operation(plan);
    const Volume *spec = adc_spec_of(self, pair->volume);
    CsiCapability capability = {
        .mode = spec == NULL ? CSI_MODE_UNKNOWN : in_process_volume_mode(spec),
        .type =
            spec != NULL && spec->volume_mode == VOLUME_BLOCK ? CSI_ACCESS_BLOCK : CSI_ACCESS_MOUNT,
    };

    const char *flex_driver = pair->volume->flex_driver;
    if (adc_lacks_flex_driver(self, flex_driver)) {
        const InProcessResult failed = {.error = "no volume plugin matched"};
        plan_because(plan, "FLX-45");
        then(self, plan, &failed);
        return;
    }
    in_process_begin(self, plan,
                     &(InProcessWork){
                         .driver = pair->volume->backend,
                         .flex_driver = flex_driver,
                         .flex_changes = flex_driver == NULL
                                             ? 0
                                             : cluster_flex_driver_changes(self->base.cluster,
                                                                           flex_driver, NULL),
                         .operation = operation,
                         .known = self->flex_drivers,
                         .note = CHANGE_FLEX_DRIVER,
                         .request = {.volume_id = pair->volume->handle,
                                     .node_id = pair->node->name,
                                     .capabilities = &capability,
                                     .n_capabilities = 1},
                         .then = then,
    });
}
