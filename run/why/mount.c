/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The volumes of a pod on its node: attached, registered, staged, published, in this order; the
 * first step that is not done decides. A volume that is attached elsewhere leads to its holder: a
 * pod that runs there, one that does not end, or a silent node, for which the six minutes of a
 * forced detach are told. A call of the driver that is under way or has failed ends the chain. */
#include "question.h"

#include <string.h>

#include "models/api/field.h"
#include "models/attach-detach-controller/attach-detach-controller.h"
#include "models/csi/flex-call.h"
#include "models/external-attacher/external-attacher.h"
#include "models/kubelet/kubelet.h"
#include "models/volume/plugins.h"

static const Attachment *
find_attachment(Question *self, const Volume *volume, const char *node, gboolean elsewhere)
{
    const GPtrArray *attachments = why_attachments_of(self, object_name(&volume->meta));

    for (unsigned i = 0; i < attachments->len; i++) {
        const Attachment *attachment = attachments->pdata[i];
        if ((strcmp(attachment->node_name, node) != 0) == elsewhere)
            return attachment;
    }
    return NULL;
}

static gboolean
needs_attachment(const Question *self, const char *driver)
{
    const Object *object = why_get(self, KIND_CSI_DRIVER, NULL, driver);

    return object == NULL || CSI_DRIVER_OBJECT(object)->attach_required;
}

/* A pod on @node that has the volume, or had it. */
static const Pod *
find_user(Question *self, const Volume *volume, const char *node)
{
    const Object *claim =
        volume->claim_ref.claim == NULL ? NULL : api_server_get(self->api, volume->claim_ref.claim);
    const GPtrArray *pods = claim == NULL ? NULL : why_pods_of_claim(self, CLAIM_CONST(claim));

    for (unsigned i = 0; pods != NULL && i < pods->len; i++)
        if (g_strcmp0(((const Pod *)pods->pdata[i])->node_name, node) == 0)
            return pods->pdata[i];
    return NULL;
}

static const char *
unique_name(const Question *self, const Volume *volume)
{
    const VolumePlugin *plugin = volume_plugin_find(volume->source);

    return plugin == NULL ? "" : volume_unique_name(objects_strings(self->objects), plugin, volume);
}

static const char *
node_id_of(const Question *self, const char *driver, const char *node)
{
    const Object *csi_node = why_get(self, KIND_CSI_NODE, NULL, node);
    const CsiNodeDriver *entry =
        csi_node == NULL ? NULL : csi_node_find_driver(CSI_NODE(csi_node), driver);

    return entry == NULL ? node : entry->node_id;
}

gboolean
why_ask_holder(Question *self, const Volume *volume, const Node *node)
{
    const char *node_name = node == NULL ? "" : object_name(&node->meta),
               *name = object_name(&volume->meta);
    const Pod *user = find_user(self, volume, node_name);
    const gboolean is_in_use =
        node != NULL && string_list_has(node->volumes_in_use, unique_name(self, volume));

    if (user != NULL && object_is_deleted(&user->meta))
        return why_ask_pod(self, user);
    if (user != NULL && !pod_is_terminal(user)) {
        why_link(self, &user->meta, why_placed_at(user), "uses the volume %s on %s", name,
                 node_name);
        return why_because(self, "multi-attach");
    }
    if (is_in_use && why_is_silent(node)) {
        why_link(self, &node->meta, node->ready.changed_at,
                 "is not Ready and still reports the volume %s in use", name);
        const SimTime forced_at =
            attach_detach_forced_at(self->cluster, unique_name(self, volume), node_name);
        return why_until(self, forced_at == SIM_TIME_MAX ? "node-not-ready" : "six-minutes",
                         forced_at);
    }
    if (user != NULL || !is_in_use)
        return FALSE;
    why_link(self, &node->meta, TIME_UNSET, "still has the volume %s mounted", name);
    return why_ask_process(self, "kubelet", node_name) ||
           (volume->source != NULL &&
            (why_ask_call(self, volume->source->driver, CSI_NODE_UNPUBLISH_VOLUME,
                          volume->source->handle, node_name) ||
             why_ask_call(self, volume->source->driver, CSI_NODE_UNSTAGE_VOLUME,
                          volume->source->handle, node_name))) ||
           why_because(self, "unmounting");
}

/* EA-23.1: the attacher has removed its finalizer. */
static gboolean
is_detached(const Object *attachment)
{
    for (unsigned i = 0; attachment->finalizers != NULL && i < attachment->finalizers->n_items; i++)
        if (g_str_has_prefix(attachment->finalizers->items[i], "external-attacher/"))
            return FALSE;
    return TRUE;
}

