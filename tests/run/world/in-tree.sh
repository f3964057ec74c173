#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Disks that pods name themselves, and plugins within Kubernetes, before, during and after migration: each case is a scenario whose
# expectations must be met.
. "${KVOLSIM_SRCDIR:?}/tests/lib/shell.sh"
needs teach

# scenario RELEASE DRIVER WORKLOAD-AND-EXPECT: two nodes
scenario()
{
    cat >"$scratch/case.yaml" <<EOF
apiVersion: kvolsim.io/v1
kind: Scenario
metadata: {name: case}
spec:
  seed: 1
  until: 3m
  kubernetes: {version: "$1"}
  nodes: [{name: node-%d, count: 2}]
  drivers:
  - {name: $2, latency: {ControllerPublishVolume: 2s, ControllerUnpublishVolume: 1s, NodeStageVolume: 300ms}}
EOF
    printf '%s\n' "$3" >>"$scratch/case.yaml"
}
# pod TIME NAME NODE VOLUME: an item of the workload
pod()
{
    cat <<EOF
  - at: $1
    create:
      manifest:
        apiVersion: v1
        kind: Pod
        metadata: {name: $2}
        spec:
          nodeSelector: {kubernetes.io/hostname: $3}
          containers: [{name: app, image: app, volumeMounts: [{name: data, mountPath: /data}]}]
          volumes: [{name: data, $4}]
EOF
}
met() # NAME: the last scenario meets its expectations
{
    "$kvolsim" run "$scratch/case.yaml" >"$scratch/out" 2>"$scratch/err"
    result $? "$1"
}
told() # PATTERN NAME: of the last scenario's Events
{
    "$kvolsim" events "$scratch/case.yaml" >"$scratch/out" 2>&1
    grep -q -- "$1" "$scratch/out"
    result $? "$2"
}

# ---- Attached as a PersistentVolume is: ADC-72, KVM-98 ----
way()
{
    echo "  workload:"
    pod 1s first node-0 "$1"
    echo "  - {at: 40s, delete: {kind: Pod, name: first}}"
    pod 41s second node-1 "$1"
    cat <<EOF
  expect:
  - {at: 3s, pods: {ready: true, count: 0}}
  - {at: 39s, pods: {name: first, ready: true, count: 1}}
  - {pods: {name: second, ready: true, count: 1}}
  - {attachments: {attached: true, count: $2}}
EOF
}
scenario 1.20 kubernetes.io/gce-pd "$(way 'gcePersistentDisk: {pdName: disk-1, fsType: ext4}' 0)"; met "in tree: the controller attaches"
told 'second.*already attached' "... and tries at once on the second node, as no access mode forbids it"
scenario 1.32 pd.csi.storage.gke.io "$(way 'gcePersistentDisk: {pdName: disk-1, fsType: ext4}' 1)"; met "migrated: by a VolumeAttachment"
told 'second.*Multi-Attach error for volume "pd.csi.storage.gke.io-disk-1"' "... as the ReadWriteOnce volume that it becomes (MIG-45)"
"$kvolsim" get volumeattachments -o yaml "$scratch/case.yaml" >"$scratch/out" 2>&1
grep -A 20 'inlineVolumeSpec:' "$scratch/out" | grep -q 'volumeHandle: projects/UNSPECIFIED/zones/UNSPECIFIED/disks/disk-1' &&
    ! grep -q persistentVolumeName "$scratch/out"
result $? "... with the volume's spec inside"
scenario 1.20 kubernetes.io/cinder "$(way 'cinder: {volumeID: vol-1}' 0)"; met "Cinder in tree"
told 'second.*Multi-Attach error' "... has one node at a time by its plugin (ADC-53)"
scenario 1.32 disk.csi.azure.com "$(way 'azureDisk: {diskName: d, diskURI: /subscriptions/s/d, kind: Managed}' 1)"; met "Azure disks, migrated"
scenario 1.32 example.com/lvm "$(way 'flexVolume: {driver: example.com/lvm}' 0)"; met "FlexVolume"

# ---- A disk that two nodes may read: MIG-34 ----
disk()
{
    echo "  workload:"
    pod 1s first node-0 'persistentVolumeClaim: {claimName: c}'
    pod 20s second node-1 'persistentVolumeClaim: {claimName: c}'
    printf '  expect:\n  - {pods: {ready: true, count: %s}}\n' "$2"
    cat <<EOF
---
apiVersion: v1
kind: PersistentVolume
metadata: {name: disk}
spec:
  accessModes: $1
  capacity: {storage: 1Gi}
  storageClassName: ""
  claimRef: {name: c, namespace: default}
  gcePersistentDisk: {pdName: disk-1}
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: c}
spec: {accessModes: $1, storageClassName: "", volumeName: disk, resources: {requests: {storage: 1Gi}}}
EOF
}
scenario 1.32 pd.csi.storage.gke.io "$(disk '[ReadWriteOnce, ReadOnlyMany]' 1)"; met "both modes: for the driver it is ReadWriteOnce"
told 'second.*Multi-Attach error' "... so the controller keeps the second node off"
scenario 1.32 pd.csi.storage.gke.io "$(disk '[ReadOnlyMany]' 2)"; met "only readers: both nodes have it"
scenario 1.20 kubernetes.io/gce-pd "$(disk '[ReadOnlyMany]' 2)"; met "... and before migration"

