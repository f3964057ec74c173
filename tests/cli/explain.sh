#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Stories: every rule that fires in a scenario has a sentence in the rule books; a story covers the given object and its parts, in
# order of time; each level tells more; and the same run gives the same words.
. "${KVOLSIM_SRCDIR:?}/tests/lib/shell.sh"
needs teach
scenario=$KVOLSIM_SRCDIR/scenarios/wait-for-first-consumer.yaml

for file in "$KVOLSIM_SRCDIR"/scenarios/*.yaml; do
    $kvolsim explain --rules "$file" >"$scratch/rules" 2>&1
    awk -F '\t' 'NF != 2 || $2 == "" { print "# no sentence: " $0; bad = 1 } END { exit bad || NR < 5 }' "$scratch/rules"
    result $? "every rule of ${file##*/} has a sentence"
done

for level in beginner operator developer; do
    $kvolsim explain --level $level "$scenario" pod/app >"$scratch/$level"
done
[ "$(wc -l <"$scratch/beginner")" -lt "$(wc -l <"$scratch/operator")" ] &&
    [ "$(wc -l <"$scratch/operator")" -lt "$(wc -l <"$scratch/developer")" ]
result $? "each level tells more"
! grep -q 'PVC-25' "$scratch/beginner" && grep -q 'PVC-25: .*an event names the pods' "$scratch/operator"
result $? "ids are for operators"
grep -q 'docs/rules/pv-controller.md' "$scratch/developer"
result $? "developers are shown the book"
grep -o '^ *[0-9]*[.][0-9]*s' "$scratch/operator" | sort -n -c
result $? "in order of time"
grep -q 'driver csi.lab.example CreateVolume: OK (1s)' "$scratch/beginner" && grep -q 'pod/app nodeName: node-' "$scratch/beginner" &&
    grep -q 'persistentvolumeclaim/data .*phase: Pending -> Bound' "$scratch/beginner"
result $? "the claim and the driver are part of the pod's story"
$kvolsim explain --level operator "$scenario" pod/app | cmp -s - "$scratch/operator"
result $? "the same words again"

$kvolsim explain "$KVOLSIM_SRCDIR/scenarios/attach-limit.yaml" --at 40s >"$scratch/all"
pod=$(grep -o 'pod/[^ ]* is created' "$scratch/all" | head -n 1 | cut -d ' ' -f 1)
$kvolsim explain "$KVOLSIM_SRCDIR/scenarios/attach-limit.yaml" --at 40s "$pod" >"$scratch/one"
[ "$(grep -o 'pod/[^ ,]*' "$scratch/one" | sort -u)" = "$pod" ] && [ -s "$scratch/one" ]
result $? "no other pod is told of"

# The rules are told in plain words, and what time passed with.
grep -q '^ *[.][.][.] 3[.][0-9]* s: until a loop looks again (kubelet/node status)$' "$scratch/beginner"
result $? "a silence is explained"
grep -q 'selected-node: node-.* (by kube-scheduler)$' "$scratch/beginner" && grep -q 'The scheduler has chosen a node' "$scratch/beginner"
result $? "beginners are told who wrote what, and why"
$kvolsim explain "$scenario" pod/app --at 12.5s >"$scratch/now"
grep -A 2 '^ *12[.]500s  now: waiting for 4[0-9.]* ms: until a loop looks again (kube-scheduler)$' "$scratch/now" |
    grep -A 1 '^ *next, in 5[0-9.]* ms:$' | grep -q '13[.]0[0-9]*s  kube-scheduler, pod/app$'
result $? "what is waited for now, and until when"
$kvolsim explain "$scenario" pod/app --at 49s | grep -q 'now: nothing more happens'
result $? "an end is told as one"

# Two namespaces have a pod and a claim of one name.
cat >"$scratch/twins.yaml" <<'END'
{apiVersion: kvolsim.io/v1, kind: Scenario, metadata: {name: twins}, spec: {until: 30s, nodes: [{name: "node-%d", count: 2}], drivers: [{name: csi.lab.example}]}}
---
{apiVersion: storage.k8s.io/v1, kind: StorageClass, metadata: {name: lab}, provisioner: csi.lab.example}
---
{apiVersion: storage.k8s.io/v1, kind: StorageClass, metadata: {name: lazy}, provisioner: csi.lab.example, volumeBindingMode: WaitForFirstConsumer}
---
{apiVersion: v1, kind: Namespace, metadata: {name: shop}}
---
{apiVersion: v1, kind: Namespace, metadata: {name: bank}}
---
{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: data, namespace: shop}, spec: {storageClassName: lab, accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}}
---
{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: data, namespace: bank}, spec: {storageClassName: lazy, accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}}
END
for space in shop bank; do
    $kvolsim explain "$scratch/twins.yaml" pvc/data --namespace $space >"$scratch/explain-$space"
    $kvolsim plot "$scratch/twins.yaml" sequence --object pvc/data -n $space --format mermaid >"$scratch/plot-$space" 2>&1
done
grep -q CreateVolume "$scratch/explain-shop" && grep -q WaitForFirstConsumer "$scratch/explain-bank" && ! grep -q CreateVolume "$scratch/explain-bank"
result $? "a namespace tells objects of one name apart"
grep -q CreateVolume "$scratch/plot-shop" && grep -q 'nothing happened to "pvc/data"' "$scratch/plot-bank"
result $? "... and so it does for pictures"
$kvolsim explain "$scratch/twins.yaml" pvc/data -n nowhere >"$scratch/out" 2>"$scratch/err"
[ $? -eq 2 ] && grep -q 'the run has no "pvc/data"' "$scratch/err"
result $? "... and one without the object is told"

$kvolsim explain "$scenario" pod/nobody >"$scratch/out" 2>"$scratch/err"
[ $? -eq 2 ] && grep -q 'the run has no "pod/nobody"' "$scratch/err"
result $? "an object that is not there is told"
$kvolsim explain "$scenario" --level wizard >"$scratch/out" 2>"$scratch/err"
[ $? -eq 2 ] && grep -q 'beginner, operator, developer' "$scratch/err"
result $? "a level that is none is told"
# Every code of every method is told of once; the back-offs of the rule books are seen.
$kvolsim explain --csi >"$scratch/csi" 2>"$scratch/err"
[ $? -eq 0 ] && [ "$(grep -c '^[A-Z]' "$scratch/csi")" -eq 11 ] &&
    [ "$(grep '^  [A-Z]' "$scratch/csi" | tr -d ' ' | tr ',' '\n' | sort | uniq -c | awk '$1 == 11' | wc -l)" -eq 16 ]
result $? "every code of every method is told of once"
after() # METHOD CODE: the line that tells what comes of it
{
    awk -v method="$1" -v code="$2" '/^[A-Z]/ { here = $0 == method } here && /^  [A-Z]/ { found = index($0, code) } here && found && /^    / { print; exit }' "$scratch/csi"
}
after CreateVolume INTERNAL | grep -q 'external-provisioner: again after 1s, 2s, 4s (.*ProvisioningFailed'
result $? "the provisioner's back-off doubles from a second"
after "CreateVolume (for a pod, WaitForFirstConsumer)" RESOURCE_EXHAUSTED | grep -q FailedScheduling
result $? "a full back end sends the pod back to the scheduler"
[ "$(after ControllerExpandVolume INVALID_ARGUMENT)" != "$(after ControllerExpandVolume INTERNAL)" ]
result $? "an expansion that can't be is tried less often"
after NodeStageVolume UNAVAILABLE | grep -q 'kubelet: again after .*FailedMount'
result $? "the kubelet tells of failed mounts"

cases_end
