#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Prints a dump as `kubectl get ... -A -o json --show-managed-fields` does: so many running pods, each with a claim, a volume and
# its attachment, 40 on a node. 5,700 pods make 100 MB.
#   make-dump.sh PODS
set -eu
awk -v pods="$1" '
function uid(kind, i) { return sprintf("%08x-0000-4000-8000-%012x", kind, i) }
function begin(kind, version) {
    printf "%s        {\n            \"apiVersion\": \"%s\",\n            \"kind\": \"%s\",\n            \"metadata\": {\n", \
        n++ ? ",\n" : "", version, kind
    printf "                \"creationTimestamp\": \"2026-05-04T08:00:%02dZ\",\n", n % 60
}
# What each of four managers owns: most of a dump.
function managed(fields,    i, j) {
    printf "                \"managedFields\": [\n"
    for (i = 0; i < 4; i++) {
        printf "                    {\n                        \"apiVersion\": \"v1\",\n                        \"fieldsType\": \"FieldsV1\",\n"
        printf "                        \"fieldsV1\": {\n                            \"f:status\": {\n"
        for (j = 0; j < fields; j++)
            printf "                                \"f:field%d\": {\n                                    \".\": {}\n                                },\n", j
        printf "                                \"f:last\": {}\n                            }\n                        },\n"
        printf "                        \"manager\": \"manager-%d\",\n                        \"operation\": \"Update\",\n", i
        printf "                        \"time\": \"2026-05-04T09:00:%02dZ\"\n                    }%s\n", n % 60, i < 3 ? "," : ""
    }
    printf "                ],\n"
}
function named(name, kind, i, space) {
    printf "                \"name\": \"%s\",\n", name
    if (space)
        printf "                \"namespace\": \"load\",\n"
    printf "                \"resourceVersion\": \"%d\",\n                \"uid\": \"%s\"\n            },\n", 1000 + n, uid(kind, i)
}
function condition(type, last) {
    return sprintf("                    {\n                        \"lastProbeTime\": null,\n                        \"lastTransitionTime\": \"2026-05-04T08:30:00Z\",\n                        \"status\": \"True\",\n                        \"type\": \"%s\"\n                    }%s\n", type, last ? "" : ",")
}
function node(i) {
    begin("Node", "v1"); managed(6)
    printf "                \"labels\": {\"kubernetes.io/hostname\": \"node-%d\", \"topology.kubernetes.io/zone\": \"zone-%d\"},\n", i, i % 3
    named("node-" i, 1, i)
    printf "            \"spec\": {},\n            \"status\": {\n"
    printf "                \"allocatable\": {\"cpu\": \"64\", \"memory\": \"256Gi\", \"pods\": \"110\"},\n"
    printf "                \"capacity\": {\"cpu\": \"64\", \"memory\": \"256Gi\", \"pods\": \"110\"},\n"
    printf "                \"conditions\": [\n%s                ],\n", condition("Ready", 1)
    printf "                \"nodeInfo\": {\"kubeletVersion\": \"v1.32.1\"}\n            }\n        }"
    begin("CSINode", "storage.k8s.io/v1"); named("node-" i, 2, i)
    printf "            \"spec\": {\"drivers\": [{\"name\": \"ebs.csi.aws.com\", \"nodeID\": \"node-%d\", \"allocatable\": {\"count\": 60}, \"topologyKeys\": [\"topology.ebs.csi.aws.com/zone\"]}]}\n        }", i
}
function pod(i, on) {
    begin("Pod", "v1"); managed(10)
    printf "                \"labels\": {\n                    \"app\": \"app-%d\"\n                },\n", i
    named("app-" i, 3, i, 1)
    printf "            \"spec\": {\n                \"containers\": [\n                    {\n                        \"env\": [\n"
    for (j = 0; j < 12; j++)
        printf "                            {\n                                \"name\": \"SETTING_%d\",\n                                \"value\": \"value of setting %d of pod %d\"\n                            }%s\n", j, j, i, j < 11 ? "," : ""
    printf "                        ],\n                        \"image\": \"registry.example/app:1\",\n                        \"imagePullPolicy\": \"IfNotPresent\",\n                        \"name\": \"app\",\n"
    printf "                        \"resources\": {\n                            \"requests\": {\n                                \"cpu\": \"100m\",\n                                \"memory\": \"128Mi\"\n                            }\n                        },\n"
    printf "                        \"terminationMessagePath\": \"/dev/termination-log\",\n                        \"terminationMessagePolicy\": \"File\",\n"
    printf "                        \"volumeMounts\": [\n                            {\n                                \"mountPath\": \"/data\",\n                                \"name\": \"data\"\n                            }\n                        ]\n                    }\n                ],\n"
    printf "                \"dnsPolicy\": \"ClusterFirst\",\n                \"nodeName\": \"node-%d\",\n                \"restartPolicy\": \"Always\",\n                \"schedulerName\": \"default-scheduler\",\n                \"serviceAccountName\": \"default\",\n                \"terminationGracePeriodSeconds\": 30,\n", on
    printf "                \"volumes\": [\n                    {\n                        \"name\": \"data\",\n                        \"persistentVolumeClaim\": {\n                            \"claimName\": \"data-%d\"\n                        }\n                    }\n                ]\n            },\n", i
    printf "            \"status\": {\n                \"conditions\": [\n%s%s%s%s                ],\n", condition("Initialized"), condition("Ready"), condition("ContainersReady"), condition("PodScheduled", 1)
    printf "                \"containerStatuses\": [\n                    {\n                        \"containerID\": \"containerd://%064x\",\n                        \"image\": \"registry.example/app:1\",\n                        \"name\": \"app\",\n                        \"ready\": true,\n                        \"restartCount\": 0,\n                        \"started\": true,\n                        \"state\": {\n                            \"running\": {\n                                \"startedAt\": \"2026-05-04T08:30:00Z\"\n                            }\n                        }\n                    }\n                ],\n", i
    printf "                \"phase\": \"Running\",\n                \"startTime\": \"2026-05-04T08:20:00Z\"\n            }\n        }"
}
function storage(i, on,    zone) {
    zone = on % 3
    begin("PersistentVolumeClaim", "v1")
    printf "                \"annotations\": {\"pv.kubernetes.io/bind-completed\": \"yes\", \"pv.kubernetes.io/bound-by-controller\": \"yes\"},\n                \"finalizers\": [\"kubernetes.io/pvc-protection\"],\n"
    managed(3); named("data-" i, 4, i, 1)
    printf "            \"spec\": {\n                \"accessModes\": [\n                    \"ReadWriteOnce\"\n                ],\n                \"resources\": {\n                    \"requests\": {\n                        \"storage\": \"10Gi\"\n                    }\n                },\n                \"storageClassName\": \"gp3\",\n                \"volumeMode\": \"Filesystem\",\n                \"volumeName\": \"pvc-%s\"\n            },\n", uid(4, i)
    printf "            \"status\": {\n                \"accessModes\": [\n                    \"ReadWriteOnce\"\n                ],\n                \"capacity\": {\n                    \"storage\": \"10Gi\"\n                },\n                \"phase\": \"Bound\"\n            }\n        }"
    begin("PersistentVolume", "v1")
    printf "                \"annotations\": {\"pv.kubernetes.io/provisioned-by\": \"ebs.csi.aws.com\"},\n                \"finalizers\": [\"kubernetes.io/pv-protection\", \"external-attacher/ebs-csi-aws-com\"],\n"
    managed(3); named("pvc-" uid(4, i), 5, i)
    printf "            \"spec\": {\n                \"accessModes\": [\n                    \"ReadWriteOnce\"\n                ],\n                \"capacity\": {\n                    \"storage\": \"10Gi\"\n                },\n"
    printf "                \"claimRef\": {\n                    \"apiVersion\": \"v1\",\n                    \"kind\": \"PersistentVolumeClaim\",\n                    \"name\": \"data-%d\",\n                    \"namespace\": \"load\",\n                    \"uid\": \"%s\"\n                },\n", i, uid(4, i)
    printf "                \"csi\": {\n                    \"driver\": \"ebs.csi.aws.com\",\n                    \"fsType\": \"ext4\",\n                    \"volumeHandle\": \"vol-%017x\"\n                },\n", i
    printf "                \"nodeAffinity\": {\"required\": {\"nodeSelectorTerms\": [{\"matchExpressions\": [{\"key\": \"topology.kubernetes.io/zone\", \"operator\": \"In\", \"values\": [\"zone-%d\"]}]}]}},\n", zone
    printf "                \"persistentVolumeReclaimPolicy\": \"Delete\",\n                \"storageClassName\": \"gp3\",\n                \"volumeMode\": \"Filesystem\"\n            },\n            \"status\": {\n                \"phase\": \"Bound\"\n            }\n        }"
    begin("VolumeAttachment", "storage.k8s.io/v1")
    printf "                \"finalizers\": [\"external-attacher/ebs-csi-aws-com\"],\n"
    managed(2); named(sprintf("csi-%064x", i), 6, i)
    printf "            \"spec\": {\n                \"attacher\": \"ebs.csi.aws.com\",\n                \"nodeName\": \"node-%d\",\n                \"source\": {\n                    \"persistentVolumeName\": \"pvc-%s\"\n                }\n            },\n            \"status\": {\n                \"attached\": true\n            }\n        }", on, uid(4, i)
}
BEGIN {
    print "{\n    \"apiVersion\": \"v1\",\n    \"items\": ["
    begin("CSIDriver", "storage.k8s.io/v1"); named("ebs.csi.aws.com", 7, 1)
    printf "            \"spec\": {\"attachRequired\": true}\n        }"
    begin("StorageClass", "storage.k8s.io/v1"); named("gp3", 8, 1)
    printf "            \"provisioner\": \"ebs.csi.aws.com\",\n            \"volumeBindingMode\": \"WaitForFirstConsumer\"\n        }"
    for (i = 0; i * 40 < pods; i++)
        node(i)
    for (i = 0; i < pods; i++) {
        pod(i, int(i / 40))
        storage(i, int(i / 40))
    }
    print "\n    ],\n    \"kind\": \"List\",\n    \"metadata\": {\n        \"resourceVersion\": \"\"\n    }\n}"
}'
