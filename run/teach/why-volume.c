/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "why-private.h"

#include <string.h>

#include "models/api/field.h"
#include "models/external-attacher/external-attacher.h"

char *
why_claim_name(json_t *pod, json_t *volume)
{
    if (value_at(volume, "ephemeral") != NULL)
        return g_strdup_printf("%s-%s", value_text(pod, "metadata.name"),
                               value_text(volume, "name"));
    if (value_at(volume, "persistentVolumeClaim") == NULL)
        return NULL;
    return g_strdup(value_text(volume, "persistentVolumeClaim.claimName"));
}

/* Finds the volume's attachment to the node or, with @elsewhere, to another one. */
static json_t *
find_attachment(const Question *self, const char *volume, const char *node, gboolean elsewhere)
{
    json_t *object;
    gsize i;

    json_array_foreach(self->objects, i, object)
        if (strcmp(value_text(object, "kind"), "VolumeAttachment") == 0 &&
            strcmp(value_text(object, "spec.source.persistentVolumeName"), volume) == 0 &&
            (strcmp(value_text(object, "spec.nodeName"), node) != 0) == elsewhere)
            return object;
    return NULL;
}

/* Returns: whether the attachment of the volume blocks */
static gboolean
ask_attachment(Question *self, json_t *pod, json_t *volume, const char *node)
{
    const char *name = value_text(volume, "metadata.name"),
               *driver = value_text(volume, "spec.csi.driver");
    json_t *attachment = find_attachment(self, name, node, FALSE),
           *other = find_attachment(self, name, node, TRUE);
    const char *message = why_last_event(self, pod, "FailedAttachVolume");

    self->driver = driver;
    self->node = node;
    if (attachment != NULL && value_is_true(attachment, "status.attached"))
        return FALSE;
    if (value_at(volume, "metadata.deletionTimestamp") != NULL)
        return why_link(self, "volume-deleting", volume, "is being deleted, so nobody attaches it");
    if (other != NULL && value_at(other, "status.detachError") != NULL) {
        const char *error = value_text(other, "status.detachError.message");

        why_link(self, NULL, volume, "is not on %s yet", node);
        return why_link(self, why_cause_of_error(error, "driver-error"), other,
                        "cannot be detached from %s: %s", value_text(other, "spec.nodeName"),
                        error);
    }
    if (attachment == NULL && other != NULL && strstr(message, "Multi-Attach") != NULL)
        return why_link(self, "multi-attach", volume, "is still on %s: %s",
                        value_text(other, "spec.nodeName"), message);
    if (attachment == NULL) {
        if (json_is_false(
                value_at(why_find(self, "CSIDriver", NULL, driver), "spec.attachRequired")))
            return FALSE;
        return why_link(
            self, *message != '\0' ? why_cause_of_error(message, "driver-error") : "attaching",
            volume, "is not on %s yet%s%s", node, *message != '\0' ? ": " : "", message);
    }
    if (value_at(attachment, "status.attachError") != NULL) {
        const char *error = value_text(attachment, "status.attachError.message");

        return why_link(self, why_cause_of_error(error, "driver-error"), attachment,
                        "is not attached: %s", error);
    }
    why_link(self, NULL, attachment, "is not attached%s%s", *message != '\0' ? ": " : "", message);
    return why_because(
        self, cluster_is_running(run_cluster(self->run), external_attacher_process.name, driver)
                  ? "attaching"
                  : "no-attacher");
}

static gboolean
driver_is_on_node(const Question *self, const char *driver, const char *node)
{
    json_t *csi_node = why_find(self, "CSINode", NULL, node);

    return value_find(value_at(csi_node, "spec.drivers"), "name", driver) != NULL;
}

/* @handle: (out). Returns: (borrowed): NULL: the driver of the volume is not modelled */
static const CsiModelledDriver *
find_driver(const Question *self, json_t *volume, const char **handle)
{
    CsiDriver *driver =
        cluster_find_driver(run_cluster(self->run), value_text(volume, "spec.csi.driver"));

    *handle = strings_intern(objects_strings(run_objects(self->run)),
                             value_text(volume, "spec.csi.volumeHandle"));
    return driver == NULL ? NULL : csi_modelled_driver_cast(driver);
}

