/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "resources.h"

#include <string.h>

#define ALL_VERBS "create delete deletecollection get list patch update watch"

/* The aggregated discovery of a cluster of 1.32.13, and the snapshot controller's
 * CustomResourceDefinitions. VolumeAttributesClasses are beta in 1.31 and have v1 since 1.34. */
/* clang-format off */
static const ApiResource resources[] = {
    {"", "v1", "bindings", "Binding", TRUE, NULL, NULL, "create", NULL},
    {"", "v1", "componentstatuses", "ComponentStatus", FALSE, "cs", NULL, "get list", NULL},
    {"", "v1", "configmaps", "ConfigMap", TRUE, "cm", NULL, ALL_VERBS, NULL},
    {"", "v1", "endpoints", "Endpoints", TRUE, "ep", NULL, ALL_VERBS, NULL},
    {"", "v1", "events", "Event", TRUE, "ev", NULL, ALL_VERBS, NULL},
    {"", "v1", "limitranges", "LimitRange", TRUE, "limits", NULL, ALL_VERBS, NULL},
    {"", "v1", "namespaces", "Namespace", FALSE, "ns", NULL,
     "create delete get list patch update watch", "finalize status"},
    {"", "v1", "nodes", "Node", FALSE, "no", NULL, ALL_VERBS, "proxy status"},
    {"", "v1", "persistentvolumeclaims", "PersistentVolumeClaim", TRUE, "pvc", NULL, ALL_VERBS,
     "status"},
    {"", "v1", "persistentvolumes", "PersistentVolume", FALSE, "pv", NULL, ALL_VERBS, "status"},
    {"", "v1", "pods", "Pod", TRUE, "po", "all", ALL_VERBS,
     "attach binding ephemeralcontainers eviction exec log portforward proxy status"},
    {"", "v1", "podtemplates", "PodTemplate", TRUE, NULL, NULL, ALL_VERBS, NULL},
    {"", "v1", "replicationcontrollers", "ReplicationController", TRUE, "rc", "all", ALL_VERBS,
     "scale status"},
    {"", "v1", "resourcequotas", "ResourceQuota", TRUE, "quota", NULL, ALL_VERBS, "status"},
    {"", "v1", "secrets", "Secret", TRUE, NULL, NULL, ALL_VERBS, NULL},
    {"", "v1", "serviceaccounts", "ServiceAccount", TRUE, "sa", NULL, ALL_VERBS, "token"},
    {"", "v1", "services", "Service", TRUE, "svc", "all", ALL_VERBS, "proxy status"},
    {"apiregistration.k8s.io", "v1", "apiservices", "APIService", FALSE, NULL, "api-extensions",
     ALL_VERBS, "status"},
    {"apps", "v1", "controllerrevisions", "ControllerRevision", TRUE, NULL, NULL, ALL_VERBS, NULL},
    {"apps", "v1", "daemonsets", "DaemonSet", TRUE, "ds", "all", ALL_VERBS, "status"},
    {"apps", "v1", "deployments", "Deployment", TRUE, "deploy", "all", ALL_VERBS, "scale status"},
    {"apps", "v1", "replicasets", "ReplicaSet", TRUE, "rs", "all", ALL_VERBS, "scale status"},
    {"apps", "v1", "statefulsets", "StatefulSet", TRUE, "sts", "all", ALL_VERBS, "scale status"},
    {"events.k8s.io", "v1", "events", "Event", TRUE, "ev", NULL, ALL_VERBS, NULL},
    {"authentication.k8s.io", "v1", "selfsubjectreviews", "SelfSubjectReview", FALSE, NULL, NULL,
     "create", NULL},
    {"authentication.k8s.io", "v1", "tokenreviews", "TokenReview", FALSE, NULL, NULL, "create",
     NULL},
    {"authorization.k8s.io", "v1", "localsubjectaccessreviews", "LocalSubjectAccessReview", TRUE,
     NULL, NULL, "create", NULL},
    {"authorization.k8s.io", "v1", "selfsubjectaccessreviews", "SelfSubjectAccessReview", FALSE,
     NULL, NULL, "create", NULL},
    {"authorization.k8s.io", "v1", "selfsubjectrulesreviews", "SelfSubjectRulesReview", FALSE, NULL,
     NULL, "create", NULL},
    {"authorization.k8s.io", "v1", "subjectaccessreviews", "SubjectAccessReview", FALSE, NULL, NULL,
     "create", NULL},
    {"autoscaling", "v2", "horizontalpodautoscalers", "HorizontalPodAutoscaler", TRUE, "hpa", "all",
     ALL_VERBS, "status"},
    {"autoscaling", "v1", "horizontalpodautoscalers", "HorizontalPodAutoscaler", TRUE, "hpa", "all",
     ALL_VERBS, "status"},
    {"batch", "v1", "cronjobs", "CronJob", TRUE, "cj", "all", ALL_VERBS, "status"},
    {"batch", "v1", "jobs", "Job", TRUE, NULL, "all", ALL_VERBS, "status"},
    {"certificates.k8s.io", "v1", "certificatesigningrequests", "CertificateSigningRequest", FALSE,
     "csr", NULL, ALL_VERBS, "approval status"},
    {"networking.k8s.io", "v1", "ingressclasses", "IngressClass", FALSE, NULL, NULL, ALL_VERBS,
     NULL},
    {"networking.k8s.io", "v1", "ingresses", "Ingress", TRUE, "ing", NULL, ALL_VERBS, "status"},
    {"networking.k8s.io", "v1", "networkpolicies", "NetworkPolicy", TRUE, "netpol", NULL, ALL_VERBS,
     NULL},
    {"policy", "v1", "poddisruptionbudgets", "PodDisruptionBudget", TRUE, "pdb", NULL, ALL_VERBS,
     "status"},
    {"rbac.authorization.k8s.io", "v1", "clusterrolebindings", "ClusterRoleBinding", FALSE, NULL,
     NULL, ALL_VERBS, NULL},
    {"rbac.authorization.k8s.io", "v1", "clusterroles", "ClusterRole", FALSE, NULL, NULL, ALL_VERBS,
     NULL},
    {"rbac.authorization.k8s.io", "v1", "rolebindings", "RoleBinding", TRUE, NULL, NULL, ALL_VERBS,
     NULL},
    {"rbac.authorization.k8s.io", "v1", "roles", "Role", TRUE, NULL, NULL, ALL_VERBS, NULL},
    {"storage.k8s.io", "v1", "csidrivers", "CSIDriver", FALSE, NULL, NULL, ALL_VERBS, NULL},
    {"storage.k8s.io", "v1", "csinodes", "CSINode", FALSE, NULL, NULL, ALL_VERBS, NULL},
    {"storage.k8s.io", "v1", "csistoragecapacities", "CSIStorageCapacity", TRUE, NULL, NULL,
     ALL_VERBS, NULL},
    {"storage.k8s.io", "v1", "storageclasses", "StorageClass", FALSE, "sc", NULL, ALL_VERBS, NULL},
    {"storage.k8s.io", "v1", "volumeattachments", "VolumeAttachment", FALSE, NULL, NULL, ALL_VERBS,
     "status"},
    {"storage.k8s.io", "v1", "volumeattributesclasses", "VolumeAttributesClass", FALSE, "vac", NULL,
     ALL_VERBS, NULL},
    {"storage.k8s.io", "v1beta1", "volumeattributesclasses", "VolumeAttributesClass", FALSE, "vac",
     NULL, ALL_VERBS, NULL},
    {"admissionregistration.k8s.io", "v1", "mutatingwebhookconfigurations",
     "MutatingWebhookConfiguration", FALSE, NULL, "api-extensions", ALL_VERBS, NULL},
    {"admissionregistration.k8s.io", "v1", "validatingadmissionpolicies",
     "ValidatingAdmissionPolicy", FALSE, NULL, "api-extensions", ALL_VERBS, "status"},
    {"admissionregistration.k8s.io", "v1", "validatingadmissionpolicybindings",
     "ValidatingAdmissionPolicyBinding", FALSE, NULL, "api-extensions", ALL_VERBS, NULL},
    {"admissionregistration.k8s.io", "v1", "validatingwebhookconfigurations",
     "ValidatingWebhookConfiguration", FALSE, NULL, "api-extensions", ALL_VERBS, NULL},
    {"apiextensions.k8s.io", "v1", "customresourcedefinitions", "CustomResourceDefinition", FALSE,
     "crd crds", "api-extensions", ALL_VERBS, "status"},
    {"scheduling.k8s.io", "v1", "priorityclasses", "PriorityClass", FALSE, "pc", NULL, ALL_VERBS,
     NULL},
    {"coordination.k8s.io", "v1", "leases", "Lease", TRUE, NULL, NULL, ALL_VERBS, NULL},
    {"node.k8s.io", "v1", "runtimeclasses", "RuntimeClass", FALSE, NULL, NULL, ALL_VERBS, NULL},
    {"discovery.k8s.io", "v1", "endpointslices", "EndpointSlice", TRUE, NULL, NULL, ALL_VERBS,
     NULL},
    {"flowcontrol.apiserver.k8s.io", "v1", "flowschemas", "FlowSchema", FALSE, NULL, NULL,
     ALL_VERBS, "status"},
    {"flowcontrol.apiserver.k8s.io", "v1", "prioritylevelconfigurations",
     "PriorityLevelConfiguration", FALSE, NULL, NULL, ALL_VERBS, "status"},
    {"snapshot.storage.k8s.io", "v1", "volumesnapshots", "VolumeSnapshot", TRUE, "vs", NULL,
     CUSTOM_VERBS, "status"},
    {"snapshot.storage.k8s.io", "v1", "volumesnapshotclasses", "VolumeSnapshotClass", FALSE,
     "vsclass vsclasses", NULL, CUSTOM_VERBS, NULL},
    {"snapshot.storage.k8s.io", "v1", "volumesnapshotcontents", "VolumeSnapshotContent", FALSE,
     "vsc vscs", NULL, CUSTOM_VERBS, "status"},
    {"groupsnapshot.storage.k8s.io", "v1beta1", "volumegroupsnapshots", "VolumeGroupSnapshot", TRUE,
     "vgs", NULL, CUSTOM_VERBS, "status"},
    {"groupsnapshot.storage.k8s.io", "v1beta1", "volumegroupsnapshotclasses",
     "VolumeGroupSnapshotClass", FALSE, "vgsclass vgsclasses", NULL, CUSTOM_VERBS, NULL},
    {"groupsnapshot.storage.k8s.io", "v1beta1", "volumegroupsnapshotcontents",
     "VolumeGroupSnapshotContent", FALSE, "vgsc vgscs", NULL, CUSTOM_VERBS, "status"},
    {"gateway.networking.k8s.io", "v1beta1", "referencegrants", "ReferenceGrant", TRUE, "refgrant",
     NULL, CUSTOM_VERBS, NULL},
    {"metrics.k8s.io", "v1beta1", "nodes", "NodeMetrics", FALSE, NULL, NULL, "get list", NULL},
    {"metrics.k8s.io", "v1beta1", "pods", "PodMetrics", TRUE, NULL, NULL, "get list", NULL},
    {"local.kvolsim.io", "v1", "localvolumes", "LocalVolume", TRUE, NULL, NULL, CUSTOM_VERBS, NULL},
};
/* clang-format on */

const ApiResource *
api_resource(unsigned n)
{
    return n < G_N_ELEMENTS(resources) ? &resources[n] : NULL;
}

const ApiResource *
api_resource_find(const char *group, const char *version, const char *resource)
{
    for (unsigned i = 0; i < G_N_ELEMENTS(resources); i++)
        if (strcmp(resources[i].group, group) == 0 && strcmp(resources[i].version, version) == 0 &&
            strcmp(resources[i].resource, resource) == 0)
            return &resources[i];
    return NULL;
}