# ---- Without an attach ----
plain()
{
    echo "  workload:"
    pod 1s first node-0 "$1"
    printf '  expect:\n  - {pods: {ready: true, count: %s}}\n  - {attachments: {count: 0}}\n' "$2"
}
for volume in 'nfs: {server: s, path: /}' 'iscsi: {targetPortal: p, iqn: "iqn.2026-01.io.x:q", lun: 0}' 'fc: {wwids: [w]}'; do
    scenario 1.32 csi.example "$(plain "$volume" 1)"; met "$volume: the node mounts it"
done

# ---- Plugins that a release lacks: INT-42 ----
gone()
{
    scenario "$1" csi.example "$(plain "$2" 1)"; met "$1 has $2"
    scenario "$3" csi.example "$(plain "$2" 0)"; met "$3 has not"
    told 'no volume plugin matched' "... and the pod hears of it"
}
gone 1.25 'glusterfs: {endpoints: e, path: p}' 1.26
gone 1.30 'rbd: {monitors: [a], image: i}' 1.31
gone 1.30 'cephfs: {monitors: [a]}' 1.31
gone 1.21 'scaleIO: {gateway: g, system: s, volumeName: v, secretRef: {name: x}}' 1.22
gone 1.24 'quobyte: {registry: r, volume: v}' 1.25

# ---- Two pods, one disk: VF-34 ----
twins() # VOLUME OTHER READY
{
    echo "  workload:"
    pod 1s first node-0 "$1"
    pod 30s second node-0 "$2"
    printf '  expect:\n  - {at: 90s, pods: {ready: true, count: %s}}\n' "$3"
}
scenario 1.32 csi.example "$(twins 'iscsi: {targetPortal: p:1, iqn: "iqn.2026-01.io.x:q", lun: 0}' 'iscsi: {targetPortal: p:2, iqn: "iqn.2026-01.io.x:q", lun: 1}' 1)"; met "one target"
told 'second.*node(s) had no available disk' "... and the scheduler says so"
scenario 1.32 csi.example "$(twins 'iscsi: {targetPortal: p, iqn: "iqn.2026-01.io.x:q", lun: 0, readOnly: true}' 'iscsi: {targetPortal: p, iqn: "iqn.2026-01.io.x:q", lun: 0, readOnly: true}' 2)"; met "readers get along"
scenario 1.30 csi.example "$(twins 'rbd: {monitors: [a, b], image: i}' 'rbd: {monitors: [b, c], image: i}' 1)"; met "one image by a common monitor"
scenario 1.30 csi.example "$(twins 'rbd: {monitors: [a, b], image: i}' 'rbd: {monitors: [c], image: i}' 2)"; met "another cluster's image"

# ---- A FlexVolume driver that is not there yet, or no longer: FLX-45 to FLX-47 ----
flex() # FAULTS EXPECTATIONS
{
    echo "  faults:"
    printf '%s\n' "$1"
    echo "  workload:"
    pod 5s first node-0 'flexVolume: {driver: example.com/lvm}'
    echo "  - {at: 110s, delete: {kind: Pod, name: first}}"
    printf '  expect:\n%s\n' "$2"
}
scenario 1.32 example.com/lvm "$(flex '  - {at: 0s, driver: example.com/lvm, node: node-0, do: uninstall, for: 40s}' \
    '  - {at: 39s, pods: {ready: true, count: 0}}
  - {at: 60s, pods: {ready: true, count: 1}}')"; met "a driver that comes to the node later"
told 'first.*no volume plugin matched' "... and the pod hears of it"
scenario 1.32 example.com/lvm "$(flex '  - {at: 0s, driver: example.com/lvm, node: node-1, do: uninstall}' \
    '  - {at: 39s, pods: {ready: true, count: 1}}')"; met "another node may lack it"
scenario 1.32 example.com/lvm "$(flex '  - {at: 100s, driver: example.com/lvm, node: node-0, do: uninstall, for: 40s}' \
    '  - {at: 109s, pods: {ready: true, count: 1}}
  - {at: 139s, pods: {count: 1}}
  - {pods: {count: 0}}')"; met "a driver that goes: the volume stays mounted, and is unmounted when it is back"
scenario 1.32 example.com/lvm "$(flex '  - {at: 50s, driver: example.com/lvm, node: node-0, do: uninstall, for: 1s}' \
    '  - {at: 109s, pods: {ready: true, count: 1}}
  - {pods: {count: 0}}')"; met "a driver that is replaced"
"$kvolsim" explain "$scratch/case.yaml" pod/first >"$scratch/out" 2>&1
[ "$(grep -c -- '-> init' "$scratch/out")" -eq 2 ]
result $? "... is asked for its abilities again"
scenario 1.32 example.com/lvm "$(flex '  - {at: 0s, driver: example.com/lvm, do: uninstall, for: 20s}' \
    '  - {at: 19s, pods: {ready: true, count: 0}}
  - {pods: {count: 0}}')"; met "it is nowhere, so the controller attaches nothing either"
scenario 1.32 csi.example "  faults: [{at: 0s, driver: csi.example, do: uninstall}]"
refused 'no FlexVolume driver' run "$scratch/case.yaml"

cases_end
