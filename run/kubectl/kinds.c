/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <string.h>

#include "describe.h"
#include "kinds.h"

/* In the order of `get all`. */
/* clang-format off */
static const KubectlKind kinds[] = {
    {"Pod", "v1", "pods", "po", TRUE, TRUE, pod_columns, describe_pod},
    {"ReplicationController", "v1", "replicationcontrollers", "rc", TRUE, TRUE,
     replica_set_columns, describe_replica_set},
    {"Service", "v1", "services", "svc", TRUE, TRUE, service_columns, NULL},
    {"DaemonSet", "apps/v1", "daemonsets", "ds", TRUE, TRUE, daemon_set_columns, describe_daemon_set},
    {"Deployment", "apps/v1", "deployments", "deploy", TRUE, TRUE, deployment_columns, describe_deployment},
    {"ReplicaSet", "apps/v1", "replicasets", "rs", TRUE, TRUE, replica_set_columns, describe_replica_set},
    {"StatefulSet", "apps/v1", "statefulsets", "sts", TRUE, TRUE,
     stateful_set_columns, describe_stateful_set},
    {"CronJob", "batch/v1", "cronjobs", "cj", TRUE, TRUE, cron_job_columns, describe_cron_job},
    {"Job", "batch/v1", "jobs", "", TRUE, TRUE, job_columns, describe_job},
    {"PersistentVolumeClaim", "v1", "persistentvolumeclaims", "pvc", TRUE, FALSE,
     claim_columns, describe_claim},
    {"PersistentVolume", "v1", "persistentvolumes", "pv", FALSE, FALSE, volume_columns, describe_volume},
    {"StorageClass", "storage.k8s.io/v1", "storageclasses", "sc", FALSE, FALSE,
     class_columns, describe_class},
    {"VolumeAttachment", "storage.k8s.io/v1", "volumeattachments", "", FALSE, FALSE,
     attachment_columns, NULL},
    {"CSINode", "storage.k8s.io/v1", "csinodes", "", FALSE, FALSE, csi_node_columns, describe_csi_node},
    {"CSIDriver", "storage.k8s.io/v1", "csidrivers", "", FALSE, FALSE, csi_driver_columns, NULL},
    {"VolumeAttributesClass", "storage.k8s.io/v1beta1", "volumeattributesclasses", "vac", FALSE, FALSE,
     attributes_class_columns, NULL},
    {"CSIStorageCapacity", "storage.k8s.io/v1", "csistoragecapacities", "", TRUE, FALSE,
     created_columns, NULL},
    {"Node", "v1", "nodes", "no", FALSE, FALSE, node_columns, describe_node},
    {"Namespace", "v1", "namespaces", "ns", FALSE, FALSE, namespace_columns, describe_namespace},
    {"Event", "v1", "events", "ev", TRUE, FALSE, event_columns, NULL},
    {"Lease", "coordination.k8s.io/v1", "leases", "", TRUE, FALSE, lease_columns, NULL},
    {"ControllerRevision", "apps/v1", "controllerrevisions", "", TRUE, FALSE,
     controller_revision_columns, NULL},
    {"PodDisruptionBudget", "policy/v1", "poddisruptionbudgets", "pdb", TRUE, FALSE,
     disruption_budget_columns, describe_disruption_budget},
    {"VolumeSnapshot", "snapshot.storage.k8s.io/v1", "volumesnapshots", "vs", TRUE, FALSE,
     snapshot_columns, NULL},
    {"VolumeSnapshotContent", "snapshot.storage.k8s.io/v1", "volumesnapshotcontents", "vsc vscs", FALSE, FALSE,
     snapshot_content_columns, NULL},
    {"VolumeSnapshotClass", "snapshot.storage.k8s.io/v1", "volumesnapshotclasses", "vsclass vsclasses", FALSE, FALSE,
     snapshot_class_columns, NULL},
    {"VolumeGroupSnapshot", "groupsnapshot.storage.k8s.io/v1beta1", "volumegroupsnapshots", "vgs", TRUE, FALSE,
     group_snapshot_columns, NULL},
    {"VolumeGroupSnapshotContent", "groupsnapshot.storage.k8s.io/v1beta1", "volumegroupsnapshotcontents",
     "vgsc vgscs", FALSE, FALSE, group_content_columns, NULL},
    {"VolumeGroupSnapshotClass", "groupsnapshot.storage.k8s.io/v1beta1", "volumegroupsnapshotclasses",
     "vgsclass vgsclasses", FALSE, FALSE, snapshot_class_columns, NULL},
    {"ReferenceGrant", "gateway.networking.k8s.io/v1beta1", "referencegrants", "refgrant", TRUE, FALSE,
     age_columns, NULL},
    {"PriorityClass", "scheduling.k8s.io/v1", "priorityclasses", "pc", FALSE, FALSE,
     priority_class_columns, NULL},
    {"ResourceQuota", "v1", "resourcequotas", "quota", TRUE, FALSE, quota_columns, describe_quota},
    {"LimitRange", "v1", "limitranges", "limits", TRUE, FALSE, created_columns, describe_limit_range},
    {"LocalVolume", "local.kvolsim.io/v1", "localvolumes", "lv", TRUE, FALSE, local_volume_columns, NULL},
};
/* clang-format on */

unsigned
kubectl_n_kinds(void)
{
    return G_N_ELEMENTS(kinds);
}

const KubectlKind *
kubectl_kind_at(unsigned i)
{
    return &kinds[i];
}

/* @length: (out): 0 for kinds of the core group */
static const char *
group_of(const KubectlKind *self, gsize *length)
{
    const char *slash = strchr(self->api_version, '/');

    *length = slash != NULL ? (gsize)(slash - self->api_version) : 0;
    return self->api_version;
}

static gboolean
is_called(const KubectlKind *self, const char *name)
{
    g_auto(GStrv) short_names = g_strsplit(self->short_names, " ", -1);

    return g_ascii_strcasecmp(name, self->plural) == 0 ||
           g_ascii_strcasecmp(name, self->kind) == 0 ||
           (*name != '\0' && g_strv_contains((const char *const *)short_names, name));
}

const KubectlKind *
kubectl_kind_find(const char *word)
{
    g_autofree char *name = g_ascii_strdown(word, -1);
    char *wanted = strchr(name, '.');

    if (wanted != NULL)
        *wanted++ = '\0';
    for (unsigned i = 0; i < G_N_ELEMENTS(kinds); i++) {
        gsize length;
        const char *group = group_of(&kinds[i], &length);

        if (is_called(&kinds[i], name) &&
            (wanted == NULL || (strlen(wanted) == length && strncmp(wanted, group, length) == 0)))
            return &kinds[i];
    }
    return NULL;
}

const KubectlKind *
kubectl_kind_of(json_t *object)
{
    const char *kind = value_text(object, "kind");

    for (unsigned i = 0; i < G_N_ELEMENTS(kinds); i++)
        if (strcmp(kinds[i].kind, kind) == 0)
            return &kinds[i];
    return NULL;
}

static char *
with_group(const KubectlKind *self, const char *name)
{
    gsize length;
    const char *group = group_of(self, &length);

    return length > 0 ? g_strdup_printf("%s.%.*s", name, (int)length, group) : g_strdup(name);
}

char *
kubectl_kind_prefix(const KubectlKind *self)
{
    g_autofree char *name = g_ascii_strdown(self->kind, -1);

    return with_group(self, name);
}

char *
kubectl_kind_resource(const KubectlKind *self)
{
    return with_group(self, self->plural);
}
