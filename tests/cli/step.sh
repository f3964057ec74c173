#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# kvolsim step through a pipe: time passes as far as asked, breakpoints stop it, changes by hand happen, and a run does not change
# because it is stepped through.
. "${KVOLSIM_SRCDIR:?}/tests/lib/shell.sh"
needs teach
scenario=$KVOLSIM_SRCDIR/scenarios/wait-for-first-consumer.yaml

# step LINE...: sends the lines through a pipe; the outcome is in $status, out and err
step()
{
    printf '%s\n' "$@" | $kvolsim step "$scenario" >"$scratch/out" 2>"$scratch/err"
    status=$?
}
# says NAME TEXT: the last step ended well and printed this line
says()
{
    [ $status -eq 0 ] && grep -qxF -- "$2" "$scratch/out"
    result $? "$1"
}

# ---- Time ----
step 'until 12.5s'
says 'until a time' '12.5s (+12.5s) as asked for'
step 'until 1s' 'until +500ms'
says 'until a time from now' '1.5s (+500ms) as asked for'
echo 'until +1s' | $kvolsim step "$scenario" --at 20s >"$scratch/out" 2>"$scratch/err"
status=$?
says '--at lets time pass first' '21s (+1s) as asked for'
step 'until pod/app Ready'
says 'until a condition' '19.03s (+19.03s) pod/app Ready'
step 'until pod/app Ready' 'until pod/app Ready'
says 'until what is so already' '19.03s (+0s) pod/app Ready already'
step 'until pvc/data spec.volumeName=' 'until pvc/data Bound' 'until pod/app deleting' 'until pod/app gone' 'get pvc,pods -o name'
says 'until it is bound, and its pod gone' 'persistentvolumeclaim/data'
! grep -q 'pod/app$' "$scratch/out"
result $? 'then it is gone'
step 'write'
says 'the next write' 'persistentvolumeclaim/data is created'
step 'until 2s' 'decision'
grep -q 'PVC-25: -> Event WaitForFirstConsumer: ' "$scratch/out"
result $? 'the next decision, with its rule'
step 'trace on' 'event 3' 'until 2s'
says 'an event, and what it waited for' '0s (+0s) event api/watch event, after watch delay: Node'
grep -q 'PVC-25: -> Event WaitForFirstConsumer: ' "$scratch/out"
result $? 'all that happens is told while it is traced'
step 'continue'
says 'the end judges what was expected' 'expect  met      claims: {count: 0}: found 0'
step 'continue' 'until 60s'
says 'and can be passed' '1m0s (+10s) as asked for'

# ---- Breakpoints ----
step 'break pv/*' 'continue' 'get pv -o jsonpath={.items[0].status.phase}'
grep -q 'breakpoint 1, pv/\*' "$scratch/out" && grep -q '^persistentvolume/pvc-.* is created$' "$scratch/out"
result $? 'a write of an object'
step 'break PROV-14' 'continue' 'delete 1' 'break PROV-14.7' 'continue'
grep -q 'breakpoint 1, PROV-14$' "$scratch/out" && grep -q 'PROV-14.7: -> creates persistentvolume/' "$scratch/out" &&
    grep -q 'breakpoint 2, PROV-14.7$' "$scratch/out"
result $? 'a rule, and those below it'
step 'break CreateVolume' 'continue' 'continue'
grep -q 'driver csi.lab.example CreateVolume: OK (1s)' "$scratch/out"
result $? 'a call: as it begins, and as it is answered'
step 'break WaitForFirstConsumer' 'break pod/app' 'delete 1' 'break' 'continue'
says 'one that is deleted does not stop it' '2  pod/app'
grep -q '^11s .* breakpoint 2, pod/app' "$scratch/out"
result $? 'the other one does'
step 'break pod/app' 'delete break' 'break'
says 'all are deleted' 'no breakpoints'

# ---- Looking ----
step 'until 25s' 'get pvc,pods -A' 'describe pod/app' 'events --for pod/app'
$kvolsim get pvc,pods -A "$scenario" --at 25s >"$scratch/get"
$kvolsim describe pod/app "$scenario" --at 25s >>"$scratch/get"
$kvolsim events --for pod/app "$scenario" --at 25s >>"$scratch/get"
tail -n +2 "$scratch/out" | cmp -s - "$scratch/get"
result $? 'objects are shown as get, describe and events do'
step 'until 5s' 'why pvc/data'
grep -q '^cause: no-consumer: persistentvolumeclaim/data ' "$scratch/out"
result $? 'why'
step 'until 12s' 'explain pvc/data'
grep -q 'PVC-61: -> Event ExternalProvisioning: ' "$scratch/out"
result $? 'the story so far'
step 'until 11.5s' 'who'
says 'who would act next' '  kube-scheduler: pod/app, at poll (VB-93), for 495ms'
grep -q '  in [0-9.]*ms: csi/done, after driver latency: CreateVolume' "$scratch/out"
result $? 'and what comes'

# A claim that cannot be made is in back-off.
scenario=$KVOLSIM_SRCDIR/tests/cli/stuck/10-provision-error.yaml
step 'until 20s' 'who'
grep -q 'external-provisioner.*: persistentvolume/.*, again in .* (failed [0-9]* times)' "$scratch/out"
result $? 'who is in back-off, and since how many failures'
scenario=$KVOLSIM_SRCDIR/scenarios/wait-for-first-consumer.yaml