/* Returns: whether all files of the volume are visited */
static gboolean
ask_files(Question *self, json_t *volume, const char *node)
{
    const char *handle;
    const CsiModelledDriver *driver = find_driver(self, volume, &handle);
    const CsiFiles *files = driver == NULL ? NULL : csi_modelled_driver_files(driver, handle);

    if (files == NULL || files->work == CSI_FILES_IDLE)
        return FALSE;
    return files->work == CSI_FILES_GROUP
               ? why_link(self, "changing-group", volume,
                          "is on %s: its %" G_GINT64_FORMAT " files get the pod's fsGroup", node,
                          files->count)
               : why_link(self, "relabelling", volume,
                          "is on %s: its %" G_GINT64_FORMAT " files get the pod's SELinux label",
                          node, files->count);
}

gboolean
why_ask_mount(Question *self, json_t *pod, const char *node)
{
    const char *message = why_last_event(self, pod, "FailedMount");
    json_t *item;
    gsize i;

    json_array_foreach(value_at(pod, "spec.volumes"), i, item) {
        g_autofree char *name = why_claim_name(pod, item);
        json_t *claim = name != NULL ? why_find(self, "PersistentVolumeClaim",
                                                value_text(pod, "metadata.namespace"), name)
                                     : NULL;
        json_t *volume =
            why_find(self, "PersistentVolume", NULL, value_text(claim, "spec.volumeName"));
        const char *driver = value_text(volume, "spec.csi.driver");

        if (value_at(item, "csi") != NULL && *message != '\0')
            return why_link(self, why_cause_of_error(message, "mount-error"), pod,
                            "has an inline volume that is not mounted: %s", message);
        if (volume == NULL || *driver == '\0')
            continue;
        if (ask_attachment(self, pod, volume, node))
            return TRUE;
        if (!driver_is_on_node(self, driver, node))
            return why_link(self, "driver-not-registered", volume,
                            "cannot be mounted: %s is not registered on %s", driver, node);
        if (ask_files(self, volume, node))
            return TRUE;
        if (*message != '\0')
            return why_link(self, why_cause_of_error(message, "mount-error"), volume,
                            "is not mounted on %s: %s", node, message);
        return why_link(self, "mounting", volume, "is being mounted on %s", node);
    }
    return FALSE;
}

/* The volume is in use, and the cluster's objects tell nothing. */
static gboolean
ask_health_of_claim(Question *self, json_t *claim)
{
    json_t *volume = why_find(self, "PersistentVolume", NULL, value_text(claim, "spec.volumeName"));
    const char *handle;
    const CsiModelledDriver *driver = volume == NULL ? NULL : find_driver(self, volume, &handle);
    CsiModelledVolume real;

    if (driver == NULL || !csi_modelled_driver_get_volume(driver, handle, &real))
        return FALSE;
    if (real.condition != NULL)
        return why_link(self, "volume-abnormal", volume, "is abnormal, its driver says: %s",
                        real.condition);
    char used[QUANTITY_BUFFER];
    return real.is_full && why_link(self, "volume-full", volume, "is full: %s are used",
                                    quantity_format(real.used_bytes, used));
}

gboolean
why_ask_health(Question *self, json_t *object)
{
    const char *namespace = value_text(object, "metadata.namespace");
    json_t *volume;
    gsize i;

    if (strcmp(value_text(object, "kind"), "PersistentVolumeClaim") == 0)
        return ask_health_of_claim(self, object);
    json_array_foreach(value_at(object, "spec.volumes"), i, volume) {
        g_autofree char *name = why_claim_name(object, volume);
        json_t *claim =
            name == NULL ? NULL : why_find(self, "PersistentVolumeClaim", namespace, name);
        if (claim != NULL && ask_health_of_claim(self, claim))
            return TRUE;
    }
    return FALSE;
}
