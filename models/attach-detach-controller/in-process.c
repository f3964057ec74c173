/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controller.h"
#include "models/api/migration/migration.h"
#include "models/cluster/cluster.h"
#include "models/volume/plugins.h"

#include <string.h>

/* Volumes that this controller attaches itself: those of in-tree plugins that have not migrated, on
 * the whole or on the node, and of FlexVolume (INT-10 to INT-12). */

/* INT-11: plugins whose attach does nothing: the node logs in as it mounts. */
static gboolean
attaches_on_node(const VolumeSource *source)
{
    return strcmp(source->plugin, "iscsi") == 0 || strcmp(source->plugin, "fc") == 0 ||
           strcmp(source->plugin, "rbd") == 0;
}

gboolean
adc_is_attachable_in_process(const AttachDetachController *self, const VolumeSource *source)
{
    const VolumePlugin *plugin = volume_plugin_find(source);
    gboolean attaches;

    if (plugin == NULL || !plugin->attachable)
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
        !in_tree_plugin_is_migrated(source->in_tree,
                                    cluster_node_release(self->base.cluster, node->name)))
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
    volume->backend = cluster_backend(self->base.cluster, source, NULL);
    volume->flex_driver = source->flex_driver;
    return volume;
}

void
adc_plan_in_process(const AttachDetachController *self,
                    Plan *plan,
                    FlexOperation operation,
                    InProcessThen then)
{
    const AttachPair *pair = plan_operation(plan);
    const Volume *spec = adc_find_volume_spec(self, pair->volume->spec);
    CsiCapability capability = {
        .mode = spec == NULL ? CSI_MODE_UNKNOWN : in_process_access_mode(spec->access_modes),
        .type =
            spec != NULL && spec->volume_mode == VOLUME_BLOCK ? CSI_ACCESS_BLOCK : CSI_ACCESS_MOUNT,
    };

    in_process_begin(self, plan,
                     &(InProcessWork){
                         .driver = pair->volume->backend,
                         .flex_driver = pair->volume->flex_driver,
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