/* The volume is on another node, and does not leave it. */
static gboolean
ask_attachment_once(Question *self, const Object *object)
{
    const Attachment *attachment = (const Attachment *)object;
    const char *node_name = attachment->node_name;
    const Volume *volume = VOLUME_CONST(why_get(self, KIND_VOLUME, NULL, attachment->volume_name));
    const Node *node = (const Node *)why_get(self, KIND_NODE, NULL, node_name);
    const char *handle = volume == NULL || volume->source == NULL ? NULL : volume->source->handle;

    if (attachment->attached && !object_is_deleted(&attachment->meta))
        return volume != NULL && why_ask_holder(self, volume, node);
    const gboolean leaves = object_is_deleted(&attachment->meta);
    why_link(
        self, &attachment->meta, leaves ? attachment->meta.deleted_at : attachment->meta.created_at,
        leaves ? N_("is not detached from %s yet") : N_("is not attached to %s yet"), node_name);
    if (leaves && is_detached(&attachment->meta) && why_ask_finalizer(self, &attachment->meta))
        return TRUE;
    if (!leaves && !why_is_registered(self, attachment->attacher, node_name))
        return why_ask_driver(self, attachment->attacher, NULL, node_name);
    return why_ask_driver(self, attachment->attacher, &external_attacher_process, NULL) ||
           (handle != NULL &&
            why_ask_call(self, attachment->attacher,
                         leaves ? CSI_CONTROLLER_UNPUBLISH_VOLUME : CSI_CONTROLLER_PUBLISH_VOLUME,
                         handle, node_id_of(self, attachment->attacher, node_name))) ||
           why_ask_work(self, &external_attacher_class, attachment->attacher, attachment->meta.key,
                        leaves ? "detaching" : "attaching");
}

gboolean
why_ask_attachment(Question *self, const Attachment *attachment)
{
    return why_once(self, &attachment->meta, ask_attachment_once);
}

static gboolean
ask_attach(Question *self, const Pod *pod, const Volume *volume)
{
    const char *driver = volume->source->driver, *node = pod->node_name;
    const Attachment *here = find_attachment(self, volume, node, FALSE);
    const Attachment *other = find_attachment(self, volume, node, TRUE);
    const gboolean shared = (volume->access_modes & (ACCESS_RWX | ACCESS_ROX)) != 0;

    if ((here != NULL && here->attached) || !needs_attachment(self, driver))
        return FALSE;
    if (object_is_deleted(&volume->meta)) {
        why_link(self, &volume->meta, why_deleted_since(&volume->meta),
                 "is being deleted, so nobody attaches it");
        return why_because(self, "volume-deleting");
    }
    if (other != NULL && !shared && here != NULL && object_is_deleted(&other->meta) &&
        why_ask_attachment(self, other))
        return TRUE;
    if (here != NULL)
        return why_ask_attachment(self, here);
    why_link(self, &volume->meta, TIME_UNSET, "is not on %s yet", node);
    if (other != NULL && !shared && why_ask_attachment(self, other))
        return TRUE;
    return why_ask_process(self, "kube-controller-manager", NULL) ||
           why_ask_process(self, "kubelet", node) || why_because(self, "attaching");
}

static gboolean
ask_files(Question *self, const Volume *volume, const char *node)
{
    CsiDriver *driver = why_driver_of(self, volume);
    const CsiModelledDriver *modelled = driver == NULL ? NULL : csi_modelled_driver_cast(driver);
    const CsiFiles *files =
        modelled == NULL ? NULL : csi_modelled_driver_files(modelled, volume->source->handle);

    if (files == NULL || files->work == CSI_FILES_IDLE)
        return FALSE;
    g_autofree char *n = g_strdup_printf("%" G_GINT64_FORMAT, files->count);
    why_link(self, &volume->meta, TIME_UNSET,
             files->work == CSI_FILES_GROUP
                 ? N_("is on %s: its %s files get the pod's fsGroup")
                 : N_("is on %s: its %s files get the pod's SELinux label"),
             node, n);
    return why_because(self, files->work == CSI_FILES_GROUP ? "changing-group" : "relabelling");
}

static gboolean
ask_secret(Question *self, const Volume *volume)
{
    for (VolumeSecret i = SECRET_NODE_STAGE; i <= SECRET_NODE_PUBLISH; i++) {
        const SecretReference *secret = volume_source_secret(volume->source, i);
        if (secret == NULL || why_get(self, KIND_SECRET, secret->namespace, secret->name) != NULL)
            continue;
        why_link(self, &volume->meta, TIME_UNSET, "needs the Secret %s/%s, which does not exist",
                 secret->namespace, secret->name);
        return why_because(self, "secret-missing");
    }
    return FALSE;
}