# ---- By hand ----
cat >"$scratch/pod.yaml" <<EOP
apiVersion: v1
kind: Pod
metadata: {name: mine}
spec:
  containers: [{name: a, image: b}]
  volumes: [{name: data, persistentVolumeClaim: {claimName: data}}]
EOP
step 'until 2s' "create -f $scratch/pod.yaml" 'until pod/mine Ready' 'get pvc data -o jsonpath={.status.phase}'
says 'a pod is created' 'pod/mine created'
grep -q '^Bound$' "$scratch/out"
result $? 'and its claim is bound'
step 'until 2s' 'create {apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: data}, spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}}'
[ $status -eq 2 ] && grep -q 'Error from server (AlreadyExists)' "$scratch/err"
result $? 'the server refuses'
step 'until 20s' 'delete pod app --grace-period=0' 'until pod/app gone'
says 'a pod is deleted' 'pod/app deleted'
step 'until 20s' 'patch pvc data -p "{metadata: {labels: {a: b}}}"' 'get pvc -l a=b -o name'
says 'an object is patched' 'persistentvolumeclaim/data patched'
step 'cordon node-a1' 'until 1s' 'get node node-a1' 'taint node-a1 dedicated=db:NoSchedule' 'taint nodes node-a1 dedicated-' 'uncordon node-a1'
says 'a node is cordoned' 'node/node-a1 cordoned'
grep -q 'Ready,SchedulingDisabled' "$scratch/out" && grep -qx 'node/node-a1 tainted' "$scratch/out" &&
    grep -qx 'node/node-a1 uncordoned' "$scratch/out"
result $? 'as kubectl shows it; and tainted, and neither any more'
step 'taint node-a1 dedicated=db:NoSchedule' 'taint node-a1 dedicated=web:NoSchedule'
[ $status -eq 2 ] && grep -q 'Error from server (Invalid): node node-a1 already has a taint dedicated' "$scratch/err"
result $? 'a taint that is there is left alone'
step 'taint node-a1 dedicated=db:NoSchedule' 'taint node-a1 dedicated=web:NoSchedule --overwrite' 'get node node-a1 -o jsonpath={.spec.taints[0].value}'
says 'unless it is told to' 'web'
step 'until 10s' 'fault {component: external-provisioner, do: crash, restartAfter: 5s}' 'until pvc/data Bound'
[ "$(tail -n 1 "$scratch/out" | cut -d. -f1)" -ge 16 ]
result $? 'a fault is injected, and delays what it strikes'
step 'until 10s' 'fault {node: node-a1, do: power-off}' 'until node/node-a1 Ready=False' 'until node/node-a1 status.phase='
result $status 'of a node'
step 'until 10s' 'do {setDriver: {name: csi.lab.example, latency: {CreateVolume: 5s}}}' 'until pvc/data Bound'
[ "$(tail -n 1 "$scratch/out" | cut -d. -f1)" -ge 16 ]
result $? 'a driver becomes slow'

# ---- What makes no sense ----
rejected() # LINE MESSAGE
{
    step "$1"
    [ $status -eq 2 ] && grep -qF -- "$2" "$scratch/err"
    result $? "refused: $1"
}
rejected 'fly' 'there is no command "fly"'
rejected 'until soon' 'soon'
rejected 'until thing/a Ready' 'there is no kind "thing"'
rejected 'until pod/app' 'what of pod/app?'
rejected 'break nothing-at-all' 'is no object'
rejected 'delete 7' 'there is no breakpoint 7'
rejected 'delete pod nobody' 'there is no such object'
rejected 'create {kind: Pod}' 'Pod'
rejected 'create -f /no/such/file.yaml' '/no/such/file.yaml'
rejected 'fault {node: nowhere, do: power-off}' 'there is no node "nowhere"'
rejected 'fault {node: node-a1, do: dance}' 'dance'
rejected 'get pods -w' 'time stands still'
rejected 'get "pods' 'quote'
step 'until 2s' 'until 1s'
[ $status -eq 2 ] && grep -q 'is past' "$scratch/err"
result $? 'time does not go back'
step '' '# a comment' 'quit' 'nonsense'
result $status 'nothing is read after quit'
$kvolsim step "$scenario" -c 'until 1s' -c 'until +1s' >"$scratch/out" 2>"$scratch/err" </dev/null
status=$?
says 'lines of the command line' '2s (+1s) as asked for'

# ---- The same run ----
for file in wait-for-first-consumer expand-online multi-attach; do
    scenario=$KVOLSIM_SRCDIR/scenarios/$file.yaml
    step 'event 1000000' 'get pods,pvc,pv,volumeattachments,events -A -o yaml'
    sed -n '/^apiVersion/,$p' "$scratch/out" >"$scratch/stepped"
    $kvolsim get pods,pvc,pv,volumeattachments,events -A -o yaml "$scenario" >"$scratch/whole"
    cmp -s "$scratch/stepped" "$scratch/whole" && [ -s "$scratch/whole" ]
    result $? "event by event, $file ends as it does at once"
done
cases_end
