/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "why-private.h"

#include <string.h>

#include "models/external-provisioner/external-provisioner.h"

/* The provisioner complains about the claim's source. */
static gboolean
ask_source(Question *self, json_t *claim, const char *refusal)
{
    const char *kind = value_text(claim, "spec.dataSourceRef.kind");
    const char *namespace = value_text(claim, "spec.dataSourceRef.namespace");
    json_t *source = why_find(
        self, kind, *namespace != '\0' ? namespace : value_text(claim, "metadata.namespace"),
        value_text(claim, "spec.dataSourceRef.name"));

    why_link(self, NULL, claim, "is Pending: %s", refusal);
    if (strstr(refusal, "isn't allowed") != NULL)
        return why_because(self, "source-not-granted");
    if (strcmp(kind, "VolumeSnapshot") != 0)
        return source != NULL
                   ? why_ask_claim(self, source, FALSE) || why_because(self, "driver-error")
                   : why_because(self, "claim-missing");
    if (source == NULL)
        return why_because(self, "snapshot-missing");
    return why_ask_snapshot(self, source) || why_because(self, "provisioning");
}

/* The class exists. */
static gboolean
ask_provisioned_claim(Question *self, json_t *claim, json_t *class, gboolean has_pod)
{
    const char *provisioner = value_text(class, "provisioner"),
               *name = value_text(class, "metadata.name");
    const char *node = json_string_value(json_object_get(value_at(claim, "metadata.annotations"),
                                                         "volume.kubernetes.io/selected-node"));
    const char *refusal = why_last_event(self, claim, "ProvisioningFailed");

    if (strcmp(value_text(class, "volumeBindingMode"), "WaitForFirstConsumer") == 0 &&
        node == NULL) {
        if (*refusal != '\0' && strstr(refusal, "ResourceExhausted") != NULL)
            return why_link(self, "driver-full", claim, "is Pending: %s", refusal);
        if (has_pod)
            return FALSE; /* the claim waits for the same cause as the pod */
        return why_link(self, "no-consumer", claim, "is Pending: its class %s waits for a pod",
                        name);
    }
    if (strcmp(provisioner, "kubernetes.io/no-provisioner") == 0)
        return why_link(self, "no-volume", claim,
                        "is Pending: no PersistentVolume of class %s fits, and nobody makes one",
                        name);
    self->driver = provisioner;
    self->node = node;
    if (!cluster_is_running(run_cluster(self->run), external_provisioner_process.name, provisioner))
        return why_link(self, "no-provisioner", claim,
                        "is Pending: its provisioner %s does not run", provisioner);
    if (strstr(refusal, "DataSource") != NULL || strstr(refusal, "dataSource") != NULL)
        return ask_source(self, claim, refusal);
    if (*refusal != '\0')
        return why_link(self, why_cause_of_error(refusal, "driver-error"), claim,
                        "is Pending: %s said: %s", provisioner, refusal);
    return why_link(self, "provisioning", claim, "is Pending: %s is making its volume",
                    provisioner);
}

/* The claim names its volume. */
static gboolean
ask_named_volume(Question *self, json_t *claim, const char *name)
{
    json_t *volume = why_find(self, "PersistentVolume", NULL, name);

    if (volume == NULL)
        return why_link(self, "volume-missing", claim,
                        "is Pending: it names the volume %s, which does not exist", name);
    if (value_at(volume, "spec.claimRef") != NULL &&
        strcmp(value_text(volume, "spec.claimRef.name"), value_text(claim, "metadata.name")) != 0)
        return why_link(self, "volume-taken", claim,
                        "is Pending: it names the volume %s, which belongs to %s/%s", name,
                        value_text(volume, "spec.claimRef.namespace"),
                        value_text(volume, "spec.claimRef.name"));
    return FALSE;
}

gboolean
why_ask_claim(Question *self, json_t *claim, gboolean has_pod)
{
    const char *phase = value_text(claim, "status.phase"),
               *volume = value_text(claim, "spec.volumeName");
    const char *class_name = value_text(claim, "spec.storageClassName");
    json_t *class;

    if (strcmp(phase, "Lost") == 0)
        return why_link(self, "claim-lost", claim, "is Lost: its volume %s is gone", volume);
    if (value_at(claim, "metadata.deletionTimestamp") != NULL)
        return why_link(self, "claim-deleting", claim, "is being deleted");
    if (strcmp(phase, "Bound") == 0)
        return FALSE;
    if (*volume != '\0')
        return ask_named_volume(self, claim, volume);
    if (*class_name == '\0') {
        gboolean is_static = value_at(claim, "spec.storageClassName") != NULL;

        return why_link(self, is_static ? "no-volume" : "no-class", claim,
                        is_static ? "is Pending: no PersistentVolume without a class fits"
                                  : "is Pending: it names no class and there is no default");
    }
    class = why_find(self, "StorageClass", NULL, class_name);
    if (class == NULL)
        return why_link(self, "class-missing", claim, "is Pending: there is no StorageClass %s",
                        class_name);
    return ask_provisioned_claim(self, claim, class, has_pod);
}
