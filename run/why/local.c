/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Volumes that are not made, attached or mounted by a CSI driver with its sidecars: in-tree plugins
 * and FlexVolume, local-path-provisioner, and drivers for the disks of nodes. Each way is asked in
 * the order of its steps: whether the maker takes the claim, whether its process runs, then the
 * state of its helper pod or the answer of its last call. */
#include "question.h"

#include <string.h>

#include "models/api/local/local-volume.h"
#include "models/api/migration/migration.h"
#include "models/local-path/local-path.h"
#include "models/local-volume/local-volume.h"
#include "models/volume/plugins.h"

/* ---- Provisioning ---- */

/* Kubernetes' own plugins: kube-controller-manager calls the cloud. */
static gboolean
ask_in_tree(Question *self, const StorageClass *class, const char *volume)
{
    const InTreePlugin *plugin = in_tree_plugin_find(class->provisioner);

    if (plugin == NULL || in_tree_plugin_is_migrated(plugin, cluster_release(self->cluster)))
        return FALSE;
    return why_ask_process(self, "kube-controller-manager", NULL) ||
           why_ask_call(self, class->provisioner, CSI_CREATE_VOLUME, volume, NULL) ||
           why_ask_call(self, in_tree_plugin_driver(plugin), CSI_CREATE_VOLUME, volume, NULL) ||
           why_because(self, "provisioning");
}

/* LOC-31, LOC-32 */
static gboolean
ask_local_path(Question *self, const Claim *claim, const StorageClass *class, const char *volume)
{
    const Component *provisioner = cluster_model(self->cluster, &local_path_class, NULL);
    const LocalPathOptions *options = provisioner == NULL ? NULL : provisioner->options;
    g_autofree char *helper = g_strconcat("helper-pod-create-", volume, NULL);
    const char *namespace = options == NULL ? "local-path-storage" : options->namespace;
    const Object *pod = why_get(self, KIND_POD, namespace, helper);

    if (strcmp(class->provisioner,
               options == NULL ? "rancher.io/local-path" : options->provisioner_name) != 0)
        return FALSE;
    if (options == NULL)
        return why_ask_process(self, local_path_process.name, NULL);
    if (claim->selector != NULL || (claim->access_modes & (ACCESS_RWX | ACCESS_ROX)) != 0) {
        why_link(self, &claim->meta, claim->meta.created_at,
                 claim->selector != NULL
                     ? N_("asks for a volume with labels, and gets a directory")
                     : N_("asks for an access mode of several nodes, and gets a directory"));
        return why_because(self, "local-path-refused");
    }
    if (object_annotation(&claim->meta, ANNOTATION_SELECTED_NODE) == NULL) {
        why_link(self, &class->meta, TIME_UNSET,
                 "binds at once, so no node is chosen; local-path-provisioner needs one");
        return why_because(self, "local-path-refused");
    }
    return why_ask_process(self, local_path_process.name, NULL) ||
           (pod != NULL && why_ask_object(self, pod)) ||
           why_ask_work(self, &local_path_class, NULL, claim->meta.key, "provisioning");
}

gboolean
why_ask_directory(Question *self, const Volume *volume)
{
    const Component *provisioner = cluster_model(self->cluster, &local_path_class, NULL);
    const LocalPathOptions *options = provisioner == NULL ? NULL : provisioner->options;
    const char *maker = object_annotation(&volume->meta, ANNOTATION_PROVISIONED_BY);
    g_autofree char *helper = g_strconcat("helper-pod-delete-", object_name(&volume->meta), NULL);

    if (g_strcmp0(maker, options == NULL ? "rancher.io/local-path" : options->provisioner_name) !=
        0)
        return FALSE;
    if (options == NULL)
        return why_ask_process(self, local_path_process.name, NULL);
    const Object *pod = why_get(self, KIND_POD, options->namespace, helper);
    return why_ask_process(self, local_path_process.name, NULL) ||
           (pod != NULL && why_ask_object(self, pod)) ||
           why_ask_work(self, &local_path_class, NULL, volume->meta.key, "terminating");
}

