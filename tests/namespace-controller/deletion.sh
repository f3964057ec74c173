#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Namespaces that are deleted: what goes, what holds them up, and what they refuse meanwhile.
. "${KVOLSIM_SRCDIR:?}/tests/lib/shell.sh"

# namespace WORKLOAD CLAIM-METADATA: a namespace with a pod that uses a claim, and with what else is wanted.
namespace()
{
    cat >"$scratch/ns.yaml" <<END
apiVersion: kvolsim.io/v1
kind: Scenario
metadata: {name: ns}
spec:
  until: 3m
  nodes: [{name: node-1}]
  drivers: [{name: csi.example.com, topology: false}]
  workload:
  - {at: 60s, delete: {kind: Namespace, name: shop}}
$1
---
{apiVersion: v1, kind: Namespace, metadata: {name: shop}}
---
{apiVersion: storage.k8s.io/v1, kind: StorageClass, metadata: {name: disk}, provisioner: csi.example.com}
---
{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: data, namespace: shop${2:-}}, spec: {accessModes: [ReadWriteOnce],
  storageClassName: disk, resources: {requests: {storage: 1Gi}}}}
---
{apiVersion: v1, kind: Pod, metadata: {name: app, namespace: shop}, spec: {containers: [{name: c, image: i, volumeMounts: [{name: v,
  mountPath: /v}]}], volumes: [{name: v, persistentVolumeClaim: {claimName: data}}]}}
---
{apiVersion: v1, kind: Pod, metadata: {name: other}, spec: {containers: [{name: c, image: i}]}}
END
    "$kvolsim" run "$scratch/ns.yaml" >"$scratch/out" 2>"$scratch/err"
}

# at TIME [KIND…]: the names of the objects of the namespace, and its phase.
at()
{
    {
        "$kvolsim" get ns shop "$scratch/ns.yaml" --at "$1" -o 'jsonpath={.status.phase}'
        echo
        "$kvolsim" get pod,pvc -n shop "$scratch/ns.yaml" --at "$1" -o name
    } 2>/dev/null | tr '\n' ' '
}

namespace ''
same "it takes objects while it is Active" "Active pod/app persistentvolumeclaim/data " "$(at 59s)"
same "Terminating, but untouched for 5 s (API-56, NSC-1)" "Terminating pod/app persistentvolumeclaim/data " "$(at 64s)"
same "everything is gone, and the namespace with it (NSC-4, NSC-7)" " " "$(at 2m)"
"$kvolsim" get pod,pv "$scratch/ns.yaml" --at 2m -o name >"$scratch/out" 2>"$scratch/err"
same "other namespaces and the volume's disk: one stays, one goes" "pod/other" "$(cat "$scratch/out")"
"$kvolsim" get ns shop "$scratch/ns.yaml" --at 65500ms -o yaml >"$scratch/out" 2>"$scratch/err"
grep -q 'reason: SomeFinalizersRemain' "$scratch/out" && tr -s ' \n' ' ' <"$scratch/out" | grep -q 'kubernetes.io/pvc-protection in 1 resource instances' &&
    tr -s ' \n' ' ' <"$scratch/out" | grep -q 'Some resources are remaining: persistentvolumeclaims. has 1 resource instances, pods. has 1 resource instances'
result $? "conditions name what is left, and the finalizers (NSC-6)"

# Another controller's finalizer holds the claim, until somebody takes it away. 15 s: looked at after 8 s (NSC-5).
namespace '  - {at: 100s, patch: {kind: PersistentVolumeClaim, name: data, namespace: shop, patch: {metadata: {finalizers: null}}}}' ', finalizers: [example.com/backup]'
same "a foreign finalizer holds it up" "Terminating persistentvolumeclaim/data " "$(at 99s)"
same "... until it is gone" " " "$(at 115s)"

namespace '  - {at: 63s, create: {manifest: {apiVersion: v1, kind: Pod, metadata: {name: late, namespace: shop}, spec: {containers: [{name: c, image: i}]}}}}
  - {at: 2m, create: {manifest: {apiVersion: v1, kind: Pod, metadata: {name: later, namespace: shop}, spec: {containers: [{name: c, image: i}]}}}}
  - {at: 130s, create: {manifest: {apiVersion: v1, kind: Namespace, metadata: {name: shop}}}}
  - {at: 140s, create: {manifest: {apiVersion: v1, kind: Pod, metadata: {name: latest, namespace: shop}, spec: {containers: [{name: c, image: i}]}}}}'
grep -q 'pods "late" is forbidden: unable to create new content in namespace shop because it is being terminated' "$scratch/out"
result $? "nothing new while it is Terminating (API-56)"
grep -q 'namespaces "shop" not found' "$scratch/out"
result $? "nor after it has gone"
same "made anew it takes objects again" "Active pod/latest " "$(at 150s)"

namespace '  - {at: 70s, delete: {kind: Namespace, name: kube-system}}
---
{apiVersion: v1, kind: Namespace, metadata: {name: kube-system}}' ', finalizers: [example.com/backup]'
grep -q 'namespaces "kube-system" is forbidden: this namespace may not be deleted' "$scratch/out"
result $? "some namespaces may not be deleted (API-56)" "$scratch/out" "$scratch/err"
"$kvolsim" describe ns shop "$scratch/ns.yaml" --at 100s >"$scratch/out" 2>"$scratch/err"
grep -q '^Status:       Terminating$' "$scratch/out" && grep -q '^  NamespaceFinalizersRemaining  *True    Thu, 01 Jan 2026 00:01:10 +0000  SomeFinalizersRemain  *Some content' "$scratch/out" &&
    [ "$(tail -n 3 "$scratch/out" | tr '\n' '|')" = "No resource quota.||No LimitRange resource.|" ]
result $? "describe prints what kubectl prints" "$scratch/out" "$scratch/err"

"$kvolsim" run "$KVOLSIM_SRCDIR/scenarios/namespace-stuck.yaml" >"$scratch/out" 2>"$scratch/err"
result $? "a pod on a machine without power holds its namespace up, and for a while a snapshot that cannot be deleted"
"$kvolsim" events "$KVOLSIM_SRCDIR/scenarios/namespace-stuck.yaml" -A >"$scratch/events" 2>"$scratch/err"
grep -q '^shop .*CreatingSnapshot' "$scratch/events" && grep -q '^default .*SnapshotDeleteError' "$scratch/events" && ! grep -q '^shop .*Killing' "$scratch/events"
result $? "Events of the time in which it is Terminating are refused (API-56)" "$scratch/events" "$scratch/err"
cases_end