static gboolean
ask_csi_mount(Question *self, const Pod *pod, const Volume *volume)
{
    const char *driver = volume->source->driver, *node = pod->node_name,
               *handle = volume->source->handle;

    if (ask_attach(self, pod, volume))
        return TRUE;
    if (!why_is_registered(self, driver, node)) {
        why_link(self, &volume->meta, TIME_UNSET, "cannot be mounted: %s is not registered on %s",
                 driver, node);
        return why_ask_driver(self, driver, NULL, node) ||
               why_because(self, "driver-not-registered");
    }
    if (ask_files(self, volume, node) || ask_secret(self, volume) ||
        why_ask_process(self, "kubelet", node))
        return TRUE;
    if (csi_modelled_driver_cast(why_driver_of(self, volume)) != NULL &&
        csi_modelled_driver_n_targets(csi_modelled_driver_cast(why_driver_of(self, volume)), handle,
                                      node) > 0)
        return FALSE;
    why_link(self, &volume->meta, TIME_UNSET, "is not mounted on %s yet", node);
    return why_ask_call(self, driver, CSI_NODE_STAGE_VOLUME, handle, node) ||
           why_ask_call(self, driver, CSI_NODE_PUBLISH_VOLUME, handle, node) ||
           why_ask_driver_fault(self, driver, node) ||
           why_ask_work(self, &kubelet_class, node, pod->meta.key, "mounting");
}

/* An inline volume has no PersistentVolume. */
static gboolean
ask_inline(Question *self, const Pod *pod, const VolumeSource *source)
{
    const Object *driver = why_get(self, KIND_CSI_DRIVER, NULL, source->driver);
    gboolean takes = driver != NULL && CSI_DRIVER_OBJECT(driver)->lifecycle_modes != NULL &&
                     string_list_has(CSI_DRIVER_OBJECT(driver)->lifecycle_modes, "Ephemeral");

    if (!why_is_registered(self, source->driver, pod->node_name)) /* asked for first */
        return why_ask_driver(self, source->driver, NULL, pod->node_name);
    if (!takes) {
        g_autofree char *name = g_strconcat("csidriver/", source->driver, NULL);
        why_link_named(self, name, TIME_UNSET,
                       "does not list Ephemeral in volumeLifecycleModes, and the pod has an inline "
                       "volume of it");
        return why_because(self, "inline-refused");
    }
    return why_ask_call(self, source->driver, CSI_NODE_PUBLISH_VOLUME, NULL, pod->node_name);
}

gboolean
why_ask_mounts(Question *self, const Pod *pod)
{
    const unsigned n = pod->volumes == NULL ? 0 : pod->volumes->n_items + pod->volumes->n_inline;

    for (unsigned i = 0; i < n; i++) {
        const PodVolume *item = &pod->volumes->items[i];
        const Volume *volume = why_volume_of(self, why_claim_of(self, pod, item));
        if (item->source != NULL && item->source->is_inline && ask_inline(self, pod, item->source))
            return TRUE;
        if (volume != NULL && volume->source != NULL && volume->source->driver != NULL &&
            ask_csi_mount(self, pod, volume))
            return TRUE;
        if (volume != NULL && (volume->source == NULL || volume->source->driver == NULL) &&
            why_ask_in_process(self, pod, volume))
            return TRUE;
    }
    return FALSE;
}

/* The volume is in use, and the cluster's objects tell nothing. */
gboolean
why_ask_health(Question *self, const Claim *claim)
{
    const Volume *volume = why_volume_of(self, claim);
    CsiDriver *driver = why_driver_of(self, volume);
    const CsiModelledDriver *modelled = driver == NULL ? NULL : csi_modelled_driver_cast(driver);
    CsiModelledVolume real;
    char used[QUANTITY_BUFFER];

    if (modelled == NULL ||
        !csi_modelled_driver_get_volume(modelled, volume_backend_id(volume), &real))
        return FALSE;
    if (real.condition != NULL) {
        why_link(self, &volume->meta, TIME_UNSET, "is abnormal, its driver says: %s",
                 real.condition);
        return why_because(self, "volume-abnormal");
    }
    if (!real.is_full)
        return FALSE;
    why_link(self, &volume->meta, TIME_UNSET, "is full: %s are used",
             quantity_format(real.used_bytes, used));
    return why_because(self, "volume-full");
}