/* LOC-14: the driver's controller writes a LocalVolume, and the agent of its node makes it. The
 * controller removes it again when time is up. */
gboolean
why_ask_local_volume(Question *self, const char *driver, const char *name, const char *node_name)
{
    const GPtrArray *volumes = why_list(self, KIND_LOCAL_VOLUME);
    const Object *found = NULL;

    if (cluster_model(self->cluster, &local_volume_controller_class, driver) == NULL)
        return FALSE;
    for (unsigned i = 0; i < volumes->len && found == NULL; i++)
        if (strcmp(object_name(volumes->pdata[i]), name) == 0)
            found = volumes->pdata[i];
    if (found != NULL && LOCAL_VOLUME_CONST(found)->state != LOCAL_VOLUME_PENDING)
        return FALSE;
    if (found != NULL) {
        node_name = LOCAL_VOLUME_CONST(found)->node;
        why_link(self, found, found->created_at, "is to be made by the agent on %s", node_name);
    }
    const Object *node = why_get(self, KIND_NODE, NULL, node_name);
    g_autofree char *agent = g_strdup_printf("%s/%s", driver, node_name);
    return node_name != NULL && (why_ask_process(self, local_volume_agent_process.name, agent) ||
                                 (node != NULL && why_ask_node(self, (const Node *)node)) ||
                                 (found != NULL && why_because(self, "provisioning")));
}

gboolean
why_ask_other_provisioner(Question *self,
                          const Claim *claim,
                          const StorageClass *class,
                          const char *volume)
{
    return ask_in_tree(self, class, volume) || ask_local_path(self, claim, class, volume);
}

/* ---- On the node ---- */

/* A node other than the pod's that has the volume. Returns: (borrowed): NULL: none */
static const Node *
node_with(Question *self, const Volume *volume, const char *node_name)
{
    const VolumePlugin *plugin = volume_plugin_find(volume_in_process_source(volume));
    const char *name =
        plugin == NULL ? NULL : volume_unique_name(objects_strings(self->objects), plugin, volume);
    const GPtrArray *nodes = why_list(self, KIND_NODE);

    for (unsigned i = 0; name != NULL && i < nodes->len; i++) {
        const Node *node = nodes->pdata[i];
        if (strcmp(object_name(&node->meta), node_name) != 0 &&
            string_list_has(node->volumes_attached, name))
            return node;
    }
    return NULL;
}

gboolean
why_ask_in_process(Question *self, const Pod *pod, const Volume *volume)
{
    static const CsiMethod methods[] = {CSI_CONTROLLER_PUBLISH_VOLUME, CSI_NODE_STAGE_VOLUME,
                                        CSI_NODE_PUBLISH_VOLUME};
    const VolumeSource *source = volume_in_process_source(volume);
    const CsiDriver *driver = source == NULL ? NULL : cluster_backend(self->cluster, source, NULL);
    const char *name = driver == NULL ? NULL : csi_driver_name(driver),
               *id = volume_backend_id(volume);
    const gboolean shared = (volume->access_modes & (ACCESS_RWX | ACCESS_ROX)) != 0;
    const Node *other = node_with(self, volume, pod->node_name);

    if (name == NULL)
        return FALSE;
    for (unsigned i = 0; i < G_N_ELEMENTS(methods); i++)
        if (why_ask_call(self, name, methods[i], id, pod->node_name))
            return TRUE;
    if (other == NULL || shared)
        return FALSE;
    why_link(self, &volume->meta, TIME_UNSET, "is not on %s yet", pod->node_name);
    return why_ask_holder(self, volume, other) ||
           why_ask_call(self, name, CSI_CONTROLLER_UNPUBLISH_VOLUME, id,
                        object_name(&other->meta)) ||
           why_ask_process(self, "kube-controller-manager", NULL) || why_because(self, "detaching");
}
