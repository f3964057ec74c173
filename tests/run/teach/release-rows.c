/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "release-rows.h"

/* clang-format off */
const ReleaseRow release_rows[] = {
    {"AnyVolumeDataSource", 24, NULL, NULL,
     "until: 60s",
     "---\n{apiVersion: storage.k8s.io/v1, kind: StorageClass, metadata: {name: sc}, "
     "provisioner: csi.x, allowVolumeExpansion: true}\n"
     "---\n{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: d}, spec: "
     "{accessModes: [ReadWriteOnce], storageClassName: sc, dataSourceRef: {apiGroup: "
     "x.io, kind: Foo, name: f}, resources: {requests: {storage: 1Gi}}}}\n",
     "PersistentVolumeClaim/d spec.dataSourceRef.kind", "?", "Foo"},
    {"CrossNamespaceVolumeDataSource", 26, NULL, "spec.kubernetes.featureGates={CrossNamespaceVolumeDataSource: true}",
     "until: 60s",
     "---\n{apiVersion: storage.k8s.io/v1, kind: StorageClass, metadata: {name: sc}, "
     "provisioner: csi.x, allowVolumeExpansion: true}\n"
     "---\n{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: d}, spec: "
     "{accessModes: [ReadWriteOnce], storageClassName: sc, dataSourceRef: {apiGroup: "
     "x.io, kind: Foo, name: f, namespace: other}, resources: {requests: {storage: "
     "1Gi}}}}\n",
     "PersistentVolumeClaim/d spec.dataSourceRef.namespace", "?", "other"},
    {"CSIVolumeFSGroupPolicy", 20, NULL, NULL,
     "until: 60s",
     "---\n{apiVersion: storage.k8s.io/v1, kind: CSIDriver, metadata: {name: csi.x}, spec: "
     "{fsGroupPolicy: None}}\n",
     "CSIDriver/csi.x spec.fsGroupPolicy", "?", "None"},
    {"MutableCSINodeAllocatableCount", 35, NULL, NULL,
     "until: 60s",
     "---\n{apiVersion: storage.k8s.io/v1, kind: CSIDriver, metadata: {name: csi.x}, spec: "
     "{nodeAllocatableUpdatePeriodSeconds: 10}}\n",
     "CSIDriver/csi.x spec.nodeAllocatableUpdatePeriodSeconds", "?", "10"},
    {"DaemonSetUpdateSurge", 22, NULL, NULL,
     "until: 60s",
     "---\n{apiVersion: apps/v1, kind: DaemonSet, metadata: {name: d}, spec: "
     "{updateStrategy: {type: RollingUpdate, rollingUpdate: {maxSurge: 1, maxUnavailable: "
     "0}}, selector: {matchLabels: {app: a}}, template: {metadata: {labels: {app: a}}, "
     "spec: {containers: [{name: c, image: i}]}}}}\n",
     "DaemonSet/d spec.updateStrategy.rollingUpdate.maxSurge", "?", "1"},
    {"IndexedJob", 22, NULL, NULL,
     "until: 60s",
     "---\n{apiVersion: batch/v1, kind: Job, metadata: {name: j}, spec: {completions: 2, "
     "completionMode: Indexed, template: { spec: {restartPolicy: Never, containers: "
     "[{name: c, image: i}]}}}}\n",
     "Job/j spec.completionMode", "?", "Indexed"},
    {"JobBackoffLimitPerIndex", 29, NULL, NULL,
     "until: 60s",
     "---\n{apiVersion: batch/v1, kind: Job, metadata: {name: j}, spec: {completions: 2, "
     "completionMode: Indexed, backoffLimitPerIndex: 1, template: { spec: {restartPolicy: "
     "Never, containers: [{name: c, image: i}]}}}}\n",
     "Job/j spec.backoffLimitPerIndex", "?", "1"},
    {"JobManagedBy", 32, NULL, NULL,
     "until: 60s",
     "---\n{apiVersion: batch/v1, kind: Job, metadata: {name: j}, spec: {managedBy: "
     "x.io/c, template: { spec: {restartPolicy: Never, containers: [{name: c, image: "
     "i}]}}}}\n",
     "count Pod status.phase Running", "1", "0"},
    {"JobPodFailurePolicy", 26, NULL, NULL,
     "until: 60s",
     "---\n{apiVersion: batch/v1, kind: Job, metadata: {name: j}, spec: {podFailurePolicy: "
     "{rules: [{action: FailJob, onExitCodes: {operator: In, values: [1]}}]}, template: { "
     "spec: {restartPolicy: Never, containers: [{name: c, image: i}]}}}}\n",
     "Job/j spec.podFailurePolicy.rules", "?", "?"},
    {"JobPodReplacementPolicy", 29, NULL, NULL,
     "until: 60s",
     "---\n{apiVersion: batch/v1, kind: Job, metadata: {name: j}, spec: "
     "{podReplacementPolicy: Failed, template: { spec: {restartPolicy: Never, containers: "
     "[{name: c, image: i}]}}}}\n",
     "Job/j spec.podReplacementPolicy", "?", "Failed"},
    {"JobSuccessPolicy", 31, NULL, NULL,
     "until: 60s",
     "---\n{apiVersion: batch/v1, kind: Job, metadata: {name: j}, spec: {completions: 2, "
     "completionMode: Indexed, successPolicy: {rules: [{succeededIndexes: \"0\"}]}, "
     "template: { spec: {restartPolicy: Never, containers: [{name: c, image: i}]}}}}\n",
     "Job/j spec.successPolicy", "?", "?"},
    {"SuspendJob", 22, NULL, NULL,
     "until: 60s",
     "---\n{apiVersion: batch/v1, kind: Job, metadata: {name: j}, spec: {suspend: true, "
     "template: { spec: {restartPolicy: Never, containers: [{name: c, image: i}]}}}}\n",
     "count Pod status.phase Running", "1", "0"},
    {"PDBUnhealthyPodEvictionPolicy", 27, NULL, NULL,
     "until: 60s",
     "---\n{apiVersion: policy/v1, kind: PodDisruptionBudget, metadata: {name: b}, spec: "
     "{minAvailable: 1, unhealthyPodEvictionPolicy: AlwaysAllow, selector: {matchLabels: "
     "{app: a}}}}\n",
     "PodDisruptionBudget/b spec.unhealthyPodEvictionPolicy", "?", "AlwaysAllow"},
    {"StatefulSetAutoDeletePVC", 27, NULL, NULL,
     "until: 60s",
     "---\n{apiVersion: storage.k8s.io/v1, kind: StorageClass, metadata: {name: sc}, "
     "provisioner: csi.x, allowVolumeExpansion: true}\n"
     "---\n{apiVersion: apps/v1, kind: StatefulSet, metadata: {name: web}, spec: "
     "{serviceName: web, replicas: 1, persistentVolumeClaimRetentionPolicy: {whenDeleted: "
     "Delete, whenScaled: Retain}, volumeClaimTemplates: [{metadata: {name: d}, spec: "
     "{accessModes: [ReadWriteOnce], storageClassName: sc, resources: {requests: "
     "{storage: 1Gi}}}}], selector: {matchLabels: {app: a}}, template: {metadata: "
     "{labels: {app: a}}, spec: {containers: [{name: c, image: i}]}}}}\n",
     "PersistentVolumeClaim/d-web-0 metadata.ownerReferences", "?", "?"},
    {"StatefulSetMinReadySeconds", 23, NULL, NULL,
     "until: 60s",
     "---\n{apiVersion: apps/v1, kind: StatefulSet, metadata: {name: web}, spec: "
     "{serviceName: web, replicas: 1, minReadySeconds: 600, selector: {matchLabels: {app: "
     "a}}, template: {metadata: {labels: {app: a}}, spec: {containers: [{name: c, image: "
     "i}]}}}}\n",
     "StatefulSet/web status.availableReplicas", "1", "0"},
    {"StatefulSetStartOrdinal", 27, NULL, NULL,
     "until: 60s",
     "---\n{apiVersion: apps/v1, kind: StatefulSet, metadata: {name: web}, spec: "
     "{serviceName: web, replicas: 1, ordinals: {start: 5}, selector: {matchLabels: {app: "
     "a}}, template: {metadata: {labels: {app: a}}, spec: {containers: [{name: c, image: "
     "i}]}}}}\n",
     "Pod/web-* metadata.name", "web-0", "web-5"},
    {"PersistentVolumeLastPhaseTransitionTime", 29, NULL, NULL,
     "until: 60s",
     "---\n{apiVersion: v1, kind: PersistentVolume, metadata: {name: v}, spec: {capacity: "
     "{storage: 1Gi}, accessModes: [ReadWriteOnce], csi: {driver: csi.x, volumeHandle: "
     "v}}}\n",
     "PersistentVolume/v status.lastPhaseTransitionTime", "?", "?"},
    {"PodSchedulingReadiness", 27, NULL, NULL,
     "until: 60s",
     "---\n{apiVersion: v1, kind: Pod, metadata: {name: p, labels: {app: a}}, spec: "
     "{schedulingGates: [{name: x.io/g}], containers: [{name: c, image: i}]}}\n",
     "Pod/p status.phase", "Running", "Pending"},
    {"ReadWriteOncePod", 27, NULL, NULL,
     "until: 60s, workload: [{at: 1s, create: {manifest: [{apiVersion: v1, kind: "
     "PersistentVolumeClaim, metadata: {name: d}, spec: {accessModes: [ReadWriteOncePod], "
     "storageClassName: sc, resources: {requests: {storage: 1Gi}}}}]}}]",
     "---\n{apiVersion: storage.k8s.io/v1, kind: StorageClass, metadata: {name: sc}, "
     "provisioner: csi.x, allowVolumeExpansion: true}\n",
     "PersistentVolumeClaim/d status.phase", "gone", "Bound"},
    {"CSIStorageCapacity", 21, NULL, NULL,
     "until: 60s",
     "---\n{apiVersion: storage.k8s.io/v1, kind: StorageClass, metadata: {name: sc}, "
     "provisioner: csi.x, volumeBindingMode: WaitForFirstConsumer}\n"
     "---\n{apiVersion: storage.k8s.io/v1, kind: CSIDriver, metadata: {name: csi.x}, spec: "
     "{storageCapacity: true}}\n"
     "---\n{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: d}, spec: "
     "{accessModes: [ReadWriteOnce], storageClassName: sc, resources: {requests: "
     "{storage: 1Gi}}}}\n"
     "---\n{apiVersion: v1, kind: Pod, metadata: {name: p, labels: {app: a}}, spec: "
     "{containers: [{name: c, image: i, volumeMounts: [{name: v, mountPath: /v}]}], "
     "volumes: [{name: v, persistentVolumeClaim: {claimName: d}}]}}\n",
     "Pod/p status.phase", "Running", "Pending"},
    {"CSIServiceAccountToken", 21, NULL, NULL,
     "until: 60s",
     "---\n{apiVersion: storage.k8s.io/v1, kind: StorageClass, metadata: {name: sc}, "
     "provisioner: csi.x, allowVolumeExpansion: true}\n"
     "---\n{apiVersion: storage.k8s.io/v1, kind: CSIDriver, metadata: {name: csi.x}, spec: "
     "{tokenRequests: [{audience: x}]}}\n"
     "---\n{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: d}, spec: "
     "{accessModes: [ReadWriteOnce], storageClassName: sc, resources: {requests: "
     "{storage: 1Gi}}}}\n"
     "---\n{apiVersion: v1, kind: Pod, metadata: {name: p, labels: {app: a}}, spec: "
     "{containers: [{name: c, image: i, volumeMounts: [{name: v, mountPath: /v}]}], "
     "volumes: [{name: v, persistentVolumeClaim: {claimName: d}}]}}\n",
     "calls NodePublishVolume tokens", "0", "1"},
    {"CSINodeExpandSecret", 27, NULL, NULL,
     "until: 3m, workload: [{at: 30s, patch: {kind: PersistentVolumeClaim, name: d, "
     "patch: {spec: {resources: {requests: {storage: 2Gi}}}}}}]",
     "---\n{apiVersion: storage.k8s.io/v1, kind: StorageClass, metadata: {name: sc}, "
     "provisioner: csi.x, allowVolumeExpansion: true, parameters: "
     "{csi.storage.k8s.io/node-expand-secret-name: s, "
     "csi.storage.k8s.io/node-expand-secret-namespace: default}}\n"
     "---\n{apiVersion: v1, kind: Secret, metadata: {name: s}, stringData: {k: x}}\n"
     "---\n{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: d}, spec: "
     "{accessModes: [ReadWriteOnce], storageClassName: sc, resources: {requests: "
     "{storage: 1Gi}}}}\n"
     "---\n{apiVersion: v1, kind: Pod, metadata: {name: p, labels: {app: a}}, spec: "
     "{containers: [{name: c, image: i, volumeMounts: [{name: v, mountPath: /v}]}], "
     "volumes: [{name: v, persistentVolumeClaim: {claimName: d}}]}}\n",
     "calls NodeExpandVolume secrets", "0", "1"},
    {"CSIVolumeHealth", 32, "spec.kubernetes.featureGates={CSIVolumeHealth: false}", "spec.kubernetes.featureGates={CSIVolumeHealth: true}",
     "abnormal-volumes.yaml",
     NULL,
     "event VolumeConditionAbnormal message", "none", "?"},
    {"ConfigurableFSGroupPolicy", 20, NULL, NULL,
     "many-files.yaml",
     NULL,
     "steps CSP-23.3", "none", "?"},
    {"DelegateFSGroupToCSIDriver", 23, NULL, NULL,
     "until: 60s, drivers: [{name: csi.x, nodeCapabilities: [STAGE_UNSTAGE_VOLUME, "
     "VOLUME_MOUNT_GROUP]}]",
     "---\n{apiVersion: storage.k8s.io/v1, kind: StorageClass, metadata: {name: sc}, "
     "provisioner: csi.x, allowVolumeExpansion: true}\n"
     "---\n{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: d}, spec: "
     "{accessModes: [ReadWriteOnce], storageClassName: sc, resources: {requests: "
     "{storage: 1Gi}}}}\n"
     "---\n{apiVersion: v1, kind: Pod, metadata: {name: p, labels: {app: a}}, spec: "
     "{securityContext: {fsGroup: 1000}, containers: [{name: c, image: i, volumeMounts: "
     "[{name: v, mountPath: /v}]}], volumes: [{name: v, persistentVolumeClaim: "
     "{claimName: d}}]}}\n",
     "calls NodePublishVolume group", "0", "1"},
    {"GenericEphemeralVolume", 21, NULL, NULL,
     "until: 60s",
     "---\n{apiVersion: storage.k8s.io/v1, kind: StorageClass, metadata: {name: sc}, "
     "provisioner: csi.x, allowVolumeExpansion: true}\n"
     "---\n{apiVersion: v1, kind: Pod, metadata: {name: p}, spec: {containers: [{name: c, "
     "image: i, volumeMounts: [{name: v, mountPath: /v}]}], volumes: [{name: v, "
     "ephemeral: {volumeClaimTemplate: {spec: {accessModes: [ReadWriteOnce], "
     "storageClassName: sc, resources: {requests: {storage: 1Gi}}}}}}]}}\n",
     "PersistentVolumeClaim/p-v status.phase", "gone", "Bound"},
    {"GracefulNodeShutdown", 21, NULL, NULL,
     "until: 60s, nodes: [{name: n-%d, kubelet: {shutdownGracePeriod: 30s}}], faults: "
     "[{at: 30s, node: n-0, do: shut-down}]",
     "---\n{apiVersion: v1, kind: Pod, metadata: {name: p, labels: {app: a}}, spec: "
     "{containers: [{name: c, image: i}]}}\n",
     "Pod/p status.phase", "Running", "Failed"},
    {"HonorPVReclaimPolicy", 31, NULL, NULL,
     "until: 60s",
     "---\n{apiVersion: storage.k8s.io/v1, kind: StorageClass, metadata: {name: sc}, "
     "provisioner: csi.x, allowVolumeExpansion: true}\n"
     "---\n{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: d}, spec: "
     "{accessModes: [ReadWriteOnce], storageClassName: sc, resources: {requests: "
     "{storage: 1Gi}}}}\n",
     "PersistentVolume/* metadata.finalizers", "?", "?"},
    {"MinDomainsInPodTopologySpread", 27, NULL, NULL,
     "until: 60s",
     "---\n{apiVersion: v1, kind: Pod, metadata: {name: p, labels: {app: a}}, spec: "
     "{topologySpreadConstraints: [{maxSkew: 1, minDomains: 2, topologyKey: "
     "topology.kubernetes.io/zone, whenUnsatisfiable: DoNotSchedule, labelSelector: "
     "{matchLabels: {app: a}}}], containers: [{name: c, image: i}]}}\n"
     "---\n{apiVersion: v1, kind: Pod, metadata: {name: q, labels: {app: a}}, spec: "
     "{topologySpreadConstraints: [{maxSkew: 1, minDomains: 2, topologyKey: "
     "topology.kubernetes.io/zone, whenUnsatisfiable: DoNotSchedule, labelSelector: "
     "{matchLabels: {app: a}}}], containers: [{name: c, image: i}]}}\n",
     "count Pod status.phase Running", "2", "1"},
    {"NodeOutOfServiceVolumeDetach", 26, NULL, NULL,
     "node-power-off-out-of-service.yaml",
     NULL,
     "steps ADC-43.3", "none", "?"},
    {"PodDeletionCost", 22, NULL, NULL,
     "until: 20m, workload: [{at: 10m, create: {manifest: [{apiVersion: v1, kind: Pod, "
     "metadata: {name: young, labels: {app: a}, annotations: "
     "{controller.kubernetes.io/pod-deletion-cost: \"100\"}}, spec: {containers: [{name: c, "
     "image: i}]}}]}}, {at: 11m, create: {manifest: [{apiVersion: apps/v1, kind: "
     "ReplicaSet, metadata: {name: r}, spec: {replicas: 1, selector: {matchLabels: {app: "
     "a}}, template: {metadata: {labels: {app: a}}, spec: {containers: [{name: c, image: "
     "i}]}}}}]}}]",
     "---\n{apiVersion: v1, kind: Pod, metadata: {name: old, labels: {app: a}}, spec: "
     "{containers: [{name: c, image: i}]}}\n",
     "Pod/old metadata.name", "old", "gone"},
    {"RecoverVolumeExpansionFailure", 32, NULL, NULL,
     "expand-failed-recovery.yaml",
     NULL,
     "PersistentVolumeClaim/data spec.resources.requests.storage", "200Gi", "50Gi"},
    {"RetroactiveDefaultStorageClass REL-13", 26, NULL, NULL,
     "default-class-retroactive.yaml",
     NULL,
     "PersistentVolumeClaim/b-no-class spec.storageClassName", "-", "lab-default"},
    {"SELinuxChangePolicy", 33, NULL, NULL,
     "selinux-relabel.yaml",
     NULL,
     "steps CSP-25.2", "?", "?"},
    {"SELinuxMount", 33, NULL, "spec.kubernetes.featureGates={SELinuxMount: true}",
     "selinux-relabel.yaml",
     NULL,
     "steps CSP-25.7", "none", "?"},
    {"SELinuxMountReadWriteOncePod", 28, "spec.until=2m", NULL,
     "selinux-relabel.yaml",
     NULL,
     "Pod/mounted-with-label status.phase", "?", "Running"},
    {"SchedulerQueueingHints", 32, NULL, NULL,
     "attach-limit.yaml",
     NULL,
     "event FailedScheduling count", "?", "?"},
    {"VolumeAttributesClass", 34, NULL, NULL,
     "change-of-class.yaml",
     NULL,
     "PersistentVolumeClaim/data status.currentVolumeAttributesClassName", "-", "gold"},
    {"VolumeCapacityPriority", 32, NULL, NULL,
     "until: 60s",
     NULL,
     "Pod/p spec.nodeName", "?", "?"},
    {"VolumeLimitScaling", 35, NULL, NULL,
     "until: 60s",
     NULL,
     "Pod/p spec.nodeName", "?", "-"},
    {"REL-10", 20, NULL, NULL,
     "claim-lost.yaml",
     NULL,
     "steps PVC-71b", "?", "?"},
    {"REL-11", 23, NULL, NULL,
     "claim-lost.yaml",
     NULL,
     "steps PVC-71c", "?", "?"},
    {"REL-12", 23, NULL, NULL,
     "until: 60s",
     "---\n{apiVersion: storage.k8s.io/v1, kind: StorageClass, metadata: {name: sc}, "
     "provisioner: csi.x, allowVolumeExpansion: true}\n"
     "---\n{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: d}, spec: "
     "{accessModes: [ReadWriteOnce], storageClassName: sc, resources: {requests: "
     "{storage: 1Gi}}}}\n",
     "PersistentVolumeClaim/d metadata.annotations[volume.kubernetes.io/storage-provisioner]", "-", "csi.x"},
    {"REL-14", 26, NULL, NULL,
     "until: 60s, workload: [{at: 1s, create: {manifest: [{apiVersion: v1, kind: "
     "PersistentVolumeClaim, metadata: {name: d}, spec: {accessModes: [ReadWriteOnce], "
     "resources: {requests: {storage: 1Gi}}}}]}}]",
     "---\n{apiVersion: storage.k8s.io/v1, kind: StorageClass, metadata: {name: a, "
     "annotations: {storageclass.kubernetes.io/is-default-class: \"true\"}}, provisioner: "
     "csi.x}\n"
     "---\n{apiVersion: storage.k8s.io/v1, kind: StorageClass, metadata: {name: b, "
     "annotations: {storageclass.kubernetes.io/is-default-class: \"true\"}}, provisioner: "
     "csi.x}\n",
     "PersistentVolumeClaim/d status.phase", "gone", "Bound"},
    {"REL-15", 28, NULL, NULL,
     "until: 60s",
     "---\n{apiVersion: storage.k8s.io/v1, kind: StorageClass, metadata: {name: sc}, "
     "provisioner: csi.x, allowVolumeExpansion: true}\n"
     "---\n{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: d}, spec: "
     "{accessModes: [ReadWriteOnce], storageClassName: sc, resources: {requests: "
     "{storage: 1Gi}}}}\n",
     "event ExternalProvisioning message", "?", "?"},
    {"REL-16", 32, NULL, NULL,
     "until: 60s",
     NULL,
     "steps PROT-23", "?", "?"},
    {"REL-17", 33, NULL, NULL,
     "many-files.yaml",
     NULL,
     "event VolumePermissionChangeInProgress reason", "none", "VolumePermissionChangeInProgress"},
    {"REL-18", 34, NULL, NULL,
     "until: 60s",
     NULL,
     "?", "?", "?"},
    {"REL-19", 36, NULL, NULL,
     "until: 60s",
     NULL,
     "?", "?", "?"},
    {"REL-20", 32, NULL, NULL,
     "until: 60s",
     NULL,
     "Node/n-0 status.conditions", "?", "?"},
    {"REL-21", 33, NULL, NULL,
     "until: 60s",
     NULL,
     "?", "?", "?"},
    {"REL-22", 33, NULL, NULL,
     "until: 60s",
     NULL,
     "?", "?", "?"},
    {"REL-23", 36, NULL, NULL,
     "until: 60s",
     NULL,
     "?", "?", "?"},
    {"REL-30 REL-31", 27, NULL, NULL,
     "until: 60s",
     NULL,
     "count Pod status.phase Running", "?", "?"},
    {"REL-32 REL-33", 27, NULL, NULL,
     "until: 60s",
     NULL,
     "?", "?", "?"},
    {"REL-34", 24, NULL, NULL,
     "until: 60s",
     NULL,
     "?", "?", "?"},
    {NULL, 0, NULL, NULL, NULL, NULL, NULL, NULL, NULL},
};
/* clang-format on */
