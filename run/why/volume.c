/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "question.h"

#include "models/external-provisioner/external-provisioner.h"

/* PersistentVolumes by themselves. */

/* The provisioner on the volume's own node, if there is one on each. */
static gboolean
ask_provisioner_of_node(Question *self, const Volume *volume)
{
    const char *driver = volume->source->driver;
    const NodeSelector *affinity = volume_node_affinity(volume);
    const GPtrArray *nodes = why_list(self, KIND_NODE);

    for (unsigned i = 0; affinity != NULL && i < nodes->len; i++) {
        const Object *node = nodes->pdata[i];
        g_autofree char *instance = g_strdup_printf("%s/%s", driver, object_name(node));
        if (node_selector_matches(affinity, node->labels, object_name(node)) &&
            cluster_has_process(self->cluster, external_provisioner_process.name, instance))
            return why_ask_process(self, external_provisioner_process.name, instance);
    }
    return FALSE;
}

/* PROV-34 */
gboolean
why_ask_attachments(Question *self, const Volume *volume)
{
    const GPtrArray *attachments = why_attachments_of(self, object_name(&volume->meta));

    for (unsigned i = 0; i < attachments->len; i++)
        if (why_ask_attachment(self, attachments->pdata[i]))
            return TRUE;
    return FALSE;
}

gboolean
why_ask_deleter(Question *self, const Volume *volume)
{
    const char *driver = volume->source == NULL ? NULL : volume->source->driver;

    return driver != NULL &&
           (ask_provisioner_of_node(self, volume) ||
            why_ask_driver(self, driver, &external_provisioner_process, NULL) ||
            why_ask_call(self, driver, CSI_DELETE_VOLUME, volume->source->handle, NULL) ||
            why_ask_work(self, &external_provisioner_class, driver, volume->meta.key,
                         "terminating"));
}

gboolean
why_ask_volume(Question *self, const Volume *volume)
{
    const char *driver = volume->source == NULL ? NULL : volume->source->driver;
    const CsiDriver *backend =
        driver != NULL ? cluster_find_driver(self->cluster, driver)
                       : cluster_backend(self->cluster, volume_in_process_source(volume), NULL);

    if (object_is_deleted(&volume->meta)) {
        why_link(self, &volume->meta, why_deleted_since(&volume->meta), "is being deleted");
        return why_ask_deletion(self, &volume->meta);
    }
    switch ((VolumePhase)volume->phase) {
    case VOLUME_RELEASED:
        why_link(self, &volume->meta, volume->phase_changed_at, "is Released: the claim %s is gone",
                 volume->claim_ref.claim == NULL ? "" : volume->claim_ref.claim->text);
        if (volume->reclaim_policy == RECLAIM_RETAIN)
            return why_because(self, "volume-released");
        return why_ask_attachments(self, volume) ||
               why_ask_process(self, "kube-controller-manager", NULL) ||
               why_ask_directory(self, volume) || why_ask_deleter(self, volume) ||
               why_because(self, "terminating");
    case VOLUME_FAILED:
        why_link(self, &volume->meta, volume->phase_changed_at, "is Failed: %s",
                 volume->message == NULL ? "" : volume->message);
        return (backend != NULL && why_ask_call(self, csi_driver_name(backend), CSI_DELETE_VOLUME,
                                                volume_backend_id(volume), NULL)) ||
               why_because(self, "volume-failed");
    case VOLUME_PENDING:
    case VOLUME_AVAILABLE:
    case VOLUME_BOUND:
        break;
    }
    return FALSE;
}
